//! Takes the events of one process image in the order of their times, and turns them into blocks of the file.

mod live_blocks;
mod zeroed;

use crate::arena::Arena;
use crate::join::{self, Call, Join, Owner};
use crate::run::Run;
use crate::wire::{self, Record};
use live_blocks::LiveBlocks;
use memtoll_analysis::aggregate::{LiveBlock, Selection, Tally};
use memtoll_kernel::{KernelEvent, What};
use memtoll_trace::costs::{self, MAX_COSTS};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::events::Encoder;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::meta::{Exit, ImageEnd, KernelStats, Mark, MarkKind, Module, Note, RecorderStats, Thread, Usage};
use memtoll_trace::nodes::{self, Node, ROOT_COMPLETE, ROOT_PLACE};
use memtoll_trace::op::{Effect, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Events wait no longer than this for their block to be full, so that little is lost if the supervisor is killed.
const FLUSH_AFTER: Duration = Duration::from_secs(1);
/// Nodes in a block of nodes.
const NODES_PER_BLOCK: usize = 1 << 16;

/// What is kept of a block while it lives.
#[derive(Clone, Copy)]
struct Kept {
    number: u64,
    block: LiveBlock,
}

pub struct Sink {
    run: Arc<Run>,
    image: u32,
    pid: u32,
    executable: String,
    encoder: Encoder,
    tally: Tally,
    live: LiveBlocks<Kept>,
    join: Join,
    next_block: u64,
    last_time: u64,
    late: u64,
    events: u64,
    reported_live: u64,
    payload: Vec<u8>,
    flushed: Instant,
    nodes_written: u32,
    nodes: Vec<(u32, u16, u64)>, // parent, module, address by id
    missing_nodes: Vec<u32>,
    modules: Vec<Module>,
    new_modules: Vec<Module>,
    threads: Vec<Thread>,
    threads_changed: bool,
    by_handle: FxHashMap<u64, u32>,
    names: FxHashMap<u64, String>, // of threads that have not recorded anything yet
    marks: Vec<Mark>,
    /// The status passed to exit(), if it was called.
    exit_code: Option<i32>,
    /// Size of the block that was released last, bytes.
    released: u64,
    usage: Option<Usage>,
}

impl Sink {
    pub fn new(run: Arc<Run>, image: u32, pid: u32, executable: String) -> Sink {
        let join = Join::new(run.clone(), pid);
        Sink {
            run,
            image,
            pid,
            executable,
            encoder: Encoder::new(),
            tally: Tally::new(Selection::default()),
            live: LiveBlocks::new(),
            join,
            next_block: 0,
            last_time: 0,
            late: 0,
            events: 0,
            reported_live: 0,
            payload: Vec::new(),
            flushed: Instant::now(),
            nodes_written: wire::FIRST_NODE,
            nodes: vec![(0, 0, 0); wire::FIRST_NODE as usize],
            missing_nodes: Vec::new(),
            modules: Vec::new(),
            new_modules: Vec::new(),
            threads: Vec::new(),
            threads_changed: false,
            by_handle: FxHashMap::default(),
            names: FxHashMap::default(),
            marks: Vec::new(),
            exit_code: None,
            released: 0,
            usage: None,
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
        self.tally.admits(&event);
        let begin = record.ticks();
        let mut call =
            Call { begin, end: begin + duration, node: event.node, charged: event.node, effect: join::Effect::Acquire };
        match op.effect() {
            Effect::Acquire => {
                self.acquire(&mut event);
                self.join.call(thread, call, event.size, event.address);
            }
            Effect::Release => {
                call.charged = self.release(&mut event);
                call.effect = join::Effect::Release;
                // The second half of a reallocation has the time of both.
                if !op.is_release_half() {
                    self.join.call(thread, call, self.released, event.address);
                }
            }
            Effect::Other => {
                self.tally.other(&event);
                self.other(&event, call);
            }
        }
        self.encoder.push(&event);
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
            self.live.insert(event.address, Kept { number, block });
            if event.size >= join::LARGE {
                self.join.large_block(event.address, event.size);
            }
        }
    }

    /// Returns the stack node that is charged for the release.
    #[inline(always)]
    fn release(&mut self, event: &mut Event) -> u32 {
        event.size = 0;
        let kept = self.live.remove(event.address);
        event.block = match kept {
            Some(kept) => Block::Number(kept.number),
            None if event.address == 0 => Block::Null,
            None => Block::Unknown,
        };
        let block = kept.map(|kept| kept.block);
        self.tally.release(event, block);
        self.released = block.map_or(0, |block| block.size());
        let Some(block) = block else { return event.node };
        if block.size() >= join::LARGE {
            self.join.large_block_gone(event.address, event.op.is_release_half().then_some(event.thread));
        }
        self.tally.node_of(&block)
    }

    /// A call for mappings, or of pthread_create.
    fn other(&mut self, event: &Event, call: Call) {
        if event.op.is_mapping() {
            let size = event.size;
            let charged = self.join.remaps(event.op, &call, event.address, size, event.detail);
            if !event.op.is_release_half() {
                let call = Call { charged, effect: join::Effect::Mapping, ..call };
                self.join.call_with_costs(event.thread, call, size, event.address);
            }
        } else if event.op.symbol() == "pthread_create" {
            self.handle_is_new(event.address, call.begin);
        }
    }

    /// A thread is started with a handle that an earlier one had: that one is over.
    fn handle_is_new(&mut self, handle: u64, ticks: u64) {
        let Some(&number) = self.by_handle.get(&handle) else { return };
        let began = self.run.clock.units(ticks);
        let lives = |thread: &&Thread| thread.number == number && thread.ended.is_none() && thread.began < began;
        if self.threads.iter().rev().any(|thread| lives(&thread)) {
            self.thread_ends(number, ticks);
        }
    }

    /// Something that the kernel tells.
    pub fn told(&mut self, event: &KernelEvent) {
        // A thread whose first call is one of the C library's last does not say itself that it ends.
        if let What::Exit = event.what
            && let Some(thread) = self.threads.iter().rev().find(|t| t.tid == event.tid && t.ended.is_none())
        {
            self.thread_ends(thread.number, event.ticks);
        }
        let (live, tally) = (&self.live, &self.tally);
        self.join.event(event, |join, address, look_for_small| {
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

    /// The end of the heap moved.
    pub fn heap_moved(&mut self, thread: u32, node: u32, from: u64, to: u64) {
        self.join.heap_moved(thread, node, from, to);
    }

    pub fn thread_begins(&mut self, number: u32, tid: u32, handle: u64, ticks: u64) {
        let began = self.run.clock.units(ticks);
        if self.threads.iter().rev().any(|thread| thread.number == number) {
            return; // a thread that borrows another slot
        }
        self.by_handle.insert(handle, number);
        self.join.thread_begins(number, tid, handle);
        let name = self.names.remove(&handle);
        self.threads.push(Thread { number, tid, name, began, ended: None, usage: None });
        self.threads_changed = true;
    }

    pub fn thread_ends(&mut self, number: u32, ticks: u64) {
        let ended = self.run.clock.units(ticks);
        if let Some(thread) = self.threads.iter_mut().rev().find(|thread| thread.number == number) {
            thread.ended = Some(ended);
            self.threads_changed = true;
        }
    }

    pub fn exit_status(&mut self, status: i32) {
        self.exit_code = Some(status & 0xff);
    }

    /// A record with a payload.
    pub fn blob(&mut self, kind: u8, payload: &[u8], thread: u32, ticks: u64) {
        match kind {
            wire::kind::MODULE => self.module(payload),
            wire::kind::THREAD_NAME => self.thread_name(payload),
            wire::kind::MARK => self.mark(payload, thread, ticks),
            wire::kind::EXEC => self.exec(payload, ticks),
            wire::kind::USAGE => self.usage(payload, thread),
            _ => {}
        }
    }

    fn module(&mut self, payload: &[u8]) {
        if payload.len() < wire::MODULE_BLOB_BYTES {
            return;
        }
        let word = |at: usize| u64_at(payload, at);
        let (numbers, id) = (word(24), &payload[32..64]);
        let id_bytes = ((numbers >> 32) as usize).min(id.len());
        let mut path = String::from_utf8_lossy(&payload[wire::MODULE_BLOB_BYTES..]).into_owned();
        if path.is_empty() {
            // The loader has no name for the executable.
            path = self.executable.clone();
        }
        let module = Module {
            number: numbers as u16,
            start: word(0),
            end: word(8),
            bias: word(16),
            path,
            build_id: id[..id_bytes].iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        self.modules.push(module.clone());
        self.new_modules.push(module);
    }

    fn thread_name(&mut self, payload: &[u8]) {
        if payload.len() < 8 {
            return;
        }
        let handle = u64_at(payload, 0);
        let name = String::from_utf8_lossy(&payload[8..]).into_owned();
        let number = self.by_handle.get(&handle).copied();
        match self.threads.iter_mut().rev().find(|thread| Some(thread.number) == number && thread.ended.is_none()) {
            Some(thread) => {
                thread.name = Some(name);
                self.threads_changed = true;
            }
            None => {
                self.names.insert(handle, name);
            }
        }
    }

    fn mark(&mut self, payload: &[u8], thread: u32, ticks: u64) {
        if payload.len() < wire::MARK_BLOB_BYTES {
            return;
        }
        let kind = match payload[0] {
            0 => MarkKind::Instant,
            1 => MarkKind::Begin,
            _ => MarkKind::End,
        };
        let name = String::from_utf8_lossy(&payload[wire::MARK_BLOB_BYTES..]).into_owned();
        self.marks.push(Mark { time: self.run.clock.units(ticks), thread, kind, name });
    }

    fn exec(&mut self, payload: &[u8], ticks: u64) {
        if payload.len() < wire::EXEC_BLOB_BYTES {
            return;
        }
        let path = String::from_utf8_lossy(&payload[wire::EXEC_BLOB_BYTES..]).into_owned();
        let why = match payload[4] {
            1 => "it is statically linked",
            2 => "it is not a 64-bit x86-64 program",
            3 => "it uses another C library than glibc",
            4 => "it is set-user-id or set-group-id",
            5 => "the recorder's file cannot be reached from there",
            _ => return,
        };
        let text = format!("{path}, started by process {}, is not recorded: {why}", self.pid);
        self.run.note(Note { time: self.run.clock.units(ticks), text, missing: false });
    }

    /// What the kernel counted for a thread that ends, or for the process.
    fn usage(&mut self, payload: &[u8], number: u32) {
        if payload.len() < wire::USAGE_BLOB_BYTES {
            return;
        }
        let word = |index: usize| u64_at(payload, index * 8);
        let usage = Usage {
            user_ns: word(0),
            system_ns: word(1),
            minor_faults: word(2),
            major_faults: word(3),
            voluntary_switches: word(4),
            involuntary_switches: word(5),
            max_resident: word(6) * 1024,
        };
        if word(7) as u32 == wire::USAGE_OF_PROCESS {
            self.usage = Some(usage);
        } else if let Some(thread) = self.threads.iter_mut().rev().find(|thread| thread.number == number) {
            thread.usage = Some(usage);
            self.threads_changed = true;
        }
    }

    /// Writes what waits too long.
    pub fn flush_if_due(&mut self, arena: &Arena) {
        if self.join.costs().len() >= MAX_COSTS {
            self.write_costs();
        }
        if self.flushed.elapsed() >= FLUSH_AFTER {
            self.flush(arena);
        }
    }

    fn write_costs(&mut self) {
        let costs = self.join.costs();
        for part in costs.chunks(MAX_COSTS) {
            part.iter().for_each(|cost| self.tally.cost(cost));
            self.run.output.block(BlockKind::Costs, self.image, &costs::encode(part));
        }
        costs.clear();
    }

    /// Writes all that waits, in an order in which a reader knows everything that it meets.
    pub fn flush(&mut self, arena: &Arena) {
        self.flushed = Instant::now();
        let output = &self.run.output;
        if !self.new_modules.is_empty() {
            output.json(BlockKind::Modules, self.image, &self.new_modules);
            self.new_modules.clear();
        }
        if !self.marks.is_empty() {
            output.json(BlockKind::Marks, self.image, &self.marks);
            self.marks.clear();
        }
        if self.threads_changed && self.threads.len() <= 64 {
            output.json(BlockKind::Threads, self.image, &self.threads);
            self.threads_changed = false;
        }
        self.write_nodes(arena);
        self.write_costs();
        let waiting = self.encoder.len() as u64;
        if waiting > 0 {
            self.payload.clear();
            self.encoder.finish(&mut self.payload);
            self.run.output.events(self.image, &self.payload);
            self.events += waiting;
            self.run.events.fetch_add(waiting, Relaxed);
            let live = self.tally.live_bytes();
            self.run.live_bytes.fetch_add(live.wrapping_sub(self.reported_live), Relaxed);
            self.reported_live = live;
        }
    }

    fn write_nodes(&mut self, arena: &Arena) {
        let count = arena.node_count();
        let mut fresh: Vec<Node> = Vec::new();
        // A thread may be just writing a node; it comes with a later block, and no event refers to it before.
        let mut still_missing = Vec::new();
        for id in std::mem::take(&mut self.missing_nodes).into_iter().chain(self.nodes_written..count) {
            let (key, parent) = arena.node(id);
            let (module, address) = ((key >> wire::MODULE_SHIFT) as u16, key & wire::ADDRESS_MASK);
            if self.nodes.len() <= id as usize {
                self.nodes.resize(id as usize + 1, (0, 0, 0));
            }
            if key == 0 {
                still_missing.push(id);
                continue;
            }
            self.nodes[id as usize] = (parent, module, address);
            fresh.push(Node { id, parent, module, address });
        }
        self.nodes_written = count;
        self.missing_nodes = still_missing;
        for part in fresh.chunks(NODES_PER_BLOCK) {
            self.run.output.block(BlockKind::Nodes, self.image, &nodes::encode(part));
        }
    }

    /// Writes the code addresses at which costs were paid.
    fn write_places(&self) {
        let places: Vec<Node> = self.places().collect();
        for part in places.chunks(NODES_PER_BLOCK) {
            self.run.output.block(BlockKind::Places, self.image, &nodes::encode(part));
        }
    }

    fn places(&self) -> impl Iterator<Item = Node> {
        let holds = |module: &&Module, address: u64| (module.start..module.end).contains(&address);
        self.join.code_addresses().iter().enumerate().map(move |(index, &address)| {
            let module = self.modules.iter().rev().find(|module| holds(module, address));
            Node {
                id: wire::FIRST_NODE + index as u32,
                parent: ROOT_PLACE,
                module: module.map_or(0, |module| module.number),
                address,
            }
        })
    }

    /// Whether a stack does not reach its thread's entry.
    fn is_cut_off(nodes: &[(u32, u16, u64)], mut node: u32) -> bool {
        // A parent is older than its child in all trees but damaged ones.
        for _ in 0..nodes.len() {
            if node < wire::FIRST_NODE {
                return node != ROOT_COMPLETE;
            }
            node = nodes.get(node as usize).map_or(0, |(parent, ..)| *parent);
        }
        true
    }

    /// Writes the rest: the image is over.
    pub fn finish(mut self, arena: &Arena, exit: Option<Exit>, ended_ticks: u64) {
        self.join.finish(ended_ticks);
        self.flush(arena);
        self.write_places();
        let output = &self.run.output;
        if self.threads_changed {
            output.json(BlockKind::Threads, self.image, &self.threads);
        }
        let nodes = std::mem::take(&mut self.nodes);
        let tally = std::mem::replace(&mut self.tally, Tally::new(Selection::default()));
        let summary = tally.finish(|node| Self::is_cut_off(&nodes, node));
        output.block(BlockKind::Summary, self.image, &memtoll_trace::summary::encode(&summary));
        self.run.live_bytes.fetch_sub(self.reported_live, Relaxed);
        let exit = exit.or(self.exit_code.map(Exit::Code)).unwrap_or(Exit::Unknown);
        let end = ImageEnd {
            exit,
            ended: self.run.clock.units(ended_ticks).max(self.last_time),
            recorder: self.recorder_stats(arena, nodes.len() as u64),
            kernel: KernelStats { usage: self.usage, ..self.join.stats() },
        };
        output.json(BlockKind::ImageEnd, self.image, &end);
        self.collect_addresses(&nodes);
    }

    fn recorder_stats(&self, arena: &Arena, nodes: u64) -> RecorderStats {
        let header = arena.header();
        let slots = arena.slots();
        RecorderStats {
            events: self.events,
            dropped: header.dropped.load(Relaxed),
            waits: header.waits.load(Relaxed) as u64,
            own_time: slots.iter().map(|slot| slot.recorder_ticks.load(Relaxed)).sum::<u64>()
                >> crate::clock::UNIT_TICKS_LOG2,
            wait_time: header.wait_ticks.load(Relaxed) >> crate::clock::UNIT_TICKS_LOG2,
            walks: slots.iter().map(|slot| slot.walks.load(Relaxed)).sum(),
            walked_frames: slots.iter().map(|slot| slot.walked_frames.load(Relaxed)).sum(),
            rules: slots.iter().map(|slot| slot.rule_misses.load(Relaxed) as u64).sum(),
            nodes,
            late: self.late,
            lost_forks: header.lost_forks.load(Relaxed) as u64,
            unwind_checked: header.unwind_checked.load(Relaxed),
            unwind_disagreed: header.unwind_disagreed.load(Relaxed),
            own_allocator: header.own_allocator.load(Relaxed) != 0,
            stopped: self.run.output.stopped(),
        }
    }

    /// Hands over the call addresses, to be resolved when all processes are done.
    fn collect_addresses(&self, nodes: &[(u32, u16, u64)]) {
        let modules: FxHashMap<u16, &Module> = self.modules.iter().map(|module| (module.number, module)).collect();
        let mut found: FxHashMap<u16, FxHashSet<u64>> = FxHashMap::default();
        for &(_, module, address) in &nodes[(wire::FIRST_NODE as usize).min(nodes.len())..] {
            if address != 0 {
                found.entry(module).or_default().insert(address);
            }
        }
        for place in self.places() {
            found.entry(place.module).or_default().insert(place.address);
        }
        let mut book = self.run.addresses.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (number, addresses) in found {
            match modules.get(&number) {
                Some(module) => book.add(module, addresses),
                None => book.add_generated(self.image, self.pid, addresses),
            }
        }
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|slice| slice.try_into().ok()).map_or(0, u64::from_le_bytes)
}
