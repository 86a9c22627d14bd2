//! Adds up the events of one process image, by call site.
//!
//! The same code runs while the program is recorded (its result goes into the file, so that the first report is there at
//! once) and over the events of a file, when a report asks for a span of time, for threads or for sizes.

mod block_table;
mod live_block;
mod scan;
mod site;
pub mod span;
mod tally;
mod timeline_builder;

use crate::runners::Threads;
use block_table::BlockTable;
use memtoll_trace::chapter::Chapter;
use memtoll_trace::costs::Cost;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{NodeId, ThreadNo};
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::pattern::Pattern;
use memtoll_trace::summary::{LiveCurve, Metrics, PeakWithMappings};

pub use live_block::LiveBlock;
pub use scan::Scan;
pub use tally::{Replaced, Tally};
pub use timeline_builder::{Cells, TimelineBuilder};

/// What else tells two sites apart, beside the call stack.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Split {
    /// Nothing.
    #[default]
    None,
    /// The process.
    Process,
    /// The thread that calls.
    Thread,
    /// The size of the block, bytes.
    Size,
}

/// Who is charged for a cost.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Charge {
    /// The call site that allocated the block or made the mapping.
    #[default]
    Allocation,
    /// The place where it was paid: the call itself, or the code that touched a page.
    Payment,
}

/// Which events count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Events before this time only tell which blocks are live. Units.
    pub from: u64,
    /// Events after this time do not count at all. Units.
    pub to: u64,
    /// Smaller blocks are left out. Bytes.
    pub min_size: u64,
    /// Larger blocks are left out. Bytes.
    pub max_size: u64,
    /// How sites are split.
    pub split: Split,
    /// Who is charged.
    pub charge: Charge,
    /// What matters is what was live at `to`; all else is only told of what came before.
    pub instant: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Selection::EVERYTHING
    }
}

impl Selection {
    const EVERYTHING: Selection = Selection {
        from: 0,
        to: u64::MAX,
        min_size: 0,
        max_size: u64::MAX,
        split: Split::None,
        charge: Charge::Allocation,
        instant: false,
    };

    /// Whether some times or sizes are left out: what is known only of the whole recording has no place beside what is
    /// selected.
    pub fn is_part(&self) -> bool {
        Selection { split: Split::None, charge: Charge::Allocation, ..*self } != Selection::default()
    }

    /// Whether blocks of all sizes count.
    pub fn is_of_all_sizes(&self) -> bool {
        (self.min_size, self.max_size) == (0, u64::MAX)
    }

    /// Whether blocks of a size, bytes, count. What is about no block has the size that was asked for, or 0.
    pub fn admits_size(&self, size: u64) -> bool {
        (self.min_size..=self.max_size).contains(&size)
    }

    /// Whether sums of stacks are not split within an image.
    pub fn is_by_stack(&self) -> bool {
        matches!(self.split, Split::None | Split::Process)
    }

    /// Whether it is a span of time, with all that happened in it.
    pub fn is_span(&self) -> bool {
        let of_time = Selection { from: self.from, to: self.to, ..Selection::default() };
        self.is_part() && Selection { split: Split::None, charge: Charge::Allocation, ..*self } == of_time
    }

    /// Whether a cost counts.
    pub fn admits(&self, cost: &Cost) -> bool {
        (self.from..=self.to).contains(&cost.time) && self.admits_size(cost.size)
    }

    /// Whether the summaries in the file, of each image by stack, answer this.
    pub fn is_stored(&self) -> bool {
        self.is_by_stack() && Selection { split: Split::None, ..*self } == Selection::default()
    }
}

/// What a [`Tally`] asks for each event.
pub trait Select {
    /// Whether all events count: known when the code is compiled.
    const EVERYTHING: bool;
    /// Whether parts of sums are counted, see [`Tally::end_chapter`].
    const KEEPS_PARTS: bool = false;
    /// Which events count.
    fn get(&self) -> &Selection;
    /// Whether those of a thread count; `None`: of one that nobody knows.
    fn admits_thread(&self, _thread: Option<ThreadNo>) -> bool {
        true
    }
    /// Whether what a thread does with blocks of a size counts: all times aside.
    fn admits_part(&self, thread: impl Into<Option<ThreadNo>>, size: u64) -> bool {
        Self::EVERYTHING || self.get().admits_size(size) && self.admits_thread(thread.into())
    }
    /// Whether that is so for all threads and sizes.
    fn admits_all_parts(&self) -> bool {
        Self::EVERYTHING
    }
}

