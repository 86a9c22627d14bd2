//! The processed profile of the Firefox Profiler, version 70: costs over time as samples, blocks as native allocations,
//! live bytes as counters, marks and regions as markers, a track for each thread.
//!
//! Its description: <https://github.com/firefox-devtools/profiler/tree/main/docs-developer>.

mod history;
mod tables;

use crate::format::{Format, needs_frees};
use crate::labels;
use crate::metrics::Total;
use crate::proportional_shares::divided;
use crate::samples::{Samples, Thread};
use flate2::Compression;
use flate2::write::GzEncoder;
use history::{History, Life};
use memtoll_analysis::metric::{Metric, Together};
use memtoll_analysis::stacks::{Path, Stacks};
use memtoll_analysis::thread_filter::{program, thread_name};
use memtoll_model::{Recording, StackId};
use memtoll_query::export::Export;
use memtoll_query::{Answer, View};
use memtoll_text::format::Unit;
use memtoll_text::shell;
use memtoll_trace::ids::{ThreadNo, Units};
use memtoll_trace::meta::MarkKind;
use memtoll_trace::path::last_part;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use tables::Tables;

/// A track for each thread.
pub struct Firefox;

/// The version of the format.
const VERSION: u32 = 70;

impl Export for Firefox {
    fn name(&self) -> &'static str {
        "firefox"
    }

    fn help(&self) -> &'static str {
        "Costs and blocks over time, by thread, in the Firefox Profiler (profiler.firefox.com)"
    }

    fn view(&self, _asked: View) -> Result<View, &'static str> {
        Ok(View::Totals)
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let mut out = GzEncoder::new(out, Compression::default());
        serde_json::to_writer(&mut out, &profile(answer))?;
        out.finish()?;
        Ok(())
    }
}

impl Format for Firefox {
    fn extension(&self) -> &'static str {
        "firefox.json.gz"
    }

    fn refuses(&self, answer: &Answer) -> Option<String> {
        needs_frees(answer)
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let mut lacks = vec![
            "blocks of a call path that were allocated in one interval and freed in one interval are one entry, and so is \
             what a call path paid in an interval: a 1,024th of the time, or more for call paths that cost little, if there are many"
                .to_owned(),
        ];
        if answer
            .metric
            .is_some_and(|metric| !matches!(metric, Metric::Allocations | Metric::Live) && metric != weight(answer))
        {
            lacks.push("samples are weighed by a time: it shows \"cost\"".to_owned());
        }
        lacks
    }
}

/// What samples are weighed by: times only.
pub fn weight(answer: &Answer) -> Metric {
    let is_time = |metric: &Metric| {
        let about = metric.about();
        about.unit == Unit::Time && about.together == Together::Sum && metric.is_known(answer.basis.tariff.sees())
    };
    answer.metric.filter(is_time).unwrap_or(Metric::Cost)
}

/// What a stack paid and allocated in a thread.
struct Sums {
    node: StackId,
    paid: u64,
    bytes: u64,
}

fn profile(answer: &Answer) -> Value {
    let Samples { recording, mut stacks, all } = Samples::by_thread(answer);
    let history = History::of(answer, &mut stacks);
    let metric = weight(answer);
    let mut threads: BTreeMap<Thread, BTreeMap<StackId, (Path, Sums)>> = BTreeMap::new();
    let mut first_nodes: FxHashMap<(Thread, Path), StackId> = FxHashMap::default();
    for sample in &all {
        // What is no thread's is shown in the first one.
        let thread = sample.thread.unwrap_or_else(|| main_thread(recording, 0));
        let node = *first_nodes.entry((thread, sample.stack.path)).or_insert(sample.node);
        let of_thread = threads.entry(thread).or_default();
        let (_, sums) = of_thread.entry(node).or_insert((sample.stack.path, Sums { node, paid: 0, bytes: 0 }));
        sums.paid = sums.paid.wrapping_add(metric.value(&sample.metrics));
        sums.bytes = sums.bytes.wrapping_add(sample.metrics.bytes.0);
    }
    let images: Vec<usize> =
        (0..recording.images.len()).filter(|at| answer.basis.thread_filter.of(*at).is_some()).collect();
    // Marks are shown, whether their thread allocated or not.
    for image in &images {
        for mark in &recording.images[*image].marks {
            threads.entry((*image, mark.thread)).or_default();
        }
    }
    let mut writer = Writer { answer, recording, history: &history, tables: Tables::new(recording), address: 0 };
    let tracks: Vec<Value> = threads.iter().map(|(thread, of)| writer.thread(&mut stacks, *thread, of)).collect();
    let first_track = |image: usize| threads.keys().position(|thread| thread.0 == image).unwrap_or(0);
    let counters: Vec<Value> = images.iter().filter_map(|image| writer.counter(*image, first_track(*image))).collect();
    let meta = writer.meta(metric);
    let libs = writer.tables.libs();
    json!({
        "meta": meta,
        "libs": libs,
        "counters": counters,
        "shared": writer.tables.into_json(),
        "threads": tracks,
    })
}

