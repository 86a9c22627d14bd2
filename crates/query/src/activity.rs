//! What the processes together do over time.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::timeline::{Interval, TimelineView};
use serde::Serialize;

/// Live bytes, allocations and page faults in equal intervals, from the recording's cells where these are as narrow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Activity {
    /// Start of the first interval, ns since the recording began. It may lie before what was asked for.
    pub start_ns: u64,
    /// Length of an interval, ns.
    pub interval_ns: f64,
    /// The highest number of live bytes in each interval. Of several processes: the sum of the highest of each that has not ended.
    /// `None`: frees are hidden.
    pub live_bytes: Option<Vec<u64>>,
    /// The highest resident set that memtoll saw in each interval, without the recorder, or else the last one before. Of several
    /// processes: the sum of the highest of each. `None` there: no process was looked at yet. `None`: none was at all.
    pub resident_bytes: Option<Vec<Option<u64>>>,
    pub allocations: Vec<u64>,
    /// `None`: the kernel did not show them.
    pub faults: Option<Vec<u64>>,
}

impl Activity {
    pub(crate) fn new(found: &TimelineView, resident: Option<Vec<Option<u64>>>, tariff: &Tariff) -> Activity {
        let column = |of: fn(&Interval) -> u64| found.intervals.iter().map(of).collect::<Vec<u64>>();
        Activity {
            start_ns: tariff.ns(found.start as f64) as u64,
            interval_ns: tariff.ns(found.width as f64),
            live_bytes: tariff.sees().frees.then(|| column(|interval| interval.highest)),
            resident_bytes: resident,
            allocations: column(|interval| interval.allocations),
            faults: tariff.sees().faults.then(|| column(|interval| interval.faults)),
        }
    }
}
