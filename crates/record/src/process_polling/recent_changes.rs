//! The last events of a process: what may have happened to its memory since memtoll last looked at it.

use std::collections::VecDeque;

/// Spans that are kept: a second of them.
const MOST_SPANS: usize = 1000;

/// Pages that came and went, and processor time, by the millisecond.
#[derive(Default)]
pub struct Recent {
    spans: VecDeque<Span>,
    /// The number of the last span that was forgotten.
    forgotten: Option<u64>,
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
        Recent { spans: VecDeque::new(), forgotten: None, length: (ticks_per_microsecond * 1000).max(1) }
    }

    /// Something happened, at a time in ticks.
    pub fn add(&mut self, at: u64, what: Happened) {
        let number = at / self.length;
        if self.spans.back().is_none_or(|last| last.number < number) {
            if self.spans.len() == MOST_SPANS {
                self.forgotten = self.spans.pop_front().map(|span| span.number);
            }
            self.spans.push_back(Span { number, sums: Happened::default() });
        }
        if let Some(last) = self.spans.back_mut() {
            last.sums = last.sums.and(what);
        }
    }

    /// All that happened after a time in ticks, and one to two milliseconds before: the kernel tells of a page before it is
    /// there. `None`: a part of it is forgotten.
    pub fn after(&self, at: u64) -> Option<Happened> {
        let first = (at / self.length).saturating_sub(1);
        if self.forgotten.is_some_and(|forgotten| forgotten >= first) {
            return None;
        }
        let later = self.spans.iter().rev().take_while(|span| span.number >= first);
        Some(later.fold(Happened::default(), |sum, span| sum.and(span.sums)))
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
        assert_eq!(recent.after(0), Some(Happened::default()));
        for at in [500, 900, 1500, 7000] {
            recent.add(at, Happened { came: 10, went: 5, processor: 1 });
        }
        let of = |count| Some(Happened { came: 10 * count, went: 5 * count, processor: count });
        assert_eq!(recent.after(0), of(4));
        assert_eq!(recent.after(2000), of(2), "what was under way when the millisecond began");
        assert_eq!(recent.after(7999), of(1));
        assert_eq!(recent.after(9000), of(0));
    }

    #[test]
    fn what_is_forgotten_is_not_known() {
        let mut recent = Recent::new(1);
        for number in 0..=MOST_SPANS as u64 {
            recent.add(number * 1000, Happened { came: 1, ..Happened::default() });
        }
        assert_eq!(recent.after(1000), None);
        assert_eq!(recent.after(2000).map(|happened| happened.came), Some(MOST_SPANS as u64));
    }
}
