use super::*;
use crate::costs::Costs;
use memtoll_text::amounts::Nanoseconds;
use memtoll_trace::costs::Charge;
use memtoll_trace::ids::Units;
use memtoll_trace::meta::Price;
use proptest::collection::vec;
use proptest::prelude::*;

fn tariff() -> Tariff {
    let price = |median| Price { median, p10: median, p90: median };
    let prices = Prices {
        minor_fault: price(1000.0),
        minor_fault_unzeroed: price(900.0),
        zeroing: price(400.0),
        huge_fault: Some(price(100_000.0)),
        malloc_free: price(40.0),
        ..Prices::default()
    };
    let clock = Clock { units_per_second: 2e8, stamp: 2.0 }; // a unit is 5 ns, two stamps take 10 ns
    let mut tariff = Tariff::new(clock, prices, 4096);
    tariff.faults.sample = 100.0;
    tariff
}

fn costs(metrics: Metrics) -> Costs {
    tariff().price(&metrics).costs()
}

#[test]
fn faults_that_cost_more_than_their_calls_show_as_an_error() {
    // 10 calls of 5,000 ns together without the stamps, in which 20 faults happened: on average, these cost 20,000.
    let many = Metrics {
        timed_calls: 10,
        allocator_time: Units(1020),
        small_faults: 30,
        small_faults_inside: 20,
        ..Metrics::default()
    };
    let found = tariff().price(&many);
    let costs = found.costs();
    // 10 calls x 20 ns are the least.
    assert_eq!((costs.allocator, costs.faults, costs.zeroing), (200.0, 30_000.0, 30.0 * 400.0));
    assert_eq!(found.overdrawn_ns, Nanoseconds(20_000 - 5_000));
    let faults = tariff().estimates(&found).faults;
    assert!(faults.low <= 15_000.0 && faults.value == 30_000.0, "{faults:?}");
    // Calls that took less than the least, by the scatter of stamps, have the least.
    let short = tariff().price(&Metrics { allocator_time: Units(30), small_faults: 0, small_faults_inside: 0, ..many });
    assert_eq!((short.allocator_ns, short.overdrawn_ns), (Nanoseconds(200), Nanoseconds::ZERO));
}

/// What is not known because records were lost is in the intervals; the values stay.
#[test]
fn what_lost_records_were_about_is_in_the_intervals() {
    let site = Metrics {
        timed_calls: 10,
        allocator_time: Units(5000),
        small_faults: 30,
        mapping_time: Units(2000),
        ..Metrics::default()
    };
    let site = tariff().price(&Metrics { waiting_time: Units(3000), ..site });
    let all = tariff().estimates(&site);
    let lossy = Tariff { lost: Lost { faults: 1e6, running: 0, switches: 0.002 }, ..tariff() };
    let some = lossy.estimates(&site);
    assert_eq!((some.faults.value, some.mapping.value, some.waiting.value), (30_000.0, 10_000.0, 15_000.0));
    assert!(all.faults.high < 100_000.0 && some.faults.high >= 1e6 && some.faults.low == all.faults.low, "{some:?}");
    // A switch inside one of 500 calls takes as long as 100 of them.
    assert!((all.mapping.low - 8500.0).abs() < 1e-6 && (some.mapping.low - 6500.0).abs() < 1e-6, "{some:?}");
    assert!(some.waiting.high > all.waiting.high && some.waiting.low == all.waiting.low);
    let all_lost = Tariff { lost: Lost { switches: 1.0, ..Lost::default() }, ..tariff() }.estimates(&site);
    assert!(all_lost.mapping.low == 0.0 && all_lost.waiting.high > 10.0 * all.waiting.high, "{all_lost:?}");
}

#[test]
fn a_call_that_maps_its_block_has_some_time_of_the_allocators() {
    // 4 calls of 10,000 ns without the stamps, all of it taken to be work on mappings, and 500 ns of other mappings.
    let block = Metrics {
        timed_calls: 4,
        allocator_time: Units(8008),
        mapping_time: Units(8100),
        mapping_inside: Units(8000),
        ..Metrics::default()
    };
    let found = costs(block);
    assert_eq!((found.allocator, found.mapping), (4.0 * 20.0, 40_000.0 + 500.0));
}

