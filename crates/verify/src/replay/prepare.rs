//! From a recording to a script. Events are read twice: first to learn which thread frees a block and when threads end,
//! then to write the steps. What is kept in memory is what is known of the live blocks, and a bit for each block ever.

use super::Error;
use super::plan::{Changes, Plan, Treatment};
use super::script::{Do, Script, Step};
use super::touched::Touched;
use memtoll_model::Recording;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{ThreadNo, Units};
use memtoll_trace::op::Effect;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::ControlFlow;

/// What of a recording is played, and what is not.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Counts {
    /// Calls that allocate.
    pub allocations: u64,
    /// Calls of realloc and reallocarray with a block and a size.
    pub reallocations: u64,
    /// Calls that free a block, realloc to size 0 among them.
    pub frees: u64,
    /// Frees of null pointers.
    pub null_frees: u64,
    /// Bytes of allocations and reallocations.
    pub bytes: u64,
    /// Blocks that one thread allocates and another one frees.
    pub handed_over: u64,
    /// Threads that call.
    pub threads: u64,
    /// The highest sum of live bytes.
    pub peak_bytes: u64,
    /// The highest sums of live bytes of each thread's own blocks, added up: what would be live if all threads were at
    /// their peaks at once.
    pub thread_peaks_bytes: u64,
    /// Calls of sites that are left out.
    pub left_out: u64,
    /// Calls of sites that a pool serves.
    pub pooled: u64,
    /// Calls that failed in the recording: not played.
    pub failed: u64,
    /// Frees of blocks from before the recording or of functions that are not hooked: not played.
    pub unknown_frees: u64,
    /// Calls of the program's own allocator, reported with memtoll.h: not played.
    pub own_pools: u64,
}

impl Counts {
    /// Calls of the allocator that are played.
    pub fn calls(&self) -> u64 {
        self.allocations + self.reallocations + self.frees + self.null_frees
    }
}

/// What is known of a script.
pub struct Prepared {
    /// What is in it.
    pub counts: Counts,
    /// Whether the recording says which pages were touched; otherwise, all are.
    pub knows_pages: bool,
}

/// What is known of a live block.
#[derive(Clone, Copy)]
struct Known {
    /// Whether another thread releases it than the one that acquires it.
    is_shared: bool,
    change: Option<u8>,
    slot: u32,
    size: u64,
    /// The thread that acquired it.
    thread: u32,
}

/// A set of blocks, by their numbers.
#[derive(Default)]
struct Blocks(Vec<u64>);

