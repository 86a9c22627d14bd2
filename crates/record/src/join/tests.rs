//! Calls and events in the order in which a worker meets them.

use super::*;
use crate::clock::Clock;
use memtoll_kernel::{KernelEvent, Mapping, What};
use memtoll_trace::costs::CostKind::{
    Fault, Grown, Halted, HugeFault, MajorFault, MappedFileFault, OffProcessor, Preempted, Reading, Shrunk,
    UnownedFault, Waiting,
};
use memtoll_trace::meta::TimedFaults;
use memtoll_trace::op::Op;

const HEAP: u64 = 0x10_0000;

fn number(thread: u32) -> ThreadNo {
    ThreadNo::new(thread).unwrap()
}

/// A join that knows two threads, 1 and 2 (with the ids 71 and 72), and a heap; and the time, ticks.
fn two_threads() -> (Join, u64) {
    let around = Arc::new(MachineFacts::look(Clock::start()));
    let began = Ticks(around.clock.now());
    let mut join = Join::new(around, began, Some(&[]));
    join.thread_begins(number(1), 71, 0);
    join.thread_begins(number(2), 72, 0);
    join.space_mut().map(HEAP, Bytes(1 << 20), Kind::Anonymous);
    let now = join.around.clock.now();
    (join, now)
}

fn told(join: &mut Join, ticks: u64, tid: u32, what: What, owner: Option<Owner>) {
    join.event(&KernelEvent { ticks, cpu: 0, pid: 71, tid, what }, |_, _, _| owner);
}

fn owner(node: u32) -> Option<Owner> {
    Some(Owner { node: NodeId::new(node), size: Bytes(64) })
}

fn fault(weight: u32) -> What {
    What::Fault { address: HEAP, ip: 0x5000, weight, major: false, in_kernel: false, handling: Some(1000), page: None }
}

/// A call from `begin` to `end` about `size` bytes, at stack `node`, for which that of `charged` pays.
fn call(effect: Effect, begin: u64, end: u64, node: u32, charged: u32, size: u64) -> Call {
    let (begin, end) = (Ticks(begin), Ticks(end));
    Call { begin, end, node: NodeId::new(node), charged: NodeId::new(charged), size: Bytes(size), effect }
}

fn counted(join: &Join) -> KernelStats {
    join.stats(|_| Arc::default())
}

fn units(ticks: u64) -> u64 {
    span(Ticks(ticks)).0
}

/// Before an image says hello, the loader has mapped its files. Either they stand in a list, or the kernel tells of them.
#[test]
fn mappings_since_the_exec_are_told_or_listed() {
    let library = |ticks| {
        let mapping = Mapping {
            start: 0x7000,
            length: 0x1000,
            page_offset: 0,
            protection: 1,
            flags: 2,
            path: "/usr/lib/libc.so.6".into(),
        };
        KernelEvent { ticks, cpu: 0, pid: 71, tid: 71, what: What::Map(Box::new(mapping)) }
    };
    let (listed, now) = two_threads();
    for (list, known) in [(None, true), (Some([].as_slice()), false)] {
        let mut join = Join::new(listed.around.clone(), Ticks(now), list);
        join.event(&library(now - 1000), |_, _, _| None);
        assert_eq!(join.space.find(0x7800).map(|(_, mapping)| mapping.kind), known.then_some(Kind::File));
        join.event(&library(now + 1000), |_, _, _| None);
        assert!(join.space.find(0x7800).is_some());
    }
}

/// What was charged: kind, stack node, amount, whether inside a call.
fn charged(join: &mut Join) -> Vec<(CostKind, u32, u64, bool)> {
    std::mem::take(join.costs())
        .iter()
        .map(|cost| (cost.kind, NodeId::or_zero(cost.node), cost.amount, cost.inside.is_some()))
        .collect()
}

#[test]
fn a_fault_inside_a_call_is_the_calls_and_outside_the_owners() {
    let (mut join, now) = two_threads();
    told(&mut join, now + 50, 71, fault(1), None);
    join.call(number(1), call(Effect::Acquire, now, now + 100, 9, 9, 64), HEAP);
    told(&mut join, now + 200, 71, fault(17), owner(5));
    told(&mut join, now + 210, 71, fault(1), None);
    assert_eq!(charged(&mut join), [(Fault, 9, 1, true)], "the next call may still hold the others");
    join.call(number(1), call(Effect::Acquire, now + 300, now + 400, 9, 9, 64), HEAP);
    assert_eq!(charged(&mut join), [(Fault, 5, 17, false), (UnownedFault, 0, 1, false)]);
    assert_eq!(counted(&join).faults_seen, 19);
    assert_eq!(counted(&join).faults_charged, 18);
    let timed = |samples, faults| TimedFaults { samples, faults, time: faults * 1000 };
    assert_eq!((counted(&join).timed_faults, counted(&join).timed_other_faults), (timed(2, 18), timed(1, 1)));
}

