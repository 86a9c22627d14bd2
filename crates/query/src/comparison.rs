//! What changed between recordings: one [`Query`] to all of them, and their answers side by side, matched by call site,
//! function or call path.

mod json;
mod totals;

use crate::answer::{Answer, Basis};
use crate::ask::ask;
use crate::impossible::Impossible;
use crate::query::Query;
use crate::select::Selected;
use memtoll_analysis::diff::{Change, Noise, Quantity, Run, Sides, Values, compare};
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::stacks::View;
use memtoll_analysis::wrappers::Folded;
use memtoll_model::Recording;
pub use totals::Total;

/// The answers of recordings before a change and of those after it.
pub struct Answers<'r> {
    sides: [Vec<Answer<'r>>; 2],
    view: View,
}

impl<'r> Answers<'r> {
    /// Asks all of them the same. A filter need not match anything in some of them: what it matches may be new, or gone.
    ///
    /// # Errors
    /// [`Impossible`], if nothing in a recording is what was asked for, or nothing in any of them is what the filter matches.
    pub fn ask(sides: [&'r [Recording]; 2], query: &Query) -> Result<Answers<'r>, Impossible> {
        let plain = Query { filter: None, ..query.clone() };
        let (mut view, mut why) = (View::default(), None);
        let (mut is_any, mut wrappers) = (false, Vec::new());
        let mut answers: [Vec<Answer>; 2] = Default::default();
        for (side, answers) in sides.iter().zip(&mut answers) {
            for recording in *side {
                let answer = ask(recording, &plain)?;
                let selected = Selected::of(recording, query)?;
                if let Some(sums) = &answer.basis.sums {
                    match selected.check(recording, sums) {
                        Ok(()) => is_any = true,
                        Err(nothing) => why = Some(nothing),
                    }
                }
                view = selected.view;
                wrappers.extend(view.wrappers.clone());
                answers.push(answer);
            }
        }
        // A wrapper of one side only is folded on both: its callers are the same lines.
        view.wrappers = Folded::regex_of_all(wrappers.iter());
        match why.filter(|_| !is_any) {
            Some(why) => Err(why),
            None => Ok(Answers { sides: answers, view }),
        }
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
    /// The totals that there are.
    pub totals: Vec<Total>,
    /// What changed, the most important first.
    pub changes: Vec<Change>,
    /// How many others there are, and their values together.
    pub quiet: (usize, Values),
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
        let all = compare(&sides, &answers.view, group);
        let noise = Noise::new(&sides, all.iter().map(|change| &change.values));
        let whole = Values::totals(&sides);
        let mut elsewhere = whole.clone();
        all.iter().for_each(|change| elsewhere.subtract(&change.values));
        let (mut changes, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|change| noise.is_exceeded(&change.values));
        changes.sort_by(|a, b| noise.weight(&b.values).total_cmp(&noise.weight(&a.values)));
        let mut quiet = Values::zero(&sides);
        others.iter().for_each(|change| quiet.add(&change.values));
        let (quiet, totals) = ((others.len(), quiet), totals::totals(&sides));
        let is_filtered = answers.view.filter.is_some();
        Comparison { sides, group, noise, totals, changes, quiet, elsewhere, whole, is_filtered }
    }

    /// The recording whose names a row is shown with.
    pub fn recording_of(&self, change: &Change) -> &'a Recording {
        self.sides[change.side][change.run].recording
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
        let is_known =
            |quantity: &Quantity| self.sides.iter().flatten().all(|run| quantity.metric().is_known(run.tariff.sees()));
        Quantity::ALL.into_iter().filter(is_known)
    }

    /// How many rows are beyond the limit, and their values together.
    pub fn hidden(&self, limit: usize) -> (usize, Values) {
        let hidden = self.changes.get(limit..).unwrap_or_default();
        let mut values = Values::zero(&self.sides);
        hidden.iter().for_each(|change| values.add(&change.values));
        (hidden.len(), values)
    }
}

fn run<'a>(answer: &'a Answer) -> Option<Run<'a>> {
    let Basis { recording, sums, tariff, .. } = &answer.basis;
    Some(Run { recording, sums: sums.as_ref()?, tariff: *tariff })
}
