//! The peak of several processes together.

use memtoll_trace::summary::LiveCurve;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The highest sum of several curves: the peak of all processes together, exact where they do not overlap in time and
/// otherwise as fine as the widest interval.
///
/// Curves are added in the order in which their processes began, so that only those that overlap are kept.
#[derive(Default)]
pub(crate) struct PeakOfSum {
    /// Curves that go on, by when they change next: the time, what they have until then, and the curve's rest, backwards.
    open: BinaryHeap<Reverse<Open>>,
    sum: u64,
    highest: u64,
}

#[derive(PartialEq, Eq)]
struct Open {
    changes: u64,
    now: u64,
    width: u64,
    rest: Vec<u64>,
    /// When its process ends: what is live after its last event stays so until then.
    ends: u64,
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        // At one instant, what falls counts before what rises.
        let rises = |open: &Open| open.rest.last().is_some_and(|next| *next > open.now);
        self.changes.cmp(&other.changes).then_with(|| rises(self).cmp(&rises(other)))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PeakOfSum {
    /// Adds the curve of a process that began and ended at these times, units.
    pub(crate) fn add(&mut self, began: u64, ended: u64, curve: &LiveCurve) {
        self.advance(began);
        let rest: Vec<u64> = curve.highest.iter().rev().copied().collect();
        self.open.push(Reverse(Open { changes: curve.start, now: 0, width: curve.width, rest, ends: ended }));
    }

    /// The highest sum.
    pub(crate) fn finish(mut self) -> u64 {
        self.advance(u64::MAX);
        self.highest
    }

    /// Follows all curves until just before `time`; to the end, if it is the last of all times.
    fn advance(&mut self, time: u64) {
        while let Some(mut next) = self.open.peek_mut() {
            let Reverse(curve) = &mut *next;
            if curve.changes >= time && time != u64::MAX {
                return;
            }
            if curve.rest.is_empty() && curve.changes < curve.ends {
                curve.changes = curve.ends;
                continue;
            }
            let value = curve.rest.pop();
            // Numbers of a damaged file may be beyond all sums.
            self.sum = self.sum.saturating_sub(curve.now).saturating_add(value.unwrap_or(0));
            self.highest = self.highest.max(self.sum);
            curve.now = value.unwrap_or(0);
            curve.changes = curve.changes.saturating_add(curve.width);
            if value.is_none() {
                PeekMut::pop(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_tally::CurveBuilder;

    fn curve(changes: &[(u64, u64)]) -> LiveCurve {
        let mut builder = CurveBuilder::default();
        let mut live = 0;
        for &(time, now) in changes {
            builder.change(time, live, now);
            live = now;
        }
        builder.so_far()
    }

    /// The highest sum of curves, each with the end of its process.
    fn highest(curves: &[(u64, &LiveCurve)]) -> u64 {
        let mut peak = PeakOfSum::default();
        curves.iter().for_each(|(ended, curve)| peak.add(curve.start, *ended, curve));
        peak.finish()
    }

    #[test]
    fn what_is_live_after_the_last_event_is_so_until_the_process_ends() {
        let (parent, child) = (curve(&[(0, 100)]), curve(&[(50_000, 70)]));
        assert_eq!(highest(&[(90_000, &parent), (80_000, &child)]), 170);
        assert_eq!(highest(&[(40_000, &parent), (80_000, &child)]), 100);
    }

    #[test]
    fn curves_one_after_the_other_do_not_add_up() {
        let first = curve(&[(0, 100), (5000, 0)]);
        let later = curve(&[(50_000, 70), (60_000, 0)]);
        let both = curve(&[(2000, 7), (3000, 0)]);
        let highest = |curves: &[&LiveCurve]| highest(&curves.iter().map(|curve| (0, *curve)).collect::<Vec<_>>());
        assert_eq!(highest(&[&first, &later]), 100);
        assert_eq!(highest(&[&first, &both, &later]), 107);
        assert_eq!(highest(&[]), 0);
    }
}
