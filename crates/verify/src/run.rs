//! One run of a command, and what it took.

use crate::Error;
use crate::command::CommandLine;
use crate::exit_look::{self, ExitLook, Resident};
use crate::metric::Metric;
use crate::sampled::{Sampler, Watch};
use memtoll_kernel::{Refused, spawn_held};
use memtoll_trace::meta::{Exit, PlainRun, Samples};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::process::Stdio;
use std::time::Instant;

/// What a run took. Values are in the metric's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    values: [Option<f64>; Metric::ALL.len()],
}

impl Usage {
    /// A figure; `None` if it is not known.
    pub fn of(&self, metric: Metric) -> Option<f64> {
        self.values[metric as usize]
    }

    /// This run, with the allocator's share of a sampled one.
    pub fn with_allocator_of(mut self, sampled: &Usage) -> Usage {
        let share = |of: &Usage| Some(of.of(Metric::Allocator)? / of.of(Metric::Cpu).filter(|all| *all > 0.0)?);
        let allocator = share(sampled).and_then(|share| Some(share * self.of(Metric::Cpu)?));
        self.values[Metric::Allocator as usize] = allocator;
        self
    }

    fn of_run(ran: &Ran) -> Usage {
        let Ran { wall, usage, own_peak, samples, sees_kernel, resident, .. } = ran;
        let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
        let (user, system) = (ns(usage.ru_utime), ns(usage.ru_stime));
        let allocator = |samples: &Samples| {
            // An ordinary user sees no samples inside the kernel.
            let (of, all) = match sees_kernel {
                true => (user + system, samples.all()),
                false => (user, samples.allocator + samples.program),
            };
            of * samples.allocator as f64 / all.max(1) as f64
        };
        // A new process has the peak of the process that started it.
        let peak_is_known = usage.ru_maxrss > *own_peak;
        let value = |metric| match metric {
            Metric::Cpu => Some(user + system),
            Metric::Wall => Some(*wall),
            Metric::User => Some(user),
            Metric::System => Some(system),
            Metric::Allocator => samples.as_ref()?.as_ref().ok().map(allocator),
            Metric::Faults => Some((usage.ru_minflt + usage.ru_majflt) as f64),
            // The kernel's own figure may be a little behind.
            Metric::ResidentPeak if peak_is_known => {
                Some((usage.ru_maxrss as f64 * 1024.0).max(resident.map_or(0, |resident| resident.end) as f64))
            }
            Metric::ResidentPeak => resident.and_then(|resident| resident.peak).map(|bytes| bytes as f64),
            Metric::ResidentEnd => resident.map(|resident| resident.end as f64),
        };
        Usage { values: Metric::ALL.map(value) }
    }
}

/// What is expected of a run.
pub struct Expected<'a> {
    /// Which side of the comparison it belongs to, for errors.
    pub side: &'a str,
    pub exit_code: i32,
    /// Whether to measure its resident set when it exits.
    pub looks_at_exit: bool,
}

/// Runs a command to its end, with its standard output in `output` (thrown away if there is none). With a sampler, the
/// kernel looks where it is.
pub fn run(
    command: &CommandLine,
    expected: &Expected,
    output: Option<&mut File>,
    sampler: Option<&mut Sampler>,
) -> Result<Usage, Error> {
    let stdout = match output {
        Some(file) => {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            Stdio::from(file.try_clone()?)
        }
        None => Stdio::null(),
    };
    let looks_at_exit = expected.looks_at_exit && command.is_direct();
    let mut ran = Ran::start_with(command, Stdio::null(), stdout, sampler, looks_at_exit).map_err(|source| {
        Error::Start { side: expected.side.to_owned(), command: command.shown().to_owned(), source }
    })?;
    match ran.exit {
        Exit::Code(code) if code == expected.exit_code => Ok(Usage::of_run(&ran)),
        exit => Err(Error::Failed {
            side: expected.side.to_owned(),
            command: command.shown().to_owned(),
            how: exit.how(),
            expected: expected.exit_code,
            stderr: last_lines(&mut ran.errors),
        }),
    }
}

/// A run to the end.
pub(crate) struct Ran {
    pub exit: Exit,
    /// From start to end, ns.
    wall: f64,
    usage: libc::rusage,
    /// This process's own peak when it began, KiB.
    own_peak: i64,
    /// What it wrote to standard error.
    errors: File,
    /// Where it was found, if that was asked for and allowed; else why not.
    pub samples: Option<Result<Samples, Refused>>,
    /// Whether it was seen inside the kernel.
    pub sees_kernel: bool,
    /// Its resident set, if it was measured at the exit.
    resident: Option<Resident>,
}

impl Ran {
    /// Runs a command. With a sampler, the kernel looks where it is.
    pub fn start(command: &CommandLine, stdin: Stdio, stdout: Stdio, sampler: Option<&mut Sampler>) -> io::Result<Ran> {
        Ran::start_with(command, stdin, stdout, sampler, false)
    }

