//! The tables `processes` and `threads`.

use super::column::{Column, intervals, metrics};
use super::kinds::{Kind, Unit, Value};
use super::runs::run_id;
use super::source::Source;
use memtoll_analysis::figures::Figure;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::sums::{Part, sums_that_match};
use memtoll_analysis::thread_filter::thread_name;
use memtoll_model::Image;
use memtoll_query::{Details, Figures};
use memtoll_tally::{Selection, Split};
use memtoll_text::shell;
use memtoll_trace::ids::{ImageNo, ThreadNo};
use memtoll_trace::meta::Exit;
use parquet::data_type::ByteArray;
use rustc_hash::FxHashMap;

/// A process image: what runs from a process's start, fork or exec to its end or next exec.
pub struct Process {
    image: ImageNo,
    process: String,
    pid: u32,
    parent_pid: u32,
    command: String,
    title: Option<String>,
    executable: String,
    is_forked: bool,
    began_ns: i64,
    ended_ns: Option<i64>,
    exit_code: Option<i64>,
    exit_signal: Option<i64>,
    cpu_ns: Option<u64>,
    recorder_ns: Option<u64>,
    resident_peak_bytes: Option<u64>,
    figures: Figures,
}

/// The process images of an answer.
pub fn processes(source: &Source, details: &Details) -> Vec<Process> {
    let process = |((index, _), told): ((usize, _), &memtoll_query::run_details::Process)| {
        let image: &Image = &source.recording().images[index];
        let exit = image.end.as_ref().map(|end| end.exit);
        Process {
            image: image.about.image,
            process: names::program(image).to_owned(),
            pid: told.pid,
            parent_pid: told.parent,
            command: shell::line(&told.command),
            title: told.title.clone(),
            executable: image.about.executable.clone(),
            is_forked: told.forked,
            began_ns: source.ns(image.about.began),
            ended_ns: image.end.as_ref().map(|end| source.ns(end.ended)),
            exit_code: exit.and_then(|exit| if let Exit::Code(code) = exit { Some(code.into()) } else { None }),
            exit_signal: exit.and_then(|exit| if let Exit::Signal(number) = exit { Some(number.into()) } else { None }),
            cpu_ns: told.balance.as_ref().and_then(|balance| balance.cpu_ns),
            recorder_ns: told.balance.as_ref().and_then(|balance| balance.recorder_ns),
            resident_peak_bytes: told
                .run
                .as_ref()
                .and_then(|run| run.of(Figure::ResidentPeak))
                .map(|peak| peak.value as u64),
            figures: told.figures.clone(),
        }
    };
    source.sums.counted().zip(&details.processes).map(process).collect()
}

/// The column of a process image's number.
pub fn image<R>(value: impl Fn(&R) -> Value + 'static) -> Column<R> {
    let help = "Number of the process image in the run. A process that calls exec has several.";
    Column::id("image", help, value).of_few()
}

impl Process {
    fn figures(&self) -> &Figures {
        &self.figures
    }
}

/// The columns of `processes`; `wide` are the metrics that have intervals.
pub fn process_columns(id: &ByteArray, wide: &[Metric]) -> Vec<Column<Process>> {
    let mut columns = vec![
        run_id(id),
        image(|row: &Process| row.image.into()),
        Column::text("process", "The program's name, as it was started.", |row: &Process| row.process.as_str().into()),
        Column::id("pid", "Process id.", |row: &Process| row.pid.into()),
        Column::id("parent_pid", "Process id of its parent, when it began.", |row: &Process| row.parent_pid.into()),
        Column::text("command", "The command line.", |row: &Process| row.command.as_str().into()),
        Column::text(
            "title",
            "What it showed in the place of its command line; null: nothing else.",
            |row: &Process| row.title.as_deref().into(),
        )
        .optional(),
        Column::text("executable", "The program's file.", |row: &Process| row.executable.as_str().into()),
        Column::truth("is_forked", "Whether it is a fork that runs what its parent ran.", |row: &Process| {
            row.is_forked.into()
        }),
        Column::ns("began_ns", "When it began.", |row: &Process| row.began_ns.into()),
        Column::ns("ended_ns", "When it ended; null: unknown.", |row: &Process| row.ended_ns.into()),
        Column::id("exit_code", "Its exit code; null if a signal ended it or it is unknown.", |row: &Process| {
            row.exit_code.into()
        })
        .optional(),
        Column::id("exit_signal", "The signal that ended it; null: none did.", |row: &Process| row.exit_signal.into())
            .optional(),
        Column::ns("cpu_ns", "CPU time.", |row: &Process| row.cpu_ns.into()),
        Column::ns("recorder_ns", "The part of it that the recorder took.", |row: &Process| row.recorder_ns.into()),
        Column::bytes(Figure::ResidentPeak.about().key, "The largest resident set.", |row: &Process| {
            row.resident_peak_bytes.into()
        }),
    ];
    columns.extend(metrics(Process::figures));
    columns.extend(intervals(Process::figures, wide));
    columns
}

