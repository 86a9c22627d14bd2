//! The comparison of two recordings as text, JSON and Markdown.

mod json;
mod markdown;
mod text;
mod totals;

use crate::format;
use memtoll_analysis::diff::{Change, Side, by_function, by_path, sort};
use memtoll_analysis::stacks::View;
use memtoll_analysis::tariff::Tariff;
use memtoll_trace::summary::Metrics;

/// A comparison.
pub struct Diff<'a> {
    sides: [&'a Side<'a>; 2],
    tariffs: [Tariff; 2],
    functions: Vec<Change>,
    paths: Vec<Change>,
}

/// Changes by what became of the function or path.
struct Sorted<'a> {
    changed: Vec<&'a Change>,
    new: Vec<&'a Change>,
    gone: Vec<&'a Change>,
}

impl<'a> Sorted<'a> {
    /// The lists that are not empty, with their titles.
    fn lists(self) -> impl Iterator<Item = (&'static str, Vec<&'a Change>)> {
        let lists = [("Changed", self.changed), ("New", self.new), ("Gone", self.gone)];
        lists.into_iter().filter(|(_, list)| !list.is_empty())
    }
}

fn acquired(metrics: &Metrics) -> u64 {
    metrics.allocations + metrics.reallocations
}

fn faults(metrics: &Metrics) -> u64 {
    metrics.faults + metrics.major_faults + metrics.huge_faults + metrics.file_faults
}

impl<'a> Diff<'a> {
    /// Compares two recordings.
    pub fn new(before: &'a Side<'a>, after: &'a Side<'a>, view: &View) -> Self {
        let sides = [before, after];
        let tariffs = sides.map(|side| Tariff::of(side.recording));
        let mut diff =
            Diff { sides, tariffs, functions: by_function(before, after, view), paths: by_path(before, after, view) };
        sort(&mut diff.functions, acquired);
        sort(&mut diff.paths, acquired);
        diff
    }

    /// The sums of the recordings, before and after.
    fn totals(&self) -> [&Metrics; 2] {
        self.sides.map(|side| &side.sums.total)
    }

    /// What all of it cost before and after, ns.
    fn costs(&self, change: &Change) -> [f64; 2] {
        let cost =
            |metrics: &Option<Metrics>, tariff: &Tariff| metrics.as_ref().map_or(0.0, |m| tariff.costs(m).total());
        [cost(&change.before, &self.tariffs[0]), cost(&change.after, &self.tariffs[1])]
    }

    /// What it costs more than before, seconds.
    fn cost_difference(&self, change: &Change) -> f64 {
        let [before, after] = self.costs(change);
        (after - before) / 1e9
    }

    /// Those that changed enough to be told: by any call or byte, a hundredth of all page faults, or a quarter of all costs.
    /// Times and faults differ between two runs of the same.
    fn moved<'b>(&self, changes: &'b [Change]) -> Vec<&'b Change> {
        const LEAST_FAULTS: u64 = 10;
        const LEAST_COST: f64 = 0.01; // s
        let totals = self.totals();
        let many_faults = (totals.map(faults).into_iter().max().unwrap_or(0) / 100).max(LEAST_FAULTS);
        let cost = |side: usize| self.tariffs[side].costs(totals[side]).total() / 1e9;
        let much = (cost(0).max(cost(1)) / 4.0).max(LEAST_COST);
        let counts = |change: &&Change| {
            change.difference(acquired) != 0
                || change.difference(|m| m.bytes_allocated) != 0
                || change.difference(faults).unsigned_abs() >= many_faults
                || self.cost_difference(change).abs() >= much
        };
        changes.iter().filter(counts).collect()
    }

    /// Those that changed enough to be told, sorted.
    fn sorted<'b>(&self, changes: &'b [Change]) -> Sorted<'b> {
        let mut sorted = Sorted { changed: Vec::new(), new: Vec::new(), gone: Vec::new() };
        for change in self.moved(changes) {
            match (&change.before, &change.after) {
                (None, _) => sorted.new.push(change),
                (_, None) => sorted.gone.push(change),
                _ => sorted.changed.push(change),
            }
        }
        sorted
    }

    /// The heading of the column that counts calls.
    fn acquisitions(&self) -> &'static str {
        format::acquisitions(self.totals().map(|total| total.reallocations).iter().sum())
    }
}
