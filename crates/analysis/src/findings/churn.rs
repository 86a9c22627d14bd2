//! Blocks that are freed before their thread allocates again.

use super::{Facts, Finding, Share, What, Whole};
use crate::costs::Interval;
use crate::metric::Metric;
use serde::Serialize;

/// Blocks live so shortly that one would do.
#[derive(Clone, Debug, Serialize)]
pub struct Churn {
    /// Blocks of the line that were freed before the thread's next allocation.
    pub temporary: u64,
    /// All blocks of the line.
    pub blocks: u64,
    /// Time in the allocator for all of the line's blocks, ns: what a buffer outside the loop could save at most.
    pub allocator_ns: f64,
    /// Where the truth of that is.
    pub allocator_interval: Interval,
    /// The share of the program's processor time that is, from 0 to 1, if it is known.
    pub of_processor: Option<f64>,
}

/// Whether too few blocks are freed before their thread's next allocation for a finding: less than a hundredth of all, or
/// only a handful.
pub fn is_rarely_temporary(temporary: u64, acquisitions: u64) -> bool {
    temporary < 100 || temporary.saturating_mul(100) < acquisitions
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    /// Of all allocations; and in number.
    const LEAST: (u64, u64) = (10, 1000);
    /// Of the program's processor time.
    const LEAST_TIME: f64 = 0.001;
    let row = *facts.largest(|row| row.metrics.temporary).first()?;
    let (temporary, all) = (row.metrics.temporary, Metric::Allocations.value(&facts.sums.total));
    let allocator_ns = row.metrics.costs().allocator;
    // By the clock, calls take more than processor time.
    let processor = facts.processor().filter(|all| allocator_ns <= *all && facts.tariff.sees().switches);
    let of_processor = processor.map(|all| allocator_ns / all);
    let is_cheap = of_processor.is_some_and(|share| share < LEAST_TIME);
    (temporary >= LEAST.1 && temporary * LEAST.0 >= all && !is_cheap).then(|| {
        Finding::new(
            What::Churn(Churn {
                temporary,
                blocks: Metric::Allocations.value(&row.metrics),
                allocator_ns,
                allocator_interval: facts.tariff.allocator(&row.metrics).into(),
                of_processor,
            }),
            Some(row.clone()),
            Share::new(temporary as f64, all as f64, Whole::Allocations),
        )
    })
}
