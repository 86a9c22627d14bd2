//! A number that is not known exactly, and where the true one lies.

use memtoll_text::format::{self, Unit};

/// Standard deviations to either side of the mean that hold 95 % of a normal distribution.
const SIGMAS: f64 = 1.96;

/// A value and its interval, which is to hold the truth in 95 of 100 recordings. All in the same unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What is exact.
impl From<f64> for Estimate {
    fn from(value: f64) -> Estimate {
        Estimate::exact(value)
    }
}

impl Estimate {
    /// What was counted.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }

    /// `value`, which may be too large by this share of itself and too small by that one.
    pub fn within(value: f64, too_large: f64, too_small: f64) -> Estimate {
        Estimate { value, low: value - value.abs() * too_large, high: value + value.abs() * too_small }
    }

    /// The sum of random events, each of which stands for `each`. The square root of such a number has about the same error, whatever
    /// the number is.
    pub fn of_samples(samples: u64, each: f64) -> Estimate {
        let half = SIGMAS / 2.0;
        let root = |samples: u64| (samples as f64).sqrt();
        let low = if root(samples) > half { (root(samples) - half).powi(2) } else { 0.0 };
        let high = (root(samples.saturating_add(1)) + half).powi(2);
        Estimate { value: samples as f64 * each, low: low * each, high: high * each }
    }

    /// A sum of random events with this variance, in its unit squared; exact without one. The error is that of as many equal
    /// events as have this variance together.
    pub fn by_chance(value: f64, variance: f64) -> Estimate {
        if variance <= 0.0 {
            return Estimate::exact(value);
        }
        if value <= 0.0 {
            return Estimate::exact(value).give_or_take(SIGMAS * variance.sqrt());
        }
        let (each, half) = (variance / value, SIGMAS / 2.0);
        let events = value / each;
        let low = (events.sqrt() - half).max(0.0).powi(2);
        let high = ((events + 1.0).sqrt() + half).powi(2);
        Estimate { value, low: low * each, high: high * each }
    }

    /// The same, with the further error that this estimate of the same number has.
    pub fn with_error_of(self, other: Estimate) -> Estimate {
        self.plus(Estimate { value: 0.0, low: other.low - other.value, high: other.high - other.value })
    }

    /// The sum with one that errs by itself.
    pub fn plus(self, other: Estimate) -> Estimate {
        let value = self.value + other.value;
        Estimate {
            value,
            low: value - (self.value - self.low).hypot(other.value - other.low),
            high: value + (self.high - self.value).hypot(other.high - other.value),
        }
    }

    /// The same, with a further error.
    pub fn give_or_take(self, error: f64) -> Estimate {
        self.plus(Estimate { value: 0.0, low: -error, high: error })
    }

    /// The same, but it may be more by this, which is known to be missing somewhere.
    pub fn may_lack(self, missing: f64) -> Estimate {
        self.plus(Estimate { value: 0.0, low: 0.0, high: missing })
    }

    /// The difference from one that errs by itself.
    pub fn minus(self, other: Estimate) -> Estimate {
        self.plus(other.scaled(-1.0))
    }

    /// Multiplied by a factor.
    pub fn scaled(self, factor: f64) -> Estimate {
        let (one, other) = (self.low * factor, self.high * factor);
        Estimate { value: self.value * factor, low: one.min(other), high: one.max(other) }
    }

    /// The share of a mean: this, divided by another that errs by itself. 0 if that is 0.
    pub fn over(self, whole: Estimate) -> Estimate {
        if whole.value == 0.0 {
            return Estimate::default();
        }
        let ratio = self.value / whole.value;
        // Whatever makes the whole larger makes the ratio smaller.
        let turned = Estimate { value: 0.0, low: whole.value - whole.high, high: whole.value - whole.low };
        let errors = self.plus(turned.scaled(ratio));
        let [low, high] = [errors.value - errors.low, errors.high - errors.value].map(|error| error / whole.value);
        Estimate { value: ratio, low: ratio - low, high: ratio + high }
    }

    /// The mean of several runs' numbers. What makes one wrong makes all of them wrong, so more runs make it no better known.
    pub fn mean(of: &[Estimate]) -> Estimate {
        let mean = |end: fn(&Estimate) -> f64| of.iter().map(end).sum::<f64>() / of.len().max(1) as f64;
        Estimate { value: mean(|one| one.value), low: mean(|one| one.low), high: mean(|one| one.high) }
    }

    /// Two estimates of the same thing: the mean of both, weighted by inverse variances.
    pub fn weighed_with(self, other: Estimate) -> Estimate {
        let variance = |of: &Estimate| ((of.high - of.low) / 2.0 / SIGMAS).powi(2);
        let all = variance(&self) + variance(&other);
        if all <= 0.0 {
            return self;
        }
        let share = variance(&other) / all;
        let mean = |a: f64, b: f64| a * share + b * (1.0 - share);
        Estimate {
            value: mean(self.value, other.value),
            low: mean(self.low, other.low),
            high: mean(self.high, other.high),
        }
    }

