//! Sums of small lists of events, and of random ones against a simple model.

use super::*;
use crate::Charge;
use memtoll_trace::cells::Cells;
use memtoll_trace::costs::{CostKind, Place};
use memtoll_trace::histogram::Histogram;
use memtoll_trace::ids::{Address, BlockNo, Bytes, ThreadNo, Units};
use memtoll_trace::op::Op;
use memtoll_trace::pattern::{Pattern, ThreadSet};
use proptest::prelude::*;

const MALLOC: Op = Op::MALLOC;
const FREE: Op = Op::FREE;

fn number(of: u64) -> Block {
    Block::Number(BlockNo(of))
}

fn event(op: Op, time: u64, thread: u32, node: u32, block: Block, size: u64) -> Event {
    let (node, thread) = (NodeId::new(node), ThreadNo::new(thread).unwrap());
    Event {
        time: Units(time),
        duration: Units(1),
        size: Bytes(size),
        address: Address(16),
        block,
        node,
        thread,
        detail: 0,
        op,
    }
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
    let sites = sum(
        &[
            event(MALLOC, 1, 1, 10, number(0), 8),
            event(MALLOC, 2, 2, 11, number(1), 8), // another thread's does not matter
            event(FREE, 3, 2, 12, number(0), 0),   // whoever frees
            event(MALLOC, 4, 2, 13, number(2), 8),
            event(FREE, 5, 2, 12, number(1), 0),
            event(FREE, 6, 2, 12, Block::Null, 0),
        ],
        Selection::default(),
    );
    assert_eq!(of(&sites, 10).temporary, 1);
    assert_eq!(of(&sites, 10).lifetime, Units(2));
    assert_eq!(of(&sites, 11).temporary, 0);
    assert_eq!(of(&sites, 12).frees, 2);
    assert_eq!(of(&sites, 12).null_frees, 1);
    assert_eq!(of(&sites, 13).live_bytes, Bytes(8));
}

#[test]
fn a_reallocation_counts_once() {
    let half = Op::REALLOC.release_half();
    let sites = sum(
        &[
            event(Op::REALLOC, 1, 1, 10, number(0), 8), // of a null pointer
            event(half, 2, 1, 11, number(0), 0),
            event(MALLOC, 3, 2, 12, number(1), 1), // between the halves
            event(Op::REALLOC, 4, 1, 11, number(2), 100),
            event(half, 5, 1, 11, number(2), 0),
            event(Op::REALLOC, 6, 1, 11, Block::Null, 0), // to nothing
        ],
        Selection::default(),
    );
    assert_eq!((of(&sites, 10).new_blocks, of(&sites, 10).reallocations), (1, 0));
    let site = of(&sites, 11);
    assert_eq!((site.new_blocks, site.reallocations, site.events), (0, 2, 2));
    assert_eq!((site.bytes, site.live_bytes, site.frees, site.failed), (Bytes(100), Bytes(0), 0, 0));
    assert_eq!((of(&sites, 10).timed_calls, site.timed_calls), (1, 2), "the one to nothing is a call as well");
}

#[test]
fn a_window_knows_what_was_live_before() {
    let events = [
        event(MALLOC, 1, 1, 10, number(0), 8),
        event(MALLOC, 5, 1, 11, number(1), 16),
        event(FREE, 6, 1, 12, number(0), 0),
        event(FREE, 9, 1, 12, number(1), 0),
    ];
    let sites = sum(&events, Selection { from: Units(5), to: Units(6), ..Selection::default() });
    assert_eq!(
        (of(&sites, 10).new_blocks, of(&sites, 10).live_bytes, of(&sites, 10).peak_bytes),
        (0, Bytes(0), Bytes(8))
    );
    assert_eq!((of(&sites, 11).new_blocks, of(&sites, 11).live_bytes), (1, Bytes(16)));
    assert_eq!(of(&sites, 12).frees, 1);
    let lifetimes = [10, 11].map(|node| of(&sites, node).lifetime);
    assert_eq!(lifetimes, [Units(5), Units(0)], "released in the span, whenever it was acquired, or not at all");
    let large = sum(&events, Selection { min_size: Bytes(10), ..Selection::default() });
    assert_eq!(large.iter().map(|(_, m)| m.new_blocks).sum::<u64>(), 1);
    assert_eq!(large.iter().map(|(_, m)| m.frees).sum::<u64>(), 1);
}

