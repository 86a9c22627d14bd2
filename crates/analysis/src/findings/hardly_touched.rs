//! Memory that is asked for and hardly touched.

use super::{Facts, Finding, Share, What, Whole};
use crate::balance::Balance;
use crate::sites::Row;
use crate::tariff::Tariff;
use memtoll_trace::metrics::Metrics;
use serde::Serialize;

/// Smaller ones are not worth a sentence. Bytes.
const LEAST: u64 = 1 << 20;
const MOST: usize = 3;

/// Memory is asked for and hardly used. Bytes.
#[derive(Clone, Debug, Serialize)]
pub struct HardlyTouched {
    /// What the line had at the peak, or mapped.
    pub bytes: u64,
    /// What is known to have been touched of it.
    pub touched_bytes: u64,
    /// What may have been touched beside that: in system calls whose page faults the kernel does not show, or in page faults
    /// of which the records were lost.
    pub unseen_bytes: u64,
}

pub(super) fn find(facts: &Facts) -> Vec<Finding> {
    let Some(unseen) = unseen(facts.balance, facts.tariff) else { return Vec::new() };
    let touched = |row: &Row| row.metrics.touched_bytes;
    let had = |row: &Row| row.metrics.peak_bytes.max(row.metrics.mapped_bytes);
    let untouched = facts.largest(had).into_iter().filter(|row| is_hardly_touched(&row.metrics, touched(row), unseen));
    let finding = |row: &Row| {
        Finding::new(
            What::HardlyTouched(HardlyTouched { bytes: had(row), touched_bytes: touched(row), unseen_bytes: unseen }),
            Some(row.clone()),
            Share::new(touched(row) as f64, had(row) as f64, Whole::AskedFor),
        )
    };
    untouched.take(MOST).map(finding).collect()
}

/// Bytes of pages that may have been touched without being seen; `None` if that is unknown.
fn unseen(balance: &Balance, tariff: &Tariff) -> Option<u64> {
    let counted = tariff.sees().faults && balance.faults.counted.is_some();
    counted.then(|| balance.faults.not_shown().saturating_mul(tariff.page()))
}

/// Less than a tenth of what the site had at the peak, or mapped, was ever touched. What it got must have been fresh: a
/// block on pages that were there already has no faults. Bytes.
fn is_hardly_touched(metrics: &Metrics, touched: u64, unseen: u64) -> bool {
    if metrics.mapped_bytes > metrics.peak_bytes {
        return metrics.mapped_bytes >= LEAST && touched.saturating_add(unseen) < metrics.mapped_bytes / 10;
    }
    let peak = metrics.peak_bytes;
    let fresh = metrics.grown_bytes >= peak / 10 * 9;
    peak >= LEAST && metrics.largest >= LEAST && fresh && touched.saturating_add(unseen) < peak / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fresh_memory_is_known_to_be_untouched() {
        let block = Metrics { peak_bytes: 1 << 30, largest: 1 << 30, grown_bytes: 1 << 30, ..Metrics::default() };
        assert!(is_hardly_touched(&block, 3 << 20, 0));
        assert!(!is_hardly_touched(&block, 103 << 20, 0));
        assert!(!is_hardly_touched(&block, 3 << 20, 100 << 20), "system calls may have touched it");
        let recycled = Metrics { grown_bytes: 0, ..block };
        assert!(!is_hardly_touched(&recycled, 0, 0));
        let mapped = Metrics { mapped_bytes: 1 << 30, ..Metrics::default() };
        assert!(is_hardly_touched(&mapped, 3 << 20, 0) && !is_hardly_touched(&mapped, 103 << 20, 0));
        let many_small = Metrics { largest: 4096, ..block };
        assert!(!is_hardly_touched(&many_small, 0, 0));
    }
}
