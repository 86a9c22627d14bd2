//! Where full chunks wait when a program writes faster than its events can be packed.
//!
//! What a program writes at once could stay in the memory that it shares with memtoll, if there were enough of that. But
//! fresh shared memory costs the program 25 ns an event in page faults. memtoll's own memory, in large pages, costs 3 ns, and
//! copying a full chunk there another 2 to 3 (the medians of a program that does only this); the program goes on in the few
//! chunks that it has already.

use crate::memory;
use crate::wire::Chunk;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory is taken from the system in pieces of this size, bytes: two large pages.
const REGION: usize = 4 << 20;
const LARGE_PAGE: usize = 2 << 20;
/// A large page usually takes 100 us. In a virtual machine whose free memory was given back to the host it can be 40 times as
/// much, and small pages, which come from memory that was used lately, are cheaper. Nanoseconds.
const DEAR: u64 = 600_000;
/// So many pieces stay when the backlog is empty: a program that is ahead again and again would pay for fresh ones each time.
const KEPT: usize = 8;
const CHUNKS_IN_REGION: usize = REGION / size_of::<Chunk>();
/// All processes of a run together have no longer backlog than this, bytes …
const MOST: u64 = 1 << 30;
/// … and than this part of the memory that is free without it.
const SHARE: u64 = 8;

/// Memory that programs and memtoll take together while these are ahead of memtoll, bytes.
#[derive(Default)]
pub struct Budget {
    taken: AtomicU64,
    /// Whether large pages turned out to be dear.
    no_large_pages: AtomicBool,
}

impl Budget {
    /// Takes so many bytes, if there are as many to spare.
    pub fn take(&self, bytes: u64) -> bool {
        self.take_of(bytes, memory::available())
    }

    fn take_of(&self, bytes: u64, available: u64) -> bool {
        let more = |taken: u64| {
            let most = MOST.min(available.saturating_add(taken) / SHARE);
            Some(taken.saturating_add(bytes)).filter(|more| *more <= most)
        };
        self.taken.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    pub fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Relaxed);
    }

    #[cfg(test)]
    pub fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }
}

/// Processor time of this thread, ns.
fn processor_time() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Copies of one process's chunks.
pub struct Backlog {
    pool: Arc<Mutex<Pool>>,
}

struct Pool {
    budget: Arc<Budget>,
    regions: Vec<NonNull<Chunk>>,
    free: Vec<NonNull<Chunk>>,
    waiting: usize,
}

// SAFETY: it owns what it points to.
unsafe impl Send for Pool {}

