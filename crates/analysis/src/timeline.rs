//! What happens when: live bytes, allocations, faults and the allocator's time in equal intervals, of the whole and of each
//! thread.
//!
//! The supervisor sorts calls into cells of time while it records ([`memtoll_tally::TimelineBuilder`]). Intervals that are as
//! wide as cells or wider are found from these; narrower ones lie in so little time that its events are read.

use crate::chapters::chapters_of;
use crate::parallel;
use crate::process_ends::ended;
use crate::thread_filter::ThreadFilter;
use memtoll_model::{Chapters, Recording};
use memtoll_tally::{Aggregator, Cells, Selection, TimelineBuilder};
use memtoll_trace::chapter::Wanted;
use memtoll_trace::costs::{Cost, CostKind};
use memtoll_trace::event::Event;
use memtoll_trace::ids::Units;
use memtoll_trace::timeline::{LiveCell, ThreadCell, Timeline};
use memtoll_trace::unreadable::Unreadable;
use std::ops::ControlFlow;

/// What happens in an interval.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Interval {
    /// Lowest number of live bytes. Of several processes: the sum of their lowest numbers.
    pub lowest: u64,
    /// Highest number of live bytes. Of several processes: the sum of their highest numbers.
    pub highest: u64,
    /// Live bytes at the end.
    pub live: u64,
    /// Blocks acquired, with those of reallocations.
    pub allocations: u64,
    pub bytes: u64,
    /// Calls of the allocator.
    pub calls: u64,
    /// Time in these, with the recorder's time stamps. Units.
    pub allocator_time: u64,
    /// Page faults of blocks and mappings of all kinds.
    pub faults: u64,
}

/// What happens when.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineView {
    /// When the first interval begins: a multiple of `width`. Units.
    pub start: u64,
    /// Length of an interval: a power of two. Units.
    pub width: u64,
    /// One after the other.
    pub intervals: Vec<Interval>,
    /// Statements about what is missing.
    pub damage: Vec<String>,
}

/// The cell between two of these times, in ascending order, that a time is in. Units.
pub(crate) fn cell_of(cuts: &[u64], time: u64) -> Option<usize> {
    let cell = cuts.partition_point(|cut| *cut <= time).checked_sub(1)?;
    (cell + 1 < cuts.len()).then_some(cell)
}

/// The cells between these times in which a cost counts, each with its first and its last time. Units.
pub fn cells_of(cuts: &[u64], cost: &Cost) -> impl Iterator<Item = (usize, Units, Units)> {
    let (first, last) = cost.times();
    let at = cuts.partition_point(|cut| *cut <= first.0).saturating_sub(1);
    let cells = cuts[at..].windows(2).take_while(move |cell| cell[0] <= last.0).enumerate();
    let times = move |(number, cell): (usize, &[u64])| (at + number, Units(cell[0]), Units(cell[1] - 1));
    cells.map(times).filter(|(_, from, to)| cost.meets(*from, *to))
}

/// Cells of equal width: a grid that all processes share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The binary logarithm of the width of a cell, units.
    pub width_log2: u32,
    /// The first cell.
    pub first: u64,
    /// How many there are; at least one.
    pub count: usize,
}

impl Grid {
    /// The narrowest cells of which at most `most` (at least 1) hold all times between two, both included. Units.
    pub fn of(from: u64, to: u64, most: usize) -> Grid {
        let to = to.max(from);
        let count = |log2: u32| ((to >> log2) - (from >> log2)) as usize;
        let width_log2 = (0..u64::BITS - 1).find(|log2| count(*log2) < most.max(1)).unwrap_or(u64::BITS - 1);
        Grid { width_log2, first: from >> width_log2, count: count(width_log2) + 1 }
    }

    /// When the first cell begins, units.
    pub fn start(&self) -> u64 {
        self.first << self.width_log2
    }

    /// The last time of the last cell, units.
    pub fn last(&self) -> u64 {
        ((self.first + self.count as u64 - 1) << self.width_log2) | ((1 << self.width_log2) - 1)
    }

