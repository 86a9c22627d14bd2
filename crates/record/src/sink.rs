//! Takes the events of one process image in the order of their times, and turns them into blocks of the file.

mod about;
mod chapters;
mod early;
mod heirs;
mod live_blocks;
mod overtaken;
mod pooled;
mod pools;
mod silent;
#[cfg(test)]
mod testing;
mod writing;

use crate::arena::Arena;
use crate::family::Family;
use crate::join::{self, Call, Join, Owner};
use crate::process::{self, MapLine};
use crate::run::Run;
use crate::wire::{self, Record};
use early::{Early, EarlyReleases};
use heirs::Heirs;
use live_blocks::LiveBlocks;
use memtoll_analysis::aggregate::{Everything, LiveBlock, Replaced, Tally};
use memtoll_kernel::{KernelEvent, What};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::events::Encoder;
use memtoll_trace::meta::{Image, Mark, Module, Note, Resident, Thread, Usage};
use memtoll_trace::op::{Effect, Op};
use overtaken::Overtaken;
use pools::Pools;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Instant;

/// What is kept of a block while it lives.
#[derive(Clone, Copy)]
struct Kept {
    number: u64,
    block: LiveBlock,
}

pub use silent::Silent;

pub struct Sink {
    run: Arc<Run>,
    image: u32,
    pid: u32,
    executable: String,
    command: Vec<String>,
    mapped_at_first: Vec<MapLine>, // when the image began, where that is wanted
    encoder: Encoder,
    tally: Tally<Everything>,
    live: LiveBlocks<Kept>,
    overtaken: Overtaken,
    early: EarlyReleases,
    pools: Pools,
    heirs: Heirs,
    join: Join,
    next_block: u64,
    last_time: u64,
    late: u64,
    events: u64,
    /// Events had no room in the file.
    is_cut_short: bool,
    reported_live: u64,
    payload: Vec<u8>,
    flushed: Instant,
    pace: chapters::Pace,
    nodes_written: u32,
    missing_nodes: Vec<u32>,
    modules: Vec<Module>,
    new_modules: Vec<Module>,
    threads: Vec<Thread>,
    by_number: FxHashMap<u32, usize>, // where in `threads`
    by_tid: FxHashMap<u32, usize>,
    threads_changed: bool,
    by_handle: FxHashMap<u64, u32>,
    names: FxHashMap<u64, String>, // of threads that have not recorded anything yet
    marks: Vec<Mark>,
    /// The status passed to exit(), if it was called.
    exit_code: Option<i32>,
    /// Size of the block that was released last, bytes.
    released: u64,
    usage: Option<Usage>,
    resident: Option<Resident>,
    given_up: bool,
    /// Programs that were executed and cannot be recorded.
    unrecorded: Vec<Unrecorded>,
    /// The process may not read the clock: how long its calls take is not known.
    pub untimed: bool,
}

/// A program that was executed and cannot be recorded.
struct Unrecorded {
    path: String,
    note: Note,
}

/// Whether a program loads another one into its own process, of which it does not tell the name: the loader, started by
/// itself, and Valgrind's tools.
fn loads_another(executable: &str) -> bool {
    let name = executable.rsplit('/').next().unwrap_or_default();
    name.starts_with("ld") && name.contains(".so") || name.ends_with("-amd64-linux")
}

