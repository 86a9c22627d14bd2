//! Threads that wait for the disk in page faults: of files that the program maps, and of memory that was swapped out.

use super::{Facts, Finding, Share, What, Whole};
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
    if !is_much(waiting_ns, facts.processor().unwrap_or(0.0)) {
        return None;
    }
    let row = *facts.largest(|row| row.metrics.reading_ns).first()?;
    let share = Share::new(row.metrics.costs().reading, waiting_ns, Whole::WaitingForDisk);
    let what = WaitingForDisk { waiting_ns, major_faults: total.major_faults };
    Some(Finding::new(What::WaitingForDisk(what), Some(row.clone()), share))
}

/// Whether a wait is worth a sentence beside the processor time. Both in ns.
pub(super) fn is_much(waiting: f64, processor: f64) -> bool {
    const LEAST_SHARE: f64 = 0.02;
    const LEAST: f64 = 1e6;
    waiting >= (processor * LEAST_SHARE).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_much_beside_what_the_program_works() {
        assert!(is_much(1e6, 0.0) && !is_much(0.9e6, 0.0));
        assert!(is_much(3e6, 100e6) && !is_much(1.9e6, 100e6));
    }
}
