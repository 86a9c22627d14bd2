//! `memtoll attach`: records a process that was running already, from now on, and lets it go unharmed.
//!
//! * `refusal`: what is found out before anything is touched
//! * `loading`: the recorder gets into the process
//! * `standstill`: the beginnings of functions become jumps to its hooks, and what they were again
//! * `dead_jumps`: what a memtoll has left behind that was killed
//! * `first_blocks`: the blocks that it has then, from the headers of its `heap`; threads leave malloc first (`allocator_exit`)
//! * `code`, `threads`, `tracing`: what that rests on
//!
//! Whatever happens to memtoll, the process goes on: threads find back by themselves, and hooks without a supervisor only
//! forward.

mod allocator_exit;
mod code;
mod dead_jumps;
mod first_blocks;
mod heap;
mod loading;
mod refusal;
mod standstill;
mod threads;
mod tracing;

use crate::process_memory::ProcessMemory;
use crate::run::Run;
use crate::target::{Attention, Signals, Stage};
use crate::wire::PlanFunction;
use crate::{
    Destination, Error, Outcome, abandon, clock, exit_descriptor, limits, output, prepare, private_directory,
    proc_files, spare_memory, thread_priority,
};
use clock::Clock;
use first_blocks::HeapReader;
use memtoll_symbols::DebugFolders;
use memtoll_trace::ids::ImageNo;
use memtoll_trace::ids::Ticks;
use memtoll_trace::meta::{Exit, Note};
use output::Output;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use standstill::Standstill;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub use refusal::find as find_process;

/// What to record of a process that runs already.
pub struct Attach {
    /// The process.
    pub pid: u32,
    /// The recording's file.
    pub output: Destination,
    /// No more events when the file has this length, bytes.
    pub max_size: Option<u64>,
    /// Deepest stack that is recorded whole, frames.
    pub stack_depth: u32,
    /// For how long; `None`: until it ends or the user has enough.
    pub lasts: Option<Duration>,
    /// Where debug files lie.
    pub debug_folders: DebugFolders,
    /// A recorder other than the built-in one.
    pub recorder: Option<PathBuf>,
    /// Version to write into the file.
    pub version: &'static str,
}

/// How long the process stood still.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stops {
    /// When the jumps were written.
    pub begin: Duration,
    /// When they were taken back.
    pub end: Duration,
}

/// Time between two looks at whether it is enough.
const STEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Records a running process. `began` is called once its calls are recorded.
pub fn attach(what: &Attach, began: impl FnOnce()) -> Result<(Outcome, Stops), Error> {
    let refused = |why: String| Error::Attach { pid: what.pid, why };
    let limits = limits::Limits::raise();
    spare_memory::keep();
    let library = match &what.recorder {
        Some(file) => std::fs::read(file)?,
        None => private_directory::RECORDER.to_vec(),
    };
    refusal::check(what.pid, &library).map_err(refused)?;
    let memory =
        ProcessMemory::open(what.pid).map_err(|error| refused(format!("its memory cannot be written: {error}")))?;
    let Some(_claim) = dead_jumps::Claim::new(what.pid)? else {
        return Err(refused("another memtoll is attached to it already".to_owned()));
    };
    dead_jumps::take_back(what.pid, &memory).map_err(|error| {
        refused(format!("an earlier memtoll was killed, and its jumps cannot be taken back: {error}"))
    })?;
    let code = code::Code::of(what.pid, &memory).map_err(refused)?;
    let watched =
        exit_descriptor::watch(Pid::from_raw(what.pid as i32).ok_or_else(|| refused("0 is none".to_owned()))?)?;
    let attention = Attention::pay(Signals::catch()?)?;
    attention.enter(Stage::Waiting);
    let output = Output::create(&what.output, what.max_size)
        .map_err(|source| Error::Output { path: what.output.path(), source })?;
    let run = Arc::new(Run::new(output, Clock::start(), what.stack_depth, what.debug_folders.clone()));
    let directory = std::fs::read_link(format!("/proc/{}/cwd", what.pid)).unwrap_or_default();
    crate::describe_command(&run, what.version, proc_files::command(what.pid), &directory);
    let text = format!(
        "memtoll was attached to process {}, which was running: page faults and waiting are not charged to call sites",
        what.pid
    );
    run.note(Note { time: 0, text, missing: false });
    run.looks.attaches_to(what.pid);
    let mut directory = prepare(&run, what.recorder.as_deref())?;
    let place = directory.library();
    let place = place.parent().unwrap_or(directory.parent()).to_owned();
    let loading =
        loading::Loading { pid: what.pid, memory: &memory, code: &code, library: &library, directory: &place };
    let jumps = loading.load().and_then(|()| jumps(&run, what.pid)).and_then(|jumps| {
        let lasted = at_once(|| redirect(&run, what.pid, &memory, &code, &jumps))?;
        Ok((jumps, lasted))
    });
    let (jumps, stopped) = match jumps {
        Ok(jumps) => jumps,
        Err(why) => {
            abandon(&run);
            limits.restore();
            // A recording of nothing.
            let _ = std::fs::remove_file(run.output.path());
            return Err(refused(why));
        }
    };
    began();

    let start = Instant::now();
    let ended = loop {
        let mut ends = [PollFd::new(&watched, PollFlags::IN)];
        let _ = poll(&mut ends, Some(&STEP));
        if !ends[0].revents().is_empty() {
            break true;
        }
        if attention.asked() > 0 || run.output.stopped() || what.lasts.is_some_and(|lasts| start.elapsed() >= lasts) {
            break false;
        }
    };
    let mut stops = Stops { begin: stopped, end: Duration::ZERO };
    let mut exit = Exit::Running;
    if ended {
        run.roster.wait_for_process(what.pid, || attention.asked() > 1);
        exit = run.roster.exit_of(what.pid).unwrap_or(Exit::Unknown);
    }
    stops.end = at_once(|| restore(&run, what.pid, &jumps));
    abandon(&run);
    if !ended {
        directory.leave();
    }
    attention.enter(Stage::Finishing);
    if let Some(problem) = run.output.problem() {
        run.note(Note { time: run.around.clock.units(run.around.clock.now()), text: problem, missing: true });
    }
    crate::finish(&run, what.version, |_| {});
    let outcome = Outcome {
        exit,
        path: run.output.path().to_owned(),
        events: run.events.load(Relaxed),
        told_to_end: attention.is_told_to_end(),
        is_lost: run.output.is_lost(),
        notes: run.notes(),
    };
    Ok((outcome, stops))
}

