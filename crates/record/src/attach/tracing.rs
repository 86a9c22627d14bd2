//! Threads of another process, stopped and looked at. The kernel lets go of them when this process ends, however it does.
//! All calls come from the thread that has seized them.

use memtoll_processor::injection::{COUNT, Registers};
use std::io;
use std::time::{Duration, Instant};

/// A thread's registers as the kernel numbers sets of them.
const GENERAL: usize = 1; // NT_PRSTATUS
const EXTENDED: usize = 0x202; // NT_X86_XSTATE

/// Between two looks at whether a thread has stopped.
const PAUSE: Duration = Duration::from_micros(20);

/// How a seized thread has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Where it was, because it was told to, or it is a part of a process that was stopped.
    Asked,
    /// At a system call.
    Call,
    /// Because of this signal, which it gets when it goes on.
    Signal(i32),
    /// It has ended.
    Gone,
}

/// A seized thread. It is let go when this is dropped.
#[derive(Debug)]
pub struct Traced {
    tid: i32,
    /// Whether it stands still.
    is_stopped: bool,
    /// The signal that it is to get.
    signal: i32,
    is_gone: bool,
}

/// A request without memory of this process's, or with a pointer to it in `data`.
fn ptrace(request: libc::c_uint, tid: i32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: the callers pass what the request asks for.
    match unsafe { libc::ptrace(request, tid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn get_set(tid: i32, which: usize, bytes: &mut [u8]) -> io::Result<usize> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    ptrace(libc::PTRACE_GETREGSET, tid, which, (&raw mut part) as usize)?;
    Ok(part.iov_len)
}

impl Traced {
    /// Without any effect on the thread.
    pub fn seize(tid: i32) -> io::Result<Traced> {
        ptrace(libc::PTRACE_SEIZE, tid, 0, libc::PTRACE_O_TRACESYSGOOD as usize)?;
        Ok(Traced { tid, is_stopped: false, signal: 0, is_gone: false })
    }

    /// A thread that stands still; `None`: it has ended, or does not stop.
    pub fn stopped(tid: i32, until: Instant) -> Option<Traced> {
        let mut thread = Traced::seize(tid).ok()?;
        thread.interrupt().ok()?;
        (thread.wait(until).ok()? != Stop::Gone).then_some(thread)
    }

    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Tells it to stop; `wait` says when it has.
    pub fn interrupt(&self) -> io::Result<()> {
        ptrace(libc::PTRACE_INTERRUPT, self.tid, 0, 0)
    }

    /// Lets it go on until its next system call begins or ends.
    pub fn go_on_to_call(&mut self) -> io::Result<()> {
        ptrace(libc::PTRACE_SYSCALL, self.tid, 0, self.signal as usize)?;
        (self.is_stopped, self.signal) = (false, 0);
        Ok(())
    }

    /// How it has stopped; `None`: not yet.
    fn try_wait(&mut self) -> Option<Stop> {
        let mut status = 0;
        // SAFETY: status is an integer of this function's.
        let waited = unsafe { libc::waitpid(self.tid, &raw mut status, libc::__WALL | libc::WNOHANG) };
        if waited == 0 {
            return None;
        }
        if waited != self.tid || !libc::WIFSTOPPED(status) {
            self.is_gone = true;
            return Some(Stop::Gone);
        }
        self.is_stopped = true;
        self.signal = 0;
        Some(match (libc::WSTOPSIG(status), status >> 16) {
            (_, event) if event != 0 => Stop::Asked,
            (signal, _) if signal == libc::SIGTRAP | 0x80 => Stop::Call,
            (signal, _) => {
                self.signal = signal;
                Stop::Signal(signal)
            }
        })
    }

    /// Lets it go on until it is told to stop.
    pub fn go_on(&mut self) -> io::Result<()> {
        ptrace(libc::PTRACE_CONT, self.tid, 0, self.signal as usize)?;
        (self.is_stopped, self.signal) = (false, 0);
        Ok(())
    }

    /// Waits until it stops.
    pub fn wait(&mut self, until: Instant) -> io::Result<Stop> {
        loop {
            if let Some(stop) = self.try_wait() {
                return Ok(stop);
            }
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(PAUSE);
        }
    }

    pub fn registers(&self) -> io::Result<Registers> {
        let mut bytes = [0; COUNT * 8];
        if get_set(self.tid, GENERAL, &mut bytes)? != bytes.len() {
            return Err(io::Error::other("it is not a 64-bit process"));
        }
        let mut words = [0; COUNT];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
        Ok(Registers(words))
    }

    pub fn set_registers(&self, registers: &Registers) -> io::Result<()> {
        let mut bytes: Vec<u8> = registers.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        ptrace(libc::PTRACE_SETREGSET, self.tid, GENERAL, (&raw mut part) as usize)
    }

    /// Those of floating point numbers and vectors.
    pub fn extended_state(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 64 << 10];
        let count = get_set(self.tid, EXTENDED, &mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    pub fn blocked_signals(&self) -> io::Result<u64> {
        let mut mask = 0u64;
        ptrace(libc::PTRACE_GETSIGMASK, self.tid, 8, (&raw mut mask) as usize)?;
        Ok(mask)
    }

    /// The seccomp filter with this number, from the newest on; its instructions.
    pub fn filter(&self, index: usize) -> io::Result<Vec<u64>> {
        const GET_FILTER: libc::c_uint = 0x420c; // PTRACE_SECCOMP_GET_FILTER
        // SAFETY: without memory, only the count is asked for.
        let count = unsafe { libc::ptrace(GET_FILTER, self.tid, index, 0usize) };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut words = vec![0; count as usize];
        // SAFETY: there is room for that many.
        match unsafe { libc::ptrace(GET_FILTER, self.tid, index, words.as_mut_ptr()) } {
            again if again == count => Ok(words),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub fn block_signals(&self, mask: u64) -> io::Result<()> {
        ptrace(libc::PTRACE_SETSIGMASK, self.tid, 8, (&raw const mask) as usize)
    }

    /// What it was in the middle of goes on.
    pub fn let_go(mut self) {
        self.detach();
    }

    fn detach(&mut self) {
        if self.is_gone {
            return;
        }
        if !self.is_stopped && self.interrupt().is_ok() {
            let _ = self.wait(Instant::now() + Duration::from_secs(1));
        }
        let _ = ptrace(libc::PTRACE_DETACH, self.tid, 0, self.signal as usize);
        self.is_gone = true;
    }
}

/// Waits until all of them have stopped or ended. Each pause may last until the processor is free again, so there are few.
pub fn wait_for_all(threads: &mut [Traced], until: Instant) -> io::Result<()> {
    let mut stopping: Vec<&mut Traced> = threads.iter_mut().collect();
    loop {
        stopping.retain_mut(|thread| thread.try_wait().is_none());
        if stopping.is_empty() {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(PAUSE);
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.detach();
    }
}
