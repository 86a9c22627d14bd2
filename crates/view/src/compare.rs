//! Two recordings, or two spans of one, side by side: the same rows as `memtoll diff` has, as columns.

use crate::ask::Ask;
use crate::engine::Engine;
use crate::pack::Pack;
use memtoll_analysis::diff::{CONFIDENCE, Change, Fate, Noise, Quantity, Run, Values, compare};
use memtoll_analysis::names;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::stacks::Texts;
use memtoll_model::Recording;
use memtoll_query::{Answer, Basis, Query, query};
use serde_json::{Value, json};

/// Rows that a browser gets; the others are one.
const MOST_ROWS: usize = 2_000;

/// What a recording is compared with; nothing if there are no recordings before a change.
#[derive(Clone, Copy, Default)]
pub struct Compared<'a> {
    /// Recordings before a change.
    pub before: &'a [Recording],
    /// Recordings after it, beside the one that is shown.
    pub after: &'a [Recording],
}

/// Its wrappers are found elsewhere: [`Engine::folded`].
fn whole(recording: &Recording) -> Result<Answer<'_>, String> {
    memtoll_query::ask(recording, &Query { wrappers: true, ..Query::default() }).map_err(|why| why.to_string())
}

impl<'a> Engine<'a> {
    /// What is compared: a recording before and this one, of the whole runs, or two spans of this one.
    pub(crate) fn sides(&self, ask: &Ask) -> Result<[Answer<'a>; 2], String> {
        match (self.compared().before.first(), &ask.base) {
            (Some(before), _) => Ok([whole(before)?, whole(self.recording())?]),
            (None, Some(base)) => {
                let before = Ask { from_ns: base.from_ns, to_ns: base.to_ns, ..ask.clone() };
                let of = |ask: &Ask| self.ask(ask, query::View::Totals);
                Ok([of(&before)?, of(ask)?])
            }
            (None, None) => {
                Err("There is nothing to compare with: expected memtoll view BEFORE AFTER, or a second span of time."
                    .to_owned())
            }
        }
    }

    /// The same with all recordings before and after.
    fn all_sides(&self, ask: &Ask) -> Result<[Vec<Answer<'a>>; 2], String> {
        let Compared { before, after } = self.compared();
        let mut sides = self.sides(ask)?.map(|answer| vec![answer]);
        for (side, others) in sides.iter_mut().zip([before.get(1..).unwrap_or_default(), after]) {
            for other in others {
                side.push(whole(other)?);
            }
        }
        Ok(sides)
    }

    /// What the two sides are called; nothing: they are spans of one recording.
    pub(crate) fn files(&self) -> Option<[String; 2]> {
        let Compared { before, after } = self.compared();
        let (first, others) = before.split_first()?;
        Some([(first, others), (self.recording(), after)].map(|(shown, others)| match others.len() {
            0 => file(shown),
            others => format!("{} and {others} more", file(shown)),
        }))
    }

    /// What changed, call site by call site, what changed most first.
    pub(crate) fn compare(&self, ask: &Ask) -> Result<Pack, String> {
        let answers = self.all_sides(ask)?;
        let [before, after] = answers.each_ref().map(|answers| runs(answers));
        let sides = before.zip(after).map(|(before, after)| [before, after]).ok_or("an answer has no sums")?;
        let mut changes = compare(&sides, &self.view(ask)?, GroupBy::Site);
        let noise = Noise::new(&sides, changes.iter().map(|change| &change.values));
        changes.sort_by(|a, b| noise.weight(&b.values).total_cmp(&noise.weight(&a.values)));
        let hidden = changes.split_off(changes.len().min(MOST_ROWS));
        let mut others = Values::zero(&sides);
        hidden.iter().for_each(|change| others.add(&change.values));
        let mut elsewhere = Values::totals(&sides);
        changes.iter().chain(&hidden).for_each(|change| elsewhere.subtract(&change.values));

        let mut pack = Pack::new();
        let rows = changes.iter().map(|change| row(change, sides[change.side][change.run].recording));
        pack.set("rows", rows.collect::<Vec<Value>>());
        pack.set("others", json!(hidden.len()));
        pack.set("files", json!(self.files()));
        let exceeds = |change: &Change| f64::from(u8::from(noise.is_exceeded(&change.values)));
        pack.column("compare.exceeds", &changes.iter().map(exceeds).collect::<Vec<f64>>());
        let totals = Values::totals(&sides);
        for quantity in Quantity::ALL {
            let name = quantity.metric().about().name;
            let all = || changes.iter().map(|change| &change.values).chain([&others, &elsewhere, &totals]);
            for (side, place) in [("before", 0), ("after", 1)] {
                let column: Vec<f64> = all().map(|values| values.of(quantity).means()[place]).collect();
                pack.column(&format!("{side}.{name}"), &column);
            }
            let margin = |values: &Values| values.of(quantity).margin(CONFIDENCE).unwrap_or(f64::NAN);
            pack.column(&format!("margin.{name}"), &all().map(margin).collect::<Vec<f64>>());
        }
        Ok(pack)
    }
}

fn runs<'a>(answers: &'a [Answer]) -> Option<Vec<Run<'a>>> {
    let run = |Basis { recording, sums, tariff, .. }: &'a Basis| {
        Some(Run { recording, sums: sums.as_ref()?, tariff: *tariff })
    };
    answers.iter().map(|answer| run(&answer.basis)).collect()
}

fn file(recording: &Recording) -> String {
    recording.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn row(change: &Change, recording: &Recording) -> Value {
    let frames = &recording.frames;
    let texts = change.row.frame.map(|frame| Texts::of(frames, frame));
    json!({
        "function": change.row.frame.map_or_else(|| change.row.label.clone(), |frame| names::function(frames, frame)),
        "full": texts.as_ref().map(|of| of.function),
        "file": texts.as_ref().and_then(|of| of.file),
        "line": texts.as_ref().and_then(|of| of.line),
        "module": texts.as_ref().map(|of| of.shown_module),
        "type": change.row.type_name,
        "fate": match change.fate {
            Fate::Changed => "changed",
            Fate::New => "new",
            Fate::Gone => "gone",
        },
    })
}
