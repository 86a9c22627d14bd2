//! What each run of a region costs: a region is what a thread does between `memtoll_region_begin` and
//! `memtoll_region_end`, for instance a frame.

use crate::tariff::Tariff;
use memtoll_model::{Image, Recording};
use memtoll_trace::costs::{Cost, CostKind};
use memtoll_trace::meta::MarkKind;
use memtoll_trace::op::Effect;
use memtoll_trace::summary::Metrics;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// One run of a region.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionRun {
    /// When it began, units.
    pub begin: u64,
    /// When it ended, units.
    pub end: u64,
    /// What its thread did meanwhile: only counts and costs.
    pub metrics: Metrics,
}

/// All runs of the regions of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The name.
    pub name: String,
    /// The runs, in the order of their ends.
    pub runs: Vec<RegionRun>,
}

/// The median, the 99th percentile and the highest of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Half are not above.
    pub median: f64,
    /// Of a hundred, one is above.
    pub p99: f64,
    /// The highest.
    pub worst: f64,
}

impl Spread {
    /// Of some values; of none, zeros. Nearest ranks are taken, so each is one of the values.
    pub fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (values.len() as f64 * share).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Spread { median: at(0.5), p99: at(0.99), worst: at(1.0) }
    }
}

/// The regions of a recording, by name, with the runs that are wholly between two times (units), and statements about
/// what is missing. Reads all events.
pub fn regions(recording: &Recording, from: u64, to: u64) -> (Vec<Region>, Vec<String>) {
    let tariff = Tariff::of(recording);
    let (mut regions, mut damage): (Vec<Region>, Vec<String>) = (Vec::new(), Vec::new());
    for (index, image) in recording.images.iter().enumerate() {
        let mut runs = runs_of(image);
        runs.values_mut().for_each(|runs| runs.retain(|run| run.begin >= from && run.end <= to));
        if runs.values().all(Vec::is_empty) {
            continue;
        }
        let read = recording.for_each_events(index, |events| {
            for event in events {
                let effect = event.op.effect();
                if event.op.is_release_half() || effect == Effect::Other {
                    continue;
                }
                each_at(&mut runs, event.thread, event.time, |metrics| {
                    metrics.timed_calls += 1;
                    metrics.allocator_time = metrics.allocator_time.wrapping_add(event.duration);
                    if effect == Effect::Acquire {
                        metrics.allocations += 1;
                        metrics.bytes_allocated = metrics.bytes_allocated.wrapping_add(event.size);
                    }
                });
            }
            ControlFlow::Continue(())
        });
        damage.extend(read.err());
        let read = recording.for_each_cost(index, |cost| {
            each_at(&mut runs, cost.thread, cost.time, |metrics| charge(metrics, cost));
        });
        damage.extend(read.err());
        for ((_, name), found) in runs.into_iter().filter(|(_, found)| !found.is_empty()) {
            let place = regions.iter().position(|region| region.name == name).unwrap_or_else(|| {
                regions.push(Region { name, runs: Vec::new() });
                regions.len() - 1
            });
            regions[place].runs.extend(found);
        }
    }
    for region in &mut regions {
        region.runs.iter_mut().for_each(|run| tariff.fill_in(&mut run.metrics));
        region.runs.sort_by_key(|run| run.end);
    }
    regions.sort_by(|a, b| a.name.cmp(&b.name));
    (regions, damage)
}

fn charge(metrics: &mut Metrics, cost: &Cost) {
    let inside = if cost.inside { cost.amount } else { 0 };
    match cost.kind {
        CostKind::Fault => {
            metrics.faults = metrics.faults.wrapping_add(cost.amount);
            metrics.faults_inside = metrics.faults_inside.wrapping_add(inside);
            metrics.samples_inside += u64::from(cost.inside);
        }
        CostKind::HugeFault => {
            metrics.huge_faults = metrics.huge_faults.wrapping_add(cost.amount);
            metrics.huge_faults_inside = metrics.huge_faults_inside.wrapping_add(inside);
        }
        CostKind::MajorFault => metrics.major_faults = metrics.major_faults.wrapping_add(cost.amount),
        CostKind::MappedFileFault => metrics.file_faults = metrics.file_faults.wrapping_add(cost.amount),
        CostKind::Reading => metrics.reading_time = metrics.reading_time.wrapping_add(cost.amount),
        CostKind::Mapping => {
            metrics.mapping_time = metrics.mapping_time.wrapping_add(cost.amount);
            metrics.mapping_inside = metrics.mapping_inside.wrapping_add(inside);
        }
        CostKind::Waiting | CostKind::Spinning => metrics.waiting_time = metrics.waiting_time.wrapping_add(cost.amount),
        // Not the allocator's doing, but part of the time in its calls.
        CostKind::Preempted => metrics.preempted_time = metrics.preempted_time.wrapping_add(cost.amount),
        _ => {}
    }
}