#[test]
fn calls_look_longer_by_what_came_before_them() {
    let overlap_of = |images: &[(u64, i64)]| {
        let mut all = RecorderStats::default();
        for &(overlap_pairs, overlap_time) in images {
            all.add(&RecorderStats { overlap_pairs, overlap_time, ..Default::default() });
        }
        overlap(&all)
    };
    assert_eq!(overlap_of(&[(100, 150), (300, 250)]), 1.0);
    assert_eq!(overlap_of(&[(100, -3)]), 0.0, "none do");
    assert_eq!(overlap_of(&[(60, 600)]), 0.0, "too few to tell");
    assert_eq!(overlap_of(&[(u64::MAX, i64::MAX), (u64::MAX, i64::MAX)]), 0.5, "a damaged file");
}

#[test]
fn samples_say_how_much_of_the_stamps_is_true() {
    let allocator_time =
        AllocatorTime { total: Estimate::exact(0.0), each: 20.0, beyond: 0.25, hidden: Estimate::default() };
    let allocator = |allocator_time, stamped| {
        let site = Metrics { timed_calls: 10, allocator_time: stamped, ..Metrics::default() };
        Tariff { allocator_time, ..tariff() }.price(&site).allocator_ns
    };
    // 1,000 ns beyond the stamps, of which 200 are the least.
    assert_eq!(allocator(allocator_time, Units(220)), Nanoseconds(200 + 800 / 4));
    assert_eq!(
        allocator(allocator_time, Units(40)),
        Nanoseconds(200),
        "by chance, the stamps are nearer than any call is short"
    );
    assert_eq!(allocator(AllocatorTime { each: 5.0, beyond: 0.0, ..allocator_time }, Units(220)), Nanoseconds(50));
}

#[test]
fn the_recorders_estimate_is_put_right_by_samples() {
    // 40 samples, one every 100 units, say 4,000; by the estimate, it were 5,000.
    assert_eq!(own(40, 0, 5000, 100.0).value, 0.8);
    assert_eq!(own(10, 0, 3000, 100.0).value, 1.0, "too few to tell");
    assert_eq!(own(40, 0, 5000, 0.0).value, 1.0, "no samples");
    assert_eq!(own(30, 0, 0, 100.0).value, 1.0);
    let tariff = Tariff { own: Estimate::exact(0.8), ..tariff() };
    assert_eq!(tariff.recorder(1000), Estimate::exact(4000.0), "a unit is 5 ns");
}

/// A site of any kind, with contradictions: stamps that say less than what was paid inside.
fn site() -> impl Strategy<Value = Metrics> {
    let times = (0..5000u64, 0..1u64 << 20, 0..3000u64, 0..2000u64, 0..2000u64);
    let counts = (0..2000u64, 0..2000u64, 0..500u64, 0..3u64, 0..100u64);
    (times, counts).prop_map(|(times, counts)| {
        let (timed_calls, allocator_time, mapping_inside, waiting_time, preempted_time) = times;
        let (faults_inside, more_faults, samples_inside, huge_faults_inside, file_faults) = counts;
        Metrics {
            timed_calls,
            allocator_time: Units(allocator_time),
            mapping_inside: Units(mapping_inside),
            mapping_time: Units(mapping_inside + preempted_time),
            waiting_time: Units(waiting_time),
            preempted_time: Units(preempted_time),
            small_faults_inside: faults_inside,
            small_faults: faults_inside + more_faults,
            samples_inside,
            huge_faults_inside,
            huge_faults: huge_faults_inside,
            file_faults,
            ..Metrics::default()
        }
    })
}

