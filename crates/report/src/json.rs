//! The report as JSON, for scripts. `docs/json.md` describes it; names are stable within a schema version.

use crate::elements::elements;
use crate::figures::{Figures, Interval};
use crate::findings::{self, JsonFinding};
use crate::names;
use crate::patterns::JsonPattern;
use crate::plain_run::{self, JsonCalibration};
use crate::pools::{self, JsonPool};
use crate::remarks::statements;
use crate::threads::{self, JsonThread};
use memtoll_analysis::aggregate::Selection;
use memtoll_analysis::balance::Balance;
use memtoll_analysis::beside::Beside;
use memtoll_analysis::findings::Finding;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::patterns::Patterns;
use memtoll_analysis::ran_in::RanIn;
use memtoll_analysis::resident;
use memtoll_analysis::sites::{GroupBy, Row};
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::{Sees, Tariff};
use memtoll_analysis::waits::waits;
use memtoll_model::{LoadedFile, Recording};
use memtoll_trace::meta::{Exit, KernelAccess, Resident};
use memtoll_trace::summary::PeakWithMappings;
use memtoll_trace::symbols::NameSource;
use serde::Serialize;

/// Grows when a name disappears or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Of the times with these names.
#[derive(Serialize)]
struct BalanceIntervals {
    recorder_ns: Option<Interval>,
    other_fault_ns: Option<Interval>,
    rest_ns: Option<Interval>,
}

/// The highest sum of live blocks and the program's own mappings.
#[derive(Serialize)]
struct JsonPeak {
    bytes: u64,
    block_bytes: u64,
    mapped_bytes: u64,
    at_ns: u64,
}

impl JsonPeak {
    fn new(peak: &PeakWithMappings, tariff: &Tariff) -> Self {
        JsonPeak {
            bytes: peak.bytes(),
            block_bytes: peak.block_bytes,
            mapped_bytes: peak.mapped_bytes,
            at_ns: tariff.ns(peak.time as f64) as u64,
        }
    }
}

/// What only processes and the whole have; null where it is not known.
#[derive(Serialize)]
struct JsonBalance {
    cpu_ns: Option<u64>,
    recorder_ns: Option<u64>,
    other_faults: Option<u64>,
    other_fault_ns: Option<u64>,
    other_faults_by_kind: OtherFaults,
    faults_counted: Option<u64>,
    faults_standard_error: f64,
    rest_ns: Option<i64>,
    balance_intervals: BalanceIntervals,
}

#[derive(Serialize)]
struct OtherFaults {
    files: Option<u64>,
    stacks: Option<u64>,
    recorder: Option<u64>,
    unowned: Option<u64>,
    unseen: Option<u64>,
}

impl JsonBalance {
    fn new(balance: &Balance, sees: Sees) -> Self {
        let faults = &balance.faults;
        let seen = |number: u64| sees.faults.then_some(number);
        let others_known = sees.faults || faults.counted.is_some();
        JsonBalance {
            cpu_ns: balance.processor.map(|ns| ns as u64),
            recorder_ns: balance.recorder.map(|time| time.value as u64),
            other_faults: others_known.then_some(faults.other()),
            other_fault_ns: others_known.then_some(balance.other_faults.value as u64),
            other_faults_by_kind: OtherFaults {
                files: seen(faults.files),
                stacks: seen(faults.stacks),
                recorder: seen(faults.recorder),
                unowned: seen(faults.unowned),
                unseen: faults.counted.map(|_| faults.unseen),
            },
            faults_counted: faults.counted,
            faults_standard_error: faults.error,
            rest_ns: balance.rest().map(|time| time.value.round() as i64),
            balance_intervals: BalanceIntervals {
                recorder_ns: balance.recorder.map(Interval::from),
                other_fault_ns: others_known.then(|| balance.other_faults.into()),
                rest_ns: balance.rest().map(Interval::from),
            },
        }
    }
}

/// The largest resident set; null where it is not known.
#[derive(Serialize)]
struct JsonResident {
    peak_resident_bytes: Option<u64>,
    peak_resident_error_bytes: Option<u64>,
    recorder_resident_bytes: Option<u64>,
}

impl JsonResident {
    fn new(resident: Option<Resident>) -> Self {
        JsonResident {
            peak_resident_bytes: resident.map(|resident| resident.program),
            peak_resident_error_bytes: resident.map(|resident| resident.error),
            recorder_resident_bytes: resident.map(|resident| resident.recorder),
        }
    }
}