/// Some events of an image, perhaps only those of some threads.
#[derive(Clone, Debug)]
pub struct Part {
    selection: Selection,
    threads: Threads,
}

impl Part {
    /// What `selection` selects of all threads.
    pub fn all(selection: Selection) -> Part {
        Part::of(selection, Threads::All)
    }

    /// What `selection` selects of some threads.
    pub fn of(selection: Selection, threads: Threads) -> Part {
        Part { selection, threads }
    }

    /// The same from the first event on.
    fn since_the_start(&self) -> Part {
        Part::of(Selection { from: 0, ..self.selection }, self.threads.clone())
    }
}

impl Select for Part {
    const EVERYTHING: bool = false;

    fn get(&self) -> &Selection {
        &self.selection
    }

    fn admits_thread(&self, thread: Option<ThreadNo>) -> bool {
        self.threads.admit(thread)
    }

    fn admits_all_parts(&self) -> bool {
        self.threads == Threads::All && self.selection.is_of_all_sizes()
    }
}

/// All events count: known when the code is compiled, so that nothing is asked while a program is recorded.
pub struct Everything;

impl Select for Everything {
    const EVERYTHING: bool = true;
    const KEEPS_PARTS: bool = true;

    #[inline(always)]
    fn get(&self) -> &Selection {
        const { &Selection::EVERYTHING }
    }
}

/// Adds up events, in the order of their times. It remembers the live blocks; who does so anyway uses a [`Tally`].
pub struct Aggregator<S = Part> {
    tally: Tally<S>,
    blocks: BlockTable,
}

impl Aggregator {
    /// Goes on where a chapter begins, see [`Tally::resume`].
    fn resume(
        &mut self,
        chapter: &Chapter,
        live: impl Iterator<Item = (Option<NodeId>, u64, (u64, u64))>,
        curve: LiveCurve,
        window: Option<u64>,
    ) {
        self.tally.resume(chapter, live, curve, window);
        self.blocks.reserve(chapter.carried.len());
        for block in &chapter.carried {
            self.blocks.insert(block.number, self.tally.carried(block));
        }
    }

    /// Goes on where a chapter begins. Of what was live before, it knows the blocks that are released in the chapter, and
    /// how many bytes they all have.
    pub fn continuing(chapter: &Chapter) -> Self {
        let mut aggregator = Aggregator::new(Selection::default());
        aggregator.resume(chapter, std::iter::empty(), LiveCurve::default(), None);
        aggregator
    }

    /// For an image of which no event has been seen.
    pub fn new(selection: Selection) -> Self {
        Aggregator::of_part(Part::all(selection))
    }

    /// The same for some of the image's threads: for what they call and pay. A block is theirs if they allocated it,
    /// whoever frees it; a free is theirs if they called it, whosever the block was.
    ///
    /// Of threads as of sizes, a peak is their share of the image's peak, as it is of call sites.
    pub fn of(selection: Selection, threads: Threads) -> Self {
        Aggregator::of_part(Part::of(selection, threads))
    }

    /// The same.
    pub fn of_part(part: Part) -> Self {
        Aggregator { tally: Tally::new(part), blocks: BlockTable::new() }
    }
}

