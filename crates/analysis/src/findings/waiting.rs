//! Threads that wait for each other in the allocator.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::is_much_waiting;
use crate::intervals::Interval;
use serde::Serialize;

/// Threads wait in the allocator.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// How long, all threads together, ns.
    pub waiting_ns: f64,
    /// Where the truth of that is in recordings of the program.
    pub waiting_interval: Interval,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    let waiting = facts.tariff.estimates(&facts.sums.total).waiting;
    let (waiting_ns, waiting_interval) = (waiting.value, waiting.into());
    if !is_much_waiting(waiting_ns, facts.processor().unwrap_or(0.0)) {
        return None;
    }
    let row = *facts.largest(|row| row.metrics.waiting_ns).first()?;
    let own = row.metrics.costs().waiting;
    let share = Share::new(own, waiting_ns, Whole::Waiting);
    Some(Finding::new(What::Waiting(Waiting { waiting_ns, waiting_interval }), Some(row.clone()), share))
}
