//! What each run of a region costs: a region is what a thread does between `memtoll_region_begin` and
//! `memtoll_region_end`, for instance a frame.

use crate::estimate::Estimate;
use crate::priced::Priced;
use crate::tariff::Tariff;
use crate::thread_filter::ThreadFilter;
use memtoll_model::{Image, Recording};
use memtoll_trace::event::Event;
use memtoll_trace::ids::{Bytes, ThreadNo, Units};
use memtoll_trace::meta::{Mark, MarkKind};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::op::Effect;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionRun {
    /// When it began, units.
    pub begin: u64,
    /// When it ended, units.
    pub end: u64,
    /// What its thread did meanwhile: only counts and costs.
    pub metrics: Priced,
}

/// All runs of the regions of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    pub name: String,
    /// The runs, in the order of their ends.
    pub runs: Vec<RegionRun>,
}

/// The median, the 99th percentile and the highest of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Half are not above.
    pub median: Estimate,
    /// Of a hundred, one is above.
    pub p99: Estimate,
    /// The highest.
    pub worst: Estimate,
}

impl Spread {
    /// Of some values; of none, zeros. Nearest ranks are taken, so each is one of the values.
    pub fn of(values: impl Iterator<Item = Estimate>) -> Spread {
        let mut values: Vec<Estimate> = values.collect();
        values.sort_by(|a, b| a.value.total_cmp(&b.value));
        let at = |share: f64| {
            let rank = (values.len() as f64 * share).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Spread { median: at(0.5), p99: at(0.99), worst: at(1.0) }
    }
}

/// The regions of a recording that threads of `thread_filter` set, by name, with the runs that are wholly between two times
/// (units), and statements about what is missing. Reads no events but where a recording does not say of marks what their
/// threads had done until then.
pub fn regions(
    recording: &Recording,
    from: Units,
    to: Units,
    thread_filter: &ThreadFilter,
) -> (Vec<Region>, Vec<String>) {
    let tariff = Tariff::of(recording);
    let mut by_name: BTreeMap<String, Vec<RegionRun>> = BTreeMap::new();
    let mut damage = Vec::new();
    for (index, image) in recording.images.iter().enumerate() {
        let Some(counted) = thread_filter.of(index) else { continue };
        let (mut threads, are_told) = runs_of(image, from, to);
        threads.retain(|number, _| counted.admit(*number));
        if threads.is_empty() {
            continue;
        }
        let all = || threads.values().flat_map(|runs| &runs.all).map(|(_, run)| run);
        let first = all().map(|run| run.begin).min().unwrap_or(0);
        let last = all().map(|run| run.end).max().unwrap_or(0);
        let mut count = |events: &[Event]| {
            for event in events {
                let effect = event.op.effect();
                if event.op.is_release_half() || effect == Effect::Other {
                    continue;
                }
                let Some(runs) = threads.get_mut(&Some(event.thread)) else { continue };
                runs.each_at(event.time.0, |metrics| {
                    metrics.timed_calls += u64::from(!event.op.is_pooled());
                    metrics.allocator_time = metrics.allocator_time.wrapping_add(event.duration);
                    if effect == Effect::Acquire {
                        metrics.new_blocks += 1;
                        metrics.bytes = metrics.bytes.wrapping_add(event.size);
                    }
                });
            }
            ControlFlow::Continue(())
        };
        // Otherwise, marks say what happened between them.
        if !are_told {
            damage.extend(
                recording
                    .for_each_events_between(index, Units(first), Units(last), &mut count)
                    .err()
                    .map(|why| why.to_string()),
            );
        }
        let read = recording.for_each_cost_between(index, Units(first), Units(last), |cost| {
            if let Some(runs) = threads.get_mut(&cost.thread) {
                // A thread sets no mark while it waits.
                runs.each_at(cost.counts_at().0, |metrics| cost.add_to(Units::ZERO, Units::MAX, metrics));
            }
        });
        damage.extend(read.err().map(|why| why.to_string()));
        for (name, run) in threads.into_values().flat_map(|runs| runs.all) {
            match by_name.get_mut(name) {
                Some(runs) => runs.push(run),
                None => drop(by_name.insert(name.to_owned(), vec![run])),
            }
        }
    }
    let finished = by_name.into_iter().map(|(name, mut runs)| {
        runs.iter_mut().for_each(|run| run.metrics = tariff.price_alone(&run.metrics.counts));
        runs.sort_by_key(|run| (run.end, run.begin));
        Region { name, runs }
    });
    (finished.collect(), damage)
}

/// The runs of one thread, and which of them hold an instant. A thread can have a region of another name for each of its
/// frames; events and costs come nearly in the order of their times, so from one to the next little begins or ends.
#[derive(Default)]
struct Runs<'a> {
    all: Vec<(&'a str, RegionRun)>,
    /// From when on which run is there (true) or not any more, in the order of times.
    changes: Vec<(u64, bool, u32)>,
    /// Changes before the instant that was asked for last.
    past: usize,
    /// The runs that are there then.
    there: Vec<u32>,
    /// Where each run stands in `there`.
    places: Vec<u32>,
}

impl<'a> Runs<'a> {
    /// Of runs in any order. Those of one name do not overlap, but one may begin when another one ends: that instant is
    /// the earlier one's.
    fn new(mut all: Vec<(&'a str, RegionRun)>) -> Self {
        all.sort_by_key(|(_, run)| (run.begin, run.end));
        let mut ends: FxHashMap<&str, u64> = FxHashMap::default();
        let mut changes = Vec::with_capacity(all.len() * 2);
        for (index, (name, run)) in all.iter().enumerate() {
            let to = run.end.saturating_add(1);
            let from = run.begin.max(ends.insert(name, to).unwrap_or(0));
            if from < to {
                changes.extend([(from, true, index as u32), (to, false, index as u32)]);
            }
        }
        changes.sort_unstable();
        Runs { places: vec![0; all.len()], all, changes, past: 0, there: Vec::new() }
    }

    /// Does something with each run that holds an instant.
    fn each_at(&mut self, time: u64, mut action: impl FnMut(&mut Metrics)) {
        while let Some(&(_, begins, run)) = self.changes.get(self.past).filter(|(at, ..)| *at <= time) {
            self.past += 1;
            self.set(run, begins);
        }
        while let Some(&(_, begins, run)) = self.changes[..self.past].last().filter(|(at, ..)| *at > time) {
            self.past -= 1;
            self.set(run, !begins);
        }
        for &index in &self.there {
            action(&mut self.all[index as usize].1.metrics.counts);
        }
    }

    fn set(&mut self, run: u32, is_there: bool) {
        if is_there {
            self.places[run as usize] = self.there.len() as u32;
            self.there.push(run);
            return;
        }
        let place = self.places[run as usize] as usize;
        self.there.swap_remove(place);
        if let Some(&moved) = self.there.get(place) {
            self.places[moved as usize] = place as u32;
        }
    }
}

/// The first and the last mark of each run of a region, in the order of their ends. Ends belong to the last begin of their
/// name; runs of one name within each other count as the outer one.
pub fn runs(image: &Image) -> Vec<(&Mark, &Mark)> {
    let mut open: FxHashMap<(Option<ThreadNo>, &str), (&Mark, u32)> = FxHashMap::default();
    let mut runs = Vec::new();
    for mark in &image.marks {
        let key = (mark.thread, mark.name.as_str());
        match mark.kind {
            MarkKind::Instant => {}
            MarkKind::Begin => open.entry(key).or_insert((mark, 0)).1 += 1,
            MarkKind::End => {
                let Some((begin, depth)) = open.get_mut(&key) else { continue };
                *depth -= 1;
                if *depth == 0 {
                    runs.push((*begin, mark));
                    open.remove(&key);
                }
            }
        }
    }
    runs
}

/// Runs of regions that are wholly between two times, by thread, and whether they say already what their threads called.
fn runs_of(image: &Image, from: Units, to: Units) -> (FxHashMap<Option<ThreadNo>, Runs<'_>>, bool) {
    let mut by_thread: FxHashMap<Option<ThreadNo>, Vec<(&str, RegionRun)>> = FxHashMap::default();
    let are_told = image.marks.iter().all(|mark| mark.kind == MarkKind::Instant || mark.work.is_some());
    for (begin, end) in runs(image).into_iter().filter(|(begin, end)| begin.time >= from.0 && end.time <= to.0) {
        let counts = if are_told { between(begin, end) } else { Metrics::default() };
        let metrics = Priced { counts, ..Priced::default() };
        let run = RegionRun { begin: begin.time, end: end.time, metrics };
        by_thread.entry(end.thread).or_default().push((end.name.as_str(), run));
    }
    (by_thread.into_iter().map(|(thread, all)| (thread, Runs::new(all))).collect(), are_told)
}

/// What a thread called between two of its marks.
fn between(begin: &Mark, end: &Mark) -> Metrics {
    let (Some(begin), Some(end)) = (begin.work, end.work) else { return Metrics::default() };
    Metrics {
        timed_calls: end.calls.wrapping_sub(begin.calls),
        allocator_time: Units(end.time.wrapping_sub(begin.time)),
        new_blocks: end.acquired.wrapping_sub(begin.acquired),
        bytes: Bytes(end.bytes.wrapping_sub(begin.bytes)),
        ..Metrics::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::costs::{Cost, CostKind};
    use memtoll_trace::meta::{Clock, Prices};

    #[test]
    fn spreads_take_nearest_ranks() {
        let of = |value| Estimate::within(value, 0.1, 0.2);
        let spread = Spread::of((1..=200).rev().map(f64::from).map(of));
        assert_eq!(spread, Spread { median: of(100.0), p99: of(198.0), worst: of(200.0) });
        assert_eq!(Spread::of([of(7.0)].into_iter()), Spread { median: of(7.0), p99: of(7.0), worst: of(7.0) });
        assert_eq!(Spread::of(std::iter::empty()), Spread::default());
    }

    #[test]
    fn time_that_other_programs_took_inside_a_call_is_not_the_allocators() {
        let mut metrics = Metrics { allocator_time: Units(1000), timed_calls: 1, ..Metrics::default() };
        let cost = |kind| Cost { inside: Some(Units(5)), ..Cost::of(kind, Units(5), 300) };
        cost(CostKind::Preempted).add_to(Units::ZERO, Units::MAX, &mut metrics);
        cost(CostKind::Mapping).add_to(Units::ZERO, Units::MAX, &mut metrics);
        let clock = Clock { units_per_second: 1e9, stamp: 0.0 };
        let tariff = Tariff::new(clock, Prices::default(), 4096);
        let costs = tariff.price(&metrics).costs();
        assert_eq!((costs.allocator, costs.mapping), (400.0, 300.0));
    }

    #[test]
    fn an_instant_is_in_the_runs_that_hold_it() {
        let run = |name, begin, end| (name, RegionRun { begin, end, metrics: Priced::default() });
        let mut runs =
            Runs::new(vec![run("frame", 20, 40), run("level", 15, 50), run("frame", 10, 20), run("no time", 30, 30)]);
        // Forwards, and back again.
        let times = [9, 10, 20, 25, 30, 40, 41, 50, 51];
        for time in times.iter().chain(times.iter().rev()) {
            runs.each_at(*time, |metrics| metrics.new_blocks += 1);
        }
        let counts: Vec<(&str, u64)> = runs.all.iter().map(|(name, run)| (*name, run.metrics.new_blocks)).collect();
        assert_eq!(counts, [("frame", 4), ("level", 12), ("frame", 6), ("no time", 2)]);
    }
}
