//! Which blocks are live, what they are numbered, and what they add up to.
//!
//! Every acquisition and release of an image passes through here, in the order of times. Nothing here knows of files, of
//! shared memory or of the kernel: what else follows from a block's coming or going is the caller's to do.

#[cfg(doc)]
use super::early_releases;
use super::early_releases::{Early, EarlyReleases};
use super::late_acquisitions::LateAcquisitions;
use super::live_blocks::LiveBlocks;
use super::live_blocks::NumberedBlock;
use super::pools::Pools;
use super::reused_addresses::Overtaken;
use memtoll_tally::{Everything, LiveBlock, Replaced, Tally};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{BlockNo, Bytes, NodeId, ThreadNo, Units};

/// What has become of the block that is acquired.
pub enum Acquired {
    /// It has its address.
    New,
    /// The same, and this one has lost it: its release was not seen.
    InPlaceOf(NumberedBlock),
    /// Another thread's has it already, whose release was seen no more than this one's.
    Overtaken,
}

/// A release that is done.
pub struct Released {
    /// The block, if it is known.
    pub kept: Option<NumberedBlock>,
    /// Whether another block has its address by now.
    pub overtaken: bool,
}

impl Released {
    /// Of the block; nothing if it is not known.
    #[inline(always)]
    pub fn size(&self) -> Bytes {
        self.kept.map_or(Bytes::ZERO, |kept| kept.block.size())
    }
}

/// A release that waited for a block which comes now.
pub struct Awaited {
    pub early: Early,
    /// What the thread that released the block got at its address next: its stamp, too, is earlier than the block's.
    pub next: Option<NumberedBlock>,
}

/// The live blocks of an image.
pub struct Ledger {
    pub tally: Tally<Everything>,
    pub live: LiveBlocks<NumberedBlock>,
    pub overtaken: Overtaken,
    late: LateAcquisitions,
    pub early: EarlyReleases,
    pub pools: Pools,
    next: BlockNo,
    /// Releases of blocks that were never seen, reallocations included.
    pub unknown_frees: u64,
    /// No release and acquisition whose stamps are the wrong way round are further apart than this.
    moment: Units,
}

impl Ledger {
    /// Of an image without blocks. `moment`: [`early_releases::READ_AHEAD_MICROSECONDS`].
    pub fn new(moment: Units) -> Ledger {
        let mut tally = Tally::new(Everything);
        tally.keep_chapters();
        tally.keep_patterns();
        Ledger {
            tally,
            live: LiveBlocks::new(),
            overtaken: Overtaken::default(),
            late: LateAcquisitions::default(),
            early: EarlyReleases::default(),
            pools: Pools::new(),
            next: BlockNo(0),
            unknown_frees: 0,
            moment,
        }
    }

    pub fn next_block(&self) -> BlockNo {
        self.next
    }

    #[inline(always)]
    pub fn number(&mut self) -> BlockNo {
        let number = self.next;
        self.next = BlockNo(number.0 + 1);
        number
    }

    /// The stack that acquired a block.
    pub fn node_of(&self, kept: &NumberedBlock) -> Option<NodeId> {
        self.tally.node_of(&kept.block)
    }

    /// An acquisition that was told at a time: its block gets a number.
    #[inline(always)]
    pub fn acquire(&mut self, event: &mut Event, told: Units) -> Acquired {
        if event.address.is_null() {
            event.block = Block::Null;
            self.tally.acquire(event);
            return Acquired::New;
        }
        let number = self.number();
        event.block = Block::Number(number);
        let Some(block) = self.tally.acquire(event) else { return Acquired::New };
        let kept = NumberedBlock { number, block };
        if told < event.time && self.is_overtaken_at_once(event.address.0, kept, told) {
            return Acquired::Overtaken;
        }
        match self.live.insert(event.address.0, kept) {
            None => Acquired::New,
            Some(earlier) => {
                self.overtaken.push(event.address.0, earlier, self.late.acquired(&earlier));
                Acquired::InPlaceOf(earlier)
            }
        }
    }