    /// The times between cells, with the begin of the first one and the end of the last one, units.
    pub fn cuts(&self) -> Vec<u64> {
        let begins = (self.first..).take(self.count).map(|cell| cell << self.width_log2);
        begins.chain([self.last().saturating_add(1)]).collect()
    }

    /// Where a cell stands in the grid, if it does.
    pub fn index(&self, cell: u64) -> Option<usize> {
        let index = cell.checked_sub(self.first)?;
        (index < self.count as u64).then_some(index as usize)
    }
}

/// What an image did in the cells of a grid.
pub struct ImageCells {
    /// Bytes live before the first cell.
    pub live_before: u64,
    /// Cells in which live bytes change, in their order.
    pub live: Vec<LiveCell>,
    /// Cells in which threads did something, by cell and thread.
    pub threads: Vec<ThreadCell>,
}

/// What happens between two times, both included, in at most `most` intervals. Units.
pub fn timeline(recording: &Recording, from: u64, to: u64, most: usize, thread_filter: &ThreadFilter) -> TimelineView {
    let grid = Grid::of(from, to.min(recording.ended()), most);
    let mut intervals = vec![Interval::default(); grid.count];
    let (cuts, mut damage) = (grid.cuts(), Vec::new());
    for index in 0..recording.images.len() {
        let Some(threads) = thread_filter.of(index) else { continue };
        match cells(recording, index, grid) {
            Ok(cells) => {
                if recording.images[index].own_allocators.show_frees() {
                    add_live(&mut intervals, grid, &cells, ended(recording, index));
                }
                for cell in cells.threads.iter().filter(|cell| threads.admit(cell.thread)) {
                    let Some(at) = grid.index(cell.cell) else { continue };
                    let interval = &mut intervals[at];
                    interval.allocations = interval.allocations.wrapping_add(cell.allocations);
                    interval.bytes = interval.bytes.wrapping_add(cell.bytes);
                    interval.calls = interval.calls.wrapping_add(cell.calls);
                    interval.allocator_time = interval.allocator_time.wrapping_add(cell.time);
                }
            }
            Err(why) => damage.push(why.to_string()),
        }
        let read = recording.for_each_cost_between(index, Units(grid.start()), Units(grid.last()), |cost| {
            let (CostKind::Fault | CostKind::HugeFault | CostKind::MajorFault | CostKind::MappedFileFault) = cost.kind
            else {
                return;
            };
            if threads.admit(cost.thread) {
                for (at, ..) in cells_of(&cuts, cost) {
                    intervals[at].faults = intervals[at].faults.wrapping_add(cost.amount);
                }
            }
        });
        damage.extend(read.err().map(|why| why.to_string()));
    }
    TimelineView { start: grid.start(), width: 1 << grid.width_log2, intervals, damage }
}

/// Live bytes of an image, in all cells until it ends.
fn add_live(intervals: &mut [Interval], grid: Grid, cells: &ImageCells, ended: u64) {
    let mut live = cells.live_before;
    let mut changes = cells.live.iter().peekable();
    for (interval, cell) in intervals.iter_mut().zip(grid.first..=ended >> grid.width_log2) {
        let (mut lowest, mut highest) = (live, live);
        if let Some(change) = changes.next_if(|change| change.cell == cell) {
            lowest = lowest.min(change.lowest);
            highest = highest.max(change.highest);
            live = change.last;
        }
        interval.lowest = interval.lowest.saturating_add(lowest);
        interval.highest = interval.highest.saturating_add(highest);
        interval.live = interval.live.saturating_add(live);
    }
}

/// What image number `index` did in the cells of a grid.
pub fn cells(recording: &Recording, index: usize, grid: Grid) -> Result<ImageCells, Unreadable> {
    // Where the file's are not of all events, a scan makes some.
    let stored = || recording.timelines(index);
    if let Some(parts) = stored().or_else(|| chapters_of(recording, index).and_then(|_| stored()))
        && let Ok(cells) = from_parts(recording, index, &parts, grid)
    {
        return Ok(cells);
    }
    // What is damaged is not missed: the events say all.
    let mut plain = Replay::new(Aggregator::new(Selection::default()), 0, grid);
    recording.for_each_events(index, |events| plain.push(events))?;
    Ok(join([(0, plain.builder.take())], grid))
}