#[test]
fn of_some_threads_and_sizes_the_peak_is_their_share() {
    let events = [
        event(MALLOC, 1, 1, 10, number(0), 8),
        event(MALLOC, 2, 2, 11, number(1), 100),
        event(MALLOC, 3, 1, 12, number(2), 200), // the peak
        event(FREE, 4, 1, 13, number(1), 0),
        event(MALLOC, 5, 1, 10, number(3), 16),
        event(FREE, 6, 1, 13, Block::Null, 0),
    ];
    let small = sum(&events, Selection { max_size: Bytes(99), ..Selection::default() });
    assert_eq!((of(&small, 10).peak_bytes, of(&small, 10).live_bytes), (Bytes(8), Bytes(24)));
    assert_eq!((of(&small, 13).frees, of(&small, 13).null_frees), (0, 1), "nothing was asked for: 0 bytes");
    let mut second = Aggregator::of(Selection::default(), Threads::Only([ThreadNo::new(2).unwrap()].into()));
    events.iter().for_each(|event| second.push(event));
    let second: Vec<_> = second.sites(|_| false).map(|(node, _, metrics)| (node, metrics)).collect();
    assert_eq!(second.len(), 1, "{second:?}");
    assert_eq!((of(&second, 11).peak_bytes, of(&second, 11).live_bytes), (Bytes(100), Bytes(0)));
}

#[test]
fn pools_of_threads_that_do_not_count() {
    let events = [
        event(MALLOC, 1, 1, 10, number(0), 1000),
        event(Op::LEND, 2, 2, 30, number(0), 0),
        event(Op::POOL_ALLOC, 2, 2, 30, number(1), 300),
        event(Op::POOL_FREE, 3, 1, 40, number(1), 0),
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
        let sites = aggregator.sites(|_| false).map(|(node, _, of)| (NodeId::or_zero(node), of.live_bytes.0, of.frees));
        assert_eq!(sites.collect::<Vec<_>>(), expected, "{until} events, thread {threads}");
    }
}

#[test]
fn blocks_of_a_pool_are_live_in_place_of_its_chunk() {
    let lend = |time, of| event(Op::LEND, time, 1, 30, number(of), 0);
    let hand_out = |time, node, block, size| event(Op::POOL_ALLOC, time, 1, node, number(block), size);
    let events = [
        event(MALLOC, 1, 1, 10, number(0), 1000), // the chunk: the peak
        lend(2, 0),
        hand_out(2, 30, 1, 300),
        lend(3, 0),
        hand_out(3, 31, 2, 500), // as much is live, but more of it handed out
        event(Op::POOL_FREE, 4, 1, 40, number(1), 0),
        event(MALLOC, 5, 1, 11, number(3), 7), // more is live
        lend(6, 0),
        event(Op::POOL_REALLOC.release_half(), 6, 1, 31, number(2), 0),
        event(Op::POOL_REALLOC, 6, 1, 31, number(4), 600),
        event(FREE, 7, 1, 12, number(3), 0),
        hand_out(8, 32, 5, 50), // of memory that nobody lends
    ];
    let until = |count: usize| sum(&events[..count], Selection::default());
    let bytes =
        |sites: &[(Option<NodeId>, Metrics)], node| (of(sites, node).peak_bytes.0, of(sites, node).live_bytes.0);
    let sites = until(5);
    assert_eq!([10, 30, 31].map(|node| bytes(&sites, node)), [(200, 200), (300, 300), (500, 500)]);
    let sites = until(7);
    assert_eq!([10, 11, 30, 31].map(|node| bytes(&sites, node)), [(500, 500), (7, 7), (0, 0), (500, 500)]);
    let sites = until(12);
    assert_eq!([10, 11, 31, 32].map(|node| bytes(&sites, node)), [(400, 400), (0, 0), (600, 600), (50, 50)]);
    let live: Bytes = sites.iter().map(|(_, metrics)| metrics.live_bytes).sum();
    assert_eq!(live, Bytes(1050));
    let peak: Bytes = sites.iter().map(|(_, metrics)| metrics.peak_bytes).sum();
    assert_eq!(peak, Bytes(1050));
    // What the calls took is not known: there is nothing that stamps could have added to.
    assert_eq!([30, 31, 40].map(|node| of(&sites, node).timed_calls), [0; 3]);
    let site = of(&sites, 31);
    assert_eq!((site.new_blocks, site.reallocations, site.bytes, site.events), (1, 1, Bytes(1100), 2));
    assert_eq!((of(&sites, 40).frees, of(&sites, 30).lifetime), (1, Units(2)));
    // Of large blocks only: the chunk lends nothing to what is left out.
    let large = sum(&events, Selection { min_size: Bytes(400), ..Selection::default() });
    assert_eq!((of(&large, 10).live_bytes, of(&large, 31).live_bytes), (Bytes(400), Bytes(600)));
}

