//! Processes that are left alone, and what is said of them.

use super::*;
use memtoll_e2e::{install, is_root, program_with};
use std::os::unix::process::CommandExt;

/// Attaching ends soon, with 125 and this reason.
#[track_caller]
fn refused(mut command: Command, why: &str) {
    let began = Instant::now();
    command.arg("-q");
    let outcome = run(command);
    assert_eq!(outcome.status.code(), Some(125), "{outcome:?}");
    assert!(outcome.stderr.contains(why), "{why}: {outcome:?}");
    assert!(outcome.stderr.starts_with("memtoll: cannot attach to process "), "{outcome:?}");
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// A program that is `attached.c` in this way.
fn that(way: &str) -> Running {
    let mut command = Command::new(program("attached.c"));
    command.args(["1", way]);
    Running::start(command)
}

#[track_caller]
fn is_refused_and_unharmed(mut running: Running, why: &str) {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    refused(attach(running.pid(), &file, &[]), why);
    assert!(!file.exists());
    assert_eq!(running.ask("exact"), "made");
    running.end_well();
}

#[test]
fn another_tools_patch() {
    is_refused_and_unharmed(that("patched"), "another tool has changed its code");
}

#[test]
fn a_filter_of_system_calls_that_would_end_it() {
    if !is_root() {
        return skipped("only root sees filters");
    }
    is_refused_and_unharmed(that("kill"), "(seccomp), memfd_create among them");
}

#[test]
fn a_filter_that_allows_what_is_needed_is_no_obstacle() {
    if !is_root() {
        return skipped("only root sees filters");
    }
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let mut running = that("errno");
    let attached = Attached::to(running.pid(), &file);
    assert_eq!(running.ask("exact"), "made");
    attached.end();
    running.end_well();
    expect_exact(&report(&file).function("exact"), 1);
}

#[test]
fn threads_that_never_leave_the_c_library() {
    for (way, what) in
        [("spins", "1 executing code of the C library"), ("locks", "1 in a system call or waiting for a lock")]
    {
        let folder = scratch();
        let mut running = that(way);
        refused(attach(running.pid(), &folder.path().join("a.memtoll"), &[]), what);
        assert!(running.child.try_wait().unwrap().is_none(), "it goes on");
        running.child.kill().unwrap();
        running.child.wait().unwrap();
    }
}

#[test]
fn programs_that_no_recorder_fits() {
    let bare = ["-O2", "-DWAITS", "-m32", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector"];
    for (program, why) in [
        (program_with("idle.c", &["-O2", "-static"]), "statically linked"),
        (program_with("bare32.c", &bare), "64-bit"),
        (program_with("idle.c", &["-O2", "musl-gcc"]), "its C library is musl"),
    ] {
        let folder = scratch();
        let mut running = Running::start(Command::new(&program));
        refused(attach(running.pid(), &folder.path().join("a.memtoll"), &[]), why);
        assert!(running.child.try_wait().unwrap().is_none(), "{}", program.display());
        running.child.kill().unwrap();
        running.child.wait().unwrap();
    }
}

#[test]
fn another_users_process() {
    if !is_root() {
        return skipped("only root has processes of several users");
    }
    const NOBODY: u32 = 65534;
    let folder = scratch();
    let running = Running::with_threads(1);
    let mut command = attach(running.pid(), &folder.path().join("a.memtoll"), &[]);
    command.uid(NOBODY);
    refused(command, "it belongs to another user");
    running.end_well();
}

#[test]
fn a_process_that_another_tool_traces() {
    let folder = scratch();
    let running = Running::with_threads(1);
    let pid = running.pid() as libc::pid_t;
    // SAFETY: neither request has memory. This thread traces it until the end.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) }, 0);
    refused(
        attach(running.pid(), &folder.path().join("a.memtoll"), &[]),
        "traces it; a process has one tracer at a time",
    );
    // SAFETY: as above.
    unsafe {
        libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0);
        libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
        libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0);
    }
    running.end_well();
}

#[test]
fn what_is_no_running_process() {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let mut over = Command::new("true").spawn().unwrap();
    let stat = format!("/proc/{}/stat", over.id());
    wait_until("it is over", || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z ")));
    refused(attach(over.id(), &file, &[]), "it has ended");
    over.wait().unwrap();
    if std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        refused(attach(2, &file, &[]), "it is a part of the kernel");
    }
}

#[test]
fn a_name_of_several_processes() {
    let folder = scratch();
    let twice = folder.path().join("two-of-a-name");
    install(&program("attached.c"), &twice);
    let start = || {
        let mut command = Command::new(&twice);
        command.arg("1");
        Running::start(command)
    };
    let (one, other) = (start(), start());
    let by_name = |name: &str| {
        let mut command = Command::new(memtoll());
        command.args(["attach", name, "-o"]).arg(folder.path().join("a.memtoll")).args(["--for", "50ms"]);
        run(command)
    };
    let outcome = by_name("two-of-a-name");
    assert_eq!(outcome.status.code(), Some(125), "{outcome:?}");
    for said in ["2 processes are called", &one.pid().to_string(), &other.pid().to_string()] {
        assert!(outcome.stderr.contains(said), "{said}: {outcome:?}");
    }
    other.end_well();
    let outcome = by_name("two-of-a-name");
    assert_eq!(outcome.status.code(), Some(0), "now it is the only one: {outcome:?}");
    one.end_well();
    let outcome = by_name("two-of-a-name");
    assert!(outcome.stderr.contains("there is no process called \"two-of-a-name\""), "{outcome:?}");
}
