//! Sleeping until there is something to read.

use crate::perf::PerfEvent;
use rustix::event::{Timespec, epoll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Rings when an eighth of a ring is full, and when the last process of the tree has ended. Belongs to one thread, while
/// another may hold the collector.
pub struct Wakeup {
    epoll: OwnedFd,
    /// One a ring, by its place in the epoll set; none when its event is over.
    events: Vec<Option<OwnedFd>>,
}

impl Wakeup {
    pub(crate) fn new<'a>(events: impl Iterator<Item = &'a PerfEvent>) -> io::Result<Wakeup> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let events = events.map(|event| event.as_fd().try_clone_to_owned()).collect::<io::Result<Vec<_>>>()?;
        for (index, event) in events.iter().enumerate() {
            epoll::add(&epoll, event, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        }
        Ok(Wakeup { epoll, events: events.into_iter().map(Some).collect() })
    }

    /// Sleeps until it rings, at most for `timeout`. Returns false when the whole process tree has ended.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        if self.events.iter().all(Option::is_none) {
            return Ok(false);
        }
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        let mut ready = Vec::with_capacity(16);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut ready), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in ready {
            // An event hangs up when all threads that had it are gone; it would ring forever.
            let flags = event.flags;
            let over = flags.contains(epoll::EventFlags::HUP);
            if let Some(slot) = self.events.get_mut(event.data.u64() as usize)
                && over
                && let Some(event) = slot.take()
            {
                epoll::delete(&self.epoll, &event)?;
            }
        }
        Ok(self.events.iter().any(Option::is_some))
    }
}

/// Readable when it would ring.
impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
