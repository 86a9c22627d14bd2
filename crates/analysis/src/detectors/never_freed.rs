//! Blocks that are never freed.

use memtoll_trace::ids::Bytes;

const LEAST: Bytes = Bytes(64 << 10);
/// Of the peak.
const LEAST_SHARE: u64 = 4;

/// Whether bytes that are live at the end are worth a word; `peak`: the bytes of which they have to be a good part, 0 if any.
pub fn keeps_much(bytes: Bytes, peak: Bytes) -> bool {
    bytes >= LEAST && bytes.times(LEAST_SHARE) >= peak
}
