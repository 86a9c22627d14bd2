//! Blocks that are never freed, those of the runtime aside.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::keeps_much;
use memtoll_model::Kept;
use memtoll_trace::ids::{Bytes, Units};
use serde::Serialize;

/// Blocks are never freed.
#[derive(Clone, Debug, Serialize)]
pub struct NeverFreed {
    /// Blocks of the line.
    pub blocks: u64,
    pub bytes: u64,
}

pub(super) fn find(facts: &mut Facts) -> Option<Finding> {
    // Where a process went on, what was freed later is unknown.
    if facts.sums.selection.to < Units::MAX || facts.recording.kept() == Kept::StillLive {
        return None;
    }
    // What each process keeps is added up, too.
    let peaks = facts.sums.peaks_with_mappings();
    let matters = |bytes: Bytes| keeps_much(bytes, peaks);
    if !matters(facts.sums.total.live_bytes) {
        return None;
    }
    let all = facts.sums.total.live_bytes.saturating_sub(facts.runtime().total().1);
    if !matters(all) {
        return None;
    }
    let row = facts.own_lines().max_by_key(|row| (row.metrics.live_bytes, std::cmp::Reverse(row.frame)))?;
    let (blocks, bytes) = (row.metrics.live_blocks, row.metrics.live_bytes);
    matters(bytes).then(|| {
        Finding::new(
            What::NeverFreed(NeverFreed { blocks, bytes: bytes.0 }),
            Some(row),
            Share::new(bytes.0 as f64, all.0 as f64, Whole::NeverFreed),
        )
    })
}
