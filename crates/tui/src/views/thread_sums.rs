//! How long threads were there, and what they did in that time.

use crate::colors::{BOLD, Kind};
use crate::draw::Pane;
use crate::fitted_text::fit;
use memtoll_analysis::lanes;
use memtoll_query::lanes::Lane;
use memtoll_text::format;
use ratatui::style::Style;

/// Columns of a time.
const TIME: usize = 10;

/// Times of a selection, ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ThreadSums {
    there: f64,
    allocator: f64,
    /// `None`: the kernel did not show it, as with the others.
    faulting: Option<f64>,
    waiting: Option<f64>,
    off: Option<f64>,
}

impl ThreadSums {
    /// Lines that [`ThreadSums::draw`] fills.
    pub const LINES: usize = 3;

    /// Of a thread: `lane` says what is known, `shares` has the parts of each interval.
    pub fn of(lane: &Lane, shares: &lanes::Lane, interval_ns: f64) -> ThreadSums {
        let sum = |values: &[f64]| values.iter().sum::<f64>() * interval_ns;
        ThreadSums {
            there: sum(&shares.alive),
            allocator: sum(&shares.allocator),
            faulting: lane.faulting.is_some().then(|| sum(&shares.faulting)),
            waiting: lane.waiting.is_some().then(|| sum(&shares.waiting)),
            off: lane.off_processor.is_some().then(|| sum(&shares.off)),
        }
    }

    /// Of both together.
    pub fn plus(self, other: ThreadSums) -> ThreadSums {
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        ThreadSums {
            there: self.there + other.there,
            allocator: self.allocator + other.allocator,
            faulting: both(self.faulting, other.faulting),
            waiting: both(self.waiting, other.waiting),
            off: both(self.off, other.off),
        }
    }

    /// What remains, with the recorder's work; `None` if a part is not known.
    fn program(&self) -> Option<f64> {
        Some(self.there - self.allocator - self.faulting? - self.waiting? - self.off?)
    }

    /// All columns, with their heads.
    fn columns(&self) -> [(&'static str, Style, Option<f64>); 6] {
        [
            ("there", Style::new(), Some(self.there)),
            ("program", Kind::Program.style(), self.program()),
            ("in calls", Kind::Allocator.style(), Some(self.allocator)),
            ("faulting", Kind::Faults.style(), self.faulting),
            ("waiting", Kind::Waiting.style(), self.waiting),
            ("off CPU", Kind::Off.style(), self.off),
        ]
    }

    /// Draws named sums below their heads: as many columns as have room behind a name.
    pub fn draw(rows: &[(&str, ThreadSums)], name: usize, pane: &mut Pane) {
        let room = pane.width().saturating_sub(name) / TIME;
        pane.put(0, 0, name - 1, "in the selection", BOLD);
        for (y, (what, sums)) in rows.iter().enumerate() {
            pane.put(0, 1 + y, name - 1, &fit(what, name - 1), BOLD);
            for (at, (head, style, time)) in sums.columns().into_iter().take(room).enumerate() {
                let x = name + at * TIME;
                pane.put_right(x, 0, TIME, head, style.patch(BOLD));
                let time = time.map_or("–".to_owned(), |ns| format::seconds(ns / 1e9));
                pane.put_right(x, 1 + y, TIME, &time, Style::new());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::ThreadNo;

    /// A thread that is there for two and a half intervals of 1,000 ns; the kernel shows switches only if `sees`.
    fn thread(sees: bool) -> ThreadSums {
        let shares = lanes::Lane {
            image: 0,
            thread: ThreadNo::FIRST,
            alive: vec![0.5, 1.0, 1.0],
            allocator: vec![0.25, 0.0, 0.5],
            faulting: vec![0.125, 0.125, 0.0],
            waiting: vec![0.0, 0.5, 0.0],
            off: vec![0.0, 0.25, 0.25],
        };
        let lane = Lane {
            pid: 1,
            tid: 1,
            name: None,
            alive: Vec::new(),
            allocator: Vec::new(),
            faulting: Some(Vec::new()),
            waiting: sees.then(Vec::new),
            off_processor: sees.then(Vec::new),
        };
        ThreadSums::of(&lane, &shares, 1000.0)
    }

    fn times(sums: &ThreadSums) -> [Option<f64>; 6] {
        sums.columns().map(|(.., time)| time)
    }

    #[test]
    fn parts_add_up_to_the_time_that_a_thread_was_there() {
        let one = [2500.0, 500.0, 750.0, 250.0, 500.0, 500.0];
        assert_eq!(times(&thread(true)), one.map(Some));
        assert_eq!(times(&thread(true).plus(thread(true))), one.map(|time| Some(2.0 * time)));
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_not_known() {
        let known = [Some(5000.0), None, Some(1500.0), Some(500.0), None, None];
        assert_eq!(times(&thread(true).plus(thread(false))), known);
    }
}