#[test]
fn code_is_told_of_memory_that_is_somebodys() {
    let (mut join, now) = two_threads();
    let at =
        |ip| What::Fault { address: HEAP, ip, weight: 1, major: false, in_kernel: false, handling: None, page: None };
    told(&mut join, now + 200, 71, at(0x5000), None);
    told(&mut join, now + 210, 71, at(0x6000), owner(5));
    join.finish(Ticks(now + 300));
    let places: Vec<Place> = join.costs().iter().map(|cost| cost.place).collect();
    assert_eq!(places, [Place::Unknown, Place::Code(0)]);
    assert_eq!(join.code_places().iter().map(|place| place.address).collect::<Vec<_>>(), [0x6000]);
}

fn huge_fault(weight: u32, handling: Option<u32>) -> What {
    let page = Some(address_space::HUGE_PAGE.0);
    What::Fault { address: HEAP, ip: 0x5000, weight, major: false, in_kernel: false, handling, page }
}

/// No huge fault took longer than its thread ran since it was seen to do something else.
#[test]
fn spans_to_huge_faults_bound_their_time() {
    let (mut join, now) = two_threads();
    let microsecond = join.around.ticks_per_microsecond;
    let at = |us: u64| now + us * microsecond;
    let spans = |join: &mut Join| {
        let of = join.stats.spans_to_huge_faults;
        (of.samples, of.faults, of.time.div_ceil(1000))
    };
    let huge = |join: &mut Join, us: u64, weight: u32| {
        told(join, at(us), 71, huge_fault(weight, None), owner(5));
        // The next call decides that it was in none.
        join.call(number(1), call(Effect::Acquire, at(us + 1), at(us + 2), 9, 9, 64), HEAP);
    };
    join.call(number(1), call(Effect::Acquire, at(100), at(110), 9, 9, 64), HEAP);
    huge(&mut join, 300, 1);
    assert_eq!(spans(&mut join), (1, 1, 190), "since the call");
    told(&mut join, at(400), 71, fault(1), owner(5));
    huge(&mut join, 500, 1);
    assert_eq!(spans(&mut join), (2, 2, 190 + 100), "since another fault");
    told(&mut join, at(600), 71, What::SwitchOut { preempted: true }, None);
    told(&mut join, at(900), 71, What::SwitchIn, None);
    huge(&mut join, 1000, 1);
    assert_eq!(spans(&mut join), (3, 3, 190 + 100 + 498 - 300), "without the time off the processor");
    huge(&mut join, 2000, 17);
    assert_eq!(spans(&mut join), (3, 20, 190 + 100 + 198), "others may lie in this one");
}

#[test]
fn the_kernel_says_which_pages_are_huge() {
    let (mut join, now) = two_threads();
    let long = 1000 * join.long.0;
    // Memory without an owner yet, in a call that grows the heap: the call's, which takes as long as the page.
    told(&mut join, now + 50, 71, huge_fault(1, None), None);
    join.heap_moved(number(1), NodeId::new(9), HEAP, HEAP + 8192);
    join.call(number(1), call(Effect::Acquire, now, now + long, 9, 9, 64), HEAP);
    assert_eq!(charged(&mut join)[..2], [(HugeFault, 9, 1, true), (CostKind::Mapping, 9, 0, true)]);
    let timed = counted(&join).timed_huge_faults;
    assert_eq!((timed.samples, timed.faults), (1, 1));
    assert!((999_000..=1_001_000).contains(&timed.time), "{timed:?}");
    // Outside, the owner's; and small ones are small, whatever was asked for.
    join.space_mut().advise(HEAP, super::address_space::Pages::Huge);
    told(&mut join, now + 2 * long, 71, huge_fault(1, None), owner(5));
    let small = What::Fault {
        address: HEAP,
        ip: 0,
        weight: 1,
        major: false,
        in_kernel: false,
        handling: None,
        page: Some(4096),
    };
    told(&mut join, now + 2 * long, 71, small, owner(5));
    join.finish(Ticks(now + 3 * long));
    assert_eq!(charged(&mut join), [(HugeFault, 5, 1, false), (Fault, 5, 1, false)]);
}

