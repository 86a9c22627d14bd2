//! Takes the events of one process image in the order of their times, and turns them into blocks of the file.

mod allocator_mappings;
mod answered_calls;
mod block_writer;
mod blocks_before_attach;
mod chapters;
mod children_without_calls;
mod early_releases;
mod fork_inheritance;
mod image_facts;
mod image_records;
mod late_acquisitions;
mod leak_search;
mod ledger;
pub(crate) mod live_blocks;
mod mapped_files;
mod marks_looked_at;
mod pool_events;
mod pools;
mod region_work;
mod reused_addresses;
#[cfg(test)]
mod testing;
mod threads;
mod time_base;
mod touched_pages;
mod write_order;

use crate::arena::Arena;
use crate::fork_family::Family;
use crate::join::{self, Call, Join, Owner};
use crate::lost_blocks::Lost;
use crate::proc_files;
use crate::process_polling::{Happened, Recent};
use crate::run::Run;
use crate::wire::{self, Record};
use answered_calls::Answered;
use block_writer::{BlockWriter, NodesWritten};
use early_releases::Early;
use fork_inheritance::{BlockFrom, InheritableBlocks};
use image_facts::Facts;
use ledger::{Acquired, Awaited, Ledger, Released};
use live_blocks::NumberedBlock;
use memtoll_kernel::{KernelEvent, What};
use memtoll_processor::HERE;
use memtoll_tally::TimelineBuilder;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Address, Bytes, NodeId, ThreadNo, Ticks, Units};
use memtoll_trace::meta::{Attached, Image, LeakSearch, OwnAllocators, Usage};
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::path::last_part;
use region_work::WorkOfThreads;
use std::sync::Arc;
use time_base::TimeBase;

/// What is done with the events of an image: facts are kept, blocks looked up, costs joined, and all of it written.
pub struct Sink {
    run: Arc<Run>,
    facts: Facts,
    time: TimeBase,
    ledger: Ledger,
    timeline: TimelineBuilder,
    work: WorkOfThreads,
    inheritable: InheritableBlocks,
    join: Join,
    writer: BlockWriter,
    nodes: NodesWritten,
    pace: chapters::Pace,
    /// Live bytes as the run knows them.
    reported_live: u64,
    /// The kernel's last event.
    recent: Recent,
    touches: Vec<touched_pages::Touch>,
    /// Allocators of the image, as they are written; not before it is looked for them.
    own_allocators: Option<OwnAllocators>,
    /// What allocators were asked for.
    answered: Answered,
    /// Which calls for mappings are an allocator's.
    mapping_callers: allocator_mappings::Callers,
    /// What the process had when it began to be recorded, if it was running already.
    attached: Option<Attached>,
    /// No page faults and samples count from before, ticks.
    counts_from: Ticks,
    /// What the kernel had counted for the process then.
    usage_before: Usage,
    /// What came of the search for lost blocks.
    leak_search: LeakSearch,
    lost: Vec<Lost>,
    /// The process may not read the clock: how long its calls take is not known.
    pub untimed: bool,
}

/// Whether a program loads another one into its own process, of which it does not tell the name: the loader, started by
/// itself, and Valgrind's tools.
fn loads_another(executable: &str) -> bool {
    let name = last_part(executable);
    name.starts_with("ld") && name.contains(".so") || name.ends_with(HERE.valgrind)
}

