//! Systems that give little: each limit is swept over both sides, memtoll and the program. Whatever the limit, the program
//! does what it does without memtoll, memtoll ends in time, and a note says what could not be recorded.

use memtoll_e2e::{
    Outcome, Report, announced, install, memtoll, program, read_report, run, scratch, skipped, wait_until,
};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Allocations of `noisy.c` here.
const NOISE: u64 = 5000;
/// Seconds that one run may take on a busy machine.
const DEADLINE: u32 = 30;

/// Runs a script of bash, in which `$PROGRAM` and `$RECORD` are commands, at most for [`DEADLINE`].
fn bash(script: &str, directory: &Path, as_nobody: bool) -> Outcome {
    let limited = format!("timeout -s KILL {DEADLINE} bash -c '{script}'");
    let mut command = match as_nobody {
        true => {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid=54321", "--regid=54321", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]);
            command.arg("bash");
            command
        }
        false => Command::new("bash"),
    };
    let [memtoll, noisy, file] = ["memtoll", "noisy", "run.memtoll"].map(|name| directory.join(name));
    let program = format!("{} {NOISE}", noisy.display());
    let record = format!("{} record --force -o {} --", memtoll.display(), file.display());
    command.args(["-c", &limited]).env("PROGRAM", program).env("RECORD", record).current_dir(directory);
    run(command)
}

/// Runs `noisy.c` under a limit of bash's `ulimit`, on both sides and, from `least` on, on the program's alone: the recorder
/// needs some memory itself.
fn sweep(option: &str, values: &[u32], least: u32, as_nobody: bool) {
    sweep_commands(values, least, as_nobody, |value| format!("ulimit {option} {value}"));
}

/// As [`sweep`], with the command of bash that sets the limit. It has no quotes.
fn sweep_commands(values: &[u32], least: u32, as_nobody: bool, limit: impl Fn(u32) -> String) {
    let directory = scratch();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    install(&memtoll(), &directory.path().join("memtoll"));
    install(&program("noisy.c"), &directory.path().join("noisy"));
    let file = directory.path().join("run.memtoll");
    for value in values {
        let limit = limit(*value);
        let plain = bash(&format!("{limit}; exec $PROGRAM"), directory.path(), as_nobody);
        let on_program = format!("exec $RECORD bash -c \"{limit}; exec $PROGRAM\"");
        let on_both = format!("{limit}; exec $RECORD $PROGRAM");
        // Where memtoll itself cannot be loaded, nothing is memtoll's to say.
        let is_loaded =
            bash(&format!("{limit}; exec ./memtoll --version"), directory.path(), as_nobody).status.success();
        for script in [(*value >= least).then_some(on_program), is_loaded.then_some(on_both)].into_iter().flatten() {
            let _ = fs::remove_file(&file);
            let outcome = bash(&script, directory.path(), as_nobody);
            let ends = |outcome: &Outcome| (outcome.status.code(), outcome.stdout.clone());
            let words = outcome.stderr_lines_with(&["memtoll"]);
            // A file that cannot be made is an error before the program starts.
            if outcome.status.code() == Some(125)
                && !outcome.stderr_lines_with(&["cannot write the recording"]).is_empty()
            {
                continue;
            }
            assert_eq!(ends(&outcome), ends(&plain), "{script}: {outcome:?}; plain: {plain:?}");
            let read = read_report(&file, &["--format", "json"]);
            let complete = read.status.success() && Report::parse(read.stdout.as_bytes()).new_blocks("noise") == NOISE;
            assert!(complete || !words.is_empty(), "{script}: a part is missing and nothing is said: {outcome:?}");
        }
    }
}

#[test]
fn little_address_space() {
    let values: Vec<u32> = (10_000..40_000).step_by(2500).chain([60_000, 200_000, 1_000_000]).collect();
    sweep("-v", &values, 25_000, false);
}

#[test]
fn few_threads() {
    // Root may have as many as it likes.
    // SAFETY: geteuid takes nothing and cannot fail.
    sweep("-u", &[3, 4, 5, 6, 7, 8, 9, 10, 12, 20], 0, unsafe { libc::geteuid() } == 0);
}

/// A control group for processes of this test only, below the test's own group (version 1) or beside it (version 2, which
/// has no processes in inner groups). It goes when this is dropped.
struct Group {
    directory: PathBuf,
}