/// A thread of a process image.
pub struct Thread {
    image: ImageNo,
    thread: ThreadNo,
    pid: u32,
    tid: u32,
    name: Option<String>,
    began_ns: i64,
    ended_ns: Option<i64>,
    cpu_ns: Option<u64>,
    minor_faults: Option<u64>,
    major_faults: Option<u64>,
    voluntary_switches: Option<u64>,
    involuntary_switches: Option<u64>,
    figures: Figures,
}

/// The threads of an answer. What each one did is added up for this.
pub fn threads(source: &Source, details: &Details) -> Vec<Thread> {
    let basis = &source.answer.basis;
    let selection = Selection { split: Split::Thread, ..basis.selection };
    let stacks = Stacks::new(basis.recording, &basis.view);
    let split = sums_that_match(basis.recording, basis.known(), selection, basis.thread_filter.clone(), &stacks);
    let mut sums: FxHashMap<(usize, Option<ThreadNo>), Priced> = FxHashMap::default();
    for site in &split.sites {
        if let Part::Thread(image, number) = site.part {
            site.add_to(sums.entry((image, number)).or_default());
        }
    }
    let thread_filter = &source.sums.thread_filter;
    let all = basis.recording.images.iter().enumerate().flat_map(|(index, image)| {
        let threads = image.threads.iter().filter(move |thread| thread_filter.admit(index, thread.number));
        threads.map(move |thread| (index, image, thread))
    });
    let thread = |((index, image, thread), told): ((usize, &Image, &memtoll_trace::meta::Thread), &_)| {
        let told: &memtoll_query::threads::Thread = told;
        let priced = sums.get(&(index, Some(thread.number))).copied().unwrap_or_default();
        Thread {
            image: image.about.image,
            thread: thread.number,
            pid: image.about.pid,
            tid: thread.tid,
            name: thread_name(image, thread).map(str::to_owned),
            began_ns: source.ns(thread.began),
            ended_ns: thread.ended.map(|ended| source.ns(ended)),
            cpu_ns: told.cpu_ns,
            minor_faults: told.minor_faults,
            major_faults: told.major_faults,
            voluntary_switches: told.voluntary_switches,
            involuntary_switches: told.involuntary_switches,
            figures: Figures::new(&priced, &basis.tariff),
        }
    };
    all.zip(&details.threads).map(thread).collect()
}

/// The columns of `threads`.
pub fn thread_columns(id: &ByteArray) -> Vec<Column<Thread>> {
    let kernel = "as the kernel counted them; null: the thread did not end while it was recorded";
    let mut columns = vec![
        run_id(id),
        image(|row: &Thread| row.image.into()),
        Column::id("thread", "Number of the thread in its process image.", |row: &Thread| row.thread.into()),
        Column::id("pid", "Process id.", |row: &Thread| row.pid.into()),
        Column::id("tid", "The kernel's thread id.", |row: &Thread| row.tid.into()),
        Column::text("name", "Its name; a first thread without one has its program's.", |row: &Thread| {
            row.name.as_deref().into()
        })
        .optional(),
        Column::ns("began_ns", "Its first event.", |row: &Thread| row.began_ns.into()),
        Column::ns("ended_ns", "When it ended; null: unknown.", |row: &Thread| row.ended_ns.into()),
        Column::ns("cpu_ns", "CPU time.", |row: &Thread| row.cpu_ns.into()),
    ];
    type Value = fn(&Thread) -> Option<u64>;
    let counts: [(&'static str, &str, Value); 4] = [
        ("kernel_minor_faults", "Minor faults of all kinds", |row| row.minor_faults),
        ("kernel_major_faults", "Major faults of all kinds", |row| row.major_faults),
        ("voluntary_switches", "Switches away from it because it waited", |row| row.voluntary_switches),
        ("involuntary_switches", "Switches away from it for another thread", |row| row.involuntary_switches),
    ];
    for (name, what, value) in counts {
        let help = format!("{what}, {kernel}.");
        let column = Column::new(Kind::Integer, name, Unit::Count, help, move |row: &Thread| value(row).into());
        columns.push(column.optional());
    }
    columns.extend(metrics(|row: &Thread| &row.figures));
    columns
}