    /// A block comes late: whether another thread's that was acquired later has its address already.
    #[cold]
    fn is_overtaken_at_once(&mut self, address: u64, kept: NumberedBlock, told: Units) -> bool {
        self.late.push(kept.number, told);
        let is_later =
            |now: NumberedBlock| now.block.thread() != kept.block.thread() && self.late.acquired(&now) > told;
        let is_overtaken = self.live.get(address).is_some_and(is_later);
        if is_overtaken {
            self.overtaken.push(address, kept, told);
        }
        is_overtaken
    }

    /// A release that was told at a time. `None` if its block may still come: then it is to be held.
    #[inline(always)]
    pub fn release(&mut self, event: &mut Event, told: Units) -> Option<Released> {
        event.size = Bytes::ZERO;
        if !self.overtaken.is_empty()
            && let Some(earlier) = self.overtaken_block(event, told)
        {
            event.block = Block::Number(earlier.number);
            self.sum_up(event, Some(earlier.block));
            return Some(Released { kept: Some(earlier), overtaken: true });
        }
        if told < event.time && self.is_older_than_block(event, told) {
            return Some(self.release_of(event, None));
        }
        let kept = self.live.remove(event.address.0);
        if kept.is_none() && !event.address.is_null() && !event.op.is_release_half() {
            return None;
        }
        Some(self.release_of(event, kept))
    }

    /// Whether a release that was told at a time is older than the block that has its address, so that it was another one's: of a
    /// process that memtoll was attached to, one that is not known. What a thread did comes in the order in which it did it, so
    /// a release is never older than a block of its own thread; that one's time is too late where it came late.
    #[cold]
    fn is_older_than_block(&self, event: &Event, told: Units) -> bool {
        let is_older = |now: NumberedBlock| {
            now.block.thread() != event.thread && self.late.acquired(&now).0 > told.0 + self.moment.0
        };
        self.live.get(event.address.0).is_some_and(is_older)
    }

    /// A release of a block that is known, of a null pointer, or of an unknown block.
    #[inline(always)]
    pub fn release_of(&mut self, event: &mut Event, kept: Option<NumberedBlock>) -> Released {
        event.block = match kept {
            Some(kept) => Block::Number(kept.number),
            None if event.address.is_null() => Block::Null,
            None => {
                self.unknown_frees += 1;
                Block::Unknown
            }
        };
        self.sum_up(event, kept.map(|kept| kept.block));
        Released { kept, overtaken: false }
    }

    #[inline(always)]
    fn sum_up(&mut self, event: &Event, block: Option<LiveBlock>) {
        if let Some(larger) = self.tally.release(event, block) {
            self.has_grown(&larger);
        }
    }

    /// A block has taken the place of a smaller one.
    #[cold]
    fn has_grown(&mut self, larger: &Replaced) {
        let is_it = |kept: &&mut NumberedBlock| kept.number.0 == larger.number;
        if let Some(kept) = self.live.get_mut(larger.address).filter(is_it) {
            kept.block.set_steps(larger.steps);
        }
    }

    /// A release waits for its block.
    #[cold]
    pub fn hold(&mut self, early: Early) {
        self.early.hold(early);
    }

    /// The release that waits for the block that `thread` is about to acquire at `address`.
    #[cold]
    pub fn awaited(&mut self, address: u64, thread: ThreadNo) -> Option<Awaited> {
        let early = self.early.of(address, thread)?;
        Some(Awaited { early, next: self.live.remove(address) })
    }

