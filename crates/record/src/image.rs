//! Drains the arena of one process image while the program runs: sorts the events of all its threads by time and hands
//! them to the sink.
//!
//! The events of one thread are in order already. An event is taken when no other thread can still write an earlier one;
//! how far that is, each slot tells: one that was seen between two events will write nothing from before that time, one in
//! the middle of an event nothing from before the last event that it wrote. (An acquisition counts from its end, so a thread
//! inside the real function, for however long, is no obstacle.) A thread that is stuck in the middle of an event is overtaken
//! in the end; should it have been a release, the sink finds the block that it belongs to (sink/reused_addresses.rs).

mod looks;
mod pace;
pub mod replay;

use crate::arena::Arena;
use crate::backlog::Backlog;
use crate::chunk_cursor::{Cursor, op_of, plain_key, release_half};
use crate::chunk_quota::Growth;
use crate::exit_watcher;
use crate::fork_family::{Family, ParentSink};
use crate::kernel_events::Feed;
use crate::run::{Run, Signals};
use crate::sink::Sink;
use crate::thread_priority::AtOnce;
use crate::wire::{self, Record, kind};
use looks::LaterSearch;
use memtoll_trace::ids::{ImageNo, ThreadNo, Ticks};
use memtoll_trace::meta::{Exit, Image, Note};
use memtoll_trace::op::Op;
use pace::Pace;
use std::cmp::Reverse;
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

/// Stores of another processor are visible within this time, however busy it is.
const SLACK_MICROSECONDS: u64 = 10;
/// A thread that is in the middle of an event for longer than this is overtaken: its processor was taken away, or it releases
/// a block and the kernel takes its time. While others wait for memtoll on its account, or fill its memory, sooner.
const PATIENCE_MICROSECONDS: u64 = 1_000_000;
const PATIENCE_WHEN_HELD_UP_MICROSECONDS: u64 = 50_000;
/// A worker that slept for longer did not look at threads meanwhile; perhaps it was not given a processor either.
const LONGEST_LOOK_MICROSECONDS: u64 = 10_000;
/// After a round that took fewer records than this, wait until there are more: looking costs as much as a few of them.
const BUSY: u64 = 8 * 1024;
/// A busy thread writes a few thousand events in this time.
const NAP: Duration = Duration::from_micros(300);
/// Pause while the kernel's last events are on their way.
const SHORT_NAP: Duration = Duration::from_micros(30);
/// Full chunks after which the doorbell rings: a quarter of those that a program of one thread has.
const CHUNKS_TO_WAKE: u32 = wire::KEPT_CHUNKS / 4;
/// Prefetch distance of blocks, in calls: fetching one takes some hundred nanoseconds.
const AHEAD: usize = 12;
/// The same of the records themselves.
const RECORDS_AHEAD: usize = 2 * AHEAD;
/// Sleep between two looks at a program that fills few chunks.
const SLEEP: Duration = Duration::from_millis(40);
/// The same where the events' times come from this side, or where the program may make no system calls and cannot ring.
const SLEEP_WITHOUT_BELL: Duration = Duration::from_millis(1);
/// A bell that rings just as a sleep ends is not heard either; that does not happen several times in a row.
const CANNOT_RING: u32 = 3;
/// Records that are taken at a time, before it is looked again whether the program needs chunks: about a millisecond's work.
const AT_A_TIME: u64 = 16 * 1024;
/// The same for each slot: looking at all of them takes as long as taking some records of each.
const AT_A_TIME_PER_SLOT: u64 = 16;
/// A thread in one call for longer than this may be stopped; its state is checked.
const LONG_CALL_MICROSECONDS: u64 = 10_000;

pub struct Worker {
    run: Arc<Run>,
    arena: Arc<Arena>,
    signals: Arc<Signals>,
    image: ImageNo,
    pid: u32,
    process: Arc<OwnedFd>,
    cursors: Vec<Cursor>,
    heads: Vec<Option<u64>>,
    order: BinaryHeap<Reverse<(u64, usize)>>, // of the heads
    feed: Option<Feed>,
    parent_sink: Arc<ParentSink<Sink>>,
    growth: Growth,
    backlog: Backlog,
    pace: Pace,
    later_search: Option<LaterSearch>,
    /// Sleeps in a row whose bell was rung and not heard, up to `CANNOT_RING`.
    unheard: u32,
}

