//! Runs programs plainly and under memtoll, with a time limit, and compares what they did.

use crate::build::memtoll;
use crate::report::Report;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes, even on a busy machine; short enough that a hang does not stall the whole run.
const TIME_LIMIT: Duration = Duration::from_secs(90);

/// What a finished program did.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it printed on the other channel.
    pub stderr: String,
}

impl Outcome {
    /// The lines of standard error that contain all of `words`, in whatever case. A line that goes on below is one.
    pub fn stderr_lines_with(&self, words: &[&str]) -> Vec<String> {
        let has = |line: &&String| words.iter().all(|word| line.to_lowercase().contains(&word.to_lowercase()));
        let mut lines: Vec<String> = Vec::new();
        for line in self.stderr.lines() {
            match lines
                .last_mut()
                .filter(|last| line.starts_with("      ") && !last.starts_with(' ') && !last.is_empty())
            {
                Some(last) => *last += &format!(" {}", line.trim_start()),
                None => lines.push(line.to_owned()),
            }
        }
        lines.iter().filter(has).cloned().collect()
    }
}

/// An empty directory of its own.
pub fn scratch() -> TempDir {
    TempDir::with_prefix("memtoll-e2e-").expect("a temporary directory")
}

/// Copies a program to `to`, where every user can run it. By another process: a file that this one has open for writing
/// may be inherited by a program that another test is just starting, and cannot be started itself meanwhile.
#[track_caller]
pub fn install(program: &Path, to: &Path) {
    let status = Command::new("install").args(["-m", "755"]).arg(program).arg(to).status();
    assert!(status.as_ref().is_ok_and(ExitStatus::success), "install {program:?} {to:?}: {status:?}");
}

/// Runs a command to its end. Its output goes through files, so that a grandchild that keeps them open holds nobody up.
#[track_caller]
pub fn run(mut command: Command) -> Outcome {
    let directory = scratch();
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| directory.path().join(name));
    let create = |path: &Path| Stdio::from(File::create(path).expect("a file for the output"));
    command.stdin(Stdio::null()).stdout(create(&stdout)).stderr(create(&stderr)).process_group(0);
    if command.get_current_dir().is_none() {
        command.current_dir(directory.path()); // whatever it leaves behind
    }
    // Only tests about it ask servers for names.
    if command.get_envs().all(|(name, _)| name != "DEBUGINFOD_URLS") {
        command.env_remove("DEBUGINFOD_URLS");
    }
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let group = -(child.id() as libc::pid_t);

    let (finished, wait) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let late = wait.recv_timeout(TIME_LIMIT).is_err();
        if late {
            // SAFETY: kill takes no pointers; the group is the child's, which is not reaped before `finished` is sent.
            unsafe { libc::kill(group, libc::SIGKILL) };
        }
        late
    });
    let status = child.wait().expect("the child can be waited for");
    let _ = finished.send(());
    let late = watchdog.join().expect("the watchdog ends");

    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("the output")).into_owned();
    let outcome = Outcome { status, stdout: read(&stdout), stderr: read(&stderr) };
    assert!(!late, "{command:?} took longer than {TIME_LIMIT:?} and was killed; {outcome:?}");
    outcome
}

/// Whether the tests run as root. Others may do what root may in a namespace of users: `unshare -r`.
pub fn is_root() -> bool {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Waits, for at most a minute, until `condition` holds.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited a minute in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command line to be recorded.
#[derive(Clone)]
pub struct Target {
    words: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    options: Vec<OsString>,
}

impl Target {
    /// A program without arguments.
    pub fn new(program: impl AsRef<OsStr>) -> Target {
        Target { words: vec![program.as_ref().to_owned()], variables: Vec::new(), options: Vec::new() }
    }

    /// A script for `sh -c`, which sees `arguments` as $1, $2 ...
    pub fn shell(script: &str, arguments: &[&Path]) -> Target {
        Target::new("sh").args(["-c", script, "sh"]).args(arguments)
    }

    /// One more argument of the program.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Target {
        self.words.push(argument.as_ref().to_owned());
        self
    }

    /// More arguments of the program.
    pub fn args<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Target {
        arguments.into_iter().fold(self, |target, argument| target.arg(argument))
    }

    /// A variable of its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Target {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// An option of `memtoll record`.
    pub fn option(mut self, option: &str) -> Target {
        self.options.push(option.into());
        self
    }

    /// The command that runs it without memtoll.
    pub fn plain_command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).envs(self.variables.iter().cloned());
        command
    }

    /// The command that records it into `file`.
    pub fn record_command(&self, file: &Path) -> Command {
        let mut command = Command::new(memtoll());
        command.arg("record").args(&self.options).arg("-o").arg(file).arg("--").args(&self.words);
        command.envs(self.variables.iter().cloned());
        command
    }

    /// Runs it plainly, then under memtoll, and checks that standard output and exit status are the same.
    #[track_caller]
    pub fn record(&self) -> Recording {
        let plain = run(self.plain_command());
        let recording = self.record_alone();
        let outcome = &recording.outcome;
        assert_eq!(outcome.stdout, plain.stdout, "standard output under memtoll differs; {:?}", outcome);
        let ends = |status: ExitStatus| (status.code(), status.signal());
        assert_eq!(
            ends(outcome.status),
            ends(plain.status),
            "(exit code, signal) under memtoll differs from the plain run's; {outcome:?}"
        );
        recording
    }

    /// Runs it under memtoll only: for programs that do not do the same twice.
    #[track_caller]
    pub fn record_alone(&self) -> Recording {
        let directory = scratch();
        let file = directory.path().join("run.memtoll");
        let outcome = run(self.record_command(&file));
        Recording::of(outcome, file, directory)
    }
}

/// A finished recording.
#[derive(Debug)]
pub struct Recording {
    /// What the run of `memtoll record` did.
    pub outcome: Outcome,
    /// The recorded file; it goes away with this value.
    pub file: PathBuf,
    _directory: TempDir,
}

impl Recording {
    /// A recording that a test made in its own way: its file is kept as long as `directory`.
    pub fn of(outcome: Outcome, file: PathBuf, directory: TempDir) -> Recording {
        Recording { outcome, file, _directory: directory }
    }

    /// The report. All stacks must be complete.
    #[track_caller]
    pub fn report(&self) -> Report {
        let report = self.report_with(&[]);
        assert_eq!(report.totals.cut_off, 0, "truncated stacks; sites:\n{}", report.listing());
        report
    }

    /// The report, with options.
    #[track_caller]
    pub fn report_with(&self, options: &[&str]) -> Report {
        Report::parse(self.read(&[options, &["--format", "json"]].concat()).stdout.as_bytes())
    }

    /// What `memtoll report` prints with these options.
    #[track_caller]
    pub fn text(&self, options: &[&str]) -> String {
        self.read(options).stdout
    }

    #[track_caller]
    fn read(&self, options: &[&str]) -> Outcome {
        let outcome = read_report(&self.file, options);
        let recorded = &self.outcome;
        assert!(outcome.status.success(), "memtoll report {options:?}: {outcome:?}; the recording: {recorded:?}");
        outcome
    }
}

/// Runs `memtoll report FILE OPTIONS`.
#[track_caller]
pub fn read_report(file: &Path, options: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.arg("report").arg(file).args(options);
    run(command)
}
