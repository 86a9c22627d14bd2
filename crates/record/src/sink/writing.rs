//! What goes into the file, in an order in which a reader knows everything that it meets.

use super::Sink;
use super::heirs::Adopted;
use crate::arena::Arena;
use crate::join::Join;
use crate::output::Output;
use crate::run::Run;
use crate::wire;
use memtoll_analysis::aggregate::{Everything, Tally};
use memtoll_trace::costs::MAX_COSTS;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::inherited::{self, MAX_INHERITED};
use memtoll_trace::meta::{CallTimes, Exit, ImageEnd, KernelStats, Module, Note, RecorderStats};
use memtoll_trace::nodes::{self, Node, ROOT_COMPLETE, ROOT_PLACE};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Events wait no longer than this for their block to be full, so that little is lost if the supervisor is killed.
const FLUSH_AFTER: Duration = Duration::from_secs(1);
/// Nodes in a block of nodes.
pub(super) const NODES_PER_BLOCK: usize = 1 << 16;

impl Sink {
    /// Writes what waits too long.
    pub fn flush_if_due(&mut self, arena: &Arena) {
        self.ask_ancestors(false);
        if self.join.costs().len() >= MAX_COSTS {
            self.write_costs();
        }
        if self.flushed.elapsed() >= FLUSH_AFTER {
            self.flush(arena);
        }
    }

    fn write_costs(&mut self) {
        write_adopted(&self.run.output, self.image, self.heirs.adopted());
        let costs = self.join.costs();
        for part in costs.chunks(MAX_COSTS) {
            part.iter().for_each(|cost| self.tally.cost(cost));
            self.run.output.costs(self.image, part);
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
            if self.run.output.events(self.image, &self.payload) {
                self.events += waiting;
                self.run.events.fetch_add(waiting, Relaxed);
            } else {
                self.is_cut_short = true;
            }
            let live = self.tally.live_bytes();
            self.run.live_bytes.fetch_add(live.wrapping_sub(self.reported_live), Relaxed);
            self.reported_live = live;
            self.block_is_written(waiting, self.payload.len());
        }
    }

    fn write_nodes(&mut self, arena: &Arena) {
        let count = arena.node_count();
        let mut fresh: Vec<Node> = Vec::new();
        // A thread may be just writing a node; it comes with a later block, and no event refers to it before.
        let mut still_missing = Vec::new();
        for id in std::mem::take(&mut self.missing_nodes).into_iter().chain(self.nodes_written..count) {
            match arena.node(id) {
                Some(node) => fresh.push(node),
                None => still_missing.push(id),
            }
        }
        self.nodes_written = count;
        self.missing_nodes = still_missing;
        write_in_parts(&self.run.output, BlockKind::Nodes, self.image, &fresh, NODES_PER_BLOCK, nodes::encode);
    }

    /// Writes the code addresses at which costs were paid.
    fn write_places(&self) {
        let places = places_in(&self.join, &self.modules);
        write_in_parts(&self.run.output, BlockKind::Places, self.image, &places, NODES_PER_BLOCK, nodes::encode);
    }

    /// Of each stack node, by id: whether its stack does not reach its thread's entry.
    fn cut_off(&self, arena: &Arena) -> Vec<bool> {
        let mut cut_off: Vec<bool> = (0..wire::FIRST_NODE).map(|root| root != ROOT_COMPLETE).collect();
        cut_off.resize(self.nodes_written as usize, true);
        for node in self.written_nodes(arena) {
            // A parent is older than its child in all trees but damaged ones.
            cut_off[node.id as usize] = node.parent >= node.id || cut_off[node.parent as usize];
        }
        cut_off
    }

    fn written_nodes(&self, arena: &Arena) -> impl Iterator<Item = Node> {
        (wire::FIRST_NODE..self.nodes_written).filter_map(|id| arena.node(id))
    }

