//! The blocks of a process image that are live, by their addresses.
//!
//! This is asked for every event, and with many live blocks each question costs a wait for memory. So everything that is
//! wanted of a block stands together, without gaps, and addresses stand apart from it, eight in a line of the cache:
//!
//! ```text
//! addresses[slot]   0, or the address of a block
//! places[slot]      which of `blocks` that is
//! blocks[place]     what is kept of it
//!
//! home(address)     the slot where the search for it begins; it goes on to the next ones until it meets a 0
//! ```
//!
//! Blocks have no gaps, and the next one gets the place of the last that was released, which is still in the cache. (With a place
//! for each slot, the table takes twice the memory, and the kernel has to find and zero that: on a virtual machine that gives
//! free memory back to its host, this was a quarter of the supervisor's time for python reading JSON.)
//!
//! Neighbours in the program's memory are often acquired and released together, so they are neighbours here, too: a region
//! of 2 KiB begins at a random slot, and inside it, slots follow addresses. (With many live blocks, as in python reading
//! JSON, this saves a third of the supervisor's time against addresses scattered one by one.)
//!
//! At most half of the slots are used. When a block is removed, those behind it that could not have their home move up, so
//! that no search ever crosses a hole.

use memtoll_tally::LiveBlock;
use memtoll_tally::zeroed_memory::{List, Zeroed};
use memtoll_trace::ids::BlockNo;
use std::mem::MaybeUninit;

/// A live block with its number.
#[derive(Clone, Copy)]
pub struct NumberedBlock {
    pub number: BlockNo,
    pub block: LiveBlock,
}

/// A map from addresses (never 0) to what is kept of a block.
pub struct LiveBlocks<T> {
    addresses: Zeroed<u64>,
    /// By slot, where the address is not 0. (There are fewer than 2^32 live blocks: as many take 128 GiB of the program.)
    places: Zeroed<u32>,
    /// Initialised where a slot has the place.
    blocks: List<MaybeUninit<T>>,
    /// Places that no slot has.
    free: Vec<u32>,
    used: usize,
    shift: u32,
}

/// Short programs have fewer than half as many live blocks.
const FIRST_SLOTS: usize = 1 << 8;
const FIRST_BLOCKS: usize = FIRST_SLOTS / 2;
/// Slots that stay in the cache by themselves.
const CACHED_SLOTS: usize = 1 << 12;
/// Blocks begin at multiples of 16 bytes.
const GRANULE_LOG2: u32 = 4;
/// Granules whose homes are neighbours.
const REGION: u64 = 128;

impl<T: Copy> LiveBlocks<T> {
    pub fn new() -> Self {
        Self::with_slots(FIRST_SLOTS)
    }

    fn with_slots(slots: usize) -> Self {
        LiveBlocks {
            // SAFETY: 0 is a number.
            addresses: unsafe { Zeroed::new(slots) },
            // SAFETY: so it is here.
            places: unsafe { Zeroed::new(slots) },
            // SAFETY: such memory may hold anything.
            blocks: unsafe { List::looked_up(FIRST_BLOCKS) },
            free: Vec::new(),
            used: 0,
            shift: u64::BITS - slots.trailing_zeros(),
        }
    }

    #[inline(always)]
    fn home(&self, address: u64) -> usize {
        let granule = address >> GRANULE_LOG2;
        let region = (granule / REGION).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        (region + granule % REGION) as usize & (self.addresses.len() - 1)
    }

