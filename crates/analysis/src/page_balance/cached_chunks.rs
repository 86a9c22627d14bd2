//! Chunks that glibc's malloc keeps for a thread after it has freed them (malloc/malloc.c, `tcache`). To the rest of malloc they
//! are in use, so `malloc_trim` gives back none of their pages.
//!
//! malloc also moves chunks from its bins into these caches, which no call shows: what is known here is what threads have freed.

use super::chunks;
use crate::live_blocks::Block;
use memtoll_trace::ids::ThreadNo;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Chunks of a size that a thread keeps.
const MOST: usize = 7;
/// The largest chunk that is kept, bytes.
const LARGEST: u64 = 1040;

/// The caches of all threads. A thread has one for each size of chunks.
#[derive(Default)]
pub struct CachedChunks {
    /// Addresses of blocks, by the thread and the size of their chunks.
    kept: FxHashMap<(ThreadNo, u64), Vec<u64>>,
    /// In which of them a block lies.
    place: FxHashMap<u64, (ThreadNo, u64)>,
}

impl CachedChunks {
    /// Whether threads keep chunks of this size.
    pub fn has_size(chunk: u64) -> bool {
        chunk <= LARGEST
    }

    /// Bytes of chunks of one size that a thread keeps at most; each may keep as many pages.
    pub const fn most() -> u64 {
        MOST as u64
    }

    pub fn released(&mut self, block: &Block, thread: ThreadNo) {
        let chunk = chunks::chunk(block);
        let size = chunk.end - chunk.start;
        if !Self::has_size(size) {
            return;
        }
        let kept = self.kept.entry((thread, size)).or_default();
        if kept.len() < MOST {
            kept.push(block.address);
            self.place.insert(block.address, (thread, size));
        }
    }

    pub fn acquired(&mut self, address: u64) {
        let Some(place) = self.place.remove(&address) else { return };
        if let Some(kept) = self.kept.get_mut(&place) {
            kept.retain(|there| *there != address);
        }
    }

    /// The chunks of threads that run, by address; a thread that ends gives its own back.
    pub fn of_running(&self, runs: impl Fn(ThreadNo) -> bool) -> Vec<Range<u64>> {
        let running = self.kept.iter().filter(|((thread, _), _)| runs(*thread));
        let mut all: Vec<Range<u64>> = running
            .flat_map(|((_, size), kept)| kept.iter().map(|address| chunks::of_bytes(*address, *size)))
            .collect();
        all.sort_unstable_by_key(|chunk| chunk.start);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::StackId;

    fn block(address: u64, size: u64) -> Block {
        Block { address, size, time: 0, node: StackId::NONE, thread: ThreadNo::FIRST }
    }

    #[test]
    fn a_thread_keeps_seven_chunks_of_a_size() {
        let mut cached = CachedChunks::default();
        for number in 0..9 {
            cached.released(&block(0x1010 + number * 112, 100), ThreadNo::FIRST);
        }
        cached.released(&block(0x8010, 1_032), ThreadNo::FIRST);
        cached.released(&block(0x9010, 1_033), ThreadNo::FIRST);
        cached.acquired(0x1010 + 6 * 112);
        cached.acquired(0x1010 + 8 * 112);
        let of_100 = (0..6).map(|number| 0x1008 + number * 112..0x1008 + (number + 1) * 112);
        let expected: Vec<_> = of_100.chain(std::iter::once(0x8008..0x8418)).collect();
        assert_eq!(cached.of_running(|_| true), expected);
        assert!(cached.of_running(|_| false).is_empty());
    }
}
