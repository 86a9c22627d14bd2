//! Live bytes over time, at a resolution that adapts to the length of the recording.

use memtoll_trace::summary::LiveCurve;

/// Intervals of a curve at the most. When they are used up, neighbours are joined.
const INTERVALS: usize = 2048;

/// Makes a curve from changes, in the order of their times.
pub struct CurveBuilder {
    curve: LiveCurve,
    highest: u64,
    until: u64,
    begun: bool,
}

impl Default for CurveBuilder {
    fn default() -> Self {
        let curve = LiveCurve { start: 0, width: 1 << 10, highest: Vec::new() };
        CurveBuilder { curve, highest: 0, until: 0, begun: false }
    }
}

impl CurveBuilder {
    /// Goes on with a curve.
    pub fn resume(mut curve: LiveCurve) -> Self {
        curve.width = curve.width.max(1);
        let until = curve.start.saturating_add((curve.highest.len() as u64).saturating_mul(curve.width));
        match curve.highest.pop() {
            Some(highest) => CurveBuilder { curve, highest, until, begun: true },
            None => CurveBuilder::default(),
        }
    }

    /// Live bytes were `before` until `time` and are `now` from then on.
    #[inline]
    pub fn change(&mut self, time: u64, before: u64, now: u64) {
        if time >= self.until {
            self.advance(time, before);
        }
        if now > self.highest {
            self.highest = now;
        }
    }

    #[cold]
    fn advance(&mut self, time: u64, live: u64) {
        if !self.begun {
            self.begun = true;
            self.curve.start = time;
        } else {
            self.close();
        }
        // Only in damaged recordings does time run backwards.
        let elapsed = time.saturating_sub(self.curve.start);
        let mut index = (elapsed / self.curve.width) as usize;
        while index >= INTERVALS {
            self.curve.join_pairs();
            index = (elapsed / self.curve.width) as usize;
        }
        if self.curve.highest.len() < index {
            self.curve.highest.resize(index, live);
        }
        // After joining, the interval may be one that was closed already.
        self.highest = match self.curve.highest.len() > index {
            true => self.curve.highest.pop().unwrap_or(0).max(live),
            false => live,
        };
        self.until = self.curve.start.saturating_add((index as u64 + 1).saturating_mul(self.curve.width));
    }

    fn close(&mut self) {
        self.curve.highest.push(self.highest);
    }

    /// The curve of all changes until now.
    pub fn so_far(&self) -> LiveCurve {
        let mut curve = self.curve.clone();
        curve.highest.extend(self.begun.then_some(self.highest));
        curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(changes: &[(u64, u64)]) -> LiveCurve {
        let mut builder = CurveBuilder::default();
        let mut live = 0;
        for &(time, now) in changes {
            builder.change(time, live, now);
            live = now;
        }
        builder.so_far()
    }

    #[test]
    fn keeps_the_highest_of_each_interval() {
        let curve = curve(&[(100, 5), (200, 9), (300, 1), (100 + 3 * 1024, 2)]);
        assert_eq!((curve.start, curve.width), (100, 1024));
        assert_eq!(curve.highest, [9, 1, 1, 2]);
    }

    #[test]
    fn a_long_recording_has_wide_intervals() {
        let changes: Vec<_> = (0..1000u64).map(|i| (i * 100_000, i)).collect();
        let curve = curve(&changes);
        assert!(curve.highest.len() <= INTERVALS);
        assert!(curve.width * curve.highest.len() as u64 >= 999 * 100_000);
        assert_eq!(curve.highest.iter().max(), Some(&999));
        assert!(curve.highest.is_sorted());
    }
}
