//! The blocks that are live, by their number.
//!
//! Most blocks die young, so the newest stand in a ring that the next ones overwrite; those that survive a round of it move to
//! a hash map. So memory is bounded by the live blocks.

use memtoll_trace::ids::ThreadNo;
use rustc_hash::FxHashMap;

const RING: usize = 1 << 13;
const NO_NUMBER: u64 = u64::MAX;

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

/// All of them.
pub struct LiveBlocks {
    ring: Box<[(u64, Live)]>,
    survivors: FxHashMap<u64, Live>,
}

impl LiveBlocks {
    pub fn new() -> LiveBlocks {
        let none = Live { size: 0, address: 0, time: 0, site: 0, thread: ThreadNo::FIRST, is_replacement: false };
        LiveBlocks { ring: vec![(NO_NUMBER, none); RING].into(), survivors: FxHashMap::default() }
    }

    #[inline]
    pub fn insert(&mut self, number: u64, block: Live) {
        let entry = &mut self.ring[number as usize % RING];
        if entry.0 != NO_NUMBER {
            self.survivors.insert(entry.0, entry.1);
        }
        *entry = (number, block);
    }

    #[inline]
    pub fn remove(&mut self, number: u64) -> Option<Live> {
        let entry = &mut self.ring[number as usize % RING];
        if entry.0 == number && number != NO_NUMBER {
            entry.0 = NO_NUMBER;
            return Some(entry.1);
        }
        self.survivors.remove(&number)
    }

    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Live> {
        let entry = &mut self.ring[number as usize % RING];
        match entry.0 == number && number != NO_NUMBER {
            true => Some(&mut entry.1),
            false => self.survivors.get_mut(&number),
        }
    }

    /// Those that are left.
    pub fn all(&self) -> impl Iterator<Item = &Live> {
        let newest = self.ring.iter().filter(|(number, _)| *number != NO_NUMBER).map(|(_, block)| block);
        newest.chain(self.survivors.values())
    }
}