impl Sink {
    /// For a process image that has just begun.
    pub fn new(run: Arc<Run>, about: &Image, family: Arc<Family>) -> Sink {
        let forked = about.forked_from.is_some();
        // In this order: of what is mapped later, the kernel tells.
        let time = TimeBase::new(run.around.clone());
        let began = time.now();
        // It also tells of what was mapped since an exec. A list of mappings takes a tenth of all that memtoll does for a
        // process that is soon over.
        let was_running = run.looks.was_running(about.image);
        let has_processed = run.kernel().is_some() && !forked && !was_running && !loads_another(&about.executable);
        let mapped_at_first = (!has_processed).then(|| proc_files::maps(about.pid));
        let mut join = Join::new(run.around.clone(), began, mapped_at_first.as_deref());
        if forked {
            join.is_forked();
        }
        Sink {
            facts: Facts::new(about, mapped_at_first.unwrap_or_default()),
            ledger: Ledger::new(time.microseconds(early_releases::READ_AHEAD_MICROSECONDS)),
            timeline: TimelineBuilder::new(chapters::CELLS),
            work: WorkOfThreads::default(),
            time,
            inheritable: InheritableBlocks::new(family),
            join,
            writer: BlockWriter::new(run.encoder()),
            nodes: NodesWritten::none(wire::FIRST_NODE),
            pace: chapters::Pace::new(),
            reported_live: 0,
            recent: Recent::new(run.around.ticks_per_microsecond),
            touches: Vec::new(),
            own_allocators: None,
            answered: Answered::default(),
            mapping_callers: allocator_mappings::Callers::default(),
            attached: None,
            counts_from: if was_running { Ticks(u64::MAX) } else { Ticks(0) },
            usage_before: Usage::default(),
            leak_search: LeakSearch::default(),
            lost: Vec::new(),
            untimed: false,
            run,
        }
    }

    /// A call comes soon.
    #[inline(always)]
    pub fn expect(&self, record: &Record) {
        self.ledger.live.prefetch(record.address);
        if let Some(place) = self.ledger.tally.place_of_node(record.node()) {
            place.into_iter().for_each(memtoll_processor::prefetch);
        }
    }

    /// An expected call comes closer: its block can be found now.
    #[inline(always)]
    pub fn expect_block(&self, record: &Record) {
        self.ledger.live.prefetch_block(record.address);
    }

    /// It comes closer still: the sums of its block's site can be found.
    #[inline(always)]
    pub fn expect_next(&self, record: &Record) {
        if !self.ledger.tally.is_beyond_caches() {
            return;
        }
        let place = |kept: &NumberedBlock| self.ledger.tally.place_of_block(&kept.block);
        if let Some(place) = self.ledger.live.glance(record.address).and_then(place) {
            place.into_iter().for_each(memtoll_processor::prefetch);
        }
    }

    /// An event that was added up becomes a part of the timeline and of the file.
    #[inline(always)]
    fn keep(&mut self, event: &Event, effect: Effect) {
        self.timeline.push(event, effect, self.ledger.tally.live_bytes());
        self.work.push(event, effect);
        self.writer.push(event, effect);
    }

    /// A call of a hooked function. `key` is the tick by which it is sorted.
    #[inline]
    pub fn call(&mut self, arena: &Arena, record: &Record, op: Op, key: u64, thread: ThreadNo, duration: u64) {
        let key = Ticks(key);
        if !self.touches.is_empty() {
            self.write_touches(arena);
        }
        if !self.ledger.early.is_empty() {
            self.release_due(arena, key);
        }
        let duration = if self.untimed { 0 } else { duration };
        let told = self.time.at(key);
        let half = 1 << (crate::clock::UNIT_TICKS_LOG2 - 1);
        let mut event = Event {
            time: self.time.next_at(told),
            duration: Units((duration + half) >> crate::clock::UNIT_TICKS_LOG2),
            size: Bytes(record.bytes()),
            address: Address(record.address),
            block: Block::None,
            node: record.node(),
            thread,
            detail: if op.is_heap() { record.heap_detail() } else { record.detail() },
            op,
        };
        if op.is_heap() {
            self.answered.count(record.allocator(), &event);
        }
        let (begin, end) = (Ticks(record.ticks()), Ticks(record.ticks() + duration));
        // Each kind has its own way to the end of the encoder, so that what is known of it is not asked again.
        match op.effect() {
            Effect::Acquire => {
                let awaited =
                    if self.ledger.early.is_empty() { None } else { self.ledger.awaited(event.address.0, thread) };
                self.acquire(&mut event, told);
                let (node, size, effect) = (event.node, event.size, join::Effect::Acquire);
                self.join.call(thread, Call { begin, end, node, charged: node, size, effect }, event.address.0);
                self.keep(&event, Effect::Acquire);
                if let Some(awaited) = awaited {
                    self.release_awaited(arena, awaited);
                }
            }
            Effect::Release => {
                if !self.ledger.pools.is_empty() {
                    self.heap_block_goes(arena, &event, told);
                }
                match self.ledger.release(&mut event, told) {
                    Some(released) => self.is_released(&event, &released, begin, end),
                    None => self.ledger.hold(Early { event, begin, end }),
                }
            }
            Effect::Other | Effect::Lend => {
                if !self.ledger.pools.is_empty() {
                    self.mapping_goes(arena, &event);
                }
                let (node, size, effect) = (event.node, event.size, join::Effect::Mapping);
                let call = Call { begin, end, node, charged: node, size, effect };
                if op.is_mapping() && self.is_allocators(arena, node) {
                    return self.allocator_maps(&event, call);
                }
                self.ledger.tally.other(&event);
                self.other(&event, call);
                self.keep(&event, Effect::Other);
                let takes = op.maps_memory(event.detail) || op.opens(event.detail) == Some(true);
                if takes && self.run.kernel().is_none() {
                    self.takes_all(arena, &event, key);
                }
            }
        }
        self.flush_if_full(arena);
    }

