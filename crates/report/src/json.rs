//! The report as JSON, for scripts. `docs/json.md` describes it; names are stable within a schema version.

use crate::elements::elements;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::sites::{GroupBy, Row, Texts, mean_lifetime};
use memtoll_analysis::sums::Sums;
use memtoll_model::Recording;
use memtoll_trace::meta::{Clock, Exit};
use memtoll_trace::summary::Metrics;
use serde::Serialize;

/// Grows when a name disappears or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The sums of anything. Bytes are those asked for.
#[derive(Serialize)]
pub struct JsonMetrics {
    allocations: u64,
    frees: u64,
    reallocations: u64,
    bytes_allocated: u64,
    peak_bytes: u64,
    live_bytes_at_end: u64,
    live_allocations_at_end: u64,
    temporary_allocations: u64,
    free_null_calls: u64,
    failed_allocations: u64,
    largest_allocation: u64,
    mean_lifetime_ns: u64,
    allocator_ns: u64,
    events: u64,
    truncated_stacks: u64,
}

impl JsonMetrics {
    /// From metrics in time units of `clock`. The cost of taking two stamps is subtracted from times.
    pub fn new(metrics: &Metrics, clock: &Clock) -> Self {
        let ns = |units: f64| (units / clock.units_per_second * 1e9).max(0.0) as u64;
        JsonMetrics {
            allocations: metrics.allocations,
            frees: metrics.frees,
            reallocations: metrics.reallocations,
            bytes_allocated: metrics.bytes_allocated,
            peak_bytes: metrics.peak_bytes,
            live_bytes_at_end: metrics.live_bytes,
            live_allocations_at_end: metrics.live_allocations,
            temporary_allocations: metrics.temporary,
            free_null_calls: metrics.free_null_calls,
            failed_allocations: metrics.failed,
            largest_allocation: metrics.largest,
            mean_lifetime_ns: ns(mean_lifetime(metrics) as f64),
            allocator_ns: ns(allocator_units(metrics, clock)),
            events: metrics.events,
            truncated_stacks: metrics.truncated_stacks,
        }
    }
}

/// Time in the allocator without the cost of the stamps, units.
pub fn allocator_units(metrics: &Metrics, clock: &Clock) -> f64 {
    (metrics.allocator_time as f64 - metrics.events as f64 * clock.stamp).max(0.0)
}

#[derive(Serialize)]
struct Process {
    pid: u32,
    parent: u32,
    command: Vec<String>,
    exit: Option<Exit>,
    forked: bool,
    #[serde(flatten)]
    metrics: JsonMetrics,
}

#[derive(Serialize)]
struct Place<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
}

#[derive(Serialize)]
struct Site<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    module: Option<&'a str>,
    inlined: Vec<Place<'a>>,
    r#type: Option<&'a str>,
    element_size: Option<u64>,
    elements: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    path: Vec<Place<'a>>,
    #[serde(flatten)]
    metrics: JsonMetrics,
}

#[derive(Serialize)]
struct Recorder {
    file_bytes: u64,
    memtoll: String,
    events: u64,
    dropped: u64,
    waits: u64,
    wait_ns: u64,
    stack_walks: u64,
    stack_nodes: u64,
    late_events: u64,
    unwind_checked: u64,
    unwind_disagreed: u64,
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    command: &'a [String],
    machine: &'a memtoll_trace::meta::Machine,
    started: String,
    seconds: f64,
    totals: JsonMetrics,
    processes: Vec<Process>,
    sites: Vec<Site<'a>>,
    recorder: Recorder,
    notes: &'a [String],
    missing: Vec<&'a str>,
}

/// The report. `rows` become `sites`, in their order.
pub fn render(recording: &Recording, sums: &Sums, rows: &[Row], group: GroupBy) -> serde_json::Result<String> {
    let clock = &recording.about.clock;
    let frames = &recording.frames;
    let place = |id: &u32| {
        let texts = Texts::of(frames, *id);
        Place { function: qualified_name(texts.function), file: texts.file, line: texts.line }
    };
    let processes = sums.images.iter().map(|image| {
        let about = &recording.images[image.image].about;
        Process {
            pid: about.pid,
            parent: about.parent,
            command: about.command.clone(),
            exit: recording.images[image.image].end.as_ref().map(|end| end.exit),
            forked: about.forked_from.is_some(),
            metrics: JsonMetrics::new(&image.total, clock),
        }
    });
    let sites = rows.iter().map(|row| {
        let texts = row.frame.map(|frame| Texts::of(frames, frame));
        let by_line = !matches!(group, GroupBy::Function);
        Site {
            function: texts.as_ref().map_or(row.label.as_str(), |texts| qualified_name(texts.function)),
            file: texts.as_ref().and_then(|texts| texts.file),
            line: texts.as_ref().and_then(|texts| texts.line).filter(|_| by_line),
            module: texts.as_ref().map(|texts| texts.module),
            inlined: row.inlined.iter().map(place).collect(),
            r#type: row.type_name.as_deref(),
            element_size: row.element_size,
            elements: elements(row),
            path: row.path.iter().map(place).collect(),
            metrics: JsonMetrics::new(&row.metrics, clock),
        }
    });
    let report = Report {
        schema_version: SCHEMA_VERSION,
        command: &recording.about.command,
        machine: &recording.about.machine,
        started: crate::format::date(recording.about.started),
        seconds: clock.seconds(recording.ended()),
        totals: JsonMetrics::new(&sums.total, clock),
        processes: processes.collect(),
        sites: sites.collect(),
        recorder: recorder(recording),
        notes: &recording.notes,
        missing: recording.damage.iter().chain(&sums.damage).map(String::as_str).collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn recorder(recording: &Recording) -> Recorder {
    let stats = || recording.images.iter().filter_map(|image| image.end.as_ref()).map(|end| &end.recorder);
    Recorder {
        file_bytes: recording.file_bytes(),
        memtoll: recording.about.memtoll.clone(),
        events: stats().map(|s| s.events).sum(),
        dropped: stats().map(|s| s.dropped).sum(),
        waits: stats().map(|s| s.waits).sum(),
        wait_ns: (recording.about.clock.seconds(stats().map(|s| s.wait_time).sum()) * 1e9) as u64,
        stack_walks: stats().map(|s| s.walks).sum(),
        stack_nodes: stats().map(|s| s.nodes).sum(),
        late_events: stats().map(|s| s.late).sum(),
        unwind_checked: stats().map(|s| s.unwind_checked).sum(),
        unwind_disagreed: stats().map(|s| s.unwind_disagreed).sum(),
    }
}
