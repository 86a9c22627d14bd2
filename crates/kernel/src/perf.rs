//! One perf event: the file descriptor and what can be done with it.

use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, perf_event_attr};
use perf_event_open_sys::{ioctls, perf_event_open};
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// An event on a process and those it will start.
pub struct PerfEvent(OwnedFd);

/// What has been counted so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    pub value: u64,
    /// Nanoseconds that the event was wanted, summed over all threads, and that it was really on.
    pub enabled: u64,
    pub running: u64,
    /// Records that did not fit into the ring; none where the kernel does not count them.
    pub lost: Option<u64>,
}

impl Count {
    /// That of two events together.
    pub fn plus(self, other: Count) -> Count {
        Count {
            value: self.value + other.value,
            enabled: self.enabled + other.enabled,
            running: self.running + other.running,
            lost: self.lost.map_or(other.lost, |lost| Some(lost + other.lost.unwrap_or(0))),
        }
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Count>>(all: I) -> Count {
        all.fold(Count::default(), Count::plus)
    }
}

impl PerfEvent {
    /// `cpu` none: wherever the process runs; then nothing can be sampled.
    pub fn open(attr: &mut perf_event_attr, pid: Pid, cpu: Option<u32>) -> io::Result<PerfEvent> {
        let cpu = cpu.map_or(-1, |cpu| cpu as i32);
        // SAFETY: the structure is initialised and says its size.
        let fd = unsafe { perf_event_open(attr, pid.as_raw_nonzero().get(), cpu, -1, PERF_FLAG_FD_CLOEXEC.into()) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it, and it has no other owner.
        Ok(PerfEvent(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The number that records of this event carry.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0;
        // SAFETY: the kernel writes one u64.
        done(unsafe { ioctls::ID(self.0.as_raw_fd(), &mut id) })?;
        Ok(id)
    }

    /// Records of this event go into the ring of `other`, an event on the same processor.
    pub fn write_to(&self, other: &PerfEvent) -> io::Result<()> {
        // SAFETY: both are perf events, or the kernel says no.
        done(unsafe { ioctls::SET_OUTPUT(self.0.as_raw_fd(), other.0.as_raw_fd()) })
    }

    /// On, in all threads of all processes that have inherited it.
    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: no memory is involved.
        done(unsafe { ioctls::ENABLE(self.0.as_raw_fd(), 0) })
    }

    /// Off, in all threads of all processes that have inherited it.
    pub fn disable(&self) -> io::Result<()> {
        // SAFETY: no memory is involved.
        done(unsafe { ioctls::DISABLE(self.0.as_raw_fd(), 0) })
    }

    /// What was counted in all of them, ended ones included.
    pub fn count(&self) -> io::Result<Count> {
        let mut bytes = [0; 32];
        let read = rustix::io::read(&self.0, &mut bytes)?;
        let mut words = bytes[..read].as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word));
        let (Some(value), Some(enabled), Some(running)) = (words.next(), words.next(), words.next()) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        Ok(Count { value, enabled, running, lost: words.next() })
    }
}

impl AsFd for PerfEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn done(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
