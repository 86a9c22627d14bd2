//! For whom a thread waits that sleeps inside an allocator call: for one that was in the allocator when it fell asleep. If there
//! is none, it waits for no lock: it is stopped or throttled, or the kernel fetches a page.
//!
//! A call that acquires is told when it returns, which may be long after the sleeper has woken and returned itself: the one
//! that wakes another often loses the processor to it. So each thread's next call after another fell asleep is compared with
//! that instant (`Thread::compared`), and a wait of which all others have not made their next call stays undecided for a while.

use super::Join;
use super::threads::{Call, Effect, Off, SleepNo, Thread};
use memtoll_trace::costs::{Cost, CostKind};
use memtoll_trace::ids::{ThreadNo, Ticks};
use std::collections::VecDeque;

/// Sleepers that are remembered. Older ones are decided by what was known of them.
const MOST: usize = 256;

/// From when the kernel looks at the lock's word until it takes the processor away, microseconds. Who gave the lock back in this
/// time wakes the sleeper at once.
const TO_SLEEP_MICROSECONDS: u64 = 3;
/// The longest that such a sleeper sleeps, microseconds: the processors may be busy.
const SHORT_SLEEP_MICROSECONDS: u64 = 1_000;
/// So long after its end, a wait is decided without the calls that are still missing, microseconds.
const PATIENCE_MICROSECONDS: u64 = 20_000;

/// A thread that was in the allocator when another one fell asleep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Holder {
    /// Its call lasted beyond that instant; otherwise it had returned just before.
    was_inside: bool,
    until: Ticks,
    thread: ThreadNo,
}

struct Sleeper {
    thread: ThreadNo,
    from: Ticks,
    holder: Option<Holder>,
}

/// Time inside a call without the processor, of which it is not known yet what for.
struct Undecided {
    cost: Cost,
    sleep: SleepNo,
    off: Off,
}

/// Who fell asleep, and who was in the allocator then.
#[derive(Default)]
pub struct LockHolders {
    recent: VecDeque<Sleeper>,
    /// How many were before the first of these.
    forgotten: u64,
    undecided: Vec<Undecided>,
}

impl LockHolders {
    #[inline(always)]
    pub fn next(&self) -> SleepNo {
        SleepNo(self.forgotten + self.recent.len() as u64)
    }

    pub fn falls_asleep(&mut self, thread: ThreadNo, from: Ticks) -> SleepNo {
        let number = self.next();
        if self.recent.len() == MOST {
            self.recent.pop_front();
            self.forgotten += 1;
        }
        self.recent.push_back(Sleeper { thread, from, holder: None });
        number
    }

    fn index(&self, number: SleepNo) -> usize {
        number.0.saturating_sub(self.forgotten) as usize
    }

    fn get(&self, number: SleepNo) -> Option<&Sleeper> {
        if number.0 < self.forgotten { None } else { self.recent.get(self.index(number)) }
    }
}

/// Whether a call of a thread was in the allocator at an instant, or just before.
fn held(thread: ThreadNo, call: &Call, at: Ticks, just_before: Ticks) -> Option<Holder> {
    let is_in_allocator = call.effect != Effect::Mapping && call.end > Ticks::ZERO;
    let meets = is_in_allocator && call.begin <= at && call.end.saturating_add(just_before) >= at;
    meets.then_some(Holder { was_inside: call.end >= at, until: call.end, thread })
}

impl Join {
    /// A thread calls. Was it, in this call or in the one before, in the allocator when others fell asleep?
    pub(super) fn compare_with_sleepers(&mut self, number: ThreadNo, call: &Call) {
        let just_before = self.around.microseconds(TO_SLEEP_MICROSECONDS);
        let next = self.lock_holders.next();
        let Some(thread) = self.threads.by_number(number) else { return };
        if thread.compared == next {
            return;
        }
        let (first, last) = (self.lock_holders.index(thread.compared), thread.last);
        thread.compared = next;
        for sleeper in self.lock_holders.recent.iter_mut().skip(first).filter(|sleeper| sleeper.thread != number) {
            for call in [&last, call] {
                sleeper.holder = sleeper.holder.max(held(number, call, sleeper.from, just_before));
            }
        }
        if !self.lock_holders.undecided.is_empty() {
            self.decide(call.begin);
        }
    }

    /// A thread did not have the processor inside an allocator call, and the kernel had not taken it away.
    pub(super) fn slept_inside(&mut self, cost: Cost, off: Off) {
        let Some(sleep) = off.sleep.filter(|_| off.read.is_none()) else {
            return self.push(Cost { kind: CostKind::Halted, ..cost });
        };
        self.lock_holders.undecided.push(Undecided { cost, sleep, off });
        self.decide(off.to);
    }

    /// Decides what can be decided at an instant.
    pub(super) fn decide(&mut self, now: Ticks) {
        let patience = self.around.microseconds(PATIENCE_MICROSECONDS);
        for wait in std::mem::take(&mut self.lock_holders.undecided) {
            let (holder, is_complete) = self.lock_holder(&wait);
            let cost = match holder {
                Some(holder) => Cost { kind: CostKind::Waiting, holder: Some(holder), ..wait.cost },
                None if is_complete || now >= wait.off.to.saturating_add(patience) => {
                    Cost { kind: CostKind::Halted, ..wait.cost }
                }
                None => {
                    self.lock_holders.undecided.push(wait);
                    continue;
                }
            };
            self.push(cost);
        }
    }

    /// For whom a thread waited, as far as that is known, and whether more is to come.
    fn lock_holder(&self, wait: &Undecided) -> (Option<ThreadNo>, bool) {
        let just_before = self.around.microseconds(TO_SLEEP_MICROSECONDS);
        let mut found = self.lock_holders.get(wait.sleep).and_then(|sleeper| sleeper.holder);
        let mut is_complete = true;
        let is_other = |thread: &&Thread| thread.number.is_some() && thread.number != wait.cost.thread;
        for thread in self.threads.iter().filter(is_other).filter(|thread| thread.compared <= wait.sleep) {
            is_complete &= thread.is_gone;
            let held = thread.number.and_then(|number| held(number, &thread.last, wait.off.from, just_before));
            found = found.max(held);
        }
        let is_short = wait.off.to - wait.off.from <= self.around.microseconds(SHORT_SLEEP_MICROSECONDS);
        let holder = found.filter(|holder| holder.was_inside || is_short);
        (holder.map(|holder| holder.thread), is_complete)
    }
}
