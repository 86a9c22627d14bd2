//! The comparison of recordings as text, JSON and Markdown: one set of totals and rows, in three forms.

mod cells;
mod json;
mod markdown;
mod text;
mod totals;

use crate::rows;
use memtoll_analysis::diff::{CONFIDENCE, Change, Fate, Noise, Quantity, Sides, Values, compare};
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::stacks::View;
use totals::Total;

/// A comparison. What it tells adds up: the rows, what hardly changed, and what is elsewhere are the whole.
pub struct Diff<'a> {
    sides: &'a Sides<'a>,
    group: GroupBy,
    noise: Noise,
    totals: Vec<Total>,
    /// What changed, the most important first.
    changes: Vec<Change>,
    /// How many others there are, and their values together.
    quiet: (usize, Values),
    /// What is in the whole but in no row: what a filter leaves out, peaks of processes at different times.
    elsewhere: Values,
    whole: Values,
    is_filtered: bool,
}

impl<'a> Diff<'a> {
    /// Compares the recordings of both sides.
    pub fn new(sides: &'a Sides<'a>, view: &View, group: GroupBy) -> Self {
        let all = compare(sides, view, group);
        let noise = Noise::new(sides, all.iter().map(|change| &change.values));
        let whole = Values::totals(sides);
        let mut elsewhere = whole.clone();
        all.iter().for_each(|change| elsewhere.subtract(&change.values));
        let (mut changes, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|change| noise.is_exceeded(&change.values));
        changes.sort_by(|a, b| noise.weight(&b.values).total_cmp(&noise.weight(&a.values)));
        let mut quiet = Values::zero(sides);
        others.iter().for_each(|change| quiet.add(&change.values));
        let quiet = (others.len(), quiet);
        let is_filtered = view.filter.is_some();
        Diff { totals: totals::totals(sides), sides, group, noise, changes, quiet, elsewhere, whole, is_filtered }
    }

    /// What a row is called, as a report of the newest recording that has it calls it.
    fn name(&self, change: &Change) -> String {
        rows::name(self.sides[change.side][change.run].recording, &change.row)
    }

    /// What rows are.
    fn thing(&self) -> &'static str {
        match self.group {
            GroupBy::Function => "function",
            GroupBy::Path => "call path",
            _ => "call site",
        }
    }

    /// The columns of rows that can be known: page faults only where the kernel tells of them.
    fn quantities(&self) -> impl Iterator<Item = Quantity> + '_ {
        let sees_faults = self.sides.iter().flatten().all(|run| run.tariff.sees().faults);
        Quantity::ALL.into_iter().filter(move |quantity| *quantity != Quantity::Faults || sees_faults)
    }

    /// How many rows are beyond the limit, and their values together.
    fn hidden(&self, limit: usize) -> (usize, Values) {
        let hidden = self.changes.get(limit..).unwrap_or_default();
        let mut values = Values::zero(self.sides);
        hidden.iter().for_each(|change| values.add(&change.values));
        (hidden.len(), values)
    }

    /// How to read the figures.
    fn method(&self) -> String {
        let thing = self.thing();
        if self.noise.has_intervals() {
            let [before, after] = self.sides.each_ref().map(Vec::len);
            return format!(
                "Figures are means of {before} recordings before and {after} after; ± is the {:.0} % confidence interval \
                 of the difference (Welch's t-test). The {thing}s listed changed by more than chance explains, and by at \
                 least 0.5 % of the total.",
                CONFIDENCE * 100.0,
            );
        }
        format!(
            "One recording per side does not tell how much runs vary; ± is how far the times of these two may be off. A {thing} whose calls, bytes and page faults stay \
             the same is listed only if its cost changes by more than 10 ms and a quarter of the total. Several \
             recordings per side give intervals: memtoll diff --before A B C --after D E F"
        )
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What became of a row, in a word.
fn fate(change: &Change) -> &'static str {
    match change.fate {
        Fate::Changed => "",
        Fate::New => "new",
        Fate::Gone => "gone",
    }
}
