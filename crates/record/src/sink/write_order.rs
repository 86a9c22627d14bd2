//! What goes into the file, in an order in which a reader knows everything that it meets.

use super::Sink;
use super::fork_inheritance::{InheritedNodes, Patience};
use super::image_facts::Facts;
use crate::arena::Arena;
use crate::join::Join;
use crate::output::Output;
use crate::process_polling::Word;
use crate::run::Run;
use crate::wire::{self, ArenaHeader, look};
use memtoll_processor::HERE;
use memtoll_tally::{Everything, Tally};
use memtoll_text::format::counted;
use memtoll_trace::by_module::ByModule;
use memtoll_trace::costs::MAX_COSTS;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::{ImageNo, NodeId, Ticks};
use memtoll_trace::inherited::{self, MAX_INHERITED};
use memtoll_trace::meta::{
    CallTimes, Exit, ImageEnd, KernelStats, LOOK_MISSED, Module, NotSearched, Note, OwnAllocators, RecorderStats,
};
use memtoll_trace::nodes::{self, FIRST_NODE, Node, ROOT_COMPLETE, ROOT_PLACE};
use memtoll_trace::path::last_part;
use rustc_hash::FxHashSet;
use std::sync::atomic::Ordering::Relaxed;

/// A longer list of threads is not written each time that it changes, but at the end.
const THREADS_AT_ONCE: usize = 64;
pub(super) const NODES_PER_BLOCK: usize = 1 << 16;

/// Which nodes are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nodes {
    InKnownFiles,
    All,
}

impl Sink {
    /// Writes what waits too long.
    pub fn flush_if_due(&mut self, arena: &Arena) {
        self.ask_ancestors(Patience::OnlyAtOnce);
        self.write_touches(arena);
        if self.join.costs().len() >= MAX_COSTS {
            self.write_costs();
        }
        if self.writer.is_due() {
            self.flush(arena);
        }
    }

    /// Writes which allocators the image has inside its files, if that is news. `forwards`: what the executable has goes on to
    /// the recorder's.
    fn write_own_allocators(&mut self, header: &ArenaHeader, forwards: bool) {
        let Facts { executable, modules, mapped_at_first, .. } = &self.facts;
        // Inside Valgrind, nothing is redirected, and the program is no more than a file that is mapped.
        let is_translated = last_part(executable).ends_with(HERE.valgrind);
        let mapped = mapped_at_first.iter().filter(|line| is_translated && line.executable);
        let mapped = mapped.map(|line| line.path.as_str());
        let libraries = || modules.iter().map(|module| module.path.as_str()).chain(mapped.clone());
        let planned = self.run.redirections.of_image(self.facts.image, |number| self.answered.by(number));
        let mut allocators = self
            .run
            .own_allocators
            .of_image(executable, libraries(), forwards, planned, || self.run.files.open_files());
        for own in allocators.iter_mut().filter(|own| is_translated && own.why.is_none()) {
            own.why = Some("Valgrind runs a translation of its code".to_owned());
        }
        // Of an image that Valgrind runs, no file is known to the recorder.
        let answers = self.facts.file_at(header.malloc).map(|file| vec![file]).unwrap_or_else(|| libraries().collect());
        let malloc = self.run.own_allocators.malloc_of(executable, answers, forwards, || self.run.files.open_files());
        let found = OwnAllocators { allocators, malloc, unfreed_reused: self.ledger.overtaken.unfreed() };
        if self.own_allocators.as_ref().is_none_or(|written| *written != found) {
            // None is what a reader begins with.
            if found != OwnAllocators::default() || self.own_allocators.is_some() {
                self.run.output.json(BlockKind::OwnAllocators, self.facts.image, &found);
            }
            self.own_allocators = Some(found);
        }
    }

    fn write_mapped_files(&mut self) {
        let files = self.facts.mapped_files.take();
        if !files.is_empty() {
            self.run.output.json(BlockKind::MappedFiles, self.facts.image, &files);
        }
    }

