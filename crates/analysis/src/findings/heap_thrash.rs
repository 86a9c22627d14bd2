//! Memory that the allocator takes from the system and gives back, again and again.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::{HeapThrash, heap_thrash};
use memtoll_trace::ids::Bytes;
use serde::Serialize;

const MOST: usize = 3;

/// The allocator takes memory from the system and gives it back, again and again.
#[derive(Clone, Debug, Serialize)]
pub struct TakenAgain {
    /// What it took in calls of the line, bytes.
    pub bytes: u64,
    /// Calls among them.
    pub calls: u64,
}

pub(super) fn find(facts: &Facts) -> Vec<Finding> {
    let Some(HeapThrash { all, .. }) = heap_thrash(facts.sums) else { return Vec::new() };
    let all = Bytes(all.grown_bytes);
    // A tenth of it is worth a sentence.
    let rows = facts.largest(|row| row.metrics.grown_bytes);
    let rows = rows.into_iter().filter(|row| row.metrics.grown_bytes >= all / 10).take(MOST);
    rows.map(|row| {
        Finding::new(
            What::TakenAgain(TakenAgain { bytes: row.metrics.grown_bytes.0, calls: row.metrics.grown_calls }),
            Some(row.clone()),
            Share::new(row.metrics.grown_bytes.0 as f64, all.0 as f64, Whole::TakenFromSystem),
        )
    })
    .collect()
}
