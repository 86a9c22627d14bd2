//! When call stacks paid, and when their blocks lived: the events of a recording in equal intervals.
//!
//! Here are only proportions. How much was paid and allocated in all, the report says.
//!
//! Where there would be too many entries, call paths that paid or allocated little have longer intervals than others.

use crate::samples::Thread;
use memtoll_analysis::stacks::{Path, Stacks};
use memtoll_model::StackId;
use memtoll_query::Answer;
use memtoll_tally::Charge;
use memtoll_trace::costs::{Cost, CostKind, Place};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::nodes::ROOT_PLACE;
use memtoll_trace::op::Effect;
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::ops::ControlFlow;

/// Intervals of the selected time.
const INTERVALS: u64 = 1024;
/// The most entries beside one for each path, as long as neighbouring intervals can be joined: the page of the
/// profiler takes these easily.
const MOST: usize = 200_000;
/// Intervals are joined in which a path has less than this part of all, to begin with (log2 of its inverse).
const LEAST: u32 = 20;

/// Who did something: a thread, with a stack.
pub type Who = (Thread, Path);

/// The blocks of a stack that were allocated in one interval, and freed in one interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Life {
    /// The interval in which they were allocated.
    pub begin: u64,
    /// When and by whom they were freed, if they were.
    pub end: Option<(u64, Thread, StackId)>,
}

/// What of a path's is in an interval, by its number: some unit of it.
pub type Parts<K> = FxHashMap<K, u64>;

/// What all paths have.
pub struct Paths<K> {
    of: FxHashMap<Who, OfPath<K>>,
    total: u64,
}

/// What a path has.
struct OfPath<K> {
    /// Intervals that are joined into one (log2).
    joined: u32,
    parts: Parts<K>,
}

/// What tells entries of a path apart.
pub trait Entry: Copy + Eq + Hash {
    /// The same in longer intervals.
    fn joined(self, log2: u32) -> Self;
}

impl Entry for u64 {
    fn joined(self, log2: u32) -> u64 {
        self >> log2 << log2
    }
}

impl Entry for Life {
    fn joined(self, log2: u32) -> Life {
        let end = self.end.map(|(interval, thread, node)| (interval.joined(log2), thread, node));
        Life { begin: self.begin.joined(log2), end }
    }
}

/// What happened when.
pub struct History {
    /// Where the first interval begins, units.
    pub from: u64,
    /// Length of an interval, units.
    pub width: u64,
    /// Time by interval.
    pub costs: Paths<u64>,
    /// Bytes of blocks.
    pub blocks: Paths<Life>,
    /// By how many bytes the live blocks of an image grew in each interval.
    pub growth: FxHashMap<usize, FxHashMap<u64, i64>>,
    /// Entries beside one a path, and how many of them are too many.
    more: usize,
    most: usize,
    /// As [`LEAST`], now.
    least: u32,
    held: FxHashMap<u64, Held>,
}

/// A live block.
struct Held {
    who: Who,
    time: u64,
    size: u64,
}

impl<K: Entry> Paths<K> {
    fn new() -> Paths<K> {
        Paths { of: FxHashMap::default(), total: 0 }
    }

    /// What a path has.
    pub fn parts(&self, who: Who) -> Option<&Parts<K>> {
        self.of.get(&who).map(|of| &of.parts)
    }

    /// Adds something to a path; by how much the entries grew beside one a path.
    fn add(&mut self, who: Who, entry: K, amount: u64) -> usize {
        self.total = self.total.saturating_add(amount);
        let of = self.of.entry(who).or_insert_with(|| OfPath { joined: 0, parts: Parts::default() });
        let before = of.parts.len().max(1);
        let sum = of.parts.entry(entry.joined(of.joined)).or_default();
        *sum = sum.saturating_add(amount);
        of.parts.len() - before
    }

