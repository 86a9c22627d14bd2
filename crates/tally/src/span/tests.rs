//! Spans of chapters equal what is added up from the first event on.

use super::*;
use crate::block_table::BlockTable;
use crate::{Everything, LiveBlock, Scan, Tally, Threads};
use memtoll_trace::cells::Cells;
use memtoll_trace::event::Block;
use memtoll_trace::histogram::Histogram;
use memtoll_trace::ids::{Address, BlockNo, Bytes, NodeId, ThreadNo};
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::scanned::Scanned;
use memtoll_trace::unreadable::Unreadable;
use memtoll_trace::{chapter, parts, pattern};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MALLOC: Op = Op(1);
const FREE: Op = Op(10);

/// A recording in memory.
#[derive(Default)]
struct Recorded {
    times: Vec<(u64, u64)>,
    chapters: Vec<Vec<u8>>,
    events: Vec<Vec<Event>>,
    patterns: Vec<Vec<u8>>,
    slices: Vec<Option<Arc<Slices>>>,
    parts: Vec<Option<Vec<u8>>>,
}

impl Recorded {
    fn cut(&mut self, cuts: &[u64], which: Which) {
        let mut slices = vec![None; self.times.len()];
        let mut slicer = Slicer::new(cuts, which);
        for (number, events) in self.events.iter().enumerate() {
            // One that is not cut ignores its events.
            slicer.begin(self, number).unwrap();
            slicer.push(events);
            slices[number] = slicer.end().map(Arc::new);
        }
        self.slices = slices;
    }
}

impl Chapters for Recorded {
    fn times(&self) -> &[(u64, u64)] {
        &self.times
    }

    fn beginning(&self, number: usize) -> Result<Chapter, Unreadable> {
        Ok(chapter::decode(&self.chapters[number], chapter::Wanted::Carried)?)
    }

    fn outline(&self, number: usize) -> Result<Chapter, Unreadable> {
        Ok(chapter::decode(&self.chapters[number], chapter::Wanted::Outline)?)
    }

    fn sums(&self, number: usize) -> Result<Chapter, Unreadable> {
        Ok(chapter::decode(&self.chapters[number], chapter::Wanted::Sites)?)
    }

    fn parts(&self, number: usize) -> Result<Option<Parts>, Unreadable> {
        let parts = self.parts[number].as_ref().map(|payload| parts::decode(payload));
        Ok(parts.transpose()?)
    }