#[derive(Serialize)]
struct Totals {
    #[serde(flatten)]
    metrics: Figures,
    #[serde(flatten)]
    balance: JsonBalance,
    #[serde(flatten)]
    resident: JsonResident,
    peak_with_mappings: Option<JsonPeak>,
    lost_records: u64,
    heap_grown_calls: u64,
    heap_grown_bytes: u64,
    heap_shrunk_calls: u64,
    heap_shrunk_bytes: u64,
}

/// The part of a recording that is told: from when to when, since it began.
#[derive(Serialize)]
struct Span {
    from_ns: u64,
    to_ns: Option<u64>,
}

#[derive(Serialize)]
struct Process {
    pid: u32,
    parent: u32,
    command: Vec<String>,
    exit: Option<Exit>,
    forked: bool,
    #[serde(flatten)]
    metrics: Figures,
    #[serde(flatten)]
    balance: Option<JsonBalance>,
    #[serde(flatten)]
    resident: JsonResident,
    peak_with_mappings: Option<JsonPeak>,
}

#[derive(Serialize)]
struct Place<'a> {
    function: &'a str,
    /// In the file, of a function without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
}

#[derive(Serialize)]
struct Site<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    module: Option<&'a str>,
    address: Option<u64>,
    inlined: Vec<Place<'a>>,
    r#type: Option<&'a str>,
    element_size: Option<u64>,
    elements: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    path: Vec<Place<'a>>,
    ran_in: Option<JsonRanIn<'a>>,
    #[serde(flatten)]
    metrics: Figures,
    pattern: Option<JsonPattern>,
}

/// The processes that a call site ran in.
#[derive(Serialize)]
pub(crate) struct JsonRanIn<'a> {
    /// Of only one process.
    pid: Option<u32>,
    programs: Vec<&'a str>,
}

impl<'a> JsonRanIn<'a> {
    pub(crate) fn of(recording: &'a Recording, row: &Row) -> Option<Self> {
        let image = |index: &usize| &recording.images[*index];
        Some(match row.ran_in.as_ref()? {
            RanIn::Process(index) => {
                JsonRanIn { pid: Some(image(index).about.pid), programs: vec![names::program(image(index))] }
            }
            RanIn::Programs { programs, .. } => {
                JsonRanIn { pid: None, programs: programs.iter().map(|index| names::program(image(index))).collect() }
            }
        })
    }
}

/// A program or library in which calls were recorded.
#[derive(Serialize)]
struct JsonModule<'a> {
    path: &'a str,
    build_id: Option<&'a str>,
    names: NameSource,
    problem: Option<&'a str>,
}