type Runs = FxHashMap<(u32, String), Vec<RegionRun>>;

/// Runs of regions by thread and name. Ends belong to the last begin of their name; runs of one name within each other
/// count as the outer one.
fn runs_of(image: &Image) -> Runs {
    let mut open: FxHashMap<(u32, &str), (u64, u32)> = FxHashMap::default();
    let mut runs = Runs::default();
    for mark in &image.marks {
        let key = (mark.thread, mark.name.as_str());
        match mark.kind {
            MarkKind::Instant => {}
            MarkKind::Begin => open.entry(key).or_insert((mark.time, 0)).1 += 1,
            MarkKind::End => {
                let Some((begin, depth)) = open.get_mut(&key) else { continue };
                *depth -= 1;
                if *depth == 0 {
                    let run = RegionRun { begin: *begin, end: mark.time, metrics: Metrics::default() };
                    open.remove(&key);
                    runs.entry((mark.thread, mark.name.clone())).or_default().push(run);
                }
            }
        }
    }
    runs
}

/// Does something with each run of the thread that holds an instant.
fn each_at(runs: &mut Runs, thread: u32, time: u64, mut action: impl FnMut(&mut Metrics)) {
    for (_, found) in runs.iter_mut().filter(|((of, _), _)| *of == thread) {
        // Runs of one thread and name do not overlap.
        let index = found.partition_point(|run| run.end < time);
        if let Some(run) = found.get_mut(index)
            && run.begin <= time
        {
            action(&mut run.metrics);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::meta::{Clock, Prices};

    #[test]
    fn spreads_take_nearest_ranks() {
        let spread = Spread::of((1..=200).rev().map(f64::from));
        assert_eq!(spread, Spread { median: 100.0, p99: 198.0, worst: 200.0 });
        assert_eq!(Spread::of([7.0].into_iter()), Spread { median: 7.0, p99: 7.0, worst: 7.0 });
        assert_eq!(Spread::of(std::iter::empty()), Spread::default());
    }

    #[test]
    fn time_that_other_programs_took_inside_a_call_is_not_the_allocators() {
        let mut metrics = Metrics { allocator_time: 1000, timed_calls: 1, ..Metrics::default() };
        let cost =
            |kind| Cost { time: 5, kind, inside: true, thread: 0, amount: 300, node: 0, size: 0, place: 0, holder: 0 };
        charge(&mut metrics, &cost(CostKind::Preempted));
        charge(&mut metrics, &cost(CostKind::Mapping));
        let clock = Clock { units_per_second: 1e9, stamp: 0.0 };
        let tariff = Tariff::new(clock, Prices::default(), 4096);
        tariff.fill_in(&mut metrics);
        let costs = tariff.costs(&metrics);
        assert_eq!((costs.allocator, costs.mapping), (400.0, 300.0));
    }

    #[test]
    fn an_instant_is_in_the_run_that_holds_it() {
        let run = |begin, end| RegionRun { begin, end, metrics: Metrics::default() };
        let mut runs = Runs::default();
        runs.insert((1, "frame".into()), vec![run(10, 20), run(30, 40)]);
        for (thread, time) in [(1, 9), (1, 10), (1, 20), (1, 25), (1, 35), (2, 35), (1, 41)] {
            each_at(&mut runs, thread, time, |metrics| metrics.allocations += 1);
        }
        let counts: Vec<u64> = runs.values().flatten().map(|run| run.metrics.allocations).collect();
        assert_eq!(counts, [2, 1]);
    }
}