    fn write_costs(&mut self) {
        write_inherited_nodes(&self.run.output, self.facts.image, self.inheritable.inherited_nodes());
        let costs = self.join.costs();
        for part in costs.chunks(MAX_COSTS) {
            part.iter().for_each(|cost| self.ledger.tally.cost(cost));
            self.run.output.costs(self.facts.image, part);
        }
        costs.clear();
    }

    /// Writes all that waits, in an order in which a reader knows everything that it meets.
    pub fn flush(&mut self, arena: &Arena) {
        let (run, image) = (self.run.clone(), self.facts.image);
        let output = &run.output;
        let modules = self.facts.take_modules();
        if !modules.is_empty() {
            output.json(BlockKind::Modules, image, &modules);
        }
        self.write_mapped_files();
        // A recording that is cut off is to know it, too.
        let unfreed_reused = self.ledger.overtaken.unfreed();
        let now = OwnAllocators { unfreed_reused, ..OwnAllocators::default() }.reuse_unfreed_blocks();
        if self.own_allocators.as_ref().is_none_or(|written| written.reuse_unfreed_blocks() != now) {
            let header = arena.header();
            // As long as the recorder has said nothing, it may not.
            self.write_own_allocators(header, header.own_allocator.load(Relaxed) == 0 && self.own_allocators.is_some());
        }
        let marks = self.facts.take_marks();
        if !marks.is_empty() {
            output.json(BlockKind::Marks, image, &marks);
        }
        if let Some(threads) = self.facts.threads.take_changed(THREADS_AT_ONCE) {
            output.json(BlockKind::Threads, image, &threads);
        }
        self.write_nodes(arena, Nodes::InKnownFiles);
        self.write_costs();
        let written = self.writer.events();
        if let Some(packed) = self.writer.write(|payload| output.events(image, payload)) {
            run.events.fetch_add(self.writer.events() - written, Relaxed);
            let live = self.ledger.tally.live_bytes();
            run.live_bytes.fetch_add(live.wrapping_sub(self.reported_live), Relaxed);
            self.reported_live = live;
            self.block_is_written(packed.events, packed.bytes);
        }
    }

    /// Writes the nodes that the file lacks. Where it is not yet known which file a node's module is, the node waits: no event
    /// that has been seen is of it. Whatever is unknown at the end is code outside all files.
    fn write_nodes(&mut self, arena: &Arena, which: Nodes) {
        let files = InFiles::of(&self.facts.modules);
        let node = |id| arena.node(id).filter(|node| which == Nodes::All || files.know(node));
        let mut nodes = self.nodes.take(arena.node_count(), node);
        nodes.iter_mut().for_each(|node| files.place(node));
        let output = &self.run.output;
        write_in_parts(output, BlockKind::Nodes, self.facts.image, &nodes, NODES_PER_BLOCK, nodes::encode);
    }

    /// Writes the code addresses at which costs were paid.
    fn write_places(&self) {
        let places = in_files(places_in(&self.join, &self.facts).collect(), &self.facts.modules);
        write_in_parts(&self.run.output, BlockKind::Places, self.facts.image, &places, NODES_PER_BLOCK, nodes::encode);
    }

    /// Of each stack node, by id: whether its stack does not reach its thread's entry.
    fn cut_off(&self, arena: &Arena) -> Vec<bool> {
        let mut cut_off: Vec<bool> = (0..wire::FIRST_NODE).map(|root| root != ROOT_COMPLETE.get()).collect();
        cut_off.resize(self.nodes.before() as usize, true);
        for node in self.written_nodes(arena) {
            // A parent is older than its child in all trees but damaged ones.
            let is_older = node.parent < Some(node.id);
            cut_off[node.id.index()] = !is_older || cut_off[NodeId::index_of(node.parent)];
        }
        cut_off
    }

    fn written_nodes(&self, arena: &Arena) -> impl Iterator<Item = Node> {
        (wire::FIRST_NODE..self.nodes.before()).filter_map(|id| arena.node(NodeId::new(id)?))
    }

