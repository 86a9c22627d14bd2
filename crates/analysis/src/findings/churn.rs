//! Blocks that are freed before their thread allocates again.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::are_temporary;
use crate::intervals::Interval;
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
    /// The share of the program's CPU time that is, from 0 to 1, if it is known.
    pub of_processor: Option<f64>,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    /// Of all allocations.
    const LEAST: u64 = 10;
    /// Of the program's CPU time.
    const LEAST_TIME: f64 = 0.001;
    let row = facts.largest(|row| row.metrics.temporary).into_iter().find(|row| are_temporary(&row.metrics))?;
    let (temporary, all) = (row.metrics.temporary, Metric::Allocations.value(&facts.sums.total));
    let allocator_ns = row.metrics.costs().allocator;
    // By the clock, calls take more than CPU time.
    let processor = facts.processor().filter(|all| allocator_ns <= *all && facts.tariff.sees().switches);
    let of_processor = processor.map(|all| allocator_ns / all);
    let is_cheap = of_processor.is_some_and(|share| share < LEAST_TIME);
    (temporary.saturating_mul(LEAST) >= all && !is_cheap).then(|| {
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
