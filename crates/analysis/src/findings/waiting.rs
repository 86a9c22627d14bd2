//! Threads that wait for each other in the allocator.

use super::{Facts, Finding, Share, What, Whole};
use serde::Serialize;

/// Threads wait in the allocator.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// How long, all threads together, ns.
    pub waiting_ns: f64,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    /// Of the processor time; and ns.
    const LEAST: (f64, f64) = (0.02, 1e6);
    let waiting_ns = facts.sums.total.costs().waiting;
    let processor = facts.balance.processor.unwrap_or(0.0);
    if waiting_ns < (processor * LEAST.0).max(LEAST.1) {
        return None;
    }
    let row = *facts.largest(|row| row.metrics.waiting_ns).first()?;
    let own = row.metrics.costs().waiting;
    let share = Share::new(own, waiting_ns, Whole::Waiting);
    Some(Finding { what: What::Waiting(Waiting { waiting_ns }), site: Some(row.clone()), share })
}