    /// Writes the rest: the image is over, by the execution of `successor` if that is recorded. What its children inherited
    /// is still known.
    pub fn finish(&mut self, arena: &Arena, exit: Option<Exit>, ended: Ticks, successor: Option<&str>) {
        while let Some(early) = self.ledger.early.any() {
            self.release_early(arena, early, None);
        }
        self.write_touches(arena);
        self.join.finish(ended);
        self.ask_ancestors(Patience::Waits);
        self.flush(arena);
        self.write_nodes(arena, Nodes::All);
        self.end_last_chapter();
        self.write_places();
        let header = arena.header();
        self.write_own_allocators(header, header.own_allocator.load(Relaxed) == 0);
        self.write_attached(Some(self.ledger.tally.freed_ageless()));
        let (run, image) = (self.run.clone(), self.facts.image);
        let output = &run.output;
        if let Some(threads) = self.facts.threads.take_changed(usize::MAX) {
            output.json(BlockKind::Threads, image, &threads);
        }
        let pools = self.ledger.pools.about();
        if !pools.is_empty() {
            output.json(BlockKind::Pools, image, &pools);
        }
        let missed = arena.looks_missed();
        if missed & look::LOST_BLOCKS != 0 {
            self.is_searched(Err(NotSearched::Ended));
        }
        let leak_suppressions = self.count_lost();
        // The sums are of more events than the file has, where some had no room: a reader adds up those that are there.
        let calls = if self.writer.is_cut_short() { CallTimes::default() } else { self.write_summary(arena) };
        self.run.live_bytes.fetch_sub(self.reported_live, Relaxed);
        let exit = exit.or(self.facts.exit_code.map(Exit::Code)).unwrap_or(Exit::Unknown);
        let executes = exit == Exit::Exec;
        let word = self.facts.word.map(|word| Word { is_over: word.is_over || executes, ..word });
        let known = run.looks.finished(image, word, &self.recent);
        for snapshot in [known.pages_at_peak, self.facts.pages_at_end.take()].into_iter().flatten() {
            self.saw_pages(snapshot);
        }
        self.write_mapped_files();
        let marks_passed_over = known.marks_passed_over;
        let end = ImageEnd {
            exit,
            ended: self.time.at(ended).max(self.time.last()).0,
            title: known.title,
            resident_curve: known.curve,
            pages_refused: known.pages_refused,
            look_missed: missed & look::PAGES != 0,
            leak_search: std::mem::take(&mut self.leak_search),
            leak_suppressions,
            recorder: RecorderStats { calls, ..self.recorder_stats(arena) },
            kernel: KernelStats {
                usage: known.usage.map(|usage| usage.since(&self.usage_before)),
                resident: known.resident,
                ..self.join.stats(|path| run.allocator_code(path))
            },
        };
        output.json(BlockKind::ImageEnd, image, &end);
        self.run.add_timed_faults(&end.kernel.timed_faults);
        self.say_what_is_missing(arena, &end);
        if marks_passed_over > 0 {
            let (process, marks) = (self.facts.process(), counted(marks_passed_over, "mark"));
            let text = format!(
                "{process}: memtoll did not look at the pages at {marks}: looking may take 1 % of the process's CPU time"
            );
            self.run.note(Note { time: end.ended, text, missing: false });
        }
        self.facts.take_unrecorded(successor).into_iter().for_each(|note| run.note(note));
        self.collect_addresses(arena);
    }

    /// The sink is not needed any more.
    pub fn give_back(self) {
        self.run.keep_encoder(self.writer.into_encoder());
    }

    /// Writes the sums of all events. Returns what the time stamps of their calls say.
    fn write_summary(&mut self, arena: &Arena) -> CallTimes {
        let cut_off = self.cut_off(arena);
        let mut tally = std::mem::replace(&mut self.ledger.tally, Tally::new(Everything));
        let (curve, peak_time, peak_with_mappings) = (tally.curve(), tally.peak_time(), tally.peak_with_mappings());
        let is_cut_off = |node: Option<NodeId>| cut_off.get(NodeId::index_of(node)).is_none_or(|is| *is);
        let mut calls = CallTimes::default();
        let sites = tally.sites(is_cut_off).map(|(node, _, metrics)| {
            calls.add(&CallTimes::from(&metrics));
            (node, metrics)
        });
        let summary = memtoll_trace::summary::encode(sites, &curve, peak_time, &peak_with_mappings);
        self.run.output.block(BlockKind::Summary, self.facts.image, &summary);
        self.ledger.tally = tally;
        calls
    }

