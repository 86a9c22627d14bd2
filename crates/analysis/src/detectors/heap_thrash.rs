//! The allocator takes memory from the system and gives it back, again and again.

use crate::sums::Sums;
use crate::uncharged_faults::HeapAndOtherFaults;
use memtoll_trace::ids::Bytes;

/// Moves of the heap's end, or mappings that come and go.
const FEWEST: u64 = 16;
const LEAST: Bytes = Bytes(4 << 20);

/// A heap that shrinks and grows.
#[derive(Clone)]
pub struct HeapThrash {
    /// What the heap did, of all processes.
    pub all: HeapAndOtherFaults,
    /// What was live at the most, added up over processes, and no less than what is worth a word.
    pub peak: Bytes,
}

/// The allocator took several times what was ever live, and gave it back in between.
pub fn heap_thrash(sums: &Sums) -> Option<HeapThrash> {
    let mut all = HeapAndOtherFaults::default();
    sums.images.iter().for_each(|image| all.add(&image.beside));
    let peak =
        sums.images.iter().map(|image| image.total.peak_bytes).fold(Bytes::ZERO, Bytes::saturating_add).max(LEAST);
    let is_again =
        all.shrunk_calls >= FEWEST && all.shrunk_bytes >= all.grown_bytes / 2 && all.grown_bytes / 4 >= peak.0;
    is_again.then_some(HeapThrash { all, peak })
}
