//! What glibc's malloc takes for a block: malloc/malloc.c, "Chunk representations".

use crate::live_blocks::Block;
use std::ops::Range;

/// Bytes before a block: the size of its chunk.
const HEADER: u64 = 8;
/// Chunks are multiples of this.
const ALIGNMENT: u64 = 16;
const SMALLEST: u64 = 32;
/// Bytes before a block that has a mapping of its own.
const MAPPED_HEADER: u64 = 16;
/// Bytes at the begin of a free chunk that tell where others are: they stay when the pages behind it are given back.
pub const FREE_HEADER: u64 = 48;
const PAGE: u64 = 4096;
/// No block that is smaller has a mapping of its own, unless the program asks for that.
const SMALLEST_MAPPED: u64 = 64 << 10;

/// The addresses that a block's chunk takes. The last 8 bytes of what can be used are the next chunk's first ones.
pub fn chunk(block: &Block) -> Range<u64> {
    of_bytes(block.address, block.size.saturating_add(HEADER).next_multiple_of(ALIGNMENT).max(SMALLEST))
}

/// The addresses of the chunk of a block: where the block begins, and the size of the chunk, bytes.
pub fn of_bytes(address: u64, bytes: u64) -> Range<u64> {
    let start = address.saturating_sub(HEADER);
    start..start.saturating_add(bytes)
}

/// Whether a block may have a mapping of its own: they begin 16 bytes behind a page.
pub fn is_mapped_alone(block: &Block) -> bool {
    block.size >= SMALLEST_MAPPED && block.address % PAGE == MAPPED_HEADER
}

/// The addresses of such a mapping.
pub fn mapping(block: &Block) -> Range<u64> {
    let start = block.address - MAPPED_HEADER;
    start..block.address.saturating_add(block.size).next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::StackId;
    use memtoll_trace::ids::ThreadNo;

    fn block(address: u64, size: u64) -> Block {
        Block { address, size, time: 0, node: StackId::NONE, thread: ThreadNo::FIRST }
    }

    #[test]
    fn chunks_are_those_of_malloc() {
        // malloc_usable_size of 0, 24, 25, 40, 100 and 200 bytes is 24, 24, 40, 40, 104 and 200.
        for (size, usable) in [(0, 24), (24, 24), (25, 40), (40, 40), (100, 104), (200, 200)] {
            let chunk = chunk(&block(0x1010, size));
            assert_eq!((chunk.start, chunk.end - chunk.start), (0x1008, usable + HEADER), "{size}");
        }
        let large = block(0x7000_0010, 200_000);
        assert!(is_mapped_alone(&large) && !is_mapped_alone(&block(0x7000_0020, 200_000)));
        assert_eq!(mapping(&large), 0x7000_0000..0x7003_1000);
    }
}
