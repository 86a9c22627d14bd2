//! A process under observation, and its figures when it has ended.

use super::Recent;
use super::resident_curve::ResidentCurve;
use crate::arena::Arena;
use crate::bytes_range::BytesRange;
use crate::identity::Identity;
use crate::proc_files::{self, Memory};
use crate::seen_pages::SeenPages;
use memtoll_trace::meta::{Resident, Usage};
use memtoll_trace::snapshot::Snapshot;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Looks at a process that has run for a while, for one look at its title.
const LOOKS_PER_TITLE: u32 = 8;

/// What is known of a process image that is over.
#[derive(Default)]
pub struct Known {
    pub usage: Option<Usage>,
    pub resident: Option<Resident>,
    /// What the process showed last in the place of its command line.
    pub title: Option<String>,
    /// The program's part of the resident set, as looks saw it: when, units, and how many bytes.
    pub curve: Vec<(u64, u64)>,
    /// The pages where it was largest.
    pub pages_at_peak: Option<Snapshot>,
    /// Marks at which the pages were not looked at.
    pub marks_passed_over: u64,
    /// Why the kernel did not show the pages.
    pub pages_refused: Option<String>,
}

/// What one look saw.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Ticks.
    pub(super) at: u64,
    pub(super) memory: Memory,
    pub(super) usage: Option<Usage>,
    /// What the recorder has, with the program's unwinding tables that it read.
    pub(super) own: BytesRange,
}

impl Look {
    /// The program's part of the resident set.
    pub(super) fn program(&self) -> BytesRange {
        BytesRange::rest_of(self.memory.now, self.own)
    }
}

pub(super) struct Watched {
    pub(super) pid: u32,
    pub(super) identity: Arc<Identity>,
    /// Whether the process was running before: then the kernel's largest resident set may be from before.
    pub(super) was_running: bool,
    pub(super) title: Option<String>,
    /// Looks so far.
    pub(super) looks: u32,
    pub(super) arena: Arc<Arena>,
    /// Ticks.
    pub(super) began: u64,
    pub(super) last: Option<Look>,
    /// Whether all were looked at since it began.
    pub(super) in_round: bool,
    /// The program's part of the largest resident set, and the recorder's at that time.
    pub(super) peak: BytesRange,
    pub(super) own_at_peak: BytesRange,
    /// When its end was noticed, ticks, and what the kernel had counted then.
    pub(super) ended: Option<u64>,
    pub(super) counted: Option<Usage>,
    pub(super) others: Option<Others>,
    pub(super) curve: ResidentCurve,
    pub(super) pages_at_peak: Option<Snapshot>,
    /// When such pages were handed over to be written, ticks, and whether these were.
    peak_given: u64,
    is_peak_given: bool,
    /// Where looks go that were wished for.
    pub(super) seen_pages: Arc<SeenPages>,
    /// Marks that were not looked at: it would have taken too long.
    pub(super) marks_passed_over: u64,
    /// Why the kernel refused the first look that it refused.
    pub(super) pages_refused: Option<String>,
    /// The resident set for which the process asked last for a look before it gave memory back, or more, bytes.
    asked_above: u64,
    /// How many of the sizes it has passed for which its pages are looked at.
    sizes_passed: usize,
    /// Processor time that looks at pages took.
    page_looks: Duration,
}

/// All other processes when one had ended.
#[derive(Clone, Copy, Default)]
pub(super) struct Others {
    /// What they had together, and the recorder in them.
    pub(super) sum: BytesRange,
    pub(super) recorder: u64,
    /// When the last of them began, ticks: perhaps after the end of the first, of which memtoll hears a little later.
    pub(super) newest: u64,
}

impl Watched {
    pub(super) fn new(
        pid: u32,
        identity: Arc<Identity>,
        arena: Arc<Arena>,
        seen_pages: Arc<SeenPages>,
        began: u64,
    ) -> Watched {
        Watched {
            pid,
            identity,
            was_running: false,
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
            curve: ResidentCurve::default(),
            pages_at_peak: None,
            peak_given: began,
            is_peak_given: false,
            seen_pages,
            marks_passed_over: 0,
            pages_refused: None,
            asked_above: 0,
            sizes_passed: 0,
            page_looks: Duration::ZERO,
        }
    }

