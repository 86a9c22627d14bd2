//! Blocks that the process had when memtoll was attached to it: they are live from then on, of one call site and one thread that
//! are nobody's.

use super::Sink;
use crate::arena::Arena;
use crate::blocks_before::BlocksBefore;
use crate::join;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::{Address, Bytes, Units};
use memtoll_trace::meta::Attached;
use memtoll_trace::nodes::{BEFORE_ATTACH, BEFORE_ATTACH_ADDRESS, ROOT_COMPLETE};
use memtoll_trace::op::{Effect, Op};

impl Sink {
    /// The process had these blocks at this time.
    pub fn had_blocks(&mut self, arena: &Arena, before: BlocksBefore) {
        let BlocksBefore { at, blocks, unknown, usage } = before;
        self.usage_before = usage;
        self.counts_from = at;
        let time = self.time.next(at);
        let mut attached = Attached { time: time.0, unknown, ..Attached::default() };
        if let Some((node, thread)) = (!blocks.is_empty())
            .then(|| Some((arena.add_node(ROOT_COMPLETE, BEFORE_ATTACH_ADDRESS)?, arena.add_thread()?)))
            .flatten()
        {
            attached.node = node.get();
            self.facts.threads.stands_for(thread, BEFORE_ATTACH, time);
            for block in
                blocks.iter().filter(|block| self.ledger.live.get(block.address).is_none()).copied().collect::<Vec<_>>()
            {
                let mut event = Event {
                    time,
                    duration: Units::ZERO,
                    size: Bytes(block.bytes),
                    address: Address(block.address),
                    block: Block::None,
                    node: Some(node),
                    thread,
                    detail: 0,
                    op: Op::BEFORE,
                };
                self.ledger.acquire(&mut event, time);
                if event.size >= join::LARGE {
                    self.join.large_block(block.address, event.size);
                }
                attached.blocks += 1;
                attached.bytes = attached.bytes.saturating_add(block.bytes);
                self.timeline.push(&event, Effect::Acquire, self.ledger.tally.live_bytes());
                self.writer.push(&event, Effect::Acquire);
                self.flush_if_full(arena);
            }
        }
        self.attached = Some(attached);
        self.write_attached(None);
    }

    /// What is known of the time before. Said when it is found, so that a recording that is cut off says it, too, and at the end.
    pub(super) fn write_attached(&mut self, freed: Option<u64>) {
        if let Some(attached) = &mut self.attached {
            attached.freed = freed;
            attached.unknown_frees = self.ledger.unknown_frees;
            self.run.output.json(BlockKind::Attached, self.facts.image, attached);
        }
    }
}