    /// Writes the rest: the image is over, by the execution of `successor` if that is recorded. What its children inherited
    /// is still known.
    pub fn finish(&mut self, arena: &Arena, exit: Option<Exit>, ended_ticks: u64, successor: Option<&str>) {
        while let Some(early) = self.early.any() {
            self.release_early(arena, early);
        }
        self.join.finish(ended_ticks);
        self.ask_ancestors(true);
        self.flush(arena);
        self.end_last_chapter();
        self.write_places();
        let run = self.run.clone();
        let output = &run.output;
        if self.threads_changed {
            output.json(BlockKind::Threads, self.image, &self.threads);
        }
        let pools = self.pools.about();
        if !pools.is_empty() {
            output.json(BlockKind::Pools, self.image, &pools);
        }
        // The sums are of more events than the file has, where some had no room: a reader adds up those that are there.
        let calls = if self.is_cut_short { CallTimes::default() } else { self.write_summary(arena) };
        self.run.live_bytes.fetch_sub(self.reported_live, Relaxed);
        let exit = exit.or(self.exit_code.map(Exit::Code)).unwrap_or(Exit::Unknown);
        let end = ImageEnd {
            exit,
            ended: self.run.clock.units(ended_ticks).max(self.last_time),
            recorder: RecorderStats { calls, ..self.recorder_stats(arena) },
            kernel: KernelStats { usage: self.usage, resident: self.resident, ..self.join.stats() },
        };
        output.json(BlockKind::ImageEnd, self.image, &end);
        self.say_what_is_missing(arena, &end);
        self.say_what_is_unrecorded(successor);
        self.collect_addresses(arena);
    }

    /// Nobody needs the sink any more.
    pub fn give_back(self) {
        self.run.keep_encoder(self.encoder);
    }

    /// Writes the sums of all events. Returns what the time stamps of their calls say.
    fn write_summary(&mut self, arena: &Arena) -> CallTimes {
        let cut_off = self.cut_off(arena);
        let mut tally = std::mem::replace(&mut self.tally, Tally::new(Everything));
        let (curve, peak_time, peak_with_mappings) = (tally.curve(), tally.peak_time(), tally.peak_with_mappings());
        let is_cut_off = |node: u32| cut_off.get(node as usize).is_none_or(|is| *is);
        let mut calls = CallTimes::default();
        let sites = tally.sites(is_cut_off).map(|(node, _, metrics)| {
            calls.add(&CallTimes::from(&metrics));
            (node, metrics)
        });
        let summary = memtoll_trace::summary::encode(sites, &curve, peak_time, &peak_with_mappings);
        self.run.output.block(BlockKind::Summary, self.image, &summary);
        self.tally = tally;
        calls
    }

    /// Statements about what could not be recorded.
    fn say_what_is_missing(&self, arena: &Arena, end: &ImageEnd) {
        let process = self.process();
        let note = |missing, text| self.run.note(Note { time: end.ended, text, missing });
        match end.recorder.dropped {
            0 => {}
            dropped => note(
                true,
                format!(
                    "{process}: {dropped} calls are missing: there was no memory to record more threads; blocks from \
                     these calls are missing too, and their frees are frees of unknown blocks"
                ),
            ),
        }
        if self.given_up {
            note(true, format!("{process}: later events are missing: it waited 3 s for memtoll, which did not answer"));
        }
        match end.recorder.lost_forks {
            0 => {}
            1 => note(
                false,
                format!("{process}: a process that it forked is not recorded: memtoll cannot be reached from there"),
            ),
            many => note(
                false,
                format!(
                    "{process}: {many} processes that it forked are not recorded: memtoll cannot be reached from there"
                ),
            ),
        }
        if arena.has_own_time() {
            note(
                false,
                format!(
                    "{process} may not read the clock since strict seccomp or PR_SET_TSC: how long its calls took is not \
                     known, and when they came only to a millisecond or so; counts and sizes are exact"
                ),
            );
        }
    }

