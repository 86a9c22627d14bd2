//! What a call's time went into, as far as it is known: arithmetic, without knowledge of threads.

use memtoll_trace::ids::Ticks;

/// The time of a call that is not accounted for yet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CallTime {
    /// What is left of the call: without spans off the processor and faults.
    pub rest: Ticks,
    /// By how much its faults took more than the whole call.
    pub beyond: Ticks,
}

impl CallTime {
    pub fn of(length: Ticks) -> CallTime {
        CallTime { rest: length, beyond: Ticks::ZERO }
    }

    /// The thread did not have the processor for a while.
    pub fn without_processor(&mut self, span: Ticks) {
        self.rest = self.rest.saturating_sub(span);
    }

    /// Faults took so long. One that is seen stands for others, of other calls.
    pub fn faults_took(&mut self, span: Ticks) {
        self.beyond += span.saturating_sub(self.rest);
        self.rest = self.rest.saturating_sub(span);
    }

    /// What the call, which changed mappings, took for that. `owed` is what faults of earlier calls took more than those,
    /// because one that was seen stood for those of other calls, this one among them: it is taken off, and what remains is
    /// owed by the calls to come. The call has nothing left then: what changes mappings once more is part of that.
    pub fn settle(&mut self, owed: &mut Ticks) -> Ticks {
        let CallTime { rest, beyond } = std::mem::take(self);
        let debt = owed.saturating_add(beyond);
        *owed = debt.saturating_sub(rest);
        rest.saturating_sub(debt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_accounted_for_is_taken_off() {
        let mut call_time = CallTime::of(Ticks(100));
        call_time.without_processor(Ticks(30));
        call_time.faults_took(Ticks(20));
        assert_eq!(call_time, CallTime { rest: Ticks(50), beyond: Ticks(0) });
        call_time.faults_took(Ticks(80));
        assert_eq!(call_time, CallTime { rest: Ticks(0), beyond: Ticks(30) });
        call_time.without_processor(Ticks(1));
        assert_eq!(call_time, CallTime { rest: Ticks(0), beyond: Ticks(30) });
    }

    /// Each call takes 100 ticks, 60 of them for a fault; one fault in five is seen, and stands for all of them.
    #[test]
    fn a_fault_that_stands_for_others_is_paid_by_their_calls() {
        let mut owed = Ticks::ZERO;
        let mut mapping = Ticks::ZERO;
        for call in 0..20 {
            let mut call_time = CallTime::of(Ticks(100));
            if call % 5 == 0 {
                call_time.faults_took(Ticks(5 * 60));
            }
            mapping += call_time.settle(&mut owed);
        }
        assert_eq!((mapping, owed), (Ticks(20 * 40), Ticks::ZERO));
    }
}
