//! Looks at the processes of the run while they run: their resident sets and what the kernel counts for them.
//!
//! A process that ends by itself says both with its last word, and knows better. One that is killed has no time for words, and
//! its memory is gone before memtoll hears of its end: then the last look tells, with what the kernel told of page
//! faults since. And only looks at all processes at once say what they had together.

mod bytes_range;
mod highest_sum;
mod recent;
mod word;

use crate::arena::Arena;
use crate::identity::Identity;
use crate::process::{self, Memory};
use crate::surroundings::Surroundings;
use crate::threads::{self, Stack};
use crate::urgency;
pub use bytes_range::BytesRange;
use highest_sum::HighestSum;
use memtoll_trace::ids::ImageNo;
use memtoll_trace::meta::{Resident, Usage};
pub use recent::{Happened, Recent};
use rustc_hash::FxHashMap;
use std::ops::Add;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
pub use word::Word;

/// Time between two looks when the run begins, and later: in between, a part of the time that the run has taken.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(40);
const PAUSE_OF_AGE: u32 = 32;
/// Looking takes this part of the time at the most, as where there are hundreds of processes. Half of it is for looks when a
/// process begins or ends.
const MOST_OF_TIME: u32 = 200;
/// Time that looking may take in any case.
const FREE: Duration = Duration::from_millis(2);
/// Looks at a process that has run for a while, for one look at its title.
const LOOKS_PER_TITLE: u32 = 8;

/// What is known of a process image that is over.
#[derive(Default)]
pub struct Known {
    pub usage: Option<Usage>,
    pub resident: Option<Resident>,
    /// What the process showed last in the place of its command line.
    pub title: Option<String>,
}

/// What one look saw.
#[derive(Clone, Copy)]
struct Look {
    /// Ticks.
    at: u64,
    memory: Memory,
    usage: Option<Usage>,
    /// What the recorder has, with the program's unwinding tables that it read.
    own: BytesRange,
}

impl Look {
    /// The program's part of the resident set.
    fn program(&self) -> BytesRange {
        BytesRange::rest_of(self.memory.now, self.own)
    }
}

struct Watched {
    pid: u32,
    identity: Arc<Identity>,
    title: Option<String>,
    /// Looks so far.
    looks: u32,
    arena: Arc<Arena>,
    /// Ticks.
    began: u64,
    last: Option<Look>,
    /// Whether all were looked at since it began.
    in_round: bool,
    /// The program's part of the largest resident set, and the recorder's at that time.
    peak: BytesRange,
    own_at_peak: BytesRange,
    /// When its end was noticed, ticks, and what the kernel had counted then.
    ended: Option<u64>,
    counted: Option<Usage>,
    others: Option<Others>,
}

/// All other processes when one had ended.
#[derive(Clone, Copy, Default)]
struct Others {
    /// What they had together, and the recorder in them.
    sum: BytesRange,
    recorder: u64,
    /// When the last of them began, ticks: perhaps after the end of the first, of which memtoll hears a little later.
    newest: u64,
}

impl Watched {
    /// Looks. Returns the most that the program may have had since the look before; `None`: it is gone, or executes
    /// another program, whose image will say so.
    fn look(&mut self, at: u64) -> Option<u64> {
        if self.ended.is_some() {
            return None;
        }
        let memory = process::memory(self.pid)?;
        if self.last.is_some_and(|last| memory.largest < last.memory.largest) {
            return None;
        }
        self.looks += 1;
        // Titles are changed soon after the begin, or now and then.
        if self.looks.is_power_of_two() || self.looks.is_multiple_of(LOOKS_PER_TITLE) {
            self.title = self.identity.title_of(self.pid).or(self.title.take());
        }
        let own = self.arena.own_memory();
        let before = self.last.replace(Look { at, memory, usage: process::counted(self.pid), own });
        let last = self.last?;
        let has_grown = before.is_none_or(|before| memory.largest > before.memory.largest);
        if has_grown {
            // Reached between the two looks, with what the recorder had in one of them or in between.
            let least = before.map_or(0, |before| before.own.least);
            let then = BytesRange { least: least.min(own.least), most: own.most };
            let program = BytesRange::rest_of(memory.largest, then);
            if program.middle() > self.peak.middle() {
                (self.peak, self.own_at_peak) = (program, then);
            }
        }
        let most = |before: Look| {
            if has_grown {
                return self.peak.most;
            }
            let came = pages_between(before.usage, last.usage).unwrap_or(u64::MAX);
            let (then, now) = (before.program().most, last.program().most);
            then.saturating_add(came).min(self.peak.most).max(then).max(now)
        };
        Some(before.map_or(self.peak.most, most))
    }