impl Sink {
    /// For a process image that has just begun.
    pub fn new(run: Arc<Run>, about: &Image, family: Arc<Family>) -> Sink {
        let Image { image, pid, ref executable, ref command, .. } = *about;
        let forked = about.forked_from.is_some();
        // In this order: of what is mapped later, the kernel tells.
        let began = run.clock.now();
        // It also tells of what was mapped since an exec. A list of mappings takes a tenth of all that memtoll does for a
        // process that is soon over.
        let is_told = run.kernel().is_some() && !forked && !loads_another(executable);
        let mapped_at_first = (!is_told).then(|| process::maps(pid));
        let mut join = Join::new(run.clone(), began, mapped_at_first.as_deref());
        if forked {
            join.is_forked();
        }
        let mapped_at_first = mapped_at_first.unwrap_or_default();
        let encoder = run.encoder();
        let mut tally = Tally::new(Everything);
        tally.keep_chapters();
        tally.keep_patterns();
        Sink {
            run,
            image,
            pid,
            executable: executable.clone(),
            command: command.clone(),
            mapped_at_first,
            encoder,
            tally,
            live: LiveBlocks::new(),
            overtaken: Overtaken::default(),
            early: EarlyReleases::default(),
            pools: Pools::new(),
            heirs: Heirs::new(family),
            join,
            next_block: 0,
            last_time: 0,
            late: 0,
            events: 0,
            is_cut_short: false,
            reported_live: 0,
            payload: Vec::new(),
            flushed: Instant::now(),
            pace: chapters::Pace::new(),
            nodes_written: wire::FIRST_NODE,
            missing_nodes: Vec::new(),
            modules: Vec::new(),
            new_modules: Vec::new(),
            threads: Vec::new(),
            by_number: FxHashMap::default(),
            by_tid: FxHashMap::default(),
            threads_changed: false,
            by_handle: FxHashMap::default(),
            names: FxHashMap::default(),
            marks: Vec::new(),
            exit_code: None,
            released: 0,
            usage: None,
            resident: None,
            given_up: false,
            unrecorded: Vec::new(),
            untimed: false,
        }
    }

    /// Times in a file never decrease; an event that came too late gets the time of the one before.
    #[inline]
    fn time(&mut self, ticks: u64) -> u64 {
        let time = self.run.clock.units(ticks);
        if time < self.last_time {
            self.late += 1;
            return self.last_time;
        }
        self.last_time = time;
        time
    }

    /// A call about the block at `address` comes soon.
    #[inline(always)]
    pub fn expect(&self, address: u64) {
        self.live.prefetch(address);
    }

    /// A call of a hooked function. `key` is the tick by which it is sorted.
    #[inline]
    pub fn call(&mut self, arena: &Arena, record: &Record, op: Op, key: u64, thread: u32, duration: u64) {
        if !self.early.is_empty() {
            self.release_due(arena, thread, key);
        }
        let duration = if self.untimed { 0 } else { duration };
        let half = 1 << (crate::clock::UNIT_TICKS_LOG2 - 1);
        let mut event = Event {
            time: self.time(key),
            duration: (duration + half) >> crate::clock::UNIT_TICKS_LOG2,
            size: record.bytes(),
            address: record.address,
            block: Block::None,
            node: record.node(),
            thread,
            detail: record.detail(),
            op,
        };
        let (begin, end) = (record.ticks(), record.ticks() + duration);
        // Each kind has its own way to the end of the encoder, so that what is known of it is not asked again.
        match op.effect() {
            Effect::Acquire => {
                self.acquire(&mut event);
                let call = Call { begin, end, node: event.node, charged: event.node, effect: join::Effect::Acquire };
                self.join.call(thread, call, event.size, event.address);
                self.encoder.push_with(&event, Effect::Acquire);
                if !self.early.is_empty() {
                    self.release_handed_over(arena, event.address);
                }
            }
            Effect::Release => {
                if !self.pools.is_empty() {
                    self.heap_block_goes(arena, &event, self.run.clock.units(key));
                }
                match self.release(&mut event, self.run.clock.units(key)) {
                    Some(charged) => self.is_released(&event, charged, begin, end),
                    None => self.early.hold(Early { event, begin, end }),
                }
            }
            Effect::Other | Effect::Lend => {
                if !self.pools.is_empty() {
                    self.mapping_goes(arena, &event);
                }
                self.tally.other(&event);
                let call = Call { begin, end, node: event.node, charged: event.node, effect: join::Effect::Mapping };
                self.other(&event, call);
                self.encoder.push_with(&event, Effect::Other);
            }
        }
        if self.encoder.is_full() {
            self.flush(arena);
        }
    }