impl<S: Select> Aggregator<S> {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: &Event) {
        if !self.tally.admits(event) {
            return;
        }
        let pooled = event.op.is_pooled();
        match event.op.effect() {
            Effect::Acquire => {
                let block = if pooled { self.tally.acquire_pooled(event) } else { self.tally.acquire(event) };
                if let (Some(block), Block::Number(number)) = (block, event.block) {
                    self.blocks.insert(number, block);
                }
            }
            Effect::Release => {
                let block = match event.block {
                    Block::Number(number) => self.blocks.remove(number),
                    _ => None,
                };
                if pooled {
                    self.tally.release_pooled(event, block);
                } else if let Some(larger) = self.tally.release(event, block)
                    && let Some(block) = self.blocks.get_mut(larger.number)
                {
                    block.set_steps(larger.steps);
                }
            }
            Effect::Lend => {
                let block = match event.block {
                    Block::Number(number) => self.blocks.get(number),
                    _ => None,
                };
                self.tally.lend(event, block);
            }
            Effect::Other => self.tally.other(event),
        }
    }

    /// Adds a cost, in any order.
    pub fn cost(&mut self, cost: &Cost) {
        self.tally.cost(cost);
    }

    /// Each site's stack node, what it was split by, and its sums. `is_cut_off` says of a stack node whether its stack
    /// is not complete.
    pub fn sites(
        &mut self,
        is_cut_off: impl FnMut(Option<NodeId>) -> bool,
    ) -> impl ExactSizeIterator<Item = (Option<NodeId>, u64, Metrics)> {
        self.tally.sites(is_cut_off)
    }

    /// From now on, patterns can be taken. To be said before the first event.
    pub fn keep_patterns(&mut self) {
        self.tally.keep_patterns();
    }

    /// Whether the span has begun.
    pub fn has_begun(&self) -> bool {
        self.tally.has_begun()
    }

    /// How each stack node used memory since the last time that this was asked.
    pub fn take_patterns(&mut self) -> Vec<(Option<NodeId>, Pattern)> {
        self.tally.take_patterns()
    }

    /// Bytes live after the last event, of all threads and sizes.
    pub fn live_bytes(&self) -> u64 {
        self.tally.live_bytes()
    }

    /// Live bytes over time, of all threads and sizes.
    pub fn curve(&self) -> LiveCurve {
        self.tally.curve()
    }

    /// When live bytes were at their peak, units.
    pub fn peak_time(&self) -> u64 {
        self.tally.peak_time()
    }

    /// The peak of live blocks and the program's own mappings together, if all threads and sizes count.
    pub fn peak_with_mappings(&self) -> Option<PeakWithMappings> {
        self.tally.counts_all_parts().then(|| self.tally.peak_with_mappings())
    }
}

