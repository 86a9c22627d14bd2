//! Null pointers that are freed as often as others.

use super::{Facts, Finding, Share, What, Whole};
use serde::Serialize;

/// Null pointers are freed.
#[derive(Clone, Debug, Serialize)]
pub struct NullFrees {
    /// How often, everywhere.
    pub calls: u64,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    /// Of all allocations; and in number.
    const LEAST: (u64, u64) = (2, 1000);
    let total = &facts.sums.total;
    let calls = total.free_null_calls;
    if calls < LEAST.1 || calls * LEAST.0 < total.allocations {
        return None;
    }
    let row = *facts.largest(|row| row.metrics.free_null_calls).first()?;
    let share = Share::new(row.metrics.free_null_calls as f64, calls as f64, Whole::NullFrees);
    Some(Finding::new(What::NullFrees(NullFrees { calls }), Some(row.clone()), share))
}
