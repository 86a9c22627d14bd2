//! `memtoll attach`: records a process that was running already, from now on, and lets it go unharmed.
//!
//! * `refusal`: what is found out before anything is touched; `seccomp`: whether a filter allows what is needed
//! * `loading`: the recorder gets into the process; `known_recorder`: it is there from an earlier time
//! * `standstill`: the beginnings of functions become jumps to its hooks, and what they were again
//! * `dead_jumps`: what a memtoll has left behind that was killed
//! * `first_blocks`: the blocks that it has then, from the headers of its `heap`; threads leave malloc first (`allocator_exit`), and
//!   meanwhile none begins a call (`held_calls`)
//! * `kernel`: what the kernel tells of its threads from then on
//! * `code`, `threads`, `tracing`: what that rests on
//!
//! Whatever happens to memtoll, the process goes on: threads find back by themselves, and hooks without a supervisor only
//! forward.

mod allocator_exit;
mod code;
mod code_of_memtoll;
mod dead_jumps;
mod first_blocks;
mod heap;
mod held_calls;
mod kernel;
mod known_recorder;
mod loading;
mod refusal;
mod seccomp;
mod standstill;
mod threads;
mod tracing;

use crate::blocks_before::HandOver;
use crate::process_memory::ProcessMemory;
use crate::run::Run;
use crate::target::{Attention, Signals, Stage};
use crate::wire::PlanFunction;
use crate::{
    Destination, Error, FaultPeriod, Outcome, abandon, clock, exit_descriptor, limits, marks_of_header, output,
    prepare, private_directory, proc_files, spare_memory,
};
use clock::Clock;
use first_blocks::HeapReader;
use held_calls::HeldCalls;
use memtoll_symbols::DebugFolders;
use memtoll_trace::ids::ImageNo;
use memtoll_trace::ids::Ticks;
use memtoll_trace::meta::{Exit, Note};
use output::Output;
use rustc_hash::{FxHashMap, FxHashSet};
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
    /// Look at a process's pages when its resident set passes one of these sizes, bytes.
    pub snapshot_at: Vec<u64>,
    /// Deepest stack that is recorded whole, frames.
    pub stack_depth: u32,
    /// Whether blocks that it leaves are searched for lost ones, should it end.
    pub searches_leaks: bool,
    /// For how long; `None`: until it ends or the user has enough.
    pub lasts: Option<Duration>,
    /// Until this mark of `memtoll.h` comes.
    pub until_mark: Option<String>,
    /// How many page faults are sampled; `None`: the kernel is asked for nothing.
    pub faults: Option<FaultPeriod>,
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
    /// How long one of its threads loaded the recorder or prepared it, before that.
    pub loading: Duration,
    /// When the jumps were written and its heap was read.
    pub begin: Duration,
    /// From when the jumps were written until its heap was read: calls waited for so long at the most.
    pub held: Duration,
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
    if what.until_mark.is_some() && !marks_of_header::could_set_marks(what.pid) {
        return Err(refused("it sets no marks: none of its files is compiled with memtoll.h".to_owned()));
    }
    let memory =
        ProcessMemory::open(what.pid).map_err(|error| refused(format!("its memory cannot be written: {error}")))?;
    let Some(_claim) = dead_jumps::Claim::new(what.pid)? else {
        return Err(refused("another memtoll is attached to it already".to_owned()));
    };
    standstill::urgently(|| dead_jumps::take_back(what.pid, &memory)).and_then(|done| done).map_err(|error| {
        refused(format!("an earlier memtoll was killed, and its jumps cannot be taken back: {error}"))
    })?;
    let code = code::Code::of(what.pid, &memory).map_err(refused)?;
    let watched =
        exit_descriptor::watch(Pid::from_raw(what.pid as i32).ok_or_else(|| refused("0 is none".to_owned()))?)?;
    let attention = Attention::pay(Signals::catch()?)?;
    attention.enter(Stage::Waiting);
    let output = Output::create(&what.output, what.max_size)
        .map_err(|source| Error::Output { path: what.output.path(), source })?;
    let run =
        Arc::new(Run::new(output, Clock::start(), what.stack_depth, what.searches_leaks, what.debug_folders.clone()));
    run.looks.set_sizes(&what.snapshot_at);
    if let Some(name) = &what.until_mark {
        run.marks_of_header.wait_for(name);
    }
    let directory = std::fs::read_link(format!("/proc/{}/cwd", what.pid)).unwrap_or_default();
    crate::describe_command(&run, what.version, crate::identity::Identity::of_started(what.pid).command, &directory);
    let text = format!("memtoll was attached to process {}, which was running", what.pid);
    run.note(Note { time: 0, text, missing: false });
    run.looks.attaches_to(what.pid);
    if let Some(period) = what.faults {
        kernel::watch(&run, what.pid, period);
    }
    let mut directory = prepare(&run, what.recorder.as_deref(), Some(what.pid)).map_err(|error| {
        run.output.discard();
        refused(error.to_string())
    })?;
    let place = directory.library();
    let place = place.parent().unwrap_or(directory.parent()).to_owned();
    let loading = loading::Loading {
        pid: what.pid,
        memory: &memory,
        code: &code,
        library: &library,
        directory: &place,
        stack_depth: what.stack_depth,
    };
    let mut stops = Stops::default();
    let jumps = loading.load(&mut stops.loading).and_then(|()| jumps(&run, what.pid)).and_then(|jumps| {
        let begun = standstill::urgently(|| redirect(&run, what.pid, &memory, &code, &jumps));
        let begun = begun.map_err(|error| format!("memtoll cannot start a thread: {error}"))??;
        Ok((jumps, begun))
    });
    let (jumps, begun) = match jumps {
        Ok(jumps) => jumps,
        Err(why) => {
            abandon(&run);
            limits.restore();
            run.output.discard();
            return Err(refused(why));
        }
    };
    run.output.keep();
    began();

    let start = Instant::now();
    // Those that it starts: another memtoll must not take this one's jumps for those of a dead one.
    let mut claims: FxHashMap<u32, Option<dead_jumps::Claim>> = FxHashMap::default();
    let ended = loop {
        for one in run.roster.with_active(|active| active.iter().map(|one| one.pid).collect::<Vec<_>>()) {
            if one != what.pid {
                claims.entry(one).or_insert_with(|| dead_jumps::Claim::new(one).ok().flatten());
            }
        }
        let mut ends = [PollFd::new(&watched, PollFlags::IN)];
        let _ = poll(&mut ends, Some(&STEP));
        if !ends[0].revents().is_empty() {
            break true;
        }
        if attention.asked() > 0
            || run.output.stopped()
            || run.marks_of_header.has_come()
            || what.lasts.is_some_and(|lasts| start.elapsed() >= lasts)
        {
            break false;
        }
    };
    (stops.begin, stops.held) = (begun.stopped, begun.held);
    let mut exit = Exit::Running;
    if ended {
        run.roster.wait_for_process(what.pid, || attention.asked() > 1);
        exit = run.roster.exit_of(what.pid).unwrap_or(Exit::Unknown);
    }
    stops.end =
        standstill::urgently(|| restore(&run, what.pid, &jumps)).unwrap_or_else(|_| restore(&run, what.pid, &jumps));
    let (arenas, others): (Vec<_>, bool) = run.roster.with_active(|active| {
        let of_others = active.iter().any(|one| one.pid != what.pid);
        (active.iter().map(|one| one.about.arena.clone()).collect(), of_others)
    });
    abandon(&run);
    arenas.iter().for_each(|arena| arena.give_back());
    if others {
        // They hand it on to programs that they start.
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

/// How a process came to be recorded.
struct Begun {
    /// For how long it stood still.
    stopped: Duration,
    /// For how long calls were held back.
    held: Duration,
}

/// Writes the jumps, and reads what blocks there are before the first call is recorded.
fn redirect(
    run: &Run,
    pid: u32,
    memory: &ProcessMemory,
    code: &code::Code,
    jumps: &[PlanFunction],
) -> Result<Begun, String> {
    const TRIES: u32 = 200;
    let failed = |error: std::io::Error| format!("its code cannot be changed: {error}");
    let about = run.roster.with_active(|active| {
        let image = active.iter().find(|image| image.pid == pid)?;
        Some((image.about.signals.clone(), image.about.arena.clone()))
    });
    let (signals, arena) = about.ok_or("it has ended")?;
    let heap = HeapReader::prepare(pid, code, jumps);
    let calls = HeldCalls::new(arena, &heap, code.restorer);
    for _ in 0..TRIES {
        let still = Standstill::begin(pid).map_err(failed)?;
        signals.before.announce();
        calls.hold();
        if still.write_jumps(memory, jumps).map_err(failed)? {
            return Ok(begin(run, pid, memory, still, &calls, heap, &signals.before));
        }
        calls.not_yet();
        drop(still);
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("a signal handler has interrupted one of its allocation functions, and does not end".to_owned())
}

/// The jumps are written, and the process stands still: reads its heap as soon as no thread is inside its allocator, and lets it make
/// calls again.
fn begin(
    run: &Run,
    pid: u32,
    memory: &ProcessMemory,
    still: Standstill,
    calls: &HeldCalls,
    mut heap: HeapReader,
    blocks: &HandOver,
) -> Begun {
    /// Less than threads wait in the recorder.
    const HELD_FOR: Duration = Duration::from_millis(70);
    /// A thread that forks holds all locks of the heap: it must go on while the others stand still.
    const PAUSE: Duration = Duration::from_millis(1);
    let since = Instant::now();
    let mut stopped = Duration::ZERO;
    let mut still = Some(still);
    while let Some(standing) = &mut still {
        if heap.settle(standing, memory) {
            heap.read(standing);
            break;
        }
        if since.elapsed() > HELD_FOR {
            heap.give_up();
            break;
        }
        stopped += standing.lasted();
        drop(still.take());
        std::thread::sleep(PAUSE);
        still = Standstill::begin(pid).ok();
    }
    let at = Ticks(run.around.clock.now());
    let usage = proc_files::counted(pid).unwrap_or_default();
    if let Some(kernel) = run.kernel()
        && let Err(error) = kernel.switch_on()
    {
        crate::refused(run, &error);
    }
    let was_in_time = calls.begin();
    if !was_in_time || still.is_none() {
        heap.give_up();
    }
    let held = since.elapsed();
    stopped += still.as_ref().map_or(Duration::ZERO, Standstill::lasted);
    drop(still);
    blocks.give(heap.finish(at, usage));
    Begun { stopped, held }
}

/// Takes the jumps back, in the process and in its forked children, of which some have said nothing yet. How long the process stood
/// still.
fn restore(run: &Run, pid: u32, jumps: &[PlanFunction]) -> Duration {
    // Of children that are forked while their parent is looked for.
    const GENERATIONS: u32 = 4;
    let lasted = restore_in(run, pid, jumps);
    let known = run.roster.with_active(|active| active.iter().map(|one| one.pid).collect::<FxHashSet<_>>());
    for _ in 0..GENERATIONS {
        let others: Vec<u32> =
            proc_files::all().into_iter().filter(|one| *one != pid && has_jumps(*one, jumps)).collect();
        if others.is_empty() {
            break;
        }
        for one in others {
            // Another memtoll's process may have been forked from the same one as this, and look the same.
            let claim = dead_jumps::Claim::new(one).ok().flatten();
            if claim.is_some() || known.contains(&one) {
                restore_in(run, one, jumps);
            }
        }
    }
    lasted
}

/// Whether the functions of a process begin with these jumps: at the same addresses only in one that was forked.
fn has_jumps(pid: u32, jumps: &[PlanFunction]) -> bool {
    let Ok(memory) = ProcessMemory::open(pid) else { return false };
    jumps.iter().any(|jump| {
        let mut now = vec![0; jump.bytes as usize];
        memory.read(jump.at, &mut now).is_ok() && now == jump.after[..now.len()]
    })
}

/// Takes the jumps back in one process. How long it stood still.
fn restore_in(run: &Run, pid: u32, jumps: &[PlanFunction]) -> Duration {
    const TRIES: u32 = 3;
    let Ok(memory) = ProcessMemory::open(pid) else { return Duration::ZERO };
    let tried = || {
        let still = Standstill::begin(pid)?;
        still.take_jumps_back(&memory, jumps).map(|()| still)
    };
    let done = (1..TRIES).find_map(|_| tried().ok()).map_or_else(tried, Ok);
    let note = |text| run.note(Note { time: 0, text, missing: false });
    match done {
        Ok(still) => {
            let lasted = still.lasted();
            // Later memtolls begin anew in the recorder's data.
            if let Err(error) = still.wait_until_outside(&code_of_memtoll::ranges(pid)) {
                note(format!("process {pid}: {error}"));
            }
            lasted
        }
        Err(error) => {
            if proc_files::exists(pid) {
                note(format!("process {pid} goes on with memtoll's jumps, which do nothing: {error}"));
            }
            Duration::ZERO
        }
    }
}
