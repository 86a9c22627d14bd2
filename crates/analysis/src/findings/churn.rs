//! Blocks that are freed before their thread allocates again.

use super::{Facts, Finding, Share, What, Whole};
use crate::sites::SortBy;
use serde::Serialize;

/// Blocks live so shortly that one would do.
#[derive(Clone, Debug, Serialize)]
pub struct Churn {
    /// So many of the line's blocks were freed before the thread's next allocation.
    pub temporary: u64,
    /// Of so many.
    pub blocks: u64,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    /// Of all allocations; and in number.
    const LEAST: (u64, u64) = (10, 1000);
    let row = *facts.largest(|row| row.metrics.temporary).first()?;
    let (temporary, all) = (row.metrics.temporary, SortBy::Allocations.value(&facts.sums.total));
    (temporary >= LEAST.1 && temporary * LEAST.0 >= all).then(|| Finding {
        what: What::Churn(Churn { temporary, blocks: SortBy::Allocations.value(&row.metrics) }),
        site: Some(row.clone()),
        share: Share::new(temporary as f64, all as f64, Whole::Allocations),
    })
}
