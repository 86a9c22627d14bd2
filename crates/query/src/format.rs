//! Numbers as people read them: those of every quantity, and those of a recording.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
pub use memtoll_quantity::*;

/// A time in ns with what is known of its error: `12 ± 3 ms`.
pub fn estimate(ns: Estimate) -> String {
    memtoll_quantity::estimate(Unit::Time, ns.value, ns.low, ns.high)
}

/// The same for tables, without the error: `12 ms`, `< 4 ms`.
pub fn known(ns: Estimate) -> String {
    memtoll_quantity::known(Unit::Time, ns.value, ns.low, ns.high)
}

/// An estimate as a share of a whole that is known better: `12 %`, `< 4 %`; blank if there is no whole.
pub fn share(part: Estimate, whole: f64) -> String {
    if whole <= 0.0 {
        return String::new();
    }
    let part = part.scaled(1.0 / whole);
    memtoll_quantity::known(Unit::Share, part.value, part.low, part.high)
}

/// A value of a metric, in its unit.
pub fn value(value: u64, metric: Metric) -> String {
    metric.about().unit.show(value as f64)
}
