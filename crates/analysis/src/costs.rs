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
}
