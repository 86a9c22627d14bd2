//! Waits for the end of a process, and looks at its resident set before it is gone.

use rustix::process::Pid;
use std::io;

/// The end of a process.
pub struct ExitLook {
    pub status: i32,
    pub usage: libc::rusage,
    /// If that was asked for and the kernel let us stop it there.
    pub resident: Option<Resident>,
}

/// The resident set of a process that exits, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resident {
    pub end: u64,
    /// The largest during the run. `None` if a child, or an earlier program in this process, may have had more.
    pub peak: Option<u64>,
}

/// Makes the kernel stop a child at its exit. Call it before the child executes its program; the same thread must call [`wait`].
pub fn follow(pid: Pid) {
    // Its other threads and its children are not followed, so they run as ever. Stops at the exit begin after exec: if exec fails,
    // the child exits, and nothing would resume it.
    let _ = trace(libc::PTRACE_SEIZE, pid.as_raw_nonzero().get(), libc::PTRACE_O_TRACEEXEC as usize);
}

/// Waits for a child, and looks at one that this thread follows.
pub fn wait(pid: i32) -> io::Result<ExitLook> {
    let options = (libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_TRACEEXEC) as usize;
    let mut found = None;
    let mut executed = 0;
    loop {
        let mut status = 0;
        // SAFETY: plain numbers, filled in by wait4.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the child is this process's, no other code waits for it, and both pointers are valid.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } != pid {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
            continue;
        }
        if !libc::WIFSTOPPED(status) {
            return Ok(ExitLook { status, usage, resident: found });
        }
        let signal = libc::WSTOPSIG(status);
        let goes_on = match status >> 16 {
            libc::PTRACE_EVENT_EXIT => {
                found = resident(pid, executed == 1);
                trace(libc::PTRACE_CONT, pid, 0)
            }
            libc::PTRACE_EVENT_EXEC => {
                executed += 1;
                trace(libc::PTRACE_SETOPTIONS, pid, options).and_then(|()| trace(libc::PTRACE_CONT, pid, 0))
            }
            // Stopped by a signal, until another one lets it go on; or seen for the first time.
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => trace(libc::PTRACE_LISTEN, pid, 0),
            libc::PTRACE_EVENT_STOP => trace(libc::PTRACE_CONT, pid, 0),
            // On its way to the process.
            _ => trace(libc::PTRACE_CONT, pid, signal as usize),
        };
        // It may have been killed meanwhile: then the next wait says so.
        let _ = goes_on;
    }
}

fn trace(request: libc::c_uint, pid: i32, data: usize) -> io::Result<()> {
    // SAFETY: these requests read no memory of this process.
    match unsafe { libc::ptrace(request, pid, 0usize, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The resident set of a process that stands before its exit: page by page, since statm is some hundred KiB inexact with several
/// processors (Documentation/filesystems/proc.rst).
fn resident(pid: i32, runs_one_program: bool) -> Option<Resident> {
    let file = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let bytes = |name: &str, line: &str| {
        let text = file(name)?;
        let kib = text.lines().find_map(|text| text.strip_prefix(line))?.trim().strip_suffix(" kB")?;
        Some(kib.trim().parse::<u64>().ok()? << 10)
    };
    let end = bytes("smaps_rollup", "Rss:")?;
    let is_alone = || runs_one_program && file("stat").is_some_and(|stat| faults_of_children(&stat) == Some(0));
    let peak = bytes("status", "VmHWM:").filter(|_| is_alone()).map(|peak| peak.max(end));
    Some(Resident { end, peak })
}

/// Page faults of children that a process waited for. Each child has some.
fn faults_of_children(stat: &str) -> Option<u64> {
    // Behind the name, which may contain anything: state, ppid, pgrp, session, tty, tpgid, flags, minflt, cminflt, majflt, cmajflt.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    [8, 10].into_iter().map(|index| fields.get(index)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[allow(clippy::zombie_processes, reason = "it is waited for")]
    fn look(program: &str, arguments: &[&str]) -> ExitLook {
        let mut command = Command::new(program);
        command.args(arguments);
        let (child, ()) = memtoll_kernel::spawn_held(command, follow).unwrap();
        wait(child.id() as i32).unwrap()
    }

    #[test]
    fn exit_codes_and_signals_come_through() {
        for (text, code, signal) in
            [("exit 7", Some(7), None), ("kill -9 $$", None, Some(9)), ("kill -TERM $$", None, Some(15))]
        {
            let look = look("sh", &["-c", text]);
            let exited = libc::WIFEXITED(look.status).then(|| libc::WEXITSTATUS(look.status));
            let signaled = libc::WIFSIGNALED(look.status).then(|| libc::WTERMSIG(look.status));
            assert_eq!((exited, signaled), (code, signal), "{text}");
        }
    }

    #[test]
    fn a_signal_that_is_caught_reaches_its_handler() {
        let text = "trap 'exit 3' USR1; kill -USR1 $$; exit 4";
        let look = look("sh", &["-c", text]);
        assert_eq!(libc::WEXITSTATUS(look.status), 3);
    }

    #[test]
    fn a_process_that_stops_goes_on() {
        let text = "(sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 5";
        let look = look("sh", &["-c", text]);
        assert_eq!(libc::WEXITSTATUS(look.status), 5);
    }

    #[test]
    fn the_resident_set_is_that_of_the_exit() {
        let resident = look("true", &[]).resident.unwrap();
        assert!((200 << 10..20 << 20).contains(&resident.end), "{resident:?}");
        // It gives nothing back.
        assert!(
            resident.peak.is_some_and(|peak| (resident.end..resident.end + (1 << 20)).contains(&peak)),
            "{resident:?}"
        );
    }

    #[test]
    #[allow(clippy::zombie_processes, reason = "it is waited for")]
    fn what_is_not_followed_is_not_looked_at() {
        let child = Command::new("true").spawn().unwrap();
        assert_eq!(wait(child.id() as i32).unwrap().resident, None);
    }

    #[test]
    fn a_program_that_cannot_start_is_an_error() {
        assert!(memtoll_kernel::spawn_held(Command::new("/no/such/program"), follow).is_err());
    }

    #[test]
    fn the_peak_is_known_of_a_process_that_is_one_program_without_children() {
        let peak = |text: &str| look("perl", &["-e", text]).resident.unwrap().peak;
        let large = peak("my $text = 'x' x 30_000_000; undef $text");
        assert!(large.is_some_and(|peak| (29 << 20..80 << 20).contains(&peak)), "{large:?}");
        assert_eq!(peak("exec 'sleep', '0'"), None);
        assert_eq!(peak("system 'true'"), None);
    }
}
