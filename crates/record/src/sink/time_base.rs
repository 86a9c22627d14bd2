//! Times of one image's events, as the file has them: they never decrease.

use crate::clock::UNIT_TICKS_LOG2;
use crate::machine_facts::MachineFacts;
use memtoll_trace::ids::{Ticks, Units};
use std::sync::Arc;

pub struct TimeBase {
    around: Arc<MachineFacts>,
    last: Units,
    late: u64,
}

impl TimeBase {
    pub fn new(around: Arc<MachineFacts>) -> TimeBase {
        TimeBase { around, last: Units::ZERO, late: 0 }
    }

    /// When something happened.
    #[inline(always)]
    pub fn at(&self, instant: Ticks) -> Units {
        self.around.at(instant)
    }

    /// The time of the next event. One that came too late gets that of the one before.
    #[inline(always)]
    pub fn next(&mut self, instant: Ticks) -> Units {
        self.next_at(self.at(instant))
    }

    /// The same where that is known in units.
    #[inline(always)]
    pub fn next_at(&mut self, time: Units) -> Units {
        if time < self.last {
            self.late += 1;
            return self.last;
        }
        self.last = time;
        time
    }

    /// The time of the last event.
    pub fn last(&self) -> Units {
        self.last
    }

    /// Events that came too late.
    pub fn late(&self) -> u64 {
        self.late
    }

    pub fn microseconds(&self, microseconds: u64) -> Units {
        Units(self.around.microseconds(microseconds).0 >> UNIT_TICKS_LOG2)
    }

    /// The same in ticks.
    pub fn ticks(&self, microseconds: u64) -> Ticks {
        self.around.microseconds(microseconds)
    }

    pub fn now(&self) -> Ticks {
        Ticks(self.around.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn times_never_decrease() {
        let mut time = TimeBase::new(Arc::new(MachineFacts::look(Clock::start())));
        let now = time.now();
        let later = |units: u64| now + Ticks(units << UNIT_TICKS_LOG2);
        let first = time.next(later(100));
        assert_eq!((time.next(later(90)), time.late()), (first, 1));
        assert_eq!((time.at(later(90)) + Units(10), time.last()), (first, first), "what happened is told as it was");
        assert_eq!((time.next(later(130)), time.late()), (first + Units(30), 1));
    }
}