/// From what the supervisor sorted into cells.
fn from_parts(
    recording: &Recording,
    index: usize,
    parts: &memtoll_model::Timelines,
    grid: Grid,
) -> Result<ImageCells, Unreadable> {
    let chapters = chapters_of(recording, index).filter(|chapters| chapters.times().len() == parts.count());
    // The last one that begins before the grid tells what was live then. One that begins with it does not: the one before may
    // have events of the same instant.
    let before = (0..parts.count()).rev().find(|part| parts.begin(*part) < grid.start());
    let wanted: Vec<usize> = (0..parts.count())
        .filter(|part| Some(*part) == before || parts.meets(*part, grid.start(), grid.last()))
        .collect();
    let read = |sum: &mut Vec<(usize, Timeline)>, number: usize| -> Result<(), Unreadable> {
        let part = wanted[number];
        let mut timeline = parts.read(part)?;
        if timeline.width_log2 > grid.width_log2 {
            let chapters = chapters.as_ref().ok_or(Unreadable::Absent("the cells are too wide"))?;
            timeline = replay(chapters, part, grid)?;
        }
        timeline.widen(grid.width_log2);
        // A few cells are left of thousands, and there are as many parts as chapters.
        timeline.live.shrink_to_fit();
        timeline.threads.shrink_to_fit();
        sum.push((part, timeline));
        Ok(())
    };
    let mut found = parallel::fold(wanted.len(), read, |sum: &mut Vec<_>, other: Vec<_>| sum.extend(other))?;
    found.sort_unstable_by_key(|(part, _)| *part);
    Ok(join(found.into_iter().map(|(part, timeline)| (parts.begin(part), timeline)), grid))
}

/// One after the other, each with the time of its first event, as far as they are in the grid, whose cells are theirs.
fn join(timelines: impl IntoIterator<Item = (u64, Timeline)>, grid: Grid) -> ImageCells {
    let mut cells = ImageCells { live_before: 0, live: Vec::new(), threads: Vec::new() };
    for (begin, timeline) in timelines {
        // One that begins later is there for the calls that began before its first event.
        if begin < grid.start() {
            cells.live_before = timeline.live_before;
        }
        for cell in timeline.live {
            if cell.cell < grid.first {
                cells.live_before = cell.last;
            } else if grid.index(cell.cell).is_some() {
                match cells.live.last_mut().filter(|last| last.cell == cell.cell) {
                    Some(last) => last.add(&cell),
                    None => cells.live.push(cell),
                }
            }
        }
        cells.threads.extend(timeline.threads.into_iter().filter(|cell| grid.index(cell.cell).is_some()));
    }
    ThreadCell::settle(&mut cells.threads);
    cells
}

/// The events of a chapter, sorted into the cells of a grid.
fn replay(chapters: &Chapters, number: usize, grid: Grid) -> Result<Timeline, Unreadable> {
    let chapter = chapters.read(number, Wanted::Carried)?;
    let live = chapter.live_bytes;
    let mut replay = Replay::new(Aggregator::continuing(&chapter), live.0, grid);
    chapters.for_each_events(number, |events| replay.push(events))?;
    Ok(replay.builder.take())
}

/// Events that are sorted into the cells of a grid.
struct Replay {
    aggregator: Aggregator,
    builder: TimelineBuilder,
}

impl Replay {
    fn new(aggregator: Aggregator, live: u64, grid: Grid) -> Replay {
        let cells = Cells::Between(grid.start(), grid.last());
        Replay { aggregator, builder: TimelineBuilder::of_width(grid.width_log2, live, cells) }
    }