    /// Whether a look at its pages is due: it has more than at the last one by a part, and such looks have taken next to nothing
    /// of its time.
    pub(super) fn is_at_its_peak(&self) -> bool {
        let (Some(last), None) = (&self.last, self.ended) else { return false };
        let before = self.pages_at_peak.as_ref().map_or(0, Snapshot::resident_bytes);
        last.memory.now >= next_peak(before) && self.may_look_at_pages(last.memory.now, last.usage, Duration::ZERO)
    }

    /// Tells the recorder from which resident set on it waits for a look before it gives memory back.
    fn set_look_above(&self) {
        let resident = self.last.map_or(0, |last| last.memory.now);
        let is_affordable = self.may_look_at_pages(resident, self.last.and_then(|last| last.usage), Duration::ZERO);
        let before = self.pages_at_peak.as_ref().map_or(0, Snapshot::resident_bytes);
        let above = next_peak(before.max(self.asked_above));
        self.arena.set_look_above(if is_affordable { u32::try_from(above >> 10).unwrap_or(0) } else { 0 });
    }

    /// Whether the pages are to be looked at before it gives memory back. It compares the largest resident set so far with what it was
    /// told; that may have been earlier, or before it executed its program.
    pub(super) fn may_look_before_giving_back(&mut self) -> bool {
        let before = self.pages_at_peak.as_ref().map_or(0, Snapshot::resident_bytes);
        let above = next_peak(before.max(self.asked_above));
        let resident = proc_files::resident_set(self.pid).unwrap_or_default();
        let is_highest = resident >= next_peak(before);
        // It asks again when it has more than now, by a part.
        self.asked_above = above.max(resident);
        let may = is_highest && self.may_look_at_pages(resident, proc_files::counted(self.pid), Duration::ZERO);
        self.set_look_above();
        may
    }

    /// Whether looks at its pages, with one more at this resident set, bytes, take less than 1 % of its CPU time, or less than `free`.
    fn may_look_at_pages(&self, resident: u64, usage: Option<Usage>, free: Duration) -> bool {
        const PART_OF_TIME: u32 = 100;
        const NS_PER_MIB: u64 = 3_000;
        let used = Duration::from_nanos(usage.map_or(0, |usage| usage.cpu_ns()));
        let takes = Duration::from_nanos((resident >> 20) * NS_PER_MIB);
        self.page_looks + takes <= used / PART_OF_TIME + free
    }

    /// The same for a look that the program's author has asked for, by a mark.
    pub(super) fn may_look_at_mark(&self) -> bool {
        /// A mark in the first moments counts, too.
        const FREE: Duration = Duration::from_millis(2);
        let resident = proc_files::resident_set(self.pid).unwrap_or_default();
        self.may_look_at_pages(resident, proc_files::counted(self.pid), FREE)
    }

    /// Hands over the pages at the peak so far to be written, if they are others than before: so they can be seen while the process runs,
    /// and memtoll may be killed with it. Only after a `pause` in ticks.
    pub(super) fn give_peak(&mut self, now: u64, pause: u64) {
        if let (Some(pages), false) = (&self.pages_at_peak, self.is_peak_given)
            && now.saturating_sub(self.peak_given) >= pause
        {
            self.seen_pages.give(pages.clone());
            (self.peak_given, self.is_peak_given) = (now, true);
        }
    }

    /// The pages at the peak, if they are not handed over.
    pub(super) fn take_peak(&mut self) -> Option<Snapshot> {
        self.pages_at_peak.take().filter(|_| !self.is_peak_given)
    }

