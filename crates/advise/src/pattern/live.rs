//! What is known of a live block.

use memtoll_trace::ids::ThreadNo;

/// A live block.
#[derive(Clone, Copy)]
pub struct Live {
    pub size: u64,
    pub address: u64,
    /// When it was acquired, units.
    pub time: u64,
    pub site: u32,
    pub thread: ThreadNo,
    /// Whether it took another one's place.
    pub is_replacement: bool,
}

impl Live {
    /// Stands where no block is.
    pub const NONE: Live =
        Live { size: 0, address: 0, time: 0, site: 0, thread: ThreadNo::FIRST, is_replacement: false };
}
