//! The program under the recorder: starting it as if memtoll were not there, passing on signals, waiting for it.

use crate::limits::Limits;
use crate::run::Run;
use crate::thread_spawning::{self, Stack};
use crate::{abort_handler, proc_files};
use memtoll_trace::meta::Exit;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Sent};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32};
use std::time::{Duration, Instant};

/// Signals that reach the supervisor. Made before anything is written: from then on, a write beyond the limit of a
/// file's size is an error and no longer the end.
pub struct Signals(SignalsInfo<WithOrigin>);

impl Signals {
    pub fn catch() -> io::Result<Signals> {
        SignalsInfo::new([SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGXFSZ]).map(Signals)
    }
}

/// How the wait for the program ended.
pub enum Waited {
    /// The program has ended.
    Ended(Exit),
    /// The user insists, with this signal, that memtoll ends; the program goes on.
    Left(i32),
}

/// What the supervisor does at present, and so what a signal means to it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// The program runs: signals are its own.
    Running,
    /// Background processes go on: a signal ends the recording.
    Waiting,
    /// The last blocks are written: a signal ends memtoll.
    Finishing,
}

/// What the thread for signals and the others share.
struct Shared {
    pid: AtomicI32,   // of the program; 0: not started
    early: AtomicU32, // signals that came before it was started, a bit each
    reaped: AtomicBool,
    asked: AtomicU32,            // how often the user asked for an end
    ended_by_others: AtomicBool, // SIGTERM or SIGHUP came, which no terminal's key sends
    stage: AtomicU8,
    insisted: AtomicI32, // the signal
}

impl Shared {
    /// Passes on the signals that came before the program was started: neither the user nor a terminal could reach it.
    fn pass_on_early(&self) {
        let Some(pid) = Pid::from_raw(self.pid.load(SeqCst)) else { return };
        let early = self.early.swap(0, SeqCst);
        let came = (1..32).filter(|signal| early & 1 << signal != 0).filter_map(Signal::from_named_raw);
        came.for_each(|signal| _ = kill_process(pid, signal));
    }
}

/// The thread that takes the signals. There before the program is, so that none is lost.
pub struct Attention {
    shared: Arc<Shared>,
    /// Readable when the user insists.
    insisted: OwnedFd,
}

impl Attention {
    /// Takes the signals from now on.
    pub fn pay(signals: Signals) -> io::Result<Attention> {
        let shared = Arc::new(Shared {
            pid: AtomicI32::new(0),
            early: AtomicU32::new(0),
            reaped: AtomicBool::new(false),
            asked: AtomicU32::new(0),
            ended_by_others: AtomicBool::new(false),
            stage: AtomicU8::new(Stage::Running as u8),
            insisted: AtomicI32::new(0),
        });
        let (insisted, tell) = pipe_with(PipeFlags::CLOEXEC)?;
        let threads = shared.clone();
        thread_spawning::start("signals", Stack::Small, move || take_signals(signals.0, &threads, &tell))?;
        Ok(Attention { shared, insisted })
    }

    /// How often the user asked for an end.
    pub fn asked(&self) -> u32 {
        self.shared.asked.load(Relaxed)
    }

    /// Whether a SIGTERM or a SIGHUP told memtoll to end: it prints no more results.
    pub fn is_told_to_end(&self) -> bool {
        self.shared.ended_by_others.load(Relaxed)
    }

    /// From now on, signals have the meaning of this stage.
    pub fn enter(&self, stage: Stage) {
        self.shared.stage.store(stage as u8, Relaxed);
    }
}

pub struct Target {
    child: Child,
    attention: Attention,
}

