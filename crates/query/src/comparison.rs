//! What changed between recordings: one [`Query`] to all of them, and their answers side by side, matched by call site,
//! function or call path.

mod json;
mod totals;

use crate::answer::{Answer, Basis};
use crate::impossible::Impossible;
use crate::query::Query;
use crate::selection::Selected;
use crate::session::Session;
use memtoll_analysis::diff::{Change, Fate, Noise, Quantity, Run, Sides, Values, compare};
use memtoll_analysis::names;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::stacks::View;
use memtoll_analysis::titles::Titles;
use memtoll_model::Recording;
pub use totals::Total;

/// The answers of recordings before a change and of those after it.
pub struct Answers<'r> {
    sides: [Vec<Answer<'r>>; 2],
    view: View,
}

/// One side of a comparison: recordings, or a part of one, and what is asked of each.
pub struct Side<'a, 'r> {
    /// The recordings. Wrappers of malloc are folded on both sides if they are of one [`Session::of_all`].
    pub sessions: &'a [Session<'r>],
    /// The question.
    pub query: Query,
}

impl<'r> Answers<'r> {
    /// Asks both sides. A filter need not match anything in some of them: what it matches may be new, or gone.
    pub fn ask(sides: [Side<'_, 'r>; 2]) -> Result<Answers<'r>, Impossible> {
        let (mut view, mut why, mut is_any) = (View::default(), None, false);
        let mut answers: [Vec<Answer>; 2] = Default::default();
        for (Side { sessions, query }, answers) in sides.iter().zip(&mut answers) {
            let plain = Query { filter: None, drop: None, focus: None, ..query.clone() };
            for session in *sessions {
                let answer = session.ask(&plain)?;
                let selected = Selected::of(session, query)?;
                if let Some(sums) = &answer.basis.sums {
                    match selected.check(session, sums) {
                        Ok(()) => is_any = true,
                        Err(nothing) => why = Some(nothing),
                    }
                }
                view = selected.view;
                answers.push(answer);
            }
        }
        match why.filter(|_| !is_any) {
            Some(why) => Err(why),
            None => Ok(Answers { sides: answers, view }),
        }
    }

    /// How stacks of both sides are shown.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Before the change, and after it.
    pub fn sides(&self) -> &[Vec<Answer<'r>>; 2] {
        &self.sides
    }
}

/// A comparison. What it tells adds up: the rows, what hardly changed, and what is elsewhere are the whole.
pub struct Comparison<'a> {
    /// The recordings with their sums.
    pub sides: Sides<'a>,
    /// What rows are.
    pub group: GroupBy,
    /// Which differences are more than two runs of one program show.
    pub noise: Noise,
    pub totals: Vec<Total>,
    /// What changed, the most important first.
    pub changes: Vec<Change>,
    /// The sum of what changed too little for a row, in the same order.
    pub within_noise: Vec<Change>,
    /// What is in the whole but in no row: what a filter leaves out, peaks of processes at different times.
    pub elsewhere: Values,
    /// All of it.
    pub whole: Values,
    /// Whether a filter leaves something out.
    pub is_filtered: bool,
}

impl<'a> Comparison<'a> {
    /// Of answers that have sums; the others count for nothing.
    pub fn new(answers: &'a Answers, group: GroupBy) -> Self {
        let sides = answers.sides.each_ref().map(|side| side.iter().filter_map(run).collect());
        let mut all = compare(&sides, &answers.view, group);
        let noise = Noise::new(&sides, all.iter().map(|change| &change.values));
        let whole = Values::totals(&sides);
        let mut elsewhere = whole.clone();
        all.iter().for_each(|change| elsewhere.subtract(&change.values));
        all.sort_by(|a, b| noise.weight(&b.values).total_cmp(&noise.weight(&a.values)));
        let (changes, within_noise) = all.into_iter().partition(|change| noise.is_exceeded(&change.values));
        let totals = totals::totals(&sides);
        let is_filtered = answers.view.selects();
        Comparison { sides, group, noise, totals, changes, within_noise, elsewhere, whole, is_filtered }
    }

    /// The recording whose names a row is shown with.
    pub fn recording_of(&self, change: &Change) -> &'a Recording {
        self.sides[change.side][change.run].recording
    }

    /// What rows of one table are called.
    pub fn names<'c>(&self, changes: impl IntoIterator<Item = &'c Change>) -> Vec<String> {
        let rows: Vec<_> = changes.into_iter().map(|change| (self.recording_of(change), &change.row)).collect();
        names::of_rows(&rows)
    }

    /// What rows are, in words.
    pub fn thing(&self) -> &'static str {
        match self.group {
            GroupBy::Function => "function",
            GroupBy::Path => "call path",
            _ => "call site",
        }
    }

    /// What is known of rows in all recordings.
    pub fn quantities(&self) -> impl Iterator<Item = Quantity> + '_ {
        Quantity::ALL.into_iter().filter(|quantity| quantity.is_known(&self.sides))
    }

    /// What metrics are called: of rows that are of several processes on either side, peaks are their own.
    pub fn titles(&self) -> Titles {
        let all = self.sides.iter().flatten().map(|run| run.sums.titles());
        all.fold(Titles::default(), |all, of| Titles {
            are_of_several: all.are_of_several || of.are_of_several,
            end_early: of.end_early,
        })
    }

    /// The values of rows together.
    pub fn together<'c>(&self, changes: impl IntoIterator<Item = &'c Change>) -> Values {
        let mut values = Values::zero(&self.sides);
        changes.into_iter().for_each(|change| values.add(&change.values));
        values
    }
}

/// What became of a row, as JSON has it.
pub fn fate(change: &Change) -> &'static str {
    match change.fate {
        Fate::Changed => "changed",
        Fate::New => "new",
        Fate::Gone => "gone",
    }
}

fn run<'a>(answer: &'a Answer) -> Option<Run<'a>> {
    let Basis { recording, sums, tariff, .. } = &answer.basis;
    Some(Run { recording, sums: sums.as_ref()?, tariff: *tariff })
}
