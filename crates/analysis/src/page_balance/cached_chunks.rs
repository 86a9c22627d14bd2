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

/// Where a thread's cache is.
#[derive(Clone, Copy)]
enum Place {
    /// It has none yet.
    Nowhere,
    At(usize),
    /// The thread has ended, and given back what it had.
    Gone,
}

/// The caches of all threads. Nearly all events come here, so the usual one touches a line of the processor's cache or two.
pub struct CachedChunks {
    /// By the thread's number.
    places: Vec<Place>,
    /// Of threads that run, with their numbers.
    caches: Vec<(usize, Box<OfThread>)>,
    /// How many of the addresses that are kept have each slot. Where there is none, no cache is searched.
    slots: Box<[u32]>,
}

impl Default for CachedChunks {
    fn default() -> CachedChunks {
        CachedChunks { places: Vec::new(), caches: Vec::new(), slots: vec![0; SLOTS].into() }
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

    /// What a thread keeps of a size, if it runs.
    #[inline]
    fn of(&mut self, thread: ThreadNo, size: u64) -> Option<&mut Kept> {
        let number = thread.get() as usize;
        if number >= self.places.len() {
            self.places.resize(number + 1, Place::Nowhere);
        }
        let at = match self.places[number] {
            Place::At(at) => at,
            Place::Gone => return None,
            Place::Nowhere => {
                self.caches.push((number, Box::new([Kept::default(); _])));
                self.places[number] = Place::At(self.caches.len() - 1);
                self.caches.len() - 1
            }
        };
        Some(&mut self.caches[at].1[(size / STEP) as usize])
    }

    /// A thread gives back what it keeps.
    pub fn ended(&mut self, thread: ThreadNo) {
        let number = thread.get() as usize;
        if number >= self.places.len() {
            self.places.resize(number + 1, Place::Nowhere);
        }
        let Place::At(at) = std::mem::replace(&mut self.places[number], Place::Gone) else { return };
        let (_, cache) = self.caches.swap_remove(at);
        if let Some((moved, _)) = self.caches.get(at) {
            self.places[*moved] = Place::At(at);
        }
        for address in cache.iter().flat_map(Kept::all) {
            self.slots[slot(*address)] -= 1;
        }
    }

    #[inline]
    pub fn released(&mut self, block: &Block, thread: ThreadNo) {
        let size = size_of(block);
        if Self::has_size(size) && self.of(thread, size).is_some_and(|kept| kept.add(block.address)) {
            self.slots[slot(block.address)] += 1;
        }
    }

    #[inline]
    pub fn acquired(&mut self, block: &Block) {
        if self.slots[slot(block.address)] == 0 {
            return;
        }
        let size = size_of(block);
        let is_own = Self::has_size(size) && self.of(block.thread, size).is_some_and(|kept| kept.remove(block.address));
        if is_own || self.is_taken_elsewhere(block.address) {
            self.slots[slot(block.address)] -= 1;
        }
    }

    /// Whether another thread kept it, or in another size: malloc may have moved it meanwhile.
    #[cold]
    fn is_taken_elsewhere(&mut self, address: u64) -> bool {
        let mut all = self.caches.iter_mut().flat_map(|(_, cache)| cache.iter_mut());
        all.any(|kept| kept.remove(address))
    }

    /// The chunks of all threads that run, by address.
    pub fn chunks(&self) -> Vec<Range<u64>> {
        let sizes = self.caches.iter().flat_map(|(_, cache)| cache.iter().zip((0..).step_by(STEP as usize)));
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
        assert_eq!(cached.chunks(), expected);
        cached.ended(ThreadNo::FIRST);
        assert!(cached.chunks().is_empty());
        cached.released(&block(0x1010, 100), ThreadNo::FIRST);
        assert!(cached.chunks().is_empty(), "it gives back at once what it frees in its last moment");
    }

    #[test]
    fn caches_stay_their_threads_where_one_of_them_ends() {
        let mut cached = CachedChunks::default();
        let [first, second, third] = [1, 2, 3].map(|number| ThreadNo::new(number).unwrap());
        for (thread, address) in [(first, 0x1010), (second, 0x2010), (third, 0x3010)] {
            cached.released(&block(address, 24), thread);
        }
        cached.ended(first);
        cached.released(&block(0x4010, 24), third);
        // What a thread kept that has ended, another one may get.
        cached.acquired(&block(0x1010, 24));
        cached.acquired(&Block { thread: second, ..block(0x3010, 24) });
        let of = |address: u64| address - 8..address + 24;
        assert_eq!(cached.chunks(), [of(0x2010), of(0x4010)]);
        cached.ended(second);
        cached.ended(second);
        assert_eq!(cached.chunks(), [of(0x4010)]);
    }
}
