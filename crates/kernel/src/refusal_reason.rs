//! Why there are no kernel events, in one line.

use rustix::io::Errno;
use std::io;

/// The kernel does not let us see page faults. Says what was expected, what was found, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// `perf_event_paranoid` is too high for users without privileges.
    #[error(
        "the kernel shows page faults to ordinary users only if /proc/sys/kernel/perf_event_paranoid is 2 or less, but it is \
         {paranoid} ({error}); as root: sysctl kernel.perf_event_paranoid=2, or give memtoll CAP_PERFMON"
    )]
    Paranoid {
        /// Its value.
        paranoid: i32,
        /// The kernel's error.
        error: String,
    },
    /// A filter of system calls, most likely that of a container.
    #[error(
        "the system call perf_event_open is needed to see page faults, but this process runs under a seccomp filter that \
         refuses it ({error}); in a container: --cap-add PERFMON, or a seccomp profile that allows it"
    )]
    Filtered {
        /// The kernel's error.
        error: String,
    },
    /// The kernel has no perf events at all.
    #[error("page faults are seen through the system call perf_event_open, but this kernel has none ({error})")]
    Missing {
        /// The kernel's error.
        error: String,
    },
    /// Not enough file descriptors.
    #[error(
        "{needed} file descriptors are needed to see page faults, 5 for each processor and thread, but {error}; raise ulimit -n"
    )]
    Files {
        /// How many are wanted.
        needed: usize,
        /// The kernel's error.
        error: String,
    },
    /// A running process has too many threads for this machine's processors.
    #[error(
        "the kernel would need {needed} events to show the page faults of {threads} threads that run already, one for each \
         processor and kind, and memtoll opens no more than {most}; start the program with memtoll record"
    )]
    Threads {
        /// How many threads.
        threads: usize,
        /// How many events.
        needed: usize,
        /// How many are opened at the most.
        most: usize,
    },
    /// Not enough lockable memory.
    #[error(
        "the kernel's records of page faults need {needed} bytes of locked memory, but there is less left ({error}); raise \
         ulimit -l, or as root /proc/sys/kernel/perf_event_mlock_kb"
    )]
    Memory {
        /// The least that would do, in bytes.
        needed: usize,
        /// The kernel's error.
        error: String,
    },
    /// Something else: the process has ended, or a rule of the system's security module.
    #[error("page faults cannot be seen: perf_event_open failed with \"{error}\" (perf_event_paranoid is {paranoid})")]
    Other {
        /// Value of /proc/sys/kernel/perf_event_paranoid, "unknown" where it cannot be read.
        paranoid: String,
        /// The kernel's error.
        error: String,
    },
}

/// What decides, beside the error itself.
pub(crate) struct Circumstances {
    pub paranoid: Option<i32>,
    pub filtered: bool,
    pub files_needed: usize,
}

impl Circumstances {
    pub fn look(files_needed: usize) -> Circumstances {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        // The filter is that of the calling thread.
        let status = read("/proc/thread-self/status");
        let seccomp = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
        Circumstances {
            paranoid: read("/proc/sys/kernel/perf_event_paranoid").trim().parse().ok(),
            filtered: seccomp.is_some_and(|mode| mode.trim() == "2"),
            files_needed,
        }
    }
}

impl Refused {
    pub(crate) fn explain(error: &io::Error, circumstances: &Circumstances) -> Refused {
        let Circumstances { paranoid, filtered, files_needed } = *circumstances;
        let told = error.to_string();
        let denied = matches!(errno(error), Some(Errno::ACCESS | Errno::PERM));
        match (errno(error), paranoid) {
            // The kernel's own refusal comes with EACCES; filters mostly use EPERM or ENOSYS.
            (Some(Errno::PERM | Errno::NOSYS), _) if filtered => Refused::Filtered { error: told },
            (_, Some(paranoid)) if denied && paranoid > 2 => Refused::Paranoid { paranoid, error: told },
            _ if denied && filtered => Refused::Filtered { error: told },
            (Some(Errno::NOSYS), _) | (Some(Errno::NOENT), None) => Refused::Missing { error: told },
            (Some(Errno::MFILE | Errno::NFILE), _) => Refused::Files { needed: files_needed, error: told },
            _ => Refused::Other { paranoid: paranoid.map_or("unknown".into(), |value| value.to_string()), error: told },
        }
    }
}

/// The error's number, as the kernel gave it.
pub(crate) fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(errno: Errno, paranoid: i32, filtered: bool) -> String {
        let circumstances = Circumstances { paranoid: Some(paranoid), filtered, files_needed: 26 };
        Refused::explain(&errno.into(), &circumstances).to_string()
    }

    #[test]
    fn each_refusal_says_what_to_do_in_one_line() {
        for (errno, paranoid, filtered, words) in [
            (Errno::ACCESS, 3, false, ["is 3", "sysctl kernel.perf_event_paranoid=2"]),
            (Errno::ACCESS, 4, true, ["is 4", "sysctl kernel.perf_event_paranoid=2"]),
            (Errno::PERM, 2, true, ["seccomp", "--cap-add PERFMON"]),
            (Errno::PERM, 3, true, ["seccomp", "--cap-add PERFMON"]),
            (Errno::NOSYS, 2, true, ["seccomp", "--cap-add PERFMON"]),
            (Errno::NOSYS, 2, false, ["this kernel has none", "perf_event_open"]),
            (Errno::MFILE, 2, false, ["26 file descriptors", "ulimit -n"]),
            (Errno::ACCESS, 2, false, ["Permission denied", "perf_event_paranoid is 2"]),
            (Errno::SRCH, 2, false, ["No such process", "perf_event_paranoid is 2"]),
        ] {
            let line = explain(errno, paranoid, filtered);
            assert!(words.iter().all(|word| line.contains(word)) && !line.contains('\n'), "{errno:?}: {line}");
        }
    }
}