    /// The block that a release is about which was told at a time, if its address was handed out again before the release was
    /// seen: the release comes late, or the stamps of both are the wrong way round by a moment (see `early_releases`).
    /// The stamps of one thread are never the wrong way round.
    #[cold]
    fn overtaken_block(&mut self, event: &Event, told: Units) -> Option<NumberedBlock> {
        let is_late = told < event.time;
        let is_about_it = match self.live.get(event.address.0) {
            None => is_late,
            Some(now) => {
                let acquired = self.late.acquired(&now);
                (is_late && acquired > told)
                    || (now.block.thread() != event.thread && told.0.abs_diff(acquired.0) <= self.moment.0)
            }
        };
        if is_about_it { self.overtaken.take(event.address.0, told) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::{Address, Ticks};
    use memtoll_trace::op::Op;

    fn number(thread: u32) -> ThreadNo {
        ThreadNo::new(thread).unwrap()
    }

    fn event(op: Op, time: u64, thread: u32, address: u64, size: u64) -> Event {
        Event {
            time: Units(time),
            duration: Units::ZERO,
            size: Bytes(size),
            address: Address(address),
            block: Block::None,
            node: NodeId::new(9),
            thread: number(thread),
            detail: 0,
            op,
        }
    }

    fn acquire(ledger: &mut Ledger, time: u64, thread: u32, address: u64, size: u64) -> (Block, Option<BlockNo>) {
        let mut event = event(Op::MALLOC, time, thread, address, size);
        let acquired = ledger.acquire(&mut event, Units(time));
        let earlier = if let Acquired::InPlaceOf(kept) = acquired { Some(kept.number) } else { None };
        (event.block, earlier)
    }

    /// The block that is released, and its size; `None` if the release is to wait.
    fn release(ledger: &mut Ledger, time: u64, thread: u32, address: u64) -> Option<(Block, u64)> {
        let free = Op::FREE;
        let mut event = event(free, time, thread, address, 0);
        let released = ledger.release(&mut event, Units(time))?;
        Some((event.block, released.size().0))
    }

    #[test]
    fn blocks_are_numbered_in_the_order_of_their_acquisitions() {
        let mut ledger = Ledger::new(Units(10));
        assert_eq!(acquire(&mut ledger, 1, 1, 0x5000, 8), (Block::Number(BlockNo(0)), None));
        assert_eq!(acquire(&mut ledger, 2, 1, 0, 8), (Block::Null, None), "one that failed has no number");
        assert_eq!(acquire(&mut ledger, 3, 2, 0x6000, 16), (Block::Number(BlockNo(1)), None));
        assert_eq!((ledger.next_block(), ledger.tally.live_bytes()), (BlockNo(2), 24));
        assert_eq!(release(&mut ledger, 4, 2, 0x5000), Some((Block::Number(BlockNo(0)), 8)));
        assert_eq!(release(&mut ledger, 5, 2, 0), Some((Block::Null, 0)));
        assert_eq!(release(&mut ledger, 6, 2, 0x7000), None, "its block may still come");
        assert_eq!(ledger.tally.live_bytes(), 16);
    }

    #[test]
    fn a_block_that_loses_its_address_is_found_by_its_late_release() {
        let mut ledger = Ledger::new(Units(10));
        acquire(&mut ledger, 100, 1, 0x5000, 8);
        assert_eq!(acquire(&mut ledger, 300, 2, 0x5000, 64), (Block::Number(BlockNo(1)), Some(BlockNo(0))));
        // Another thread's, a moment after the acquisition: the stamps are the wrong way round.
        assert_eq!(release(&mut ledger, 305, 1, 0x5000), Some((Block::Number(BlockNo(0)), 8)));
        assert_eq!(release(&mut ledger, 305, 2, 0x5000), Some((Block::Number(BlockNo(1)), 64)));
    }

    #[test]
    fn a_release_that_waits_is_of_what_another_thread_gets() {
        let mut ledger = Ledger::new(Units(10));
        let mut held = event(Op::FREE, 1, 1, 0x5000, 0);
        assert!(ledger.release(&mut held, Units(1)).is_none());
        ledger.hold(Early { event: held, begin: Ticks(1), end: Ticks(2) });
        assert!(ledger.awaited(0x5000, number(1)).is_none(), "not what its own thread gets");
        acquire(&mut ledger, 2, 1, 0x5000, 64);
        let Awaited { mut early, next } = ledger.awaited(0x5000, number(2)).unwrap();
        assert_eq!(next.unwrap().number, BlockNo(0));
        acquire(&mut ledger, 3, 2, 0x5000, 8);
        let kept = ledger.live.remove(0x5000);
        let released = ledger.release_of(&mut early.event, kept);
        assert_eq!((early.event.block, released.size()), (Block::Number(BlockNo(1)), Bytes(8)));
        assert!(ledger.awaited(0x5000, number(2)).is_none(), "it is done");
    }
}
