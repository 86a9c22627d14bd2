//! Calls of a process wait from when the jumps are written until its heap has been read (`recorder/src/threads/recording_start.hpp`).

use super::first_blocks::HeapReader;
use crate::arena::Arena;
use crate::wire::start;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

/// The calls of a process that is about to be recorded.
pub struct HeldCalls {
    arena: Arc<Arena>,
}

impl HeldCalls {
    /// `signal_return`: where signal handlers return to.
    pub fn new(arena: Arc<Arena>, heap: &HeapReader, signal_return: u64) -> HeldCalls {
        let header = arena.header();
        let allocator = heap.allocator_code().unwrap_or_default();
        header.allocator_begin.store(allocator.start, Relaxed);
        header.allocator_end.store(allocator.end, Relaxed);
        header.signal_return.store(signal_return, Relaxed);
        HeldCalls { arena }
    }

    /// Each thread waits before its next call. The process stands still.
    pub fn hold(&self) {
        self.arena.header().start.store(start::HELD, Release);
    }

    /// There are no jumps yet: calls do not come here.
    pub fn not_yet(&self) {
        self.arena.header().start.store(start::NOT_YET, Release);
    }

    /// Calls are recorded from now on. False: they have been for a while, because a thread has waited for too long.
    pub fn begin(&self) -> bool {
        let was_in_time = self.arena.header().start.swap(start::STARTED, AcqRel) != start::TOO_LATE;
        self.arena.wake_held();
        was_in_time
    }
}
