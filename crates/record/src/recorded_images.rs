//! Which process images are being recorded, and how processes ended.

use memtoll_trace::ids::ImageNo;
use memtoll_trace::meta::Exit;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A process image that is being recorded, and what is known of it.
pub struct Active<T> {
    pub image: ImageNo,
    pub pid: u32,
    pub about: T,
}

/// The images of a run.
pub struct Roster<T> {
    images: AtomicU32,
    active: Mutex<Vec<Active<T>>>,
    changed: Condvar,
    exits: Mutex<FxHashMap<u32, Exit>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Roster<T> {
    pub fn new() -> Roster<T> {
        Roster { images: AtomicU32::new(0), active: Mutex::default(), changed: Condvar::new(), exits: Mutex::default() }
    }

    pub fn next_image(&self) -> ImageNo {
        ImageNo::FIRST.later(self.images.fetch_add(1, Relaxed))
    }

    pub fn began(&self, active: Active<T>) {
        locked(&self.active).push(active);
    }

    pub fn finished(&self, image: ImageNo) {
        locked(&self.active).retain(|active| active.image != image);
        self.changed.notify_all();
    }

    /// Does something with the images that are being recorded.
    pub fn with_active<R>(&self, action: impl FnOnce(&[Active<T>]) -> R) -> R {
        action(&locked(&self.active))
    }

    /// Waits until no image of `pid` is being recorded any more, or the user has enough.
    pub fn wait_for_process(&self, pid: u32, has_enough: impl Fn() -> bool) {
        const STEP: Duration = Duration::from_millis(100);
        let mut active = locked(&self.active);
        while active.iter().any(|image| image.pid == pid) && !has_enough() {
            active = self.changed.wait_timeout(active, STEP).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for `timeout` or until no image is being recorded. Whether there is none.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        let active = locked(&self.active);
        let waited = self.changed.wait_timeout_while(active, timeout, |active| !active.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_empty()
    }

    /// How a process ended. The first report holds.
    pub fn set_exit(&self, pid: u32, exit: Exit) {
        locked(&self.exits).entry(pid).or_insert(exit);
    }

    pub fn exit_of(&self, pid: u32) -> Option<Exit> {
        locked(&self.exits).get(&pid).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn who_waits_for_a_process_goes_on_when_its_last_image_is_over() {
        let roster = Arc::new(Roster::new());
        let begin = |pid| {
            let image = roster.next_image();
            roster.began(Active { image, pid, about: () });
            image
        };
        let (first, second, other) = (begin(71), begin(71), begin(72));
        assert_eq!((first.get(), second.get(), other.get()), (1, 2, 3));
        let waiting = roster.clone();
        let waiter = std::thread::spawn(move || {
            waiting.wait_for_process(71, || false);
            waiting.with_active(|active| active.iter().map(|active| active.image).collect::<Vec<_>>())
        });
        roster.finished(first);
        roster.finished(second);
        assert_eq!(waiter.join().unwrap(), [other]);
        assert!(!roster.wait_idle(Duration::ZERO));
        roster.wait_for_process(72, || true); // the user has enough
        roster.finished(other);
        assert!(roster.wait_idle(Duration::from_secs(60)));
    }

    #[test]
    fn the_first_word_on_an_end_holds() {
        let roster = Roster::<()>::new();
        assert_eq!(roster.exit_of(71), None);
        roster.set_exit(71, Exit::Code(3));
        roster.set_exit(71, Exit::Unknown);
        assert_eq!(roster.exit_of(71), Some(Exit::Code(3)));
    }
}