    fn recorder_stats(&self, arena: &Arena) -> RecorderStats {
        let header = arena.header();
        let slots = arena.slots();
        RecorderStats {
            events: self.events,
            dropped: header.dropped.load(Relaxed),
            waits: header.waits.load(Relaxed) as u64,
            own_time: slots.iter().map(|slot| slot.recorder_ticks.load(Relaxed)).sum::<u64>()
                >> crate::clock::UNIT_TICKS_LOG2,
            overlap_pairs: slots.iter().map(|slot| slot.overlap_pairs.load(Relaxed)).sum(),
            overlap_time: slots.iter().map(|slot| slot.overlap_ticks.load(Relaxed)).sum::<i64>()
                >> crate::clock::UNIT_TICKS_LOG2,
            wait_time: header.wait_ticks.load(Relaxed) >> crate::clock::UNIT_TICKS_LOG2,
            calls: CallTimes::default(),
            walks: slots.iter().map(|slot| slot.walks.load(Relaxed)).sum(),
            walked_frames: slots.iter().map(|slot| slot.walked_frames.load(Relaxed)).sum(),
            rules: slots.iter().map(|slot| slot.rule_misses.load(Relaxed) as u64).sum(),
            nodes: u64::from(self.nodes_written),
            late: self.late,
            lost_forks: header.lost_forks.load(Relaxed) as u64,
            unwind_checked: header.unwind_checked.load(Relaxed),
            unwind_disagreed: header.unwind_disagreed.load(Relaxed),
            own_allocator: header.own_allocator.load(Relaxed) != 0,
            stopped: self.run.output.stopped(),
        }
    }

    /// Hands over the call addresses, to be resolved when all processes are done.
    fn collect_addresses(&self, arena: &Arena) {
        let calls = self.written_nodes(arena).filter(|node| node.address != 0);
        let all = calls.chain(places_in(&self.join, &self.modules));
        addresses_into_book(&self.run, &self.modules, self.image, self.pid, all);
    }
}

/// Writes `all` in blocks of at most so many.
pub(super) fn write_in_parts<T>(
    output: &Output,
    kind: BlockKind,
    image: u32,
    all: &[T],
    most: usize,
    encode: impl Fn(&[T]) -> Vec<u8>,
) {
    for part in all.chunks(most) {
        output.block(kind, image, &encode(part));
    }
}

/// Writes what the ids of ancestors' nodes mean that are new.
pub(super) fn write_adopted(output: &Output, image: u32, adopted: &mut Adopted) {
    write_in_parts(output, BlockKind::Inherited, image, adopted.fresh_nodes(), MAX_INHERITED, inherited::encode);
}

/// The code addresses at which costs were paid.
pub(super) fn places_in(join: &Join, modules: &[Module]) -> Vec<Node> {
    let holds = |module: &&Module, address: u64| (module.start..module.end).contains(&address);
    let place = |(index, &address): (usize, &u64)| {
        let module = modules.iter().rev().find(|module| holds(module, address));
        let id = wire::FIRST_NODE + index as u32;
        Node { id, parent: ROOT_PLACE, module: module.map_or(0, |module| module.number), address }
    };
    join.code_addresses().iter().enumerate().map(place).collect()
}

/// Hands over the addresses of nodes, to be resolved when all processes are done.
pub(super) fn addresses_into_book(
    run: &Run,
    modules: &[Module],
    image: u32,
    pid: u32,
    nodes: impl Iterator<Item = Node>,
) {
    let modules: FxHashMap<u16, &Module> = modules.iter().map(|module| (module.number, module)).collect();
    let mut found: FxHashMap<u16, FxHashSet<u64>> = FxHashMap::default();
    for node in nodes {
        found.entry(node.module).or_default().insert(node.address);
    }
    let mut book = run.addresses.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (number, addresses) in found {
        match modules.get(&number) {
            Some(module) => book.add(module, addresses),
            None => book.add_generated(image, pid, addresses),
        }
    }
}
