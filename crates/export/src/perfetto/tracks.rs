//! Tracks: a process's counters; a thread's regions, marks, waits, and share of time in calls of the allocator.

use super::messages::{
    COUNTER, CounterDescriptor, INSTANT, ProcessDescriptor, SLICE_BEGIN, SLICE_END, ThreadDescriptor, TrackDescriptor,
    TrackEvent, UNIT_COUNT, UNIT_SIZE_BYTES, UNIT_TIME_NS,
};
use super::packets::Packets;
use super::waits::{self, Why};
use crate::intervals::{Interval, TIMES, grid, intervals};
use crate::labels::from_when;
use crate::metrics::Total;
use memtoll_analysis::lanes::lanes;
use memtoll_analysis::metric::{About, Metric};
use memtoll_analysis::names;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::thread_filter::thread_name;
use memtoll_model::Image;
use memtoll_query::Answer;
use memtoll_trace::ids::{ThreadNo, Units};
use memtoll_trace::meta::MarkKind;
use rustc_hash::FxHashMap;
use std::io::Result;

/// Intervals of counters, at most.
const INTERVALS: usize = 2048;
/// Intervals of the threads' shares of time, at most.
const SHARES: usize = 1024;

/// Tracks by what they show. Each has an id of its own; a process is the number of its first image, as ids of processes are used again.
#[derive(Default)]
struct Ids {
    known: FxHashMap<Track, u64>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Track {
    Process(usize),
    Thread(usize, u32),
    Counter(usize, &'static str),
    Share(usize, u32),
    Region(usize, u32, String),
    Wait(usize, u32, Why),
}

/// A process number, as the format has it.
fn pid(number: u32) -> Option<i32> {
    i32::try_from(number).ok()
}

impl Ids {
    /// The id of a track, which is announced when it is asked for first.
    fn of(&mut self, track: Track, packets: &mut Packets, about: impl FnOnce(&mut TrackDescriptor)) -> Result<u64> {
        if let Some(known) = self.known.get(&track) {
            return Ok(*known);
        }
        let uuid = self.known.len() as u64 + 1;
        let mut descriptor = TrackDescriptor { uuid: Some(uuid), ..TrackDescriptor::default() };
        about(&mut descriptor);
        packets.track(descriptor)?;
        self.known.insert(track, uuid);
        Ok(uuid)
    }

    /// A thread's track.
    fn thread(&self, of: (usize, u32)) -> Option<u64> {
        self.known.get(&Track::Thread(of.0, of.1)).copied()
    }
}

/// Writes the tracks of an answer that has sums.
pub fn write(answer: &Answer, packets: &mut Packets) -> Result<()> {
    let Some(sums) = &answer.basis.sums else { return Ok(()) };
    let mut ids = Ids::default();
    processes(answer, sums, &mut ids, packets)?;
    counters(answer, sums, &mut ids, packets)?;
    marks(answer, sums, &mut ids, packets)?;
    write_waits(answer, &mut ids, packets)?;
    shares(answer, sums, &mut ids, packets)
}

/// Announces processes and threads.
fn processes(answer: &Answer, sums: &Sums, ids: &mut Ids, packets: &mut Packets) -> Result<()> {
    let recording = answer.basis.recording;
    for (index, _) in sums.counted() {
        let image = &recording.images[index];
        let process = ids.of(Track::Process(image.process), packets, |track| {
            track.process = Some(ProcessDescriptor {
                pid: pid(image.about.pid),
                cmdline: image.about.command.clone(),
                process_name: Some(names::program(image).to_owned() + &from_when(recording, index)),
            });
        })?;
        for thread in &image.threads {
            if !sums.thread_filter.of(index).is_some_and(|threads| threads.admit(thread.number)) {
                continue;
            }
            ids.of(Track::Thread(image.process, thread.tid), packets, |track| {
                track.parent_uuid = Some(process);
                track.thread = Some(ThreadDescriptor {
                    pid: pid(image.about.pid),
                    tid: Some(thread.tid.into()),
                    thread_name: thread_name(image, thread).map(str::to_owned),
                });
            })?;
        }
    }
    Ok(())
}

/// What counters show: the metric, and its value in an interval.
struct Counted {
    about: &'static About,
    value: fn(&Interval) -> u64,
}

/// The counters that go up only. Their last values are the report's.
fn counted() -> Vec<Counted> {
    type Value = fn(&Interval) -> u64;
    let counts: [(Metric, Value); 3] = [
        (Metric::Allocations, |interval| interval.allocations),
        (Metric::Bytes, |interval| interval.bytes),
        (Metric::Faults, |interval| interval.faults),
    ];
    let times: [Value; TIMES.len()] = [|of| of.ns[0], |of| of.ns[1], |of| of.ns[2], |of| of.ns[3], |of| of.ns[4]];
    let all = counts.into_iter().chain(TIMES.into_iter().zip(times));
    all.map(|(metric, value)| Counted { about: metric.about(), value }).collect()
}

/// The counters of processes: live bytes, and what was counted and paid so far.
fn counters(answer: &Answer, sums: &Sums, ids: &mut Ids, packets: &mut Packets) -> Result<()> {
    let recording = answer.basis.recording;
    let grid = grid(recording, sums, INTERVALS);
    let sees = answer.basis.tariff.sees();
    let counted: Vec<Counted> = counted().into_iter().filter(|of| of.about.metric.is_known(sees)).collect();
    // Several images of a process go on with its counters.
    let mut so_far: FxHashMap<(usize, &'static str), u64> = FxHashMap::default();
    for (index, _) in sums.counted() {
        let number = recording.images[index].process;
        let intervals = intervals(recording, sums, index, grid);
        let parent_uuid = ids.known.get(&Track::Process(number)).copied();
        let of_process = sums.counted().filter(|(index, _)| recording.images[*index].process == number);
        let total = Total::together(answer, of_process.map(|(_, image)| &image.total));
        let live = match sees.frees {
            true => Some(ids.of(Track::Counter(number, "live"), packets, |track| {
                track.name = Some("live bytes".to_owned());
                track.parent_uuid = parent_uuid;
                track.counter = Some(CounterDescriptor { unit: Some(UNIT_SIZE_BYTES), unit_name: None });
            })?),
            false => None,
        };
        let mut before = None;
        for (interval, live) in intervals.iter().filter_map(|interval| Some((interval, live?))) {
            // The peak is one of the values.
            for (time, value) in [(interval.begin, interval.highest), (interval.end - 1, interval.live)] {
                if before.replace(value) != Some(value) {
                    packets.event(time, counter(live, value))?;
                }
            }
        }
        for Counted { about, value } in &counted {
            let unit = match about.unit {
                memtoll_text::format::Unit::Count | memtoll_text::format::Unit::Share => UNIT_COUNT,
                memtoll_text::format::Unit::Bytes => UNIT_SIZE_BYTES,
                memtoll_text::format::Unit::Time => UNIT_TIME_NS,
            };
            let track = ids.of(Track::Counter(number, about.key), packets, |track| {
                track.name = Some(about.title.to_owned());
                let error = total.error(about.metric, about.title);
                let sentences: Vec<String> = std::iter::once(about.help.to_owned()).chain(error).collect();
                track.description = Some(sentences.join(" "));
                track.parent_uuid = parent_uuid;
                track.counter = Some(CounterDescriptor { unit: Some(unit), unit_name: None });
            })?;
            let sum = so_far.entry((number, about.key)).or_default();
            // That there was nothing is known, too.
            if let Some(first) = intervals.first() {
                packets.event(first.begin, counter(track, *sum))?;
            }
            for interval in &intervals {
                let more = value(interval);
                *sum = sum.wrapping_add(more);
                if more > 0 {
                    packets.event(interval.end - 1, counter(track, *sum))?;
                }
            }
        }
    }
    Ok(())
}

fn counter(track: u64, value: u64) -> TrackEvent {
    TrackEvent {
        r#type: Some(COUNTER),
        track_uuid: Some(track),
        counter_value: i64::try_from(value).ok(),
        ..TrackEvent::default()
    }
}

fn slice(kind: u32, track: u64, category: &str, name: Option<&str>) -> TrackEvent {
    TrackEvent {
        r#type: Some(kind),
        track_uuid: Some(track),
        categories: vec![category.to_owned()],
        name: name.map(str::to_owned),
        ..TrackEvent::default()
    }
}

/// The kernel's id of a thread; 0 if it is not known.
fn tid(image: &Image, thread: Option<ThreadNo>) -> u32 {
    thread.and_then(|thread| image.thread(thread)).map_or(0, |thread| thread.tid)
}

/// Marks and regions. Regions of each name have a track of their own: they need not be nested.
fn marks(answer: &Answer, sums: &Sums, ids: &mut Ids, packets: &mut Packets) -> Result<()> {
    let span = sums.selection.from..=sums.selection.to;
    for (index, _) in sums.counted() {
        let image = &answer.basis.recording.images[index];
        let mut open: FxHashMap<u64, u64> = FxHashMap::default();
        for mark in image.marks.iter().filter(|mark| span.contains(&Units(mark.time))) {
            let of = (image.process, tid(image, mark.thread));
            let Some(thread) = ids.thread(of) else { continue };
            if mark.kind == MarkKind::Instant {
                packets.event(mark.time, slice(INSTANT, thread, "mark", Some(&mark.name)))?;
                continue;
            }
            let track = ids.of(Track::Region(of.0, of.1, mark.name.clone()), packets, |track| {
                track.name = Some(mark.name.clone());
                track.parent_uuid = Some(thread);
            })?;
            let depth = open.entry(track).or_default();
            if mark.kind == MarkKind::Begin {
                *depth += 1;
                packets.event(mark.time, slice(SLICE_BEGIN, track, "region", Some(&mark.name)))?;
            } else if *depth > 0 {
                *depth -= 1;
                packets.event(mark.time, slice(SLICE_END, track, "region", None))?;
            }
        }
    }
    Ok(())
}

/// The longest waits, on a track for each thread and reason.
fn write_waits(answer: &Answer, ids: &mut Ids, packets: &mut Packets) -> Result<()> {
    let mut before = (0, 0); // track, when its last wait ended
    for wait in waits::longest(answer) {
        let image = &answer.basis.recording.images[wait.image];
        let of = (image.process, tid(image, wait.thread));
        let Some(thread) = ids.thread(of) else { continue };
        let track = ids.of(Track::Wait(of.0, of.1, wait.why), packets, |track| {
            track.name = Some(wait.why.name().to_owned());
            track.parent_uuid = Some(thread);
        })?;
        // Two that the kernel's clock lets overlap would be drawn inside each other.
        let earliest = if before.0 == track { before.1 } else { 0 };
        let begin = wait.end.saturating_sub(wait.length).max(earliest);
        packets.event(begin, slice(SLICE_BEGIN, track, "wait", Some(wait.why.name())))?;
        packets.event(wait.end.max(begin), slice(SLICE_END, track, "wait", None))?;
        before = (track, wait.end.max(begin));
    }
    Ok(())
}

/// Each thread's share of time in calls of the allocator, by the clock.
fn shares(answer: &Answer, sums: &Sums, ids: &mut Ids, packets: &mut Packets) -> Result<()> {
    let recording = answer.basis.recording;
    let from = if sums.selection.instant { 0 } else { sums.selection.from.0 };
    let found = lanes(recording, from, sums.selection.to.0, SHARES, &sums.thread_filter);
    for lane in &found.lanes {
        let image = &recording.images[lane.image];
        let of = (image.process, tid(image, Some(lane.thread)));
        let Some(thread) = ids.thread(of) else { continue };
        let track = ids.of(Track::Share(of.0, of.1), packets, |track| {
            track.name = Some("in calls".to_owned());
            track.parent_uuid = Some(thread);
            track.counter = Some(CounterDescriptor { unit: None, unit_name: Some("%".to_owned()) });
        })?;
        let mut before = None;
        for (number, share) in lane.allocator.iter().enumerate() {
            let percent = (share * 1000.0).round() / 10.0;
            if before.replace(percent) == Some(percent) {
                continue;
            }
            let event = TrackEvent {
                r#type: Some(COUNTER),
                track_uuid: Some(track),
                double_counter_value: Some(percent),
                ..TrackEvent::default()
            };
            packets.event(found.start + (number as f64 * found.width) as u64, event)?;
        }
    }
    Ok(())
}
