//! Running the target under the collector, as root or as an ordinary user.
//!
//! Where perf events are refused these tests fail and say why. On a machine that is known to refuse them (a container
//! without CAP_PERFMON), set MEMTOLL_WITHOUT_PERF=1: then they check that the refusal is explained, and fail if there is
//! none.
#![allow(dead_code)] // Each test file uses a part.

use memtoll_kernel::{Clock, Collector, KernelEvent, Options, Refused, RingReader, Totals, View, What, spawn_held};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes of a page.
pub fn page() -> u64 {
    rustix::param::page_size() as u64
}

/// What was collected, and what the target printed and used.
pub struct Run {
    pub pid: u32,
    pub view: View,
    pub events: Vec<KernelEvent>,
    pub totals: Totals,
    pub output: String,
    /// Of the target and of what it has waited for.
    pub minor: u64,
    pub major: u64,
}

/// Memory that one thread of the target touched, each page once.
pub struct Region {
    pub thread: u32,
    pub addresses: Range<u64>,
    pub pages: u64,
}

/// A fault of the target.
#[derive(Debug, Clone)]
pub struct Fault {
    pub ticks: u64,
    pub tid: u32,
    pub address: u64,
    pub ip: u64,
    pub weight: u32,
    pub major: bool,
    pub in_kernel: bool,
    pub handling: Option<u32>,
    pub page: Option<u64>,
}

/// How to collect, and how attentively.
pub struct Setup {
    pub clock: Clock,
    pub options: Options,
    /// Between two looks at the rings, if not woken earlier. None: look only at the end.
    pub look: Option<Duration>,
    /// Sleep for all of it, whatever the doorbell says.
    pub deaf: bool,
    /// Change the period of samples all the time, from another thread.
    pub restless: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            clock: Clock::Monotonic,
            // Tests that run at the same time share what their process may lock.
            options: Options { ring_bytes: 2 << 20, ..Options::default() },
            look: Some(Duration::from_millis(20)),
            deaf: false,
            restless: false,
        }
    }
}

impl Setup {
    pub fn with(change: impl FnOnce(&mut Options)) -> Setup {
        let mut setup = Setup::default();
        change(&mut setup.options);
        setup
    }

    /// Runs the target. None where perf events are refused, as announced.
    pub fn run(&self, arguments: &[&str]) -> Option<Run> {
        let mut output = tempfile::tempfile().unwrap();
        let mut command = Command::new(target());
        command.args(arguments).stdout(output.try_clone().unwrap());
        // A process that has changed its user is hidden from others of that user, until it execs.
        // SAFETY: a system call.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_DUMPABLE, 1) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let (child, collector) =
            spawn_held(command, |pid| Collector::start(pid, self.clock, &self.options)).expect("the target starts");
        let refused = collector.as_ref().err().cloned();
        let mut events = Vec::new();
        let collected = collector.ok().map(|mut collector| {
            let mut wakeup = collector.wakeup().unwrap();
            let restless = self.restless.then(|| Restless::start(collector.ring_reader()));
            let mut promised = 0;
            while let Some(look) = self.look {
                let waiting = if self.deaf { Duration::ZERO } else { look };
                let more = wakeup.wait(waiting).unwrap();
                if self.deaf {
                    std::thread::sleep(look);
                }
                let first = events.len();
                let until = collector.drain(&mut |event| events.push(event));
                assert!(events[first..].iter().all(|event| event.ticks <= until), "events after the promised time");
                assert!(promised <= until, "the promised time goes back");
                promised = until;
                if !more {
                    break;
                }
            }
            drop(restless);
            (collector.view(), collector)
        });
        let pid = child.id();
        let (status, usage) = wait(pid);
        assert_eq!(status, 0, "{arguments:?}");
        let mut text = String::new();
        output.rewind().unwrap();
        output.read_to_string(&mut text).unwrap();
        let (view, collector) = check_refusal(collected, refused)?;
        let totals = collector.finish(&mut |event| events.push(event));
        if totals.late_events == 0 {
            assert!(events.is_sorted_by_key(|event| event.ticks), "events are out of order");
        }
        assert_eq!((totals.damaged_records, totals.off_ppm), (0, 0));
        let minor = usage.ru_minflt as u64;
        let major = usage.ru_majflt as u64;
        Some(Run { pid, view, events, totals, output: text, minor, major })
    }
}

/// A thread that changes the period of samples until it is dropped.
struct Restless(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Restless {
    fn start(reader: Arc<RingReader>) -> Restless {
        let ends = Arc::new(AtomicBool::new(false));
        let until = ends.clone();
        let change = move || {
            while !until.load(Relaxed) {
                reader.choose(1);
                reader.choose(0);
                // Who empties the rings needs the same lock: what overflows there would hide twins.
                std::thread::sleep(Duration::from_micros(20));
            }
        };
        Restless(ends, Some(std::thread::spawn(change)))
    }
}

impl Drop for Restless {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        self.1.take().unwrap().join().unwrap();
    }
}

