//! Adds up the events of one process image, by call site.
//!
//! The same code runs while the program is recorded (its result goes into the file, so that the first report is there at
//! once) and over the events of a file, when a report asks for a span of time, for threads or for sizes.

use crate::block_table::{BlockTable, LiveBlock};
use crate::curve::CurveBuilder;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::summary::{Metrics, Summary};
use rustc_hash::FxHashMap;

pub use crate::curve::peak_of_sum;

/// What else tells two sites apart, beside the call stack.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Split {
    /// Nothing.
    #[default]
    None,
    /// The thread that calls.
    Thread,
    /// The size of the block, bytes.
    Size,
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
}

impl Default for Selection {
    fn default() -> Self {
        Selection { from: 0, to: u64::MAX, min_size: 0, max_size: u64::MAX, split: Split::None }
    }
}

impl Selection {
    /// Whether a file's stored summary answers this.
    pub fn is_everything(&self) -> bool {
        *self == Selection::default()
    }
}

struct Site {
    node: u32,
    extra: u64,
    /// Which peak `metrics.peak_bytes` belongs to; if it is not the last one, the site has not changed since then and
    /// its live bytes are its share of the peak.
    peak: u64,
    metrics: Metrics,
}

#[derive(Clone, Copy)]
struct Thread {
    last_block: u64,
    reallocates: bool,
}

const NO_BLOCK: u64 = u64::MAX;

/// Adds up events, in the order of their times.
pub struct Aggregator {
    selection: Selection,
    sites: Vec<Site>,
    by_node: Vec<u32>, // site + 1
    by_extra: FxHashMap<(u32, u64), u32>,
    threads: Vec<Thread>,
    blocks: BlockTable,
    live_bytes: u64,
    peak_bytes: u64,
    peak: u64, // number of the present peak
    peak_time: u64,
    in_window: bool,
    curve: CurveBuilder,
}

impl Aggregator {
    /// For an image of which no event has been seen.
    pub fn new(selection: Selection) -> Self {
        Aggregator {
            selection,
            sites: Vec::new(),
            by_node: Vec::new(),
            by_extra: FxHashMap::default(),
            threads: Vec::new(),
            blocks: BlockTable::new(),
            live_bytes: 0,
            peak_bytes: 0,
            peak: 0,
            peak_time: 0,
            in_window: false,
            curve: CurveBuilder::new(),
        }
    }

    /// Bytes live after the last event.
    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    #[inline]
    fn site(&mut self, node: u32, extra: impl FnOnce(Split) -> u64) -> usize {
        if self.selection.split == Split::None {
            if let Some(&site) = self.by_node.get(node as usize)
                && site != 0
            {
                return site as usize - 1;
            }
            return self.new_site(node);
        }
        let extra = extra(self.selection.split);
        let sites = &mut self.sites;
        *self.by_extra.entry((node, extra)).or_insert_with(|| {
            sites.push(Site { node, extra, peak: 0, metrics: Metrics::default() });
            sites.len() as u32 - 1
        }) as usize
    }

    #[cold]
    fn new_site(&mut self, node: u32) -> usize {
        let index = self.sites.len();
        self.sites.push(Site { node, extra: 0, peak: 0, metrics: Metrics::default() });
        if self.by_node.len() <= node as usize {
            self.by_node.resize((node as usize + 1).next_power_of_two(), 0);
        }
        self.by_node[node as usize] = index as u32 + 1;
        index
    }

    #[inline]
    fn thread(&mut self, thread: u32) -> &mut Thread {
        let index = thread as usize;
        if index >= self.threads.len() {
            self.threads.resize(index + 1, Thread { last_block: NO_BLOCK, reallocates: false });
        }
        &mut self.threads[index]
    }

    /// A site's live bytes are about to change: keeps its share of the present peak.
    #[inline]
    fn keep_peak(site: &mut Site, peak: u64) {
        if site.peak != peak {
            site.peak = peak;
            site.metrics.peak_bytes = site.metrics.live_bytes;
            site.metrics.peak_allocations = site.metrics.live_allocations;
        }
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: &Event) {
        if event.time > self.selection.to {
            return;
        }
        if event.time >= self.selection.from && !self.in_window {
            self.in_window = true;
            self.peak += 1;
            self.peak_bytes = self.live_bytes;
            self.peak_time = event.time;
        }
        match event.op.effect() {
            Effect::Acquire => self.acquire(event),
            Effect::Release => self.release(event),
            Effect::Other => self.other(event),
        }
    }

    #[inline]
    fn acquire(&mut self, event: &Event) {
        let reallocates = event.op.is_reallocation() && std::mem::take(&mut self.thread(event.thread).reallocates);
        if event.size < self.selection.min_size || event.size > self.selection.max_size {
            if let Block::Number(_) = event.block {
                self.thread(event.thread).last_block = NO_BLOCK;
            }
            return;
        }
        let counts = self.in_window as u64;
        let index = self.site(event.node, |split| match split {
            Split::Thread => event.thread as u64,
            _ => event.size,
        });
        let peak = self.peak;
        let site = &mut self.sites[index];
        Self::keep_peak(site, peak);
        let metrics = &mut site.metrics;
        metrics.events += counts;
        metrics.allocator_time += counts * event.duration;
        metrics.operations |= counts << event.op.0;
        if reallocates {
            metrics.reallocations += counts;
        }
        let Block::Number(number) = event.block else {
            // realloc to size 0 gives no block and has not failed.
            metrics.failed += counts * !(reallocates && event.size == 0) as u64;
            return;
        };
        metrics.allocations += counts * !reallocates as u64;
        metrics.bytes_allocated += counts * event.size;
        metrics.largest = metrics.largest.max(counts * event.size);
        metrics.live_bytes += event.size;
        metrics.live_allocations += 1;
        let before = self.live_bytes;
        self.live_bytes += event.size;
        self.curve.change(event.time, before, self.live_bytes);
        if self.live_bytes > self.peak_bytes && self.in_window {
            self.peak_bytes = self.live_bytes;
            self.peak_time = event.time;
            self.peak += 1;
        }
        self.thread(event.thread).last_block = number;
        self.blocks.insert(
            number,
            LiveBlock { size: event.size, time: event.time, site: index as u32, thread: event.thread },
        );
    }