/// Does what a process stands still for, ahead of everything else that runs: it waits for a processor once, and not after each step.
fn at_once<R: Send>(action: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            thread_priority::at_once();
            action()
        });
        done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What is to be written into the process. Its recorder has mapped what that needs, and has just said so.
fn jumps(run: &Run, pid: u32) -> Result<Vec<PlanFunction>, String> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let image = run.roster.with_active(|active| active.iter().find(|one| one.pid == pid).map(|one| one.image));
    let image: ImageNo = image.ok_or("it has ended")?;
    let until = Instant::now() + PATIENCE;
    loop {
        match run.redirections.jumps(image) {
            Some(Ok(jumps)) if jumps.is_empty() => return Err("it has no allocation functions".to_owned()),
            Some(jumps) => return jumps.map_err(|why| format!("its allocation functions cannot be redirected: {why}")),
            None if Instant::now() > until => return Err("its recorder does not answer".to_owned()),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Writes the jumps, and reads what blocks there are at that instant. How long the process stood still.
fn redirect(
    run: &Run,
    pid: u32,
    memory: &ProcessMemory,
    code: &code::Code,
    jumps: &[PlanFunction],
) -> Result<Duration, String> {
    const TRIES: u32 = 200;
    /// Then calls are recorded without knowing what there was before.
    const TRIES_TO_READ: u32 = 20;
    let failed = |error: std::io::Error| format!("its code cannot be changed: {error}");
    let signals = run
        .roster
        .with_active(|active| active.iter().find(|image| image.pid == pid).map(|image| image.about.signals.clone()));
    let signals = signals.ok_or("it has ended")?;
    let mut heap = HeapReader::prepare(pid, code, jumps);
    for attempt in 0..TRIES {
        let mut still = Standstill::begin(pid).map_err(failed)?;
        if attempt == TRIES_TO_READ {
            heap.give_up();
        }
        if heap.settle(&mut still, memory) {
            signals.before.announce();
            let at = Ticks(run.around.clock.now());
            let usage = proc_files::counted(pid).unwrap_or_default();
            if still.write_jumps(memory, jumps).map_err(failed)? {
                heap.read(&still);
                let lasted = still.lasted();
                drop(still);
                signals.before.give(heap.finish(at, usage));
                return Ok(lasted);
            }
        }
        drop(still);
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("a signal handler has interrupted one of its allocation functions, and does not end".to_owned())
}

/// Takes the jumps back, in the process and in its forked children. How long the process stood still.
fn restore(run: &Run, pid: u32, jumps: &[PlanFunction]) -> Duration {
    let mut all = run.roster.with_active(|active| active.iter().map(|one| one.pid).collect::<Vec<_>>());
    all.push(pid);
    all.sort_unstable();
    all.dedup();
    let mut lasted = Duration::ZERO;
    for one in all {
        let (Ok(memory), Ok(still)) = (ProcessMemory::open(one), Standstill::begin(one)) else { continue };
        if let Err(error) = still.take_jumps_back(&memory, jumps) {
            let text = format!("process {one} goes on with memtoll's jumps, which do nothing: {error}");
            run.note(Note { time: 0, text, missing: false });
        }
        if one == pid {
            lasted = still.lasted();
        }
    }
    lasted
}
