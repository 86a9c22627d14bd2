//! The totals of both sides.

use memtoll_analysis::diff::{Run, Samples, Sides};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::figures::{self, Facts, Totals};
use memtoll_analysis::metric::{About, Metric, Place, TABLE, Unit};
use memtoll_trace::ids::Bytes;

/// A total in all recordings.
pub struct Total {
    /// What it is.
    pub name: &'static str,
    /// In JSON.
    pub key: &'static str,
    /// Of its values.
    pub unit: Unit,
    /// `None` for a side of which a recording does not know it, or knows less of it than another one.
    samples: [Option<Vec<Estimate>>; 2],
}

/// What a metric is called where rows have no heading that says what they count.
fn name(about: &'static About) -> &'static str {
    match about.metric {
        Metric::Bytes => "bytes",
        Metric::Mapped => "bytes mapped",
        Metric::Allocator => "inside the allocator",
        Metric::FaultTime => "time of page faults",
        Metric::Mapping => "mappings",
        Metric::Waiting => "waiting in the allocator",
        Metric::Reading => "waiting for the disk",
        Metric::Cost => "cost of memory",
        _ => about.title,
    }
}

pub(super) fn totals(sides: &Sides) -> Vec<Total> {
    let each = |of: &dyn Fn(&Run) -> Option<Estimate>| sides.each_ref().map(|runs| runs.iter().map(of).collect());
    let is_any = |total: &Total| total.samples.iter().flatten().flatten().any(|value| value.value > 0.0);
    let is_mapped = sides.iter().flatten().any(|run| run.sums.total.mapped_bytes > Bytes::ZERO);
    let metric = |about: &'static About| {
        let value = |run: &Run| {
            let compares = run.compares(about.metric, sides);
            compares.then(|| run.tariff.estimate(about.metric, &run.sums.total))
        };
        let total = Total { name: name(about), key: about.key, unit: about.unit, samples: each(&value) };
        (about.is_in(Place::Total) || about.is_in(Place::TotalIfAny) && is_any(&total)).then_some(total)
    };
    let figure = |about: &figures::About| {
        let value = |run: &Run| about.figure.value(&Facts::of(run.recording, run.sums, &run.tariff)).ok();
        let is_shown = match about.in_totals {
            Totals::Never => false,
            Totals::IfAny => true,
            Totals::IfMapped => is_mapped,
        };
        let total = || Total { name: about.title, key: about.key, unit: about.unit, samples: each(&value) };
        is_shown.then(total).filter(is_any)
    };
    TABLE.iter().filter_map(metric).chain(figures::TABLE.iter().filter_map(figure)).collect()
}

impl Total {
    /// Both sides, if both are known.
    pub fn both(&self) -> Option<Samples> {
        let [before, after] = self.samples.each_ref().map(Option::as_ref);
        let (before, after) = (before?, after?);
        let single_margins = [before, after].map(|side| side.first().map_or(0.0, Estimate::margin));
        let values = |side: &[Estimate]| side.iter().map(|of| of.value).collect();
        Some(Samples { before: values(before), after: values(after), single_margins })
    }

    /// The mean of a side.
    pub fn mean(&self, side: usize) -> Option<Estimate> {
        self.samples[side].as_deref().map(Estimate::mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Answers, Comparison, Side};
    use crate::{Query, Session};
    use memtoll_analysis::sites::GroupBy;
    use memtoll_model::Recording;

    #[test]
    fn costs_with_the_price_of_faults_are_not_compared_with_costs_without_it() {
        let golden = |name: &str| {
            let path = format!("{}/../../format/golden/{name}.memtoll", env!("CARGO_MANIFEST_DIR"));
            Recording::open(std::path::Path::new(&path)).unwrap()
        };
        // The kernel was not asked in the second one.
        let recordings = ["costs", "tiny"].map(golden);
        let known = |one: usize, other: usize| {
            let sessions = [one, other].map(|index| [Session::new(&recordings[index])]);
            let side = |index: usize| Side { sessions: &sessions[index], query: Query::default() };
            let answers = Answers::ask([side(0), side(1)]).unwrap();
            let comparison = Comparison::new(&answers, GroupBy::Site);
            let cost = comparison.totals.iter().find(|total| total.key == "cost_ns").unwrap();
            (
                [0, 1].map(|side| cost.mean(side).is_some()),
                comparison.quantities().any(|quantity| quantity.metric() == Metric::Cost),
            )
        };
        assert_eq!(known(0, 1), ([true, false], false));
        assert_eq!(known(1, 1), ([true, true], true));
    }
}
