//! When call stacks paid, and when their blocks lived: the events of a recording in equal intervals.
//!
//! Here are only proportions. How much was paid and allocated in all, the report says.

use crate::samples::Thread;
use memtoll_analysis::aggregate::Charge;
use memtoll_analysis::stacks::{Path, Stacks};
use memtoll_query::Answer;
use memtoll_trace::costs::{Cost, CostKind, Place};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::nodes::ROOT_PLACE;
use memtoll_trace::op::Effect;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// Intervals of the selected time, to begin with.
const INTERVALS: u64 = 1024;
/// Entries at the most, as long as neighbouring intervals can be joined: the page of the profiler takes so many easily.
const MOST: usize = 200_000;

/// Who did something: a thread, with a stack.
pub type Who = (Thread, Path);

/// The blocks of a stack that were allocated in one interval, and freed in one interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Life {
    /// The interval in which they were allocated.
    pub begin: u64,
    /// When and by whom they were freed, if they were.
    pub end: Option<(u64, Thread, u32)>,
}

/// What happened when.
pub struct History {
    /// Where the first interval begins, units.
    pub from: u64,
    /// Length of an interval, units.
    pub width: u64,
    /// That of one interval for all, units.
    widest: u64,
    /// Time by interval: some unit of it.
    pub costs: FxHashMap<Who, FxHashMap<u64, u64>>,
    /// Bytes of blocks.
    pub blocks: FxHashMap<Who, FxHashMap<Life, u64>>,
    /// By how many bytes the live blocks of an image grew in each interval.
    pub growth: FxHashMap<usize, FxHashMap<u64, i64>>,
    entries: usize,
    held: FxHashMap<u64, Held>,
}

/// A live block.
struct Held {
    who: Who,
    time: u64,
    size: u64,
}

impl History {
    /// That of what an answer selects.
    pub fn of(answer: &Answer, stacks: &mut Stacks) -> History {
        let (recording, selection) = (answer.basis.recording, answer.basis.selection);
        let to = selection.to.min(recording.ended());
        let width = (to.saturating_sub(selection.from) / INTERVALS + 1).max(1);
        let mut history = History {
            from: selection.from,
            width,
            widest: width.saturating_mul(INTERVALS),
            costs: FxHashMap::default(),
            blocks: FxHashMap::default(),
            growth: FxHashMap::default(),
            entries: 0,
            held: FxHashMap::default(),
        };
        for index in 0..recording.images.len() {
            if answer.basis.runners.of(index).is_some() {
                history.image(answer, index, stacks);
            }
        }
        history
    }

    /// Adds an image. What cannot be read, the answer says already.
    fn image(&mut self, answer: &Answer, index: usize, stacks: &mut Stacks) {
        let (recording, selection) = (answer.basis.recording, answer.basis.selection);
        let Some(threads) = answer.basis.runners.of(index) else { return };
        let image = &recording.images[index];
        let _ = recording.for_each_events(index, |events| {
            for event in events {
                if event.time > selection.to {
                    return ControlFlow::Break(());
                }
                let path = stacks.of(image.node(event.node)).path;
                let who = ((index, event.thread), path);
                let sizes = selection.min_size..=selection.max_size;
                match event.op.effect() {
                    Effect::Acquire if sizes.contains(&event.size) && threads.admit(event.thread) => {
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
            if cost.inside || cost.node == 0 || !selection.admits(cost) || !threads.admit(cost.thread) {
                return;
            }
            let node = match (selection.charge, cost.place()) {
                (Charge::Payment, Place::Call(node)) => node,
                (Charge::Payment, _) => ROOT_PLACE,
                _ => cost.node,
            };
            let path = stacks.of(image.node(node)).path;
            let (page, huge) = (tariff.units(tariff.faults().page), tariff.units(tariff.faults().huge));
            self.paid(((index, cost.thread), path), cost.time, time_of(cost, page, huge));
        });
    }

    fn acquire(&mut self, event: &Event, who: Who) {
        if let Block::Number(number) = event.block {
            self.held.insert(number, Held { who, time: event.time, size: event.size });
            self.grew(who.0.0, event.time, growth(event.size));
        }
        self.paid(who, event.time, event.duration);
    }

    fn release(&mut self, event: &Event, who: Who, node: u32, is_paid: bool, counts: bool) {
        let held = match event.block {
            Block::Number(number) => self.held.remove(&number),
            _ => None,
        };
        if counts {
            let path = held.as_ref().filter(|_| !is_paid).map_or(who.1, |held| held.who.1);
            self.paid((who.0, path), event.time, event.duration);
        }
        let Some(held) = held else { return };
        self.grew(held.who.0.0, event.time, -growth(held.size));
        if held.time >= self.from {
            let end = Some((self.interval(event.time), who.0, node));
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
        let interval = self.interval(time);
        let of = self.costs.entry(who).or_default();
        self.entries += usize::from(!of.contains_key(&interval));
        let sum = of.entry(interval).or_default();
        *sum = sum.saturating_add(amount);
        self.keep_small();
    }

    fn lived(&mut self, who: Who, life: Life, bytes: u64) {
        let of = self.blocks.entry(who).or_default();
        self.entries += usize::from(!of.contains_key(&life));
        let sum = of.entry(life).or_default();
        *sum = sum.saturating_add(bytes);
        self.keep_small();
    }

    /// Joins neighbouring intervals if there are too many entries.
    fn keep_small(&mut self) {
        if self.entries <= MOST || self.width >= self.widest {
            return;
        }
        self.width *= 2;
        self.entries = 0;
        for of in self.costs.values_mut() {
            *of = joined(of, |interval| interval / 2);
            self.entries += of.len();
        }
        for of in self.blocks.values_mut() {
            *of = joined(of, |life| Life {
                begin: life.begin / 2,
                end: life.end.map(|(interval, thread, node)| (interval / 2, thread, node)),
            });
            self.entries += of.len();
        }
        for of in self.growth.values_mut() {
            let mut sums: FxHashMap<u64, i64> = FxHashMap::default();
            for (interval, bytes) in of.iter() {
                let sum = sums.entry(interval / 2).or_default();
                *sum = sum.saturating_add(*bytes);
            }
            *of = sums;
        }
    }
}

/// What a block adds to live bytes. Numbers of a damaged file may be beyond all sums.
fn growth(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn joined<K: std::hash::Hash + Eq + Copy>(of: &FxHashMap<K, u64>, key: impl Fn(K) -> K) -> FxHashMap<K, u64> {
    let mut sums: FxHashMap<K, u64> = FxHashMap::default();
    for (old, value) in of {
        let sum = sums.entry(key(*old)).or_default();
        *sum = sum.saturating_add(*value);
    }
    sums
}

/// About how long it took, units.
fn time_of(cost: &Cost, page: f64, huge: f64) -> u64 {
    match cost.kind {
        CostKind::Fault | CostKind::MajorFault | CostKind::MappedFileFault => (cost.amount as f64 * page) as u64,
        CostKind::HugeFault => (cost.amount as f64 * huge) as u64,
        CostKind::Mapping | CostKind::Waiting | CostKind::Spinning | CostKind::Reading => cost.amount,
        _ => 0,
    }
}