proptest! {
    #[test]
    fn parts_are_the_whole_however_sites_are_grouped(sites in vec(site(), 1..30), total in 1e3..1e9f64, groups in 1..5usize) {
        let mut calls = CallTimes::default();
        sites.iter().for_each(|site| calls.add(&CallTimes::from(site)));
        let plain = tariff();
        let all = Calls {
            calls: calls.timed_calls as f64,
            beyond: plain.beyond(&calls),
            inside: 0.0,
            overlap: 0.0,
            fastest: plain.fastest(),
        };
        let tariff = Tariff { allocator_time: AllocatorTime::dividing(&all, Estimate::exact(total)), ..plain };
        let overdraft = sites.iter().map(|site| tariff.overdraft(site)).fold(Overdraft::default(), Overdraft::with);
        let priced = sites.iter().map(|site| {
            tariff.price_part(site, tariff.settle(site, Charge::Allocation).with_share_beyond(overdraft.left()))
        });
        let priced: Vec<Priced> = priced.collect();
        let mut of_group = vec![Priced::default(); groups];
        priced.iter().enumerate().for_each(|(index, site)| of_group[index % groups].add(site));
        let mut whole = Priced::default();
        of_group.iter().for_each(|group| whole.add(group));
        prop_assert_eq!(whole.cost_ns(), priced.iter().map(Priced::cost_ns).sum::<Nanoseconds>());
        let parts = [whole.allocator_ns, whole.fault_time_ns, whole.mapping_ns, whole.waiting_ns, whole.reading_ns];
        prop_assert_eq!(whole.cost_ns(), parts.into_iter().sum::<Nanoseconds>());
        // Nothing is cut: faults and mappings cost all that they do, wherever they were. A nanosecond is rounded at each
        // site.
        let near = |ns: u64, exact: f64| (ns as f64 - exact).abs() <= sites.len() as f64;
        let faults = tariff.per_fault(whole.small_faults, whole.huge_faults) + tariff.file_faults(&whole);
        prop_assert!(near(whole.fault_time_ns.0, faults), "{} of {faults}", whole.fault_time_ns.0);
        prop_assert!(near(whole.mapping_ns.0, tariff.ns(whole.mapping_time.0 as f64)));
        // The allocator has all that samples say, however much some sites overdraw.
        if calls.timed_calls > 0 {
            prop_assert!(near(whole.allocator_ns.0, total), "{} of {total}", whole.allocator_ns.0);
        }
        let cost = tariff.estimates(&whole).total();
        prop_assert!(cost.low <= cost.value && cost.value <= cost.high);
        prop_assert!((cost.value - whole.cost_ns().0 as f64).abs() < 1.0);
    }
}

proptest! {
    /// What spans of time, threads or sizes have of a site is what the site has, wherever its faults were cheap or dear.
    #[test]
    fn a_site_is_the_sum_of_its_parts(parts in vec(site(), 1..20)) {
        let tariff = tariff();
        // Waits and mappings inside calls are a part of their time.
        let parts = parts.into_iter().map(|part| {
            let inside = part.mapping_inside.0 + part.waiting_time.0 + part.preempted_time.0;
            Metrics { allocator_time: Units(part.allocator_time.0 + inside), ..part }
        });
        let parts: Vec<Metrics> = parts.collect();
        let mut site = Metrics::default();
        parts.iter().for_each(|part| site.add(part));
        let settled = tariff.settle(&site, Charge::Allocation);
        let mut sum = Priced::default();
        parts.iter().for_each(|part| sum.add(&tariff.price_part(part, settled)));
        let whole = tariff.price(&site);
        let near = |sum: Nanoseconds, whole: Nanoseconds| sum.0.abs_diff(whole.0) <= parts.len() as u64;
        prop_assert!(near(sum.allocator_ns, whole.allocator_ns), "{sum:?} {whole:?}");
        prop_assert!(near(sum.fault_time_ns, whole.fault_time_ns));
        prop_assert!(sum.overdrawn_ns >= whole.overdrawn_ns);
    }
}

#[test]
fn the_parts_add_up() {
    let metrics = Metrics {
        timed_calls: 10,
        allocator_time: Units(2000), // 10,000 ns
        small_faults: 5,
        small_faults_inside: 2,
        samples_inside: 1,
        mapping_time: Units(300),
        mapping_inside: Units(200),
        waiting_time: Units(400),
        ..Metrics::default()
    };
    let costs = costs(metrics);
    assert_eq!((costs.faults, costs.zeroing), (5000.0, 2000.0));
    assert_eq!((costs.mapping, costs.waiting), (1500.0, 2000.0));
    // 10,000 - 10 calls x 10 - 2 faults x 1,000 - 100 for looking at one - 1,000 of mapping - 2,000 of waiting
    assert_eq!(costs.allocator, 4800.0);
    assert_eq!(costs.total(), 4800.0 + 5000.0 + 1500.0 + 2000.0);
    assert_eq!(tariff().price(&metrics).touched_bytes, Bytes(5 * 4096));
}

