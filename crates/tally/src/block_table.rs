//! What is known of the blocks that are live, by their number.
//!
//! Most blocks die young, so the newest stand in a ring that the next ones overwrite. Those that survive a round of it move
//! to pages of blocks with neighbouring numbers: they move there one after the other, and often die together, too. Memory is
//! bounded by the live blocks, and the usual release touches one line of the cache.

use rustc_hash::FxHashMap;

const RING: usize = 1 << 14;
const NO_BLOCK: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Entry<B> {
    number: u64, // or NO_BLOCK
    block: B,
}

/// What is known of blocks.
pub struct BlockTable<B> {
    ring: Box<[Entry<B>]>,
    survivors: Survivors<B>,
}

/// Blocks of [`PAGE`] neighbouring numbers.
struct Page<B> {
    /// A bit for each number that is there.
    present: u64,
    /// In the order of their numbers.
    blocks: Vec<B>,
}

/// Numbers of a page.
const PAGE: u64 = u64::BITS as u64;

/// Pages, by the number of each.
struct Survivors<B>(FxHashMap<u64, Page<B>>);

impl<B> Page<B> {
    /// The bit of a number, and the place of its block.
    fn place(&self, number: u64) -> (u64, usize) {
        let bit = 1 << (number % PAGE);
        (bit, (self.present & (bit - 1)).count_ones() as usize)
    }

    fn place_of(&self, number: u64) -> Option<usize> {
        let (bit, place) = self.place(number);
        (self.present & bit != 0).then_some(place)
    }
}

impl<B: Copy> Survivors<B> {
    fn insert(&mut self, number: u64, block: B) {
        let page = self.0.entry(number / PAGE).or_insert_with(|| Page { present: 0, blocks: Vec::new() });
        let (bit, place) = page.place(number);
        match page.present & bit {
            0 => page.blocks.insert(place, block),
            _ => page.blocks[place] = block,
        }
        page.present |= bit;
    }

    fn get(&self, number: u64) -> Option<&B> {
        let page = self.0.get(&(number / PAGE))?;
        Some(&page.blocks[page.place_of(number)?])
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut B> {
        let page = self.0.get_mut(&(number / PAGE))?;
        let place = page.place_of(number)?;
        Some(&mut page.blocks[place])
    }

    fn remove(&mut self, number: u64) -> Option<B> {
        let page = self.0.get_mut(&(number / PAGE))?;
        let place = page.place_of(number)?;
        let block = page.blocks.remove(place);
        page.present ^= page.place(number).0;
        if page.present == 0 {
            self.0.remove(&(number / PAGE));
        }
        Some(block)
    }
}

impl<B: Copy> BlockTable<B> {
    /// `any` stands where no block is.
    pub fn new(any: B) -> Self {
        let empty = Entry { number: NO_BLOCK, block: any };
        BlockTable { ring: vec![empty; RING].into(), survivors: Survivors(FxHashMap::default()) }
    }

    #[inline]
    pub fn insert(&mut self, number: u64, block: B) {
        let entry = &mut self.ring[number as usize % RING];
        if entry.number != NO_BLOCK {
            self.survivors.insert(entry.number, entry.block);
        }
        *entry = Entry { number, block };
    }

    /// Where a block stands in the ring. No block has the number of an empty entry.
    #[inline]
    fn place(&self, number: u64) -> Option<usize> {
        let place = number as usize % RING;
        (self.ring[place].number == number && number != NO_BLOCK).then_some(place)
    }

    /// What is known of a block that stays.
    pub fn get(&self, number: u64) -> Option<B> {
        match self.place(number) {
            Some(place) => Some(self.ring[place].block),
            None => self.survivors.get(number).copied(),
        }
    }

    /// A block that stays, to be changed.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut B> {
        match self.place(number) {
            Some(place) => Some(&mut self.ring[place].block),
            None => self.survivors.get_mut(number),
        }
    }

    #[inline]
    pub fn remove(&mut self, number: u64) -> Option<B> {
        let Some(place) = self.place(number) else { return self.survivors.remove(number) };
        let entry = &mut self.ring[place];
        entry.number = NO_BLOCK;
        Some(entry.block)
    }

    /// All that is known, in any order.
    pub fn into_blocks(self) -> impl Iterator<Item = B> {
        let young = self.ring.into_iter().filter(|entry| entry.number != NO_BLOCK).map(|entry| entry.block);
        young.chain(self.survivors.0.into_values().flat_map(|page| page.blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn no_block_has_the_number_of_an_empty_entry() {
        let mut table = BlockTable::new(0);
        let last = RING as u64 - 1;
        table.insert(last, 7);
        assert_eq!((table.get(last), table.remove(last)), (Some(7), Some(7)));
        assert_eq!(table.get_mut(NO_BLOCK), None);
        assert_eq!((table.get(NO_BLOCK), table.remove(NO_BLOCK)), (None, None));
    }

    proptest! {
        /// Against a plain map, with blocks of all ages removed.
        #[test]
        fn does_what_a_map_does(ages in proptest::collection::vec((0u64..3, 0u64..50_000), 1..400)) {
            let mut table = BlockTable::new(0);
            let mut model = BTreeMap::new();
            let mut next = 0;
            for (kind, age) in ages {
                // A burst of insertions, so that the ring turns.
                for _ in 0..(if kind == 0 { 300 } else { 1 }) {
                    table.insert(next, next * 3);
                    model.insert(next, next * 3);
                    next += 1;
                }
                let number = next.saturating_sub(age);
                prop_assert_eq!(table.remove(number), model.remove(&number));
            }
            for (number, size) in model.iter().take(model.len() / 2) {
                prop_assert_eq!(table.remove(*number), Some(*size));
            }
            let left: BTreeSet<u64> = model.into_values().collect();
            let left: Vec<u64> = left.iter().skip(left.len() / 2).copied().collect();
            prop_assert_eq!(table.into_blocks().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>(), left);
        }
    }
}
