//! Blocks that are never freed.

use memtoll_trace::ids::Bytes;

const LEAST: Bytes = Bytes(64 << 10);
/// Of the peak.
const LEAST_SHARE: u64 = 4;

/// Blocks that are lost, or their bytes, from which on they are worth a word: programs lose some as they start.
const FEWEST_LOST: u64 = 64;
const LEAST_LOST: Bytes = Bytes(4 << 10);

/// Whether blocks that nothing points to are worth a word.
pub fn loses_much(blocks: u64, bytes: Bytes) -> bool {
    blocks >= FEWEST_LOST || bytes >= LEAST_LOST
}

/// Whether bytes that are live at the end are worth a word; `peak`: the bytes of which they have to be a good part, 0 if any.
pub fn keeps_much(bytes: Bytes, peak: Bytes) -> bool {
    bytes >= LEAST && bytes.times(LEAST_SHARE) >= peak
}
