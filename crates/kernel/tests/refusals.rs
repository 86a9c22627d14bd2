//! When the kernel refuses, in whole or in part. The refusals are real: a filter of system calls and limits, set for one
//! thread or for this process, which is why these tests are a program of their own.

#[path = "it/common/mod.rs"]
mod common;

use common::{target, unprivileged};
use memtoll_kernel::{Clock, Collector, Options, Refused, spawn_held};
use std::process::{Command, Stdio};

/// Starts a collector on a target that must run through whatever becomes of it.
fn start(options: &Options) -> Result<Collector, Refused> {
    let mut command = Command::new(target());
    command.args(["touch", "10"]).stdout(Stdio::null());
    let (mut child, collector) =
        spawn_held(command, |pid| Collector::start(pid, Clock::Monotonic, options)).expect("the target starts");
    assert!(child.wait().unwrap().success());
    collector
}

/// From here on, the thread and what it starts cannot open perf events.
fn refuse_perf_events(errno: i32) {
    let instruction = |code: u32, k: u32, skip: u8| libc::sock_filter { code: code as u16, jt: 0, jf: skip, k };
    let program = [
        // The number of the system call.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_perf_event_open as u32, 1),
        instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32, 0),
        instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the program is complete, and lives until the kernel has copied it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

#[test]
fn a_filter_of_system_calls_is_named() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        let refused = std::thread::spawn(move || {
            refuse_perf_events(errno);
            start(&Options::default()).err().expect("perf events are refused")
        });
        let refused = refused.join().unwrap();
        assert!(matches!(refused, Refused::Filtered { .. }), "{refused:?}");
        assert!(refused.to_string().contains("--cap-add PERFMON"), "{refused}");
    }
}

#[test]
fn a_process_that_is_gone_is_no_panic() {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    child.wait().unwrap();
    let refused = Collector::start(pid, Clock::Monotonic, &Options::default()).err().unwrap();
    assert!(refused.to_string().contains("perf_event"), "{refused}");
}

#[test]
fn a_program_that_does_not_exist_is_an_error() {
    let command = Command::new("/does/not/exist");
    let started = spawn_held(command, |pid| Collector::start(pid, Clock::Monotonic, &Options::default()).is_ok());
    assert_eq!(started.err().unwrap().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn rings_shrink_to_the_memory_that_may_be_locked() {
    unprivileged(|| {
        let limit = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
        // SAFETY: the limit of this process, which no other test here depends on.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) }, 0);
        let asked = 1 << 30;
        let setup = common::Setup::with(|options| options.ring_bytes = asked);
        let Some(run) = setup.run(&["touch", "1000"]) else { return };
        println!("rings of {} bytes", run.view.ring_bytes);
        assert!(run.view.ring_bytes < asked);
        assert_eq!(run.faults_in(&run.regions()[0]).len(), 1000);
    });
}
