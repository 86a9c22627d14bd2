//! What is known of the blocks that are live, by their number.
//!
//! Most blocks die young, so the newest stand in a ring that the next ones overwrite; those that survive a round of it
//! move to a hash map. Memory is bounded by the live blocks, and the usual release touches one line of the cache.

use super::LiveBlock;
use crate::site_index::SiteIndex;
use memtoll_trace::ids::{Bytes, ThreadNo, Units};
use rustc_hash::FxHashMap;

const RING: usize = 1 << 14;
const NO_BLOCK: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Entry {
    number: u64, // or NO_BLOCK
    block: LiveBlock,
}

pub(super) struct BlockTable {
    ring: Box<[Entry]>,
    survivors: FxHashMap<u64, LiveBlock>,
}

impl BlockTable {
    pub(super) fn new() -> Self {
        let empty = Entry {
            number: NO_BLOCK,
            block: LiveBlock::new(Bytes::ZERO, Units::ZERO, SiteIndex::NONE, ThreadNo::FIRST, 0),
        };
        BlockTable { ring: vec![empty; RING].into(), survivors: FxHashMap::default() }
    }

    /// Makes room for blocks that are going to be inserted and will stay.
    pub(super) fn reserve(&mut self, blocks: usize) {
        self.survivors.reserve(blocks);
    }

    #[inline]
    pub(super) fn insert(&mut self, number: u64, block: LiveBlock) {
        let entry = &mut self.ring[number as usize % RING];
        if entry.number != NO_BLOCK {
            self.survivors.insert(entry.number, entry.block);
        }
        *entry = Entry { number, block };
    }

    /// What is known of a block that stays.
    pub(super) fn get(&self, number: u64) -> Option<LiveBlock> {
        let entry = &self.ring[number as usize % RING];
        match entry.number == number {
            true => Some(entry.block),
            false => self.survivors.get(&number).copied(),
        }
    }

    /// A block that stays, to be changed.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut LiveBlock> {
        let entry = &mut self.ring[number as usize % RING];
        match entry.number == number {
            true => Some(&mut entry.block),
            false => self.survivors.get_mut(&number),
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u64) -> Option<LiveBlock> {
        let entry = &mut self.ring[number as usize % RING];
        if entry.number == number {
            entry.number = NO_BLOCK;
            return Some(entry.block);
        }
        self.survivors.remove(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a plain map, with blocks of all ages removed.
        #[test]
        fn does_what_a_map_does(ages in proptest::collection::vec((0u64..3, 0u64..50_000), 1..400)) {
            let mut table = BlockTable::new();
            let mut model = BTreeMap::new();
            let mut next = 0;
            for (kind, age) in ages {
                // A burst of insertions, so that the ring turns.
                for _ in 0..(if kind == 0 { 300 } else { 1 }) {
                    table.insert(next, LiveBlock::new(Bytes(next * 3), Units(next), SiteIndex::new(1), ThreadNo::FIRST, 0));
                    model.insert(next, next * 3);
                    next += 1;
                }
                let number = next.saturating_sub(age);
                prop_assert_eq!(table.remove(number).map(|block| block.size().0), model.remove(&number));
            }
            for (number, size) in model {
                prop_assert_eq!(table.remove(number).map(|block| block.size().0), Some(size));
            }
        }
    }
}