/// What the first thread pays at node 12 for a block of node 10.
fn paid(kind: CostKind, time: u64, inside: Option<u64>, amount: u64) -> Cost {
    Cost {
        inside: inside.map(Units),
        thread: Some(ThreadNo::FIRST),
        node: NodeId::new(10),
        size: Bytes(8),
        place: Place::call(NodeId::new(12)),
        ..Cost::of(kind, Units(time), amount)
    }
}

#[test]
fn the_allocating_site_is_charged_for_releases_and_faults() {
    let half = Op::REALLOC.release_half();
    let events = [
        Event { duration: Units(10), ..event(MALLOC, 1, 1, 10, number(0), 8) },
        Event { duration: Units(10), ..event(MALLOC, 2, 1, 10, number(1), 8) },
        Event { duration: Units(5), ..event(FREE, 3, 1, 12, number(0), 0) },
        event(half, 4, 1, 13, number(1), 0),
        Event { duration: Units(7), ..event(Op::REALLOC, 4, 1, 13, number(2), 64) },
        Event { duration: Units(3), ..event(FREE, 5, 1, 12, Block::Unknown, 0) },
    ];
    let cost = |kind, amount, inside: bool| paid(kind, 2, inside.then_some(2), amount);
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
    assert_eq!((site.allocator_time, site.timed_calls), (Units(25), 3));
    assert_eq!((site.small_faults, site.small_faults_inside, site.major_faults), (7, 3, 1));
    assert_eq!((site.mapping_time, site.mapping_inside, site.waiting_time), (Units(6), Units(6), Units(2)));
    assert_eq!((of(&sites, 13).allocator_time, of(&sites, 13).timed_calls), (Units(7), 1));
    assert_eq!((of(&sites, 12).allocator_time, of(&sites, 12).timed_calls), (Units(3), 1));
    let sites = charged(Charge::Payment);
    assert_eq!((of(&sites, 10).allocator_time, of(&sites, 10).small_faults), (Units(20), 0));
    assert_eq!(
        (of(&sites, 12).allocator_time, of(&sites, 12).timed_calls, of(&sites, 12).small_faults),
        (Units(8), 2, 7)
    );
}

/// A span has of a call without its wait all or nothing, and of the wait what lies in it.
#[test]
fn a_span_that_ends_within_a_wait_has_a_part_of_it() {
    let waits = paid(CostKind::Waiting, 50, Some(10), 40);
    let events = [
        Event { duration: Units(3), ..event(MALLOC, 5, 1, 10, number(0), 8) },
        Event { duration: Units(45), ..event(FREE, 10, 1, 12, number(0), 0) },
    ];
    let between = |from, to| {
        let selection = Selection { from: Units(from), to: Units(to), ..Selection::default() };
        let mut aggregator = Aggregator::new(selection);
        events.iter().for_each(|event| aggregator.push(event));
        aggregator.cost(&waits);
        let sites: Vec<_> = aggregator.sites(|_| false).map(|(node, _, metrics)| (node, metrics)).collect();
        let Metrics { allocator_time, waiting_time, .. } = of(&sites, 10);
        (waiting_time.0, allocator_time.wrapping_sub(waiting_time).0)
    };
    assert_eq!([between(0, 29), between(30, 39), between(40, 99)], [(20, 3 + 5), (10, 0), (10, 0)]);
    assert_eq!((between(0, u64::MAX), between(60, 70)), ((40, 3 + 5), (0, 0)));
}

