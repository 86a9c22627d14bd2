//! Live bytes over time.

use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use serde::Serialize;

/// Live bytes over time, in equal intervals.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Timeline {
    /// Start of the first interval, ns since the recording began.
    pub start_ns: u64,
    /// Length of an interval, ns.
    pub interval_ns: f64,
    /// The most live bytes in each interval.
    pub live_bytes: Vec<u64>,
}

impl Timeline {
    /// Of sums; nothing where frees are hidden, or several processes count, whose peaks within an interval are of different instants.
    pub(crate) fn new(sums: &Sums, tariff: &Tariff) -> Option<Timeline> {
        let curve = sums.curve.as_ref()?;
        Some(Timeline {
            start_ns: tariff.ns(curve.start as f64) as u64,
            interval_ns: tariff.ns(curve.width as f64),
            live_bytes: curve.highest.clone(),
        })
    }
}