    /// Joins intervals of each path until one has such a part of all on average; how many entries there are beside one a
    /// path.
    fn thin(&mut self, least: u32) -> usize {
        let enough = self.total >> least;
        let mut more = 0;
        for of in self.of.values_mut() {
            let sum = of.parts.values().fold(0u64, |sum, part| sum.saturating_add(*part));
            while 1 << of.joined < INTERVALS && of.parts.len() > 1 && sum / of.parts.len() as u64 <= enough {
                of.joined += 1;
                let mut parts = Parts::default();
                for (entry, part) in &of.parts {
                    let joined = parts.entry(entry.joined(of.joined)).or_insert(0u64);
                    *joined = joined.saturating_add(*part);
                }
                of.parts = parts;
            }
            more += of.parts.len().saturating_sub(1);
        }
        more
    }
}

impl History {
    fn between(from: u64, to: u64) -> History {
        History {
            from,
            width: to.saturating_sub(from) / INTERVALS + 1,
            costs: Paths::new(),
            blocks: Paths::new(),
            growth: FxHashMap::default(),
            more: 0,
            most: MOST,
            least: LEAST,
            held: FxHashMap::default(),
        }
    }

    /// That of what an answer selects.
    pub fn of(answer: &Answer, stacks: &mut Stacks) -> History {
        let (recording, selection) = (answer.basis.recording, answer.basis.selection);
        let to = selection.to.0.min(recording.ended());
        let mut history = History::between(selection.from.0, to);
        for index in 0..recording.images.len() {
            if answer.basis.thread_filter.of(index).is_some() {
                history.image(answer, index, stacks);
            }
        }
        history
    }

    /// Adds an image. What cannot be read, the answer says already.
    fn image(&mut self, answer: &Answer, index: usize, stacks: &mut Stacks) {
        let (recording, selection) = (answer.basis.recording, answer.basis.selection);
        let Some(threads) = answer.basis.thread_filter.of(index) else { return };
        let image = &recording.images[index];
        let _ = recording.for_each_events(index, |events| {
            for event in events {
                if event.time > selection.to {
                    return ControlFlow::Break(());
                }
                let path = stacks.of(image.node(event.node)).path;
                let who = ((index, Some(event.thread)), path);
                match event.op.effect() {
                    Effect::Acquire if selection.admits_size(event.size) && threads.admit(event.thread) => {
                        self.acquire(event, who);
                    }
                    Effect::Release => {
                        let is_paid = selection.charge == Charge::Payment;
                        self.release(event, who, image.node(event.node), is_paid, threads.admit(event.thread));
                    }
                    _ => {}
                }
            }
            ControlFlow::Continue(())
        });
        let left: Vec<Held> = self.held.drain().map(|(_, held)| held).collect();
        let from = self.from;
        for held in left.into_iter().filter(|held| held.time >= from) {
            self.lived(held.who, Life { begin: self.interval(held.time), end: None }, held.size);
        }
        let tariff = &answer.basis.tariff;
        let _ = recording.for_each_cost_between(index, selection.from, selection.to, |cost| {
            // What was paid inside calls is part of their duration.
            let is_apart = cost.inside.is_none() && cost.node.is_some() && threads.admit(cost.thread);
            let Some(cost) = &selection.part_of(cost).filter(|_| is_apart) else { return };
            let node = match (selection.charge, cost.place) {
                (Charge::Payment, Place::Call(node)) => Some(node),
                (Charge::Payment, _) => Some(ROOT_PLACE),
                _ => cost.node,
            };
            let path = stacks.of(image.node(node)).path;
            let (page, huge) = (tariff.units(tariff.faults().page), tariff.units(tariff.faults().huge.value));
            self.paid(((index, cost.thread), path), cost.time.0, time_of(cost, page, huge));
        });
    }

    fn acquire(&mut self, event: &Event, who: Who) {
        if let Block::Number(number) = event.block {
            self.held.insert(number.0, Held { who, time: event.time.0, size: event.size.0 });
            self.grew(who.0.0, event.time.0, growth(event.size.0));
        }
        self.paid(who, event.time.0, event.duration.0);
    }