    #[inline]
    fn release(&mut self, event: &Event) {
        let counts = self.in_window as u64;
        let reallocates = event.op.is_release_half();
        let block = match event.block {
            Block::Number(number) => self.blocks.remove(number).map(|block| (number, block)),
            _ => None,
        };
        if let Some((number, block)) = block {
            let peak = self.peak;
            let temporary = self.threads.get(block.thread as usize).is_some_and(|t| t.last_block == number);
            let site = &mut self.sites[block.site as usize];
            Self::keep_peak(site, peak);
            let metrics = &mut site.metrics;
            metrics.live_bytes -= block.size;
            metrics.live_allocations -= 1;
            metrics.lifetime += counts * (event.time - block.time);
            metrics.temporary += counts * (temporary && !reallocates) as u64;
            let before = self.live_bytes;
            self.live_bytes -= block.size;
            self.curve.change(event.time, before, self.live_bytes);
        }
        if reallocates {
            self.thread(event.thread).reallocates = true;
            return;
        }
        let size = block.map_or(0, |(_, block)| block.size);
        if block.is_none() && matches!(event.block, Block::Number(_)) {
            return; // a block that the selection leaves out
        }
        let index = self.site(event.node, |split| match split {
            Split::Thread => event.thread as u64,
            _ => size,
        });
        let metrics = &mut self.sites[index].metrics;
        metrics.events += counts;
        metrics.allocator_time += counts * event.duration;
        metrics.operations |= counts << event.op.0;
        match event.block {
            Block::Null => metrics.free_null_calls += counts,
            _ => metrics.frees += counts,
        }
    }

    fn other(&mut self, event: &Event) {
        if event.op.is_release_half() {
            return;
        }
        let counts = self.in_window as u64;
        let index = self.site(event.node, |split| match split {
            Split::Thread => event.thread as u64,
            _ => event.size,
        });
        let metrics = &mut self.sites[index].metrics;
        metrics.events += counts;
        metrics.operations |= counts << event.op.0;
    }

    /// The sums, with what each site was split by. `is_cut_off` says of a stack node whether its stack is not complete.
    pub fn finish_split(mut self, mut is_cut_off: impl FnMut(u32) -> bool) -> (Summary, Vec<u64>) {
        let mut extras = Vec::with_capacity(self.sites.len());
        let mut sites = Vec::with_capacity(self.sites.len());
        for mut site in std::mem::take(&mut self.sites) {
            Self::keep_peak(&mut site, self.peak);
            if is_cut_off(site.node) {
                site.metrics.truncated_stacks = site.metrics.events;
            }
            extras.push(site.extra);
            sites.push((site.node, site.metrics));
        }
        (Summary { sites, curve: self.curve.finish(), peak_time: self.peak_time }, extras)
    }

    /// The sums. `is_cut_off` says of a stack node whether its stack is not complete.
    pub fn finish(self, is_cut_off: impl FnMut(u32) -> bool) -> Summary {
        self.finish_split(is_cut_off).0
    }
}

/// Names an operation from its number's bit in [`Metrics::operations`].
pub fn operations(bits: u64) -> impl Iterator<Item = Op> {
    Op::all().filter(move |op| bits >> op.0 & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MALLOC: Op = Op(1);
    const FREE: Op = Op(10);

    fn event(op: Op, time: u64, thread: u32, node: u32, block: Block, size: u64) -> Event {
        Event { time, duration: 1, size, address: 16, block, node, thread, detail: 0, op }
    }

    fn sum(events: &[Event], selection: Selection) -> Vec<(u32, Metrics)> {
        let mut aggregator = Aggregator::new(selection);
        for event in events {
            aggregator.push(event);
        }
        aggregator.finish(|node| node == 99).sites
    }

    fn of(sites: &[(u32, Metrics)], node: u32) -> Metrics {
        sites.iter().find(|(n, _)| *n == node).map(|(_, metrics)| *metrics).unwrap()
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
        let large = sum(&events, Selection { min_size: 10, ..Selection::default() });
        assert_eq!(large.iter().map(|(_, m)| m.allocations).sum::<u64>(), 1);
        assert_eq!(large.iter().map(|(_, m)| m.frees).sum::<u64>(), 1);
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
                let bytes = |blocks: &[(u64, u32, u64)]| blocks.iter().filter(|b| b.1 == node).map(|b| b.2).sum::<u64>();
                prop_assert_eq!(metrics.live_bytes, bytes(&live));
                prop_assert_eq!(metrics.peak_bytes, bytes(&at_peak));
            }
        }
    }
}
