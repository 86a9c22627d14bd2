//! What the kernel tells of all processes of the run, sorted by process image.
//!
//! One collector hears of everything. Each worker takes what belongs to its image: a process begins a new image with each
//! exec, so events are kept by process and by the number of its execs.

use crate::fork_family::{Family, Fork, ParentSink, SilentChild};
use crate::thread_priority;
use crate::thread_spawning::{self, Stack};
use memtoll_kernel::{Collector, KernelEvent, RingReader, Totals, View, Wakeup, What};
use memtoll_trace::meta::Exit;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Thread;
use std::time::Duration;

/// Events that are kept for an image that no worker has asked for; its hello may still come, or never.
const MOST_UNCLAIMED: usize = 1 << 17;
/// How long a process that ended is remembered, until its worker asks for its events.
const PATIENCE_MICROSECONDS: u64 = 5_000_000;
/// After this time, what the kernel tells is complete.
const SETTLED: Duration = Duration::from_millis(1);
/// The rings are looked at after this time at the latest.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// Where there is no bell.
const NAP: Duration = Duration::from_millis(5);

/// Which image: the process, and how many images ran in it before.
type Key = (u32, u32);

#[derive(Default)]
struct Queue {
    events: VecDeque<KernelEvent>,
    claimed: bool,
    /// The image began by a fork, and has no worker yet.
    born: Option<Birth>,
}

struct State {
    collector: Option<Collector>,
    queues: FxHashMap<Key, Queue>,
    began: FxHashMap<u32, Vec<u64>>, // of each process, when its images after the first began; ticks
    patience: u64,                   // ticks
    silent: Vec<(Arc<Fork>, SilentChild)>, // forked children that ended without a worker
    claims: FxHashMap<u32, Vec<Claim>>, // of each process that lives
    ended: VecDeque<(Key, u64)>,     // images of processes that ended, and when; ticks
    threads: FxHashMap<u32, u32>,    // of each process that lives
    lost: bool,
    watermark: u64,
    totals: Totals,
    largest_period: u64,
}

/// How a forked image began.
struct Birth {
    /// What it inherits.
    fork: Arc<Fork>,
    /// Who forked it.
    parent: u32,
}

/// A worker asked for the events of the image that ran in a process at a time, in ticks.
struct Claim {
    at: u64,
    parent_sink: Weak<ParentSink>,
}

/// The kernel's events.
pub struct Kernel {
    state: Mutex<State>,
    /// Held while silent children are written down, so that the recording does not end in the middle of it.
    writing: Mutex<()>,
    view: View,
    over: AtomicBool,
}

/// A worker's share of the events.
pub struct Feed {
    kernel: Arc<Kernel>,
    pid: u32,
    began: u64,
    family: Arc<Family>,
    /// Not known before the kernel has told all until the image began.
    key: Option<Key>,
    /// What was fetched and is to be looked at, in the order of time.
    pub events: VecDeque<KernelEvent>,
}

impl State {
    fn drain(&mut self) {
        let Some(mut collector) = self.collector.take() else { return };
        self.watermark = collector.drain(&mut |event| self.route(event));
        self.collector = Some(collector);
        self.forget_unclaimed();
    }

    /// A process that ended some time ago without a worker will have none.
    fn forget_unclaimed(&mut self) {
        while let Some(&(key, ended)) = self.ended.front() {
            if ended + self.patience > self.watermark {
                break;
            }
            self.ended.pop_front();
            if self.queues.get(&key).is_some_and(|queue| !queue.claimed) {
                self.queues.remove(&key);
            }
        }
    }

    /// The image that ran in a process at a time.
    fn image_at(&self, pid: u32, ticks: u64) -> Key {
        let before = |began: &Vec<u64>| began.iter().filter(|began| **began <= ticks).count();
        (pid, self.began.get(&pid).map_or(0, before) as u32)
    }

    /// Who lives. An exec ends all other threads, and each of them says so, too.
    fn count_threads(&mut self, event: &KernelEvent) {
        match event.what {
            What::Exec(_) => _ = self.threads.insert(event.pid, 1),
            What::Fork { child_pid, .. } => *self.threads.entry(child_pid).or_default() += 1,
            What::Exit => {
                if let Entry::Occupied(mut entry) = self.threads.entry(event.pid) {
                    *entry.get_mut() -= 1;
                    if *entry.get() == 0 {
                        entry.remove();
                    }
                }
            }
            What::Lost { .. } => self.lost = true,
            _ => {}
        }
    }

