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
//! A release of a block that nobody knows waits until the block comes, until its thread's next call, or for
//! [`LONGEST_MICROSECONDS`], whichever is first. Then it is a release of an unknown block.

use memtoll_trace::event::Event;
use memtoll_trace::ids::Ticks;

/// A processor does not read ahead for longer, however long it waits for memory.
pub const LONGEST_MICROSECONDS: u64 = 10;

/// A release that waits.
#[derive(Clone, Copy)]
pub struct Early {
    pub event: Event,
    /// When it began and ended.
    pub begin: Ticks,
    pub end: Ticks,
}

/// The releases that wait: hardly ever any.
#[derive(Default)]
pub struct EarlyReleases {
    waiting: Vec<Early>,
}

impl EarlyReleases {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[cold]
    pub fn hold(&mut self, early: Early) {
        self.waiting.push(early);
    }

    /// One that must wait no longer than `longest`: `thread` makes a call that counts from `at`.
    #[cold]
    pub fn due(&mut self, thread: u32, at: Ticks, longest: Ticks) -> Option<Early> {
        let is_due = |early: &Early| early.event.thread == thread || early.begin.saturating_add(longest) < at;
        let index = self.waiting.iter().position(is_due)?;
        Some(self.waiting.remove(index))
    }

    /// The release of the block at `address`, which has just been acquired.
    #[cold]
    pub fn of(&mut self, address: u64) -> Option<Early> {
        let index = self.waiting.iter().position(|early| early.event.address == address)?;
        Some(self.waiting.remove(index))
    }

    /// Any of them: the image is over.
    pub fn any(&mut self) -> Option<Early> {
        self.waiting.pop()
    }
}

#[cfg(test)]
mod tests {
    use crate::sink::testing::TestSink;
    use memtoll_trace::op::Op;

    #[test]
    fn a_release_with_an_earlier_stamp_than_its_acquisition_finds_its_block() {
        let mut testing = TestSink::new();
        let (acquire, release) = (Op::MALLOC, testing.release);
        let longest = testing.units(20);
        let mut call = |op: Op, time: u64, thread: u32, address: u64| {
            let sink = testing.call(op, time, thread, address, 8);
            (sink.ledger.tally.live_bytes(), sink.writer.waiting(), sink.time.late())
        };
        assert_eq!(call(release, 100, 2, 0x5000), (0, 0, 0), "it waits for its block");
        assert_eq!(call(acquire, 101, 1, 0x6000), (8, 1, 0));
        assert_eq!(call(acquire, 102, 1, 0x5000), (8, 3, 0), "here it is, and gone");
        // Its thread goes on, so the next one is a release of a block that nobody knows.
        assert_eq!(call(release, 200, 2, 0x5000), (8, 3, 0));
        assert_eq!(call(acquire, 201, 2, 0x7000), (16, 5, 0));
        assert_eq!(call(acquire, 202, 1, 0x5000), (24, 6, 0));
        // Nor does one wait for long.
        assert_eq!(call(release, 300, 2, 0x8000), (24, 6, 0));
        assert_eq!(call(acquire, 301 + longest, 1, 0x8000), (32, 8, 0));
    }
}