impl Target {
    /// Starts the program, with the recorder at `library` before what LD_PRELOAD holds already.
    /// `meanwhile` runs before the program's first instruction, with its process id.
    pub fn start(
        command: &[OsString],
        library: Option<&Path>,
        limits: Limits,
        attention: Attention,
        meanwhile: impl FnOnce(Pid),
    ) -> io::Result<Target> {
        let (name, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut launch = Command::new(name);
        launch.args(arguments);
        if let Some(library) = library {
            let mut preload = library.as_os_str().to_owned();
            if let Some(users) = std::env::var_os("LD_PRELOAD").filter(|list| !list.is_empty()) {
                preload.push(":");
                preload.push(users);
            }
            launch.env("LD_PRELOAD", preload);
        }
        // SAFETY: between fork and exec only system calls are made.
        unsafe {
            launch.pre_exec(move || {
                limits.restore();
                crate::closed_descriptors::close_again();
                Ok(())
            })
        };
        let meanwhile = |pid| {
            // A fault in there is reported, and the program runs all the same.
            let _ = catch_unwind(AssertUnwindSafe(|| meanwhile(pid)));
            abort_handler::target_starts(pid);
        };
        let started = memtoll_kernel::spawn_held(launch, meanwhile).inspect_err(|_| abort_handler::target_failed());
        let (child, ()) = started?;
        attention.shared.pid.store(child.id() as i32, SeqCst);
        attention.shared.pass_on_early();
        Ok(Target { child, attention })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Who takes the signals.
    pub fn attention(&self) -> &Attention {
        &self.attention
    }

    /// Waits for the program itself; background processes may go on.
    pub fn wait(&mut self, run: &Run) -> Waited {
        let pid = Pid::from_child(&self.child);
        if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
            let both =
                &mut [PollFd::new(&process, PollFlags::IN), PollFd::new(&self.attention.insisted, PollFlags::IN)];
            while let Err(rustix::io::Errno::INTR) = poll(both, None) {}
            let insisted = self.attention.shared.insisted.load(Relaxed);
            if both[0].revents().is_empty() && insisted != 0 {
                return Waited::Left(insisted);
            }
        }
        // First only look: until it is reaped, /proc tells the watcher how it ended.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), look));
        if let Ok(Some(status)) = ended {
            let signal = status.terminating_signal().map(Exit::Signal);
            abort_handler::target_ended(status.exit_status().map(Exit::Code).or(signal).unwrap_or(Exit::Unknown));
        }
        run.looks.program_ended(self.pid());
        self.attention.shared.reaped.store(true, Relaxed);
        let exit = match self.child.wait() {
            Ok(status) => proc_files::exit_of_status(std::os::unix::process::ExitStatusExt::into_raw(status)),
            Err(_) => Exit::Unknown,
        };
        run.roster.set_exit(self.pid(), exit);
        Waited::Ended(exit)
    }
}

/// Whether signals are the caller's business again.
static LEFT: AtomicBool = AtomicBool::new(false);

/// After recording: leaves signals to the caller, which has handlers of its own.
pub fn leave_signals() {
    LEFT.store(true, Relaxed);
}

/// Signals for the program that reach the supervisor instead. What the terminal sends goes to both already.
fn take_signals(mut signals: SignalsInfo<WithOrigin>, shared: &Shared, tell: &OwnedFd) {
    let mut requests = Requests::default();
    for origin in signals.forever() {
        let signal = origin.signal;
        if signal == SIGXFSZ {
            continue; // the write itself fails, and that is handled
        }
        if LEFT.load(Relaxed) {
            continue;
        }
        let pid = Pid::from_raw(shared.pid.load(SeqCst));
        if pid.is_none() {
            shared.early.fetch_or(1 << signal, SeqCst);
            shared.pass_on_early(); // it may have been started just now
        }
        let sent_by_somebody = matches!(origin.cause, Cause::Sent(Sent::User | Sent::TKill | Sent::Queue));
        let runs = !shared.reaped.load(Relaxed);
        if sent_by_somebody
            && runs
            && let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal))
        {
            let _ = kill_process(pid, signal);
        }
        if matches!(signal, SIGUSR1 | SIGUSR2) {
            continue;
        }
        shared.asked.fetch_add(1, Relaxed);
        shared.ended_by_others.fetch_or(matches!(signal, SIGTERM | SIGHUP), Relaxed);
        let now = Instant::now();
        let mashed = requests.last.is_some_and(|last| now - last < MASHED);
        let insists = requests.insists(signal, now, || pid.is_some_and(proc_files::catches_interrupts));
        if shared.stage.load(Relaxed) == Stage::Finishing as u8 && !mashed {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        if shared.stage.load(Relaxed) == Stage::Running as u8 && insists {
            // Many programs end at the second Ctrl-C.
            std::thread::sleep(GRACE);
            shared.insisted.store(signal, Relaxed);
            let _ = rustix::io::write(tell, &[1]);
        }
    }
}

/// Signals that follow each other sooner are one: a key that was pressed several times.
const MASHED: Duration = Duration::from_millis(500);
/// How long a program may take to end by itself after a second Ctrl-C.
const GRACE: Duration = Duration::from_secs(1);

/// What was asked of a run, as long as the program runs.
#[derive(Default)]
struct Requests {
    terms: u32,
    interrupts: u32, // one soon after the other
    last: Option<Instant>,
}

impl Requests {
    /// Whether the sender of `signal` wants memtoll to end, although the program does not. A second SIGTERM says so; a
    /// second Ctrl-C in a row, or, where the program does something of its own with Ctrl-C, a third one.
    fn insists(&mut self, signal: i32, now: Instant, catches: impl FnOnce() -> bool) -> bool {
        const IN_A_ROW: Duration = Duration::from_secs(2);
        let in_a_row = self.last.is_some_and(|last| now - last <= IN_A_ROW);
        self.last = Some(now);
        match signal {
            SIGTERM => {
                self.terms += 1;
                self.terms >= 2
            }
            SIGINT => {
                self.interrupts = if in_a_row { self.interrupts + 1 } else { 1 };
                self.interrupts >= 3 || self.interrupts == 2 && !catches()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_twice_insists() {
        let start = Instant::now();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut requests = Requests::default();
        let asked = [(SIGTERM, 0.0, false), (SIGTERM, 100.0, true)];
        for (signal, time, insists) in asked {
            assert_eq!(requests.insists(signal, at(time), || false), insists, "{time}");
        }
        let mut requests = Requests::default();
        for (time, insists) in [(0.0, false), (3.0, false), (6.0, false), (7.0, true)] {
            assert_eq!(requests.insists(SIGINT, at(time), || false), insists, "{time}");
        }
        let mut interactive = Requests::default();
        for (time, insists) in [(0.0, false), (1.0, false), (4.0, false), (4.5, false), (5.0, true)] {
            assert_eq!(interactive.insists(SIGINT, at(time), || true), insists, "{time}");
        }
        assert!(!Requests::default().insists(SIGHUP, at(0.0), || false));
    }
}