/// The announced refusal must come, and no other.
fn check_refusal<T>(collected: Option<T>, refused: Option<Refused>) -> Option<T> {
    match (refused, memtoll_e2e::without_perf()) {
        (None, false) => collected,
        (None, true) => panic!("MEMTOLL_WITHOUT_PERF is set, but perf events work here: unset it"),
        (Some(refused), false) => panic!("this test needs perf events: {refused}; or set MEMTOLL_WITHOUT_PERF=1"),
        (Some(refused), true) => {
            let line = refused.to_string();
            assert!(line.contains("perf_event_open") || line.contains("perf_event_paranoid"), "{line}");
            memtoll_e2e::skipped(format!("announced by MEMTOLL_WITHOUT_PERF: {line}"));
            None
        }
    }
}

fn wait(pid: u32) -> (i32, libc::rusage) {
    let mut status = 0;
    // SAFETY: plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes both.
    let waited = unsafe { libc::wait4(pid as i32, &mut status, 0, &mut usage) };
    assert_eq!(waited, pid as i32);
    (status, usage)
}

/// Runs the target's `steps` on one processor, so that one ring has all records: between two steps, it waits until `between` has
/// returned, and no other thread empties the rings.
/// None where perf events are refused, as announced.
pub fn run_steps(
    options: &Options,
    pages: u64,
    steps: u64,
    mut between: impl FnMut(&mut Collector, &mut dyn FnMut(KernelEvent)),
) -> Option<(Totals, Vec<KernelEvent>)> {
    let mut command = Command::new(target());
    command.args(["steps", &pages.to_string(), &steps.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // SAFETY: a system call.
    unsafe {
        command.pre_exec(|| {
            let allowed = rustix::thread::sched_getaffinity(None)?;
            let mut one = rustix::thread::CpuSet::new();
            one.set((0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap_or(0));
            Ok(rustix::thread::sched_setaffinity(None, &one)?)
        });
    }
    let (mut child, collector) =
        spawn_held(command, |pid| Collector::start(pid, Clock::Monotonic, options)).expect("the target starts");
    let refused = collector.as_ref().err().cloned();
    let mut collector = collector.ok();
    let mut events = Vec::new();
    let (mut go_on, said) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for line in said.lines() {
        assert_eq!(line.unwrap(), "touched");
        if let Some(collector) = &mut collector {
            between(collector, &mut |event| events.push(event));
        }
        go_on.write_all(b"\n").unwrap();
    }
    assert!(child.wait().unwrap().success());
    let totals = check_refusal(collector, refused)?.finish(&mut |event| events.push(event));
    Some((totals, events))
}

impl Run {
    /// Lines of the output that begin with a word, split at blanks.
    pub fn lines<'a>(&'a self, word: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
        self.output.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(move |words| words[0] == word)
    }

    /// The number behind a word of the output.
    pub fn number(&self, word: &str) -> u64 {
        self.lines(word).next().unwrap_or_else(|| panic!("no {word} in {}", self.output))[1].parse().unwrap()
    }

    pub fn regions(&self) -> Vec<Region> {
        let region = |words: Vec<&str>| {
            let start = u64::from_str_radix(words[2].trim_start_matches("0x"), 16).unwrap();
            let pages = words[3].parse().unwrap();
            Region { thread: words[1].parse().unwrap(), addresses: start..start + pages * page(), pages }
        };
        self.lines("region").map(region).collect()
    }

    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        self.events.iter().filter_map(|event| match event.what {
            What::Fault { address, ip, weight, major, in_kernel, handling, page } => Some(Fault {
                ticks: event.ticks,
                tid: event.tid,
                address,
                ip,
                weight,
                major,
                in_kernel,
                handling,
                page,
            }),
            _ => None,
        })
    }

    pub fn faults_in(&self, region: &Region) -> Vec<Fault> {
        self.faults().filter(|fault| region.addresses.contains(&fault.address)).collect()
    }
}

/// Runs something as a user without privileges, in a thread of its own. Where the tests are run by such a user, that is
/// this one.
pub fn unprivileged<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: system calls, not the C library's functions: they change this thread only.
            unsafe {
                if libc::geteuid() == 0 {
                    let nobody = 65534;
                    assert_eq!(libc::syscall(libc::SYS_setresuid, nobody, nobody, nobody), 0);
                }
            }
            run()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Whether the tests themselves may see faults inside system calls.
pub fn privileged() -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    let capabilities = u64::from_str_radix(effective.trim(), 16).unwrap();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let (cap_perfmon, cap_sys_admin) = (38, 21);
    capabilities & (1 << cap_perfmon | 1 << cap_sys_admin) != 0 || paranoid.trim().parse::<i32>().unwrap_or(2) <= 1
}

/// The compiled target, where every user can run it.
pub fn target() -> &'static Path {
    static TARGET: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = TARGET.get_or_init(|| {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/target.c");
        let program = directory.path().join("target");
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]).arg(&source).arg("-o").arg(&program);
        let status = compile.status().expect("these tests need a C compiler: install gcc");
        assert!(status.success(), "{compile:?}");
        (directory, program)
    });
    path
}