    fn push(&mut self, events: &[Event]) -> ControlFlow<()> {
        for event in events {
            self.aggregator.push(event);
            self.builder.push(event, event.op.effect(), self.aggregator.live_bytes());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use memtoll_trace::event::Block;
    use memtoll_trace::ids::{Address, BlockNo, Bytes, NodeId, ThreadNo, Units};
    use memtoll_trace::op::{Effect, Op};
    use memtoll_trace::timeline;
    use proptest::prelude::*;

    #[test]
    fn what_lasts_is_in_each_cell_that_it_meets() {
        let cost = |kind, time, inside: Option<u64>, amount| {
            let inside = inside.map(Units);
            Cost { inside, ..Cost::of(kind, Units(time), amount) }
        };
        let cuts = [10, 20, 30, 40];
        let found = |cost: Cost| -> Vec<(usize, u64)> {
            cells_of(&cuts, &cost).map(|(cell, from, to)| (cell, cost.amount_between(from, to))).collect()
        };
        let wait = |began: u64, time: u64| found(cost(CostKind::Waiting, time, None, time - began));
        assert_eq!(
            (wait(12, 15), wait(15, 20), wait(15, 35)),
            (vec![(0, 3)], vec![(0, 5), (1, 0)], vec![(0, 5), (1, 10), (2, 5)])
        );
        assert_eq!((wait(0, 12), wait(35, 90), wait(13, 17)), (vec![(0, 2)], vec![(2, 5)], vec![(0, 4)]));
        assert_eq!([wait(0, 9), wait(40, 50)], [vec![], vec![]]);
        // A release counts when it is called.
        assert_eq!(found(cost(CostKind::Waiting, 35, Some(12), 10)), [(0, 0), (1, 5), (2, 5)]);
        assert_eq!(found(cost(CostKind::Fault, 35, Some(12), 2)), [(0, 2)]);
    }

    #[test]
    fn a_grid_has_the_narrowest_cells_that_fit() {
        assert_eq!(Grid::of(100, 199, 100), Grid { width_log2: 0, first: 100, count: 100 });
        assert_eq!(Grid::of(100, 199, 99), Grid { width_log2: 1, first: 50, count: 50 });
        assert_eq!(Grid::of(127, 128, 1), Grid { width_log2: 8, first: 0, count: 1 });
        let all = Grid::of(0, u64::MAX, 4);
        assert_eq!((all.width_log2, all.first, all.count, all.last()), (62, 0, 4, u64::MAX));
        assert_eq!((all.index(3), all.index(4)), (Some(3), None));
    }

    const OPS: [Op; 4] = [Op::MALLOC, Op(10), Op::REALLOC, Op::MMAP];

    /// Time since the event before, duration, operation, thread, size, live bytes after it.
    type Step = (u64, u64, usize, u32, u64, u64);

    fn events(steps: &[Step]) -> Vec<(Event, u64)> {
        let mut time = 0;
        let event = |&(elapsed, duration, op, thread, size, live): &Step| {
            time += elapsed;
            let op = if size == 7 { Op::REALLOC.release_half() } else { OPS[op] };
            let block = if size == 8 { Block::Null } else { Block::Number(BlockNo(0)) };
            let (node, thread) = (NodeId::new(9), ThreadNo::new(thread).unwrap());
            (
                Event {
                    time: Units(time),
                    duration: Units(duration),
                    size: Bytes(size),
                    address: Address::NULL,
                    block,
                    node,
                    thread,
                    detail: 0,
                    op,
                },
                live,
            )
        };
        steps.iter().map(event).collect()
    }

    fn push(builder: &mut TimelineBuilder, events: &[(Event, u64)]) {
        events.iter().for_each(|(event, live)| builder.push(event, event.op.effect(), *live));
    }

    /// What a plain reading finds, unit by unit of time.
    fn plain(events: &[(Event, u64)], grid: Grid) -> ImageCells {
        let mut cells = ImageCells { live_before: 0, live: Vec::new(), threads: Vec::new() };
        let mut before = 0;
        for (event, live) in events {
            let cell = event.time.0 >> grid.width_log2;
            if *live != std::mem::replace(&mut before, *live) {
                let change = LiveCell { cell, lowest: *live, highest: *live, last: *live };
                match cells.live.last_mut().filter(|last| last.cell == cell) {
                    _ if cell < grid.first => cells.live_before = *live,
                    _ if grid.index(cell).is_none() => {}
                    Some(last) => last.add(&change),
                    None => cells.live.push(change),
                }
            }
            if event.op.is_release_half() || event.op.effect() == Effect::Other {
                continue;
            }
            let is_block = event.op.effect() == Effect::Acquire && event.block != Block::Null;
            let mut add = |time: u64, allocations: u64, calls: u64, length: u64| {
                let cell = time >> grid.width_log2;
                let bytes = allocations * event.size.0;
                let row = ThreadCell { cell, thread: event.thread, allocations, bytes, calls, time: length };
                cells
                    .threads
                    .extend((grid.index(cell).is_some() && row.calls + row.time + allocations > 0).then_some(row));
            };
            add(event.time.0, u64::from(is_block), 0, 0);
            let begin = match event.op.effect() {
                Effect::Release => event.time,
                _ => event.time.saturating_sub(event.duration),
            };
            add(begin.0, 0, u64::from(event.duration > Units::ZERO), 0);
            (begin.0..begin.0 + event.duration.0).for_each(|time| add(time, 0, 0, 1));
        }
        ThreadCell::settle(&mut cells.threads);
        cells
    }

    #[test]
    fn what_happens_when_a_part_ends_is_in_the_grid_that_begins_then() {
        let live = |cell, live| LiveCell { cell, lowest: live, highest: live, last: live };
        let part = |live_before, live| Timeline { live_before, live, ..Timeline::default() };
        let parts = [(0, part(0, vec![live(5, 100), live(9, 200)])), (9, part(200, vec![live(9, 300)]))];
        let grid = Grid { width_log2: 0, first: 9, count: 4 };
        let cells = join(parts, grid);
        assert_eq!(cells.live_before, 100);
        assert_eq!(cells.live, [LiveCell { cell: 9, lowest: 200, highest: 300, last: 300 }]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// However a recording is cut into parts, and however wide their cells become.
        #[test]
        fn parts_say_what_a_plain_reading_finds(
            steps in proptest::collection::vec(
                (prop_oneof![0u64..3, 0u64..300], prop_oneof![0u64..5, 0u64..2000], 0usize..4, 1u32..6, 0u64..20, 0u64..9),
                1..200,
            ),
            ends in proptest::collection::vec(0usize..200, 0..6), limits in (1usize..20, 4usize..60),
            span in (0u64..20_000, 0u64..20_000), most in 1usize..300,
        ) {
            let events = events(&steps);
            let grid = Grid::of(span.0, span.0 + span.1, most);
            let mut ends: Vec<usize> = ends.into_iter().map(|end| end % events.len()).chain([events.len()]).collect();
            ends.sort_unstable();
            let mut builder = TimelineBuilder::new(Cells::UpTo(limits.0, limits.1));
            let (mut parts, mut begin) = (Vec::new(), 0);
            for end in ends.into_iter().filter(|end| *end > 0) {
                if begin == end {
                    continue;
                }
                push(&mut builder, &events[begin..end]);
                let mut part = timeline::decode(&timeline::encode(&builder.take())).unwrap();
                prop_assert!(part.live.len() <= limits.0 + 2, "{} for {}", part.live.len(), limits.0);
                prop_assert!(part.threads.len() <= limits.1 * 2 + 10, "{} for {}", part.threads.len(), limits.1);
                if part.width_log2 > grid.width_log2 {
                    let cells = Cells::Between(grid.start(), grid.last());
                    let mut narrow = TimelineBuilder::of_width(grid.width_log2, part.live_before, cells);
                    push(&mut narrow, &events[begin..end]);
                    part = narrow.take();
                }
                part.widen(grid.width_log2);
                parts.push((events[begin].0.time.0, part));
                begin = end;
            }
            let (found, plain) = (join(parts, grid), plain(&events, grid));
            prop_assert_eq!(found.live_before, plain.live_before);
            prop_assert_eq!(found.live, plain.live);
            prop_assert_eq!(found.threads, plain.threads);
        }
    }
}
