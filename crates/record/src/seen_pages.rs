//! Looks at a process's pages, on their way from the thread that looks to the worker that writes them.

use memtoll_trace::snapshot::Snapshot;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where they are handed over.
#[derive(Default)]
pub struct SeenPages {
    is_any: AtomicBool,
    all: Mutex<Vec<Snapshot>>,
}

impl SeenPages {
    fn locked(&self) -> MutexGuard<'_, Vec<Snapshot>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn give(&self, snapshot: Snapshot) {
        let mut all = self.locked();
        all.push(snapshot);
        self.is_any.store(true, Release);
    }

    /// Takes those that have come. Costs next to nothing where there are none.
    pub fn take(&self) -> Vec<Snapshot> {
        if !self.is_any.load(Acquire) {
            return Vec::new();
        }
        let mut all = self.locked();
        self.is_any.store(false, Release);
        std::mem::take(&mut all)
    }
}
