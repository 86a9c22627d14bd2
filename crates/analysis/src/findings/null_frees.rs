//! Null pointers that are freed as often as others.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::are_many_null_frees;
use serde::Serialize;

/// Null pointers are freed.
#[derive(Clone, Debug, Serialize)]
pub struct NullFrees {
    /// How often, everywhere.
    pub calls: u64,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    /// Of all allocations.
    const LEAST: u64 = 2;
    let total = &facts.sums.total;
    let calls = total.null_frees;
    let row = *facts.largest(|row| row.metrics.null_frees).first()?;
    if !are_many_null_frees(row.metrics.null_frees) || calls.saturating_mul(LEAST) < total.allocations() {
        return None;
    }
    let share = Share::new(row.metrics.null_frees as f64, calls as f64, Whole::NullFrees);
    Some(Finding::new(What::NullFrees(NullFrees { calls }), Some(row.clone()), share))
}
