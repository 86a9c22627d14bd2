//! What was paid for memory, as times.

use crate::estimate::Estimate;
use crate::metric::Metric;
pub use memtoll_metrics::Costs;

/// What was paid, with intervals, ns.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct CostEstimates {
    /// Inside malloc, free and the like, without what follows.
    pub allocator: Estimate,
    /// For page faults, zeroing included.
    pub faults: Estimate,
    /// The share of it that zeroed pages.
    pub zeroing: Estimate,
    /// For making, changing and taking away mappings.
    pub mapping: Estimate,
    /// Waiting inside malloc, free and the like.
    pub waiting: Estimate,
    /// Waiting for the disk, in major faults.
    pub reading: Estimate,
}

impl CostEstimates {
    /// Those of a metric that is not counted.
    pub fn of(&self, metric: Metric) -> Option<Estimate> {
        Some(match metric {
            Metric::Cost => self.total(),
            Metric::Allocator => self.allocator,
            Metric::FaultTime => self.faults,
            Metric::Zeroing => self.zeroing,
            Metric::Mapping => self.mapping,
            Metric::Waiting => self.waiting,
            Metric::Reading => self.reading,
            _ => return None,
        })
    }

    /// All together. Zeroing is part of the faults.
    pub fn total(&self) -> Estimate {
        self.processor().plus(self.waiting).plus(self.reading)
    }

    /// The CPU time among it: all but waiting and reading.
    pub fn processor(&self) -> Estimate {
        self.allocator.plus(self.faults).plus(self.mapping)
    }

    /// How much of `whole` these are, which contains them: from 0 to 1. A price that is wrong is wrong in both, so only
    /// as far as the two are made of different kinds of cost does the share err.
    pub fn share_of(&self, whole: &CostEstimates) -> Estimate {
        let (part, all) = (self.total().value, whole.total().value);
        if all <= 0.0 {
            return Estimate::default();
        }
        let share = part / all;
        let if_off_by = |own: f64, of_whole: f64| match all + of_whole > 0.0 {
            true => (part + own) / (all + of_whole),
            false => share,
        };
        let errs = |share_of_kind: Estimate, (own, of_whole): (Estimate, Estimate)| {
            let dearer = if_off_by(own.high - own.value, of_whole.high - of_whole.value);
            let cheaper = if_off_by(own.low - own.value, of_whole.low - of_whole.value);
            let (low, high) = (share.min(dearer).min(cheaper), share.max(dearer).max(cheaper));
            share_of_kind.with_error_of(Estimate { value: share, low, high })
        };
        self.kinds().into_iter().zip(whole.kinds()).fold(Estimate::exact(share), errs)
    }

    /// What adds up to all.
    fn kinds(&self) -> [Estimate; 5] {
        [self.allocator, self.faults, self.mapping, self.waiting, self.reading]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_never_more_than_the_sum_that_contains_it() {
        let badly_known = |allocator| CostEstimates {
            allocator: Estimate::within(allocator, 1.0, 1.0),
            mapping: Estimate::within(1.0, 0.15, 0.15),
            ..CostEstimates::default()
        };
        let whole = badly_known(99.0);
        assert_eq!(whole.share_of(&whole), Estimate::exact(1.0));
        // Twice as dear, the allocator takes 198 in the part and 198 in the whole.
        let part = CostEstimates { mapping: Estimate::default(), ..whole };
        let share = part.share_of(&whole);
        assert!((share.value - 0.99).abs() < 1e-9 && share.high < 0.996 && share.low < 0.01, "{share:?}");
        let other = CostEstimates { allocator: Estimate::default(), ..whole };
        assert!((other.share_of(&whole).high - 1.0).abs() < 0.01, "all of it, if the allocator costs nothing");
        assert_eq!(part.share_of(&CostEstimates::default()), Estimate::default());
        // One kind of cost: whatever it is, the half is a half.
        let [one, two] = [10.0, 20.0]
            .map(|cost| CostEstimates { allocator: Estimate::within(cost, 0.9, 2.0), ..CostEstimates::default() });
        let half = one.share_of(&two);
        assert!((half.low - 0.5).abs() < 1e-9 && (half.high - 0.5).abs() < 1e-9, "{half:?}");
    }
}
