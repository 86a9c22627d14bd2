//! Blocks whose addresses were handed out again before they were seen to be released.
//!
//! A release counts from before the real call. Where its thread stops inside the call for long, after the allocator has
//! given the address to another thread, the supervisor does not hold back all others' events for it: the release comes
//! late, and must still find its own block and not the one that has the address now.

use super::live_blocks::NumberedBlock;
use memtoll_trace::ids::Units;
use std::collections::VecDeque;

/// Blocks that are kept at a time. There are fewer threads in the middle of a release; blocks whose release is missing come on top.
const MOST: usize = 4096;

/// A block that has lost its address.
struct Lost {
    address: u64,
    kept: NumberedBlock,
    acquired: Units,
}

/// The blocks, the last one at the end.
#[derive(Default)]
pub struct Overtaken {
    blocks: VecDeque<Lost>,
    /// Blocks that were here for so long that their releases will not come.
    given_up: u64,
}

impl Overtaken {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The block `kept` was at `address`, where there is another one now.
    #[cold]
    pub fn push(&mut self, address: u64, kept: NumberedBlock, acquired: Units) {
        if self.blocks.len() == MOST {
            self.blocks.pop_front();
            self.given_up += 1;
        }
        self.blocks.push_back(Lost { address, kept, acquired });
    }

    /// Blocks whose releases have not come: they happened, or their addresses could not have been handed out again.
    pub fn unfreed(&self) -> u64 {
        self.given_up + self.blocks.len() as u64
    }

    /// The block that was at `address` at `time`: it is released. Of several, the one that was acquired last.
    #[cold]
    pub fn take(&mut self, address: u64, time: Units) -> Option<NumberedBlock> {
        let all = self.blocks.iter().enumerate();
        let mine = all.filter(|(_, lost)| lost.address == address && lost.acquired <= time);
        let (index, _) = mine.max_by_key(|(_, lost)| lost.acquired)?;
        self.blocks.remove(index).map(|lost| lost.kept)
    }
}

#[cfg(test)]
mod tests {
    use crate::sink::testing::TestSink;
    use memtoll_trace::op::Op;

    /// As after an attachment: the block from before is not known, and its release comes late.
    #[test]
    fn a_late_release_of_an_unknown_block_leaves_the_present_one() {
        let mut testing = TestSink::new();
        let release = testing.release;
        testing.call(Op::MALLOC, 1_000_000, 2, 0x5000, 64);
        testing.call(Op::MALLOC, 1_000_001, 2, 0x6000, 8);
        let sink = testing.call(release, 200, 1, 0x5000, 0);
        assert_eq!(sink.ledger.tally.live_bytes(), 72);
    }

    /// A thread that had no processor for long: its acquisition counts from when it came, which is later than its release was told.
    #[test]
    fn a_late_release_finds_the_block_that_its_thread_acquired_late() {
        let mut testing = TestSink::new();
        let release = testing.release;
        testing.call(Op::MALLOC, 1_000_000, 2, 0x6000, 8);
        testing.call(Op::MALLOC, 100, 1, 0x5000, 64);
        let sink = testing.call(release, 200, 1, 0x5000, 0);
        assert_eq!((sink.ledger.tally.live_bytes(), sink.ledger.unknown_frees), (8, 0));
    }

    /// Two threads that had no processor for long have had the same address, one after the other.
    #[test]
    fn a_late_block_is_not_taken_for_another_late_one() {
        let mut testing = TestSink::new();
        let release = testing.release;
        testing.call(Op::MALLOC, 100, 1, 0x5000, 8);
        testing.call(Op::MALLOC, 1_000_000, 3, 0x6000, 1);
        // The first thread has released its block at 120.
        testing.call(Op::MALLOC, 150, 2, 0x5000, 64);
        let sink = testing.call(release, 200, 2, 0x5000, 0);
        assert_eq!(sink.ledger.tally.live_bytes(), 9, "its own one");
        let sink = testing.call(release, 120, 1, 0x5000, 0);
        let ledger = &sink.ledger;
        assert_eq!((ledger.tally.live_bytes(), ledger.unknown_frees, ledger.overtaken.unfreed()), (1, 0, 0));
    }

