//! Wall time: how long the program takes, and how much of that its threads can lose by waiting for each other.

use crate::range::Range;
use memtoll_analysis::calibration::{self, Figure};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;

/// From start to end, and what happens side by side meanwhile.
pub struct Wall {
    /// Of the program, ns: with the recorder, unless plain runs measured it.
    whole: Range,
    /// Whether plain runs measured it.
    is_plain: bool,
    /// Threads of all processes that live at one instant, in the mean; at least 1.
    at_once: f64,
    /// Of these, how many can work at one instant.
    at_work: f64,
    /// Time in which no thread is known to work, ns, at the most: waiting takes no more.
    idle: Range,
}

/// Waiting for less than this share of the run is not what makes it long.
const NOTICED: f64 = 0.01;

impl Wall {
    /// Of a recording; `processor` is the program's CPU time, ns.
    pub fn of(recording: &Recording, sums: &Sums, tariff: &Tariff, processor: Option<Estimate>) -> Wall {
        let recorded = tariff.ns(recording.ended() as f64).max(1.0);
        let plain = recording.calibration.as_ref().and_then(|runs| calibration::plain(runs).of(Figure::Wall));
        let plain = plain.map(|spread| Range::from(spread.estimate()));
        let images = sums.counted().map(|(index, _)| &recording.images[index]);
        let lives = images.flat_map(|image| {
            let end = image.end.as_ref().map_or(recording.ended(), |end| end.ended);
            image.threads.iter().map(move |thread| thread.ended.unwrap_or(end).saturating_sub(thread.began))
        });
        let at_once = tariff.ns(lives.map(|units| units as f64).sum::<f64>()) / recorded;
        let processors = f64::from(recording.about.machine.processors.max(1));
        Wall::new(plain.unwrap_or(Range::exact(recorded)), plain.is_some(), at_once, processors, processor)
    }

    fn new(whole: Range, is_plain: bool, at_once: f64, processors: f64, processor: Option<Estimate>) -> Wall {
        let at_once = at_once.max(1.0);
        let at_work = at_once.min(processors);
        let busy = processor.map_or(Range::default(), Range::from).scaled(1.0 / at_work);
        let idle = whole.minus(busy);
        let idle = Range::new(idle.low.max(0.0), idle.likely.max(0.0), idle.high.max(0.0));
        Wall { whole, is_plain, at_once, at_work, idle }
    }

    /// Of the whole run, at the most.
    pub fn most(&self) -> f64 {
        self.whole.high
    }

    /// How many threads work side by side, in the mean: 1 if one works at a time.
    pub fn at_work(&self) -> f64 {
        self.at_work
    }

    /// What threads lose that wait `ns` for each other, added up over all of them. Where they wait side by side, the run loses
    /// what each of them does; where in turn, the sum; and in both cases no time in which the processors work.
    pub fn waited(&self, ns: f64) -> Range {
        if ns <= 0.0 {
            return Range::default();
        }
        let gone = Range::new(0.0, (ns / self.at_once).min(self.idle.likely), ns.min(self.idle.high));
        if ns < self.whole.likely * NOTICED {
            return gone;
        }
        // The recorder spreads calls out, so that fewer threads meet. Without it they wait longer: up to all of the time in
        // which it does not work, of which only plain runs tell how long that is.
        if self.is_plain { Range { high: self.idle.high.max(gone.likely), ..gone } } else { gone.or_more() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(is_plain: bool) -> Wall {
        // Two processors, four threads, 1 s of wall time, 0.6 s of CPU time.
        Wall::new(Range::exact(1e9), is_plain, 4.0, 2.0, Some(Estimate::exact(0.6e9)))
    }

    /// Sixteen threads wait 3.4 s for each other in a run of 1 s: that is no second saved.
    #[test]
    fn no_saving_is_more_than_the_time_without_work() {
        for sum in [0.1e9, 1e9, 3.4e9, 1e12] {
            let (plain, recorded) = (of(true).waited(sum), of(false).waited(sum));
            assert!(plain.likely <= 0.7e9 && plain.high == 0.7e9, "{sum}: {plain:?}");
            assert!(recorded.likely <= 0.7e9 && recorded.is_open(), "{sum}: {recorded:?}");
        }
        assert_eq!(of(true).waited(0.4e9).likely, 0.1e9, "each of four waits a quarter of it");
        assert_eq!(of(false).waited(0.0), Range::default());
    }

    #[test]
    fn a_thread_alone_works_alone() {
        let wall = Wall::new(Range::exact(1e9), true, 0.98, 8.0, Some(Estimate::exact(0.9e9)));
        assert_eq!((wall.at_work(), wall.most()), (1.0, 1e9));
    }
}
