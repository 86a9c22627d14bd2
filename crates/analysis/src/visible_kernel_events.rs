//! Tells what a recording could see.

use memtoll_model::Recording;

pub use memtoll_metrics::Sees;

pub(crate) fn sees(recording: &Recording) -> Sees {
    let frees = recording.sees_frees();
    match &recording.end {
        Some(end) => Sees { faults: end.kernel.faults, switches: end.kernel.switches, frees, fault_prices: true },
        // It was cut off before it said so, and before prices were measured.
        None => Sees { faults: true, switches: true, frees, fault_prices: false },
    }
}