#[test]
fn calls_that_grow_the_heap_pay_for_their_faults_though_one_of_17_is_seen() {
    let (mut join, now) = two_threads();
    let seen = fault(17);
    // Each call takes twice what its fault does.
    told(&mut join, now + 1, 71, fault(1), owner(5));
    join.call(number(1), call(Effect::Acquire, now + 2, now + 3, 9, 9, 64), HEAP);
    join.costs().clear();
    let each = join.long.0 + join.around.fault.0 / 3; // 1,000 ns are told of the fault, and its way comes on top
    for index in 0..34 {
        let begin = now + 100 * each * (index + 1);
        if index % 17 == 3 {
            told(&mut join, begin + 5, 71, seen.clone(), None);
        }
        join.heap_moved(number(1), NodeId::new(9), HEAP + 4096 * index, HEAP + 4096 * (index + 1));
        join.call(number(1), call(Effect::Acquire, begin, begin + 2 * each, 9, 9, 64), HEAP);
    }
    let mapping = |cost: &&(CostKind, u32, u64, bool)| cost.0 == CostKind::Mapping;
    let ticks: u64 = charged(&mut join).iter().filter(mapping).map(|cost| cost.2).sum();
    let expected = units(34 * each);
    assert!(ticks.abs_diff(expected) <= 34, "{ticks} instead of {expected} units");
}

#[test]
fn a_release_is_charged_to_the_blocks_site() {
    let (mut join, now) = two_threads();
    let long = 1000 * join.long.0;
    join.call(number(2), call(Effect::Release, now, now + long, 30, 31, 64), HEAP);
    join.call(number(1), call(Effect::Release, now, now + long, 20, 21, 64), HEAP + 64);
    told(&mut join, now + 10, 71, What::SwitchOut { preempted: false }, None);
    told(&mut join, now + 10 + long / 2, 71, What::SwitchIn, None);
    told(&mut join, now + long - 10, 71, fault(1), None);
    let costs = join.costs().clone();
    assert_eq!(costs.len(), 2, "{costs:?}");
    assert_eq!((costs[0].kind, costs[0].node, costs[0].holder), (Waiting, NodeId::new(21), Some(number(2))));
    assert_eq!(costs[0].place, Place::call(NodeId::new(20)));
    assert_eq!(costs[0].amount, units(long / 2));
    assert_eq!((costs[1].kind, costs[1].node, costs[1].inside), (Fault, NodeId::new(21), Some(costs[1].time)));
}

#[test]
fn a_thread_that_others_push_off_does_not_wait() {
    let (mut join, now) = two_threads();
    let long = 100 * join.long.0;
    told(&mut join, now + 16, 71, What::SwitchOut { preempted: true }, None);
    told(&mut join, now + long, 71, What::SwitchIn, None);
    join.call(number(1), call(Effect::Acquire, now, now + 2 * long, 9, 9, 64), HEAP);
    let inside = units(long - 16);
    assert_eq!(charged(&mut join), [(Preempted, 9, inside, true)]);
    told(&mut join, now + 3 * long, 71, What::SwitchOut { preempted: false }, None);
    told(&mut join, now + 4 * long, 71, What::SwitchIn, None);
    join.finish(Ticks(now + 5 * long));
    assert_eq!(charged(&mut join), [(OffProcessor, 0, units(long), false)]);
}

/// Thread 1 sleeps from 10 us on for `slept` us, inside a call from 0 to 1000 us. What the time is told as.
fn slept_inside(slept: u64, happens: impl FnOnce(&mut Join, &dyn Fn(u64) -> u64)) -> Vec<(CostKind, Option<ThreadNo>)> {
    let (mut join, now) = two_threads();
    let microsecond = join.around.ticks_per_microsecond;
    let at = |us: u64| now + us * microsecond;
    told(&mut join, at(10), 71, What::SwitchOut { preempted: false }, None);
    happens(&mut join, &at);
    told(&mut join, at(10 + slept), 71, What::SwitchIn, None);
    join.call(number(1), call(Effect::Acquire, now, at(1000), 9, 9, 64), HEAP);
    join.finish(Ticks(at(100_000)));
    let of_first = join.costs().iter().filter(|cost| cost.thread == Some(number(1)));
    of_first.map(|cost| (cost.kind, cost.holder)).collect()
}

