//! The reading of all events that the server does before a page asks for what it finds: what to change. A question that is
//! cancelled ends its waiting only, as the page asks again when the user comes back.

use memtoll_model::reading::{self, Reading};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// That reading, and the questions that wait for it.
#[derive(Default)]
pub(super) struct Ahead {
    reading: Arc<Reading>,
    /// Whether there is work under way.
    works: Mutex<bool>,
    changed: Condvar,
}

impl Ahead {
    fn works(&self) -> MutexGuard<'_, bool> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, works: bool) {
        *self.works() = works;
        self.changed.notify_all();
    }

    /// Questions wait from now on.
    pub(super) fn begin(&self) -> Work<'_> {
        self.set(true);
        Work(self)
    }

    /// For a question that may wait: then it counts the events that are read here.
    pub(super) fn waiting(&self) -> Reading {
        let works = *self.works();
        if works { self.reading.waiting() } else { Reading::default() }
    }

    /// Returns when no work is under way, or the question is cancelled.
    pub(super) fn wait(&self, question: &Reading) {
        let is_waiting = |works: &mut bool| *works && !question.is_cancelled();
        drop(self.changed.wait_while(self.works(), is_waiting).unwrap_or_else(PoisonError::into_inner));
    }

    /// Lets questions see that they are cancelled.
    pub(super) fn wake(&self) {
        // A question that holds the lock may have looked already, and does not wait yet.
        drop(self.works());
        self.changed.notify_all();
    }
}

/// Questions wait until it ends, also where it panics.
pub(super) struct Work<'a>(&'a Ahead);

impl Work<'_> {
    /// Does it.
    pub(super) fn done(self, work: impl FnOnce()) {
        reading::during(Some(self.0.reading.clone()), work);
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::Recording;
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::sync::mpsc;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");

    #[test]
    fn a_question_waits_for_the_work_or_its_cancellation() {
        let ahead = Ahead::default();
        ahead.wait(&ahead.waiting());
        let work = ahead.begin();
        std::thread::scope(|scope| {
            let (cancelled, waits) = (Arc::new(ahead.waiting()), Arc::new(ahead.waiting()));
            let (over, is_over) = mpsc::channel();
            for (name, question) in [("cancelled", cancelled.clone()), ("answered", waits)] {
                let (ahead, over) = (&ahead, over.clone());
                scope.spawn(move || {
                    ahead.wait(&question);
                    over.send(name)
                });
            }
            cancelled.cancel();
            ahead.wake();
            assert_eq!(is_over.recv(), Ok("cancelled"));
            let counts = ahead.waiting();
            work.done(|| {
                let recording = Recording::open(Path::new(FILE)).unwrap();
                recording.for_each_events(0, |_| ControlFlow::Continue(())).unwrap();
            });
            assert!(counts.events() > 0);
            assert_eq!(ahead.waiting().events(), 0, "what was read before is not read for it");
            assert_eq!(is_over.recv(), Ok("answered"));
        });
    }
}
