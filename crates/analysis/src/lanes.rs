//! What each thread did over time: running, in the allocator, faulting, waiting in the allocator, off the processor.

use crate::tariff::Tariff;
use crate::thread_filter::ThreadFilter;
use crate::timeline::{self, Grid};
use memtoll_model::Recording;
use memtoll_trace::costs::CostKind;
use memtoll_trace::ids::{ThreadNo, Units};
use rustc_hash::FxHashMap;

/// A thread's time, in equal intervals. Each value is the share of an interval, from 0 to 1; what remains is the
/// program's own work, and the recorder's.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Index of the process image in [`Recording::images`].
    pub image: usize,
    pub thread: ThreadNo,
    /// Share of each interval in which the thread was there at all.
    pub alive: Vec<f64>,
    /// In calls of the allocator, without faults, waiting and the recorder's time stamps.
    pub allocator: Vec<f64>,
    /// In page faults, the recorder's left out: each takes what faults of its kind take in the mean, and ends when it was seen.
    pub faulting: Vec<f64>,
    /// Waiting in calls of the allocator.
    pub waiting: Vec<f64>,
    /// Off the processor, outside of such calls.
    pub off: Vec<f64>,
}

impl Lane {
    /// Parts that are known by their length only may have been put where others are: what has no room in an interval is left out, the least certain first.
    fn fit(&mut self) {
        for (index, &alive) in self.alive.iter().enumerate() {
            let mut room = alive;
            for part in [&mut self.off, &mut self.waiting, &mut self.allocator, &mut self.faulting] {
                part[index] = part[index].min(room);
                room -= part[index];
            }
        }
    }
}

/// The lanes of all threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    /// Start of the first interval, units.
    pub start: u64,
    /// Length of an interval, units.
    pub width: f64,
    /// By image and thread.
    pub lanes: Vec<Lane>,
    /// Statements about what is missing.
    pub damage: Vec<String>,
}

/// A lane that is being drawn, and what is to be taken off its calls of the allocator.
struct Draft {
    lane: Lane,
    /// When the thread is there, units: the kernel may know it before its first call.
    there: (u64, u64),
    /// Calls that began in each interval.
    calls: Vec<u64>,
    /// Share of each interval that was something else inside of calls.
    elsewhere: Vec<f64>,
}

impl Draft {
    /// `stamp` is how much longer each call looks than it is, intervals.
    fn finish(mut self, stamp: f64) -> Lane {
        let taken = self.calls.iter().zip(&self.elsewhere).map(|(&calls, other)| calls as f64 * stamp + other);
        self.lane.allocator.iter_mut().zip(taken).for_each(|(inside, taken)| *inside = (*inside - taken).max(0.0));
        self.lane.fit();
        self.lane
    }
}

/// Adds spans of time to intervals.
struct Scale {
    start: u64,
    end: u64,
    width: f64,
}

impl Scale {
    fn add(&self, values: &mut [f64], from: u64, to: u64) {
        let at = |time: u64| (time.clamp(self.start, self.end) - self.start) as f64 / self.width;
        let (from, to) = (at(from), at(to));
        let first = (from as usize).min(values.len());
        for (value, index) in values[first..].iter_mut().zip(first..=to as usize) {
            let part = to.min(index as f64 + 1.0) - from.max(index as f64);
            *value = (*value + part.max(0.0)).min(1.0);
        }
    }
}

/// Cells of a grid for each interval at least, so that intervals are nearly as many as were asked for.
const CELLS: usize = 8;