#[test]
fn a_thread_waits_for_one_that_was_in_the_allocator_when_it_fell_asleep() {
    let waits = [(Waiting, Some(number(2)))];
    let halted = [(Halted, None)];
    let call_of_2 = |effect, begin, end| {
        move |join: &mut Join, at: &dyn Fn(u64) -> u64| {
            join.call(number(2), call(effect, at(begin), at(end), 8, 8, 64), HEAP + 64);
            // Many follow, which say nothing of that instant.
            for later in 0..100 {
                join.call(number(2), call(effect, at(end + 1 + later), at(end + 1 + later) + 1, 8, 8, 64), HEAP + 64);
            }
        }
    };
    assert_eq!(slept_inside(500, call_of_2(Effect::Acquire, 5, 300)), waits);
    assert_eq!(slept_inside(500, |_, _| {}), halted, "the other thread makes no call");
    assert_eq!(slept_inside(500, call_of_2(Effect::Acquire, 100, 200)), halted, "it came when this one slept already");
    assert_eq!(slept_inside(500, call_of_2(Effect::Acquire, 1, 5)), halted, "it was gone before");
    assert_eq!(slept_inside(500, call_of_2(Effect::Mapping, 5, 300)), halted, "mappings are not the allocator's");
    // Between the look at the lock and the sleep, the other thread gave it back.
    assert_eq!(slept_inside(500, call_of_2(Effect::Acquire, 1, 9)), waits);
    assert_eq!(slept_inside(5_000, call_of_2(Effect::Acquire, 1, 9)).first(), halted.first());
    // A call that gives back is told when it begins.
    assert_eq!(slept_inside(500, call_of_2(Effect::Release, 10, 300)), waits);
}

#[test]
fn who_wakes_another_thread_may_return_after_it() {
    let (mut join, now) = two_threads();
    let microsecond = join.around.ticks_per_microsecond;
    let at = |us: u64| now + us * microsecond;
    told(&mut join, at(10), 71, What::SwitchOut { preempted: false }, None);
    told(&mut join, at(300), 71, What::SwitchIn, None);
    join.call(number(1), call(Effect::Acquire, now, at(320), 9, 9, 64), HEAP);
    assert_eq!(charged(&mut join), [], "thread 2 may have been in the allocator");
    join.call(number(2), call(Effect::Acquire, at(5), at(1000), 8, 8, 64), HEAP + 64);
    assert_eq!(charged(&mut join), [(Waiting, 9, units(290 * microsecond), true)]);
    // It is not waited for for ever.
    for (other, call_at) in [(71, 2_000), (72, 3_000)] {
        told(&mut join, at(call_at), other, What::SwitchOut { preempted: false }, None);
        told(&mut join, at(call_at + 100), other, What::SwitchIn, None);
        let thread = number(other - 70);
        join.call(thread, call(Effect::Acquire, at(call_at - 10), at(call_at + 110), 9, 9, 64), HEAP);
    }
    told(&mut join, at(40_000), 71, What::SwitchOut { preempted: false }, None);
    join.call(number(2), call(Effect::Acquire, at(50_000), at(50_001), 8, 8, 64), HEAP + 64);
    let kinds: Vec<CostKind> = charged(&mut join).into_iter().map(|cost| cost.0).collect();
    assert_eq!(kinds, [Halted, Halted]);
}

#[test]
fn one_thread_waits_for_nobody() {
    let around = Arc::new(MachineFacts::look(Clock::start()));
    let now = around.clock.now();
    let mut join = Join::new(around, Ticks(now), Some(&[]));
    join.thread_begins(number(1), 71, 0);
    let long = 1000 * join.long.0;
    told(&mut join, now + 10, 71, What::SwitchOut { preempted: false }, None);
    told(&mut join, now + long, 71, What::SwitchIn, None);
    join.call(number(1), call(Effect::Acquire, now, now + 2 * long, 9, 9, 64), HEAP);
    assert_eq!(charged(&mut join), [(Halted, 9, units(long - 10), true)]);
}

