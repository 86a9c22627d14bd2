//! Packs events into blocks, and knows which stack nodes the file has. Where blocks go is the caller's to say.

use memtoll_trace::event::Event;
use memtoll_trace::events::Encoder;
use memtoll_trace::ids::NodeId;
use memtoll_trace::nodes::Node;
use memtoll_trace::op::Effect;
use std::time::{Duration, Instant};

/// Events wait no longer than this for their block to be full, so that little is lost if the supervisor is killed.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// The blocks of events of an image.
pub struct BlockWriter {
    encoder: Encoder,
    payload: Vec<u8>,
    flushed: Instant,
    events: u64,
    is_cut_short: bool,
}

pub struct Packed {
    pub events: u64,
    pub bytes: usize,
}

impl BlockWriter {
    /// With an encoder that is empty.
    pub fn new(encoder: Encoder) -> BlockWriter {
        BlockWriter { encoder, payload: Vec::new(), flushed: Instant::now(), events: 0, is_cut_short: false }
    }

    /// Adds an event. There is room for it until [`BlockWriter::is_full`].
    #[inline(always)]
    pub fn push(&mut self, event: &Event, effect: Effect) {
        self.encoder.push_with(event, effect);
    }

    /// Whether the block must be written before the next event.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.encoder.is_full()
    }

    /// Whether events have waited for long enough.
    pub fn is_due(&self) -> bool {
        self.flushed.elapsed() >= FLUSH_AFTER
    }

    /// The events that wait become a block, which `put` writes; it says whether there was room for it. `None`: none waits.
    pub fn write(&mut self, put: impl FnOnce(&[u8]) -> bool) -> Option<Packed> {
        self.flushed = Instant::now();
        let events = self.encoder.len() as u64;
        if events == 0 {
            return None;
        }
        self.payload.clear();
        self.encoder.finish(&mut self.payload);
        if put(&self.payload) {
            self.events += events;
        } else {
            self.is_cut_short = true;
        }
        Some(Packed { events, bytes: self.payload.len() })
    }

    /// Events that were written.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether there was no room for some.
    pub fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }

    /// Events that wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.encoder.len()
    }

    /// The encoder, for another image.
    pub fn into_encoder(self) -> Encoder {
        self.encoder
    }
}

/// Which nodes of the stack tree the file has.
pub struct NodesWritten {
    /// All with smaller ids, but for those that are missing.
    before: u32,
    missing: Vec<NodeId>,
}

impl NodesWritten {
    /// None; ids begin with `first`.
    pub fn none(first: u32) -> NodesWritten {
        NodesWritten { before: first, missing: Vec::new() }
    }

    /// Nodes that are to be written now, of the `count` that there are. `node` is `None` for one that a thread is just
    /// writing: it comes with a later block, and no event refers to it before.
    pub fn take(&mut self, count: u32, node: impl Fn(NodeId) -> Option<Node>) -> Vec<Node> {
        let mut fresh = Vec::with_capacity(self.missing.len() + count.saturating_sub(self.before) as usize);
        let mut missing = Vec::new();
        for id in self.missing.drain(..).chain((self.before..count).filter_map(NodeId::new)) {
            match node(id) {
                Some(node) => fresh.push(node),
                None => missing.push(id),
            }
        }
        (self.before, self.missing) = (count, missing);
        fresh
    }

    /// The id behind the last one that was taken.
    pub fn before(&self) -> u32 {
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::event::Block;
    use memtoll_trace::ids::{Address, BlockNo, Bytes, ThreadNo, Units};
    use memtoll_trace::op::Op;

    #[test]
    fn events_that_do_not_fit_are_not_counted_as_written() {
        let mut writer = BlockWriter::new(Encoder::new());
        let event = |number| Event {
            time: Units(number),
            duration: Units(1),
            size: Bytes(8),
            address: Address(0x5000 + 16 * number),
            block: Block::Number(BlockNo(number)),
            node: NodeId::new(9),
            thread: ThreadNo::FIRST,
            detail: 0,
            op: Op::MALLOC,
        };
        assert!(writer.write(|_| true).is_none());
        (0..3).for_each(|number| writer.push(&event(number), Effect::Acquire));
        let packed = writer.write(|payload| !payload.is_empty()).unwrap();
        assert_eq!((packed.events, writer.events(), writer.waiting(), writer.is_cut_short()), (3, 3, 0, false));
        writer.push(&event(3), Effect::Acquire);
        assert_eq!(writer.write(|_| false).unwrap().events, 1);
        assert_eq!((writer.events(), writer.is_cut_short()), (3, true));
    }

    #[test]
    fn a_node_that_is_being_written_comes_later() {
        let node = |id| Node { id, parent: NodeId::new(1), module: 0, address: 7, without_tables: false };
        let ids = |nodes: Vec<Node>| nodes.iter().map(|node| node.id.get()).collect::<Vec<_>>();
        let mut written = NodesWritten::none(8);
        assert_eq!(ids(written.take(11, |id| (id.get() != 9).then(|| node(id)))), [8, 10]);
        assert_eq!(ids(written.take(11, |id| (id.get() != 9).then(|| node(id)))), [0; 0]);
        assert_eq!(ids(written.take(12, |id| Some(node(id)))), [9, 11]);
        assert_eq!(written.before(), 12);
    }
}
