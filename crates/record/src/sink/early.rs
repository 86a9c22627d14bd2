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

/// A processor does not read ahead for longer, however long it waits for memory.
pub const LONGEST_MICROSECONDS: u64 = 10;

/// A release that waits.
#[derive(Clone, Copy)]
pub struct Early {
    pub event: Event,
    /// When it began and ended, ticks.
    pub begin: u64,
    pub end: u64,
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

    /// One that must wait no longer: `thread` makes a call that counts from `ticks`.
    #[cold]
    pub fn due(&mut self, thread: u32, ticks: u64, ticks_per_microsecond: u64) -> Option<Early> {
        let longest = LONGEST_MICROSECONDS * ticks_per_microsecond;
        let is_due = |early: &Early| early.event.thread == thread || early.begin.saturating_add(longest) < ticks;
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
    use crate::arena::{Arena, Settings};
    use crate::clock::{Clock, UNIT_TICKS_LOG2};
    use crate::output::Output;
    use crate::run::Run;
    use crate::sink::Sink;
    use crate::wire::Record;
    use memtoll_trace::op::Op;
    use std::sync::Arc;

    #[test]
    fn a_release_with_an_earlier_stamp_than_its_acquisition_finds_its_block() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::create(&crate::Destination::New(folder.path().join("recording")), None).unwrap();
        let run = Arc::new(Run::new(output, Clock::start(), 64));
        let settings =
            Settings { image: 1, stack_depth: 64, clock: run.clock.wire(), now: 0, address_space_limit: u64::MAX };
        let (arena, _descriptor) = Arena::new(&settings).unwrap();
        let (start, longest) = (run.clock.now(), (run.ticks_per_microsecond * 20) >> UNIT_TICKS_LOG2);
        let mut sink = Sink::new(run, 1, 0, String::new(), false);
        let (acquire, release) = (Op(1), Op::all().find(|op| op.symbol() == "free").unwrap());
        let mut call = |op: Op, time: u64, thread: u32, address: u64| {
            let ticks = start + (time << UNIT_TICKS_LOG2);
            let record = Record { head: ticks << 8 | u64::from(op.0), address, size: 8, tail: u64::from(thread) };
            sink.call(&arena, &record, op, ticks, thread, 0);
            (sink.tally.live_bytes(), sink.encoder.len(), sink.late)
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