impl Group {
    /// A group whose number of tasks can be limited.
    ///
    /// # Errors
    /// Why this system has none.
    fn of_tasks() -> Result<Group, String> {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let (mounts, groups) = (read("/proc/self/mounts")?, read("/proc/self/cgroup")?);
        let groups: Vec<[&str; 3]> =
            groups.lines().filter_map(|line| line.splitn(3, ':').collect::<Vec<_>>().try_into().ok()).collect();
        let mount = |is_it: &dyn Fn(&str, &str) -> bool| {
            mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find_map(|fields| match fields[..] {
                [_, directory, kind, options, ..] if is_it(kind, options) => Some(PathBuf::from(directory)),
                _ => None,
            })
        };
        let lists_pids = |list: &str| list.split(',').any(|name| name == "pids");
        let parent = match groups.iter().find(|[_, controllers, _]| lists_pids(controllers)) {
            Some([_, _, own]) => {
                let root = mount(&|kind, options| kind == "cgroup" && lists_pids(options));
                root.ok_or("the pids controller is not mounted")?.join(own.trim_start_matches('/'))
            }
            None => {
                let root = mount(&|kind, _| kind == "cgroup2").ok_or("no control groups are mounted")?;
                let [_, _, own] = groups.iter().find(|[id, ..]| *id == "0").ok_or("this process is in no group")?;
                let own = own.trim_start_matches('/');
                root.join(Path::new(own).parent().unwrap_or(Path::new("")))
            }
        };
        let directory = parent.join(format!("memtoll-test-{}", std::process::id()));
        fs::create_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let group = Group { directory };
        match group.directory.join("pids.max").exists() {
            true => Ok(group),
            false => Err(format!("{}: the pids controller is not enabled", parent.display())),
        }
    }

    /// The command of bash that limits the tasks of the group, and moves the shell into it.
    fn limit(&self, tasks: u32) -> String {
        let group = self.directory.display();
        format!("echo {tasks} >{group}/pids.max && echo 0 >{group}/cgroup.procs || exit 99")
    }

    /// The processes in the group.
    fn processes(&self) -> Vec<libc::pid_t> {
        let list = fs::read_to_string(self.directory.join("cgroup.procs")).unwrap_or_default();
        list.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Those of a run that was killed at its deadline may be left, and the kernel may still be at work on them.
        for _ in 0..100 {
            for process in self.processes() {
                // SAFETY: kill takes no pointers; only processes of this test enter the group.
                unsafe { libc::kill(process, libc::SIGKILL) };
            }
            match fs::remove_dir(&self.directory) {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(50))
                }
                Err(error) => return eprintln!("{}: {error}", self.directory.display()),
                Ok(()) => return,
            }
        }
        eprintln!("{}: still in use", self.directory.display());
    }
}

#[test]
#[ignore = "only root may do this; `make test` includes it for root"]
fn few_tasks_in_a_control_group() {
    let group = match (Group::of_tasks(), announced("MEMTOLL_WITHOUT_CGROUPS")) {
        (Ok(group), false) => group,
        (Ok(_), true) => panic!("MEMTOLL_WITHOUT_CGROUPS is set, but a control group can be made here: unset it"),
        (Err(why), true) => return skipped(format!("announced by MEMTOLL_WITHOUT_CGROUPS: {why}")),
        (Err(why), false) => {
            panic!("this test needs a control group of its own: {why}; or set MEMTOLL_WITHOUT_CGROUPS=1")
        }
    };
    // The limit holds: `timeout` cannot start anything.
    let directory = scratch();
    let limited = bash(&format!("{}; exec timeout 5 true", group.limit(1)), directory.path(), false);
    assert_eq!(limited.status.code(), Some(125), "{limited:?}");
    sweep_commands(&[2, 3, 5, 8, 12, 20, 40], 0, false, |tasks| group.limit(tasks));
    let doctor = bash(&format!("{}; exec {} doctor", group.limit(100), memtoll().display()), directory.path(), false);
    let [at_most, remedy] =
        [" at most 100 processes and threads", "pids.max"].map(|words| doctor.stdout.contains(words));
    assert!(at_most && remedy, "{doctor:?}");
    wait_until("every process of the group ends", || group.processes().is_empty());
    let directory = group.directory.clone();
    drop(group);
    assert!(!directory.exists(), "{} is left", directory.display());
}