    /// As text, with what is known of its error: `12 ± 3 ms`; what is exact as it is, `12.3 ms`.
    pub fn with_error(self, unit: Unit) -> String {
        format::estimate(unit, self.value, self.low, self.high)
    }

    /// The same for tables, without the error: `12 ms`, `< 4 ms`.
    pub fn known(self, unit: Unit) -> String {
        format::known(unit, self.value, self.low, self.high)
    }

    /// A number of things, with its error: `1 block`, `30,100 ± 500 blocks`.
    pub fn things(self, thing: &str) -> String {
        match self.is_exact() {
            true => format::counted(self.value.round() as u64, thing),
            // Of what is not one exactly, there are several.
            false => self.with_error(Unit::Count) + &format::counted(0, thing)[1..],
        }
    }

    /// A time in ns as text, with its error.
    pub fn time_with_error(self) -> String {
        self.with_error(Unit::Time)
    }

    /// A time in ns for tables.
    pub fn known_time(self) -> String {
        self.known(Unit::Time)
    }

    /// As a share of a whole that is known better: `12 %`, `< 4 %`; blank if there is no whole.
    pub fn share_of(self, whole: f64) -> String {
        if whole <= 0.0 {
            return String::new();
        }
        self.scaled(1.0 / whole).known(Unit::Share)
    }

    /// Whether it was counted: it has no error.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// How far the truth may be away, on the side where it can be farther.
    pub fn margin(&self) -> f64 {
        (self.value - self.low).max(self.high - self.value)
    }

    /// Whether zero is within the interval.
    pub fn is_noise(&self) -> bool {
        self.low <= 0.0 && self.high > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_errors_of_counts() {
        // Exact intervals: 0 to 3.7, 0.03 to 5.6, 4.8 to 18.4, 81.4 to 121.6.
        for (samples, low, high) in [(0, 0.0, 3.7), (1, 0.03, 5.6), (10, 4.8, 18.4), (100, 81.4, 121.6)] {
            let found = Estimate::of_samples(samples, 1.0);
            assert!((found.low - low).abs() < 0.5 && (found.high - high).abs() < 0.5, "{samples}: {found:?}");
        }
        assert!(Estimate::of_samples(0, 1.0).is_noise() && !Estimate::of_samples(1, 1.0).is_noise());
    }

    #[test]
    fn a_variance_has_the_error_of_equal_events() {
        for samples in [1, 10, 1000] {
            let (found, same) =
                (Estimate::by_chance(samples as f64 * 7.0, samples as f64 * 49.0), Estimate::of_samples(samples, 7.0));
            assert!((found.low - same.low).abs() < 1e-6 && (found.high - same.high).abs() < 1e-6, "{found:?} {same:?}");
        }
        assert!(Estimate::by_chance(3.0, 0.0).is_exact() && Estimate::by_chance(0.0, 1.0).is_noise());
    }

    #[test]
    fn a_ratio_errs_as_both_do() {
        let (sum, number) = (Estimate::within(600.0, 0.03, 0.03), Estimate::within(100.0, 0.04, 0.04));
        let mean = sum.over(number);
        assert!((mean.low - 5.7).abs() < 1e-9 && (mean.high - 6.3).abs() < 1e-9, "{mean:?}");
        assert_eq!(Estimate::exact(6.0).over(Estimate::exact(2.0)), Estimate::exact(3.0));
        assert_eq!(sum.over(Estimate::default()), Estimate::default());
    }

    #[test]
    fn errors_add_up_as_squares() {
        let (three, four) = (Estimate::within(30.0, 0.1, 0.1), Estimate::within(40.0, 0.1, 0.1));
        assert_eq!(three.plus(four), Estimate { value: 70.0, low: 65.0, high: 75.0 });
        assert_eq!(four.minus(three), Estimate { value: 10.0, low: 5.0, high: 15.0 });
        let uneven = Estimate { value: 10.0, low: 4.0, high: 11.0 };
        assert_eq!(Estimate::exact(3.0).minus(uneven), Estimate { value: -7.0, low: -8.0, high: -1.0 });
        assert_eq!(uneven.margin(), 6.0);
    }

    #[test]
    fn a_mean_is_known_as_well_as_each() {
        let (ten, thirty) = (Estimate::within(10.0, 0.1, 0.2), Estimate::within(30.0, 0.1, 0.2));
        assert_eq!(Estimate::mean(&[ten, thirty]), Estimate { value: 20.0, low: 18.0, high: 24.0 });
    }

    #[test]
    fn the_better_one_leads() {
        let (good, bad) = (Estimate::within(10.0, 0.1, 0.1), Estimate::within(100.0, 0.5, 0.5));
        let both = good.weighed_with(bad);
        assert!((both.value - 10.0).abs() < 0.1, "{both:?}");
        assert!((both.value - bad.weighed_with(good).value).abs() < 1e-9);
        assert_eq!(Estimate::exact(5.0).weighed_with(bad).value, 5.0);
    }
}