    /// The same, and can measure its resident set when it exits.
    fn start_with(
        command: &CommandLine,
        stdin: Stdio,
        stdout: Stdio,
        sampler: Option<&mut Sampler>,
        looks_at_exit: bool,
    ) -> io::Result<Ran> {
        let errors = tempfile::tempfile()?;
        let mut ready = command.command();
        ready.stdin(stdin).stdout(stdout).stderr(errors.try_clone()?);
        let own_peak = own_peak();
        let is_sampled = sampler.is_some();
        let (child, (mut watch, began)) = match is_sampled || looks_at_exit {
            false => {
                let began = Instant::now();
                (ready.spawn()?, (None, began))
            }
            true => spawn_held(ready, |pid| {
                if looks_at_exit {
                    exit_look::follow(pid);
                }
                (is_sampled.then(|| Watch::start(pid)), Instant::now())
            })?,
        };
        if let Some(Ok(watch)) = &mut watch {
            watch.follow(&child)?;
        }
        let ExitLook { status, usage, resident } = exit_look::wait(child.id() as i32)?;
        let wall = began.elapsed().as_nanos() as f64;
        let exit = match (libc::WIFEXITED(status), libc::WIFSIGNALED(status)) {
            (true, _) => Exit::Code(libc::WEXITSTATUS(status)),
            (_, true) => Exit::Signal(libc::WTERMSIG(status)),
            _ => Exit::Unknown,
        };
        let sees_kernel = matches!(&watch, Some(Ok(watch)) if watch.sees_kernel());
        let samples = watch.zip(sampler).map(|(watch, sampler)| Ok(watch?.finish(sampler)));
        Ok(Ran { exit, wall, usage, own_peak, errors, samples, sees_kernel, resident })
    }

    /// What it took.
    pub fn taken(&self) -> PlainRun {
        let usage = &self.usage;
        let peak_is_known = usage.ru_maxrss > self.own_peak;
        PlainRun {
            wall: self.wall as u64,
            usage: memtoll_trace::meta::Usage {
                max_resident: if peak_is_known { usage.ru_maxrss as u64 * 1024 } else { 0 },
                ..memtoll_trace::meta::Usage::counted(usage)
            },
        }
    }

    /// The last lines that it wrote to standard error, each on a line of its own and indented.
    pub fn last_lines(&mut self) -> String {
        last_lines(&mut self.errors)
    }
}

/// What a process that this one starts now begins with, KiB: this process's largest resident set since it gave back what it
/// does not need, or since it began where the kernel does not forget (`clear_refs`, Linux 4.0).
fn own_peak() -> i64 {
    // SAFETY: it only gives back free memory.
    unsafe { libc::malloc_trim(0) };
    const FORGET_THE_PEAK: &str = "5";
    let _ = std::fs::write("/proc/self/clear_refs", FORGET_THE_PEAK);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    peak.unwrap_or(i64::MAX)
}

/// The last lines of a file, each on a line of its own and indented.
pub fn last_lines(file: &mut File) -> String {
    const BYTES: u64 = 1000;
    const LINES: usize = 5;
    let length = file.metadata().map_or(0, |data| data.len());
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(length.saturating_sub(BYTES))).and_then(|_| file.read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().rev().take(LINES).collect();
    lines.into_iter().rev().fold(String::new(), |text, line| text + "\n    " + line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Result<Usage, Error> {
        run(
            &CommandLine::typed(text),
            &Expected { side: "before", exit_code: 0, looks_at_exit: true },
            None,
            Some(&mut Sampler::default()),
        )
    }

    #[test]
    fn a_run_is_measured_with_its_children() {
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let usage = shell(&format!("({busy}); true")).unwrap();
        let [cpu, wall, user, system] =
            [Metric::Cpu, Metric::Wall, Metric::User, Metric::System].map(|metric| usage.of(metric).unwrap());
        assert!(cpu > 1e6 && wall > 1e6, "{usage:?}");
        assert_eq!(cpu, user + system);
        assert!(usage.of(Metric::Faults).unwrap() > 50.0);
        // Where the kernel refuses, it is not known.
        assert!(usage.of(Metric::Allocator).is_none_or(|allocator| (0.0..=cpu).contains(&allocator)), "{usage:?}");
    }

    #[test]
    fn a_peak_below_our_own_is_known_by_a_look_at_the_exit() {
        // A program begins with the peak of the one that started it.
        let peak_of_true = |looks_at_exit| {
            let expected = Expected { side: "before", exit_code: 0, looks_at_exit };
            run(&CommandLine::typed("true"), &expected, None, None).unwrap().of(Metric::ResidentPeak)
        };
        assert_eq!(peak_of_true(false), None);
        assert!(peak_of_true(true).is_some_and(|peak| (200e3..6e6).contains(&peak)));
        let large = "head -c 200000000 /dev/zero | tail -c 199999999 > /dev/null";
        assert!(shell(large).unwrap().of(Metric::ResidentPeak).unwrap() > 190e6);
    }

    #[test]
    fn what_this_process_had_before_hides_no_peak() {
        drop(std::hint::black_box(vec![1u8; 300 << 20]));
        let usage = shell("head -c 80000000 /dev/zero | tail -c 79999999 > /dev/null").unwrap();
        assert!(usage.of(Metric::ResidentPeak).is_some_and(|peak| (79e6..200e6).contains(&peak)), "{usage:?}");
    }

    #[test]
    fn of_a_shell_the_resident_set_at_the_end_is_not_known() {
        let of = |text: &str| {
            let expected = Expected { side: "before", exit_code: 0, looks_at_exit: true };
            run(&CommandLine::typed(text), &expected, None, None).unwrap().of(Metric::ResidentEnd)
        };
        assert!(of("sleep 0.2").is_some());
        assert_eq!(of("(sleep 0.2); true"), None);
    }

    #[test]
    fn failures_say_what_happened() {
        let said = |text| shell(text).unwrap_err().to_string();
        assert_eq!(
            said("echo one >&2; exit 3"),
            "before: \"echo one >&2; exit 3\" ended with exit code 3; expected exit code 0\n    one"
        );
        assert!(said("kill -9 $$").contains("ended by SIGKILL"));
        assert!(said("/no/such/program").starts_with("before: cannot run \"/no/such/program\": No such file"));
    }
}
