//! Events of the program's own allocators: what they release and acquire, and what memory that goes takes with it.

use super::Sink;
use super::fork_inheritance::BlockFrom;
use super::live_blocks::NumberedBlock;
use super::pools::{Handed, Lender};
use crate::arena::Arena;
use crate::join;
use crate::wire::{Blob, PoolBlob, Record, kind};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Address, Bytes, NodeId, ThreadNo, Ticks, Units};
use memtoll_trace::op::{Effect, Op};

/// When, where and by whom something happens.
#[derive(Clone, Copy)]
struct At {
    time: Units,
    thread: ThreadNo,
    node: Option<NodeId>,
}

impl Sink {
    /// A record of the program's own allocators, but [`kind::POOL_BEGIN`].
    #[cold]
    pub fn pooled(&mut self, arena: &Arena, record: &Record, thread: ThreadNo) {
        let told = self.time.at(Ticks(record.ticks()));
        let at = At { time: self.time.next(Ticks(record.ticks())), thread, node: record.node() };
        match record.kind() {
            kind::POOL_ALLOC => self.hand_out(arena, Op::POOL_ALLOC, at, record.address, record.bytes()),
            kind::POOL_REALLOC => self.hand_out(arena, Op::POOL_REALLOC, at, record.address, record.bytes()),
            kind::POOL_FREE => self.take_back(arena, Op::POOL_FREE, at, record.address, told),
            kind::POOL_REALLOC_FROM => {
                self.take_back(arena, Op::POOL_REALLOC.release_half(), at, record.address, told);
            }
            _ => {
                let gone = self.ledger.pools.end(record.address);
                self.drop_blocks(arena, at, gone);
            }
        }
    }

    /// A chunk becomes a pool.
    pub(super) fn pool_begins(&mut self, arena: &Arena, payload: &[u8], thread: ThreadNo, told: Ticks) {
        let Some((PoolBlob { chunk, bytes, node, .. }, name)) = PoolBlob::split(payload) else { return };
        let at = At { time: self.time.next(told), thread, node: NodeId::new(node) };
        let heap = self.heap_block_around(chunk);
        let gone = self.ledger.pools.begin(&String::from_utf8_lossy(name), chunk, bytes, heap);
        self.drop_blocks(arena, at, gone);
    }

    /// The block of the heap that holds `address`.
    fn heap_block_around(&self, address: u64) -> Option<Lender> {
        let small = || self.ledger.live.below(address, join::LARGE.0);
        let large = self.join.large_block_at(address);
        let (start, kept) = large.and_then(|start| Some((start, self.ledger.live.get(start)?))).or_else(small)?;
        Some(Lender::new(start, kept))
    }

    fn hand_out(&mut self, arena: &Arena, op: Op, at: At, address: u64, size: u64) {
        if address == 0 {
            let event = at.event(op, 0, Block::Null, size, 0);
            self.ledger.tally.acquire_pooled(&event);
            return self.push(arena, &event, Effect::Acquire);
        }
        let heap = if self.ledger.pools.has_pool(address) { None } else { self.heap_block_around(address) };
        let (place, gone) = self.ledger.pools.place(address, size, heap);
        self.drop_blocks(arena, at, gone);
        if let Some(lender) = place.lender {
            let event = at.event(Op::LEND, 0, Block::Number(lender.kept.number), 0, 0);
            self.ledger.tally.lend(&event, Some(lender.kept.block));
            self.push(arena, &event, Effect::Lend);
        }
        let number = self.ledger.number();
        let event = at.event(op, address, Block::Number(number), size, place.name);
        if let Some(block) = self.ledger.tally.acquire_pooled(&event) {
            self.ledger.pools.insert(address, NumberedBlock { number, block }, place.name, at.node);
        }
        self.push(arena, &event, Effect::Acquire);
    }

    /// A block is given back, as was `told` at a time.
    fn take_back(&mut self, arena: &Arena, op: Op, at: At, address: u64, told: Units) {
        // What was handed out later is another block, which has released this one already.
        if self.ledger.pools.get(address).is_some_and(|handed| handed.kept.block.time() > told) {
            return;
        }
        let mut gone = self.ledger.pools.take(address);
        match gone.pop() {
            Some(block) => {
                self.drop_blocks(arena, at, gone);
                self.release_pooled(arena, op, at, &block);
            }
            None => {
                let block = if address == 0 { Block::Null } else { Block::Unknown };
                let event = at.event(op, address, block, 0, 0);
                self.ledger.tally.release_pooled(&event, None);
                self.push(arena, &event, Effect::Release);
            }
        }
    }

    fn drop_blocks(&mut self, arena: &Arena, at: At, gone: Vec<Handed>) {
        for block in gone {
            self.ledger.pools.dropped(&block);
            self.release_pooled(arena, Op::POOL_END, at, &block);
        }
    }

    fn release_pooled(&mut self, arena: &Arena, op: Op, at: At, handed: &Handed) {
        let event = at.event(op, handed.address, Block::Number(handed.kept.number), 0, 0);
        self.keep_if_inherited(handed.address, &handed.kept, at.time, BlockFrom::Pool);
        self.ledger.tally.release_pooled(&event, Some(handed.kept.block));
        self.push(arena, &event, Effect::Release);
    }

    fn push(&mut self, arena: &Arena, event: &Event, effect: Effect) {
        self.keep(event, effect);
        self.flush_if_full(arena);
    }

    /// A block of the heap is about to be released, as was told at a time: the pools in it are over.
    #[cold]
    pub(super) fn heap_block_goes(&mut self, arena: &Arena, event: &Event, told: Units) {
        if let Some(kept) = self.ledger.live.get(event.address.0).filter(|kept| kept.block.time() <= told) {
            self.pools_in_go(arena, event, &kept);
        }
    }

    /// This block is released: the pools in it are over.
    #[cold]
    pub(super) fn pools_in_go(&mut self, arena: &Arena, event: &Event, kept: &NumberedBlock) {
        let gone = self.ledger.pools.memory_goes(event.address.0, kept.block.size().0);
        self.drop_blocks(arena, At::the_time_of(event), gone);
    }

    /// A mapping is about to be given back or replaced: so are the pools in it.
    #[cold]
    pub(super) fn mapping_goes(&mut self, arena: &Arena, event: &Event) {
        let replaces = matches!(event.op, Op::MMAP | Op::MMAP64 | Op::MUNMAP) || event.op == Op::MREMAP.release_half();
        if replaces {
            let gone = self.ledger.pools.memory_goes(event.address.0, event.size.0);
            self.drop_blocks(arena, At::the_time_of(event), gone);
        }
    }
}

impl At {
    fn the_time_of(event: &Event) -> At {
        At { time: event.time, thread: event.thread, node: event.node }
    }

    fn event(self, op: Op, address: u64, block: Block, size: u64, detail: u16) -> Event {
        let At { time, thread, node } = self;
        Event {
            time,
            duration: Units::ZERO,
            size: Bytes(size),
            address: Address(address),
            block,
            node,
            thread,
            detail,
            op,
        }
    }
}