impl<'a> JsonModule<'a> {
    fn new(module: &'a LoadedFile) -> Self {
        JsonModule {
            path: &module.path,
            build_id: Some(module.build_id.as_str()).filter(|id| !id.is_empty()),
            names: module.source,
            problem: module.problem.as_deref(),
        }
    }
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

/// What faults cost in this recording, ns each; `timed_faults`: known from so many, 0: from `prices`.
#[derive(Serialize)]
struct FaultPrices {
    page_ns: f64,
    huge_page_ns: f64,
    other_ns: f64,
    sample_ns: f64,
    timed_faults: u64,
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    command: &'a [String],
    machine: &'a memtoll_trace::meta::Machine,
    started: String,
    seconds: f64,
    span: Option<Span>,
    totals: Totals,
    prices: Option<memtoll_trace::meta::Prices>,
    fault_prices: FaultPrices,
    kernel: Option<&'a KernelAccess>,
    processes: Vec<Process>,
    threads: Vec<JsonThread>,
    findings: Vec<JsonFinding<'a>>,
    sites: Vec<Site<'a>>,
    modules: Vec<JsonModule<'a>>,
    pools: Vec<JsonPool<'a>>,
    calibration: Option<JsonCalibration>,
    recorder: Recorder,
    notes: &'a [String],
    missing: Vec<&'a str>,
}

/// The report. `rows` become `sites`, in their order; `patterns` are theirs, where they have some.
pub fn render(
    recording: &Recording,
    sums: &Sums,
    rows: &[Row],
    group: GroupBy,
    found: &[Finding],
    patterns: Option<&Patterns>,
) -> serde_json::Result<String> {
    let clock = &recording.about.clock;
    let tariff = Tariff::of(recording);
    let frames = &recording.frames;
    let place = |id: &u32| {
        let texts = Texts::of(frames, *id);
        let address = frames.frame(*id).address;
        Place {
            function: qualified_name(texts.function),
            address,
            module: address.map(|_| texts.module),
            file: texts.file,
            line: texts.line,
        }
    };
    let processes = sums.counted().map(|(index, image)| {
        let about = &recording.images[index].about;
        Process {
            pid: about.pid,
            parent: about.parent,
            command: about.command.clone(),
            exit: recording.images[index].end.as_ref().map(|end| end.exit),
            forked: about.forked_from.is_some(),
            metrics: Figures::new(&image.total, &tariff),
            balance: Balance::of_image(recording, sums, index)
                .as_ref()
                .map(|balance| JsonBalance::new(balance, tariff.sees())),
            resident: JsonResident::new(resident::of_image(recording, index).filter(|_| !sums.is_part())),
            peak_with_mappings: image.peak_with_mappings.map(|peak| JsonPeak::new(&peak, &tariff)),
        }
    });
    let sites = rows.iter().enumerate().map(|(number, row)| {
        let texts = row.frame.map(|frame| Texts::of(frames, frame));
        let by_line = !matches!(group, GroupBy::Function);
        Site {
            function: texts.as_ref().map_or(row.label.as_str(), |texts| qualified_name(texts.function)),
            file: texts.as_ref().and_then(|texts| texts.file),
            line: texts.as_ref().and_then(|texts| texts.line).filter(|_| by_line),
            module: texts.as_ref().map(|texts| texts.module),
            address: row.frame.and_then(|frame| frames.frame(frame).address),
            inlined: row.inlined.iter().map(place).collect(),
            r#type: row.type_name.as_deref(),
            element_size: row.element.map(|element| element.size),
            elements: elements(row),
            path: row.path.iter().map(place).collect(),
            ran_in: JsonRanIn::of(recording, row),
            metrics: Figures::new(&row.metrics, &tariff),
            pattern: patterns.and_then(|all| all.rows.get(number)).map(|pattern| JsonPattern::new(pattern, &tariff)),
        }
    });
    let selection = &sums.selection;
    let (waits, mut damage) = waits(recording, selection.from, selection.to, &sums.runners);
    damage.extend(patterns.iter().flat_map(|all| all.damage.iter().cloned()));
    let mut beside = Beside::default();
    sums.images.iter().for_each(|image| beside.add(&image.beside));
    let report = Report {
        schema_version: SCHEMA_VERSION,
        command: &recording.about.command,
        machine: &recording.about.machine,
        started: crate::format::date(recording.about.started),
        seconds: clock.seconds(recording.ended()),
        span: span(selection, &tariff),
        totals: Totals {
            metrics: Figures::new(&sums.total, &tariff),
            balance: JsonBalance::new(&Balance::of_all(recording, sums), tariff.sees()),
            resident: JsonResident::new(resident::largest(recording, sums)),
            peak_with_mappings: sums.peak_with_mappings().map(|peak| JsonPeak::new(&peak, &tariff)),
            lost_records: recording.end.as_ref().map_or(0, |end| end.kernel.lost_records),
            heap_grown_calls: beside.grown_calls,
            heap_grown_bytes: beside.grown_bytes,
            heap_shrunk_calls: beside.shrunk_calls,
            heap_shrunk_bytes: beside.shrunk_bytes,
        },
        prices: recording.end.as_ref().and_then(|end| end.prices),
        fault_prices: fault_prices(&tariff),
        kernel: recording.end.as_ref().map(|end| &end.kernel),
        processes: processes.collect(),
        threads: threads::json(recording, &waits, sums),
        findings: findings::json(recording, found),
        sites: sites.collect(),
        modules: recording.modules.iter().map(JsonModule::new).collect(),
        pools: pools::json(recording),
        calibration: plain_run::json(recording),
        recorder: recorder(recording),
        notes: &recording.notes,
        missing: statements(recording, sums).chain(&damage).map(String::as_str).collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn span(selection: &Selection, tariff: &Tariff) -> Option<Span> {
    let ns = |units: u64| tariff.ns(units as f64) as u64;
    let some = selection.from > 0 || selection.to < u64::MAX;
    some.then(|| Span { from_ns: ns(selection.from), to_ns: (selection.to < u64::MAX).then(|| ns(selection.to)) })
}

fn fault_prices(tariff: &Tariff) -> FaultPrices {
    let faults = tariff.faults();
    FaultPrices {
        page_ns: faults.page,
        huge_page_ns: faults.huge,
        other_ns: faults.other,
        sample_ns: faults.sample,
        timed_faults: faults.timed,
    }
}

fn recorder(recording: &Recording) -> Recorder {
    let all = &recording.recorder;
    Recorder {
        file_bytes: recording.file_bytes(),
        memtoll: recording.about.memtoll.clone(),
        events: all.events,
        dropped: all.dropped,
        waits: all.waits,
        wait_ns: (recording.about.clock.seconds(all.wait_time) * 1e9) as u64,
        stack_walks: all.walks,
        stack_nodes: all.nodes,
        late_events: all.late,
        unwind_checked: all.unwind_checked,
        unwind_disagreed: all.unwind_disagreed,
    }
}
