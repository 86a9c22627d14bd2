//! Threads that wait for the disk in page faults: of files that the program maps, and of memory that was swapped out.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::is_much_waiting;
use serde::Serialize;

/// Threads wait for the disk.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingForDisk {
    /// How long, all threads together, ns.
    pub waiting_ns: f64,
    /// Page faults that read from the disk, of all call sites.
    pub major_faults: u64,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    let total = &facts.sums.total;
    let waiting_ns = total.costs().reading;
    if !is_much_waiting(waiting_ns, facts.processor().unwrap_or(0.0)) {
        return None;
    }
    let row = *facts.largest(|row| row.metrics.reading_ns).first()?;
    let share = Share::new(row.metrics.costs().reading, waiting_ns, Whole::WaitingForDisk);
    let what = WaitingForDisk { waiting_ns, major_faults: total.major_faults };
    Some(Finding::new(What::WaitingForDisk(what), Some(row.clone()), share))
}