impl Blocks {
    fn insert(&mut self, number: u64) {
        let word = (number / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    fn contains(&self, number: u64) -> bool {
        self.0.get((number / 64) as usize).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }
}

/// Calls of all threads that make a window: no thread is two windows ahead of another one.
const WINDOW: u64 = 1024;
/// A window ends earlier if this part of the live bytes at their peak was allocated in it.
const PART_OF_PEAK: u64 = 32;
/// A thread that is in a window knows that all windows so far before it are over: `kAhead` of the player.
const AHEAD: u64 = 2;

/// Shorter gaps are not slept through: a sleep takes longer.
const LEAST_PAUSE_NS: f64 = 100e3;

struct Preparing<'a> {
    recording: &'a Recording,
    image: usize,
    plan: &'a Plan,
    changes: Changes<'a>,
    /// Our numbers of the threads of the recording.
    threads: FxHashMap<ThreadNo, u32>,
    /// By our numbers: the number of the last event.
    last: Vec<u64>,
    /// Blocks that go from one thread to another.
    shared: Blocks,
    /// The highest sum of live bytes.
    peak: u64,
    touched: Touched,
}

/// Writes the script with the calls of image number `image`.
pub fn prepare(recording: &Recording, image: usize, plan: &Plan, to: impl Write) -> Result<Prepared, Error> {
    let mut preparing = Preparing {
        recording,
        image,
        plan,
        changes: Changes::new(recording, plan),
        threads: FxHashMap::default(),
        last: Vec::new(),
        shared: Blocks::default(),
        peak: 0,
        touched: Touched::new(u64::from(recording.about.machine.page).max(1)),
    };
    preparing.learn()?;
    if let Some(site) = preparing.changes.unmet() {
        return Err(Error::NoSite(site.to_string()));
    }
    let knows_pages = preparing.touched.finish(recording, image);
    let mut writing = Writing::new(preparing, to);
    writing.write()?;
    writing.script.finish(writing.pools.len() as u32)?;
    Ok(Prepared { counts: writing.counts, knows_pages })
}

/// Calls `take` with each event that is about a block of the heap, and its number.
fn each(recording: &Recording, image: usize, mut take: impl FnMut(u64, &Event) -> io::Result<()>) -> Result<(), Error> {
    let mut number = 0;
    let mut failed = None;
    let read = recording.for_each_events(image, |events| {
        for event in events.iter().filter(|event| matches!(event.op.effect(), Effect::Acquire | Effect::Release)) {
            if let Err(error) = take(number, event) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            number += 1;
        }
        ControlFlow::Continue(())
    });
    failed.map_or(Ok(()), |error| Err(Error::Io(error)))?;
    Ok(read?)
}

impl Preparing<'_> {
    fn learn(&mut self) -> Result<(), Error> {
        let (recording, image) = (self.recording, self.image);
        let nodes = &recording.images[image];
        let (threads, last, shared) = (&mut self.threads, &mut self.last, &mut self.shared);
        let (changes, touched, peak) = (&mut self.changes, &mut self.touched, &mut self.peak);
        // By number: the thread that acquired it, and its size.
        let mut blocks: FxHashMap<u64, (u32, u64)> = FxHashMap::default();
        let mut live = 0u64;
        each(recording, image, |number, event| {
            if event.op.is_pooled() {
                return Ok(());
            }
            let next = last.len() as u32;
            let thread = *threads.entry(event.thread).or_insert(next);
            if thread == next {
                last.push(number);
            }
            last[thread as usize] = number;
            let Block::Number(block) = event.block else { return Ok(()) };
            if event.op.effect() == Effect::Acquire {
                changes.of(nodes.node(event.node));
                blocks.insert(block.0, (thread, event.size.0));
                touched.acquire(event.node, event.address.0, event.size.0);
                live = live.saturating_add(event.size.0);
                *peak = live.max(*peak);
            } else if let Some((by, size)) = blocks.remove(&block.0) {
                live = live.saturating_sub(size);
                if by != thread {
                    shared.insert(block.0);
                }
            }
            Ok(())
        })?;
        if last.is_empty() {
            return Err(Error::NoCalls);
        }
        Ok(())
    }
}

/// A window, as a step has it: 0 is none.
fn slot_of(window: Option<u64>) -> u32 {
    window.map_or(0, |window| window as u32 + 1)
}

struct Writing<'a, W> {
    of: Preparing<'a>,
    script: Script<W>,
    counts: Counts,
    /// Live ones, by number.
    blocks: FxHashMap<u64, Known>,
    /// Shared slots that are free again, and since which window.
    free_shared: VecDeque<(u64, u32)>,
    /// By thread: slots that are free again.
    free: Vec<Vec<u32>>,
    /// By thread: the block that a reallocation gives back.
    resized: Vec<Option<Known>>,
    /// By thread: live bytes of the blocks that it allocated, and the most of them.
    live_of: Vec<(u64, u64)>,
    /// By thread: when it last did something, ns.
    busy: Vec<f64>,
    /// Pools, by thread and change.
    pools: FxHashMap<(u32, u8), u16>,
    live: u64,
    ended: u64,
    /// The window that the recording is in, and its calls and bytes so far.
    window: (u64, u64, u64),
    /// By thread: the window that it is in.
    windows: Vec<Option<u64>>,
    /// The thread that called last.
    before: Option<u32>,
}