/// The lanes of threads between two times, in units, in at most `intervals` (at least 1). The first one begins up to an
/// eighth of an interval earlier.
pub fn lanes(recording: &Recording, from: u64, to: u64, intervals: usize, thread_filter: &ThreadFilter) -> Lanes {
    let end = to.min(recording.ended()).max(from.saturating_add(1));
    let intervals = intervals.max(1);
    let grid = Grid::of(from, end - 1, intervals.saturating_mul(CELLS * 2));
    let cells_each = grid.count.div_ceil(intervals);
    let intervals = grid.count.div_ceil(cells_each);
    let (start, width) = (grid.start(), ((cells_each as u64) << grid.width_log2) as f64);
    let scale = Scale { start, end, width };
    let tariff = Tariff::of(recording);
    let stamp = tariff.clock().stamp / width;
    let mut all = Lanes { start, width, lanes: Vec::new(), damage: Vec::new() };
    for (index, image) in recording.images.iter().enumerate() {
        let Some(threads) = thread_filter.of(index) else { continue };
        let mut of_thread: FxHashMap<ThreadNo, Draft> = FxHashMap::default();
        let image_end = image.end.as_ref().map_or(end, |end| end.ended);
        let nothing = || vec![0.0; intervals];
        for thread in image.threads.iter().filter(|thread| threads.admit(thread.number)) {
            let mut lane = Lane {
                image: index,
                thread: thread.number,
                alive: nothing(),
                allocator: nothing(),
                faulting: nothing(),
                waiting: nothing(),
                off: nothing(),
            };
            let there = (thread.began, thread.ended.unwrap_or(image_end));
            scale.add(&mut lane.alive, there.0, there.1);
            let draft = Draft { lane, there, calls: vec![0; intervals], elsewhere: nothing() };
            of_thread.insert(thread.number, draft);
        }
        match timeline::cells(recording, index, grid) {
            Ok(cells) => {
                for cell in &cells.threads {
                    let at = grid.index(cell.cell).map(|index| index / cells_each);
                    let (Some(draft), Some(at)) = (of_thread.get_mut(&cell.thread), at) else { continue };
                    draft.lane.allocator[at] += cell.time as f64 / width;
                    draft.calls[at] += cell.calls;
                }
            }
            Err(why) => all.damage.push(why.to_string()),
        }
        // What was not the allocator's inside of its calls.
        let read = recording.for_each_cost_between(index, Units(from), Units(to), |cost| {
            let draft = cost.thread.and_then(|thread| of_thread.get_mut(&thread));
            let Some(Draft { lane, there, elsewhere, .. }) = draft else { return };
            let fault = tariff.faults().of(cost.kind);
            let (values, length) = match cost.kind {
                CostKind::Waiting | CostKind::Spinning => (&mut lane.waiting, cost.amount),
                CostKind::OffProcessor | CostKind::Preempted | CostKind::Halted | CostKind::Reading => {
                    (&mut lane.off, cost.amount)
                }
                _ if fault > 0.0 => (&mut lane.faulting, tariff.units(cost.amount as f64 * fault).round() as u64),
                _ => return,
            };
            let from = cost.time.0.saturating_sub(length).max(there.0);
            let to = cost.time.0.min(there.1).max(from);
            scale.add(values, from, to);
            if cost.inside.is_some() {
                scale.add(elsewhere, from, to);
            }
        });
        all.damage.extend(read.err().map(|why| why.to_string()));
        let there = |lane: &Lane| lane.alive.iter().any(|share| *share > 0.0);
        all.lanes.extend(of_thread.into_values().map(|draft| draft.finish(stamp)).filter(there));
    }
    all.lanes.sort_by_key(|lane| (lane.image, lane.thread));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fit_into_the_time_that_a_thread_is_there() {
        let mut lane = Lane {
            image: 0,
            thread: ThreadNo::FIRST,
            alive: vec![0.0, 0.5, 1.0],
            allocator: vec![0.25, 0.25, 0.5],
            faulting: vec![0.25, 0.25, 0.25],
            waiting: vec![0.25, 0.25, 0.25],
            off: vec![0.25, 0.5, 0.125],
        };
        lane.fit();
        assert_eq!((lane.off, lane.waiting), (vec![0.0, 0.5, 0.125], vec![0.0, 0.0, 0.25]));
        assert_eq!((lane.allocator, lane.faulting), (vec![0.0, 0.0, 0.5], vec![0.0, 0.0, 0.125]));
    }

    /// Faults are left out: they take what they take in the mean, and some have no room in narrow intervals.
    #[test]
    fn sums_do_not_depend_on_how_long_intervals_are() {
        for name in ["costs", "forks", "tiny"] {
            let recording = crate::testing::golden(name);
            let sums = |intervals| {
                let Lanes { width, lanes, .. } = lanes(&recording, 0, u64::MAX, intervals, &ThreadFilter::default());
                let sum = |values: &[f64]| values.iter().sum::<f64>() * width;
                let of = |lane: &Lane| [&lane.alive, &lane.off, &lane.waiting].map(|part| sum(part));
                (recording.ended() as f64, lanes.iter().map(of).collect::<Vec<_>>())
            };
            let ((end, few), (_, many)) = (sums(3), sums(3000));
            for (few, many) in few.iter().flatten().zip(many.iter().flatten()) {
                assert!((few - many).abs() < end / 1e4, "{name}: {few} of {many}");
            }
        }
    }

    #[test]
    fn calls_are_no_longer_than_without_time_stamps() {
        let lane = Lane {
            image: 0,
            thread: ThreadNo::FIRST,
            alive: vec![1.0; 3],
            allocator: vec![0.75, 0.75, 0.125],
            faulting: vec![0.0; 3],
            waiting: vec![0.0, 0.25, 0.0],
            off: vec![0.0; 3],
        };
        let draft = Draft { lane, there: (0, 3), calls: vec![32, 0, 64], elsewhere: vec![0.0, 0.25, 0.0] };
        assert_eq!(draft.finish(1.0 / 64.0).allocator, [0.25, 0.5, 0.0]);
    }

    #[test]
    fn spans_are_spread_over_intervals() {
        let scale = Scale { start: 100, end: 200, width: 25.0 };
        let mut values = vec![0.0; 4];
        scale.add(&mut values, 90, 110);
        scale.add(&mut values, 140, 180);
        scale.add(&mut values, 190, 1000);
        let rounded: Vec<i64> = values.iter().map(|value| (value * 100.0).round() as i64).collect();
        assert_eq!(rounded, [40, 40, 100, 60]);
        scale.add(&mut values, 0, 1000);
        assert_eq!(values, [1.0; 4]);
    }
}