#[test]
fn few_descriptors_small_stacks_small_files_and_little_memory() {
    sweep("-n", &[6, 8, 10, 12, 14, 16, 18, 20, 24, 32], 0, false);
    sweep("-s", &[64, 128, 1024], 0, false);
    sweep("-f", &[1, 100, 2000], 0, false);
    sweep("-m", &[0, 1000], 0, false);
    sweep("-d", &[1000, 4000, 6000, 16_000, 64_000], 4000, false);
    sweep("-l", &[0], 0, false);
}

/// A recording under way.
struct Running {
    directory: tempfile::TempDir,
    memtoll: Child,
    target: libc::pid_t,
}

impl Running {
    fn start() -> Running {
        let directory = scratch();
        let [file, pid] = ["run.memtoll", "pid"].map(|name| directory.path().join(name));
        let mut command = Command::new(memtoll());
        command.args(["record", "-o"]).arg(&file).arg("--").arg(program("stubborn.c")).arg(&pid);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let memtoll = command.spawn().unwrap();
        let read = || fs::read_to_string(&pid).unwrap_or_default().trim().parse().ok();
        wait_until("the program starts", || read().is_some());
        Running { target: read().unwrap(), directory, memtoll }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: kill takes no pointers; the process is our child, not yet waited for.
        assert_eq!(unsafe { libc::kill(self.memtoll.id() as libc::pid_t, signal) }, 0);
    }

    fn has_ended(&mut self) -> bool {
        self.memtoll.try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: as above; the program is only killed by this.
        unsafe { libc::kill(self.target, libc::SIGKILL) };
        let _ = self.memtoll.kill();
        let _ = self.memtoll.wait();
    }
}

fn asked_twice(signal: i32) {
    let mut running = Running::start();
    running.signal(signal);
    // The program, which was asked too, does not care; memtoll is still there for it.
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(!running.has_ended());
    running.signal(signal);
    wait_until("memtoll ends", || running.has_ended());
    assert_eq!(running.memtoll.wait().unwrap().signal(), Some(signal));
    // SAFETY: as above.
    assert_eq!(unsafe { libc::kill(running.target, 0) }, 0, "the program goes on");
    let read = read_report(&running.directory.path().join("run.memtoll"), &["--format", "json"]);
    let report = Report::parse(read.stdout.as_bytes());
    assert!(report.new_blocks("stubborn_work") >= 2000, "{}", report.listing());
    assert!(report.missing.iter().any(|line| line.contains("told to end")), "{:?}", report.missing);
}

#[test]
fn a_second_sigterm_ends_memtoll() {
    asked_twice(libc::SIGTERM);
}

#[test]
fn a_second_ctrl_c_ends_memtoll() {
    asked_twice(libc::SIGINT);
}

#[test]
fn memory_that_is_used_up_is_not_the_programs_end() {
    let directory = scratch();
    let [file, finished, stdout] = ["run.memtoll", "finished", "stdout"].map(|name| directory.path().join(name));
    let mut command = Command::new(memtoll());
    command.args(["record", "-o"]).arg(&file).arg("--").arg(program("steady.c")).arg(&finished).arg("1500");
    command.stdin(Stdio::null()).stdout(fs::File::create(&stdout).unwrap()).stderr(Stdio::null()).process_group(0);
    let mut memtoll = command.spawn().unwrap();
    wait_until("the program starts", || fs::read_to_string(&stdout).unwrap().contains("started"));
    // From now on, memtoll gets no memory at all.
    let nothing = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
    // SAFETY: the pointer is to a limit, the process is our child; the old limit is not asked for.
    let result = unsafe { libc::prlimit(memtoll.id() as libc::pid_t, libc::RLIMIT_AS, &nothing, std::ptr::null_mut()) };
    assert_eq!(result, 0);
    let status = memtoll.wait().unwrap();
    assert_eq!(fs::read_to_string(&stdout).unwrap(), "started\nfinished\n", "{status:?}");
    assert_eq!(status.code(), Some(0), "{status:?}");
    assert!(finished.exists());
}
