//! Tells which kernel events a recording could see.

use memtoll_model::Recording;

pub use memtoll_metrics::Sees;

pub(crate) fn sees(recording: &Recording) -> Sees {
    match &recording.end {
        Some(end) => Sees { faults: end.kernel.faults, switches: end.kernel.switches, fault_prices: true },
        // It was cut off before that was written, and before prices were measured.
        None => Sees { faults: true, switches: true, fault_prices: false },
    }
}