#[test]
fn a_block_with_a_mapping_of_its_own_pays_for_it_twice() {
    let (mut join, now) = two_threads();
    let (long, size, block) = (10 * join.long.0, 1u64 << 20, 0x7000_0000_0010);
    let touched = LARGE.0;
    let mapping = Mapping {
        start: block - 16,
        length: size + touched,
        page_offset: 0,
        protection: 3,
        flags: 2,
        path: "//anon".into(),
    };
    let begin = now + long;
    told(&mut join, begin + 5, 71, What::Map(Box::new(mapping)), None);
    join.large_block(block, Bytes(size));
    join.call(number(1), call(Effect::Acquire, begin, begin + long, 9, 9, size), block);
    assert_eq!(charged(&mut join), [(CostKind::Mapping, 9, units(long), true), (Grown, 9, size + touched, true)]);
    join.large_block_gone(block, None);
    join.call(number(2), call(Effect::Release, begin + 2 * long, begin + 3 * long, 40, 9, size), block);
    assert_eq!(charged(&mut join), [], "more may happen inside it");
    join.call(number(2), call(Effect::Acquire, begin + 4 * long, begin + 4 * long + 1, 41, 41, 8), HEAP);
    assert_eq!(charged(&mut join), [(CostKind::Mapping, 9, units(long), true), (Shrunk, 9, size, true)]);
}

#[test]
fn the_end_of_the_heap_moves_in_the_call_before() {
    let (mut join, now) = two_threads();
    let long = 10 * join.long.0;
    join.call(number(1), call(Effect::Acquire, now, now + long, 9, 9, 64), HEAP);
    join.heap_moved(number(1), NodeId::new(9), HEAP, HEAP + 8192);
    assert_eq!(charged(&mut join), [(CostKind::Mapping, 9, units(long), true), (Grown, 9, 8192, true)]);
    join.call(number(1), call(Effect::Release, now + 2 * long, now + 3 * long, 12, 9, 64), HEAP);
    join.heap_moved(number(1), NodeId::new(12), HEAP + 8192, HEAP);
    join.finish(Ticks(now + 4 * long));
    assert_eq!(charged(&mut join), [(CostKind::Mapping, 9, units(long), true), (Shrunk, 9, 8192, true)]);
}

/// The first block that malloc gives moves the end twice: up, and to a whole number of pages.
#[test]
fn a_call_that_moves_the_end_of_the_heap_twice_is_charged_once() {
    for before in [0, 2] {
        let (mut join, now) = two_threads();
        let long = 10 * join.long.0;
        let mut moves = [(HEAP, HEAP + 4096), (HEAP + 4096, HEAP + 8192)].into_iter();
        let mut told = |join: &mut Join, number_of: usize| {
            let next = moves.by_ref().take(number_of);
            next.for_each(|(from, to)| join.heap_moved(number(1), NodeId::new(9), from, to));
        };
        told(&mut join, before);
        join.call(number(1), call(Effect::Acquire, now, now + long, 9, 9, 64), HEAP);
        told(&mut join, 2 - before);
        let sum =
            |costs: &[Cost], kind| costs.iter().filter(|cost| cost.kind == kind).map(|cost| cost.amount).sum::<u64>();
        let costs = std::mem::take(join.costs());
        let sums = [CostKind::Mapping, Grown].map(|kind| sum(&costs, kind));
        assert_eq!(sums, [units(long), 8192], "{before} told before the call");
    }
}

/// A join in which call 9 has mapped a file at [`MAPPED`]; and the time, in ticks.
fn with_a_file() -> (Join, u64) {
    let (mut join, now) = two_threads();
    let mmap = call(Effect::Mapping, now, now + 10, 9, 9, 1 << 20);
    assert_eq!(join.remaps(Op::MMAP, &mmap, MAPPED, 0), NodeId::new(9));
    (join, now + 100)
}

const MAPPED: u64 = 0x7000_0000_0000;

fn of_file(major: bool) -> What {
    What::Fault {
        address: MAPPED + 4096,
        ip: 0x5000,
        weight: 1,
        major,
        in_kernel: false,
        handling: Some(1000),
        page: None,
    }
}

#[test]
fn pages_of_a_mapped_file_are_no_fresh_memory() {
    let (mut join, now) = with_a_file();
    told(&mut join, now, 71, of_file(false), None);
    join.finish(Ticks(now + 100));
    assert_eq!(charged(&mut join), [(MappedFileFault, 9, 1, false)]);
    let stats = counted(&join);
    assert_eq!((stats.faults_charged, stats.file_faults), (1, 0));
    // A fault of it takes what faults of files take.
    assert_eq!((stats.timed_faults.samples, stats.timed_other_faults.samples), (0, 1));
}

