//! How much runs differ, from sums that a database makes.
//!
//! A rate is the sum of values over the sum of weights: requests, seconds of CPU time, or 1 for each run. Its error is
//! that of a ratio, from how far each run's value is from the rate times its weight.

use memtoll_analysis::diff::CONFIDENCE;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::student_t;

/// What is known of all runs together, whatever they do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Base {
    /// How many there are.
    pub runs: f64,
    /// Sum of their weights.
    pub weights: f64,
    /// Sum of the squares of these.
    pub squares: f64,
}

/// What is known of one thing in these runs. A run without it has 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values {
    pub sum: f64,
    /// Sum of the squares of these.
    pub squares: f64,
    /// Sum of the products with the weights.
    pub products: f64,
}

impl Base {
    /// The rate, with the interval that holds the true one in 95 of 100 cases. One run tells no interval: both ends are
    /// infinitely far away.
    pub fn rate(&self, of: Values) -> Estimate {
        if self.weights <= 0.0 {
            return Estimate::exact(0.0);
        }
        let rate = of.sum / self.weights;
        let value = Estimate::exact(rate);
        if self.runs < 2.0 {
            return value.give_or_take(f64::INFINITY);
        }
        let apart = of.squares - 2.0 * rate * of.products + rate * rate * self.squares;
        // Where all runs have the same, rounding leaves a trace.
        let apart = if apart < 1e-9 * of.squares.max(rate * rate * self.squares) { 0.0 } else { apart };
        let mean_weight = self.weights / self.runs;
        let error = (apart / (self.runs * (self.runs - 1.0))).sqrt() / mean_weight;
        value.give_or_take(student_t::errors(self.runs - 1.0, CONFIDENCE).unwrap_or(f64::INFINITY) * error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[(f64, f64)]) -> (Base, Values) {
        let sum = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>();
        let base = Base { runs: runs.len() as f64, weights: sum(|run| run.1), squares: sum(|run| run.1 * run.1) };
        let values =
            Values { sum: sum(|run| run.0), squares: sum(|run| run.0 * run.0), products: sum(|run| run.0 * run.1) };
        (base, values)
    }

    #[test]
    fn with_equal_weights_it_is_the_interval_of_a_mean() {
        let (base, values) = of(&[(98.0, 1.0), (100.0, 1.0), (102.0, 1.0)]);
        let rate = base.rate(values);
        // Student's t of two degrees of freedom is 4.303, the standard error 2 / sqrt(3).
        assert!((rate.value - 100.0).abs() < 1e-9, "{rate:?}");
        assert!((rate.margin() - 4.303 * 2.0 / 3f64.sqrt()).abs() < 0.01, "{rate:?}");
    }

    #[test]
    fn what_follows_the_weight_does_not_differ() {
        let (base, values) = of(&[(10.0, 1.0), (50.0, 5.0), (20.0, 2.0)]);
        let rate = base.rate(values);
        assert_eq!((rate.value, rate.margin()), (10.0, 0.0));
    }

    #[test]
    fn one_run_tells_no_interval() {
        let (base, values) = of(&[(7.0, 1.0)]);
        assert_eq!(base.rate(values).high, f64::INFINITY);
        assert_eq!(Base::default().rate(Values::default()).value, 0.0);
    }
}