    fn release(&mut self, event: &Event, who: Who, node: StackId, is_paid: bool, counts: bool) {
        let held = match event.block {
            Block::Number(number) => self.held.remove(&number.0),
            _ => None,
        };
        if counts {
            let path = held.as_ref().filter(|_| !is_paid).map_or(who.1, |held| held.who.1);
            self.paid((who.0, path), event.time.0, event.duration.0);
        }
        let Some(held) = held else { return };
        self.grew(held.who.0.0, event.time.0, -growth(held.size));
        if held.time >= self.from {
            let end = Some((self.interval(event.time.0), who.0, node));
            self.lived(held.who, Life { begin: self.interval(held.time), end }, held.size);
        }
    }

    fn interval(&self, time: u64) -> u64 {
        time.saturating_sub(self.from) / self.width
    }

    fn grew(&mut self, image: usize, time: u64, bytes: i64) {
        let interval = self.interval(time);
        let sum = self.growth.entry(image).or_default().entry(interval).or_default();
        *sum = sum.saturating_add(bytes);
    }

    fn paid(&mut self, who: Who, time: u64, amount: u64) {
        if time < self.from {
            return;
        }
        self.more += self.costs.add(who, self.interval(time), amount);
        self.keep_small();
    }

    fn lived(&mut self, who: Who, life: Life, bytes: u64) {
        self.more += self.blocks.add(who, life, bytes);
        self.keep_small();
    }

    /// Joins neighbouring intervals of paths that have little, if there are too many entries.
    fn keep_small(&mut self) {
        if self.more <= self.most {
            return;
        }
        loop {
            self.more = self.costs.thin(self.least) + self.blocks.thin(self.least);
            if self.more <= MOST / 2 || self.least == 0 {
                break;
            }
            self.least -= 1;
        }
        // Blocks of a path that others free in different places remain apart.
        self.most = MOST.max(self.more.saturating_mul(2));
    }
}

/// What a block adds to live bytes. Numbers of a damaged file may be beyond all sums.
fn growth(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// About how long it took, units.
fn time_of(cost: &Cost, page: f64, huge: f64) -> u64 {
    match cost.kind {
        CostKind::Fault | CostKind::MajorFault | CostKind::MappedFileFault => (cost.amount as f64 * page) as u64,
        CostKind::HugeFault => (cost.amount as f64 * huge) as u64,
        CostKind::Mapping | CostKind::GivenBack | CostKind::Waiting | CostKind::Spinning | CostKind::Reading => {
            cost.amount
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::ThreadNo;

    /// Of a program with more call paths than entries may be.
    #[test]
    fn what_costs_much_keeps_its_times_beside_many_paths_that_cost_little() {
        let mut history = History::between(0, INTERVALS * 100 - 1);
        let thread = (0, Some(ThreadNo::FIRST));
        let who = |path: usize| (thread, Path::numbered(path));
        for path in 1..=MOST {
            for time in [5, 50_000] {
                history.paid(who(path), time, 1);
                history.lived(who(path), Life { begin: history.interval(time), end: None }, 10);
                history.grew(0, time, 10);
            }
        }
        for interval in 0..INTERVALS {
            history.paid(who(0), interval * 100 + 5, 1_000);
            history.lived(who(0), Life { begin: interval, end: Some((interval + 1, thread, StackId::new(1))) }, 10_000);
            history.grew(0, interval * 100 + 5, 10);
        }
        assert_eq!(history.costs.parts(who(0)).unwrap().len() as u64, INTERVALS);
        assert_eq!(history.blocks.parts(who(0)).unwrap().len() as u64, INTERVALS);
        assert_eq!(history.growth[&0].len() as u64, INTERVALS);
        assert_eq!(history.costs.parts(who(1)).unwrap().values().sum::<u64>(), 2);
        assert!(history.more <= MOST, "{}", history.more);
    }
}