/// Names an operation from its number's bit in [`Metrics::operations`].
pub fn operations(bits: u64) -> impl Iterator<Item = Op> {
    Op::all().filter(move |op| bits >> op.0 & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::priced::Priced;
    use memtoll_trace::costs::{CostKind, Place};
    use proptest::prelude::*;

    const MALLOC: Op = Op::MALLOC;
    const FREE: Op = Op::FREE;

    fn event(op: Op, time: u64, thread: u32, node: u32, block: Block, size: u64) -> Event {
        let (node, thread) = (NodeId::new(node), ThreadNo::new(thread).unwrap());
        Event { time, duration: 1, size, address: 16, block, node, thread, detail: 0, op }
    }

    fn sum(events: &[Event], selection: Selection) -> Vec<(Option<NodeId>, Metrics)> {
        let mut aggregator = Aggregator::new(selection);
        for event in events {
            aggregator.push(event);
        }
        aggregator.sites(|node| node == NodeId::new(99)).map(|(node, _, metrics)| (node, metrics)).collect()
    }

    fn of(sites: &[(Option<NodeId>, Metrics)], node: u32) -> Metrics {
        sites.iter().find(|(n, _)| *n == NodeId::new(node)).map(|(_, metrics)| *metrics).unwrap()
    }

    #[test]
    fn temporary_means_freed_before_the_threads_next_allocation() {
        use Block::Number;
        let sites = sum(
            &[
                event(MALLOC, 1, 1, 10, Number(0), 8),
                event(MALLOC, 2, 2, 11, Number(1), 8), // another thread's does not matter
                event(FREE, 3, 2, 12, Number(0), 0),   // whoever frees
                event(MALLOC, 4, 2, 13, Number(2), 8),
                event(FREE, 5, 2, 12, Number(1), 0),
                event(FREE, 6, 2, 12, Block::Null, 0),
            ],
            Selection::default(),
        );
        assert_eq!(of(&sites, 10).temporary, 1);
        assert_eq!(of(&sites, 10).lifetime, 2);
        assert_eq!(of(&sites, 11).temporary, 0);
        assert_eq!(of(&sites, 12).frees, 2);
        assert_eq!(of(&sites, 12).free_null_calls, 1);
        assert_eq!(of(&sites, 13).live_bytes, 8);
    }

    #[test]
    fn a_reallocation_counts_once() {
        use Block::Number;
        let half = Op::REALLOC.release_half();
        let sites = sum(
            &[
                event(Op::REALLOC, 1, 1, 10, Number(0), 8), // of a null pointer
                event(half, 2, 1, 11, Number(0), 0),
                event(MALLOC, 3, 2, 12, Number(1), 1), // between the halves
                event(Op::REALLOC, 4, 1, 11, Number(2), 100),
                event(half, 5, 1, 11, Number(2), 0),
                event(Op::REALLOC, 6, 1, 11, Block::Null, 0), // to nothing
            ],
            Selection::default(),
        );
        assert_eq!((of(&sites, 10).allocations, of(&sites, 10).reallocations), (1, 0));
        let site = of(&sites, 11);
        assert_eq!((site.allocations, site.reallocations, site.events), (0, 2, 2));
        assert_eq!((site.bytes_allocated, site.live_bytes, site.frees, site.failed), (100, 0, 0, 0));
        assert_eq!((of(&sites, 10).timed_calls, site.timed_calls), (1, 2), "the one to nothing is a call as well");
    }

    #[test]
    fn a_window_knows_what_was_live_before() {
        use Block::Number;
        let events = [
            event(MALLOC, 1, 1, 10, Number(0), 8),
            event(MALLOC, 5, 1, 11, Number(1), 16),
            event(FREE, 6, 1, 12, Number(0), 0),
            event(FREE, 9, 1, 12, Number(1), 0),
        ];
        let sites = sum(&events, Selection { from: 5, to: 6, ..Selection::default() });
        assert_eq!((of(&sites, 10).allocations, of(&sites, 10).live_bytes, of(&sites, 10).peak_bytes), (0, 0, 8));
        assert_eq!((of(&sites, 11).allocations, of(&sites, 11).live_bytes), (1, 16));
        assert_eq!(of(&sites, 12).frees, 1);
        let mean_lifetime = |counts: Metrics| counts.lifetime.checked_div(Priced::from(counts).freed()).unwrap_or(0);
        let lifetimes = [10, 11].map(|node| mean_lifetime(of(&sites, node)));
        assert_eq!(lifetimes, [5, 0], "released in the span, whenever it was acquired, or not at all");
        let large = sum(&events, Selection { min_size: 10, ..Selection::default() });
        assert_eq!(large.iter().map(|(_, m)| m.allocations).sum::<u64>(), 1);
        assert_eq!(large.iter().map(|(_, m)| m.frees).sum::<u64>(), 1);
    }

    #[test]
    fn of_some_threads_and_sizes_the_peak_is_their_share() {
        use Block::Number;
        let events = [
            event(MALLOC, 1, 1, 10, Number(0), 8),
            event(MALLOC, 2, 2, 11, Number(1), 100),
            event(MALLOC, 3, 1, 12, Number(2), 200), // the peak
            event(FREE, 4, 1, 13, Number(1), 0),
            event(MALLOC, 5, 1, 10, Number(3), 16),
            event(FREE, 6, 1, 13, Block::Null, 0),
        ];
        let small = sum(&events, Selection { max_size: 99, ..Selection::default() });
        assert_eq!((of(&small, 10).peak_bytes, of(&small, 10).live_bytes), (8, 24));
        assert_eq!((of(&small, 13).frees, of(&small, 13).free_null_calls), (0, 1), "nothing was asked for: 0 bytes");
        let mut second = Aggregator::of(Selection::default(), Threads::Only([ThreadNo::new(2).unwrap()].into()));
        events.iter().for_each(|event| second.push(event));
        let second: Vec<_> = second.sites(|_| false).map(|(node, _, metrics)| (node, metrics)).collect();
        assert_eq!(second.len(), 1, "{second:?}");
        assert_eq!((of(&second, 11).peak_bytes, of(&second, 11).live_bytes), (100, 0));
    }

    #[test]
    fn pools_of_threads_that_do_not_count() {
        use Block::Number;
        let events = [
            event(MALLOC, 1, 1, 10, Number(0), 1000),
            event(Op::LEND, 2, 2, 30, Number(0), 0),
            event(Op::POOL_ALLOC, 2, 2, 30, Number(1), 300),
            event(Op::POOL_FREE, 3, 1, 40, Number(1), 0),
        ];
        for (until, threads, expected) in [
            (3, 1, &[(10, 700, 0)][..]),
            (4, 1, &[(10, 1000, 0), (40, 0, 1)]),
            (3, 2, &[(30, 300, 0)]),
            (4, 2, &[(30, 0, 0)]),
        ] {
            let mut aggregator =
                Aggregator::of(Selection::default(), Threads::Only([ThreadNo::new(threads).unwrap()].into()));
            events[..until].iter().for_each(|event| aggregator.push(event));
            let sites =
                aggregator.sites(|_| false).map(|(node, _, of)| (NodeId::or_zero(node), of.live_bytes, of.frees));
            assert_eq!(sites.collect::<Vec<_>>(), expected, "{until} events, thread {threads}");
        }
    }

    #[test]
    fn blocks_of_a_pool_are_live_in_place_of_its_chunk() {
        use Block::Number;
        let lend = |time, of| event(Op::LEND, time, 1, 30, Number(of), 0);
        let hand_out = |time, node, number, size| event(Op::POOL_ALLOC, time, 1, node, Number(number), size);
        let events = [
            event(MALLOC, 1, 1, 10, Number(0), 1000), // the chunk: the peak
            lend(2, 0),
            hand_out(2, 30, 1, 300),
            lend(3, 0),
            hand_out(3, 31, 2, 500), // as much is live, but more of it handed out
            event(Op::POOL_FREE, 4, 1, 40, Number(1), 0),
            event(MALLOC, 5, 1, 11, Number(3), 7), // more is live
            lend(6, 0),
            event(Op::POOL_REALLOC.release_half(), 6, 1, 31, Number(2), 0),
            event(Op::POOL_REALLOC, 6, 1, 31, Number(4), 600),
            event(FREE, 7, 1, 12, Number(3), 0),
            hand_out(8, 32, 5, 50), // of memory that nobody lends
        ];
        let until = |count: usize| sum(&events[..count], Selection::default());
        let bytes =
            |sites: &[(Option<NodeId>, Metrics)], node| (of(sites, node).peak_bytes, of(sites, node).live_bytes);
        let sites = until(5);
        assert_eq!([10, 30, 31].map(|node| bytes(&sites, node)), [(200, 200), (300, 300), (500, 500)]);
        let sites = until(7);
        assert_eq!([10, 11, 30, 31].map(|node| bytes(&sites, node)), [(500, 500), (7, 7), (0, 0), (500, 500)]);
        let sites = until(12);
        assert_eq!([10, 11, 31, 32].map(|node| bytes(&sites, node)), [(400, 400), (0, 0), (600, 600), (50, 50)]);
        let live: u64 = sites.iter().map(|(_, metrics)| metrics.live_bytes).sum();
        assert_eq!(live, 1050);
        let peak: u64 = sites.iter().map(|(_, metrics)| metrics.peak_bytes).sum();
        assert_eq!(peak, 1050);
        // What the calls took is not known: there is nothing that stamps could have added to.
        assert_eq!([30, 31, 40].map(|node| of(&sites, node).timed_calls), [0; 3]);
        let site = of(&sites, 31);
        assert_eq!((site.allocations, site.reallocations, site.bytes_allocated, site.events), (1, 1, 1100, 2));
        assert_eq!((of(&sites, 40).frees, of(&sites, 30).lifetime), (1, 2));
        // Of large blocks only: the chunk lends nothing to what is left out.
        let large = sum(&events, Selection { min_size: 400, ..Selection::default() });
        assert_eq!((of(&large, 10).live_bytes, of(&large, 31).live_bytes), (400, 600));
    }

    #[test]
    fn the_allocating_site_is_charged_for_releases_and_faults() {
        use Block::Number;
        let half = Op::REALLOC.release_half();
        let events = [
            Event { duration: 10, ..event(MALLOC, 1, 1, 10, Number(0), 8) },
            Event { duration: 10, ..event(MALLOC, 2, 1, 10, Number(1), 8) },
            Event { duration: 5, ..event(FREE, 3, 1, 12, Number(0), 0) },
            event(half, 4, 1, 13, Number(1), 0),
            Event { duration: 7, ..event(Op::REALLOC, 4, 1, 13, Number(2), 64) },
            Event { duration: 3, ..event(FREE, 5, 1, 12, Block::Unknown, 0) },
        ];
        let cost = |kind, amount, inside| Cost {
            time: 2,
            kind,
            inside,
            thread: Some(ThreadNo::FIRST),
            amount,
            node: NodeId::new(10),
            size: 8,
            place: Place::call(NodeId::new(12)),
            holder: None,
        };
        let costs = [
            cost(CostKind::Fault, 3, true),
            cost(CostKind::Fault, 4, false),
            cost(CostKind::MajorFault, 1, false),
            cost(CostKind::Mapping, 6, true),
            cost(CostKind::Waiting, 2, true),
            cost(CostKind::OffProcessor, 1000, false),
        ];
        let charged = |charge| {
            let mut aggregator = Aggregator::new(Selection { charge, ..Selection::default() });
            events.iter().for_each(|event| aggregator.push(event));
            costs.iter().for_each(|cost| aggregator.cost(cost));
            aggregator.sites(|_| false).map(|(node, _, metrics)| (node, metrics)).collect::<Vec<_>>()
        };
        let sites = charged(Charge::Allocation);
        let site = of(&sites, 10);
        assert_eq!((site.allocator_time, site.timed_calls), (25, 3));
        assert_eq!((site.faults, site.faults_inside, site.major_faults), (7, 3, 1));
        assert_eq!((site.mapping_time, site.mapping_inside, site.waiting_time), (6, 6, 2));
        assert_eq!((of(&sites, 13).allocator_time, of(&sites, 13).timed_calls), (7, 1));
        assert_eq!((of(&sites, 12).allocator_time, of(&sites, 12).timed_calls), (3, 1));
        let sites = charged(Charge::Payment);
        assert_eq!((of(&sites, 10).allocator_time, of(&sites, 10).faults), (20, 0));
        assert_eq!((of(&sites, 12).allocator_time, of(&sites, 12).timed_calls, of(&sites, 12).faults), (8, 2, 7));
    }

    proptest! {
        /// Peaks, live bytes and counts against a model that remembers everything.
        #[test]
        fn sums_are_those_of_a_simple_model(steps in proptest::collection::vec((0u32..5, 0u64..1000, 0usize..64), 1..300)) {
            let mut events = Vec::new();
            let mut live: Vec<(u64, u32, u64)> = Vec::new();
            let mut next = 0;
            let mut peak = 0u64;
            let mut at_peak: Vec<(u64, u32, u64)> = Vec::new();
            for (time, (site, size, pick)) in steps.into_iter().enumerate() {
                if site == 4 && !live.is_empty() {
                    let (number, ..) = live.remove(pick % live.len());
                    events.push(event(FREE, time as u64, 1, 50, Block::Number(number), 0));
                } else {
                    events.push(event(MALLOC, time as u64, 1, 10 + site, Block::Number(next), size));
                    live.push((next, 10 + site, size));
                    next += 1;
                    let now: u64 = live.iter().map(|block| block.2).sum();
                    if now > peak {
                        peak = now;
                        at_peak = live.clone();
                    }
                }
            }
            for (node, metrics) in sum(&events, Selection::default()) {
                let bytes = |blocks: &[(u64, u32, u64)]| blocks.iter().filter(|b| NodeId::new(b.1) == node).map(|b| b.2).sum::<u64>();
                prop_assert_eq!(metrics.live_bytes, bytes(&live));
                prop_assert_eq!(metrics.peak_bytes, bytes(&at_peak));
            }
        }
    }
}
