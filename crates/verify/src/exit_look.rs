//! Waits for the end of a process, and looks at its resident set before it is gone.

use std::io;

/// The end of a process.
pub struct ExitLook {
    pub status: i32,
    pub usage: libc::rusage,
    /// Its resident set when it exited, bytes, if that was asked for and the kernel let us stop it there.
    pub resident_end: Option<u64>,
}

/// Waits for a child of this thread.
pub fn wait(pid: i32, looks_at_end: bool) -> io::Result<ExitLook> {
    // Its other threads and its children are not followed, so they run as ever.
    if looks_at_end {
        let _ = trace(libc::PTRACE_SEIZE, pid, libc::PTRACE_O_TRACEEXIT as usize);
    }
    let mut resident_end = None;
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
            return Ok(ExitLook { status, usage, resident_end });
        }
        let signal = libc::WSTOPSIG(status);
        let goes_on = match status >> 16 {
            libc::PTRACE_EVENT_EXIT => {
                resident_end = resident(pid);
                trace(libc::PTRACE_CONT, pid, 0)
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

/// The resident set of a process, bytes: page by page, since statm is some hundred KiB inexact with several processors
/// (Documentation/filesystems/proc.rst).
fn resident(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("Rss:"))?.trim().strip_suffix(" kB")?;
    Some(kib.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[allow(clippy::zombie_processes, reason = "the tests wait for it")]
    fn started(program: &str, arguments: &[&str]) -> i32 {
        Command::new(program).args(arguments).spawn().unwrap().id() as i32
    }

    #[test]
    fn exit_codes_and_signals_come_through() {
        for (text, code, signal) in
            [("exit 7", Some(7), None), ("kill -9 $$", None, Some(9)), ("kill -TERM $$", None, Some(15))]
        {
            let child = started("sh", &["-c", text]);
            let look = wait(child, true).unwrap();
            let exited = libc::WIFEXITED(look.status).then(|| libc::WEXITSTATUS(look.status));
            let signaled = libc::WIFSIGNALED(look.status).then(|| libc::WTERMSIG(look.status));
            assert_eq!((exited, signaled), (code, signal), "{text}");
        }
    }

    #[test]
    fn a_signal_that_is_caught_reaches_its_handler() {
        let text = "trap 'exit 3' USR1; kill -USR1 $$; exit 4";
        let child = started("sh", &["-c", text]);
        let look = wait(child, true).unwrap();
        assert_eq!(libc::WEXITSTATUS(look.status), 3);
    }

    #[test]
    fn a_process_that_stops_goes_on() {
        let text = "(sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 5";
        let child = started("sh", &["-c", text]);
        let look = wait(child, true).unwrap();
        assert_eq!(libc::WEXITSTATUS(look.status), 5);
    }

    #[test]
    fn the_resident_set_is_that_of_the_exit() {
        // It waits, so that it is seen before it exits.
        let child = started("sleep", &["0.2"]);
        let look = wait(child, true).unwrap();
        assert!(
            look.resident_end.is_some_and(|bytes| (200 << 10..20 << 20).contains(&bytes)),
            "{:?}",
            look.resident_end
        );
        let child = started("sleep", &["0"]);
        assert_eq!(wait(child, false).unwrap().resident_end, None);
    }
}