fn locked(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backlog {
    pub fn new(budget: Arc<Budget>) -> Backlog {
        Backlog { pool: Arc::new(Mutex::new(Pool { budget, regions: Vec::new(), free: Vec::new(), waiting: 0 })) }
    }

    /// A copy of a chunk; `None` if there is no memory to spare.
    ///
    /// # Safety
    /// The chunk must be in memory that is mapped. If the target writes into it meanwhile, the copy may be anything.
    pub unsafe fn copy(&self, chunk: NonNull<Chunk>) -> Option<Copied> {
        let memory = locked(&self.pool).take()?;
        // SAFETY: both are as long as a chunk, and only this thread knows the copy.
        unsafe { std::ptr::copy_nonoverlapping(chunk.as_ptr().cast_const(), memory.as_ptr(), 1) };
        Some(Copied { memory, pool: self.pool.clone() })
    }
}

impl Pool {
    fn take(&mut self) -> Option<NonNull<Chunk>> {
        if self.free.is_empty() {
            self.add_region()?;
        }
        let memory = self.free.pop()?;
        self.waiting += 1;
        Some(memory)
    }

    fn add_region(&mut self) -> Option<()> {
        if !self.budget.take(REGION as u64) {
            return None;
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), REGION, protection, MapFlags::PRIVATE) };
        let Some(start) = mapped.ok().and_then(NonNull::new) else {
            self.budget.give_back(REGION as u64);
            return None;
        };
        if !self.budget.no_large_pages.load(Relaxed) {
            // SAFETY: the mapping is this long. A kernel without large pages does not take the advice.
            let _ = unsafe { madvise(start.as_ptr(), REGION, Advice::LinuxHugepage) };
            let began = processor_time();
            for page in (0..REGION).step_by(LARGE_PAGE) {
                // SAFETY: within the mapping, which nobody else knows.
                unsafe { start.as_ptr().cast::<u8>().add(page).write_volatile(0) };
            }
            let dear = processor_time().saturating_sub(began) > DEAR * (REGION / LARGE_PAGE) as u64;
            self.budget.no_large_pages.store(dear, Relaxed);
        }
        self.regions.push(start.cast());
        self.add_chunks(start.cast());
        Some(())
    }

    fn add_chunks(&mut self, region: NonNull<Chunk>) {
        // SAFETY: so many chunks lie within a region. The first ones are handed out first.
        self.free.extend((0..CHUNKS_IN_REGION).rev().map(|index| unsafe { region.add(index) }));
    }

    /// Gives all memory back but `kept` regions. None of it may be in use.
    fn shrink(&mut self, kept: usize) {
        self.free.clear();
        for region in self.regions.drain(kept.min(self.regions.len())..) {
            // SAFETY: nothing refers to it any more.
            let _ = unsafe { munmap(region.as_ptr().cast(), REGION) };
            self.budget.give_back(REGION as u64);
        }
        for region in self.regions.clone() {
            self.add_chunks(region);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

/// A copy of a full chunk. When the last one is gone, nearly all memory of the backlog is given back.
pub struct Copied {
    memory: NonNull<Chunk>,
    pool: Arc<Mutex<Pool>>,
}

impl Copied {
    pub fn memory(&self) -> NonNull<Chunk> {
        self.memory
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let mut pool = locked(&self.pool);
        pool.free.push(self.memory);
        pool.waiting -= 1;
        if pool.waiting == 0 && pool.regions.len() > KEPT {
            pool.shrink(KEPT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget_of(taken: u64) -> Arc<Budget> {
        Arc::new(Budget { taken: AtomicU64::new(taken), ..Budget::default() })
    }

    #[test]
    fn a_share_of_the_free_memory_is_the_limit() {
        let region = REGION as u64;
        let budget = budget_of(0);
        assert!(!budget.take_of(region, region * SHARE - 1));
        assert!(budget.take_of(region, region * SHARE));
        // What is taken already was free without it.
        assert!(!budget.take_of(region, region * (2 * SHARE - 1) - 1));
        assert!(budget.take_of(region, region * (2 * SHARE - 1)));
        assert!(!budget_of(MOST).take_of(region, u64::MAX));
    }

    #[test]
    fn memory_is_given_back_when_all_is_packed() {
        let budget = budget_of(0);
        let backlog = Backlog::new(budget.clone());
        // SAFETY: zeros are a chunk.
        let mut chunk: Box<Chunk> = unsafe { Box::new_zeroed().assume_init() };
        let mut copies = Vec::new();
        for number in 0..(CHUNKS_IN_REGION * (KEPT + 2)) as u64 {
            chunk.records[7].address = number;
            // SAFETY: the chunk is there.
            copies.extend(unsafe { backlog.copy(NonNull::from(&mut *chunk)) });
        }
        assert_eq!(copies.len(), CHUNKS_IN_REGION * (KEPT + 2), "this machine has 400 MiB to spare");
        assert_eq!(budget.taken.load(Relaxed), ((KEPT + 2) * REGION) as u64);
        for (number, copy) in copies.iter().enumerate() {
            // SAFETY: the copy is there.
            assert_eq!(unsafe { copy.memory().as_ref() }.records[7].address, number as u64);
        }
        copies.truncate(1);
        assert_eq!(budget.taken.load(Relaxed), ((KEPT + 2) * REGION) as u64);
        copies.clear();
        assert_eq!(budget.taken.load(Relaxed), (KEPT * REGION) as u64, "some are kept for the next time");
        assert_eq!(locked(&backlog.pool).free.len(), CHUNKS_IN_REGION * KEPT);
        drop(backlog);
        assert_eq!(budget.taken.load(Relaxed), 0);
    }

    #[test]
    fn without_memory_there_is_no_copy() {
        let backlog = Backlog::new(budget_of(MOST));
        // SAFETY: zeros are a chunk.
        let mut chunk: Box<Chunk> = unsafe { Box::new_zeroed().assume_init() };
        // SAFETY: the chunk is there.
        assert!(unsafe { backlog.copy(NonNull::from(&mut *chunk)) }.is_none());
    }
}
