//! How long page faults take: an estimate, made of what the machine takes when nothing else happens and of the faults of
//! the recording that were timed. What a call did beside its faults is what is left of its time.

use memtoll_trace::ids::Ticks;
use memtoll_trace::meta::TimedFaults;

/// Ordinary faults that take as long as one of a huge page: 80 to 120 us for zeroing 2 MiB, against 1 to 1.5 us.
const HUGE_FAULT_PAGES: u64 = 80;

/// Into the kernel and back takes this part of a fault that finds its page zeroed: 0.5 of 1.5 us. The kernel times only what
/// is between.
const WAY: u64 = 3;

/// What is known of a fault, as far as its time is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// The kernel made a huge page.
    pub huge: bool,
    /// Faults that it stands for: itself, and others that were not seen.
    pub weight: u32,
    /// How long the kernel handled it, ns, if that is known.
    pub handling: Option<u32>,
    /// Of a huge page: how long its thread had run until then since it was last seen to do something else, ns.
    pub span: Option<u32>,
}

/// What the estimate is made of.
#[derive(Clone, Copy, Debug)]
pub struct FaultTime {
    /// What a fault takes when nothing else happens.
    pub quiet: Ticks,
    pub ticks_per_microsecond: u64,
}

impl FaultTime {
    fn ticks(&self, ns: u64) -> Ticks {
        Ticks(ns.saturating_mul(self.ticks_per_microsecond) / 1000)
    }

    /// A span as ns, if that is no more than the kernel would tell.
    pub fn nanoseconds(&self, span: Ticks) -> Option<u32> {
        u32::try_from(span.0.checked_mul(1000)?.checked_div(self.ticks_per_microsecond)?).ok()
    }

    /// What a fault, and those that it stands for, take of the calls that they happen in. `timed`: faults of its kind whose
    /// time is known.
    pub fn of(&self, fault: Observed, timed: &TimedFaults) -> Ticks {
        let with_its_way = |ns: u64| self.ticks(ns).saturating_add(Ticks(self.quiet.0 / WAY));
        let each = match timed.time.checked_div(timed.faults) {
            Some(ns) => with_its_way(ns),
            None => self.quiet.times(if fault.huge { HUGE_FAULT_PAGES } else { 1 }),
        };
        let this = fault.handling.map_or(each, |ns| with_its_way(ns.into()));
        this.saturating_add(each.times(u64::from(fault.weight.saturating_sub(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: FaultTime = FaultTime { quiet: Ticks(3000), ticks_per_microsecond: 2000 };
    const NONE: TimedFaults = TimedFaults { samples: 0, faults: 0, time: 0 };

    fn seen(weight: u32, handling: Option<u32>) -> Observed {
        Observed { huge: false, weight, handling, span: None }
    }

    #[test]
    fn where_nothing_was_timed_a_fault_takes_what_it_takes_on_a_quiet_machine() {
        assert_eq!(TIME.of(seen(1, None), &NONE), Ticks(3000));
        assert_eq!(TIME.of(seen(17, None), &NONE), Ticks(17 * 3000));
        assert_eq!(TIME.of(Observed { huge: true, ..seen(1, None) }, &NONE), Ticks(80 * 3000));
    }

    #[test]
    fn a_timed_fault_takes_its_own_time_and_those_that_it_stands_for_the_mean() {
        let timed = TimedFaults { samples: 4, faults: 10, time: 20_000 }; // 2 us each
        assert_eq!(TIME.of(seen(1, None), &timed), Ticks(4000 + 1000));
        assert_eq!(TIME.of(seen(1, Some(500)), &timed), Ticks(1000 + 1000));
        assert_eq!(TIME.of(seen(3, Some(500)), &timed), Ticks(2000 + 2 * 5000));
        assert_eq!(TIME.of(seen(u32::MAX, Some(u32::MAX)), &TimedFaults { time: u64::MAX, ..timed }), Ticks::MAX);
    }

    #[test]
    fn spans_become_what_the_kernel_would_have_told() {
        assert_eq!(TIME.nanoseconds(Ticks(3000)), Some(1500));
        assert_eq!(TIME.nanoseconds(Ticks(u64::MAX / 4)), None);
    }
}
