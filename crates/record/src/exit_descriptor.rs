//! A descriptor that is ready when a process has ended.

use crate::proc_files;
use crate::thread_spawning::{self, Stack};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Time between two looks at /proc.
const PAUSE: Duration = Duration::from_millis(5);

/// A descriptor of `pid` that is ready when the process has ended.
pub fn watch(pid: Pid) -> io::Result<OwnedFd> {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::NOSYS) => watch_proc(pid.as_raw_nonzero().get() as u32),
        watched => Ok(watched?),
    }
}

/// Before Linux 5.3 (RHEL 8 has 4.18), no descriptor stands for a process: this one is a pipe's, which a thread closes.
fn watch_proc(pid: u32) -> io::Result<OwnedFd> {
    let started = proc_files::start_time(pid);
    let (watched, held) = pipe_with(PipeFlags::CLOEXEC)?;
    thread_spawning::start("end", Stack::Small, move || {
        // Another process may get the number.
        while proc_files::exists(pid) && proc_files::start_time(pid) == started {
            std::thread::sleep(PAUSE);
        }
        drop(held);
    })?;
    Ok(watched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::process::{Command, Stdio};

    #[test]
    fn both_ways_notice_the_end() {
        for watch in [watch, |pid: Pid| watch_proc(pid.as_raw_nonzero().get() as u32)] {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let end = watch(Pid::from_child(&child)).unwrap();
            let ready = |seconds| {
                let timeout = Timespec { tv_sec: seconds, tv_nsec: 0 };
                poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&timeout)).unwrap() == 1
            };
            assert!(!ready(0));
            drop(child.stdin.take());
            assert!(ready(60));
            child.wait().unwrap();
        }
    }
}
