//! What threads had in glibc's arenas beside the main one (malloc/arena.c): heaps of their own, which begin at multiples of 64 MiB.

use super::chunks;
use crate::live_blocks::Block;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Heaps begin at multiples of this, bytes, and are no larger.
const HEAP: u64 = 64 << 20;

/// Which heap an address is in, if it is not in the main arena's.
pub fn heap(address: u64, main: &Range<u64>) -> Option<u64> {
    (!main.contains(&address)).then_some(address / HEAP)
}

#[derive(Clone, Copy, Default)]
struct Bytes {
    now: u64,
    most: u64,
}

impl Bytes {
    fn add(&mut self, bytes: u64) {
        self.now += bytes;
        self.most = self.most.max(self.now);
    }

    fn take(&mut self, bytes: u64) {
        self.now = self.now.saturating_sub(bytes);
    }
}

/// Heaps whose places are remembered as the last ones.
const RECENT: usize = 1 << 4;

/// Bytes of chunks in use, by heap and together.
pub struct Arenas {
    /// The addresses of the main arena's heap.
    main: Range<u64>,
    heaps: Vec<Bytes>,
    /// The place of each heap.
    places: FxHashMap<u64, usize>,
    /// Heaps and their places: each thread's blocks lie in one heap for long.
    recent: [(u64, usize); RECENT],
    together: Bytes,
}

impl Arenas {
    pub fn new(main: Range<u64>) -> Arenas {
        Arenas {
            main,
            heaps: Vec::new(),
            places: FxHashMap::default(),
            recent: [(u64::MAX, 0); RECENT],
            together: Bytes::default(),
        }
    }

    pub fn main(&self) -> &Range<u64> {
        &self.main
    }

    /// What the block's heap has in use, and the size of its chunk, if it is in a heap beside the main one.
    #[inline]
    fn of(&mut self, block: &Block) -> Option<(&mut Bytes, u64)> {
        let heap = heap(block.address, &self.main).filter(|_| !chunks::is_mapped_alone(block))?;
        let recent = &mut self.recent[heap as usize % RECENT];
        if recent.0 != heap {
            let next = self.heaps.len();
            *recent = (heap, *self.places.entry(heap).or_insert(next));
            if recent.1 == next {
                self.heaps.push(Bytes::default());
            }
        }
        let chunk = chunks::chunk(block);
        Some((&mut self.heaps[recent.1], chunk.end - chunk.start))
    }

    #[inline]
    pub fn acquired(&mut self, block: &Block) {
        let Some((heap, bytes)) = self.of(block) else { return };
        heap.add(bytes);
        self.together.add(bytes);
    }

    #[inline]
    pub fn released(&mut self, block: &Block) {
        let Some((heap, bytes)) = self.of(block) else { return };
        heap.take(bytes);
        self.together.take(bytes);
    }

    /// How many heaps had blocks.
    pub fn heaps(&self) -> u64 {
        self.heaps.len() as u64
    }

    /// The most that chunks took in each heap, added up.
    pub fn most_of_each(&self) -> u64 {
        self.heaps.iter().map(|heap| heap.most).sum()
    }

    /// The most that they took in all heaps at one instant.
    pub fn most_together(&self) -> u64 {
        self.together.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::StackId;
    use memtoll_trace::ids::ThreadNo;

    #[test]
    fn heaps_that_take_turns_need_less_together() {
        let block =
            |address: u64| Block { address, size: 1_000, time: 0, node: StackId::NONE, thread: ThreadNo::FIRST };
        let mut arenas = Arenas::new(0x5555_0000..0x6555_0000);
        arenas.acquired(&block(0x5556_0010));
        for heap in 0..4 {
            let blocks = [0x7f00_0000_0010, 0x7f00_0000_1010].map(|address| block(address + heap * HEAP));
            blocks.iter().for_each(|block| arenas.acquired(block));
            blocks.iter().for_each(|block| arenas.released(block));
        }
        assert_eq!((arenas.heaps(), arenas.most_of_each(), arenas.most_together()), (4, 8 * 1_008, 2 * 1_008));
    }
}
