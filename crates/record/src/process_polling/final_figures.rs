//! A process's last word.

use super::polled_process::Look;
use memtoll_trace::meta::{Resident, Usage};

/// A process whose kernel counted no more than this after its word did nothing but end: page faults, and processor time, ns.
const FAULTS_OF_AN_END: u64 = 32;
const TIME_OF_AN_END: u64 = 5_000_000;

/// What a process reported of itself before it ended or executed another program (`recorder/src/hooks/process_exit.cpp`).
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// When, ticks.
    pub at: u64,
    /// What the kernel had counted then.
    pub usage: Usage,
    pub resident: Option<Resident>,
    /// The process then executed a program that is not recorded: what looks saw later is that one's.
    pub is_over: bool,
}

impl Word {
    /// Whether it was the last: a handler of SIGABRT or of quick_exit may go on, and a process that waits for a processor between
    /// its word and its end may be looked at meanwhile. `counted`: by the kernel, at the end.
    pub(super) fn holds(&self, last: Option<&Look>, counted: Option<Usage>) -> bool {
        let ends = |then: &Usage| then.faults() <= self.usage.faults().saturating_add(FAULTS_OF_AN_END);
        // Taking the memory away is processor time of the end.
        let rests = |then: &Usage| then.cpu_ns() <= self.usage.cpu_ns().saturating_add(TIME_OF_AN_END);
        let seen = last.filter(|look| look.at > self.at).and_then(|look| look.usage);
        self.is_over || counted.is_none_or(|then| ends(&then)) && seen.is_none_or(|then| ends(&then) && rests(&then))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc_files::Memory;
    use crate::process_polling::BytesRange;

    fn counted(minor_faults: u64, user_ns: u64) -> Usage {
        Usage { minor_faults, user_ns, ..Usage::default() }
    }

    fn look(at: u64, usage: Usage) -> Look {
        Look { at, memory: Memory { now: 0, largest: 0 }, usage: Some(usage), own: BytesRange::default() }
    }

    #[test]
    fn a_word_holds_unless_the_process_went_on() {
        let word = Word { at: 10, usage: counted(1000, 1_000_000), resident: None, is_over: false };
        let (same, more, longer) = (counted(1003, 1_100_000), counted(1200, 1_100_000), counted(1000, 9_000_000));
        assert!(word.holds(None, None));
        assert!(word.holds(Some(&look(9, more)), Some(same)), "seen before the word");
        assert!(word.holds(Some(&look(11, same)), Some(same)), "seen on its way to the end");
        assert!(word.holds(None, Some(longer)), "its memory was taken away");
        assert!(!word.holds(Some(&look(11, more)), None));
        assert!(!word.holds(Some(&look(11, longer)), None));
        assert!(!word.holds(None, Some(more)), "the kernel counted more, though no look saw it");
        assert!(Word { is_over: true, ..word }.holds(Some(&look(11, more)), Some(more)), "these are another program's");
    }
}
