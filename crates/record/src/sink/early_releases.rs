//! Releases that are stamped before the acquisition of their block.
//!
//! A thread that gets a block from another one may free it at once. Its processor reads the time stamp counter while it
//! still waits for the line of memory that hands the block over, so the release can have an earlier stamp than the
//! acquisition, by some hundred nanoseconds:
//!
//! ```text
//! thread 1   malloc returns X [stamp]  mailbox = X
//! thread 2        [stamp] <-- reads ahead --  X = mailbox   free(X)
//! ```
//!
//! In the same way, a thread that waits for the allocator's lock can stamp its acquisition before the release, in another
//! thread, of the block that had the address: then the release is about the block that was overtaken.
//!
//! A release of an unknown block waits until another thread gets a block at its address, or for
//! [`LONGEST_WAIT_MICROSECONDS`]. Then it is a release of an unknown block. What its own thread does meanwhile tells nothing:
//! calls of a fast allocator are so short that many of them are stamped in that time, and one can even get the address again.
//!
//! Another thread's release that is stamped too early can also take the block before: the thread gets the address, hands the
//! block over, and its release is then the one that finds nothing. That comes right when the address is handed out next.

use memtoll_trace::event::Event;
use memtoll_trace::ids::{Address, ThreadNo, Ticks};
use std::collections::VecDeque;

/// A stamp is not read further ahead: up to 13 microseconds were measured, on a busy virtual machine with four threads that
/// hand blocks over.
pub const READ_AHEAD_MICROSECONDS: u64 = 50;

/// A release waits no longer for its block. Threads that have to wait for a processor can get an address this much later.
pub const LONGEST_WAIT_MICROSECONDS: u64 = 10_000;

/// Releases that wait at a time: in a program that releases many unknown blocks, the oldest ones need not wait.
const MOST: usize = 16;

/// A release that waits.
#[derive(Clone, Copy)]
pub struct Early {
    pub event: Event,
    /// When it began and ended.
    pub begin: Ticks,
    pub end: Ticks,
}

/// The releases that wait, the latest at the end: hardly ever any.
#[derive(Default)]
pub struct EarlyReleases {
    waiting: VecDeque<Early>,
}

impl EarlyReleases {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[cold]
    pub fn hold(&mut self, early: Early) {
        self.waiting.push_back(early);
    }

    /// One that must wait no longer: it began more than `longest` before `at`, or there are too many.
    #[cold]
    pub fn due(&mut self, at: Ticks, longest: Ticks) -> Option<Early> {
        let oldest = self.waiting.front()?;
        let is_due = oldest.begin.saturating_add(longest) < at || self.waiting.len() > MOST;
        if is_due { self.waiting.pop_front() } else { None }
    }

    /// The release, by another thread, of the block that `thread` acquires at `address`.
    #[cold]
    pub fn of(&mut self, address: u64, thread: ThreadNo) -> Option<Early> {
        let is_it = |early: &Early| early.event.address == Address(address) && early.event.thread != thread;
        let index = self.waiting.iter().position(is_it)?;
        self.waiting.remove(index)
    }

    /// Any of them: the image is over.
    pub fn any(&mut self) -> Option<Early> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use crate::sink::Sink;
    use crate::sink::testing::TestSink;
    use crate::wire::kind;
    use memtoll_trace::events::MAX_EVENTS;
    use memtoll_trace::op::Op;

