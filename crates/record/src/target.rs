//! The program under the recorder: starting it as if memtoll were not there, passing on signals, waiting for it.

use crate::process;
use crate::run::Run;
use memtoll_trace::meta::Exit;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process, setrlimit, waitid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Sent};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The supervisor needs a file of its own size and a descriptor for each process; the target gets what was there.
#[derive(Clone, Copy)]
pub struct Limits {
    file_size: Rlimit,
    files: Rlimit,
}

impl Limits {
    /// Raises this process's limits as far as they go, and remembers them.
    pub fn raise() -> Limits {
        let limits = Limits { file_size: getrlimit(Resource::Fsize), files: getrlimit(Resource::Nofile) };
        // Only root can go beyond the hard limit. There is none for descriptors that could be asked for.
        let none = Rlimit { current: None, maximum: None };
        if setrlimit(Resource::Fsize, none).is_err() {
            let limit = limits.file_size;
            let _ = setrlimit(Resource::Fsize, Rlimit { current: limit.maximum, maximum: limit.maximum });
        }
        let limit = limits.files;
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        limits
    }

    /// Sets this process's limits to what they were.
    pub fn restore(self) {
        let _ = setrlimit(Resource::Fsize, self.file_size);
        let _ = setrlimit(Resource::Nofile, self.files);
    }
}

/// Signals that reach the supervisor. Made before anything is written: from then on, a write beyond the limit of a
/// file's size is an error and no longer the end.
pub struct Signals(SignalsInfo<WithOrigin>);

impl Signals {
    pub fn catch() -> io::Result<Signals> {
        SignalsInfo::new([SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGXFSZ]).map(Signals)
    }
}

pub struct Target {
    child: Child,
    interrupts: Arc<AtomicU32>,
    reaped: Arc<AtomicBool>,
}

impl Target {
    /// Starts the program, with the recorder at `library` before what LD_PRELOAD holds already.
    /// `meanwhile` runs before the program's first instruction, with its process id.
    pub fn start(
        command: &[OsString],
        library: Option<&Path>,
        limits: Limits,
        signals: Signals,
        meanwhile: impl FnOnce(Pid) + Send,
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
                crate::closed::close_again();
                Ok(())
            })
        };
        let interrupts = Arc::new(AtomicU32::new(0));
        let reaped = Arc::new(AtomicBool::new(false));
        let (child, ()) = memtoll_kernel::spawn_held(launch, meanwhile)?;
        pass_on(signals.0, Pid::from_child(&child), interrupts.clone(), reaped.clone());
        Ok(Target { child, interrupts, reaped })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How often the user asked for an end.
    pub fn interrupts(&self) -> u32 {
        self.interrupts.load(Relaxed)
    }

    /// Waits for the program itself; background processes may go on.
    pub fn wait(&mut self, run: &Run) -> Exit {
        let pid = Pid::from_child(&self.child);
        // First only look: until it is reaped, /proc tells the watcher how it ended.
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {
        }
        self.reaped.store(true, Relaxed);
        let exit = match self.child.wait() {
            Ok(status) => process::exit_of_status(std::os::unix::process::ExitStatusExt::into_raw(status)),
            Err(_) => Exit::Unknown,
        };
        run.set_exit(self.pid(), exit);
        exit
    }
}

/// Signals for the program that reach the supervisor instead. What the terminal sends goes to both already.
fn pass_on(mut signals: SignalsInfo<WithOrigin>, pid: Pid, interrupts: Arc<AtomicU32>, reaped: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        for origin in signals.forever() {
            if origin.signal == SIGXFSZ {
                continue; // the write itself fails, and that is handled
            }
            interrupts.fetch_add(1, Relaxed);
            let sent_by_somebody = matches!(origin.cause, Cause::Sent(Sent::User | Sent::TKill | Sent::Queue));
            if sent_by_somebody
                && !reaped.load(Relaxed)
                && let Some(signal) = Signal::from_named_raw(origin.signal)
            {
                let _ = kill_process(pid, signal);
            }
        }
    });
}