    fn events(&self, number: usize, take: &mut dyn FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), Unreadable> {
        for events in self.events[number].chunks(5) {
            if take(events).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn patterns(&self, number: usize) -> Result<Vec<(Option<NodeId>, Pattern)>, Unreadable> {
        Ok(pattern::decode(&self.patterns[number])?)
    }

    fn slices(&self, number: usize) -> Option<Arc<Slices>> {
        self.slices.get(number).cloned().flatten()
    }
}

/// A program that does what random numbers say.
#[derive(Default)]
struct Program {
    events: Vec<Event>,
    blocks: u64,
    live: Vec<u64>,
    time: u64,
    /// Threads inside of a reallocation: the node of the call.
    reallocating: Vec<(u32, u32)>,
    moving: Option<u32>,
}

type Step = (u32, u32, u32, u64, usize);

/// Details of mappings.
const ANONYMOUS: u16 = 1;
const CLOSED: u16 = 1 << 7;

impl Program {
    /// These steps, and one block that stays.
    fn of(steps: Vec<Step>) -> Program {
        let mut program = Program::default();
        steps.into_iter().for_each(|step| program.step(step));
        program.acquire(MALLOC, 1, 9, 1);
        program
    }

    fn event(&mut self, op: Op, thread: u32, node: u32, block: Block, size: u64, address: u64) {
        self.detailed(op, thread, node, block, size, address, ANONYMOUS);
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of an event")]
    fn detailed(&mut self, op: Op, thread: u32, node: u32, block: Block, size: u64, address: u64, detail: u16) {
        let (time, node, thread) = (self.time, NodeId::new(node), ThreadNo::new(thread).unwrap());
        self.events.push(Event {
            time: Units(time),
            duration: Units(if op.is_release_half() || op.is_pooled() { 0 } else { (size + time) % 7 }),
            size: Bytes(size),
            address: Address(address),
            block,
            node,
            thread,
            detail,
            op,
        });
    }

    fn acquire(&mut self, op: Op, thread: u32, node: u32, size: u64) {
        let block = Block::Number(BlockNo(self.blocks));
        self.live.push(self.blocks);
        self.blocks += 1;
        self.event(op, thread, node, block, size, 0x1000);
    }

    fn step(&mut self, (kind, thread, node, size, which): Step) {
        self.time += size % 3;
        let address = 0x10_0000 + which as u64 * 4096;
        let live = (!self.live.is_empty()).then(|| which % self.live.len());
        match (kind, live) {
            (0..=5, _) => self.acquire(MALLOC, thread, node, size),
            (6..=10, Some(live)) => {
                let number = self.live.swap_remove(live);
                self.event(FREE, thread, node, Block::Number(BlockNo(number)), 0, 0);
            }
            (11, Some(live)) if self.reallocating.iter().all(|(of, _)| *of != thread) => {
                let number = self.live.swap_remove(live);
                self.event(Op::REALLOC.release_half(), thread, node, Block::Number(BlockNo(number)), 0, 0);
                self.reallocating.push((thread, node));
            }
            (12, _) if !self.reallocating.is_empty() => {
                let (thread, node) = self.reallocating.remove(which % self.reallocating.len());
                match size {
                    0..=3 => self.event(Op::REALLOC, thread, node, Block::Null, size, 0),
                    _ => self.acquire(Op::REALLOC, thread, node, size),
                }
            }
            (13, _) => self.event(FREE, thread, node, Block::Null, 0, 0),
            (14, _) => self.event(FREE, thread, node, Block::Unknown, 0, 16),
            (15, _) => self.event(MALLOC, thread, node, Block::Null, size, 0),
            (16, _) => self.event(Op::MMAP, thread, node, Block::None, size * 512, address),
            (17, _) => self.event(Op::MUNMAP, thread, node, Block::None, 4096 * (size % 4), address),
            (18, _) if self.moving.is_none() => {
                self.event(Op::MREMAP.release_half(), thread, node, Block::None, 4096, address);
                self.moving = Some(thread);
            }
            (19, _) if self.moving.is_some() => {
                let thread = self.moving.take().unwrap_or_default();
                self.event(Op::MREMAP, thread, node, Block::None, size * 1024, address);
            }
            (20, _) => self.detailed(Op::MMAP, thread, node, Block::None, size * 512, address, ANONYMOUS | CLOSED),
            (21 | 22, _) => {
                let detail = if kind == 21 { 0 } else { CLOSED };
                self.detailed(Op::MPROTECT, thread, node, Block::None, 4096 * (size % 4), address, detail);
            }
            (23 | 24, _) => {
                let (op, detail) = if kind == 23 { (Op::TOUCHED, (size % 2) as u16) } else { (Op::MADVISE, 4) };
                self.detailed(op, thread, node, Block::None, 4096 * (size % 4), address, detail);
            }
            _ => {}
        }
    }
}

/// What the supervisor does: adds up, and ends chapters behind some events.
fn record(events: &[Event], ends: &[usize]) -> (Recorded, Vec<(Option<NodeId>, Metrics)>) {
    let mut tally = Tally::new(Everything);
    tally.keep_chapters();
    tally.keep_patterns();
    let mut recorder = Aggregator { tally, blocks: BlockTable::new(LiveBlock::NONE) };
    let mut recorded = Recorded::default();
    let mut ends: Vec<usize> = ends.iter().map(|end| end % events.len() + 1).chain([events.len()]).collect();
    ends.sort_unstable();
    ends.dedup();
    let (mut begin, mut blocks) = (0, 0);
    for end in ends {
        for event in &events[begin..end] {
            recorder.push(event);
            if let Block::Number(number) = event.block {
                blocks = blocks.max(number.0 + 1);
            }
        }
        let part = &events[begin..end];
        recorded.times.push((part[0].time.0, part[part.len() - 1].time.0));
        let ended = recorder.tally.end_chapter(blocks).unwrap();
        recorded.chapters.push(ended.encode());
        // Some chapters have too many.
        recorded.parts.push(ended.parts.filter(|_| end % 4 != 0).map(|parts| parts::encode(&parts)));
        recorded.patterns.push(recorder.tally.pack_patterns().finish());
        recorded.events.push(part.to_vec());
        begin = end;
    }
    let sites = recorder.sites(|node| node == NodeId::new(9)).map(|(node, _, metrics)| (node, metrics)).collect();
    (recorded, sites)
}

/// What a reader makes of blocks of seven events that a file has no chapters of.
fn scan(events: &[Event], fewest: usize) -> Recorded {
    let mut scan = Scan::with_chapters_of(fewest);
    let mut blocks = events.chunks(7);
    blocks.clone().for_each(|events| scan.push(events));
    let mut recorded = Recorded::default();
    for Scanned { blocks: count, times, chapter, parts, patterns, .. } in scan.finish() {
        let of_chapter: Vec<Event> = blocks.by_ref().take(count).flatten().copied().collect();
        assert_eq!(times, (of_chapter[0].time.0, of_chapter[of_chapter.len() - 1].time.0));
        recorded.times.push(times);
        recorded.events.push(of_chapter);
        recorded.chapters.push(chapter);
        recorded.parts.push(parts);
        recorded.patterns.push(patterns);
    }
    assert_eq!(blocks.next(), None, "each event is in a chapter");
    recorded
}

/// Sites of a span of which there is anything to tell.
fn rows(span: &Span) -> Vec<Row> {
    let mut rows = Vec::new();
    span.sites.each(0..span.sites.len(), |node, extra, metrics| rows.push((node, extra, *metrics)));
    rows.retain(|(.., metrics)| *metrics != Metrics::default());
    rows
}

/// Sites of which there is anything to tell, in an order that both ways have.
fn told(mut sites: Vec<Row>) -> Vec<Row> {
    sites.retain(|(.., metrics)| *metrics != Metrics::default());
    sites.sort_by_key(|(node, extra, _)| (*node, *extra));
    sites
}

/// What a plain reading finds.
fn read(events: &[Event], asked: &Part) -> Aggregator {
    let mut plain = Aggregator::of_part(asked.clone());
    events.iter().for_each(|event| plain.push(event));
    plain
}

/// How many blocks of which size lived how long, by the node that acquired them, counted in the plainest way.
fn released(events: &[Event], selection: Selection) -> BTreeMap<Option<NodeId>, (Histogram, Cells)> {
    let mut live = BTreeMap::new();
    let mut counted = BTreeMap::<Option<NodeId>, (Histogram, Cells)>::new();
    for event in events {
        let Block::Number(number) = event.block else { continue };
        match event.op.effect() {
            Effect::Acquire => drop(live.insert(number, *event)),
            Effect::Release => {
                let Some(begin) = live.remove(&number) else { continue };
                if (selection.from..=selection.to).contains(&event.time) {
                    let (lifetimes, cells) = counted.entry(begin.node).or_default();
                    lifetimes.count((event.time - begin.time).0);
                    cells.count(begin.size.0, (event.time - begin.time).0);
                }
            }
            Effect::Lend | Effect::Other => {}
        }
    }
    counted
}

/// Some sizes and threads, charged to either.
fn charged_parts() -> impl Strategy<Value = Part> {
    prop_oneof![Just(Charge::Allocation), Just(Charge::Payment)]
        .prop_flat_map(|charge| parts_of(Selection { charge, ..Selection::default() }))
}

/// Some sizes and threads.
fn parts_of(selection: Selection) -> impl Strategy<Value = Part> {
    let sizes = prop_oneof![
        Just((0, u64::MAX)),
        (0u64..45, 0u64..45).prop_map(|(one, other)| (one.min(other), one.max(other)))
    ];
    let thread = (1u32..5).prop_map(|number| ThreadNo::new(number).unwrap());
    let threads =
        prop_oneof![Just(Threads::All), proptest::collection::btree_set(thread, 1..4).prop_map(Threads::Only)];
    (sizes, threads).prop_map(move |((min_size, max_size), threads)| {
        Part::of(Selection { min_size: Bytes(min_size), max_size: Bytes(max_size), ..selection }, threads)
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Mappings only now and then: most programs have none.
    let kinds = prop_oneof![0u32..16, 0u32..16, 0u32..25];
    proptest::collection::vec((kinds, 1u32..5, 8u32..14, 0u64..40, 0usize..1000), 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    /// Against a plain reading from the first event on.
    #[test]
    fn chapters_say_what_all_events_say(
        steps in steps(), ends in proptest::collection::vec(0usize..1000, 0..12),
        from in prop_oneof![Just(0u64), 0u64..330], length in prop_oneof![Just(u64::MAX), 0u64..200],
        mut cuts in proptest::collection::vec(0u64..330, 0..9), are_cuts in proptest::bool::weighted(0.8),
    ) {
        let program = Program::of(steps);
        let selection = Selection { from: Units(from), to: Units(from.saturating_add(length)), ..Selection::default() };
        let mut plain = Aggregator::new(selection);
        program.events.iter().for_each(|event| plain.push(event));
        let (mut recorded, whole) = record(&program.events, &ends);
        let span = add_up(&recorded, &Part::all(selection)).unwrap();
        if are_cuts {
            cuts.extend([selection.from.0, selection.to.0]);
        }
        cuts.sort_unstable();
        for which in [Which::All, Which::Crossed] {
            recorded.cut(&cuts, which);
            let is_cut = |(first, last): &(u64, u64)| cuts.iter().any(|cut| first <= cut && cut <= last);
            let may_stay = recorded.times.iter().zip(&recorded.parts).map(|(times, parts)| !is_cut(times) && parts.is_some());
            let stays: Vec<bool> = may_stay.map(|may| may && which == Which::Crossed).collect();
            prop_assert_eq!(recorded.slices.iter().map(Option::is_none).collect::<Vec<_>>(), stays);
            let sliced = add_up(&recorded, &Part::all(selection)).unwrap();
            prop_assert_eq!(rows(&sliced), rows(&span));
            prop_assert_eq!(&sliced.curve, &span.curve);
            prop_assert_eq!(sliced.peak_time, span.peak_time);
            prop_assert_eq!(sliced.peak_with_mappings, span.peak_with_mappings);
        }
        let sites = plain.sites(|_| false).filter(|(.., metrics)| *metrics != Metrics::default());
        prop_assert_eq!(rows(&span), sites.collect::<Vec<_>>());
        prop_assert_eq!(span.curve, plain.curve());
        prop_assert_eq!(span.peak_time, plain.peak_time());
        prop_assert_eq!(Some(span.peak_with_mappings), plain.peak_with_mappings());
        for split in [Split::Thread, Split::Size] {
            let asked = Part::all(Selection { split, ..selection });
            let (span, mut plain) = (add_up(&recorded, &asked).unwrap(), read(&program.events, &asked));
            prop_assert_eq!(told(rows(&span)), told(plain.sites(|_| false).collect()));
            prop_assert_eq!(span.curve, plain.curve());
            prop_assert_eq!(span.peak_time, plain.peak_time());
        }
        let mut by_node = BTreeMap::<Option<NodeId>, Pattern>::new();
        for number in 0..recorded.times.len() {
            for (node, pattern) in patterns(&recorded, selection, number).unwrap() {
                by_node.entry(node).or_default().add(&pattern);
            }
        }
        let mut plain = Aggregator::new(selection);
        plain.keep_patterns();
        program.events.iter().for_each(|event| plain.push(event));
        let mut plain = plain.take_patterns();
        plain.sort_by_key(|(node, _)| *node);
        let of_released: BTreeMap<Option<NodeId>, (Histogram, Cells)> = (plain.iter())
            .filter(|(_, pattern)| !pattern.lifetimes.is_empty())
            .map(|(node, pattern)| (*node, (pattern.lifetimes.clone(), pattern.cells.clone())))
            .collect();
        prop_assert_eq!(of_released, released(&program.events, selection));
        prop_assert_eq!(by_node.into_iter().collect::<Vec<_>>(), plain);
        // And keeping chapters changes nothing of the sums of the whole.
        let mut plain = Aggregator::new(Selection::default());
        program.events.iter().for_each(|event| plain.push(event));
        let sites: Vec<_> = plain.sites(|node| node == NodeId::new(9)).map(|(node, _, metrics)| (node, metrics)).collect();
        prop_assert_eq!(whole, sites);
    }

    /// So do chapters that are made when a file is read.
    #[test]
    fn scanned_chapters_say_what_all_events_say(
        steps in steps(), fewest in 1usize..100,
        from in prop_oneof![Just(0u64), 0u64..330], length in prop_oneof![Just(u64::MAX), 0u64..200],
        part in parts_of(Selection::default()),
    ) {
        let program = Program::of(steps);
        let recorded = scan(&program.events, fewest);
        for split in [Split::None, Split::Thread, Split::Size] {
            let selection = Selection { from: Units(from), to: Units(from.saturating_add(length)), split, ..*part.get() };
            let asked = Part::of(selection, part.threads.clone());
            let (span, mut plain) = (add_up(&recorded, &asked).unwrap(), read(&program.events, &asked));
            prop_assert_eq!(told(rows(&span)), told(plain.sites(|_| false).collect()));
            prop_assert_eq!(span.curve, plain.curve());
            prop_assert_eq!(span.peak_time, plain.peak_time());
        }
        let selection = Selection { from: Units(from), to: Units(from.saturating_add(length)), ..Selection::default() };
        let mut by_node = BTreeMap::<Option<NodeId>, Pattern>::new();
        for number in 0..recorded.times.len() {
            for (node, pattern) in patterns(&recorded, selection, number).unwrap() {
                by_node.entry(node).or_default().add(&pattern);
            }
        }
        let mut plain = Aggregator::new(selection);
        plain.keep_patterns();
        program.events.iter().for_each(|event| plain.push(event));
        let mut plain = plain.take_patterns();
        plain.sort_by_key(|(node, _)| *node);
        prop_assert_eq!(by_node.into_iter().collect::<Vec<_>>(), plain);
    }

    /// Of some threads and sizes, too; and these are what sums that are split by threads or sizes have of them.
    #[test]
    fn chapters_say_what_all_events_of_some_threads_and_sizes_say(
        steps in steps(), ends in proptest::collection::vec(0usize..1000, 0..12),
        from in prop_oneof![Just(0u64), 0u64..330], length in prop_oneof![Just(u64::MAX), 0u64..200],
        part in charged_parts(),
    ) {
        let program = Program::of(steps);
        let (mut recorded, _) = record(&program.events, &ends);
        recorded.cut(&[from, from.saturating_add(length)], Which::All);
        let of_time = |split| Selection { from: Units(from), to: Units(from.saturating_add(length)), split, ..*part.get() };
        for split in [Split::None, Split::Thread, Split::Size] {
            let asked = Part::of(of_time(split), part.threads.clone());
            let (span, mut plain) = (add_up(&recorded, &asked).unwrap(), read(&program.events, &asked));
            let found = told(plain.sites(|_| false).collect());
            prop_assert_eq!(&told(rows(&span)), &found);
            prop_assert_eq!(span.curve, plain.curve());
            prop_assert_eq!(span.peak_time, plain.peak_time());
            // Threads and sizes of which all count together have what the whole has of them.
            let is_of_threads = part.get().is_of_all_sizes() && split == Split::Thread;
            let is_of_sizes = part.threads == Threads::All && split == Split::Size;
            if is_of_threads || is_of_sizes {
                let all = Part::all(Selection { min_size: Bytes::ZERO, max_size: Bytes::MAX, ..of_time(split) });
                let mut all: Vec<Row> = read(&program.events, &all).sites(|_| false).collect();
                all.retain(|(_, extra, _)| match split {
                    Split::Thread => part.admits_part(ThreadNo::new(*extra as u32), Bytes::ZERO),
                    _ => part.admits_part(None, Bytes(*extra)),
                });
                prop_assert_eq!(told(all), found);
            }
        }
    }

    /// Groups of call stacks have the same between cuts, whether events, chapters or slices of all call stacks tell.
    #[test]
    fn chapters_say_what_all_events_say_of_groups(
        steps in steps(), ends in proptest::collection::vec(0usize..1000, 0..12),
        mut cuts in proptest::collection::vec(0u64..330, 1..9), to in prop_oneof![Just(u64::MAX), 0u64..330],
        part in charged_parts(),
    ) {
        let program = Program::of(steps);
        let (mut recorded, _) = record(&program.events, &ends);
        cuts.sort_unstable();
        cuts.dedup();
        recorded.cut(&cuts, Which::All);
        let part = Part::of(Selection { to: Units(to), ..*part.get() }, part.threads.clone());
        let groups = Groups { count: 3, of: |node: Option<NodeId>| NodeId::index_of(node) % 3 };
        let plain = groups.cut_events(&part, &cuts, |take| {
            let _ = take(&program.events);
            Ok(())
        });
        let mut live = vec![Live::default(); groups.count];
        let (mut found, mut joined) = (Vec::new(), Vec::new());
        for number in 0..recorded.times.len() {
            found.extend(groups.cut_chapter(&recorded, number, &part, &live, &cuts).unwrap());
            joined.extend(groups.join(recorded.slices[number].as_ref().unwrap(), &part, &live));
            let changes = groups.changes(&recorded, number, &part).unwrap();
            prop_assume!(changes.is_some(), "the parts are too many to be kept");
            let changes = changes.unwrap_or_default();
            let add = |(live, by): (&mut Live, Live)| *live = (live.0.wrapping_add(by.0), live.1.wrapping_add(by.1));
            live.iter_mut().zip(changes).for_each(add);
        }
        let plain = by_cut(&plain.unwrap(), &cuts);
        prop_assert_eq!(by_cut(&found, &cuts), plain.clone());
        if to == u64::MAX && part.is_of_slices() {
            prop_assert_eq!(by_cut(&joined, &cuts), plain);
        }
    }
}

/// Of each group between two cuts: what happened, the bytes and blocks at its end, and those when most was live.
type Between = BTreeMap<usize, (u64, Vec<(Metrics, Live, Live)>)>;

fn by_cut(slices: &[Slice], cuts: &[u64]) -> Between {
    let mut live = vec![Live::default(); 3];
    let mut found = Between::new();
    for slice in slices {
        let cut = cuts.partition_point(|cut| *cut <= slice.times.0);
        let begins = || (0, live.iter().map(|live| (Metrics::default(), *live, *live)).collect());
        let (highest, groups) = found.entry(cut).or_insert_with(begins);
        let is_higher = slice.highest > *highest;
        *highest = slice.highest.max(*highest);
        if is_higher {
            groups.iter_mut().zip(&live).for_each(|(group, live)| group.2 = *live);
        }
        for (node, metrics) in &slice.sites {
            let (sums, now, at_highest) = &mut groups[group_of(*node)];
            if is_higher {
                *at_highest = (metrics.peak_bytes, metrics.peak_blocks);
            }
            let live = &mut live[group_of(*node)];
            *live = (live.0.wrapping_add(metrics.live_bytes), live.1.wrapping_add(metrics.live_blocks));
            *now = *live;
            sums.add(&Metrics { peak_bytes: Bytes::ZERO, peak_blocks: 0, ..*metrics });
        }
    }
    found
}
