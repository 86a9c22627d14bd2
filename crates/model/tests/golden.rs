//! Recordings that were written once (`format/golden`) are read as what they are, down to the last event: a change of the
//! format cannot go unnoticed.

use memtoll_model::{Recording, store_verified};
use memtoll_trace::costs::{Cost, CostKind, Place};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::{BlockNo, Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::meta::{Exit, MarkKind, Saved, Verified};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::nodes::ROOT_PLACE;
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::reader::Reader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden").join(name)
}

fn open(name: &str) -> Recording {
    let recording = Recording::open(&golden(name)).unwrap();
    assert_eq!(recording.about.machine.host, "golden");
    assert_eq!(recording.about.directory, "/tmp/golden");
    recording
}

fn events(recording: &Recording, image: usize) -> Vec<Event> {
    let mut all = Vec::new();
    recording
        .for_each_events(image, |events| {
            all.extend_from_slice(events);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(all.is_sorted_by_key(|event| event.time));
    all
}

/// What the events say, counted in the plainest way.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    events: usize,
    acquired: u64,
    bytes: u64,
    released: u64,
    null: u64,
    unknown: u64,
    live: u64,
    allocator_time: Units,
}

fn count(events: &[Event]) -> Counts {
    let mut counts = Counts { events: events.len(), ..Counts::default() };
    let mut addresses = Vec::new();
    for event in events {
        match (event.op.effect(), event.block) {
            (Effect::Acquire, Block::Number(number)) => {
                assert_eq!(number, BlockNo(addresses.len() as u64));
                assert!(!event.address.is_null());
                addresses.push(event.address);
                counts.acquired += 1;
                counts.bytes += event.size.0;
                counts.live += 1;
            }
            (Effect::Release, Block::Number(number)) => {
                assert_eq!(event.address, addresses[number.0 as usize]);
                counts.released += 1;
                counts.live -= 1;
            }
            (Effect::Release, Block::Null) => counts.null += 1,
            (Effect::Release, Block::Unknown) => counts.unknown += 1,
            _ => {}
        }
        if event.op.effect() != Effect::Other {
            counts.allocator_time += event.duration;
        }
    }
    counts
}

fn total(recording: &Recording, image: usize) -> Metrics {
    let mut total = Metrics::default();
    for (_, metrics) in recording.summary(image).unwrap().unwrap().sites.iter() {
        total.add(&metrics);
    }
    total
}

/// The function, file and line of the innermost frame of a site, and how many frames its stack has.
fn site(recording: &Recording, image: usize, node: Option<NodeId>) -> (String, String, Option<u32>, usize) {
    let (stack, root) = recording.stacks.stack(recording.images[image].node(node));
    assert_eq!(root, Some(memtoll_trace::nodes::ROOT_COMPLETE));
    let chain = recording.frames.chain(&recording.stacks.node(stack[0]));
    let frame = recording.frames.frame(chain[0]);
    let file = frame.file.map_or("", |file| recording.frames.text(file));
    let file = file.rsplit('/').next().unwrap().to_owned();
    (recording.frames.text(frame.function).to_owned(), file, frame.line, stack.len())
}

#[test]
fn tiny() {
    let recording = open("tiny.memtoll");
    assert!(recording.damage.is_empty());
    let end = recording.end.as_ref().unwrap();
    assert_eq!(end.events, 1738); // one of pages that are touched, which is no call
    let image = &recording.images[0];
    assert_eq!(image.about.command, ["./tiny"]);
    assert_eq!(image.end.as_ref().unwrap().exit, Exit::Code(3));
    assert_eq!(image.threads.len(), 2);

    let total = total(&recording, 0);
    let peak = Metrics { peak_bytes: Bytes(81_176), peak_blocks: total.peak_blocks, ..Metrics::default() };
    let expected = Metrics {
        new_blocks: 1104,
        reallocations: 12,
        frees: 602,
        null_frees: 3,
        failed: 1,
        bytes: Bytes(173_934),
        live_bytes: Bytes(15_288),
        live_blocks: 502,
        temporary: 100,
        lifetime: total.lifetime,
        allocator_time: total.allocator_time,
        largest_bytes: Bytes(65_536),
        operations: total.operations,
        events: 1725,
        cut_off: 0,
        timed_calls: 1721, // not the four that got or gave nothing
        mappings: 1,
        mapped_bytes: Bytes(1 << 20),
        mapping_time: Units(1931),
        mapping_inside: Units(1125),
        grown_calls: 1,
        grown_bytes: Bytes(135_168),
        ..peak
    };
    assert_eq!(total, expected);

    let all = events(&recording, 0);
    let counts = count(&all);
    assert_eq!((counts.events, counts.acquired, counts.bytes), (1738, 1116, 173_934));
    assert_eq!((counts.released, counts.null, counts.unknown, counts.live), (614, 3, 0, 502));
    assert_eq!(counts.allocator_time, total.allocator_time);
    let aligned = all.iter().find(|event| event.op == Op::ALIGNED_ALLOC).unwrap();
    assert_eq!((aligned.size, aligned.detail, aligned.address.0 % 64), (Bytes(640), 6, 0));
    let mapping = all.iter().find(|event| event.op == Op::MMAP).unwrap();
    assert_eq!((mapping.size, mapping.detail, mapping.block), (Bytes(1 << 20), 1, Block::None));
    assert_eq!(site(&recording, 0, aligned.node).0, "main");
    let second = ThreadNo::new(2).unwrap();
    assert_eq!(all.iter().filter(|event| event.thread == second && event.op == Op::MALLOC).count(), 100);
    let worker = all.iter().find(|event| event.thread == second).unwrap();
    let (function, file, line, frames) = site(&recording, 0, worker.node);
    assert_eq!((function.as_str(), file.as_str(), line), ("worker", "tiny.c", Some(11)));
    assert_eq!(frames, 3); // worker, start_thread, clone3
}

#[test]
fn forks() {
    let recording = open("forks.memtoll");
    assert!(recording.damage.is_empty());
    assert_eq!(recording.images.len(), 2);
    let (parent, child) = (&recording.images[0].about, &recording.images[1].about);
    assert_eq!((parent.forked_from, child.forked_from, child.parent), (None, Some(parent.image), parent.pid));
    assert_eq!(recording.images[1].end.as_ref().unwrap().exit, Exit::Code(4));
    let counts = [count(&events(&recording, 0)), count(&events(&recording, 1))];
    assert_eq!((counts[0].events, counts[0].acquired, counts[0].bytes, counts[0].live), (21, 11, 1500, 1));
    assert_eq!((counts[1].events, counts[1].acquired, counts[1].bytes, counts[1].unknown), (41, 20, 1000, 1));
    assert_eq!((total(&recording, 0).frees, total(&recording, 1).frees), (10, 21));
}

#[test]
fn killed() {
    let recording = open("killed.memtoll");
    assert_eq!(recording.damage.len(), 1);
    assert!(recording.damage[0].contains("no end"), "{}", recording.damage[0]);
    assert!(recording.end.is_none() && recording.images[0].end.is_none() && recording.summary(0).unwrap().is_none());
    let counts = count(&events(&recording, 0));
    assert_eq!((counts.events, counts.acquired, counts.bytes, counts.live), (42_000, 21_000, 1_176_000, 0));
}

#[test]
fn costs() {
    let recording = open("costs.memtoll");
    assert!(recording.damage.is_empty());
    let mut costs: Vec<Cost> = Vec::new();
    recording.for_each_cost(0, |cost| costs.push(*cost)).unwrap();
    let of = |kind: CostKind, size: u64| costs.iter().filter(move |cost| cost.kind == kind && cost.size == Bytes(size));
    let sum = |kind, size| of(kind, size).map(|cost| cost.amount).sum::<u64>();
    let inside = |kind, size| of(kind, size).filter(|cost| cost.inside.is_some()).map(|cost| cost.amount).sum::<u64>();

    // Ten buffers of 64 pages, each with a mapping of its own, whose first page has the allocator's header; a large one
    // of which two pages were touched; a mapping of which 32 were; and the heap's growth for the small blocks.
    const BUFFER: u64 = 64 * 4096;
    const SPARSE: u64 = 256 * 4096;
    const MAPPING: u64 = 128 * 4096;
    const SMALL: u64 = 100;
    let faults = |size| (sum(CostKind::Fault, size), inside(CostKind::Fault, size));
    assert_eq!([BUFFER, SPARSE, MAPPING, SMALL].map(faults), [(650, 10), (2, 1), (32, 0), (110, 110)]);
    assert_eq!([BUFFER, SPARSE, SMALL].map(|size| sum(CostKind::Grown, size)), [2_662_400, 1_052_672, 544_868]);
    assert_eq!(sum(CostKind::Shrunk, BUFFER), 10 * BUFFER);
    let mappings = [BUFFER, SPARSE, MAPPING, SMALL].map(|size| of(CostKind::Mapping, size).count());
    assert_eq!(mappings, [20, 1, 2, 5]);
    assert!(of(CostKind::Mapping, MAPPING).all(|cost| cost.inside.is_none() && cost.amount > 0));
    assert_eq!([SMALL, BUFFER].map(|size| of(CostKind::Preempted, size).count()), [0, 0]);
    assert_eq!(of(CostKind::OffProcessor, 0).count(), 1);

    // Each is charged to the line of its block, and knows where it was paid.
    for (size, function, line) in
        [(BUFFER, "buffer", 13), (SPARSE, "buffer", 13), (MAPPING, "main", 31), (SMALL, "small_blocks", 16)]
    {
        let fault = of(CostKind::Fault, size).next_back().unwrap();
        let (found, file, at, _) = site(&recording, 0, fault.node);
        assert_eq!((found.as_str(), file.as_str(), at), (function, "costs.c", Some(line)));
    }
    let Place::Call(place) = of(CostKind::Fault, BUFFER).find(|cost| cost.inside.is_none()).unwrap().place else {
        panic!("the model makes code addresses nodes");
    };
    let (stack, root) = recording.stacks.stack(recording.images[0].node(Some(place)));
    assert_eq!((stack.len(), root), (1, Some(ROOT_PLACE)));
    let chain = recording.frames.chain(&recording.stacks.node(stack[0]));
    let function = recording.frames.text(recording.frames.frame(chain[0]).function);
    assert_eq!(function, "__memset_avx512_unaligned_erms");

    // What the summary and the ends say.
    let total = total(&recording, 0);
    assert_eq!(
        (total.small_faults, total.small_faults_inside, total.huge_faults, total.major_faults),
        (794, 121, 0, 0)
    );
    assert_eq!((total.timed_calls, total.events), (4021, 4023));
    // Of the mapping, 32 pages count; the others are only reserved.
    let peak = recording.summary(0).unwrap().unwrap().peak_with_mappings;
    assert_eq!((peak.mapped_bytes, peak.reserved_bytes), (32 * 4096, MAPPING - 32 * 4096));
    let units = |kind| Units(costs.iter().filter(|cost| cost.kind == kind).map(|cost| cost.amount).sum());
    assert_eq!((total.mapping_time, total.preempted_time), (units(CostKind::Mapping), units(CostKind::Preempted)));
    let image = &recording.images[0];
    let kernel = &image.end.as_ref().unwrap().kernel;
    assert_eq!((kernel.faults_seen, kernel.faults_charged, kernel.faults_error), (901, 794, 0.0));
    let others = [kernel.file_faults, kernel.stack_faults, kernel.recorder_faults, kernel.unowned_faults];
    assert_eq!(others, [24, 3, 55, 1]);
    assert_eq!(kernel.usage.unwrap().minor_faults, 970);
    assert_eq!(image.threads[0].usage.unwrap().minor_faults, 970);
    // One process: its resident set is that of all.
    let end = recording.end.as_ref().unwrap();
    let resident = kernel.resident.unwrap();
    assert_eq!(end.resident, Some(resident));
    assert!(resident.unseen.is_none() && resident.at_end.unwrap().bytes <= resident.program);
    assert_eq!((&*image.about.name, image.end.as_ref().unwrap().title.as_deref()), ("costs", None));
    assert!(end.kernel.faults && end.kernel.switches);
    assert_eq!((end.kernel.largest_period, end.kernel.lost_records), (1, 0));
    let prices = end.prices.unwrap();
    assert!(prices.zeroing.median > 0.0 && prices.zeroing.median < prices.minor_fault.median);
    assert_eq!(image.marks.iter().filter(|mark| mark.kind == MarkKind::Begin && mark.name == "frame").count(), 10);
}

/// Without an index, each block has its own times. Damage there is reported, not skipped.
#[test]
fn a_block_with_damaged_times_is_not_passed_over() {
    let whole = std::fs::read(golden("killed.memtoll")).unwrap();
    let reader = Reader::open(&golden("killed.memtoll")).unwrap();
    let block = reader.blocks.iter().find(|block| block.header.kind == BlockKind::Events).unwrap();
    let extent = block.extent.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    for byte in 0..8 {
        let mut damaged = whole.clone();
        damaged[block.offset as usize + byte] ^= 0x3f;
        std::fs::write(file.path(), damaged).unwrap();
        let recording = Recording::open(file.path()).unwrap();
        let (from, to) = (extent.first_time, extent.last_time);
        let read = recording.for_each_events_between(0, from, to, |_| ControlFlow::Continue(()));
        assert!(read.is_err_and(|why| why.to_string().contains("is damaged")), "byte {byte}");
    }
}

#[test]
fn of_each_finding_the_last_measurement_is_kept_and_all_else_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.memtoll");
    std::fs::copy(golden("costs.memtoll"), &path).unwrap();
    let measured = |finding: &str, rounds: u64| Verified {
        finding: finding.to_owned(),
        measured: 1,
        commands: ("before".to_owned(), "after".to_owned()),
        rounds,
        confidence: 0.95,
        cpu_ns: Some(Saved { median: 2.0, low: 1.0, high: 3.0 }),
        wall_ns: None,
        faults: None,
        resident_peak_bytes: None,
        resident_end_bytes: None,
        as_predicted: None,
    };
    for (finding, rounds) in [("growth-1", 3), ("reuse-2", 4), ("growth-1", 5)] {
        store_verified(&path, measured(finding, rounds)).unwrap();
    }
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.verified, [measured("reuse-2", 4), measured("growth-1", 5)]);
    assert_eq!(events(&recording, 0), events(&open("costs.memtoll"), 0));
    assert!(recording.damage.is_empty() && recording.end.is_some());
    assert!(open("costs.memtoll").verified.is_empty());
}