    /// Statements about what could not be recorded.
    fn say_what_is_missing(&self, arena: &Arena, end: &ImageEnd) {
        let process = self.facts.process();
        let note = |text| Note { time: end.ended, text, missing: false };
        let missing = |text| self.run.note(Note { missing: true, ..note(text) });
        let remark = |text| self.run.note(note(text));
        match end.recorder.dropped {
            0 => {}
            dropped => missing(format!(
                "{process}: missing: {}; there was no memory to record more threads; blocks from these calls are \
                 missing too, and their frees are frees of unknown blocks",
                counted(dropped, "call")
            )),
        }
        if self.facts.given_up {
            missing(format!("{process}: later events are missing: it waited 3 s for memtoll, which did not answer"));
        }
        if let Some(why) = &end.pages_refused {
            remark(format!("{process}: the kernel does not show which of its pages are in memory: {why}"));
        }
        if end.look_missed {
            remark(format!("{process}: which pages it had at its end is not known: {LOOK_MISSED}"));
        }
        if let Some(late) = self.facts.late_files() {
            remark(format!("{process}: {late}"));
        }
        match arena.header().imports_not_patched.load(Relaxed) {
            0 => {}
            imports => missing(format!(
                "{process}: calls through {} bypass memtoll: it can record 16 C libraries beside the program's own, \
                 or there was no memory, or the program has forbidden itself the system calls for that (seccomp)",
                counted(imports.into(), "import")
            )),
        }
        match arena.header().namespaces_unknown.load(Relaxed) {
            0 => {}
            plugins => missing(format!(
                "{process}: calls of {} opened by dlmopen bypass memtoll: this C library does not tell which files are in a \
                 namespace of its own, as glibc 2.35 and later do",
                counted(plugins.into(), "plugin")
            )),
        }
        match end.recorder.lost_forks {
            0 => {}
            1 => remark(format!(
                "{process}: a process that it forked is not recorded: memtoll cannot be reached from there"
            )),
            many => remark(format!(
                "{process}: {many} processes that it forked are not recorded: memtoll cannot be reached from there"
            )),
        }
        if arena.has_own_time() {
            remark(format!(
                "{process} may not read the clock since strict seccomp or PR_SET_TSC: how long its calls took is not \
                 known, and when they came only to a millisecond or so; counts and sizes are exact"
            ));
        }
    }

    fn recorder_stats(&self, arena: &Arena) -> RecorderStats {
        let header = arena.header();
        let slots = arena.slots();
        RecorderStats {
            events: self.writer.events(),
            dropped: header.dropped.load(Relaxed),
            waits: header.waits.load(Relaxed) as u64,
            own_time: slots.iter().map(|slot| slot.recorder_ticks.load(Relaxed)).sum::<u64>()
                >> crate::clock::UNIT_TICKS_LOG2,
            filled_faults: header.filled_pages.load(Relaxed),
            overlap_pairs: slots.iter().map(|slot| slot.overlap_pairs.load(Relaxed)).sum(),
            overlap_time: slots.iter().map(|slot| slot.overlap_ticks.load(Relaxed)).sum::<i64>()
                >> crate::clock::UNIT_TICKS_LOG2,
            wait_time: header.wait_ticks.load(Relaxed) >> crate::clock::UNIT_TICKS_LOG2,
            calls: CallTimes::default(),
            walks: slots.iter().map(|slot| slot.walks.load(Relaxed)).sum(),
            walked_frames: slots.iter().map(|slot| slot.walked_frames.load(Relaxed)).sum(),
            rules: slots.iter().map(|slot| slot.rule_misses.load(Relaxed) as u64).sum(),
            nodes: u64::from(self.nodes.before()),
            late: self.time.late(),
            lost_forks: header.lost_forks.load(Relaxed) as u64,
            unwind_checked: header.unwind_checked.load(Relaxed),
            unwind_disagreed: header.unwind_disagreed.load(Relaxed),
            stopped: self.run.output.stopped(),
        }
    }