fn main_thread(recording: &Recording, image: usize) -> Thread {
    let number = recording
        .images
        .get(image)
        .and_then(|image| image.threads.first())
        .map_or(ThreadNo::FIRST, |thread| thread.number);
    (image, Some(number))
}

struct Writer<'a, 'r> {
    answer: &'a Answer<'r>,
    recording: &'r Recording,
    history: &'a History,
    tables: Tables<'r>,
    /// Blocks that are one entry have an address of their own.
    address: u64,
}

impl Writer<'_, '_> {
    /// Milliseconds since the recording began.
    fn ms(&self, units: u64) -> f64 {
        self.answer.basis.tariff.ns(units as f64) / 1e6
    }

    fn time(&self, interval: u64) -> f64 {
        self.ms(self.history.from.saturating_add(interval.saturating_mul(self.history.width)))
    }

    /// Threads are grouped by it, so it tells processes apart.
    fn pid(&self, image: usize) -> String {
        format!("{}{}", self.recording.images[image].about.pid, labels::from_when(self.recording, image))
    }

    fn thread(&mut self, stacks: &mut Stacks, thread: Thread, of: &BTreeMap<StackId, (Path, Sums)>) -> Value {
        let (index, number) = thread;
        let image = &self.recording.images[index];
        let about = number.and_then(|number| image.thread(number));
        let tid = about.map_or(ThreadNo::or_zero(number), |about| about.tid);
        let name = about.and_then(|about| thread_name(image, about)).unwrap_or("(no name)");
        let ended = image.end.as_ref().map(|end| self.ms(end.ended));
        let samples = self.samples(stacks, thread, of);
        let allocations = self.allocations(stacks, thread, of);
        json!({
            "processType": "default",
            "processName": program(image),
            "processStartupTime": self.ms(image.about.began),
            "processShutdownTime": ended,
            "registerTime": self.ms(about.map_or(image.about.began, |about| about.began)),
            "unregisterTime": about.and_then(|about| about.ended).map(|time| self.ms(time)),
            "pausedRanges": [],
            "showMarkersInTimeline": true,
            "name": name,
            "isMainThread": tid == image.about.pid,
            "pid": self.pid(index),
            "tid": tid,
            "samples": samples,
            "nativeAllocations": allocations,
            "markers": self.markers(thread),
        })
    }

    /// What each stack paid, in the intervals in which it did.
    fn samples(&mut self, stacks: &mut Stacks, thread: Thread, of: &BTreeMap<StackId, (Path, Sums)>) -> Value {
        let mut all: Vec<(u64, Option<usize>, u64)> = Vec::new();
        for (path, sums) in of.values().filter(|(_, sums)| sums.paid > 0) {
            let stack = self.tables.stack(stacks, sums.node);
            let mut parts: Vec<(u64, u64)> = match self.history.costs.parts((thread, *path)) {
                Some(parts) => parts.iter().map(|(interval, part)| (*interval, *part)).collect(),
                None => vec![(0, 1)],
            };
            parts.sort_unstable();
            let weights: Vec<u64> = parts.iter().map(|(_, part)| *part).collect();
            let shares = parts.iter().zip(divided(sums.paid, &weights));
            all.extend(shares.filter(|(_, share)| *share > 0).map(|((interval, _), share)| (*interval, stack, share)));
        }
        all.sort_unstable();
        json!({
            "length": all.len(),
            "stack": all.iter().map(|(_, stack, _)| stack).collect::<Vec<_>>(),
            "time": all.iter().map(|(interval, ..)| self.time(*interval)).collect::<Vec<_>>(),
            "weight": all.iter().map(|(.., ns)| *ns as f64 / 1e6).collect::<Vec<_>>(),
            "weightType": "tracing-ms",
        })
    }