    /// What a child that `pid` forks now inherits: from `pid` itself, or from whom that inherited, if it has made no call
    /// yet.
    fn fork(&self, pid: u32, ticks: u64) -> Option<Arc<Fork>> {
        if let Some(parent_sink) = self.claim(pid, ticks).and_then(|claim| claim.parent_sink.upgrade()) {
            return Some(Arc::new(Fork::new(parent_sink, ticks)));
        }
        self.queues.get(&self.image_at(pid, u64::MAX))?.born.as_ref().map(|born| born.fork.clone())
    }

    /// An image is over: if it is a forked child that has made no call, only the kernel knew of it.
    fn is_over(&mut self, key: Key, ticks: u64, exit: Option<Exit>) {
        let is_silent = self.queues.get(&key).is_some_and(|queue| queue.born.is_some() && !queue.claimed)
            && self.claim(key.0, ticks).is_none();
        if let Some(Queue { events, born: Some(Birth { fork, parent }), .. }) =
            is_silent.then(|| self.queues.remove(&key)).flatten()
            && events.iter().any(|event| matches!(event.what, What::Fault { .. }))
        {
            self.silent.push((fork, SilentChild { pid: key.0, parent, ended: ticks, exit, events }));
        }
    }

    /// The claim for the image that runs in a process at a time in ticks.
    fn claim(&self, pid: u32, ticks: u64) -> Option<&Claim> {
        let began = self.began.get(&pid).and_then(|began| began.iter().rev().find(|began| **began <= ticks));
        let claims = self.claims.get(&pid)?.iter().rev();
        claims.into_iter().find(|claim| claim.at <= ticks && began.is_none_or(|began| *began <= claim.at))
    }

    fn route(&mut self, event: KernelEvent) {
        self.count_threads(&event);
        match event.what {
            What::Exec(_) => {
                self.is_over(self.image_at(event.pid, u64::MAX), event.ticks, Some(Exit::Exec));
                self.began.entry(event.pid).or_default().push(event.ticks);
            }
            // The number of a process that is gone may be used again.
            What::Fork { child_pid, .. } if child_pid != event.pid => {
                self.began.entry(child_pid).and_modify(|began| began.push(event.ticks)).or_default();
                if let Some(fork) = self.fork(event.pid, event.ticks) {
                    let child = self.image_at(child_pid, u64::MAX);
                    self.queues.entry(child).or_default().born = Some(Birth { fork, parent: event.pid });
                }
            }
            What::Fault { weight, .. } => self.largest_period = self.largest_period.max(u64::from(weight)),
            _ => {}
        }
        let key = self.image_at(event.pid, u64::MAX);
        if event.what == What::Exit && event.tid == event.pid {
            self.ended.push_back((key, event.ticks));
        }
        let gone = (event.what == What::Exit).then_some((event.pid, event.ticks));
        let queue = self.queues.entry(key).or_default();
        if queue.claimed || queue.events.len() < MOST_UNCLAIMED {
            queue.events.push_back(event);
        }
        if let Some((pid, ticks)) = gone.filter(|(pid, _)| !self.threads.contains_key(pid)) {
            self.is_over(key, ticks, None);
            self.claims.remove(&pid);
        }
    }
}

