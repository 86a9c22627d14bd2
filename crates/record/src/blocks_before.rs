//! What is known of the blocks that a process had when memtoll was attached to it, on its way from the thread that reads its heap
//! to the worker that counts its calls. The worker takes no call before that is here: then each free finds its block.

use memtoll_trace::ids::Ticks;
use memtoll_trace::meta::Usage;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A block that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeapBlock {
    pub address: u64,
    /// Usable bytes, as malloc_usable_size tells them.
    pub bytes: u64,
}

/// The blocks of a process at an instant.
#[derive(Debug, Default)]
pub struct BlocksBefore {
    pub at: Ticks,
    pub blocks: Vec<HeapBlock>,
    /// Why they are not known, or not all of them.
    pub unknown: Option<String>,
    /// What the kernel had counted for the process.
    pub usage: Usage,
}

/// Where they are handed over.
#[derive(Default)]
pub struct HandOver {
    is_awaited: AtomicBool,
    here: Mutex<Option<BlocksBefore>>,
}

impl HandOver {
    fn locked(&self) -> MutexGuard<'_, Option<BlocksBefore>> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// They will come: no call counts before.
    pub fn announce(&self) {
        self.is_awaited.store(true, Release);
    }

    pub fn give(&self, blocks: BlocksBefore) {
        // Both at once: else they may be taken in between, and be awaited for ever.
        let mut here = self.locked();
        *here = Some(blocks);
        self.is_awaited.store(true, Release);
    }

    /// Whether they will come, or are here and not yet taken.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited.load(Acquire)
    }

    /// Takes them, if they are here.
    pub fn take(&self) -> Option<BlocksBefore> {
        let mut here = self.locked();
        let taken = here.take()?;
        self.is_awaited.store(false, Release);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_awaited_no_longer() {
        for _ in 0..2_000 {
            let over = HandOver::default();
            over.announce();
            std::thread::scope(|scope| {
                let worker = scope.spawn(|| while over.take().is_none() {});
                over.give(BlocksBefore::default());
                worker.join().unwrap_or_default();
            });
            assert!(!over.is_awaited());
        }
    }
}