    /// What looks say of it, now that it is over. `happened` tells what the kernel told after a time.
    fn known(&self, ended: u64, happened: &Recent, units: impl Fn(u64) -> u64) -> Known {
        let Some(last) = self.last else {
            return Known { usage: self.counted, resident: None, title: self.title.clone() };
        };
        let counted = pages_between(last.usage, self.counted);
        // What is forgotten may have been anything.
        let told = happened.after(last.at);
        let (came, went) = match (told, counted) {
            (Some(told), counted) => (told.came.max(counted.unwrap_or(0)), told.went),
            (None, Some(counted)) => (counted, u64::MAX),
            (None, None) => return Known { usage: None, resident: None, title: self.title.clone() },
        };
        let now = last.program();
        let at_end = BytesRange { least: now.least.saturating_sub(went), most: now.most.saturating_add(came) };
        let peak = BytesRange { least: self.peak.least.max(now.least), most: self.peak.most.max(at_end.most) };
        let resident = Resident {
            program: peak.middle(),
            recorder: self.own_at_peak.middle(),
            error: peak.error(),
            at_end: Some(at_end.into()),
            unseen: Some(units(ended.saturating_sub(last.at))),
        };
        let processor = told.map_or(0, |told| told.processor);
        let until_then = |usage: Usage| Usage { user_ns: usage.user_ns + processor, ..usage };
        let usage = self.counted.or(last.usage.map(until_then));
        Known { usage, resident: Some(resident), title: self.title.clone() }
    }
}

/// Bytes of the pages that came between two counts of page faults, if each was one page.
fn pages_between(before: Option<Usage>, then: Option<Usage>) -> Option<u64> {
    Some(then?.faults().saturating_sub(before?.faults()).saturating_mul(crate::arch::page()))
}

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
        watched.counted = process::counted(watched.pid);
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
    around: Arc<Surroundings>,
    state: Mutex<State>,
    over: Mutex<bool>,
    ends: Condvar,
}

impl Looks {
    pub fn new(around: Arc<Surroundings>) -> Looks {
        let state = State {
            watched: FxHashMap::default(),
            began: Instant::now(),
            spent: Duration::ZERO,
            sums: HighestSum::default(),
            processes: FxHashMap::default(),
            program: None,
        };
        Looks { around, state: Mutex::new(state), over: Mutex::default(), ends: Condvar::new() }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.around.clock.now()
    }

    /// Looks at all processes now and then, from now on.
    ///
    /// # Errors
    /// There are no more threads.
    pub fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let looks = self.clone();
        threads::start("looks", Stack::Small, move || looks.go_on()).map(|_| ())
    }

    fn go_on(&self) {
        urgency::ahead();
        let began = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            over = self.ends.wait_timeout(over, pause).unwrap_or_else(PoisonError::into_inner).0;
            if *over {
                return;
            }
            let before = processor_time();
            self.locked().look_at_all(self.now());
            let took = processor_time().saturating_sub(before);
            let least = (took * MOST_OF_TIME * 2).max(SHORTEST_PAUSE);
            pause = (began.elapsed() / PAUSE_OF_AGE).min(LONGEST_PAUSE).max(least);
        }
    }

    /// An image begins; its process waits meanwhile.
    pub fn begins(&self, image: ImageNo, pid: u32, arena: Arc<Arena>, identity: Arc<Identity>) {
        let began = self.now();
        let watched = Watched {
            pid,
            identity,
            title: None,
            looks: 0,
            arena,
            began,
            last: None,
            in_round: false,
            peak: BytesRange::default(),
            own_at_peak: BytesRange::default(),
            ended: None,
            counted: None,
            others: None,
        };
        let mut state = self.locked();
        // One that was in this process before is over.
        state.watched.values_mut().filter(|old| old.pid == pid).for_each(|old| _ = old.ended.get_or_insert(began));
        let watched = state.watched.entry(image).insert_entry(watched).into_mut();
        watched.look(began);
        state.look_if_affordable(began);
    }

    /// The process of an image has ended. The sooner this is said, the likelier is it that its parent has not waited for it
    /// yet.
    pub fn ended(&self, image: ImageNo) {
        self.locked().ends(image, self.now());
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
        let known = watched.known(ended, happened, |ticks| ticks >> crate::clock::UNIT_TICKS_LOG2);
        let known = match word.filter(|word| word.holds(watched.last.as_ref(), watched.counted)) {
            Some(word) => {
                Known { usage: Some(word.usage), resident: word.resident.or(known.resident), title: known.title }
            }
            None => known,
        };
        if let Some(resident) = &known.resident {
            let from = if watched.in_round { seen_last.unwrap_or(watched.began) } else { watched.began };
            let most = resident.program.saturating_add(resident.error);
            state.sums.part(from, ended.max(from + 1), most);
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
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ends.notify_all();
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