    #[inline(always)]
    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.addresses.len() - 1)
    }

    /// Fetches what a question about `address` will need, if it is not in the cache anyway: to be called some questions
    /// earlier.
    #[inline(always)]
    pub fn prefetch(&self, address: u64) {
        if self.addresses.len() > CACHED_SLOTS {
            let home = self.home(address);
            memtoll_processor::prefetch(self.addresses.as_ptr().wrapping_add(home));
            memtoll_processor::prefetch(self.places.as_ptr().wrapping_add(home));
        }
    }

    /// The same of the block itself, once that has been fetched.
    #[inline(always)]
    pub fn prefetch_block(&self, address: u64) {
        if self.addresses.len() > CACHED_SLOTS
            && let Some(place) = self.place_at_home(address)
        {
            memtoll_processor::prefetch(self.blocks.as_ptr().wrapping_add(place));
        }
    }

    /// The block at `address`, if its slot is where the search for it begins.
    #[inline(always)]
    pub fn glance(&self, address: u64) -> Option<&T> {
        // SAFETY: a slot has the place.
        self.place_at_home(address).map(|place| unsafe { self.blocks[place].assume_init_ref() })
    }

    #[inline(always)]
    fn place_at_home(&self, address: u64) -> Option<usize> {
        let home = self.home(address);
        (self.addresses[home] == address && address != 0).then(|| self.places[home] as usize)
    }

    /// The slot that holds `address`, or else the free one where it belongs.
    #[inline(always)]
    fn find(&self, address: u64) -> usize {
        let mut slot = self.home(address);
        while self.addresses[slot] != address && self.addresses[slot] != 0 {
            slot = self.after(slot);
        }
        slot
    }

    /// A block is acquired. Returns the one that was at this address, if it was not seen to be released.
    #[inline(always)]
    pub fn insert(&mut self, address: u64, block: T) -> Option<T> {
        let slot = self.find(address);
        if self.addresses[slot] != 0 {
            let place = self.places[slot] as usize;
            let before = std::mem::replace(&mut self.blocks[place], MaybeUninit::new(block));
            // SAFETY: a slot has the place.
            return Some(unsafe { before.assume_init() });
        }
        let place = self.free.pop().unwrap_or(self.blocks.len() as u32);
        self.blocks.reach(place as usize + 1);
        self.blocks[place as usize] = MaybeUninit::new(block);
        (self.addresses[slot], self.places[slot]) = (address, place);
        self.used += 1;
        if self.used * 2 > self.addresses.len() {
            self.grow();
        }
        None
    }

    /// Doubles the slots where they are: the table does not copy them.
    #[cold]
    fn grow(&mut self) {
        let slots = self.addresses.len();
        self.addresses.grow(slots * 2);
        self.places.grow(slots * 2);
        self.shift -= 1;
        // A home moves up by about as much as it is away from the first slot. So from the last slot down, blocks move to
        // where all has its new place already; those few that would not, wait.
        let mut waiting = Vec::new();
        for old in (0..slots).rev() {
            let address = std::mem::take(&mut self.addresses[old]);
            if address == 0 {
                continue;
            }
            let place = self.places[old];
            let home = self.home(address);
            let free = (home..self.addresses.len()).find(|slot| self.addresses[*slot] == 0);
            match free.filter(|_| home > old) {
                Some(slot) => (self.addresses[slot], self.places[slot]) = (address, place),
                None => waiting.push((address, place)),
            }
        }
        for (address, place) in waiting {
            let slot = self.find(address);
            (self.addresses[slot], self.places[slot]) = (address, place);
        }
    }

    /// A block is released.
    #[inline(always)]
    pub fn remove(&mut self, address: u64) -> Option<T> {
        let slot = self.find(address);
        if self.addresses[slot] != address || address == 0 {
            return None;
        }
        let place = self.places[slot];
        // SAFETY: a slot has the place.
        let block = unsafe { self.blocks[place as usize].assume_init() };
        self.free.push(place);
        self.used -= 1;
        self.addresses[slot] = 0;
        if self.addresses[self.after(slot)] != 0 {
            self.close_gap(slot);
        }
        Some(block)
    }

    pub fn get(&self, address: u64) -> Option<T> {
        // SAFETY: a slot has the place.
        self.place_of(address).map(|place| unsafe { self.blocks[place].assume_init() })
    }

    /// The block at `address`, to be changed.
    pub fn get_mut(&mut self, address: u64) -> Option<&mut T> {
        // SAFETY: a slot has the place.
        self.place_of(address).map(|place| unsafe { self.blocks[place].assume_init_mut() })
    }

    fn place_of(&self, address: u64) -> Option<usize> {
        let slot = self.find(address);
        (self.addresses[slot] == address && address != 0).then(|| self.places[slot] as usize)
    }

    /// All blocks with their addresses, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, T)> + '_ {
        let used = (0..self.addresses.len()).filter(|slot| self.addresses[*slot] != 0);
        // SAFETY: a slot has the place.
        used.map(|slot| (self.addresses[slot], unsafe { self.blocks[self.places[slot] as usize].assume_init() }))
    }

    /// The nearest block that begins at `address` or up to `distance` bytes below it, and where it begins.
    pub fn below(&self, address: u64, distance: u64) -> Option<(u64, T)> {
        let steps = distance >> GRANULE_LOG2;
        let first = address >> GRANULE_LOG2 << GRANULE_LOG2;
        if self.addresses.len() as u64 <= steps {
            // Then it is faster to look at all.
            let within = |start: &u64| *start != 0 && *start <= first && first - *start <= steps << GRANULE_LOG2;
            let start = self.addresses.iter().copied().filter(within).max()?;
            return Some((start, self.get(start)?));
        }
        let mut starts = (0..=steps).map_while(|steps| first.checked_sub(steps << GRANULE_LOG2));
        // Most granules have no block: their homes are free.
        starts.find_map(|start| match self.addresses[self.home(start)] {
            0 => None,
            _ => Some((start, self.get(start)?)),
        })
    }

    /// Moves blocks up that the free slot `gap` would cut off from their homes.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.addresses.len() - 1;
        let mut slot = self.after(gap);
        while self.addresses[slot] != 0 {
            let from_home = slot.wrapping_sub(self.home(self.addresses[slot])) & mask;
            let from_gap = slot.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.addresses[gap] = self.addresses[slot];
                self.places[gap] = self.places[slot];
                self.addresses[slot] = 0;
                gap = slot;
            }
            slot = self.after(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn finds_the_nearest_block_below() {
        let mut blocks = LiveBlocks::new();
        blocks.insert(0x5010, 1);
        blocks.insert(0x5100, 2);
        assert_eq!(blocks.below(0x500f, 4096), None);
        assert_eq!(blocks.below(0x5010, 0), Some((0x5010, 1)));
        assert_eq!(blocks.below(0x50ff, 4096), Some((0x5010, 1)));
        assert_eq!(blocks.below(0x5fff, 4096), Some((0x5100, 2)));
        assert_eq!(blocks.below(0x6110, 4096), None);
        assert_eq!(blocks.below(0x6110, 0x1010), Some((0x5100, 2)));
        for far in 1..=FIRST_SLOTS as u64 {
            blocks.insert(far << 20, 0); // the table grows, and is no longer looked at as a whole
        }
        assert_eq!(blocks.below(0x500f, 4096), None);
        assert_eq!(blocks.below(0x50ff, 4096), Some((0x5010, 1)));
        assert_eq!(blocks.below(0x5fff, 4096), Some((0x5100, 2)));
        assert_eq!(blocks.below(0x6110, 4096), None);
    }

    /// Against a map of the standard library, with few addresses, so that they meet, and with many.
    #[test]
    fn does_what_a_map_does() {
        for addresses in [40, 3000, 100_000] {
            let (mut blocks, mut model) = (LiveBlocks::new(), HashMap::new());
            let mut random = 1u64;
            for step in 0..200_000u64 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let address = (1 + (random >> 33) % addresses) * 16;
                if random >> 32 & 1 == 0 {
                    assert_eq!(blocks.insert(address, step), model.insert(address, step));
                } else {
                    assert_eq!(blocks.remove(address), model.remove(&address));
                }
            }
            let all: HashMap<u64, u64> = blocks.iter().collect();
            assert_eq!(all, model);
            for (address, block) in model {
                assert_eq!(blocks.remove(address), Some(block));
            }
            assert_eq!((blocks.used, blocks.remove(0)), (0, None));
        }
    }
}
