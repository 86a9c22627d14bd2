//! Processes that run already: what is recorded of them, and that they go on as if nothing had happened.

#[path = "attach/before.rs"]
mod before;
#[path = "attach/containers.rs"]
mod containers;
#[path = "attach/kernel.rs"]
mod kernel;
#[path = "attach/marks.rs"]
mod marks;
#[path = "attach/refusals.rs"]
mod refusals;

use memtoll_e2e::{Metrics, Report};
use memtoll_e2e::{Outcome, memtoll, program, read_report, run, scratch, skipped, wait_until};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Rounds of each test that repeats something.
const ROUNDS: u32 = 20;

/// A program that reads commands and answers each with a line.
struct Running {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A test that has failed leaves nothing behind.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts it, and waits for its first line.
    fn start(mut command: Command) -> Running {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (commands, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut running = Running { child, commands, answers };
        assert_eq!(running.answer(), "ready");
        running
    }

    /// `attached.c` with so many threads.
    fn with_threads(threads: u32) -> Running {
        let mut command = Command::new(program("attached.c"));
        command.arg(threads.to_string());
        Running::start(command)
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, command: &str) -> String {
        writeln!(self.commands, "{command}").unwrap();
        self.answer()
    }

    /// Expects that nothing is broken.
    #[track_caller]
    fn end_well(mut self) {
        assert_eq!(self.ask("quit"), "broken 0");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

fn attach(pid: u32, file: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(memtoll());
    command.args(["attach", &pid.to_string(), "-o"]).arg(file).args(options);
    command
}

/// Attaches until this is dropped or told to end, and waits until calls are recorded.
struct Attached {
    memtoll: Child,
    said: BufReader<std::process::ChildStderr>,
}

impl Attached {
    fn to(pid: u32, file: &Path) -> Attached {
        Attached::with(pid, file, &[])
    }

    fn with(pid: u32, file: &Path, options: &[&str]) -> Attached {
        let mut memtoll = attach(pid, file, options).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(memtoll.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("recording process"), "{line}");
        Attached { memtoll, said }
    }

    /// As Ctrl-C does.
    fn asks_to_end(&self) {
        // SAFETY: kill takes no pointers; the child has not been waited for.
        unsafe { libc::kill(self.memtoll.id() as libc::pid_t, libc::SIGINT) };
    }

    fn end(self) -> String {
        self.asks_to_end();
        self.ends()
    }

    /// After it was asked to.
    fn ends(mut self) -> String {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.said, &mut rest).unwrap();
        assert_eq!(self.memtoll.wait().unwrap().code(), Some(0), "{rest}");
        rest
    }
}

#[track_caller]
fn report(file: &Path) -> Report {
    let outcome = read_report(file, &["--format", "json"]);
    assert!(outcome.status.success(), "{outcome:?}");
    Report::parse(outcome.stdout.as_bytes())
}

/// What `exact` makes in `calls` rounds of so many threads.
#[track_caller]
fn expect_exact(found: &Metrics, rounds: u64) {
    let each = 500 * rounds;
    assert_eq!((found.new_blocks, found.bytes, found.frees, found.live_blocks), (2 * each, each * 130, each, each));
}

#[test]
fn every_call_from_an_instant_on_is_counted() {
    // More take the processors from memtoll, which then needs long for the events that they have made.
    const FEW: u32 = 4;
    for threads in [1, 4, 50] {
        let folder = scratch();
        let file = folder.path().join("a.memtoll");
        let mut running = Running::with_threads(threads);
        assert_eq!(running.ask("exact"), "made"); // before
        let attached = Attached::to(running.pid(), &file);
        for _ in 0..3 {
            assert_eq!(running.ask("exact"), "made");
        }
        if threads > FEW {
            assert_eq!(running.ask("rest"), "resting");
        }
        let said = attached.end();
        assert_eq!(running.ask("exact"), "made"); // afterwards
        running.end_well();
        expect_exact(&report(&file).function("exact"), u64::from(3 * threads));
        assert!(said.contains("stood still for"), "{said}");
        let is_glued = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains("ms");
        assert!(!said.split_whitespace().any(is_glued), "numbers stand apart from their units, as everywhere: {said}");
    }
}

/// Threads that never rest make events faster than memtoll packs them: packing goes on after it has let go.
#[test]
fn a_recording_ends_when_memtoll_lets_go() {
    const ENDING: f64 = 5.0; // seconds, on a busy machine; packing takes 17
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let running = Running::with_threads(50);
    let begin = Instant::now();
    let attached = Attached::to(running.pid(), &file);
    std::thread::sleep(Duration::from_millis(500));
    let until_end = begin.elapsed().as_secs_f64();
    attached.asks_to_end();
    running.end_well();
    attached.ends();
    let outcome = read_report(&file, &["--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let seconds = report["seconds"].as_f64().unwrap();
    assert!(seconds < until_end + ENDING, "{seconds} s, asked to end after {until_end}");
    let processors = std::thread::available_parallelism().unwrap().get() as f64;
    let used = report["totals"]["cpu_ns"].as_f64().unwrap() / 1e9;
    assert!(used > 0.0 && used <= seconds * processors * 1.01, "{used} s of {seconds} s on {processors} processors");
}

#[test]
fn what_a_process_starts_is_recorded_too() {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let script = "echo ready; read line; $1 >/dev/null & wait; ($2 >/dev/null); echo done; read line; echo broken 0";
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]).args([program("tiny.c"), program("tiny.c")]);
    let mut running = Running::start(command);
    let attached = Attached::to(running.pid(), &file);
    assert_eq!(running.ask("go"), "done");
    attached.end();
    running.end_well();
    let programs: Vec<String> = report(&file).processes.iter().map(|process| process.program().to_owned()).collect();
    assert!(programs.iter().filter(|name| name.contains("tiny")).count() >= 2, "{programs:?}");
}

#[test]
fn a_process_outlives_a_memtoll_that_is_killed_at_any_instant() {
    let folder = scratch();
    let mut running = Running::with_threads(3);
    for round in 0..ROUNDS {
        let file = folder.path().join(format!("{round}.memtoll"));
        let mut memtoll = attach(running.pid(), &file, &["-q"]).stderr(Stdio::null()).spawn().unwrap();
        // From its very begin to the middle of recording.
        let instant = Duration::from_millis(u64::from(round * 37 % 400));
        std::thread::sleep(instant);
        memtoll.kill().unwrap();
        memtoll.wait().unwrap();
        assert_eq!(running.ask("exact"), "made", "killed after {instant:?}");
    }
    // What the dead ones have left does not stand in the way.
    let file = folder.path().join("last.memtoll");
    let attached = Attached::to(running.pid(), &file);
    assert_eq!(running.ask("exact"), "made");
    let said = attached.end();
    running.end_well();
    let found = report(&file).function("exact");
    assert!(found.new_blocks > 0, "{said}");
    expect_exact(&found, 3);
}

/// What memtoll has mapped into a process, by name.
fn mapped_by_memtoll(pid: u32) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let names = maps.lines().filter_map(|line| line.split_once("/memfd:memtoll").map(|(_, name)| name.to_owned()));
    names.collect()
}

#[test]
fn one_recorder_serves_every_memtoll_of_a_process() {
    // ld.so has room for the thread-local variables of some twenty libraries.
    const MORE_THAN_LOADS: u32 = 23;
    let folder = scratch();
    let mut running = Running::with_threads(4);
    let mut first = Vec::new();
    for round in 0..MORE_THAN_LOADS {
        let file = folder.path().join(format!("{round}.memtoll"));
        let attached = Attached::to(running.pid(), &file);
        assert_eq!(running.ask("exact"), "made");
        // Its states are those of threads that have ended.
        assert_eq!(running.ask("threads"), "ended");
        assert_eq!(running.ask("rest"), "resting");
        attached.end();
        let now = mapped_by_memtoll(running.pid());
        // The last one's arena stays for one more.
        if round <= 1 {
            first.clone_from(&now);
        }
        assert_eq!(now, first, "round {round}: nothing piles up");
        let report = report(&file);
        expect_exact(&report.function("exact"), 4);
        let short = report.function("short_lived");
        assert_eq!((short.new_blocks, short.frees), (80, 80), "round {round}");
    }
    running.end_well();
}

#[test]
fn children_that_are_forked_meanwhile_keep_no_jumps() {
    let folder = scratch();
    let mut running = Running::with_threads(1);
    for round in 0..3 {
        writeln!(running.commands, "fork").unwrap();
        // Begins and ends among the forks.
        let file = folder.path().join(format!("{round}.memtoll"));
        let outcome = run(attach(running.pid(), &file, &["--for", "20ms"]));
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        assert_eq!(running.answer(), "forked");
        assert_eq!(running.ask("look"), "jumps in 0 of 100", "round {round}");
    }
    running.end_well();
}

#[test]
fn another_depth_of_stacks_is_recorded_as_asked() {
    let folder = scratch();
    let mut running = Running::with_threads(1);
    for (round, depth) in ["3", "40", "3"].into_iter().enumerate() {
        let file = folder.path().join(format!("{round}.memtoll"));
        let outcome = run(attach(running.pid(), &file, &["--for", "100ms", "--stack-depth", depth]));
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        assert!(report(&file).function("noise").new_blocks > 0);
    }
    assert_eq!(running.ask("exact"), "made");
    running.end_well();
}

/// A server, or another program that goes on by itself, to which memtoll is attached again and again.
#[track_caller]
fn attach_again_and_again(pid: u32) {
    let folder = scratch();
    for round in 0..ROUNDS {
        let calls = |length: &str| {
            let file = folder.path().join(format!("{round}.{length}.memtoll"));
            let outcome: Outcome = run(attach(pid, &file, &["--for", length]));
            assert_eq!(outcome.status.code(), Some(0), "round {round}: {outcome:?}");
            report(&file).totals.metrics.new_blocks
        };
        // A busy machine may give the process no time for as long as the first one.
        assert!(calls("100ms") > 0 || calls("2s") > 0, "round {round}");
    }
}

#[test]
fn redis_under_load_goes_on() {
    if !Path::new("/usr/bin/redis-server").exists() {
        return skipped("redis-server is not installed");
    }
    let folder = scratch();
    let socket = folder.path().join("socket");
    let mut server = Command::new("redis-server")
        .args(["--port", "0", "--save", "", "--unixsocket"])
        .arg(&socket)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("redis listens", || socket.exists());
    let client = |program: &str| {
        let mut command = Command::new(program);
        command.arg("-s").arg(&socket).stdout(Stdio::piped());
        command
    };
    let mut load = client("redis-benchmark")
        .args(["-q", "-t", "set,get", "-n", "100000000", "-c", "8", "-r", "100000"])
        .spawn()
        .unwrap();
    attach_again_and_again(server.id());
    assert!(load.try_wait().unwrap().is_none(), "its clients saw an error");
    load.kill().unwrap();
    load.wait().unwrap();
    let answer = client("redis-cli").arg("ping").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "PONG");
    client("redis-cli").args(["shutdown", "nosave"]).output().unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn a_python_with_threads_goes_on() {
    let script = "
import threading, time, sys
over = threading.Event()
def work():
    while not over.is_set():
        blocks = [bytes(1000 + i) for i in range(50)]
        time.sleep(0.001)
threads = [threading.Thread(target=work) for _ in range(50)]
for thread in threads: thread.start()
print('ready', flush=True)
for line in sys.stdin:
    if line == 'quit\\n': break
    print(sum(len(str(i)) for i in range(1000)), flush=True)
over.set()
for thread in threads: thread.join()
print('broken 0')
";
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", script]);
    let mut running = Running::start(command);
    attach_again_and_again(running.pid());
    assert_eq!(running.ask("add"), "2890");
    running.end_well();
}

#[test]
fn a_process_that_ends_ends_the_recording() {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let running = Running::with_threads(2);
    let mut attached = Attached::to(running.pid(), &file);
    running.end_well();
    assert_eq!(attached.memtoll.wait().unwrap().code(), Some(0));
    assert_eq!(report(&file).processes[0].exit_code(), Some(0));
}

#[test]
fn what_cannot_be_attached_to_is_left_alone() {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    #[track_caller]
    fn refused(mut command: Command, why: &str) {
        let began = Instant::now();
        let outcome = run({
            command.arg("-q");
            command
        });
        assert_eq!(outcome.status.code(), Some(125), "{outcome:?}");
        assert!(outcome.stderr.contains(why), "{why}: {outcome:?}");
        assert!(began.elapsed() < Duration::from_secs(30));
    }
    let running = Running::with_threads(1);
    let pid = running.pid();
    // SAFETY: kill takes no pointers; the child has not been waited for.
    let signal = |signal| unsafe { libc::kill(pid as libc::pid_t, signal) };
    signal(libc::SIGSTOP);
    wait_until("it is stopped", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") T "))
    });
    refused(attach(pid, &file, &[]), "it is stopped");
    signal(libc::SIGCONT);
    let attached = Attached::to(pid, &file);
    refused(attach(pid, &folder.path().join("b.memtoll"), &[]), "another memtoll is attached to it");
    attached.end();
    running.end_well();
    refused(attach(999_999_999, &file, &[]), "there is no such process");
    assert!(!folder.path().join("b.memtoll").exists());

    let mut recorded = Command::new(memtoll());
    recorded.args(["record", "-q", "-o"]).arg(folder.path().join("c.memtoll")).arg(program("attached.c"));
    let running = Running::start(recorded);
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let child = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    refused(attach(child, &folder.path().join("b.memtoll"), &[]), "it is being recorded already");
    running.end_well();
}