    #[inline(always)]
    fn acquire(&mut self, event: &mut Event) {
        if event.address == 0 {
            event.block = Block::Null;
            self.tally.acquire(event);
            return;
        }
        let number = self.next_block;
        self.next_block += 1;
        event.block = Block::Number(number);
        if let Some(block) = self.tally.acquire(event) {
            if let Some(earlier) = self.live.insert(event.address, Kept { number, block }) {
                if earlier.block.time() < self.heirs.before {
                    self.keep_for_heirs(event.address, &earlier, event.time, false);
                }
                self.overtaken.push(event.address, earlier);
            }
            if event.size >= join::LARGE {
                self.join.large_block(event.address, event.size);
            }
        }
    }

    /// A release that happened at `time`, in units. Returns the stack node that is charged for it; `None` if its block may
    /// still come.
    #[inline(always)]
    fn release(&mut self, event: &mut Event, time: u64) -> Option<u32> {
        event.size = 0;
        if !self.overtaken.is_empty()
            && let Some(earlier) = self.overtaken_block(event, time)
        {
            return Some(self.release_overtaken(event, earlier));
        }
        let kept = self.live.remove(event.address);
        if kept.is_none() && event.address != 0 && !event.op.is_release_half() {
            return None;
        }
        Some(self.release_of(event, kept))
    }

    /// A release of a block that is known, of a null pointer, or of a block that nobody knows.
    #[inline(always)]
    fn release_of(&mut self, event: &mut Event, kept: Option<Kept>) -> u32 {
        event.block = match kept {
            Some(kept) => Block::Number(kept.number),
            None if event.address == 0 => Block::Null,
            None => Block::Unknown,
        };
        let block = kept.map(|kept| kept.block);
        if let Some(larger) = self.tally.release(event, block) {
            self.has_grown(&larger);
        }
        self.released = block.map_or(0, |block| block.size());
        let Some(kept) = kept else { return event.node };
        let block = kept.block;
        if block.time() < self.heirs.before {
            self.keep_for_heirs(event.address, &kept, event.time, false);
        }
        if block.size() >= join::LARGE {
            self.join.large_block_gone(event.address, event.op.is_release_half().then_some(event.thread));
        }
        self.tally.node_of(&block)
    }

    /// A block has taken the place of a smaller one.
    #[cold]
    fn has_grown(&mut self, larger: &Replaced) {
        if let Some(kept) = self.live.get_mut(larger.address).filter(|kept| kept.number == larger.number) {
            kept.block.set_steps(larger.steps);
        }
    }

    /// A release is told to the join and written.
    #[inline(always)]
    fn is_released(&mut self, event: &Event, charged: u32, begin: u64, end: u64) {
        if event.block == Block::Unknown {
            self.disowns(event.address, self.run.clock.units(begin));
        }
        // The second half of a reallocation has the time of both.
        if !event.op.is_release_half() {
            let call = Call { begin, end, node: event.node, charged, effect: join::Effect::Release };
            self.join.call(event.thread, call, self.released, event.address);
        }
        self.encoder.push_with(event, Effect::Release);
    }

    /// Releases that need not wait for their blocks any longer when `thread` makes a call at `ticks`.
    #[cold]
    fn release_due(&mut self, arena: &Arena, thread: u32, ticks: u64) {
        while let Some(early) = self.early.due(thread, ticks, self.run.ticks_per_microsecond) {
            self.release_early(arena, early);
        }
    }

    /// The block at `address` was released before it came.
    #[cold]
    fn release_handed_over(&mut self, arena: &Arena, address: u64) {
        if let Some(early) = self.early.of(address) {
            self.release_early(arena, early);
        }
    }

