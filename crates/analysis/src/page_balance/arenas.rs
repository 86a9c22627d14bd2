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

/// Bytes of chunks in use, by heap and together.
pub struct Arenas {
    /// The addresses of the main arena's heap.
    main: Range<u64>,
    heaps: FxHashMap<u64, Bytes>,
    together: Bytes,
}

impl Arenas {
    pub fn new(main: Range<u64>) -> Arenas {
        Arenas { main, heaps: FxHashMap::default(), together: Bytes::default() }
    }

    pub fn main(&self) -> &Range<u64> {
        &self.main
    }

    fn place(&self, block: &Block) -> Option<(u64, u64)> {
        let chunk = chunks::chunk(block);
        let heap = heap(block.address, &self.main).filter(|_| !chunks::is_mapped_alone(block))?;
        Some((heap, chunk.end - chunk.start))
    }

    pub fn acquired(&mut self, block: &Block) {
        let Some((heap, bytes)) = self.place(block) else { return };
        self.heaps.entry(heap).or_default().add(bytes);
        self.together.add(bytes);
    }

    pub fn released(&mut self, block: &Block) {
        let Some((heap, bytes)) = self.place(block) else { return };
        self.heaps.entry(heap).or_default().take(bytes);
        self.together.take(bytes);
    }

    /// How many heaps had blocks.
    pub fn heaps(&self) -> u64 {
        self.heaps.len() as u64
    }

    /// The most that chunks took in each heap, added up.
    pub fn most_of_each(&self) -> u64 {
        self.heaps.values().map(|heap| heap.most).sum()
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
