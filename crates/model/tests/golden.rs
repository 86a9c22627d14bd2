//! Recordings that were written once (`format/golden`) are read as what they are, down to the last event: a change of the
//! format cannot go unnoticed.

use memtoll_model::Recording;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::meta::Exit;
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::summary::Metrics;
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
    allocator_time: u64,
}

fn count(events: &[Event]) -> Counts {
    let mut counts = Counts { events: events.len(), ..Counts::default() };
    let mut addresses = Vec::new();
    for event in events {
        match (event.op.effect(), event.block) {
            (Effect::Acquire, Block::Number(number)) => {
                assert_eq!(number, addresses.len() as u64);
                assert_ne!(event.address, 0);
                addresses.push(event.address);
                counts.acquired += 1;
                counts.bytes += event.size;
                counts.live += 1;
            }
            (Effect::Release, Block::Number(number)) => {
                assert_eq!(event.address, addresses[number as usize]);
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
    for (_, metrics) in &recording.images[image].summary.as_ref().unwrap().sites {
        total.add(metrics);
    }
    total
}

/// The function, file and line of the innermost frame of a site, and how many frames its stack has.
fn site(recording: &Recording, image: usize, node: u32) -> (String, String, Option<u32>, usize) {
    let (stack, root) = recording.images[image].stack(node);
    assert_eq!(root, memtoll_trace::nodes::ROOT_COMPLETE);
    let chain = recording.frames.chain(&recording.images[image].nodes[stack[0] as usize]);
    let frame = recording.frames.frame(chain[0]);
    let file = frame.file.map_or("", |file| recording.frames.text(file));
    let file = file.rsplit('/').next().unwrap().to_owned();
    (recording.frames.text(frame.function).to_owned(), file, frame.line, stack.len())
}

#[test]
fn tiny() {
    let recording = open("tiny.memtoll");
    assert!(recording.damage.is_empty());
    assert_eq!(recording.end.as_ref().unwrap().events, 1736);
    let image = &recording.images[0];
    assert_eq!(image.about.command, ["./tiny"]);
    assert_eq!(image.end.as_ref().unwrap().exit, Exit::Code(3));
    assert_eq!(image.threads.len(), 2);

    let total = total(&recording, 0);
    let peak = Metrics { peak_bytes: 81_176, peak_allocations: total.peak_allocations, ..Metrics::default() };
    let expected = Metrics {
        allocations: 1103,
        reallocations: 12,
        frees: 602,
        free_null_calls: 3,
        failed: 1,
        bytes_allocated: 173_646,
        live_bytes: 15_000,
        live_allocations: 501,
        temporary: 100,
        lifetime: total.lifetime,
        allocator_time: total.allocator_time,
        largest: 65_536,
        operations: total.operations,
        events: 1724,
        truncated_stacks: 0,
        timed_calls: 1724, // the file is of a version that charged all calls where they were made
        ..peak
    };
    assert_eq!(total, expected);

    let all = events(&recording, 0);
    let counts = count(&all);
    assert_eq!((counts.events, counts.acquired, counts.bytes), (1736, 1115, 173_646));
    assert_eq!((counts.released, counts.null, counts.unknown, counts.live), (614, 3, 0, 501));
    assert_eq!(counts.allocator_time, total.allocator_time);
    let aligned = all.iter().find(|event| event.op.symbol() == "aligned_alloc").unwrap();
    assert_eq!((aligned.size, aligned.detail, aligned.address % 64), (640, 6, 0));
    let mapping = all.iter().find(|event| event.op == Op::MMAP).unwrap();
    assert_eq!((mapping.size, mapping.detail, mapping.block), (1 << 20, 1, Block::None));
    assert_eq!(site(&recording, 0, aligned.node).0, "main");
    assert_eq!(all.iter().filter(|event| event.thread == 2 && event.op.symbol() == "malloc").count(), 100);
    let worker = all.iter().find(|event| event.thread == 2).unwrap();
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
    assert!(recording.end.is_none() && recording.images[0].end.is_none() && recording.images[0].summary.is_none());
    let counts = count(&events(&recording, 0));
    assert_eq!((counts.events, counts.acquired, counts.bytes, counts.live), (40_000, 20_000, 1_120_000, 0));
}
