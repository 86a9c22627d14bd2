//! What was told of a process last: what may have happened to its memory since memtoll last looked at it.

use std::collections::VecDeque;

/// Spans that are kept: a second of them.
const MOST_SPANS: usize = 1000;

/// Pages that came and went, and processor time, by the millisecond.
#[derive(Default)]
pub struct Recent {
    spans: VecDeque<Span>,
    /// Ticks in a span.
    length: u64,
}

struct Span {
    /// Its number: time by length.
    number: u64,
    sums: Happened,
}

/// What happened after an instant.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Happened {
    /// Bytes of the pages that came.
    pub came: u64,
    /// Bytes that calls may have given back to the system.
    pub went: u64,
    /// Processor time, ns.
    pub processor: u64,
}

impl Recent {
    pub fn new(ticks_per_microsecond: u64) -> Recent {
        Recent { spans: VecDeque::new(), length: (ticks_per_microsecond * 1000).max(1) }
    }

    /// Something happened, at a time in ticks.
    pub fn add(&mut self, at: u64, what: Happened) {
        let number = at / self.length;
        if self.spans.back().is_none_or(|last| last.number < number) {
            if self.spans.len() == MOST_SPANS {
                self.spans.pop_front();
            }
            self.spans.push_back(Span { number, sums: Happened::default() });
        }
        if let Some(last) = self.spans.back_mut() {
            last.sums = last.sums.and(what);
        }
    }

    /// All that happened after a time in ticks, and perhaps up to a millisecond more.
    pub fn after(&self, at: u64) -> Happened {
        let first = at / self.length;
        let later = self.spans.iter().rev().take_while(|span| span.number >= first);
        later.fold(Happened::default(), |sum, span| sum.and(span.sums))
    }
}

impl Happened {
    fn and(self, other: Happened) -> Happened {
        Happened {
            came: self.came.saturating_add(other.came),
            went: self.went.saturating_add(other.went),
            processor: self.processor.saturating_add(other.processor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_after_an_instant_is_known() {
        let mut recent = Recent::new(1);
        assert_eq!(recent.after(0), Happened::default());
        for at in [500, 900, 1500, 7000] {
            recent.add(at, Happened { came: 10, went: 5, processor: 1 });
        }
        assert_eq!(recent.after(0), Happened { came: 40, went: 20, processor: 4 });
        assert_eq!(recent.after(1000), Happened { came: 20, went: 10, processor: 2 });
        assert_eq!(recent.after(7999), Happened { came: 10, went: 5, processor: 1 });
        assert_eq!(recent.after(8000), Happened::default());
    }
}
