//! Threads that wait for the disk in page faults: of files that the program maps, and of memory that was swapped out.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::is_much_waiting;
use crate::intervals::Interval;
use crate::metric::Metric;
use serde::Serialize;

/// Threads wait for the disk.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingForDisk {
    /// How long, all threads together, ns.
    pub waiting_ns: f64,
    /// Where the truth of that is in recordings of the program.
    pub waiting_interval: Interval,
    /// Page faults that read from the disk, of all call sites.
    pub major_faults: u64,
    /// Where the truth of that is.
    pub major_faults_interval: Interval,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    let total = &facts.sums.total;
    let waiting_ns = total.costs().reading;
    if !is_much_waiting(waiting_ns, facts.processor().unwrap_or(0.0)) {
        return None;
    }
    let row = *facts.largest(|row| row.metrics.reading_ns).first()?;
    let share = Share::new(row.metrics.costs().reading, waiting_ns, Whole::WaitingForDisk);
    let interval = |metric| facts.tariff.estimate(metric, total).into();
    let what = WaitingForDisk {
        waiting_ns,
        waiting_interval: interval(Metric::Reading),
        major_faults: total.major_faults,
        major_faults_interval: interval(Metric::MajorFaults),
    };
    Some(Finding::new(What::WaitingForDisk(what), Some(row.clone()), share))
}
