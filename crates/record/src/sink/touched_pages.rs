//! Pages of the program's own mappings that it touches, as the kernel's page faults tell: only they tell which of its
//! mappings are memory in use and which are only reserved.
//!
//! Faults come before the next call that follows them, so what is touched until then is one event for each run of pages.

use super::Sink;
use crate::arena::Arena;
use crate::join::OwnMapping;
use crate::proc_files;
use memtoll_kernel::{KernelEvent, What};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Address, Bytes, NodeId, ThreadNo, Ticks, Units};
use memtoll_trace::op::{Effect, Op};

/// A run of pages.
pub(super) struct Touch {
    start: u64,
    end: u64,
    node: Option<NodeId>,
    thread: ThreadNo,
    /// When it began.
    at: Ticks,
    /// Samples say so: as many pages, but perhaps others.
    about: bool,
}

/// The detail of a run of which only samples tell.
const ABOUT: u16 = 1;

impl Sink {
    /// The kernel tells of a fault.
    pub(super) fn may_touch(&mut self, event: &KernelEvent) {
        let What::Fault { address, weight, page, .. } = event.what else { return };
        let Some(OwnMapping { start, end, node }) = self.join.own_mapping_at(address) else { return };
        let page = page.unwrap_or_else(proc_files::page);
        let first = address & !(page - 1);
        let (from, to) = (first.max(start), first.saturating_add(page.saturating_mul(weight.into())).min(end));
        let thread = self.facts.threads.of_tid(event.tid).unwrap_or(ThreadNo::FIRST);
        let about = weight > 1;
        if let Some(last) = self.touches.last_mut().filter(|last| !about && !last.about && last.node == node) {
            if last.end == from {
                last.end = to;
                return;
            }
            if last.start == to {
                last.start = from;
                return;
            }
        }
        // Where several faults stand for one sample and the mapping ends before, they are below.
        let to = if about { first.saturating_add(page.saturating_mul(weight.into())) } else { to };
        self.touches.push(Touch { start: from, end: to, node, thread, at: Ticks(event.ticks), about });
    }

    /// What was touched until now becomes events.
    #[cold]
    pub(super) fn write_touches(&mut self, arena: &Arena) {
        for touch in std::mem::take(&mut self.touches) {
            self.touched(arena, touch);
        }
    }

    /// A call has mapped or opened memory, and the kernel does not tell what is touched: all of it counts.
    #[cold]
    pub(super) fn takes_all(&mut self, arena: &Arena, call: &Event, at: Ticks) {
        let (start, bytes) = (call.address.0, call.size.0.next_multiple_of(proc_files::page()));
        let Event { node, thread, .. } = *call;
        self.touched(arena, Touch { start, end: start.saturating_add(bytes), node, thread, at, about: false });
    }

    fn touched(&mut self, arena: &Arena, touch: Touch) {
        let Touch { start, end, node, thread, at, about } = touch;
        let event = Event {
            time: self.time.next(at),
            duration: Units::ZERO,
            size: Bytes(end - start),
            address: Address(start),
            block: Block::None,
            node,
            thread,
            detail: if about { ABOUT } else { 0 },
            op: Op::TOUCHED,
        };
        self.ledger.tally.other(&event);
        self.keep(&event, Effect::Other);
        self.flush_if_full(arena);
    }
}