    /// The thread that had the address first comes last.
    #[test]
    fn a_block_that_comes_later_than_the_next_one_at_its_address_does_not_take_its_place() {
        let mut testing = TestSink::new();
        let release = testing.release;
        testing.call(Op::MALLOC, 1_000_000, 2, 0x5000, 64);
        let sink = testing.call(Op::MALLOC, 100, 1, 0x5000, 8);
        assert_eq!(sink.ledger.live.get(0x5000).map(|kept| kept.block.size().0), Some(64));
        let sink = testing.call(release, 200, 1, 0x5000, 0);
        assert_eq!(sink.ledger.tally.live_bytes(), 64);
        let sink = testing.call(release, 1_000_100, 2, 0x5000, 0);
        let ledger = &sink.ledger;
        assert_eq!((ledger.tally.live_bytes(), ledger.unknown_frees, ledger.overtaken.unfreed()), (0, 0, 0));
    }

    #[test]
    fn of_two_late_blocks_each_is_found_by_its_release() {
        let mut testing = TestSink::new();
        let release = testing.release;
        testing.call(Op::MALLOC, 1_000_000, 3, 0x6000, 1);
        testing.call(Op::MALLOC, 300, 2, 0x5000, 64);
        testing.call(Op::MALLOC, 100, 1, 0x5000, 8);
        assert_eq!(testing.call(release, 400, 2, 0x5000, 0).ledger.tally.live_bytes(), 9);
        let sink = testing.call(release, 200, 1, 0x5000, 0);
        let ledger = &sink.ledger;
        assert_eq!((ledger.tally.live_bytes(), ledger.unknown_frees, ledger.overtaken.unfreed()), (1, 0, 0));
    }

    #[test]
    fn a_late_release_finds_its_own_block() {
        let mut testing = TestSink::new();
        let release = testing.release;
        let mut call = |op: Op, time: u64, thread: u32, size: u64| {
            let sink = testing.call(op, time, thread, 0x5000, size);
            (
                sink.ledger.live.get(0x5000).map(|kept| kept.block.size().0),
                sink.ledger.tally.live_bytes(),
                sink.time.late(),
            )
        };
        let acquire = Op::MALLOC;
        assert_eq!(call(acquire, 100, 1, 8), (Some(8), 8, 0));
        assert_eq!(call(acquire, 300, 2, 64), (Some(64), 72, 0), "released at 200, unseen");
        assert_eq!(call(release, 200, 1, 0), (Some(64), 64, 1));
        assert_eq!(call(release, 400, 2, 0), (None, 0, 1));
        // Here, what comes late is the second release.
        assert_eq!(call(acquire, 500, 1, 8), (Some(8), 8, 1));
        assert_eq!(call(acquire, 700, 2, 64), (Some(64), 72, 1));
        assert_eq!(call(acquire, 900, 1, 512), (Some(512), 584, 1));
        assert_eq!(call(release, 800, 2, 0), (Some(512), 520, 2));
        assert_eq!(call(release, 600, 1, 0), (Some(512), 512, 3));
        assert_eq!(call(release, 1000, 1, 0), (None, 0, 3));
        // The stamps are the wrong way round by a moment: what is released is the first block.
        assert_eq!(call(acquire, 2000, 1, 8), (Some(8), 8, 3));
        assert_eq!(call(acquire, 3000, 2, 64), (Some(64), 72, 3));
        assert_eq!(call(release, 3001, 1, 0), (Some(64), 64, 3));
        assert_eq!(call(release, 3002, 2, 0), (None, 0, 3));
        // A thread that releases at once what it has just got means that, although another release is still to come.
        assert_eq!(call(acquire, 4000, 1, 8), (Some(8), 8, 3));
        assert_eq!(call(acquire, 5000, 2, 64), (Some(64), 72, 3), "released at 4500, unseen");
        assert_eq!(call(release, 5001, 2, 0), (None, 8, 3));
        assert_eq!(call(acquire, 5002, 2, 32), (Some(32), 40, 3));
        assert_eq!(call(release, 9000, 2, 0), (None, 8, 3));
        assert_eq!(call(release, 4500, 1, 0), (None, 0, 4));
    }

    #[test]
    fn blocks_whose_releases_never_come_are_counted() {
        let mut testing = TestSink::new();
        let release = testing.release;
        let mut call = |op: Op, time: u64, thread: u32, address: u64| {
            testing.call(op, time, thread, address, 8).ledger.overtaken.unfreed()
        };
        assert_eq!(call(Op::MALLOC, 100, 1, 0x5000), 0);
        assert_eq!(call(Op::MALLOC, 300, 2, 0x5000), 1, "perhaps its release is late");
        assert_eq!(call(release, 200, 1, 0x5000), 0, "so it was");
        let most = super::MOST as u64;
        for block in 1..=most + 10 {
            assert_eq!(call(Op::MALLOC, 300 + block, 1, 0x5000), block, "also of those that are kept no more");
        }
    }
}
