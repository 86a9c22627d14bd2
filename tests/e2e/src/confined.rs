//! Recordings by a memtoll that may do less than usual.

use crate::build::memtoll;
use crate::run::{Outcome, Recording, install, run, scratch};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Records a program with its own copy of memtoll, which every user can run; `before` is done in the supervisor first.
pub fn record_confined(
    program: &Path,
    arguments: &[&str],
    options: &[&str],
    before: fn() -> std::io::Result<()>,
) -> Recording {
    let directory = scratch();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let copy = |from: &Path, name: &str| {
        let to = directory.path().join(name);
        install(from, &to);
        to
    };
    let (tool, target) = (copy(&memtoll(), "memtoll"), copy(program, "program"));
    let file = directory.path().join("run.memtoll");
    let mut command = Command::new(tool);
    command.args(["record", "-q"]).args(options).arg("-o").arg(&file).arg("--").arg(target).args(arguments);
    command.current_dir(directory.path()).env("TMPDIR", directory.path());
    // SAFETY: system calls only.
    unsafe { command.pre_exec(before) };
    let outcome: Outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
    Recording::of(outcome, file, directory)
}

fn result(returned: i64) -> std::io::Result<()> {
    if returned == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Becomes an ordinary user, unless it is one.
pub fn become_ordinary_user() -> std::io::Result<()> {
    const USER: libc::uid_t = 65534;
    // SAFETY: system calls that take no pointers.
    unsafe {
        if libc::geteuid() != 0 {
            return Ok(());
        }
        result(libc::setresgid(USER, USER, USER).into())?;
        result(libc::setresuid(USER, USER, USER).into())
    }
}

/// From here on, a system call fails with this error; if `second` is given, only with this second argument (its lower 32 bits).
pub fn refuse(call: libc::c_long, second: Option<u32>, errno: i32) -> std::io::Result<()> {
    const SECOND_ARGUMENT: u32 = std::mem::offset_of!(libc::seccomp_data, args) as u32 + 8;
    let instruction = |code: u32, k: u32, skip: u8| libc::sock_filter { code: code as u16, jt: 0, jf: skip, k };
    let load = |from: u32| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, from, 0);
    let unless = |value: u32, skip: u8| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, skip);
    let answer = |action: u32| instruction(libc::BPF_RET | libc::BPF_K, action, 0);
    let of_argument = second.map_or(Vec::new(), |value| vec![load(SECOND_ARGUMENT), unless(value, 1)]);
    let mut program = vec![load(0), unless(call as u32, of_argument.len() as u8 + 1)];
    program.extend(of_argument);
    program.extend([answer(libc::SECCOMP_RET_ERRNO | errno as u32), answer(libc::SECCOMP_RET_ALLOW)]);
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the program is complete, and lives until the kernel has copied it.
    unsafe {
        result(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        result(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program).into())
    }
}