    /// Makes room for the next event. What is counted must be written before: a chapter ends here.
    #[inline(always)]
    fn flush_if_full(&mut self, arena: &Arena) {
        if self.writer.is_full() {
            self.flush(arena);
        }
    }

    #[inline(always)]
    fn acquire(&mut self, event: &mut Event, told: Units) {
        match self.ledger.acquire(event, told) {
            Acquired::New => {}
            Acquired::InPlaceOf(earlier) => {
                self.keep_if_inherited(event.address.0, &earlier, event.time, BlockFrom::Heap);
            }
            Acquired::Overtaken => return,
        }
        if event.size >= join::LARGE && !event.address.is_null() {
            self.join.large_block(event.address.0, event.size);
        }
    }

    /// Passes a release to the join and writes it.
    #[inline(always)]
    fn is_released(&mut self, event: &Event, released: &Released, begin: Ticks, end: Ticks) {
        let node = event.node;
        let mut charged = node;
        if let Some(kept) = &released.kept {
            if !released.overtaken {
                self.keep_if_inherited(event.address.0, kept, event.time, BlockFrom::Heap);
                if released.size() >= join::LARGE {
                    self.gives_back(end, released.size());
                    let reallocates = event.op.is_release_half().then_some(event.thread);
                    self.join.large_block_gone(event.address.0, reallocates);
                }
            }
            charged = self.ledger.node_of(kept);
        } else if event.block == Block::Unknown {
            self.disowns(event.address.0, self.time.at(begin));
        }
        // The second half of a reallocation has the time of both.
        if !event.op.is_release_half() {
            let (size, effect) = (released.size(), join::Effect::Release);
            self.join.call(event.thread, Call { begin, end, node, charged, size, effect }, event.address.0);
        }
        self.keep(event, Effect::Release);
    }

    /// Releases that need not wait for their blocks any longer.
    #[cold]
    fn release_due(&mut self, arena: &Arena, at: Ticks) {
        let longest = self.time.ticks(early_releases::LONGEST_WAIT_MICROSECONDS);
        while let Some(early) = self.ledger.early.due(at, longest) {
            self.release_early(arena, early, None);
        }
    }

    /// The block that a release waited for has come.
    #[cold]
    fn release_awaited(&mut self, arena: &Arena, awaited: Awaited) {
        let Awaited { early, next } = awaited;
        let address = early.event.address;
        let kept = self.ledger.live.remove(address.0);
        self.release_early(arena, early, kept);
        if let Some(next) = next {
            self.ledger.live.insert(address.0, next);
        }
    }

