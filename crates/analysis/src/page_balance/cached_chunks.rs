//! Chunks that glibc's malloc keeps for a thread after it has freed them (malloc/malloc.c, `tcache`). To the rest of malloc they
//! are in use, so `malloc_trim` gives back none of their pages.
//!
//! malloc also moves chunks from its bins into these caches, which no call shows: what is known here is what threads have freed.

use super::chunks;
use crate::live_blocks::Block;
use memtoll_trace::ids::ThreadNo;
use std::ops::Range;

/// Chunks of a size that a thread keeps.
const MOST: usize = 7;
/// The largest chunk that is kept, bytes.
const LARGEST: u64 = 1040;
/// Sizes of chunks are multiples of this.
const STEP: u64 = 16;
/// Slots that say whether an address may be kept: a power of two.
const SLOTS: usize = 1 << 16;

/// Blocks of one size that a thread keeps, by address.
#[derive(Clone, Copy, Default)]
struct Kept {
    count: usize,
    addresses: [u64; MOST],
}

impl Kept {
    fn all(&self) -> &[u64] {
        &self.addresses[..self.count]
    }

    /// Whether there was room.
    #[inline]
    fn add(&mut self, address: u64) -> bool {
        let has_room = self.count < MOST;
        if has_room {
            self.addresses[self.count] = address;
            self.count += 1;
        }
        has_room
    }

    /// Whether it was there. A thread gets back what it freed last.
    #[inline]
    fn remove(&mut self, address: u64) -> bool {
        let Some(at) = self.all().iter().rposition(|there| *there == address) else { return false };
        self.count -= 1;
        self.addresses[at] = self.addresses[self.count];
        true
    }
}

/// What a thread keeps, by size in steps.
type OfThread = [Kept; (LARGEST / STEP) as usize + 1];

/// The caches of all threads. Nearly all events come here, so the usual one touches a line of the processor's cache or two.
pub struct CachedChunks {
    /// By number.
    threads: Vec<Option<Box<OfThread>>>,
    /// How many of the addresses that are kept have each slot. Where there is none, no cache is searched.
    slots: Box<[u32]>,
}

impl Default for CachedChunks {
    fn default() -> CachedChunks {
        CachedChunks { threads: Vec::new(), slots: vec![0; SLOTS].into() }
    }
}

fn slot(address: u64) -> usize {
    (address / STEP) as usize % SLOTS
}

/// The size of a block's chunk, bytes.
fn size_of(block: &Block) -> u64 {
    let chunk = chunks::chunk(block);
    chunk.end - chunk.start
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

    #[inline]
    fn of(&mut self, thread: ThreadNo, size: u64) -> &mut Kept {
        let number = thread.get() as usize;
        if number >= self.threads.len() {
            self.threads.resize_with(number + 1, || None);
        }
        let kept = self.threads[number].get_or_insert_with(|| Box::new([Kept::default(); _]));
        &mut kept[(size / STEP) as usize]
    }

    #[inline]
    pub fn released(&mut self, block: &Block, thread: ThreadNo) {
        let size = size_of(block);
        if Self::has_size(size) && self.of(thread, size).add(block.address) {
            self.slots[slot(block.address)] += 1;
        }
    }

    #[inline]
    pub fn acquired(&mut self, block: &Block) {
        if self.slots[slot(block.address)] == 0 {
            return;
        }
        let size = size_of(block);
        let is_own = Self::has_size(size) && self.of(block.thread, size).remove(block.address);
        if is_own || self.is_taken_elsewhere(block.address) {
            self.slots[slot(block.address)] -= 1;
        }
    }

    /// Whether another thread kept it, or in another size: malloc may have moved it meanwhile.
    #[cold]
    fn is_taken_elsewhere(&mut self, address: u64) -> bool {
        let mut all = self.threads.iter_mut().flatten().flat_map(|kept| kept.iter_mut());
        all.any(|kept| kept.remove(address))
    }

    /// The chunks of threads that run, by address; a thread that ends gives its own back.
    pub fn of_running(&self, runs: impl Fn(ThreadNo) -> bool) -> Vec<Range<u64>> {
        let threads = self.threads.iter().enumerate().filter_map(|(number, kept)| Some((number, kept.as_ref()?)));
        let running = threads.filter(|(number, _)| ThreadNo::new(*number as u32).is_some_and(&runs));
        let sizes = running.flat_map(|(_, kept)| kept.iter().zip((0..).step_by(STEP as usize)));
        let chunks = sizes.flat_map(|(kept, size)| kept.all().iter().map(move |at| chunks::of_bytes(*at, size)));
        let mut all: Vec<Range<u64>> = chunks.collect();
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
        cached.acquired(&block(0x1010 + 6 * 112, 100));
        cached.acquired(&block(0x1010 + 8 * 112, 100));
        let of_100 = (0..6).map(|number| 0x1008 + number * 112..0x1008 + (number + 1) * 112);
        let expected: Vec<_> = of_100.chain(std::iter::once(0x8008..0x8418)).collect();
        assert_eq!(cached.of_running(|_| true), expected);
        assert!(cached.of_running(|_| false).is_empty());
    }
}
