//! What malloc's huge pages have in memory that small pages would not: pages that no block ever touched.
//!
//! The kernel does not tell what of a huge page was written. Certainly not: pages on which no block and no header of one ever lay.
//! Certainly: pages on which a block began, for its header. What lies between, inside long blocks, may be either.

use super::chunks;
use super::program_memory::ProgramMemory;
use std::ops::Range;

/// glibc's memory in huge pages, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HugePages {
    pub bytes: u64,
    /// Of live blocks.
    pub live: u64,
    /// What small pages would keep out of memory, at least and at most.
    pub low: u64,
    pub high: u64,
}

impl HugePages {
    /// A range of huge pages, all of them malloc's.
    pub(super) fn add(&mut self, range: &Range<u64>, memory: &ProgramMemory, page: u64) {
        let first = memory.blocks.partition_point(|block| block.address.saturating_add(block.size) <= range.start);
        let inside = memory.blocks[first..].iter().take_while(|block| block.address < range.end);
        let (mut live, mut alone) = (0, 0);
        for block in inside {
            live += block.address.saturating_add(block.size).min(range.end) - block.address.max(range.start);
            alone += u64::from(chunks::is_mapped_alone(block) && range.contains(&block.address));
        }
        let bytes = range.end - range.start;
        self.bytes += bytes;
        self.live += live;
        let low = memory.in_blocks.never(range) * page;
        self.low += low;
        self.high += bytes.saturating_sub((memory.pages_with_blocks(range) + alone) * page).max(low);
    }
}
