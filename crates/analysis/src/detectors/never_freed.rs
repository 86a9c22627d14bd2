//! Blocks that are never freed.

/// Bytes.
const LEAST: u64 = 64 << 10;
/// Of the peak.
const LEAST_SHARE: u64 = 4;

/// Whether bytes that are live at the end are worth a word; `peak`: the bytes of which they have to be a good part, 0 if any.
pub fn keeps_much(bytes: u64, peak: u64) -> bool {
    bytes >= LEAST && bytes.saturating_mul(LEAST_SHARE) >= peak
}
