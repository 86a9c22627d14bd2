//! The supervisor: `memtoll record`.
//!
//! It starts the program with the recorder preloaded, gives each process image shared memory for its events, drains and
//! packs them while the program runs, and writes one file for the whole tree of processes.
//!
//! * [`record`]: one run, from start to end
//! * `private_directory`, `listener`: where the recorder lies and how it says hello
//! * `wire`, `arena`, `chunk_cursor`: the shared memory
//! * `chunk_quota`, `backlog`, `spare_memory`: where full chunks wait while a program writes faster than events are packed
//! * `run`, `recorded_images`: what all parts share, and who is being recorded
//! * `job_threads`, `exit_watcher`: threads for the process images that are recorded, and who tells them that theirs is over
//! * `image`, `sink`: the work of one of them: sorting events, packing them
//! * `process_polling`: resident sets and processor times, for processes that are killed and for all processes together
//! * `page_look`, `seen_pages`: which pages of a process are in memory, when that is looked at
//! * `snapshot_requests`: looks at pages that are asked for from outside
//! * `kernel_events`, `join`: what the kernel tells of faults, mappings and waiting, and which call or block it belongs to
//! * `identity`: name, command line and title of a process
//! * `fork_family`: forked children, and whose the memory is that they inherit
//! * `loaded_files`: the files of loaded code, kept open for their names
//! * `expected_allocators`, `own_allocators`: which allocators the program has inside its files
//! * `attach`, `process_memory`: the same for a process that runs already
//! * `redirection`: how functions of allocators inside programs are redirected to the recorder
//! * `machine_facts`, `clock`: what all processes of a run have in common
//! * `machine_prices`: what the machine's operations cost
//! * `recordable_program`, `c_library`: whether a program can be recorded
//! * `target`, `abort_handler`: the program, which goes on whatever happens here
//! * `rank`: which process of a parallel job this is
//! * `output`: the file; `live_recording`: what tells of it while it is written

mod abort_handler;
mod arena;
mod attach;
mod backlog;
mod blocks_before;
mod bytes_range;
mod c_library;
mod cache_folder;
mod chunk_cursor;
mod chunk_quota;
mod clock;
mod closed_descriptors;
mod exit_descriptor;
mod exit_watcher;
mod expected_allocators;
mod fork_family;
mod identity;
mod image;
mod job_threads;
mod join;
mod kernel_events;
mod limits;
mod listener;
mod live_recording;
mod loaded_files;
mod lost_blocks;
mod machine_facts;
mod machine_prices;
mod malloc_settings;
mod marks_of_header;
mod once_a_file;
mod output;
mod own_allocators;
mod page_look;
mod private_directory;
mod proc_files;
mod process_memory;
mod process_polling;
mod progress;
mod rank;
mod recordable_program;
mod recorded_images;
mod redirection;
mod run;
mod seen_pages;
mod sink;
mod snapshot_requests;
mod spare_memory;
mod target;
mod thread_priority;
mod thread_spawning;
mod wire;

use clock::Clock;
use kernel_events::Kernel;
use listener::Listener;
use memtoll_symbols::DebugFolders;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::{ImageNo, Ticks};
use memtoll_trace::meta::{Calibration, End, KernelAccess, Note, PlainRun, RecordedCalls, Recording, Usage, variables};
use output::Output;
use private_directory::PrivateDirectory;
use progress::Progress;
use run::Run;
use rustc_hash::FxHashMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub use attach::{Attach, Stops, attach, find_process};
pub use cache_folder::is_first_time;
pub use clock::has_steady_counter;
pub use expected_allocators::{ExpectedAllocators, expected_allocators};
pub use image::replay::Replay;
pub use live_recording::Live;
pub use machine_prices::KeptCosts;
pub use memtoll_kernel::Period as FaultPeriod;
pub use memtoll_trace::meta::Exit;
pub use output::Destination;
pub use progress::ProgressLine;
pub use rank::own as own_rank;
pub use recordable_program::{Verdict, find as find_program, inspect as inspect_program};
pub use snapshot_requests::{Snapped, snapshot};
pub use target::leave_signals;

