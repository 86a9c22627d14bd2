//! How many chunks a program may have: few, which stay in the processor's cache and are used again and again; more while it
//! writes faster than they are drained, and what it does not need any more goes back to the system.

use crate::arena::{Arena, ENOUGH_CHUNKS};
use crate::backlog::Budget;
use crate::wire::CHUNK_BYTES;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Chunks of one program at the most, beside those that its threads keep: 512 MiB.
const MOST: u32 = 8192;
/// A program that did not wait during this time has more chunks than it needs.
const CALM: Duration = Duration::from_secs(1);

pub struct Growth {
    budget: Arc<Budget>,
    /// Chunks beyond those that any program may have.
    granted: u32,
    /// Empty chunks whose memory was given back.
    spare: Vec<u32>,
    waits_seen: u32,
    waited: Instant,
}

impl Growth {
    pub fn new(budget: Arc<Budget>) -> Growth {
        Growth { budget, granted: 0, spare: Vec::new(), waits_seen: 0, waited: Instant::now() }
    }

    /// Looks whether the program waited for chunks since the last time.
    pub fn look(&mut self, arena: &Arena) {
        let waits = arena.header().waits.load(Relaxed);
        if waits != self.waits_seen {
            (self.waits_seen, self.waited) = (waits, Instant::now());
            self.grow(arena);
        } else if self.granted > 0 && self.waited.elapsed() > CALM && !arena.is_awaited() {
            self.shrink(arena);
        }
    }

    /// Lets the program have as many chunks again as there are, within the run's budget. It does not use them as long as
    /// others are empty.
    pub fn grow(&mut self, arena: &Arena) {
        if arena.allow_more_chunks() {
            return;
        }
        self.waited = Instant::now();
        let have = ENOUGH_CHUNKS + self.granted;
        let more = have.min(MOST.saturating_sub(have)).min(arena.unused_chunks() + self.spare.len() as u32);
        if more == 0 || !self.budget.take(bytes(more)) {
            return;
        }
        self.granted += more;
        let from_spare = self.spare.len().saturating_sub(more as usize);
        let spare = self.spare.split_off(from_spare);
        arena.add_to_chunk_limit((more - spare.len() as u32) as i32);
        spare.into_iter().for_each(|chunk| arena.hand_out(chunk));
    }

    /// Takes the chunks away again that nothing is in.
    fn shrink(&mut self, arena: &Arena) {
        let never_used = arena.allowed_but_unused().min(self.granted);
        arena.add_to_chunk_limit(-(never_used as i32));
        self.granted -= never_used;
        self.budget.give_back(bytes(never_used));
        while self.granted > 0
            && let Some(chunk) = arena.take_back()
        {
            self.spare.push(chunk);
            self.granted -= 1;
            self.budget.give_back(bytes(1));
        }
        self.waited = Instant::now();
    }
}

impl Drop for Growth {
    fn drop(&mut self) {
        self.budget.give_back(bytes(self.granted));
    }
}

fn bytes(chunks: u32) -> u64 {
    u64::from(chunks) * CHUNK_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Settings;
    use memtoll_trace::ids::ImageNo;
    use std::sync::atomic::Ordering::Acquire;

    fn arena() -> Arena {
        let settings = Settings {
            image: ImageNo::FIRST,
            stack_depth: 64,
            searches_leaks: false,
            clock: 0,
            ticks_per_microsecond: 1_000,
            now: 0,
            address_space_limit: u64::MAX,
        };
        Arena::new(&settings).unwrap().0
    }

    /// What the recorder does when it needs a chunk.
    fn take_chunk(arena: &Arena) -> Option<u32> {
        if let Some(chunk) = arena.pop_free() {
            return Some(chunk);
        }
        let header = arena.header();
        let used = header.chunks_used.load(Acquire);
        (used < header.chunk_limit.load(Acquire)).then(|| header.chunks_used.fetch_add(1, Relaxed))
    }

    #[test]
    fn a_burst_has_chunks_and_gives_them_back() {
        let (arena, budget) = (arena(), Arc::new(Budget::default()));
        let mut growth = Growth::new(budget.clone());
        let mut taken = Vec::new();
        for _ in 0..12 {
            while let Some(chunk) = take_chunk(&arena) {
                // SAFETY: a chunk of the arena.
                unsafe { (*arena.chunk(chunk).unwrap().as_ptr()).records[0].address = 77 };
                taken.push(chunk);
            }
            arena.header().waits.fetch_add(1, Relaxed);
            growth.look(&arena);
        }
        let many = taken.len();
        assert!(many >= 4 * ENOUGH_CHUNKS as usize && many <= MOST as usize, "{many}");
        assert_eq!(budget.taken(), bytes(growth.granted));

        taken.drain(..).for_each(|chunk| arena.recycle(chunk));
        growth.look(&arena);
        assert!(growth.spare.is_empty(), "it may go on");
        growth.waited -= 2 * CALM;
        growth.look(&arena);
        assert_eq!((budget.taken(), growth.granted), (0, 0));
        // SAFETY: a chunk of the arena.
        let address = |chunk: u32| unsafe { (*arena.chunk(chunk).unwrap().as_ptr()).records[0].address };
        assert!(growth.spare.iter().all(|chunk| address(*chunk) == 0), "their memory is gone");

        // The next burst has the same chunks again.
        for _ in 0..12 {
            while let Some(chunk) = take_chunk(&arena) {
                taken.push(chunk);
            }
            arena.header().waits.fetch_add(1, Relaxed);
            growth.look(&arena);
        }
        taken.sort_unstable();
        taken.dedup();
        assert!(taken.len() >= many - ENOUGH_CHUNKS as usize && arena.header().chunks_used.load(Relaxed) <= MOST);
        drop(growth);
        assert_eq!(budget.taken(), 0);
    }
}
