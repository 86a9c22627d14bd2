//! Starting a program and holding it before its first instruction.

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getpid};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts `command`, and runs `meanwhile` with its process id after fork and before exec. `meanwhile` runs on this thread, so that
/// it can trace the child: the kernel binds tracing to a thread. The program goes on when `meanwhile` has returned. If this process dies or
/// executes another program before that, it never starts. After an error, `meanwhile` may have run for a process that is no
/// more.
pub fn spawn_held<T>(mut command: Command, meanwhile: impl FnOnce(Pid) -> T) -> io::Result<(Child, T)> {
    let (born, born_write) = pipe_with(PipeFlags::CLOEXEC)?;
    let (go, go_write) = pipe_with(PipeFlags::CLOEXEC)?;
    let child_ends = [born_write.as_raw_fd(), go.as_raw_fd(), go_write.as_raw_fd()];
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(move || hold(child_ends)) };
    std::thread::scope(|scope| {
        // `spawn` returns only after exec, so another thread has to wait for that.
        let spawning = std::thread::Builder::new().name("spawn".into()).spawn_scoped(scope, move || {
            let child = command.spawn();
            // If there was no child, its id is not waited for.
            drop((born_write, go));
            child
        })?;
        let result = read_pid(&born).map(|pid| {
            let result = meanwhile(pid);
            // A word rather than the end of the pipe: other children, held at the same time, may have its end too.
            let _ = rustix::io::write(&go_write, &[1]);
            result
        });
        let child = spawning.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((child, result.ok_or(io::ErrorKind::BrokenPipe)?))
    })
}

/// In the child: says who it is, then waits for a word. An error if its parent is gone.
fn hold([born_write, go, go_write]: [i32; 3]) -> io::Result<()> {
    // SAFETY: copies of the parent's descriptors, which are open during its spawn.
    let (born_write, go) = unsafe { (BorrowedFd::borrow_raw(born_write), BorrowedFd::borrow_raw(go)) };
    // SAFETY: this process's copy, which nothing else uses.
    unsafe { rustix::io::close(go_write) };
    rustix::io::write(born_write, &getpid().as_raw_nonzero().get().to_ne_bytes())?;
    match rustix::io::retry_on_intr(|| rustix::io::read(go, &mut [0; 1]))? {
        0 => Err(rustix::io::Errno::CANCELED.into()),
        _ => Ok(()),
    }
}

fn read_pid(born: &OwnedFd) -> Option<Pid> {
    let mut bytes = [0; 4];
    let read = rustix::io::retry_on_intr(|| rustix::io::read(born, &mut bytes)).ok()?;
    Pid::from_raw(i32::from_ne_bytes(bytes)).filter(|_| read == bytes.len())
}