/// Says that the worker of an image is done.
struct Over {
    run: Arc<Run>,
    family: Arc<Family>,
    arena: Arc<Arena>,
    image: ImageNo,
    pid: u32,
}

impl Drop for Over {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.arena.header().stop.store(1, Release);
            self.arena.wake_waiting();
            self.run.note(Note {
                time: self.run.around.clock.units(self.run.around.clock.now()),
                text: format!(
                    "process {}: later events are missing, by a fault in memtoll; please report it",
                    self.pid
                ),
                missing: true,
            });
        }
        self.family.is_over();
        self.run.roster.finished(self.image);
    }
}

impl Worker {
    /// For a process that has just begun this image. `process` is a descriptor of it.
    pub fn new(
        run: Arc<Run>,
        arena: Arc<Arena>,
        signals: Arc<Signals>,
        about: &Image,
        process: Arc<OwnedFd>,
    ) -> Worker {
        let pid = about.pid;
        let now = run.around.clock.now();
        let family = Arc::new(Family::of(&arena));
        let sink = Sink::new(run.clone(), about, family.clone());
        let parent_sink = ParentSink::new(run.around.clone(), family, sink);
        let feed = run.kernel().map(|kernel| kernel.feed(pid, now, parent_sink.clone()));
        let backlog = Backlog::new(run.backlog.clone());
        let growth = Growth::new(run.backlog.clone());
        let pace = Pace::new(run.around.ticks_per_microsecond);
        Worker {
            run,
            arena,
            signals,
            image: about.image,
            pid,
            process,
            cursors: Vec::new(),
            heads: Vec::new(),
            order: BinaryHeap::new(),
            feed,
            parent_sink,
            growth,
            backlog,
            pace,
            later_search: None,
            unheard: 0,
        }
    }

    /// Works until the image is over.
    pub fn work(self) {
        // Whatever happens here, no thread may wait for this worker for ever.
        let _over = Over {
            run: self.run.clone(),
            family: self.parent_sink.family().clone(),
            arena: self.arena.clone(),
            image: self.image,
            pid: self.pid,
        };
        self.work_to_the_end();
    }

    fn work_to_the_end(mut self) {
        let mut at_once = None;
        let ended = loop {
            let arena = self.arena.clone();
            let header = arena.header();
            self.show_life();
            // Read before draining: what is written before the end is drained after it was noticed.
            if let Some(ended) = self.signals.over() {
                self.fetch_the_rest();
                self.drain_all();
                break ended;
            }
            self.look_if_wanted();
            self.look_before_giving_back();
            self.write_seen_pages();
            let taken = self.drain_settled();
            // The program that waits has all processors: without this, it waits until its other threads have had their turns.
            at_once = if taken.is_none() { at_once.or_else(|| Some(AtOnce::begin())) } else { None };
            if self.run.output.stopped() {
                header.stop.store(1, Release);
                arena.wake_waiting();
            }
            self.help_if_behind();
            self.parent_sink.sink().flush_if_due(&arena);
            if taken.is_none_or(|taken| taken <= BUSY) {
                self.rest();
            }
        };
        drop(at_once);
        let exit = self.exit();
        if self.arena.header().stop.load(Acquire) != 0 && !self.run.output.stopped() {
            self.parent_sink.sink().given_up();
        }
        if self.signals.is_abandoned() {
            self.arena.header().stop.store(1, Release);
            self.arena.wake_waiting();
        }
        self.write_seen_pages();
        self.parent_sink.sink().finish(&self.arena, exit, ended, self.signals.successor());
        // Events that came meanwhile, and the fork by which the image began, are not asked for any more.
        drop(self.feed);
        if let Some(sink) = self.parent_sink.into_sink() {
            sink.give_back();
        }
    }

    /// Threads of the program that wait for memtoll go on waiting.
    fn show_life(&self) {
        self.arena.header().heartbeat.fetch_add(1, Relaxed);
    }

    fn exit(&self) -> Option<Exit> {
        if self.signals.successor().is_some() {
            return Some(Exit::Exec);
        }
        if !self.signals.has_ended() {
            return Some(Exit::Running);
        }
        self.run.roster.exit_of(self.pid).or_else(|| exit_watcher::exit_of(&self.process, self.pid))
    }

