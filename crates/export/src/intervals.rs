//! What a process image did in equal intervals of time, with what that cost.
//!
//! Counts are of the events and costs in an interval. Times are the report's: that of the process image, divided among the
//! intervals as time in calls, faults, work on mappings and waiting are. So the intervals add up to the report's totals.

use crate::proportional_shares::divided;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::timeline::{Grid, cells, cells_of};
use memtoll_model::Recording;
use memtoll_trace::costs::CostKind;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::op::{Effect, Op};
use std::ops::ControlFlow;

/// An interval.
#[derive(Clone, Copy, Default)]
pub struct Interval {
    /// When it begins, units.
    pub begin: u64,
    /// When the next one begins, units.
    pub end: u64,
    /// The fewest live bytes.
    pub lowest: u64,
    /// The most live bytes.
    pub highest: u64,
    /// Live bytes at its end.
    pub live: u64,
    /// Blocks acquired, by reallocation or not.
    pub allocations: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Page faults of blocks and mappings.
    pub faults: u64,
    /// By the order of [`TIMES`], ns.
    pub ns: [u64; TIMES.len()],
}

/// The times that intervals have.
pub const TIMES: [Metric; 5] =
    [Metric::Allocator, Metric::FaultTime, Metric::Mapping, Metric::Waiting, Metric::Reading];

/// Intervals of the selected time, at most `most`.
pub fn grid(recording: &Recording, sums: &Sums, most: usize) -> Grid {
    let from = if sums.selection.instant { 0 } else { sums.selection.from.0 };
    Grid::of(from, sums.selection.to.0.min(recording.ended()), most)
}

/// The intervals of an image while it exists. The sums have reported damage.
pub fn intervals(recording: &Recording, sums: &Sums, index: usize, grid: Grid) -> Vec<Interval> {
    let (image, selection) = (&recording.images[index], sums.selection);
    let (Some(threads), Ok(cells)) = (sums.thread_filter.of(index), cells(recording, index, grid)) else {
        return Vec::new();
    };
    let ended = image.end.as_ref().map_or(recording.ended(), |end| end.ended);
    if image.about.began > grid.last() || ended < grid.start() {
        return Vec::new();
    }
    let cell_of = |time: u64| (time >> grid.width_log2).clamp(grid.first, grid.first + grid.count as u64 - 1);
    let seen = cells.live.iter().map(|cell| cell.cell).chain(cells.threads.iter().map(|cell| cell.cell));
    let (mut first, mut last) = (cell_of(image.about.began), cell_of(ended));
    for cell in seen {
        (first, last) = (first.min(cell), last.max(cell));
    }
    let mut live = cells.live_before;
    let mut changes = cells.live.iter().peekable();
    let mut all: Vec<Interval> = (first..=last)
        .map(|cell| {
            let mut interval = Interval {
                begin: cell << grid.width_log2,
                end: (cell + 1) << grid.width_log2,
                lowest: live,
                highest: live,
                ..Interval::default()
            };
            if let Some(change) = changes.next_if(|change| change.cell == cell) {
                interval.lowest = live.min(change.lowest);
                interval.highest = live.max(change.highest);
                live = change.last;
            }
            interval.live = live;
            interval
        })
        .collect();
    let mut weights = vec![[0u64; TIMES.len()]; all.len()];
    let place = |cell: u64| (cell.clamp(first, last) - first) as usize;
    let mut acquired = |cell: u64, blocks: u64, bytes: u64| {
        let interval = &mut all[place(cell)];
        interval.allocations = interval.allocations.wrapping_add(blocks);
        interval.bytes = interval.bytes.wrapping_add(bytes);
    };
    for cell in cells.threads.iter().filter(|cell| threads.admit(cell.thread)) {
        if !selection.is_part() {
            acquired(cell.cell, cell.allocations, cell.bytes);
        }
        let time = &mut weights[place(cell.cell)][0];
        *time = time.wrapping_add(cell.time);
    }
    // Cells know no sizes, and one in which a selected span begins or ends has more than the span.
    if selection.is_part() {
        let counts = |event: &Event| {
            let is_there = (selection.from..=selection.to).contains(&event.time) && selection.admits_size(event.size);
            let acquires = event.op.effect() == Effect::Acquire && event.op != Op::BEFORE;
            is_there && acquires && matches!(event.block, Block::Number(_)) && threads.admit(event.thread)
        };
        let _ = recording.for_each_events_between(index, selection.from, selection.to, |events| {
            let counted = events.iter().filter(|event| counts(event));
            counted.for_each(|event| acquired(event.time.0 >> grid.width_log2, 1, event.size.0));
            ControlFlow::Continue(())
        });
    }
    // What is outside is in the first interval, or the last one.
    let mut cuts: Vec<u64> = all.iter().map(|interval| interval.begin).chain([u64::MAX]).collect();
    cuts[0] = 0;
    // The sums have reported damage.
    let _ = recording.for_each_cost_between(index, selection.from, selection.to, |cost| {
        let Some(cost) = selection.part_of(cost).filter(|cost| threads.admit(cost.thread) && cost.node.is_some())
        else {
            return;
        };
        let weight = match cost.kind {
            CostKind::Fault | CostKind::HugeFault | CostKind::MajorFault | CostKind::MappedFileFault => 1,
            CostKind::Mapping | CostKind::GivenBack => 2,
            CostKind::Waiting | CostKind::Spinning => 3,
            CostKind::Reading => 4,
            _ => return,
        };
        for (at, from, to) in cells_of(&cuts, &cost) {
            let amount = cost.amount_between(from, to);
            weights[at][weight] = weights[at][weight].wrapping_add(amount);
            if weight == 1 {
                all[at].faults = all[at].faults.wrapping_add(amount);
            }
        }
    });
    let total = &sums.images[index].total;
    for (time, total) in TIMES.into_iter().map(|metric| metric.value(total)).enumerate() {
        let weights: Vec<u64> = weights.iter().map(|of| of[time]).collect();
        divided(total, &weights).into_iter().zip(&mut all).for_each(|(part, interval)| interval.ns[time] = part);
    }
    all
}
