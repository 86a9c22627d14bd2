//! Where full chunks wait when a program writes faster than its events can be packed.
//!
//! What a program writes at once could stay in the memory that it shares with memtoll, if there were enough of that. But
//! fresh shared memory costs the program 25 ns an event in page faults. memtoll's own memory, in large pages, costs 3 ns, and
//! copying a full chunk there another 2 to 3 (the medians of a program that does only this); the program goes on in the few
//! chunks that it has already.

use crate::spare_memory;
use crate::wire::Chunk;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory is taken from the system in pieces of this size, bytes: two large pages.
const REGION: usize = 4 << 20;
/// One of this number of pieces comes in pages of the size that was dearer lately.
const TRIED_AGAIN_AFTER: u64 = 16;
/// Pieces that stay when the backlog is empty: a program that is ahead again and again would pay for fresh ones each time.
const KEPT: usize = 8;
const CHUNKS_IN_REGION: usize = REGION / size_of::<Chunk>();
const CHUNKS_IN_LARGE_PAGE: usize = CHUNKS_IN_REGION / 2;
/// All processes of a run together have no longer backlog than this, bytes …
const MOST: u64 = 1 << 30;
/// … and than this part of the memory that is free without it.
const SHARE: u64 = 8;

/// Memory that programs and memtoll take together while these are ahead of memtoll, bytes.
#[derive(Default)]
pub struct Budget {
    taken: AtomicU64,
    pages: Mutex<Pages>,
}

/// In which pages memory is cheaper. 2 MiB usually take 100 us as a large page, 300 to 800 us in small ones. In a virtual
/// machine whose free memory was given back to the host, a large page can take 4 ms; small ones come from memory that was
/// used lately.
#[derive(Default)]
struct Pages {
    pieces: u64,
    /// Processor time of a chunk in large and in small pages, lately, ns; `None`: there was none.
    lately: [Option<u64>; 2],
}

/// The size of pages: the index of their price.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Size {
    Large = 0,
    Small = 1,
}

impl Pages {
    /// For the next piece.
    fn next(&mut self) -> Size {
        self.pieces += 1;
        let (cheaper, other) = match self.lately {
            [Some(large), Some(small)] if small < large => (Size::Small, Size::Large),
            _ => (Size::Large, Size::Small),
        };
        // The second piece is the first of small pages.
        if self.pieces % TRIED_AGAIN_AFTER == 2 { other } else { cheaper }
    }

    fn took(&mut self, size: Size, ns: u64) {
        let lately = &mut self.lately[size as usize];
        *lately = Some(lately.map_or(ns, |before| (before + ns) / 2));
    }
}

impl Budget {
    /// Takes bytes, if there are as many to spare.
    pub fn take(&self, bytes: u64) -> bool {
        self.take_of(bytes, spare_memory::available())
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
    /// Of the last region: chunks that were never used, and that have no pages yet.
    untouched: Range<usize>,
    pages: Size,
    waiting: usize,
}

// SAFETY: it owns what it points to.
unsafe impl Send for Pool {}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backlog {
    pub fn new(budget: Arc<Budget>) -> Backlog {
        Backlog { pool: Arc::new(Mutex::new(Pool::new(budget))) }
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
    fn new(budget: Arc<Budget>) -> Pool {
        Pool { budget, regions: Vec::new(), free: Vec::new(), untouched: 0..0, pages: Size::Large, waiting: 0 }
    }

    fn take(&mut self) -> Option<NonNull<Chunk>> {
        let memory = match self.free.pop() {
            Some(memory) => memory,
            None => self.touch_next()?,
        };
        self.waiting += 1;
        Some(memory)
    }

    /// A chunk that was never used. Its pages come together: one after the other, when they are touched, they would take
    /// twice as long.
    fn touch_next(&mut self) -> Option<NonNull<Chunk>> {
        if self.untouched.is_empty() {
            self.add_region()?;
        }
        let index = self.untouched.next()?;
        // SAFETY: all of these chunks lie within a region.
        let chunk = unsafe { self.regions.last()?.add(index) };
        let chunks = match self.pages {
            Size::Small => 1,
            Size::Large => CHUNKS_IN_LARGE_PAGE,
        };
        if index % chunks == 0 {
            let began = processor_time();
            // SAFETY: these chunks lie within the region. A kernel older than 5.14 does not know this advice, and the pages
            // come when they are touched.
            let _ = unsafe { madvise(chunk.as_ptr().cast(), chunks * size_of::<Chunk>(), Advice::LinuxPopulateWrite) };
            let took = processor_time().saturating_sub(began);
            locked(&self.budget.pages).took(self.pages, took / chunks as u64);
        }
        Some(chunk)
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
        self.pages = locked(&self.budget.pages).next();
        let advice = if self.pages == Size::Large { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        // SAFETY: the mapping is this long. A kernel without large pages does not take the advice.
        let _ = unsafe { madvise(start.as_ptr(), REGION, advice) };
        self.regions.push(start.cast());
        self.untouched = 0..CHUNKS_IN_REGION;
        Some(())
    }

    /// Gives all memory back but `kept` regions. None of it may be in use.
    fn shrink(&mut self, kept: usize) {
        self.free.clear();
        self.untouched = 0..0;
        for region in self.regions.drain(kept.min(self.regions.len())..) {
            // SAFETY: nothing refers to it any more.
            let _ = unsafe { munmap(region.as_ptr().cast(), REGION) };
            self.budget.give_back(REGION as u64);
        }
        for region in &self.regions {
            // SAFETY: all of these chunks lie within a region. The first ones are handed out first.
            self.free.extend((0..CHUNKS_IN_REGION).rev().map(|index| unsafe { region.add(index) }));
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
    fn memory_comes_in_the_pages_that_are_cheaper() {
        let mut pages = Pages::default();
        let mut took = |large, small| {
            let next = |_| {
                let size = pages.next();
                pages.took(size, if size == Size::Large { large } else { small });
                size
            };
            (0..100).map(next).filter(|size| *size == Size::Large).count()
        };
        assert_eq!(took(200, 600), 93, "of a hundred pieces, seven try small pages");
        assert_eq!(took(8000, 600), 7, "the first shows that they are dear, six are tried again");
        assert!(took(200, 600) > 20, "and it is noticed when they are cheap again");
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
