//! Requests for page snapshots: by a mark, by a resident set that passes a size, or by `memtoll snapshot`.

use memtoll_trace::ids::ImageNo;
use memtoll_trace::snapshot::Cause;
use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A page snapshot that was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// When, units.
    pub time: u64,
    /// All pages that were there, bytes.
    pub bytes: u64,
}

/// Where the answer goes: the look, or why there is none.
pub type Answer = SyncSender<Result<Looked, String>>;

/// A look that is wished.
pub struct Wish {
    pub image: ImageNo,
    pub cause: Cause,
    /// Who waits for it.
    pub answer: Option<Answer>,
}

#[derive(Default)]
struct Pending {
    wishes: Vec<Wish>,
    is_over: bool,
}

/// All wishes that are not fulfilled yet, and the thread that sleeps until there is one.
#[derive(Default)]
pub struct Wishes {
    pending: Mutex<Pending>,
    came: Condvar,
}

impl Wishes {
    fn locked(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, wish: Wish) {
        let mut pending = self.locked();
        if !pending.is_over {
            pending.wishes.push(wish);
            self.came.notify_all();
        }
    }

    /// No look is made any more. Whoever waits for one hears that.
    pub fn end(&self) {
        let mut pending = self.locked();
        pending.is_over = true;
        pending.wishes.clear();
        self.came.notify_all();
    }

    /// Sleeps until there are wishes, or until then. `None`: it is over.
    pub fn wait(&self, until: Instant) -> Option<Vec<Wish>> {
        let idle = |pending: &mut Pending| pending.wishes.is_empty() && !pending.is_over;
        let rest = until.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let waited = self.came.wait_timeout_while(self.locked(), rest, idle);
        let mut pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        (!pending.is_over).then(|| std::mem::take(&mut pending.wishes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn a_wish_wakes_the_one_that_looks() {
        let wishes = Wishes::default();
        let far = Instant::now() + Duration::from_secs(3600);
        std::thread::scope(|scope| {
            let looks = scope.spawn(|| wishes.wait(far).map(|all| all.len()));
            wishes.add(Wish { image: ImageNo::FIRST, cause: Cause::Asked, answer: None });
            assert_eq!(looks.join().unwrap(), Some(1));
        });
        assert!(wishes.wait(Instant::now()).unwrap().is_empty(), "each is fulfilled once");
    }

    #[test]
    fn requests_end_where_the_look_will_not_come() {
        let wishes = Wishes::default();
        let (answer, answered) = sync_channel(1);
        wishes.add(Wish { image: ImageNo::FIRST, cause: Cause::Asked, answer: Some(answer) });
        wishes.end();
        assert!(answered.recv().is_err());
        let (answer, answered) = sync_channel(1);
        wishes.add(Wish { image: ImageNo::FIRST, cause: Cause::Asked, answer: Some(answer) });
        assert!(answered.recv().is_err());
        assert!(wishes.wait(Instant::now()).is_none());
    }
}
