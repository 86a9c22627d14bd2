//! What a recording could see.

use memtoll_model::Recording;

/// What the kernel let be seen. Where it is false, a count of 0 means that nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// Page faults.
    pub faults: bool,
    /// When threads lost the processor.
    pub switches: bool,
}

impl Sees {
    /// In a recording.
    pub(crate) fn of(recording: &Recording) -> Sees {
        match &recording.end {
            Some(end) => Sees { faults: end.kernel.faults, switches: end.kernel.switches },
            // It was cut off before it said so.
            None => Sees { faults: true, switches: true },
        }
    }
}