    /// The blocks of the thread's stacks: what was allocated, and what of it was freed.
    fn allocations(&mut self, stacks: &mut Stacks, thread: Thread, of: &BTreeMap<StackId, (Path, Sums)>) -> Value {
        /// In the order of their times; what was allocated stands before what was freed.
        type Entry = (u64, bool, u64, Option<usize>, Thread, i64);
        let mut all: Vec<Entry> = Vec::new();
        for (path, sums) in of.values().filter(|(_, sums)| sums.bytes > 0) {
            let stack = self.tables.stack(stacks, sums.node);
            let mut lives: Vec<(Life, u64)> = match self.history.blocks.parts((thread, *path)) {
                Some(lives) => lives.iter().map(|(life, bytes)| (*life, *bytes)).collect(),
                None => vec![(Life { begin: 0, end: None }, 1)],
            };
            lives.sort_unstable();
            let weights: Vec<u64> = lives.iter().map(|(_, bytes)| *bytes).collect();
            for ((life, _), bytes) in lives.iter().zip(divided(sums.bytes, &weights)) {
                if bytes == 0 {
                    continue;
                }
                self.address += 1;
                all.push((life.begin, false, self.address, stack, thread, bytes as i64));
                if let Some((interval, by, node)) = life.end {
                    let stack = self.tables.stack(stacks, node);
                    all.push((interval, true, self.address, stack, by, -(bytes as i64)));
                }
            }
        }
        all.sort_unstable();
        let tid = |(image, number): Thread| {
            let thread = number.and_then(|number| self.recording.images[image].thread(number));
            thread.map_or(ThreadNo::or_zero(number), |thread| thread.tid)
        };
        json!({
            "length": all.len(),
            "time": all.iter().map(|entry| self.time(entry.0)).collect::<Vec<_>>(),
            "weight": all.iter().map(|entry| entry.5).collect::<Vec<_>>(),
            "weightType": "bytes",
            "stack": all.iter().map(|entry| entry.3).collect::<Vec<_>>(),
            "memoryAddress": all.iter().map(|entry| entry.2).collect::<Vec<_>>(),
            "threadId": all.iter().map(|entry| tid(entry.4)).collect::<Vec<_>>(),
        })
    }

    /// Marks and regions of memtoll.h.
    fn markers(&mut self, (image, number): Thread) -> Value {
        let selection = self.answer.basis.selection;
        let marks = self.recording.images[image].marks.iter();
        let marks =
            marks.filter(|mark| mark.thread == number && (selection.from..=selection.to).contains(&Units(mark.time)));
        let (mut names, mut starts, mut ends, mut phases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for mark in marks {
            let time = Some(self.ms(mark.time));
            let (start, end, phase) = match mark.kind {
                MarkKind::Instant => (time, None, 0),
                MarkKind::Begin => (time, None, 2),
                MarkKind::End => (None, time, 3),
            };
            names.push(self.tables.texts.number(&mark.name));
            starts.push(start);
            ends.push(end);
            phases.push(phase);
        }
        let length = names.len();
        json!({
            "length": length,
            "data": vec![Value::Null; length],
            "name": names,
            "startTime": starts,
            "endTime": ends,
            "phase": phases,
            "category": vec![0; length],
        })
    }

    /// Live bytes of a process over time.
    fn counter(&self, image: usize, track: usize) -> Option<Value> {
        let mut growth: Vec<(u64, i64)> =
            self.history.growth.get(&image)?.iter().map(|(interval, bytes)| (*interval, *bytes)).collect();
        growth.sort_unstable();
        let row = |source: &str, label: &str| json!({ "type": "value", "source": source, "format": { "unit": "bytes" }, "label": label });
        Some(json!({
            "name": "live bytes",
            "category": "Memory",
            "description": "Bytes of live blocks",
            "pid": self.pid(image),
            "mainThreadIndex": track,
            "samples": {
                "length": growth.len(),
                "time": growth.iter().map(|(interval, _)| self.time(*interval)).collect::<Vec<_>>(),
                "count": growth.iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(),
            },
            "display": {
                "graphType": "line-accumulated",
                "unit": "bytes",
                "color": "orange",
                "markerSchemaLocation": "timeline-memory",
                "sortWeight": 20,
                "label": "Live bytes",
                "tooltipRows": [row("accumulated", "live bytes at this time"), row("count-range", "range in graph")],
            },
        }))
    }

    fn meta(&self, metric: Metric) -> Value {
        let name = metric.about().title;
        let error = Total::of(self.answer).error(metric, name);
        let error = error.map(|error| json!([{ "label": name, "format": "string", "value": error }]));
        let about = &self.answer.about;
        let (started, _) = labels::times(self.answer);
        let from = about.span.map_or(0, |span| span.from_ns);
        json!({
            "interval": self.ms(self.history.width),
            // Times are since the recording began.
            "startTime": started.saturating_sub(from) as f64 / 1e6,
            "processType": 0,
            "product": about.command.first().map_or("", |program| last_part(program)),
            "arguments": shell::line(about.command),
            "importedFrom": concat!("memtoll ", env!("CARGO_PKG_VERSION")),
            "stackwalk": 1,
            "version": 36,
            "preprocessedProfileVersion": VERSION,
            "symbolicated": true,
            "symbolicationNotSupported": true,
            "usesOnlyOneStackType": true,
            "sourceCodeIsNotOnSearchfox": true,
            "markerSchema": [],
            "extra": error.map(|entries| json!({ "label": "Estimates", "entries": entries })).as_slice(),
            "categories": [{ "name": name, "color": "grey", "subcategories": ["Other"] }],
            "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns" },
            "oscpu": about.machine.kernel,
            "CPUName": about.machine.processor,
            "logicalCPUs": about.machine.processors,
            "mainMemory": about.machine.memory,
        })
    }
}