impl Kernel {
    /// Passes on what `collector` hears, until [`Kernel::finish`].
    /// `running`: a process that runs already, and how many threads it has.
    pub fn start(
        collector: Collector,
        ticks_per_microsecond: u64,
        running: Option<(u32, u32)>,
    ) -> io::Result<Arc<Kernel>> {
        let view = collector.view();
        let (ring_reader, wakeup) = (collector.ring_reader(), collector.wakeup());
        let state = State {
            collector: Some(collector),
            queues: FxHashMap::default(),
            began: FxHashMap::default(),
            patience: PATIENCE_MICROSECONDS * ticks_per_microsecond,
            silent: Vec::new(),
            claims: FxHashMap::default(),
            ended: VecDeque::new(),
            threads: running.into_iter().collect(),
            lost: false,
            watermark: 0,
            totals: Totals::default(),
            largest_period: 0,
        };
        let kernel = Arc::new(Kernel {
            state: Mutex::new(state),
            writing: Mutex::default(),
            view,
            over: AtomicBool::new(false),
        });
        let listener = kernel.clone();
        let decoding = thread_spawning::start("kernel", Stack::Large, move || {
            while !listener.over.load(Relaxed) {
                std::thread::park_timeout(LONGEST_SLEEP);
                listener.locked().drain();
                listener.hear_of_silent_children();
            }
        })?;
        let watched = kernel.clone();
        thread_spawning::start("rings", Stack::Small, move || {
            empty_rings(&watched, &ring_reader, wakeup.ok(), decoding.thread())
        })?;
        Ok(kernel)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forked children that are over and made no call are written down once their parents' workers know what they inherited.
    fn hear_of_silent_children(&self) {
        let _writing = self.writing();
        let over = std::mem::take(&mut self.locked().silent);
        for (fork, silent) in over {
            match fork.parent_sink().idle_sink().filter(|_| fork.is_settled()) {
                Some(sink) => sink.child_was_silent(fork.at, silent),
                None => self.locked().silent.push((fork.clone(), silent)),
            }
        }
    }

    /// The events of the image that runs in a process at the time `at`, in ticks.
    pub fn feed(self: &Arc<Self>, pid: u32, at: u64, parent_sink: Arc<ParentSink>) -> Feed {
        let claim = Claim { at, parent_sink: Arc::downgrade(&parent_sink) };
        self.locked().claims.entry(pid).or_default().push(claim);
        let family = parent_sink.family().clone();
        Feed { kernel: self.clone(), pid, began: at, family, key: None, events: VecDeque::new() }
    }

    /// The processes of the run that live. None if that is not known, because records were lost.
    pub fn living(&self) -> Option<Vec<u32>> {
        std::thread::sleep(SETTLED); // events of this instant arrive
        let mut state = self.locked();
        state.drain();
        (!state.lost && state.collector.is_some()).then(|| state.threads.keys().copied().collect())
    }

    /// Starts to count all events of a running process, which stands still.
    pub fn switch_on(&self) -> io::Result<()> {
        self.locked().collector.as_mut().map_or(Ok(()), Collector::switch_on)
    }

    /// What can be seen.
    pub fn view(&self) -> View {
        self.view
    }

    /// Ends the collection: what processes that go on do from now on is not counted. Workers get what has been collected.
    pub fn stop(&self) {
        self.over.store(true, Relaxed);
        let _writing = self.writing();
        let mut state = self.locked();
        if let Some(collector) = state.collector.take() {
            state.totals = collector.finish(&mut |event| state.route(event));
            state.watermark = u64::MAX;
        }
    }

    /// Ends the collection, after all workers. Returns its sums, and the largest number of faults that one sample stood for.
    pub fn finish(&self) -> (Totals, u64) {
        self.stop();
        let _writing = self.writing();
        let mut state = self.locked();
        // All events of those that go on have arrived, too.
        let silent: Vec<(Key, u64)> =
            state.queues.iter().filter_map(|(key, queue)| Some((*key, queue.events.back()?.ticks))).collect();
        silent.into_iter().for_each(|(key, ticks)| state.is_over(key, ticks, Some(Exit::Running)));
        let over = std::mem::take(&mut state.silent);
        let sums = (state.totals, state.largest_period);
        drop(state);
        for (fork, silent) in over {
            fork.parent_sink().sink().child_was_silent(fork.at, silent);
        }
        sums
    }
}

/// Copies the kernel's records out of its rings until the collection ends, and wakes the thread that decodes them. It runs
/// before others: what does not fit into a ring is lost.
fn empty_rings(kernel: &Kernel, ring_reader: &RingReader, mut wakeup: Option<Wakeup>, decoding: &Thread) {
    thread_priority::ahead();
    let mut is_urgent = false;
    while !kernel.over.load(Relaxed) {
        let rang = wakeup.as_mut().is_some_and(|bell| matches!(bell.wait(LONGEST_SLEEP), Ok(true)));
        if !rang {
            // No bell, or all processes are gone.
            std::thread::sleep(NAP);
        }
        if ring_reader.empty() && !is_urgent {
            thread_priority::at_once();
            is_urgent = true;
        }
        decoding.unpark();
    }
}

impl Feed {
    /// Fetches what there is. Returns the time before which that is all, ticks.
    pub fn fetch(&mut self) -> u64 {
        let mut state = self.kernel.locked();
        state.drain();
        if state.watermark < self.began {
            return state.watermark;
        }
        let key = *self.key.get_or_insert_with(|| state.image_at(self.pid, self.began));
        let queue = state.queues.entry(key).or_default();
        queue.claimed = true;
        if let Some(born) = queue.born.take() {
            self.family.descends(born.fork);
        }
        self.events.append(&mut queue.events);
        state.watermark
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.kernel.locked().queues.remove(&key);
        }
    }
}