#[test]
fn where_faults_are_faster_zeroing_is_but_not_slower_where_they_are_slower() {
    let mut tariff = tariff();
    for (fault, zeroing) in [(2500.0, 400.0), (1000.0, 400.0), (500.0, 200.0)] {
        tariff.faults.page = fault;
        let costs = tariff.price(&Metrics { small_faults: 10, ..Metrics::default() }).costs();
        assert_eq!((costs.faults, costs.zeroing), (fault * 10.0, zeroing * 10.0));
    }
}

#[test]
fn what_recording_adds_to_faults_inside_calls_is_not_the_allocators() {
    let calls = CallTimes { timed_calls: 10, allocator_time: Units(2000), faults_inside: 2, ..CallTimes::default() };
    let mut slowed = tariff();
    slowed.faults.slowed = 0.1;
    // Two faults of 1,000 ns.
    assert!((tariff().beyond(&calls) - slowed.beyond(&calls) - 200.0).abs() < 1e-6);
    assert_eq!(slowed.slowed(3000.0), 300.0);
}

#[test]
fn all_pages_that_are_zeroed_may_be_in_a_cache_or_none() {
    let mut tariff = tariff();
    let zeroing =
        |tariff: &Tariff| tariff.estimates(&tariff.price(&Metrics { small_faults: 10, ..Metrics::default() })).zeroing;
    // 100 ns in a cache, 400 ns if half of them are.
    assert_eq!(zeroing(&tariff), Estimate { value: 4000.0, low: 1000.0, high: 7000.0 });
    // What was measured in a hurry contradicts itself: the price is not better known for that.
    tariff.prices.minor_fault_unzeroed = Price::default();
    assert_eq!(zeroing(&tariff), Estimate { value: 4000.0, low: 3000.0, high: 5000.0 });
}

#[test]
fn a_page_that_is_read_and_then_written_is_zeroed_once() {
    let block = Metrics { new_blocks: 1, bytes: Bytes(100 << 12), small_faults: 200, ..Metrics::default() };
    let (tariff, whole) = (tariff(), |site: &Metrics| tariff().price(site));
    // A block of 100 pages may touch 101.
    assert_eq!((whole(&block).zeroing_ns, whole(&block).touched_bytes), (Nanoseconds(102 * 400), Bytes(102 << 12)));
    assert_eq!(tariff.faulted(&block), Bytes(200 << 12));
    // A part of it, such as what one thread touched.
    let part = tariff
        .price_part(&Metrics { new_blocks: 0, small_faults: 100, ..block }, tariff.settle(&block, Charge::Allocation));
    assert_eq!(part.touched_bytes, Bytes(51 << 12));
    assert_eq!(whole(&Metrics { new_blocks: 0, ..block }).zeroing_ns, Nanoseconds(200 * 400), "not asked: unknown");
    assert_eq!(tariff.price_alone(&block).touched_bytes, Bytes(200 << 12), "a part of an unknown whole");
}

#[test]
fn pages_of_files_are_neither_zeroed_nor_fresh() {
    let mut tariff = tariff();
    tariff.faults.other = 700.0;
    let metrics = Metrics { major_faults: 2, file_faults: 8, reading_time: Units(10_000), ..Metrics::default() };
    let costs = tariff.price(&metrics).costs();
    assert_eq!((costs.faults, costs.zeroing, costs.reading), (7000.0, 0.0, 50_000.0));
    assert_eq!(
        (costs.processor(), costs.total(), tariff.price(&metrics).touched_bytes),
        (7000.0, 57_000.0, Bytes::ZERO)
    );
}

#[test]
fn a_huge_page_has_its_own_price() {
    let metrics = Metrics { huge_faults: 3, small_faults: 1, ..Metrics::default() };
    let costs = costs(metrics);
    assert_eq!(costs.faults, 301_000.0);
    assert_eq!(costs.zeroing, 300_000.0 + 400.0, "nearly all of it is zeroing");
    assert_eq!(tariff().price(&metrics).touched_bytes, Bytes(3 * (2 << 20) + 4096));
    assert_eq!(costs.allocator, 0.0);
}
