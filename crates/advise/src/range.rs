//! A number that is not known exactly, as it is predicted: at least, most likely, at most.

use memtoll_analysis::estimate::Estimate;
use serde::Serialize;

/// A saving. Less than nothing is a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// At least.
    pub low: f64,
    /// Most likely.
    pub likely: f64,
    /// At most; infinite where there is no known upper bound (in JSON null).
    pub high: f64,
}

impl Range {
    /// What was counted.
    pub fn exact(value: f64) -> Range {
        Range { low: value, likely: value, high: value }
    }

    /// The same without an upper bound.
    pub fn or_more(self) -> Range {
        Range { high: f64::INFINITY, ..self }
    }

    /// Whether there is no upper end.
    pub fn is_open(&self) -> bool {
        self.high == f64::INFINITY
    }

    /// From three numbers, in whichever order the outer ones come.
    pub fn new(one: f64, likely: f64, other: f64) -> Range {
        Range { low: one.min(other).min(likely), likely, high: one.max(other).max(likely) }
    }

    /// The sum with one that errs by itself: errors add up as squares.
    pub fn plus(self, other: Range) -> Range {
        Range::from(Estimate::from(self).plus(other.into()))
    }

    /// The sum with one that errs in the same direction: ends add up.
    pub fn with(self, other: Range) -> Range {
        Range { low: self.low + other.low, likely: self.likely + other.likely, high: self.high + other.high }
    }

    /// The difference from one that errs by itself.
    pub fn minus(self, other: Range) -> Range {
        self.plus(other.scaled(-1.0))
    }

    /// Multiplied by a factor.
    pub fn scaled(self, factor: f64) -> Range {
        // An open end times nothing is no number.
        if factor == 0.0 {
            return Range::default();
        }
        Range::new(self.low * factor, self.likely * factor, self.high * factor)
    }

    /// The same, down to this share of itself and up to that one.
    pub fn widened(self, down: f64, up: f64) -> Range {
        Range::new(self.low * down, self.likely, self.high * up)
    }

    /// Whether it predicts nothing: neither a saving nor a loss.
    pub fn is_nothing(&self) -> bool {
        *self == Range::default()
    }

    /// The product with a factor that is not known exactly, either: relative errors add up as squares.
    pub fn times(self, factor: Range) -> Range {
        let likely = self.likely * factor.likely;
        if self.is_open() || factor.is_open() {
            let closed = |range: Range| Range { high: range.likely, ..range };
            return closed(self).times(closed(factor)).or_more();
        }
        let end = |own: f64, of: f64| ((own - self.likely) * factor.likely).hypot((of - factor.likely) * self.likely);
        Range::new(likely - end(self.low, factor.low), likely, likely + end(self.high, factor.high))
    }

    /// The same, where no more than `most` is there.
    pub fn of_at_most_about(self, most: Range) -> Range {
        Range::new(self.low.min(most.low), self.likely.min(most.likely), self.high.min(most.high))
    }

    /// The same, where more than `most` cannot be: an open end stays open.
    pub fn up_to(self, most: f64) -> Range {
        if self.is_open() { self } else { Range { high: self.high.min(most).max(self.likely), ..self } }
    }

    /// The same, with the same relative error, where it would be more than there is.
    pub fn of_at_most(self, whole: f64) -> Range {
        if self.likely > whole && whole > 0.0 { self.scaled(whole / self.likely) } else { self }
    }
}

impl From<Estimate> for Range {
    fn from(of: Estimate) -> Range {
        Range::new(of.low, of.value, of.high)
    }
}

impl From<Range> for Estimate {
    fn from(of: Range) -> Estimate {
        Estimate { value: of.likely, low: of.low, high: of.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_end_stays_open() {
        let open = Range::new(5.0, 10.0, 20.0).or_more();
        for range in [
            open.plus(Range::exact(1.0)),
            open.with(open),
            open.scaled(2.0),
            open.times(Range::exact(2.0)),
            open.widened(0.5, 2.0),
            open.minus(Range::exact(1.0)),
        ] {
            assert!(range.is_open() && range.low > 0.0 && range.low <= range.likely, "{range:?}");
        }
        assert_eq!((open.scaled(0.0), open.of_at_most(5.0).low), (Range::default(), 2.5));
        assert_eq!(serde_json::to_value(open).unwrap()["high"], serde_json::Value::Null);
    }

    #[test]
    fn ends_stay_in_order() {
        let range = Range::new(10.0, 20.0, 50.0);
        assert_eq!(range.scaled(-1.0), Range { low: -50.0, likely: -20.0, high: -10.0 });
        assert_eq!(range.with(Range::exact(1.0)), Range { low: 11.0, likely: 21.0, high: 51.0 });
        assert_eq!(range.minus(Range::exact(5.0)), Range { low: 5.0, likely: 15.0, high: 45.0 });
        assert_eq!(range.widened(0.5, 2.0), Range { low: 5.0, likely: 20.0, high: 100.0 });
        assert_eq!(range.of_at_most(10.0), Range { low: 5.0, likely: 10.0, high: 25.0 });
        assert_eq!(range.of_at_most(20.0), range);
        let product = Range::new(7.0, 10.0, 13.0).times(Range::new(0.6, 1.0, 1.4));
        assert_eq!(product, Range { low: 5.0, likely: 10.0, high: 15.0 });
        assert!(Range::default().is_nothing() && !range.is_nothing());
    }
}