#[test]
fn a_major_fault_waits_for_the_disk() {
    let (mut join, now) = with_a_file();
    let long = 10 * join.long.0;
    told(&mut join, now, 71, What::SwitchOut { preempted: false }, None);
    told(&mut join, now + long, 71, What::SwitchIn, None);
    told(&mut join, now + long + 5, 71, of_file(true), None);
    // This one found the page on its way, long after another wait; nor does being preempted wait for a disk.
    told(&mut join, now + 2 * long, 71, What::SwitchOut { preempted: false }, None);
    told(&mut join, now + 3 * long, 71, What::SwitchIn, None);
    told(&mut join, now + 20 * long, 71, of_file(true), None);
    told(&mut join, now + 21 * long, 71, What::SwitchOut { preempted: true }, None);
    told(&mut join, now + 22 * long, 71, What::SwitchIn, None);
    told(&mut join, now + 22 * long + 5, 71, of_file(true), None);
    join.finish(Ticks(now + 30 * long));
    let mut found = charged(&mut join);
    found.sort_by_key(|cost| cost.0.number());
    let off = (OffProcessor, 0, units(long), false);
    let major = (MajorFault, 9, 1, false);
    assert_eq!(found, [major, major, major, off, off, (Reading, 9, units(long), false)]);
}

#[test]
fn a_call_that_unmaps_is_not_charged_for_the_time_of_others() {
    let (mut join, now) = two_threads();
    // Its half is a whole number of units, so nothing is rounded.
    let long = (1000 * join.long.0).next_multiple_of(2 << crate::clock::UNIT_TICKS_LOG2);
    join.call_with_costs(number(1), call(Effect::Mapping, now, now + long, 9, 9, 4096), HEAP);
    // It is told of when it begins; that it lost the processor is told later.
    told(&mut join, now + 16, 71, What::SwitchOut { preempted: true }, None);
    told(&mut join, now + 16 + long / 2, 71, What::SwitchIn, None);
    join.finish(Ticks(now + 2 * long));
    let half = units(long / 2);
    assert_eq!(charged(&mut join), [(OffProcessor, 0, half, false), (CostKind::Mapping, 9, half, false)]);
}

fn shares(join: &mut Join) -> Vec<(CostKind, u32, u64)> {
    charged(join).into_iter().map(|(kind, node, amount, _)| (kind, node, amount)).collect()
}

/// Who frees last gives back what others brought. The move of the heap's end is told before the release or after it.
#[test]
fn giving_the_heap_back_is_paid_by_those_who_brought_its_pages() {
    for told_first in [false, true] {
        let (mut join, now) = two_threads();
        let second = join.around.microseconds(1_000_000).0;
        join.heap_moved(number(1), NodeId::new(9), HEAP, HEAP + 0x10000);
        join.call(number(1), call(Effect::Acquire, now, now + 10, 9, 9, 64), HEAP);
        let at = |page: u64| What::Fault {
            address: HEAP + page * 4096,
            ip: 0x5000,
            weight: 1,
            major: false,
            in_kernel: false,
            handling: Some(1000),
            page: None,
        };
        for page in 0..8 {
            told(&mut join, now + 100 + page, 71, at(page), owner(if page < 6 { 5 } else { 6 }));
        }
        join.call(number(1), call(Effect::Acquire, now + 200, now + 210, 9, 9, 64), HEAP);
        join.costs().clear();
        let release = call(Effect::Release, now + 300, now + 300 + second, 8, 7, 32);
        let shrinks = |join: &mut Join| join.heap_moved(number(1), NodeId::new(8), HEAP + 0x10000, HEAP + 2 * 4096);
        if told_first {
            shrinks(&mut join);
        }
        join.call(number(1), release, HEAP);
        if !told_first {
            shrinks(&mut join);
        }
        join.finish(Ticks(now + 400 + second));
        let whole = units(second);
        let expected = [
            (CostKind::GivenBack, 5, whole * 4 / 6),
            (CostKind::GivenBack, 6, whole - whole * 4 / 6),
            (CostKind::GivingBack, 7, whole),
            (Shrunk, 7, 0x10000 - 2 * 4096),
        ];
        assert_eq!(shares(&mut join), expected, "told first: {told_first}");
    }
}