/// What to record, and how.
pub struct Options {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The recording's file.
    pub output: Destination,
    /// No more events when the file has this length, bytes.
    pub max_size: Option<u64>,
    /// Look at a process's pages when its resident set passes one of these sizes, bytes.
    pub snapshot_at: Vec<u64>,
    /// Deepest stack that is recorded whole, frames.
    pub stack_depth: u32,
    /// When to show progress on stderr.
    pub progress: ProgressLine,
    /// Of which page faults the kernel tells; `None`: it is not asked for anything.
    pub faults: Option<FaultPeriod>,
    /// Whether blocks that a process leaves at its end are searched for those that nothing points to.
    pub searches_leaks: bool,
    /// A recorder other than the built-in one.
    pub recorder: Option<PathBuf>,
    /// What the program takes without the recorder, if that was measured before, and how those runs ended.
    pub calibration: Option<(Calibration, Exit)>,
    /// Where debug files may lie that have the names of functions which the program was stripped of.
    pub debug_folders: DebugFolders,
    /// Version to write into the file.
    pub version: &'static str,
}

/// How a run went.
pub struct Outcome {
    /// How the program ended.
    pub exit: Exit,
    /// The recording's file.
    pub path: PathBuf,
    /// Events in the file.
    pub events: u64,
    /// Whether a SIGTERM or a SIGHUP ended memtoll: then there is no user to show anything to.
    pub told_to_end: bool,
    /// Whether the file was removed or replaced while it was written.
    pub is_lost: bool,
    /// Statements for the user about what was not recorded; they stand in the file, too.
    pub notes: Vec<String>,
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such program, or it cannot be started.
    #[error("cannot run \"{program}\": {source}")]
    Program {
        /// As it was given.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// It runs already, and is left alone.
    #[error("cannot attach to process {pid}: {why}")]
    Attach {
        /// The process.
        pid: u32,
        /// What stands in the way.
        why: String,
    },
    /// The file cannot be made.
    #[error("cannot write the recording {path}: {source}; choose another place with -o FILE")]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Something that recording needs cannot be had.
    #[error("cannot prepare the recording: {0}")]
    Setup(#[from] io::Error),
}

impl Error {
    /// What this process may not have as much of as recording needs, and what helps. The program perhaps can do without.
    pub fn shortage(&self) -> Option<&'static str> {
        use rustix::io::Errno;
        let (Error::Program { source, .. } | Error::Output { source, .. } | Error::Setup(source)) = self else {
            return None;
        };
        match Errno::from_io_error(source)? {
            Errno::MFILE | Errno::NFILE => Some("more open files than it may have; raise ulimit -n"),
            Errno::AGAIN => {
                Some("more threads or memory than it may have; raise ulimit -u or -v, or pids.max of the control group")
            }
            Errno::NOMEM => Some("more memory than it may have; raise ulimit -v"),
            _ => None,
        }
    }
}

/// What a process is called, by itself and by who started it: not always as its file.
pub fn process_name(pid: u32) -> String {
    identity::Identity::of_started(pid).name
}

/// The machine that this runs on, as recordings describe it.
pub fn this_machine() -> memtoll_trace::meta::Machine {
    proc_files::machine()
}

/// What is kept of this machine for later runs of this `version`.
pub fn kept_costs(version: &str) -> KeptCosts {
    machine_prices::kept(&this_machine(), version)
}

/// The folder that programs would load the recorder from, if there is one that allows execution.
pub fn temporary_folder() -> io::Result<PathBuf> {
    let made = PrivateDirectory::new(None)?;
    Ok(made.parent().parent().unwrap_or(made.parent()).to_owned())
}

/// Becomes the program, which then runs as if memtoll had not been there. Returns why that is not possible.
pub fn run_unrecorded(command: &[OsString]) -> Error {
    let (name, arguments) = command.split_first().map_or(("".as_ref(), [].as_slice()), |(n, a)| (n.as_os_str(), a));
    closed_descriptors::close_again();
    let source = std::process::Command::new(name).args(arguments).exec();
    Error::Program { program: name.to_string_lossy().into_owned(), source }
}

/// Runs a program and records it. The program always runs once this function has made the file.
pub fn record(options: &Options) -> Result<Outcome, Error> {
    record_live(options, |_| {})
}

/// The same. `began` is called once the program runs, with what tells of the recording meanwhile.
pub fn record_live(options: &Options, began: impl FnOnce(Live)) -> Result<Outcome, Error> {
    let limits = limits::Limits::raise();
    spare_memory::keep();
    record_within(options, limits, began).inspect_err(|_| limits.restore())
}

fn record_within(options: &Options, limits: limits::Limits, tell: impl FnOnce(Live)) -> Result<Outcome, Error> {
    let name = Path::new(options.command.first().map_or("".as_ref(), OsString::as_os_str));
    let program = recordable_program::find(name)
        .map_err(|source| Error::Program { program: name.display().to_string(), source })?;
    let other_recorder = options.recorder.as_ref().and_then(|file| std::fs::read(file).ok());
    let verdict =
        recordable_program::inspect_for(&program, other_recorder.as_deref().unwrap_or(private_directory::RECORDER));
    abort_handler::prepare(&options.command, limits);
    let attention = target::Attention::pay(target::Signals::catch()?)?;
    let output = Output::create(&options.output, options.max_size)
        .map_err(|source| Error::Output { path: options.output.path(), source })?;
    let run = Arc::new(Run::new(
        output,
        Clock::start(),
        options.stack_depth,
        options.searches_leaks,
        options.debug_folders.clone(),
    ));
    run.looks.set_sizes(&options.snapshot_at);
    describe(&run, options);
    let mut verdict = verdict;
    let mut directory = match prepare(&run, options.recorder.as_deref(), None) {
        Ok(directory) => Some(directory),
        Err(error) => {
            // The program runs all the same.
            verdict = Verdict::Disturbed(format!("memtoll cannot prepare for it: {error}"));
            None
        }
    };
    let library = match &verdict {
        Verdict::Disturbed(_) => None,
        _ => directory.as_ref().map(PrivateDirectory::library),
    };
    if let Some(library) = &library {
        run.around.set_recorder(library);
    }
    let watch = |pid| watch_kernel(&run, pid, options);
    let began = Instant::now();
    let mut target = target::Target::start(&options.command, library.as_deref(), limits, attention, watch)
        .map_err(|why| recordable_program::not_started(&program, why))
        .map_err(|source| Error::Program { program: name.display().to_string(), source })
        .inspect_err(|error| leave_nothing_or_why(&run, options.version, error))?;
    run.output.keep();
    tell(Live(run.clone()));
    let progress = Progress::start(options.progress, run.clone());
    let waited = target.wait(&run);
    let wall = began.elapsed();
    let attention = target.attention();
    if let target::Waited::Ended(_) = waited {
        attention.enter(target::Stage::Waiting);
        let asked = attention.asked();
        run.roster.wait_for_process(target.pid(), || attention.asked() != asked);
    }
    if let Some(progress) = progress {
        progress.finish();
    }
    let all_done = match waited {
        target::Waited::Ended(_) => wait_for_the_rest(&run, attention, library.as_deref()),
        target::Waited::Left(_) => {
            let pid = target.pid();
            let text = format!("later events are missing: memtoll was told to end, and left process {pid} running");
            run.note(Note { time: run.around.clock.units(run.around.clock.now()), text, missing: true });
            false
        }
    };
    if !all_done {
        abandon(&run);
        if let Some(directory) = &mut directory {
            directory.leave();
        }
    }
    attention.enter(target::Stage::Finishing);

    if run.events.load(Relaxed) > 0
        && let Verdict::Unrecordable(why) | Verdict::Disturbed(why) = &verdict
    {
        let text = format!("the program itself is not recorded, only what it starts: {why}");
        run.note(Note { time: 0, text, missing: false });
    }
    if run.events.load(Relaxed) == 0 && run.notes().is_empty() && run.output.problem().is_none() {
        let why = match verdict {
            Verdict::Unrecordable(why) | Verdict::Disturbed(why) => why,
            Verdict::Recordable => {
                match expected_allocators(&program).own.iter().find(|own| own.recorded != RecordedCalls::All) {
                    Some(own) => format!("{} contains {}, whose calls bypass memtoll", program.display(), own.name),
                    None => format!(
                        "{} never called an allocation function through the dynamic linker, or ended before it could",
                        program.display()
                    ),
                }
            }
        };
        run.note(Note { time: 0, text: format!("nothing was recorded: {why}"), missing: false });
    }
    if let Some(problem) = run.output.problem() {
        run.note(Note { time: run.around.clock.units(run.around.clock.now()), text: problem, missing: true });
    }
    let exit = match waited {
        target::Waited::Ended(exit) => exit,
        target::Waited::Left(signal) => Exit::Signal(signal),
    };
    finish(&run, options.version, |usage| calibrated(&run, options, exit, wall, usage));
    Ok(Outcome {
        exit,
        path: run.output.path().to_owned(),
        events: run.events.load(Relaxed),
        told_to_end: target.attention().is_told_to_end(),
        is_lost: run.output.is_lost(),
        notes: run.notes(),
    })
}

/// Asks the kernel to tell of page faults and the like, from the program's first instruction on.
fn watch_kernel(run: &Run, pid: rustix::process::Pid, options: &Options) {
    let Some(period) = options.faults else { return };
    let wanted = memtoll_kernel::Options { period, ..memtoll_kernel::Options::default() };
    match memtoll_kernel::Collector::start(pid, run.around.clock.for_kernel(), &wanted) {
        Ok(collector) => match Kernel::start(collector, run.around.ticks_per_microsecond, None) {
            Ok(kernel) => run.set_kernel(kernel),
            Err(error) => refused(run, &thread_spawning::refused(&error)),
        },
        Err(why) => refused(run, &why),
    }
}

/// The kernel does not tell.
fn refused(run: &Run, why: &dyn std::fmt::Display) {
    let text = format!("page faults and waiting are not charged to call sites: {why}");
    run.note(Note { time: 0, text, missing: false });
}

/// The program did not start. Where memtoll lacked something, the file, too, says what; otherwise, there is nothing to keep.
fn leave_nothing_or_why(run: &Run, version: &str, error: &Error) {
    match error.shortage() {
        Some(shortage) => {
            run.note(Note { time: 0, text: format!("nothing was recorded: memtoll needs {shortage}"), missing: true });
            run.output.keep();
            finish(run, version, |_| {});
        }
        None => run.output.discard(),
    }
}

/// Makes what the recorder needs to find the supervisor, and listens for it.
/// `also_for`: a process that runs already.
fn prepare(run: &Arc<Run>, recorder: Option<&Path>, also_for: Option<u32>) -> io::Result<PrivateDirectory> {
    let directory = PrivateDirectory::new(recorder)?;
    let listener = Listener::new(run.clone(), &directory, also_for)?;
    // Without them, less is known of processes that are killed.
    let _ = run.looks.start();
    thread_spawning::start("listener", thread_spawning::Stack::Large, move || listener.serve())?;
    Ok(directory)
}

/// The first block: what is being recorded.
fn describe(run: &Run, options: &Options) {
    let command = options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    describe_command(run, options.version, command, &std::env::current_dir().unwrap_or_default());
}

/// The same, of this command line in this folder.
fn describe_command(run: &Run, version: &str, command: Vec<String>, directory: &Path) {
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let recording = Recording {
        memtoll: version.to_owned(),
        started: started.as_nanos() as u64,
        command,
        directory: directory.to_string_lossy().into_owned(),
        machine: run.around.machine.clone(),
        clock: run.around.clock.describe(0, None),
        stack_depth: run.stack_depth,
        rank: run.rank,
        malloc_settings: malloc_settings::of(std::env::vars_os()),
    };
    run.output.json(BlockKind::Recording, None, &recording);
}

/// Background processes of the program may go on: waits for them, or until the user has enough. Whether all are done.
fn wait_for_the_rest(run: &Run, attention: &target::Attention, library: Option<&Path>) -> bool {
    const SILENT_FOR: Duration = Duration::from_millis(300);
    const STEP: Duration = Duration::from_millis(100);
    // A daemon that was forked without a word says hello at its first event; until then, its memory gives it away.
    let is_mapped = |library| match run.kernel().and_then(|kernel| kernel.living()) {
        Some(pids) => proc_files::has_mapped(&pids, library),
        // One that is forked while the processes are listed may not be among them, and its parent gone when it is looked at.
        None => (0..2).any(|_| proc_files::has_mapped(&proc_files::all(), library)),
    };
    let all_done = |patience| run.roster.wait_idle(patience) && !library.is_some_and(is_mapped);
    if all_done(SILENT_FOR) {
        return true;
    }
    if !run.roster.wait_idle(SILENT_FOR) {
        run.roster.with_active(|active| {
            // Of others, only the last events are being packed.
            let running = active.iter().filter(|image| !image.about.signals.has_ended());
            let names: Vec<String> = running.map(|image| format!("{} ({})", image.pid, image.about.command)).collect();
            if !names.is_empty() {
                let what = "Ctrl-C ends the recording and leaves them";
                let _ =
                    writeln!(io::stderr(), "memtoll: still running in the background: {}; {what}", names.join(", "));
            }
        });
    }
    let asked = attention.asked();
    while attention.asked() == asked && !run.output.stopped() {
        if all_done(STEP) {
            return true;
        }
        // Between its last process and the next, a run may be idle for a moment.
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Ends the recording of processes that go on.
fn abandon(run: &Run) {
    const STEP: Duration = Duration::from_millis(100);
    // What each has used is no more than what the kernel counts of all.
    let left: FxHashMap<ImageNo, Ticks> = run
        .roster
        .with_active(|active| active.iter().map(|image| (image.image, run.looks.leaves(image.image))).collect());
    if let Some(kernel) = run.kernel() {
        kernel.stop();
    }
    run.roster.with_active(|active| {
        for image in active {
            let at = left.get(&image.image).copied().unwrap_or_else(|| run.looks.leaves(image.image));
            image.about.signals.abandon(at);
            image.about.arena.ring();
        }
    });
    while !run.roster.wait_idle(STEP) {}
}

/// Writes down what the program takes without the recorder; this run, which took `wall`, is the last of the recorded ones.
fn calibrated(run: &Run, options: &Options, exit: Exit, wall: Duration, usage: Usage) {
    let Some((calibration, plain_exit)) = &options.calibration else { return };
    if *plain_exit != exit {
        let text = format!(
            "calibration skipped: without the recorder the program {}, with it {}",
            plain_exit.how(),
            exit.how()
        );
        run.note(Note { time: 0, text, missing: false });
        return;
    }
    let mut calibration = calibration.clone();
    calibration.recorded.push(PlainRun { wall: wall.as_nanos() as u64, usage });
    run.output.json(BlockKind::Calibration, None, &calibration);
}

/// The last blocks: names and lines of all addresses, and the end. `before_end` may add a block; it gets what was used.
fn finish(run: &Run, version: &str, before_end: impl FnOnce(Usage)) {
    // Before anything else is started: this is about the program and what it waited for.
    let reaped = proc_files::usage_of_children().since(&run.usage_before);
    let told = run.kernel().map(|kernel| (kernel.view(), kernel.finish()));
    let totals = told.map(|(_, (totals, _))| totals).unwrap_or_default();
    let usage = proc_files::with_all(reaped, &totals);
    let book = std::mem::take(&mut *run.addresses.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    let resident = run.looks.finish();
    let resolver = run.resolver();
    let variables = book.variables(&resolver);
    run.output.block(BlockKind::Symbols, None, &book.resolve(&resolver).encode());
    if !variables.is_empty() {
        run.output.block(BlockKind::Variables, None, &variables::encode(&variables));
    }
    // What memory costs on this machine, if it can be measured.
    let costs = machine_prices::find(&machine_prices::Asked {
        machine: &run.around.machine,
        version,
        prices: run.events.load(Relaxed) > 0,
        looking: told.is_some(),
        ran: Duration::from_nanos(usage.user_ns.saturating_add(usage.system_ns)),
        faults: run.timed_faults(),
    });
    let prices = costs.prices;
    let kernel = told.map(|(view, (totals, largest_period))| KernelAccess {
        faults: true,
        faults_in_system_calls: view.system_calls,
        largest_period: largest_period.max(1),
        switches: view.switches,
        lost_records: totals.lost_records,
        lost_faults: totals.lost_faults,
        lost_running: totals.lost_running,
        lost_others: totals.lost_others,
        running_period: memtoll_kernel::RUNNING.into(),
        looking: costs.looking,
    });
    // Measured over the whole run.
    let stamps = prices.map(|prices| prices.stamps.median);
    let clock = run.around.clock.describe(run.stamp_ticks.load(Relaxed), stamps);
    let end = End {
        ended: run.around.clock.units(run.around.clock.now()),
        events: run.events.load(Relaxed),
        clock: Some(clock),
        prices,
        usage: Some(usage),
        resident,
        kernel: kernel.unwrap_or_default(),
    };
    before_end(usage);
    run.output.json(BlockKind::End, None, &end);
    run.output.index();
}
