//! The table `runs`: one row, the recording as a whole.

use super::column::{Column, intervals, metrics};
use super::kinds::{Kind, Unit};
use super::source::Source;
use memtoll_analysis::figures::Figure;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::stacks::{Cuts, View};
use memtoll_query::{Figures, Totals};
use memtoll_text::shell;
use parquet::data_type::ByteArray;

/// A run.
pub struct Run {
    started_us: i64,
    duration_ns: i64,
    command: String,
    directory: String,
    host: String,
    kernel: String,
    processor: String,
    processors: u32,
    memory_bytes: u64,
    page_bytes: u32,
    memtoll: String,
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    filter: Option<String>,
    drop: Option<String>,
    focus: Option<String>,
    figures: Figures,
    cpu_ns: Option<u64>,
    recorder_ns: Option<u64>,
    other_faults: Option<u64>,
    other_fault_time_ns: Option<u64>,
    rest_ns: Option<i64>,
    resident_peak_bytes: Option<u64>,
    missing: Option<String>,
}

impl Run {
    fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The run of an answer that has totals.
    pub fn of(source: &Source, totals: &Totals) -> Run {
        let recording = source.recording();
        let about = &recording.about;
        let span = source.answer.about.span;
        let View { filter, cuts: Cuts { drop, focus, .. }, .. } = &source.answer.basis.view;
        let missing = source.answer.missing.join("\n");
        Run {
            started_us: (about.started / 1000) as i64,
            duration_ns: source.ns(recording.ended()),
            command: shell::line(&about.command),
            directory: about.directory.clone(),
            host: about.machine.host.clone(),
            kernel: about.machine.kernel.clone(),
            processor: about.machine.processor.clone(),
            processors: about.machine.processors,
            memory_bytes: about.machine.memory,
            page_bytes: about.machine.page,
            memtoll: about.memtoll.clone(),
            from_ns: span.map(|span| span.from_ns),
            to_ns: span.and_then(|span| span.to_ns),
            filter: filter.as_ref().map(ToString::to_string),
            drop: drop.as_ref().map(ToString::to_string),
            focus: focus.as_ref().map(ToString::to_string),
            figures: totals.figures.clone(),
            cpu_ns: totals.balance.cpu_ns,
            recorder_ns: totals.balance.recorder_ns,
            other_faults: totals.balance.other_faults,
            other_fault_time_ns: totals.balance.other_fault_time_ns,
            rest_ns: totals.balance.rest_ns,
            resident_peak_bytes: totals.run.of(Figure::ResidentPeak).map(|peak| peak.value as u64),
            missing: (!missing.is_empty()).then_some(missing),
        }
    }
}

/// The column that all tables have.
pub fn run_id<R>(id: &ByteArray) -> Column<R> {
    let help = "The run: a digest of when and where it began. All tables have it, so those of several runs can be read \
                together.";
    Column::word("run_id", help, vec![id.clone()], |_| 0)
}

/// The columns.
pub fn columns(id: &ByteArray, wide: &[Metric]) -> Vec<Column<Run>> {
    let mut columns = vec![
        run_id(id),
        Column::new(Kind::Instant, "started", Unit::None, "When the recording began, UTC.", |run: &Run| {
            run.started_us.into()
        }),
        Column::ns("duration_ns", "How long it took.", |run: &Run| run.duration_ns.into()),
        Column::text("command", "The command line.", |run: &Run| run.command.as_str().into()),
        Column::text("directory", "The folder that it was started in.", |run: &Run| run.directory.as_str().into()),
        Column::text("host", "The machine's name.", |run: &Run| run.host.as_str().into()),
        Column::text("kernel", "The kernel's name and release.", |run: &Run| run.kernel.as_str().into()),
        Column::text("processor", "The processor's name.", |run: &Run| run.processor.as_str().into()),
        Column::count("processors", "Processors that the program could use.", |run: &Run| run.processors.into()),
        Column::bytes("memory_bytes", "The machine's memory.", |run: &Run| run.memory_bytes.into()),
        Column::bytes("page_bytes", "The size of a page.", |run: &Run| run.page_bytes.into()),
        Column::text("memtoll", "The version that recorded it.", |run: &Run| run.memtoll.as_str().into()),
        Column::ns("from_ns", "Where the exported part of the run begins; null: at its beginning.", |run: &Run| {
            run.from_ns.into()
        }),
        Column::ns("to_ns", "Where that part ends; null: at the run's end.", |run: &Run| run.to_ns.into()),
        Column::text("filter", "Only stacks that match this are in the other tables; null: all.", |run: &Run| {
            run.filter.as_deref().into()
        })
        .optional(),
        Column::text("drop", "Stacks with a function or loaded file that matches this are left out.", |run: &Run| {
            run.drop.as_deref().into()
        })
        .optional(),
        Column::text(
            "focus",
            "Only stacks with a function or loaded file that matches this, from there on.",
            |run: &Run| run.focus.as_deref().into(),
        )
        .optional(),
        Column::ns("cpu_ns", "CPU time of all processes.", |run: &Run| run.cpu_ns.into()),
        Column::ns("recorder_ns", "The part of it that the recorder took.", |run: &Run| run.recorder_ns.into()),
        Column::count("other_faults", "Page faults of code, stacks and files.", |run: &Run| run.other_faults.into()),
        Column::ns("other_fault_time_ns", "Time of those.", |run: &Run| run.other_fault_time_ns.into()),
        Column::ns("rest_ns", "CPU time that is left for the program's own work.", |run: &Run| run.rest_ns.into()),
        Column::bytes(
            Figure::ResidentPeak.about().key,
            "The largest resident set of all processes at one instant.",
            |run: &Run| run.resident_peak_bytes.into(),
        ),
        Column::text("missing", "What is missing in the recording; null: nothing.", |run: &Run| {
            run.missing.as_deref().into()
        })
        .optional(),
    ];
    columns.extend(metrics(Run::figures));
    columns.extend(intervals(Run::figures, wide));
    columns
}
