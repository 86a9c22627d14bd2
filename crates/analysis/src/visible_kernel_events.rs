//! Tells what a recording could see.

use memtoll_model::Recording;

pub use memtoll_metrics::Sees;

pub(crate) fn sees(recording: &Recording) -> Sees {
    let frees = recording.sees_frees();
    // Who looks into pages says so in the sums.
    let blind = Sees { faults: true, switches: true, frees, fault_prices: true, pages: false, units: false };
    match &recording.end {
        Some(end) => Sees { faults: end.kernel.faults, switches: end.kernel.switches, ..blind },
        // It was cut off before it said so, and before prices were measured.
        None => Sees { fault_prices: false, ..blind },
    }
}