    /// A release that waited happens now.
    #[cold]
    fn release_early(&mut self, arena: &Arena, early: Early) {
        let Early { mut event, begin, end } = early;
        event.time = self.last_time;
        if self.encoder.is_full() {
            self.flush(arena);
        }
        if !self.pools.is_empty() {
            self.heap_block_goes(arena, &event, event.time);
        }
        let kept = self.live.remove(event.address);
        let charged = self.release_of(&mut event, kept);
        self.is_released(&event, charged, begin, end);
    }

    /// The block that a release at `time`, in units, is about, if its address was handed out again before the release was
    /// seen: the release comes late, or the stamps of both are the wrong way round by a moment (see `early`). The stamps
    /// of one thread are never the wrong way round.
    #[cold]
    fn overtaken_block(&mut self, event: &Event, time: u64) -> Option<Kept> {
        let moment = (early::LONGEST_MICROSECONDS * self.run.ticks_per_microsecond) >> crate::clock::UNIT_TICKS_LOG2;
        let is_late = time < event.time;
        let is_about_it = match self.live.get(event.address) {
            None => is_late,
            Some(Kept { block: now, .. }) => {
                (is_late && now.time() > time) || (now.thread() != event.thread && time.abs_diff(now.time()) <= moment)
            }
        };
        if is_about_it { self.overtaken.take(event.address, time) } else { None }
    }

    /// A release of a block whose address was handed out again before the release was seen.
    #[cold]
    fn release_overtaken(&mut self, event: &mut Event, kept: Kept) -> u32 {
        event.block = Block::Number(kept.number);
        if let Some(larger) = self.tally.release(event, Some(kept.block)) {
            self.has_grown(&larger);
        }
        self.released = kept.block.size();
        self.tally.node_of(&kept.block)
    }

    /// A call for mappings, or of pthread_create.
    #[cold]
    fn other(&mut self, event: &Event, call: Call) {
        if event.op.is_mapping() {
            let size = event.size;
            let charged = self.join.remaps(event.op, &call, event.address, size, event.detail);
            if !event.op.is_release_half() {
                self.join.call_with_costs(event.thread, Call { charged, ..call }, size, event.address);
            }
        } else if event.op.symbol() == "pthread_create" {
            self.handle_is_new(event.address, call.begin);
        }
    }

    /// Something that the kernel tells.
    pub fn told(&mut self, event: &KernelEvent) {
        // A thread whose first call is one of the C library's last does not say itself that it ends.
        if let What::Exit = event.what
            && let Some(thread) = self.by_tid.get(&event.tid).map(|index| &self.threads[*index])
            && thread.ended.is_none()
        {
            self.thread_ends(thread.number, event.ticks);
        }
        if let What::Fork { child_pid, .. } = event.what
            && child_pid != self.pid
        {
            self.forked(event.ticks);
        }
        let (live, tally, pools) = (&self.live, &self.tally, &self.pools);
        self.join.event(event, |join, address, look_for_small| {
            if let Some(handed) = pools.at(address) {
                let block = handed.kept.block;
                return Some(Owner { node: tally.node_of(&block), size: block.size() });
            }
            let kept = match join.large_block_at(address) {
                Some(start) => live.get(start),
                None if !look_for_small => None,
                None => live
                    .below(address, join::LARGE)
                    .filter(|(start, kept)| address - start < kept.block.size())
                    .map(|(_, kept)| kept),
            }?;
            Some(Owner { node: tally.node_of(&kept.block), size: kept.block.size() })
        });
    }

    /// A call for mappings filled memory at once, with so many faults.
    pub fn filled(&mut self, faults: u64) {
        self.join.filled(faults);
    }

    /// The end of the heap moved.
    pub fn heap_moved(&mut self, thread: u32, node: u32, from: u64, to: u64) {
        self.join.heap_moved(thread, node, from, to);
    }
}
