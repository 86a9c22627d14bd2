//! Counts the events that are read for a question, and can cancel the reading.

use memtoll_trace::unreadable::Unreadable;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared by the threads that read for one question.
#[derive(Default, Debug)]
pub struct Reading {
    events: Arc<AtomicU64>,
    is_cancelled: AtomicBool,
    is_cut: AtomicBool,
}

thread_local! {
    static WATCHED: RefCell<Option<Arc<Reading>>> = const { RefCell::new(None) };
}

impl Reading {
    /// Of a question that waits for what is read here: it can be cancelled alone.
    pub fn waiting(&self) -> Reading {
        Reading { events: self.events.clone(), ..Reading::default() }
    }

    /// Events that were read so far.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// The threads stop at the next block of events.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Relaxed)
    }

    /// Whether that has stopped a thread: the answer is incomplete.
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Relaxed)
    }

    /// Counts a block of events; fails after a cancellation.
    pub(crate) fn count(&self, events: usize) -> Result<(), Unreadable> {
        self.events.fetch_add(events as u64, Relaxed);
        if self.is_cancelled() {
            self.is_cut.store(true, Relaxed);
            return Err(Unreadable::Cancelled);
        }
        Ok(())
    }
}

/// The question that this thread reads for.
pub fn current() -> Option<Arc<Reading>> {
    WATCHED.with_borrow(Clone::clone)
}

/// Whether a cancellation has stopped a thread that reads for this thread's question: what it found is incomplete.
pub fn is_cut() -> bool {
    current().is_some_and(|reading| reading.is_cut())
}

/// Does work that reads events for a question. `None`: the work cannot be cancelled.
pub fn during<T>(reading: Option<Arc<Reading>>, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also where the work panics.
    struct Before(Option<Arc<Reading>>);
    impl Drop for Before {
        fn drop(&mut self) {
            WATCHED.set(self.0.take());
        }
    }
    let _before = Before(WATCHED.replace(reading));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_questions_are_counted_apart() {
        let (outer, inner) = (Arc::new(Reading::default()), Arc::new(Reading::default()));
        during(Some(outer.clone()), || {
            assert!(current().unwrap().count(3).is_ok());
            during(Some(inner.clone()), || assert!(current().unwrap().count(4).is_ok()));
            during(None, || assert!(current().is_none()));
            assert!(current().unwrap().count(5).is_ok());
        });
        assert!(current().is_none());
        assert_eq!((outer.events(), inner.events()), (8, 4));
        outer.cancel();
        assert!(!outer.is_cut());
        assert!(matches!(outer.count(1), Err(Unreadable::Cancelled)) && outer.is_cut() && !inner.is_cut());
    }

    #[test]
    fn a_question_that_waits_counts_what_is_read_for_it_and_is_cancelled_alone() {
        let reading = Reading::default();
        let waits = reading.waiting();
        assert!(reading.count(3).is_ok());
        waits.cancel();
        assert!(reading.count(4).is_ok());
        assert_eq!((waits.events(), waits.is_cancelled(), waits.is_cut()), (7, true, false));
    }
}
