//! One line that has most of what blocks have at their peak.

use super::{Facts, Finding, Share, What, Whole};
use memtoll_trace::ids::Bytes;
use serde::Serialize;

/// One line has most of what blocks have at their peak, and of the peak with the program's own mappings.
#[derive(Clone, Debug, Serialize)]
pub struct HoldsPeak {
    /// Its bytes then.
    pub bytes: u64,
    /// Its blocks then.
    pub blocks: u64,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    const LEAST: Bytes = Bytes(1 << 20);
    // Of several processes, each has its peak at a time of its own.
    if facts.sums.are_of_several() {
        return None;
    }
    let row = *facts.largest(|row| row.metrics.peak_bytes).first()?;
    let (bytes, peak) = (row.metrics.peak_bytes, facts.sums.total.peak_bytes);
    (bytes >= LEAST && bytes >= facts.sums.peaks_with_mappings() / 2).then(|| {
        Finding::new(
            What::HoldsPeak(HoldsPeak { bytes: bytes.0, blocks: row.metrics.peak_blocks }),
            Some(row.clone()),
            Share::new(bytes.0 as f64, peak.0 as f64, Whole::Peak),
        )
    })
}
