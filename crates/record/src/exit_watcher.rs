//! Ends of processes: one thread hears of all, and tells their workers.

use crate::arena::Arena;
use crate::proc_files;
use crate::process_polling::Looks;
use crate::run::Signals;
use crate::thread_spawning::{self, Stack};
use memtoll_trace::ids::ImageNo;
use memtoll_trace::meta::Exit;
use rustc_hash::FxHashMap;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Receives the end of a process.
struct Listener {
    process: Arc<OwnedFd>,
    signals: Arc<Signals>,
    arena: Arc<Arena>,
}

/// Waits for the ends of processes.
pub struct Ends {
    epoll: OwnedFd,
    listeners: Mutex<FxHashMap<ImageNo, Listener>>,
    looks: Arc<Looks>,
}

impl Ends {
    /// Starts to wait.
    pub fn start(looks: Arc<Looks>) -> io::Result<Arc<Ends>> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let ends = Arc::new(Ends { epoll, listeners: Mutex::default(), looks });
        let waiting = ends.clone();
        thread_spawning::start("ends", Stack::Small, move || waiting.listen())?;
        Ok(ends)
    }

    /// The worker of `image` is to hear of the end of `process`, a descriptor of it.
    pub fn tell(
        &self,
        image: ImageNo,
        process: Arc<OwnedFd>,
        signals: Arc<Signals>,
        arena: Arc<Arena>,
    ) -> io::Result<()> {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        epoll::add(&self.epoll, &process, EventData::new_u64(image.get().into()), EventFlags::IN)?;
        listeners.insert(image, Listener { process, signals, arena });
        Ok(())
    }

    /// The worker of `image` is done.
    pub fn forget(&self, image: ImageNo) {
        let listener = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).remove(&image);
        if let Some(listener) = listener {
            let _ = epoll::delete(&self.epoll, &listener.process);
        }
    }

    fn listen(&self) {
        let mut ended = Vec::with_capacity(64);
        loop {
            ended.clear();
            if epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut ended), None).is_err() {
                continue;
            }
            for event in &ended {
                let Some(image) = ImageNo::new(event.data.u64() as u32) else { continue };
                let listener = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).remove(&image);
                if let Some(Listener { process, signals, arena }) = listener {
                    signals.end(self.looks.ended(image));
                    let _ = epoll::delete(&self.epoll, &process);
                    arena.ring();
                }
            }
        }
    }
}

/// How a process that has just ended did so. The kernel tells once its parent has waited for it, /proc until then; so
/// between the two, ask again.
pub fn exit_of(process: &OwnedFd, pid: u32) -> Option<Exit> {
    const TRIES: u32 = 20;
    let ask = || proc_files::exit_of_descriptor(process).or_else(|| proc_files::exit_of_zombie(pid));
    // The process may have been waited for between the two questions.
    if let Some(exit) = ask().or_else(ask) {
        return Some(exit);
    }
    for _ in 0..TRIES {
        std::thread::sleep(Duration::from_micros(200));
        if let Some(exit) = ask() {
            return Some(exit);
        }
    }
    None
}