    /// The program writes chunks faster than they are drained: let it have more of them.
    fn help_if_behind(&mut self) {
        self.arena.allow_kept_chunks();
        if !self.is_crowded() {
            self.growth.look(&self.arena);
        }
        if self.arena.is_awaited() {
            self.arena.wake_waiting();
        }
    }

    /// Sleeps until there is enough to do: a program that allocates all the time fills chunks within a fraction of a
    /// millisecond, a compiler within some milliseconds.
    fn rest(&mut self) {
        let arena = self.arena.clone();
        let header = arena.header();
        let seen = header.doorbell.load(Acquire);
        if arena.is_awaited() {
            // A thread that has to wait for a chunk rings, but has perhaps done so already.
            arena.sleep(seen, NAP);
            return;
        }
        header.supervisor_sleeps.store(CHUNKS_TO_WAKE, SeqCst);
        let something = arena.awaits_look_at_end() || arena.is_look_asked() || self.signals.over().is_some();
        if !something {
            let looks_often = self.unheard == CANNOT_RING || arena.has_own_time();
            let missed = arena.sleep(seen, if looks_often { SLEEP_WITHOUT_BELL } else { SLEEP });
            if self.unheard < CANNOT_RING {
                self.unheard = if missed { self.unheard + 1 } else { 0 };
            }
        }
        header.supervisor_sleeps.store(0, Relaxed);
    }