impl<'a, W: Write> Writing<'a, W> {
    fn new(of: Preparing<'a>, to: W) -> Self {
        let threads = of.last.len();
        Writing {
            of,
            script: Script::new(to, threads),
            blocks: FxHashMap::default(),
            free_shared: VecDeque::new(),
            counts: Counts { threads: threads as u64, ..Counts::default() },
            live_of: vec![(0, 0); threads],
            free: vec![Vec::new(); threads],
            resized: vec![None; threads],
            busy: vec![0.0; threads],
            pools: FxHashMap::default(),
            live: 0,
            ended: 0,
            window: (0, 0, 0),
            windows: vec![None; threads],
            before: None,
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        let (recording, image) = (self.of.recording, self.of.image);
        let began = recording.images[image].about.began;
        let clock = recording.about.clock;
        let mut started = vec![false; self.of.last.len()];
        each(recording, image, |number, event| {
            if event.op.is_pooled() {
                self.counts.own_pools += 1;
                return Ok(());
            }
            let thread = self.of.threads[&event.thread];
            if !std::mem::replace(&mut started[thread as usize], true) {
                self.start(thread, number)?;
            }
            let window = self.window_of(event);
            self.enter(thread, window)?;
            if let Some(pace) = self.of.plan.pace {
                let from =
                    event.time.saturating_sub(if event.op.counts_at_end() { event.duration } else { Units::ZERO });
                let at = clock.seconds(from.saturating_sub(Units(began)).0) * 1e9 * pace;
                self.pause(thread, at)?;
                self.busy[thread as usize] = at;
            }
            self.event(thread, event)?;
            self.before = Some(thread);
            if self.of.last[thread as usize] == number {
                self.leave(thread)?;
                self.ended += u64::from(thread > 0);
            }
            Ok(())
        })?;
        self.counts.thread_peaks_bytes = self.live_of.iter().map(|(_, most)| most).sum();
        Ok(())
    }

    fn push(&mut self, thread: u32, step: Step) -> io::Result<()> {
        self.script.push(thread, step)
    }

    /// The thread that called last starts the new one, once as many threads have ended as had in the recording: so there
    /// are never more at a time.
    fn start(&mut self, thread: u32, number: u64) -> io::Result<()> {
        let Some(by) = self.before else { return Ok(()) };
        let has_ended = by > 0 && self.of.last[by as usize] < number;
        let ended = self.ended - u64::from(has_ended);
        self.push(by, Step { size: ended, ..Step::on(Do::Start, thread) })
    }

    /// The window of the next event.
    fn window_of(&mut self, event: &Event) -> u64 {
        let (mut window, mut calls, mut bytes) = self.window;
        if calls >= WINDOW || bytes > self.of.peak / PART_OF_PEAK {
            (window, calls, bytes) = (window + 1, 0, 0);
        }
        self.window = (window, calls + 1, bytes.saturating_add(event.size.0));
        window
    }

    /// A thread goes on to a window. Without, threads that are slow in the program would be as fast as others, and blocks
    /// that it frees at once would pile up.
    fn enter(&mut self, thread: u32, window: u64) -> io::Result<()> {
        let left = self.windows[thread as usize].replace(window);
        if self.script.threads() < 2 || left == Some(window) {
            return Ok(());
        }
        self.script.takes_part(window);
        self.push(thread, Step { size: window + 1, ..Step::on(Do::Window, slot_of(left)) })
    }

    fn leave(&mut self, thread: u32) -> io::Result<()> {
        let left = self.windows[thread as usize].take();
        if self.script.threads() > 1 {
            self.push(thread, Step::on(Do::Window, slot_of(left)))?;
        }
        self.script.end_thread(thread)
    }

    fn pause(&mut self, thread: u32, until: f64) -> io::Result<()> {
        if until - self.busy[thread as usize] >= LEAST_PAUSE_NS {
            self.push(thread, Step { size: until as u64, ..Step::on(Do::Pause, 0) })?;
        }
        Ok(())
    }

    fn event(&mut self, thread: u32, event: &Event) -> io::Result<()> {
        match event.op.effect() {
            Effect::Acquire => self.acquire(thread, event),
            _ => self.release(thread, event),
        }
    }

    fn treatment(&self, known: &Known) -> Option<Treatment> {
        let treatment = self.of.plan.changes.get(usize::from(known.change?))?.treatment;
        // Arenas and stores belong to a thread: blocks that are handed over stay what they are.
        (treatment == Treatment::LeftOut || !known.is_shared).then_some(treatment)
    }

    fn acquire(&mut self, thread: u32, event: &Event) -> io::Result<()> {
        let old = self.resized[thread as usize].take();
        let Block::Number(number) = event.block else {
            // A reallocation to size 0 frees.
            return match old {
                Some(old) => self.give_back(thread, &old),
                None => {
                    self.counts.failed += 1;
                    Ok(())
                }
            };
        };
        let node = self.of.recording.images[self.of.image].node(event.node);
        let (change, is_shared) = (self.of.changes.of(node), self.of.shared.contains(number.0));
        let mut known = Known { is_shared, change, slot: 0, size: event.size.0, thread };
        let touched = self.of.touched.share(event.node, event.size.0);
        let treatment = self.treatment(&known);
        let old_treatment = old.as_ref().and_then(|old| self.treatment(old));
        self.live += known.size;
        let (own, most) = &mut self.live_of[thread as usize];
        *own += known.size;
        *most = (*own).max(*most);
        let in_place = old.filter(|_| treatment.is_none() && old_treatment.is_none());
        if let Some(old) = in_place {
            self.push(thread, Step::on(Do::From, old.slot))?;
            self.forget(thread, &old);
        }
        known.slot = self.slot(thread, &known, treatment);
        let mut step = Step::sized(Do::Malloc, known.slot, event.size.0, touched);
        match treatment {
            Some(Treatment::LeftOut) => self.counts.left_out += 1,
            Some(pooled) => {
                step.what = if pooled == Treatment::Arena { Do::Arena } else { Do::Keep };
                step.pool = self.pool(thread, known.change.unwrap_or(0));
                self.counts.pooled += 1;
                self.push(thread, step)?;
            }
            None => {
                self.counts.bytes += event.size.0;
                step.what = match () {
                    () if in_place.is_some() => Do::Realloc,
                    () if event.op.zeroes() => Do::Calloc,
                    // posix_memalign takes no alignment below that of a pointer.
                    () if event.detail > 0 => Do::Aligned,
                    () => Do::Malloc,
                };
                step.log2_alignment = event.detail.clamp(3, 63) as u8;
                match in_place {
                    Some(_) => self.counts.reallocations += 1,
                    None => self.counts.allocations += 1,
                }
                self.counts.handed_over += u64::from(known.is_shared);
                self.push(thread, step)?;
            }
        }
        self.blocks.insert(number.0, known);
        if in_place.is_none()
            && let Some(old) = old
        {
            self.give_back(thread, &old)?;
        }
        self.counts.peak_bytes = self.counts.peak_bytes.max(self.live);
        Ok(())
    }

    fn release(&mut self, thread: u32, event: &Event) -> io::Result<()> {
        let known = match event.block {
            Block::Null => {
                self.counts.null_frees += 1;
                return self.push(thread, Step::on(Do::FreeNull, 0));
            }
            Block::Number(number) => self.blocks.remove(&number.0),
            _ => None,
        };
        match known {
            Some(known) if event.op.is_release_half() => self.resized[thread as usize] = Some(known),
            Some(known) => self.give_back(thread, &known)?,
            None => self.counts.unknown_frees += 1,
        }
        Ok(())
    }

    fn give_back(&mut self, thread: u32, known: &Known) -> io::Result<()> {
        let (what, pool) = match self.treatment(known) {
            Some(Treatment::LeftOut) => {
                self.is_gone(known);
                return Ok(());
            }
            Some(Treatment::Arena) => (Do::ArenaFree, self.pool(thread, known.change.unwrap_or(0))),
            Some(Treatment::Kept) => (Do::KeepFree, self.pool(thread, known.change.unwrap_or(0))),
            None => {
                self.counts.frees += 1;
                (Do::Free, 0)
            }
        };
        self.push(thread, Step { pool, ..Step::on(what, known.slot) })?;
        self.forget(thread, known);
        Ok(())
    }

    fn is_gone(&mut self, known: &Known) {
        self.live = self.live.saturating_sub(known.size);
        let (own, _) = &mut self.live_of[known.thread as usize];
        *own = own.saturating_sub(known.size);
    }

    /// The block's slot and bytes are free again.
    fn forget(&mut self, thread: u32, known: &Known) {
        self.is_gone(known);
        match known.is_shared {
            true => self.free_shared.push_back((self.window.0, known.slot)),
            false => self.free[thread as usize].push(known.slot),
        }
    }

    fn slot(&mut self, thread: u32, known: &Known, treatment: Option<Treatment>) -> u32 {
        if treatment == Some(Treatment::LeftOut) {
            return 0;
        }
        if !known.is_shared {
            return self.free[thread as usize].pop().unwrap_or_else(|| self.script.slot(thread));
        }
        // Another thread may not have emptied it yet, unless its window is over.
        let window = self.window.0;
        let is_over = self.free_shared.front().is_some_and(|(since, _)| since + AHEAD <= window);
        let free = if is_over { self.free_shared.pop_front() } else { None };
        free.map_or_else(|| self.script.shared_slot(), |(_, slot)| slot)
    }

    fn pool(&mut self, thread: u32, change: u8) -> u16 {
        let next = self.pools.len() as u16;
        *self.pools.entry((thread, change)).or_insert(next)
    }
}
