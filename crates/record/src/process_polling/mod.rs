//! Looks at the processes of the run while they run: their resident sets and what the kernel counts for them.
//!
//! A process that ends by itself says both with its last word, and knows better. One that is killed has no time for words, and
//! its memory is gone before memtoll hears of its end: then the last look tells, with what the kernel told of page
//! faults since. And only looks at all processes at once say what they had together.

mod debt;
mod final_figures;
mod look_wishes;
mod peak_of_all_processes;
mod polled_process;
mod recent_changes;
mod resident_curve;

use crate::arena::Arena;
use crate::bytes_range::BytesRange;
use crate::identity::Identity;
use crate::machine_facts::MachineFacts;
use crate::page_look;
use crate::proc_files;
use crate::seen_pages::SeenPages;
use crate::thread_priority;
use crate::thread_spawning::{self, Stack};
use debt::Debt;
pub use final_figures::Word;
use look_wishes::Wishes;
pub use look_wishes::{Looked, Wish};
use memtoll_trace::ids::{ImageNo, Ticks, Units};
use memtoll_trace::meta::Resident;
use memtoll_trace::snapshot::Cause;
use peak_of_all_processes::HighestSum;
pub use polled_process::Known;
use polled_process::{Others, Watched};
pub use recent_changes::{Happened, Recent};
use rustc_hash::FxHashMap;
use std::ops::Add;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two looks when the run begins, and later: in between, a part of the time that the run has taken.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(40);
const PAUSE_OF_AGE: u32 = 32;
/// Looking takes this part of the time at the most, as where there are hundreds of processes. Half of it is for looks when a
/// process begins or ends, the other half for looks now and then.
const MOST_OF_TIME: u32 = 200;
/// Time that looking may take in any case.
const FREE: Duration = Duration::from_millis(2);

/// Pages at a new peak are written once in this time, µs.
const PAUSE_OF_PEAKS_US: u64 = 1_000_000;

struct State {
    watched: FxHashMap<ImageNo, Watched>,
    began: Instant,
    /// Time taken by looking.
    spent: Duration,
    sums: HighestSum,
    /// By process: the largest of its images, and what the last one had in the end.
    processes: FxHashMap<u32, Resident>,
    /// The program itself, and what all others had when it ended.
    program: Option<(u32, BytesRange)>,
    /// Pages are to be looked at when a resident set passes these: in order, bytes.
    sizes: Vec<u64>,
    /// The process that memtoll attaches to, until its first image begins.
    attached_to: Option<u32>,
}

impl State {
    /// Looks at all, at a time in ticks.
    fn look_at_all(&mut self, at: u64) {
        let before = processor_time();
        let State { watched, sums, .. } = self;
        let (mut sum, mut recorder, mut whole) = (BytesRange::default(), 0, 0u64);
        for watched in watched.values_mut() {
            let Some(most) = watched.look(at) else { continue };
            if std::mem::replace(&mut watched.in_round, true) {
                whole = whole.saturating_add(most);
            } else {
                sums.part(watched.began, at, most);
            }
            if let Some(last) = &watched.last {
                sum = sum + last.program();
                recorder += last.own.middle();
            }
        }
        sums.look(at, sum, recorder, whole);
        self.spent += processor_time().saturating_sub(before);
    }

    /// Looks at all if there was not too much looking already. Whether it did.
    fn look_if_affordable(&mut self, at: u64) -> bool {
        let affordable = self.spent <= self.began.elapsed() / MOST_OF_TIME + FREE;
        if affordable {
            self.look_at_all(at);
        }
        affordable
    }

    /// The process of an image has ended, at a time in ticks.
    fn ends(&mut self, image: ImageNo, at: u64) {
        let Some(watched) = self.watched.get_mut(&image).filter(|watched| watched.ended.is_none()) else { return };
        watched.ended = Some(at);
        watched.counted = proc_files::counted(watched.pid);
        let others = self.look_if_affordable(at).then(|| {
            let mut others = Others::default();
            for watched in self.watched.values() {
                if let Some(last) = watched.last.filter(|last| last.at == at) {
                    others.sum = others.sum + last.program();
                    others.recorder += last.own.middle();
                    others.newest = others.newest.max(watched.began);
                }
            }
            others
        });
        if let Some(watched) = self.watched.get_mut(&image) {
            watched.others = others;
        }
    }
}