    /// Hands over the call addresses, to be resolved when all processes are done.
    fn collect_addresses(&self, arena: &Arena) {
        let calls = self.written_nodes(arena).filter(|node| node.address != 0);
        let all = calls.chain(places_in(&self.join, &self.facts));
        addresses_into_book(&self.run, &self.facts.modules, self.facts.image, self.facts.pid, all);
        if self.facts.is_looked_at {
            let mut book = self.run.addresses.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let files = self.facts.modules.iter().chain(&self.facts.mapped_files.all);
            files.for_each(|file| book.add_pages(file));
        }
    }
}

/// Where loaded files are in memory.
struct InFiles(ByModule<Option<u64>>);

impl InFiles {
    fn of(modules: &[Module]) -> InFiles {
        let mut biases = ByModule::default();
        modules.iter().for_each(|module| *biases.of(module.number) = Some(module.bias));
        InFiles(biases)
    }

    fn know(&self, node: &Node) -> bool {
        node.module == 0 || self.bias(node).is_some()
    }

    fn bias(&self, node: &Node) -> Option<u64> {
        self.0.get(node.module).copied().flatten()
    }

    /// A node's address in memory becomes that in its file.
    fn place(&self, node: &mut Node) {
        match self.bias(node) {
            Some(bias) => node.address = node.address.wrapping_sub(bias),
            None => node.module = 0,
        }
    }
}

/// Nodes with their addresses in files.
pub(super) fn in_files(mut nodes: Vec<Node>, modules: &[Module]) -> Vec<Node> {
    let files = InFiles::of(modules);
    nodes.iter_mut().for_each(|node| files.place(node));
    nodes
}

/// Writes `all` in blocks of at most `most`.
pub(super) fn write_in_parts<T>(
    output: &Output,
    kind: BlockKind,
    image: ImageNo,
    all: &[T],
    most: usize,
    encode: impl Fn(&[T]) -> Vec<u8>,
) {
    for part in all.chunks(most) {
        output.block(kind, image, &encode(part));
    }
}

/// Writes what the ids of ancestors' nodes mean that are new.
pub(super) fn write_inherited_nodes(output: &Output, image: ImageNo, inherited_nodes: &mut InheritedNodes) {
    write_in_parts(
        output,
        BlockKind::Inherited,
        image,
        inherited_nodes.fresh_nodes(),
        MAX_INHERITED,
        inherited::encode,
    );
}

/// The code addresses at which costs were paid.
pub(super) fn places_in<'a>(join: &'a Join, facts: &'a Facts) -> impl Iterator<Item = Node> + use<'a> {
    join.code_places().iter().enumerate().map(|(index, place)| {
        let id = FIRST_NODE.later(index as u32);
        let module = facts.module_of(place).map_or(0, |module| module.number);
        Node { id, parent: Some(ROOT_PLACE), module, address: place.address, without_tables: false }
    })
}

/// Hands over the addresses of nodes, to be resolved when all processes are done.
pub(super) fn addresses_into_book(
    run: &Run,
    modules: &[Module],
    image: ImageNo,
    pid: u32,
    nodes: impl Iterator<Item = Node>,
) {
    let mut of_modules = ByModule::default();
    modules.iter().for_each(|module| *of_modules.of(module.number) = Some(module));
    let mut found: ByModule<FxHashSet<u64>> = ByModule::default();
    nodes.for_each(|node| _ = found.of(node.module).insert(node.address));
    let mut book = run.addresses.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (number, addresses) in found.into_all().filter(|(_, addresses)| !addresses.is_empty()) {
        match of_modules.get(number).copied().flatten() {
            Some(module) => book.add(module, addresses),
            None => book.add_generated(image, pid, addresses),
        }
    }
}
