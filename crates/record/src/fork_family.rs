//! Forked children have their parent's blocks and mappings. Here stands who can be asked whose they are, and for how long
//! a child may ask.
//!
//! ```text
//! State (kernel)   knows of a fork first: makes a Fork, if the parent is recorded
//!    Fork          goes from the queue of the child's events to the child's worker, and is dropped when the child is over
//!      Estate      the parent's sink, which answers; it lives as long as its worker or a Fork does
//! ```
//!
//! A child whose parent has made no call of its own inherits from the same image as its parent. Who asks locks the sinks
//! of ancestors, never those of descendants.

use crate::arena::Arena;
use crate::machine_facts::MachineFacts;
use memtoll_kernel::KernelEvent;
use memtoll_trace::inherited::Inherited;
use memtoll_trace::meta::Exit;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::time::Duration;

/// Wake an ancestor's sleeping worker at this interval: it may have looked just before the last time.
const PATIENCE: Duration = Duration::from_millis(2);

/// How far an image's worker has come.
#[derive(Default)]
struct Progress {
    /// Time of the last fork that it has processed, ticks.
    processed: u64,
    /// The worker is done.
    over: bool,
}

impl Progress {
    fn has_come_to(&self, ticks: u64) -> bool {
        self.over || self.processed >= ticks
    }
}

/// What an image, its forked children and its parent's worker know of each other.
#[derive(Default)]
pub struct Family {
    /// The fork by which the image began, if its parent is recorded.
    ancestor: OnceLock<Arc<Fork>>,
    /// Forks that may still be asked about, by their times in units; how many at each.
    living: Mutex<BTreeMap<u64, u32>>,
    progress: Mutex<Progress>,
    /// The worker has come further.
    comes: Condvar,
    /// What the worker drains.
    arena: Weak<Arena>,
}

/// What an image does for the children that it has forked.
pub trait Ancestor: Send {
    /// The block or mapping that held `address` at the time `at` of a fork of this image, units.
    fn owner_at_fork(&self, address: u64, at: u64) -> Option<Inheritance>;

    /// A forked child that called no hooked function has ended. It inherited what this image had at the fork `at`, units.
    fn child_was_silent(&self, at: u64, silent: SilentChild);
}

/// A piece of inherited memory: the block or mapping of an ancestor.
#[derive(Clone, Copy)]
pub struct Inheritance {
    pub from: Inherited,
    pub start: u64,
    pub size: u64,
    pub of_file: bool,
}

/// A forked child that called no hooked function before it ended or executed a program.
pub struct SilentChild {
    pub pid: u32,
    pub parent: u32,
    /// When it was over, ticks.
    pub ended: u64,
    /// How, if that is known.
    pub exit: Option<Exit>,
    /// The kernel's events.
    pub events: VecDeque<KernelEvent>,
}

/// The sink of a process image that forked: it knows what the children inherit.
pub struct ParentSink<S: ?Sized = dyn Ancestor> {
    around: Arc<MachineFacts>,
    family: Arc<Family>,
    sink: Mutex<S>,
}

/// A forked child may ask.
pub struct Fork {
    parent_sink: Arc<ParentSink>,
    ticks: u64,
    /// The same in units.
    pub at: u64,
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Family {
    /// Of an image whose worker drains `arena`.
    pub fn of(arena: &Arc<Arena>) -> Family {
        Family { arena: Arc::downgrade(arena), ..Family::default() }
    }

    /// The fork by which the image began.
    pub fn ancestor(&self) -> Option<&Arc<Fork>> {
        self.ancestor.get()
    }

    /// The image began by this fork.
    pub fn descends(&self, fork: Arc<Fork>) {
        let _ = self.ancestor.set(fork);
    }

    /// The image's worker has heard of a fork at a time in ticks.
    pub fn has_processed(&self, ticks: u64) {
        locked(&self.progress).processed = ticks;
        self.comes.notify_all();
    }

    /// The image's worker is done.
    pub fn is_over(&self) {
        locked(&self.progress).over = true;
        self.comes.notify_all();
    }

    /// Waits until the image's worker has heard of a fork at a time in ticks.
    fn wait_for(&self, ticks: u64) {
        let mut progress = locked(&self.progress);
        while !progress.has_come_to(ticks) {
            if let Some(arena) = self.arena.upgrade() {
                arena.ring();
            }
            progress = self.comes.wait_timeout(progress, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether any fork may still be asked about.
    pub fn has_heirs(&self) -> bool {
        !locked(&self.living).is_empty()
    }

    /// The times of the forks that may be asked about, units.
    pub fn forks(&self) -> Vec<u64> {
        locked(&self.living).keys().copied().collect()
    }
}

impl<S> ParentSink<S> {
    /// Of the image whose events `sink` takes.
    pub fn new(around: Arc<MachineFacts>, family: Arc<Family>, sink: S) -> Arc<ParentSink<S>> {
        Arc::new(ParentSink { around, family, sink: Mutex::new(sink) })
    }

    /// The sink, if no child can ask any more.
    pub fn into_sink(self: Arc<Self>) -> Option<S> {
        let parent_sink = Arc::into_inner(self)?;
        Some(parent_sink.sink.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: ?Sized> ParentSink<S> {
    /// The sink, once others have asked what they want to know.
    pub fn sink(&self) -> MutexGuard<'_, S> {
        locked(&self.sink)
    }

    /// The same, unless its worker is at work.
    pub fn idle_sink(&self) -> Option<MutexGuard<'_, S>> {
        match self.sink.try_lock() {
            Ok(sink) => Some(sink),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The image's part in its family.
    pub fn family(&self) -> &Arc<Family> {
        &self.family
    }
}

impl Fork {
    /// A child is forked at a time in ticks.
    pub fn new(parent_sink: Arc<ParentSink>, ticks: u64) -> Fork {
        let at = parent_sink.around.clock.units(ticks);
        *locked(&parent_sink.family.living).entry(at).or_default() += 1;
        Fork { parent_sink, ticks, at }
    }

    /// The image that the child inherits from.
    pub fn parent_sink(&self) -> &Arc<ParentSink> {
        &self.parent_sink
    }

    pub fn owner_at_fork(&self, address: u64) -> Option<Inheritance> {
        self.parent_sink.sink().owner_at_fork(address, self.at)
    }

    /// Whether the ancestors' workers have come as far as the forks: what they know now is all.
    pub fn is_settled(&self) -> bool {
        let family = &self.parent_sink.family;
        locked(&family.progress).has_come_to(self.ticks) && family.ancestor().is_none_or(|fork| fork.is_settled())
    }

    /// Waits until they have.
    pub fn settle(&self) {
        let family = &self.parent_sink.family;
        family.wait_for(self.ticks);
        if let Some(fork) = family.ancestor() {
            fork.settle();
        }
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        let mut living = locked(&self.parent_sink.family.living);
        if let Some(count) = living.get_mut(&self.at) {
            *count -= 1;
            if *count == 0 {
                living.remove(&self.at);
            }
        }
    }
}