#[test]
fn a_thread_pays_for_its_own_calls() {
    let waits = Cost { thread: ThreadNo::new(2), ..paid(CostKind::Waiting, 3, Some(3), 40) };
    let events = [
        Event { duration: Units(10), ..event(MALLOC, 1, 1, 10, number(0), 8) },
        Event { duration: Units(20), ..event(MALLOC, 2, 1, 10, number(1), 8) },
        Event { duration: Units(50), ..event(FREE, 3, 2, 12, number(0), 0) },
        Event { duration: Units(7), ..event(FREE, 4, 1, 12, number(1), 0) },
    ];
    let read = |mut aggregator: Aggregator| {
        events.iter().for_each(|event| aggregator.push(event));
        aggregator.cost(&waits);
        let paid = |metrics: &Metrics| (metrics.allocator_time.0, metrics.timed_calls, metrics.waiting_time.0);
        let sites = aggregator.sites(|_| false).map(|(node, extra, metrics)| {
            (NodeId::or_zero(node), extra, paid(&metrics), metrics.new_blocks, metrics.lifetime.0)
        });
        let mut sites: Vec<_> = sites.filter(|(node, ..)| *node == 10).collect();
        sites.sort_unstable();
        sites
    };
    let of_first = (37, 3, 0);
    let of_second = (50, 1, 40);
    let by_thread = Selection { split: crate::Split::Thread, ..Selection::default() };
    let blocks_live_for = 2 + 2;
    assert_eq!(
        read(Aggregator::new(by_thread)),
        [(10, 1, of_first, 2, blocks_live_for), (10, 2, of_second, 0, 0)],
        "the second thread freed a block of the first, and waited for that"
    );
    assert_eq!(read(Aggregator::new(Selection::default())), [(10, 0, (87, 4, 40), 2, blocks_live_for)]);
    let only = |thread| Threads::Only([ThreadNo::new(thread).unwrap()].into());
    assert_eq!(read(Aggregator::of(Selection::default(), only(1))), [(10, 0, of_first, 2, blocks_live_for)]);
    assert_eq!(read(Aggregator::of(Selection::default(), only(2))), [(10, 0, of_second, 0, 0)]);
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
                let (block, ..) = live.remove(pick % live.len());
                events.push(event(FREE, time as u64, 1, 50, number(block), 0));
            } else {
                events.push(event(MALLOC, time as u64, 1, 10 + site, number(next), size));
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
            let bytes = |blocks: &[(u64, u32, u64)]| Bytes(blocks.iter().filter(|b| NodeId::new(b.1) == node).map(|b| b.2).sum());
            prop_assert_eq!(metrics.live_bytes, bytes(&live));
            prop_assert_eq!(metrics.peak_bytes, bytes(&at_peak));
        }
    }
}

#[test]
fn a_pattern_has_nothing_of_the_sites_before_it() {
    let histogram = |values: &[u64]| {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.count(*value));
        histogram
    };
    let mut aggregator = Aggregator::new(Selection::default());
    aggregator.keep_patterns();
    let first = [
        event(MALLOC, 1, 1, 10, number(0), 8),
        event(MALLOC, 2, 1, 10, number(1), 100),
        event(FREE, 3, 1, 12, number(0), 0), // the block has grown by hand
        event(MALLOC, 5, 1, 10, number(2), 3000),
        event(FREE, 9, 1, 13, number(2), 0),
        event(MALLOC, 10, 1, 11, number(3), 40),
    ];
    first.iter().for_each(|event| aggregator.push(event));
    let taken = aggregator.take_patterns();
    let of = |node| taken.iter().find(|(of, _)| *of == NodeId::new(node)).map(|(_, pattern)| pattern);
    let many = of(10).unwrap();
    assert_eq!(many.sizes, histogram(&[8, 100, 3000]));
    assert_eq!(many.lifetimes, histogram(&[2, 4]));
    assert_eq!(many.cells.iter().collect::<Vec<_>>(), [(4, 2, 1), (12, 3, 1)]);
    let [(node, growth)] = many.replaced.as_slice() else { panic!("{many:?}") };
    assert_eq!((*node, &growth.grown_to), (NodeId::new(12), &histogram(&[100])));
    let mut threads = ThreadSet::default();
    threads.insert(ThreadNo::FIRST);
    let one = Pattern { first: Some(10), last: 10, sizes: histogram(&[40]), acquiring: threads, ..Pattern::default() };
    assert_eq!(of(11), Some(&one));

    // Only what happened since.
    aggregator.push(&event(FREE, 12, 1, 12, number(3), 0));
    let taken = aggregator.take_patterns();
    let mut cells = Cells::default();
    cells.count(40, 2);
    let released = Pattern { lifetimes: histogram(&[2]), cells, releasing: threads, ..Pattern::default() };
    assert_eq!(taken, [(NodeId::new(11), released)]);
}