/// Processor time of this thread. What it waits for a processor is no cost.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// All looks of a run.
pub struct Looks {
    around: Arc<MachineFacts>,
    state: Mutex<State>,
    wishes: Wishes,
}

impl Looks {
    pub fn new(around: Arc<MachineFacts>) -> Looks {
        let state = State {
            watched: FxHashMap::default(),
            began: Instant::now(),
            spent: Duration::ZERO,
            sums: HighestSum::default(),
            processes: FxHashMap::default(),
            program: None,
            sizes: Vec::new(),
            attached_to: None,
        };
        Looks { around, state: Mutex::new(state), wishes: Wishes::default() }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.around.clock.now()
    }

    /// Looks at all processes now and then, from now on.
    pub fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let looks = self.clone();
        thread_spawning::start("looks", Stack::Small, move || looks.go_on()).map(|_| ())
    }

    fn go_on(&self) {
        thread_priority::ahead();
        let began = Instant::now();
        let (mut last, mut due, mut debt) = (began, began + SHORTEST_PAUSE, Debt::default());
        while let Some(wishes) = self.wishes.wait(due) {
            wishes.into_iter().for_each(|wish| self.fulfil(wish));
            if Instant::now() < due {
                continue;
            }
            let before = processor_time();
            self.locked().look_at_all(self.now());
            let took = processor_time().saturating_sub(before);
            self.look_at_pages();
            let longest = if self.look_at_sizes() { SHORTEST_PAUSE } else { LONGEST_PAUSE };
            let now = Instant::now();
            let least = debt.pause(now - last, took).max(SHORTEST_PAUSE);
            due = now + ((now - began) / PAUSE_OF_AGE).min(longest).max(least);
            last = now;
        }
    }

    /// Looks at the pages of a process of which a thread waits, before it gives memory back. `is_over` lets it go, and says whether it has
    /// waited until then; if not, the pages were not all seen at one instant.
    pub fn look_at_peak(&self, image: ImageNo, is_over: impl FnOnce() -> bool) {
        let found = {
            let mut state = self.locked();
            let watched = state.watched.get_mut(&image).filter(|watched| watched.ended.is_none());
            watched
                .and_then(|watched| watched.may_look_before_giving_back().then(|| (watched.pid, watched.arena.clone())))
        };
        let Some((pid, arena)) = found else {
            is_over();
            return;
        };
        let before = processor_time();
        let seen = page_look::take(pid, &arena, Cause::Peak, Units(self.around.clock.units(self.now())));
        let has_waited = is_over();
        let took = processor_time().saturating_sub(before);
        if let Some(watched) = self.locked().watched.get_mut(&image) {
            watched.looked_at_pages(&seen, took);
            watched.saw_pages(seen.ok().filter(|_| has_waited));
        }
    }

    /// Looks at the processes that have passed a size. True: some process has sizes left to pass.
    fn look_at_sizes(&self) -> bool {
        let mut passed = Vec::new();
        let waits = {
            let mut state = self.locked();
            let State { watched, sizes, .. } = &mut *state;
            for (image, watched) in watched.iter_mut() {
                passed.extend(watched.take_passed(sizes).iter().map(|size| (*image, *size)));
            }
            watched.values().any(|watched| !watched.has_passed_all(sizes))
        };
        for (image, size) in passed {
            self.fulfil(Wish { image, cause: Cause::Size(size), answer: None });
        }
        waits
    }

    /// Pages are to be looked at when a resident set passes one of these sizes, bytes.
    pub fn set_sizes(&self, sizes: &[u64]) {
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        self.locked().sizes = sizes;
    }

    /// Looks at pages as soon as possible.
    pub fn wish(&self, wish: Wish) {
        self.wishes.add(wish);
    }

    /// Makes the requested page snapshots.
    fn fulfil(&self, wish: Wish) {
        let Wish { image, cause, answer } = wish;
        let found = {
            let mut state = self.locked();
            state.watched.get_mut(&image).filter(|watched| watched.ended.is_none()).and_then(|watched| {
                if matches!(cause, Cause::Mark { .. }) && !watched.may_look_at_mark() {
                    watched.marks_passed_over += 1;
                    return None;
                }
                Some((watched.pid, watched.arena.clone(), watched.seen_pages.clone()))
            })
        };
        let Some((pid, arena, seen_pages)) = found else { return };
        let before = processor_time();
        let seen = page_look::take(pid, &arena, cause, Units(self.around.clock.units(self.now())));
        let took = processor_time().saturating_sub(before);
        if let Some(watched) = self.locked().watched.get_mut(&image) {
            watched.looked_at_pages(&seen, took);
        }
        let told = match seen {
            Ok(seen) => {
                let looked = Looked { time: seen.time.0, bytes: seen.resident_bytes() };
                seen_pages.give(seen);
                arena.ring();
                Ok(looked)
            }
            Err(error) => Err(error.to_string()),
        };
        if let Some(answer) = answer {
            let _ = answer.try_send(told);
        }
    }

    /// The kernel refused a look at the pages of a process.
    pub fn is_refused(&self, image: ImageNo, error: &std::io::Error) {
        if let Some(watched) = self.locked().watched.get_mut(&image) {
            watched.is_refused(error);
        }
    }

    /// Looks at the pages of those that have more memory than ever. Nobody waits for that.
    fn look_at_pages(&self) {
        let due: Vec<_> = {
            let state = self.locked();
            let due = state.watched.iter().filter(|(_, watched)| watched.is_at_its_peak());
            due.map(|(image, watched)| (*image, watched.pid, watched.arena.clone())).collect()
        };
        for (image, pid, arena) in due {
            let before = processor_time();
            let seen = page_look::take(pid, &arena, Cause::Peak, Units(self.around.clock.units(self.now())));
            let took = processor_time().saturating_sub(before);
            if let Some(watched) = self.locked().watched.get_mut(&image) {
                watched.looked_at_pages(&seen, took);
                watched.saw_pages(seen.ok());
            }
        }
        let (now, pause) = (self.now(), PAUSE_OF_PEAKS_US * self.around.ticks_per_microsecond);
        self.locked().watched.values_mut().for_each(|watched| watched.give_peak(now, pause));
    }

    /// An image begins; its process waits meanwhile.
    pub fn begins(
        &self,
        image: ImageNo,
        pid: u32,
        arena: Arc<Arena>,
        identity: Arc<Identity>,
        seen_pages: Arc<SeenPages>,
    ) {
        let began = self.now();
        let mut watched = Watched::new(pid, identity, arena, seen_pages, began);
        let mut state = self.locked();
        watched.was_running = state.attached_to.take_if(|attached| *attached == pid).is_some();
        // One that was in this process before is over.
        state.watched.values_mut().filter(|old| old.pid == pid).for_each(|old| _ = old.ended.get_or_insert(began));
        let watched = state.watched.entry(image).insert_entry(watched).into_mut();
        watched.look(began);
        state.look_if_affordable(began);
    }

    /// The next image of this process was running before.
    pub fn attaches_to(&self, pid: u32) {
        self.locked().attached_to = Some(pid);
    }

    /// Whether memtoll was attached to the process of this image.
    pub fn was_running(&self, image: ImageNo) -> bool {
        self.locked().watched.get(&image).is_some_and(|watched| watched.was_running)
    }

    /// The process of an image has ended: when. The sooner this is called, the likelier it is that its parent has not waited for
    /// it yet.
    pub fn ended(&self, image: ImageNo) -> Ticks {
        let now = self.now();
        self.locked().ends(image, now);
        Ticks(now)
    }

    /// An image is not recorded any longer, and its process goes on. Since when.
    pub fn leaves(&self, image: ImageNo) -> Ticks {
        let (mut state, now) = (self.locked(), self.now());
        if let Some(watched) = state.watched.get_mut(&image) {
            watched.look(now);
        }
        state.ends(image, now);
        Ticks(now)
    }

    /// The program itself has ended, and memtoll has not waited for it yet.
    pub fn program_ended(&self, pid: u32) {
        let mut state = self.locked();
        let at = self.now();
        let images: Vec<ImageNo> =
            state.watched.iter().filter(|(_, watched)| watched.pid == pid).map(|(image, _)| *image).collect();
        images.into_iter().for_each(|image| state.ends(image, at));
        let mut others = BytesRange::default();
        for watched in state.watched.values_mut().filter(|watched| watched.pid != pid) {
            if watched.look(at).is_some()
                && let Some(last) = &watched.last
            {
                others = others + last.program();
            }
        }
        state.program = Some((pid, others));
    }

    /// An image is over, or is not recorded any longer. `word`: what its process said last. `happened`: what the kernel told of
    /// it.
    pub fn finished(&self, image: ImageNo, word: Option<Word>, happened: &Recent) -> Known {
        let now = self.now();
        let mut state = self.locked();
        let Some(mut watched) = state.watched.remove(&image) else { return Known::default() };
        watched.look(now); // if it goes on
        let ended = watched.ended.unwrap_or(now);
        let seen_last = watched.last.map(|last| last.at);
        let last_word = word.filter(|word| word.holds(watched.last.as_ref(), watched.counted));
        if let Some((at, at_end)) = last_word.and_then(|word| Some((word.at, word.resident?.at_end?))) {
            watched.curve.end(at, at_end.bytes);
        }
        let (curve, pages_at_peak) = (watched.curve.take(|at| self.around.clock.units(at)), watched.take_peak());
        let known = watched.known(ended, happened, |ticks| ticks >> crate::clock::UNIT_TICKS_LOG2);
        let known = match last_word {
            Some(word) => Known { usage: Some(word.usage), resident: word.resident.or(known.resident), ..known },
            None => known,
        };
        let (marks_passed_over, pages_refused) = (watched.marks_passed_over, watched.pages_refused.take());
        let known = Known { curve, pages_at_peak, marks_passed_over, pages_refused, ..known };
        if let Some(resident) = &known.resident {
            let from = if watched.in_round { seen_last.unwrap_or(watched.began) } else { watched.began };
            let most = resident.program.saturating_add(resident.error);
            state.sums.part(from, ended.max(from + 1), most);
            // It was there when it spoke, also if that was not its last word.
            let last_seen = word.map_or(0, |word| word.at).max(seen_last.unwrap_or(0));
            if let (Some(others), Some(at_end)) = (watched.others.filter(|o| o.newest < last_seen), resident.at_end) {
                let last = BytesRange::from(at_end);
                let own = watched.last.map_or(0, |last| last.own.middle());
                state.sums.saw(last + others.sum, others.recorder + own);
            }
            let process = state.processes.entry(watched.pid).or_default();
            let larger = if resident.program > process.program { *resident } else { *process };
            *process = Resident { at_end: resident.at_end, ..larger };
        }
        known
    }

    /// All is over: what all processes had together.
    pub fn finish(&self) -> Option<Resident> {
        self.wishes.end();
        let mut state = self.locked();
        let (sums, processes) = (std::mem::take(&mut state.sums), std::mem::take(&mut state.processes));
        let program = state.program;
        drop(state);
        let largest = *processes.values().max_by_key(|resident| resident.program)?;
        let (seen, recorder) = sums.found();
        let of_one = |resident: &Resident| BytesRange::around(resident.program, resident.error);
        // A process's own word is better than looks, and no process had more than all together, nor all more than the
        // sum of what each had.
        let all = processes.values().map(of_one).fold(BytesRange::default(), BytesRange::add);
        let (sum, recorder) = match processes.len() {
            1 => (of_one(&largest), largest.recorder),
            _ if of_one(&largest).least > seen.least => {
                let least = of_one(&largest).least;
                (BytesRange { least, most: seen.most.min(all.most).max(least) }, largest.recorder)
            }
            _ => (BytesRange { most: seen.most.min(all.most).max(seen.least), ..seen }, recorder),
        };
        let at_end = program.and_then(|(pid, others)| {
            let own = processes.get(&pid)?;
            Some(BytesRange::from(own.at_end?) + others)
        });
        Some(Resident {
            program: sum.middle(),
            recorder,
            error: sum.error(),
            at_end: at_end.map(BytesRange::into),
            unseen: if processes.len() == 1 { largest.unseen } else { None },
        })
    }
}