    /// A release that waited happens now, of a block that came or of an unknown one.
    #[cold]
    fn release_early(&mut self, arena: &Arena, early: Early, kept: Option<NumberedBlock>) {
        let Early { mut event, begin, end } = early;
        event.time = self.time.last();
        // The call whose block it waited for may have filled the block of events.
        self.flush_if_full(arena);
        if let Some(kept) = kept.as_ref().filter(|_| !self.ledger.pools.is_empty()) {
            self.pools_in_go(arena, &event, kept);
        }
        let released = self.ledger.release_of(&mut event, kept);
        self.is_released(&event, &released, begin, end);
        self.flush_if_full(arena);
    }

    /// A call for mappings, or of pthread_create.
    #[cold]
    fn other(&mut self, event: &Event, call: Call) {
        if event.op.is_mapping() {
            self.gives_back(call.end, event.size);
            let charged = self.join.remaps(event.op, &call, event.address.0, event.detail);
            if !event.op.is_release_half() {
                self.join.call_with_costs(event.thread, Call { charged, ..call }, event.address.0);
            }
        } else if event.op == Op::PTHREAD_CREATE {
            self.facts.threads.handle_is_new(event.address.0, self.time.at(call.begin));
            self.join.has_stack(event.address.0);
        }
    }

    /// A call for mappings of an allocator itself: the memory is its own, and the line that it is called from pays the time.
    #[cold]
    fn allocator_maps(&mut self, event: &Event, call: Call) {
        self.gives_back(call.end, event.size);
        self.join.remaps(event.op, &Call { node: None, ..call }, event.address.0, event.detail);
        if !event.op.is_release_half() {
            self.join.call_with_costs(event.thread, call, event.address.0);
        }
    }

    /// Something that the kernel tells.
    pub fn told(&mut self, event: &KernelEvent) {
        let at = Ticks(event.ticks);
        if at < self.counts_from
            && matches!(event.what, What::Fault { .. } | What::FaultBegins { .. } | What::Runs { .. })
        {
            return;
        }
        match event.what {
            What::Fault { weight, page, .. } => {
                let bytes = page.unwrap_or_else(proc_files::page).saturating_mul(weight.into());
                self.recent.add(event.ticks, Happened { came: bytes, ..Happened::default() });
                self.may_touch(event);
            }
            What::Runs { .. } => {
                let processor = memtoll_kernel::RUNNING.into();
                self.recent.add(event.ticks, Happened { processor, ..Happened::default() });
            }
            What::Exit => self.facts.threads.is_gone(event.tid, self.time.at(at)),
            What::Fork { child_pid, .. } if child_pid != self.facts.pid => self.forked(at),
            _ => {}
        }
        let ledger = &self.ledger;
        let owner = |kept: &NumberedBlock| Owner { node: ledger.node_of(kept), size: kept.block.size() };
        self.join.event(event, |join, address, look_for_small| {
            if let Some(handed) = ledger.pools.at(address) {
                return Some(owner(&handed.kept));
            }
            let kept = match join.large_block_at(address) {
                Some(start) => ledger.live.get(start),
                None if !look_for_small => None,
                None => ledger
                    .live
                    .below(address, join::LARGE.0)
                    .filter(|(start, kept)| address - start < kept.block.size().0)
                    .map(|(_, kept)| kept),
            };
            kept.as_ref().map(owner)
        });
    }

    /// A call for mappings filled memory at once, with `faults`.
    pub fn filled(&mut self, faults: u64) {
        self.join.filled(faults);
    }

    /// A call may have given memory back to the system, at the latest when it ended: a look in the middle of it still
    /// sees the memory.
    #[cold]
    fn gives_back(&mut self, at: Ticks, bytes: Bytes) {
        self.recent.add(at.0, Happened { went: bytes.0, ..Happened::default() });
    }

    /// The end of the heap moved.
    pub fn heap_moved(&mut self, at: Ticks, thread: ThreadNo, node: Option<NodeId>, from: u64, to: u64) {
        if to < from {
            self.gives_back(at, Bytes(from - to));
        }
        self.join.heap_moved(thread, node, from, to);
    }
}
