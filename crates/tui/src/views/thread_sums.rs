//! How long threads were there, and what they did in that time.

use crate::colors::{BOLD, Kind};
use crate::draw::Pane;
use crate::fitted_text::fit;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::lanes;
use memtoll_analysis::metric::Metric;
use memtoll_query::lanes::Lane;
use ratatui::style::Style;

/// Columns of a time.
const TIME: usize = 10;

/// What all threads have of a metric; `None`: it is not known.
type Whole<'w> = &'w dyn Fn(Metric) -> Option<Estimate>;

/// Times of a selection, ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ThreadSums {
    there: f64,
    /// As all views have it: lanes leave out what has no room in an interval.
    allocator: Estimate,
    /// `None`: the kernel did not show it, as with the others.
    faulting: Option<Estimate>,
    waiting: Option<Estimate>,
    off: Option<f64>,
}

impl ThreadSums {
    /// Lines that [`ThreadSums::draw`] fills.
    pub const LINES: usize = 3;

    /// Of a thread: `lane` says what is known, `shares` has the parts of each interval. The other times err as those of `whole`.
    pub fn of(
        lane: &Lane,
        (shares, interval_ns): (&lanes::Lane, f64),
        allocator: Estimate,
        whole: Whole,
    ) -> ThreadSums {
        let sum = |values: &[f64]| values.iter().sum::<f64>() * interval_ns;
        ThreadSums {
            there: sum(&shares.alive),
            allocator,
            faulting: lane.faulting.is_some().then(|| part_of(whole, Metric::FaultTime, sum(&shares.faulting))),
            waiting: lane.waiting.is_some().then(|| part_of(whole, Metric::Waiting, sum(&shares.waiting))),
            off: lane.off_processor.is_some().then(|| sum(&shares.off)),
        }
    }

    /// Of all together.
    pub fn of_all(all: &[ThreadSums], whole: Whole) -> ThreadSums {
        let known = |of: fn(&ThreadSums) -> Option<f64>| all.iter().map(of).sum::<Option<f64>>();
        let allocator = all.iter().map(|sums| sums.allocator.value).sum();
        ThreadSums {
            there: all.iter().map(|sums| sums.there).sum(),
            allocator: part_of(whole, Metric::Allocator, allocator),
            faulting: known(|sums| Some(sums.faulting?.value)).map(|sum| part_of(whole, Metric::FaultTime, sum)),
            waiting: known(|sums| Some(sums.waiting?.value)).map(|sum| part_of(whole, Metric::Waiting, sum)),
            off: known(|sums| sums.off),
        }
    }

    /// What remains, with the recorder's work; `None` if a part is not known.
    fn program(&self) -> Option<Estimate> {
        let rest = Estimate::exact(self.there - self.off?);
        Some(rest.minus(self.allocator).minus(self.faulting?).minus(self.waiting?))
    }

    /// All columns, with their heads.
    fn columns(&self) -> [(&'static str, Style, Option<Estimate>); 6] {
        [
            ("there", Style::new(), Some(Estimate::exact(self.there))),
            ("program", Kind::Program.style(), self.program()),
            ("allocator", Kind::Allocator.style(), Some(self.allocator)),
            ("faulting", Kind::Faults.style(), self.faulting),
            ("waiting", Kind::Waiting.style(), self.waiting),
            ("off CPU", Kind::Off.style(), self.off.map(Estimate::exact)),
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
                let time = time.map_or("–".to_owned(), Estimate::known_time);
                pane.put_right(x, 1 + y, TIME, &time, Style::new());
            }
        }
    }
}

/// A part of a metric, which errs as the whole does.
fn part_of(whole: Whole, metric: Metric, value: f64) -> Estimate {
    let of_all = whole(metric).filter(|whole| whole.value > 0.0);
    of_all.map_or(Estimate::exact(value), |whole| whole.scaled(value / whole.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_query::lanes::Shares;
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
            shares: Shares::default(),
        };
        ThreadSums::of(&lane, (&shares, 1000.0), Estimate::within(700.0, 0.5, 0.5), &whole)
    }

    /// The allocator's time and that of faults are known to a half and to a fifth.
    fn whole(metric: Metric) -> Option<Estimate> {
        match metric {
            Metric::Allocator => Some(Estimate::within(2000.0, 0.5, 0.5)),
            Metric::FaultTime => Some(Estimate::within(1000.0, 0.2, 0.2)),
            _ => None,
        }
    }

    fn times(sums: &ThreadSums) -> [Option<f64>; 6] {
        sums.columns().map(|(.., time)| time.map(|time| time.value))
    }

    #[test]
    fn parts_add_up_to_the_time_that_a_thread_was_there() {
        let one = [2500.0, 550.0, 700.0, 250.0, 500.0, 500.0];
        assert_eq!(times(&thread(true)), one.map(Some));
        assert_eq!(times(&ThreadSums::of_all(&[thread(true); 2], &whole)), one.map(|time| Some(2.0 * time)));
    }

    #[test]
    fn times_have_the_digits_that_are_known() {
        let texts = thread(true).columns().map(|(.., time)| time.map(Estimate::known_time));
        assert_eq!(texts[2..4], [Some("0.7 µs".to_owned()), Some("250 ns".to_owned())]);
        let all = ThreadSums::of_all(&[thread(true); 3], &whole).columns();
        assert_eq!(all[2].2.map(|time| time.margin().round()), Some(1050.0));
        assert_eq!(all[3].2.map(|time| time.margin().round()), Some(150.0));
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_not_known() {
        let known = [Some(5000.0), None, Some(1400.0), Some(500.0), None, None];
        assert_eq!(times(&ThreadSums::of_all(&[thread(true), thread(false)], &whole)), known);
    }
}
