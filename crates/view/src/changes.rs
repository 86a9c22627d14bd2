//! Two recordings, or two spans of one, side by side: the same rows as `memtoll diff` has, as columns.

use crate::ask::Changes;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{ChangeColumns, ChangedRow, ChangesPack};
use crate::recordings::Recordings;
use memtoll_analysis::diff::{CONFIDENCE, Change, Quantity, Values};
use memtoll_analysis::names;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::stacks::Texts;
use memtoll_model::Recording;
use memtoll_query::comparison::{Answers, Comparison, Side, fate};
use memtoll_query::{Query, View};

impl<'a> Recordings<'a> {
    /// Both sides' answers: of the first `most` recordings before and after, as a whole, or of two spans of this one.
    pub(crate) fn compared(&self, query: &Query, changes: &Changes, most: usize) -> Result<Answers<'a>, NoAnswer> {
        let [before, after] = self.sides.each_ref().map(|side| side.get(..most).unwrap_or(side));
        let query = Query { view: View::Totals, findings: false, ..query.clone() };
        let sides = match (&changes.before, before.is_empty()) {
            (_, false) => {
                let whole = query.of_stacks();
                [before, after].map(|sessions| Side { sessions, query: whole.clone() })
            }
            (Some(when), true) => {
                let earlier = Query { when: when.clone(), ..query.clone() };
                [earlier, query].map(|query| Side { sessions: after.get(..1).unwrap_or(after), query })
            }
            (None, true) => {
                return Err(NoAnswer::OneSide);
            }
        };
        Ok(Answers::ask(sides)?)
    }

    /// What the two sides are called; nothing: they are spans of one recording.
    pub(crate) fn files(&self) -> Option<[String; 2]> {
        (!self.sides[0].is_empty()).then(|| {
            self.sides.each_ref().map(|side| match side.len() {
                1 => file(side[0].recording()),
                several => format!("{} and {} more", file(side[0].recording()), several - 1),
            })
        })
    }

    /// What happens when before: in the recording before, or in the time before of this one.
    pub(crate) fn activity_before(&self, query: &Query, changes: &Changes) -> Result<Pack, NoAnswer> {
        match (self.before(), &changes.before) {
            (Some(before), _) => before.activity(query),
            (None, Some(when)) => self.activity(&Query { when: when.clone(), ..query.clone() }),
            (None, None) => Err(NoAnswer::OneSide),
        }
    }

    /// What changed, call site by call site, what changed most first, and of more than `limit` the others together.
    pub(crate) fn changes(&self, query: &Query, limit: Option<usize>, changes: &Changes) -> Result<Pack, NoAnswer> {
        let answers = self.compared(query, changes, usize::MAX)?;
        let comparison = Comparison::new(&answers, GroupBy::Site);
        let mut shown: Vec<&Change> = comparison.changes.iter().chain(&comparison.within_noise).collect();
        let hidden = shown.split_off(shown.len().min(limit.unwrap_or(usize::MAX)));
        let others = comparison.together(hidden.iter().copied());

        let rows = shown.iter().map(|change| row(change, comparison.recording_of(change))).collect();
        let mut pack = Pack::new(&ChangesPack { rows, others: hidden.len(), files: self.files() });
        let exceeds = |at: usize| f64::from(u8::from(at < comparison.changes.len()));
        pack.columns("compare", &ChangeColumns { exceeds: (0..shown.len()).map(exceeds).collect() });
        for quantity in shown_quantities() {
            let name = quantity.metric().about().name;
            let rest = [&others, &comparison.elsewhere, &comparison.whole];
            let all = || shown.iter().map(|change| &change.values).chain(rest);
            for (place, [side, margin]) in
                [["before", "before.margin"], ["after", "after.margin"]].into_iter().enumerate()
            {
                let column: Vec<f64> = all().map(|values| values.of(quantity).means()[place]).collect();
                pack.member(side, name, &column);
                let column: Vec<f64> = all().map(|values| values.of(quantity).margins(CONFIDENCE)[place]).collect();
                pack.member(margin, name, &column);
            }
            let margin = |values: &Values| values.of(quantity).margin(CONFIDENCE).unwrap_or(f64::NAN);
            pack.member("margin", name, &all().map(margin).collect::<Vec<f64>>());
        }
        Ok(pack)
    }
}

/// What the viewer compares. What lies in memory at the end only `memtoll diff` does, where it is asked for.
pub(crate) fn shown_quantities() -> impl Iterator<Item = Quantity> {
    Quantity::ALL.into_iter().filter(|quantity| !quantity.metric().is_of_pages())
}

fn file(recording: &Recording) -> String {
    recording.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn row(change: &Change, recording: &Recording) -> ChangedRow {
    let frames = &recording.frames;
    let texts = change.row.frame.map(|frame| Texts::of(frames, frame));
    let module = change.row.frame.map(|frame| frames.frame(frame).module);
    ChangedRow {
        function: change.row.frame.map_or_else(|| change.row.label.clone(), |frame| names::function(frames, frame)),
        full: texts.as_ref().map(|of| of.function.to_owned()),
        file: texts.as_ref().and_then(|of| of.file).map(str::to_owned),
        line: texts.as_ref().and_then(|of| of.line),
        module: texts.as_ref().map(|of| of.shown_module.to_owned()),
        module_name: module.map(|module| frames.short_path(module).to_owned()),
        unique_module: module.map(|module| frames.unique_name(module).to_owned()),
        shared: change.row.frame.is_some_and(|frame| frames.share_function(frames.frame(frame).function)),
        shared_source: change.row.frame.is_some_and(|frame| frames.share_source(frame)),
        kind: change.row.type_name.clone(),
        fate: fate(change).to_owned(),
    }
}