    /// Those of the sizes, which are in order, that it has passed since this was asked last.
    pub(super) fn take_passed<'s>(&mut self, sizes: &'s [u64]) -> &'s [u64] {
        let (Some(last), None) = (&self.last, self.ended) else { return &[] };
        let from = self.sizes_passed;
        self.sizes_passed = sizes.partition_point(|size| *size <= last.memory.now).max(from);
        &sizes[from..self.sizes_passed]
    }

    /// Whether it has passed all of them, or is over.
    pub(super) fn has_passed_all(&self, sizes: &[u64]) -> bool {
        self.ended.is_some() || self.sizes_passed >= sizes.len()
    }

    /// A look at its pages has ended, and took so much processor time.
    pub(super) fn looked_at_pages(&mut self, seen: &io::Result<Snapshot>, took: Duration) {
        self.page_looks += took;
        if let Err(error) = seen {
            self.is_refused(error);
        }
    }

    /// The kernel refused a look at its pages.
    pub(super) fn is_refused(&mut self, error: &io::Error) {
        let has_ended = error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH);
        if self.pages_refused.is_none() && !has_ended && proc_files::exists(self.pid) {
            self.pages_refused = Some(error.to_string());
        }
    }

    /// The pages, if they are known, at what may be the highest resident set.
    pub(super) fn saw_pages(&mut self, seen: Option<Snapshot>) {
        let largest = self.pages_at_peak.as_ref().map_or(0, Snapshot::resident_bytes);
        if let Some(seen) = seen.filter(|seen| seen.resident_bytes() > largest) {
            self.pages_at_peak = Some(seen);
            self.is_peak_given = false;
        }
        self.set_look_above();
    }

    /// Looks. Returns the most that the program may have had since the look before; `None`: it is gone, or executes
    /// another program, whose image will say so.
    pub(super) fn look(&mut self, at: u64) -> Option<u64> {
        if self.ended.is_some() {
            return None;
        }
        let memory = proc_files::memory(self.pid)?;
        if self.last.is_some_and(|last| memory.largest < last.memory.largest) {
            return None;
        }
        self.looks += 1;
        // Programs set their titles soon after they begin, or now and then. One that has just been started has none; a forked child may
        // have its parent's.
        let is_first = self.looks == 1 && self.identity.is_of(self.pid);
        if !is_first && self.looks.is_power_of_two() || self.looks.is_multiple_of(LOOKS_PER_TITLE) {
            self.title = self.identity.title_of(self.pid).or(self.title.take());
        }
        let own = self.arena.own_memory();
        let before = self.last.replace(Look { at, memory, usage: proc_files::counted(self.pid), own });
        let last = self.last?;
        self.set_look_above();
        self.curve.add(at, last.program().middle());
        let has_grown = before.is_none_or(|before| memory.largest > before.memory.largest);
        if self.was_running && (before.is_none() || !has_grown) {
            let program = last.program();
            if program.middle() > self.peak.middle() {
                (self.peak, self.own_at_peak) = (program, own);
            }
        } else if has_grown {
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
    pub(super) fn known(&self, ended: u64, happened: &Recent, units: impl Fn(u64) -> u64) -> Known {
        let Some(last) = self.last else {
            return Known { usage: self.counted, title: self.title.clone(), ..Known::default() };
        };
        let counted = pages_between(last.usage, self.counted);
        // What is forgotten may have been anything.
        let told = happened.after(last.at);
        let (came, went) = match (told, counted) {
            (Some(told), counted) => (told.came.max(counted.unwrap_or(0)), told.went),
            (None, Some(counted)) => (counted, u64::MAX),
            (None, None) => return Known { title: self.title.clone(), ..Known::default() },
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
        Known { usage, resident: Some(resident), title: self.title.clone(), ..Known::default() }
    }
}

/// The resident set, bytes, that leads to the next look after one at this size.
fn next_peak(before: u64) -> u64 {
    const LEAST: u64 = 16 << 20;
    const STEP: u64 = 16;
    (before + before / STEP).max(LEAST)
}

/// Bytes of the pages that came between two counts of page faults, if each was one page.
fn pages_between(before: Option<Usage>, then: Option<Usage>) -> Option<u64> {
    Some(then?.faults().saturating_sub(before?.faults()).saturating_mul(crate::proc_files::page()))
}