    #[test]
    fn a_release_with_an_earlier_stamp_than_its_acquisition_finds_its_block() {
        let mut testing = TestSink::new();
        let (acquire, release) = (Op::MALLOC, testing.release);
        let longest = testing.units(20_000);
        let mut call = |op: Op, time: u64, thread: u32, address: u64| {
            let sink = testing.call(op, time, thread, address, 8);
            (sink.ledger.tally.live_bytes(), sink.writer.waiting(), sink.time.late())
        };
        assert_eq!(call(release, 100, 2, 0x5000), (0, 0, 0), "it waits for its block");
        assert_eq!(call(acquire, 101, 1, 0x6000), (8, 1, 0));
        assert_eq!(call(acquire, 102, 1, 0x5000), (8, 3, 0), "here it is, and gone");
        // The thread's next call, too, was read ahead.
        assert_eq!(call(release, 110, 2, 0x5000), (8, 3, 0));
        assert_eq!(call(acquire, 111, 2, 0x6800), (16, 4, 0), "it still waits");
        assert_eq!(call(acquire, 112, 1, 0x5000), (16, 6, 0), "here it is, and gone");
        // So were the next three, which got the address again.
        assert_eq!(call(release, 120, 2, 0x5000), (16, 6, 0));
        assert_eq!(call(acquire, 121, 2, 0x5000), (24, 7, 0), "another block");
        assert_eq!(call(acquire, 122, 1, 0x5000), (24, 9, 0), "here it is, and gone");
        assert_eq!(call(release, 123, 2, 0x5000), (16, 10, 0), "the other one");
        // One does not wait for long: it is a release of an unknown block.
        let later = 200 + longest;
        assert_eq!(call(release, 200, 2, 0x5000), (16, 10, 0));
        assert_eq!(call(acquire, later, 2, 0x7000), (24, 12, 0));
        assert_eq!(call(acquire, later + 1, 1, 0x5000), (32, 13, 0));
        // Its thread has the address again: that block stays.
        assert_eq!(call(release, later + 2, 2, 0x9000), (32, 13, 0));
        assert_eq!(call(acquire, later + 3, 2, 0x9000), (40, 14, 0));
        assert_eq!(call(acquire, later + 3 + longest, 1, 0x8000), (48, 16, 0));
        assert_eq!(call(release, later + 4 + longest, 2, 0x9000), (40, 17, 0));
        // Nor do many wait at a time.
        let later = later + 5 + longest;
        for index in 0..18 {
            call(release, later, 2, 0x10_0000 + index * 16);
        }
        assert_eq!(call(acquire, later + 1, 1, 0xb000), (48, 20, 0), "the first two are done");
    }

    #[test]
    fn a_release_that_waits_no_longer_leaves_room_for_the_call_that_came() {
        let mut testing = TestSink::new();
        let (acquire, release) = (Op::MALLOC, testing.release);
        let later = testing.units(20_000) + 200;
        // Of an unknown block, it is written as the last one that fits.
        testing.call(release, 100, 2, 0x1000, 0);
        (1..MAX_EVENTS as u64).for_each(|index| {
            testing.call(acquire, 101, 1, 0x10_0000 + index * 16, 8);
        });
        assert_eq!(testing.call(acquire, later, 1, 0x5000, 8).writer.waiting(), 1);
        // As the first one of a block of events, after the call for which it waited.
        (2..MAX_EVENTS as u64 - 1).for_each(|index| {
            testing.call(acquire, later, 1, 0x1000_0000 + index * 16, 8);
        });
        testing.call(release, later + 1, 2, 0x6000, 0);
        assert_eq!(testing.call(acquire, later + 2, 1, 0x7000, 8).writer.waiting(), MAX_EVENTS - 1);
        assert_eq!(testing.call(acquire, later + 3, 1, 0x6000, 8).writer.waiting(), 1);
    }

    #[test]
    fn the_pools_that_end_are_those_in_the_block_that_is_released() {
        let mut testing = TestSink::new();
        let (acquire, release) = (Op::MALLOC, testing.release);
        let longest = testing.units(20_000);
        let has_pool = |sink: &Sink, address: u64| sink.ledger.pools.get(address).is_some();
        // A block of a pool, in one that comes late.
        testing.pooled(kind::POOL_ALLOC, 99, 2, 0x5010, 16);
        testing.call(release, 100, 2, 0x5000, 64);
        assert!(has_pool(testing.call(acquire, 101, 1, 0x6000, 64), 0x5010), "it waits for its block");
        assert!(!has_pool(testing.call(acquire, 102, 1, 0x5000, 64), 0x5010), "the block is gone, and its pool");
        // One that its thread gets at the address of a block that never comes.
        testing.call(release, 200, 2, 0x7000, 64);
        testing.call(acquire, 201, 2, 0x7000, 64);
        testing.pooled(kind::POOL_ALLOC, 202, 2, 0x7010, 16);
        assert!(has_pool(testing.call(acquire, 203 + longest, 1, 0x8000, 64), 0x7010), "its block is live");
        assert!(!has_pool(testing.call(release, 204 + longest, 2, 0x7000, 64), 0x7010));
    }
}