    /// All that the kernel has to tell of an image that is over; by now, that of its end has come, too.
    fn fetch_the_rest(&mut self) {
        let now = self.run.around.clock.now();
        if let Some(feed) = &mut self.feed {
            while feed.fetch() < now {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Takes what no thread can write anything before any more; in a burst, nothing. How many records that were.
    fn drain_settled(&mut self) -> Option<u64> {
        let now = self.arena.time(self.run.around.clock.now());
        let microsecond = self.run.around.ticks_per_microsecond;
        let slack = SLACK_MICROSECONDS * microsecond;
        let told = self.feed.as_mut().map_or(u64::MAX, Feed::fetch);
        let limit = now.saturating_sub(slack).min(told);
        let held_up = self.arena.is_awaited() || self.cursors.iter().any(Cursor::has_copies);
        let patience = if held_up { PATIENCE_WHEN_HELD_UP_MICROSECONDS } else { PATIENCE_MICROSECONDS } * microsecond;
        self.refresh(now, LONGEST_LOOK_MICROSECONDS * microsecond);
        if self.copy_if_behind(now) {
            return None;
        }
        if self.signals.before.is_awaited() {
            let Some(before) = self.signals.before.take() else { return Some(0) };
            self.parent_sink.sink().had_blocks(&self.arena, before);
        }
        let bound = |cursor: &Cursor| match cursor.stuck_for > patience {
            true => u64::MAX,
            false => cursor.bound(slack),
        };
        let without_record = self.cursors.iter().zip(&self.heads).filter(|(_, head)| head.is_none());
        let limit = without_record.map(|(cursor, _)| bound(cursor)).fold(limit, u64::min);
        let time_of_search = self.later_search.as_ref().map_or(u64::MAX, |later| later.time);
        let taken = self.merge(limit.min(time_of_search), slack);
        if limit >= time_of_search && self.heads.iter().flatten().all(|key| *key > time_of_search) {
            self.search_later();
        }
        self.pace.packed(taken, self.run.around.clock.now().saturating_sub(now));
        Some(taken)
    }

    /// Copies full chunks if there are many, so that the program does not wait for them. Whether that is all that should be
    /// done: the program writes faster than anybody packs, and needs the processors itself.
    fn copy_if_behind(&mut self, now: u64) -> bool {
        let is_awaited = self.arena.is_awaited();
        self.pace.look(now, self.arena.recycled(), is_awaited);
        // Half of those that stay in the program's memory. One beyond them costs it 20 to 40 us for getting and losing the
        // pages, 10 to 20 ns an event.
        let many = (self.arena.kept_chunks() / 2).max(1);
        let full = self.cursors.iter().fold(0, |full, cursor| full + cursor.full_chunks(&self.arena, many - full));
        if full < many && !is_awaited {
            return self.pace.is_burst() && self.is_crowded();
        }
        let has_room = self.cursors.iter_mut().all(|cursor| cursor.copy_full_chunks(&self.arena, &self.backlog));
        has_room && self.pace.is_burst() && self.is_crowded()
    }

    /// Whether the program has threads at work for all processors.
    fn is_crowded(&self) -> bool {
        let turns = pace::WINDOW_MICROSECONDS * self.run.around.ticks_per_microsecond;
        self.cursors.iter().filter(|cursor| cursor.is_busy_within(turns)).count() >= self.run.around.processors
    }

    /// Takes everything: nothing more is written.
    fn drain_all(&mut self) {
        self.refresh(self.run.around.clock.now(), 0);
        if let Some(before) = self.signals.before.take() {
            self.parent_sink.sink().had_blocks(&self.arena, before);
        }
        if let Some(time) = self.later_search.as_ref().map(|later| later.time) {
            while self.merge(time, u64::MAX) > 0 {}
            self.search_later();
        }
        while self.merge(u64::MAX, u64::MAX) > 0 {}
    }

    fn refresh(&mut self, now: u64, look: u64) {
        let mut sink = self.parent_sink.sink();
        sink.untimed = self.arena.has_own_time();
        let long = LONG_CALL_MICROSECONDS * self.run.around.ticks_per_microsecond;
        while self.cursors.len() < self.arena.slots().len() {
            self.cursors.push(Cursor::new(self.cursors.len()));
            self.heads.push(None);
        }
        for (cursor, head) in self.cursors.iter_mut().zip(&mut self.heads) {
            cursor.refresh(&self.arena, now, look);
            if head.is_none() {
                *head = cursor.peek(&self.arena).map(|record| cursor.key(&record));
            }
            if cursor.inside_for > long && self.feed.is_some() {
                // Again when as much time has passed.
                cursor.inside_for = 0;
                cursor.thread.iter().for_each(|thread| sink.is_perhaps_stopped(*thread));
            }
        }
    }

    /// Takes records in the order of their keys, up to `limit`: no slot without a record will write anything before that. A
    /// slot whose last record is taken may do so, `slack` before the time when it was looked at; with a slack of `u64::MAX`
    /// it will not.
    ///
    /// It comes to an end after a while, even if there is more.
    fn merge(&mut self, mut limit: u64, slack: u64) -> u64 {
        let mut taken = 0;
        let most = AT_A_TIME.max(AT_A_TIME_PER_SLOT * self.cursors.len() as u64);
        let mut order = std::mem::take(&mut self.order).into_vec();
        order.clear();
        order.extend(self.heads.iter().enumerate().filter_map(|(slot, key)| key.map(|key| Reverse((key, slot)))));
        let mut order = BinaryHeap::from(order);
        let parent_sink = self.parent_sink.clone();
        let mut sink = parent_sink.sink();
        while taken < most {
            let mut keys = order.as_slice().iter().map(|Reverse((key, _))| *key);
            let first = keys.next().unwrap_or(u64::MAX);
            // The second one is one of the next two.
            let stop = keys.take(2).fold(limit, u64::min);
            let told = self.feed.as_ref().and_then(|feed| feed.events.front()).map(|event| event.ticks);
            if let Some(told) = told.filter(|told| *told <= stop.min(first)) {
                self.take_told(&mut sink, stop.min(first).max(told));
                continue;
            }
            let Some(mut top) = order.peek_mut().filter(|_| first <= stop) else { break };
            let slot = top.0.1;
            taken += self.take(&mut sink, slot, told.map_or(stop, |told| stop.min(told)));
            match self.heads[slot] {
                Some(key) => top.0.0 = key,
                None => {
                    PeekMut::pop(top);
                    if slack != u64::MAX {
                        limit = limit.min(self.cursors[slot].bound(slack));
                    }
                }
            }
        }
        self.order = order;
        taken
    }

    /// Takes what the kernel tells up to `stop`.
    fn take_told(&mut self, sink: &mut Sink, stop: u64) {
        let Some(feed) = &mut self.feed else { return };
        while feed.events.front().is_some_and(|event| event.ticks <= stop) {
            if let Some(event) = feed.events.pop_front() {
                sink.told(&event);
            }
        }
    }

    /// Takes the records of one slot up to `stop`, or as many as are taken at a time.
    fn take(&mut self, sink: &mut Sink, index: usize, stop: u64) -> u64 {
        let mut taken = 0;
        loop {
            taken += self.take_calls(sink, index, stop);
            let cursor = &mut self.cursors[index];
            let Some(record) = cursor.peek(&self.arena) else {
                self.heads[index] = None;
                return taken;
            };
            let key = cursor.key(&record);
            if key > stop || taken >= AT_A_TIME {
                self.heads[index] = Some(key);
                return taken;
            }
            if op_of(&record).is_some() {
                cursor.last_ticks = cursor.last_ticks.max(key);
            }
            cursor.skip(1);
            taken += 1;
            self.take_other(sink, index, &record, key);
        }
    }

    /// Takes ordinary calls, nearly all that there is, as long as they follow each other in a chunk.
    fn take_calls(&mut self, sink: &mut Sink, index: usize, stop: u64) -> u64 {
        let cursor = &mut self.cursors[index];
        let Some(thread) = cursor.thread.filter(|_| cursor.long_duration.is_none()) else { return 0 };
        let (mut taken, mut last) = (0, cursor.last_ticks);
        let mut run = cursor.run(&self.arena);
        while let Some(record) = run.next() {
            run.prefetch(RECORDS_AHEAD);
            if let Some(later) = run.ahead(AHEAD) {
                sink.expect(&later);
            }
            if let Some(later) = run.ahead(2 * AHEAD / 3) {
                sink.expect_block(&later);
            }
            if let Some(next) = run.ahead(AHEAD / 3) {
                sink.expect_next(&next);
            }
            let Some(op) = op_of(&record) else { break };
            let key = plain_key(&record);
            if key > stop {
                break;
            }
            last = last.max(key);
            taken += 1;
            sink.call(&self.arena, &record, op, key, thread, record.duration());
        }
        cursor.last_ticks = last;
        cursor.skip(taken);
        taken as u64
    }

    /// Does what any record says that was just skipped.
    fn take_other(&mut self, sink: &mut Sink, index: usize, record: &Record, key: u64) {
        let arena = &*self.arena;
        let cursor = &mut self.cursors[index];
        let thread = cursor.thread;
        if let Some(op) = op_of(record) {
            let duration = cursor.long_duration.take().unwrap_or(record.duration());
            thread.iter().for_each(|thread| sink.call(arena, record, op, key, *thread, duration));
            return;
        }
        match (record.kind(), thread) {
            (kind::PADDING, _) => {}
            (kind::REALLOC_FROM, Some(thread)) => {
                // Both records are published together, so the other one is there.
                let op = cursor.peek(arena).map_or(Op::REALLOC.release_half(), |next| {
                    if next.kind() == kind::LONG_DURATION { Op::REALLOC.release_half() } else { release_half(&next) }
                });
                sink.call(arena, record, op, key, thread, 0);
            }
            (kind::LONG_DURATION, _) => cursor.long_duration = Some(record.address),
            (kind::THREAD_BEGIN, _) => {
                cursor.thread = ThreadNo::new(record.bytes() as u32);
                if let Some(thread) = cursor.thread {
                    sink.thread_begins(thread, record.tid(), record.address, record.ticks());
                }
            }
            (kind::THREAD_END, Some(thread)) => sink.thread_ends(thread, record.ticks()),
            (kind::EXIT, _) => sink.exit_status(record.address as i32),
            (kind::FILLED, _) => sink.filled(record.address),
            (kind::BREAK, Some(thread)) => {
                sink.heap_moved(Ticks(record.ticks()), thread, record.node(), record.bytes(), record.address);
            }
            (kind::POOL_ALLOC..=kind::POOL_REALLOC | kind::POOL_END, Some(thread)) => {
                sink.pooled(arena, record, thread);
            }
            // No thread does anything before it begins.
            (kind::REALLOC_FROM | kind::THREAD_END | kind::BREAK, None) => {}
            (kind::POOL_ALLOC..=kind::POOL_REALLOC | kind::POOL_END, None) => {}
            (blob, _) => {
                let payload = cursor.take_blob(record.bytes() as usize);
                sink.blob(arena, blob, &payload, thread, record.ticks());
            }
        }
    }
}
