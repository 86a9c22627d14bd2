//! Medians with intervals.
//!
//! The interval of a median is a percentile bootstrap (B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993,
//! chapter 13): the median of as many values as there are, drawn from them with replacement, again and again; the interval
//! holds the middle share of these medians.

use serde::Serialize;

/// Draws. More change the ends of the interval by less than a hundredth of its width.
const DRAWS: usize = 4000;

/// The same values give the same interval.
const SEED: u64 = 0x6d65_6d74_6f6c_6c21;

/// A median, and where the true one lies with the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The median of what was measured.
    pub median: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Of some values; `confidence` is between 0 and 1. `None` if there are no values.
    pub fn of(values: &[f64], confidence: f64) -> Option<Interval> {
        let middle = median(&mut values.to_vec())?;
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut drawn = vec![0.0; values.len()];
        let mut medians: Vec<f64> = (0..DRAWS)
            .filter_map(|_| {
                drawn.iter_mut().for_each(|value| *value = values[random.usize(..values.len())]);
                median(&mut drawn)
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
        let cut = ((DRAWS - 1) as f64 * tail).round() as usize;
        Some(Interval { median: middle, low: medians[cut], high: medians[DRAWS - 1 - cut] })
    }

    /// Half of its width: the error that is stated.
    pub fn error(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether it is certain, with this confidence, that there is a difference.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_values_have_no_error() {
        let interval = Interval::of(&[7.0; 10], 0.95).unwrap();
        assert_eq!((interval.median, interval.low, interval.high), (7.0, 7.0, 7.0));
        assert_eq!(Interval::of(&[], 0.95), None);
    }

    /// Times have a long tail above: most runs are near the least, some are disturbed.
    fn disturbed(random: &mut fastrand::Rng) -> f64 {
        let calm = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0; // nearly normal, of variance 1
        100.0 + calm + if random.u8(..) < 26 { random.f64() * 30.0 } else { 0.0 }
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let mut random = fastrand::Rng::with_seed(1);
        // Both sides are disturbed alike, so the true median of their differences is what was added.
        let (trials, saved, rounds) = (400, 3.0, 12);
        let held = (0..trials)
            .filter(|_| {
                let differences: Vec<f64> =
                    (0..rounds).map(|_| disturbed(&mut random) + saved - disturbed(&mut random)).collect();
                Interval::of(&differences, 0.95).is_some_and(|found| found.low <= saved && saved <= found.high)
            })
            .count();
        assert!((92 * trials / 100..=99 * trials / 100).contains(&held), "{held} of {trials}");
    }

    proptest! {
        #[test]
        fn the_median_lies_in_its_interval(values in prop::collection::vec(-1e12f64..1e12, 1..40)) {
            let found = Interval::of(&values, 0.9).unwrap();
            let least = values.iter().copied().fold(f64::MAX, f64::min);
            let most = values.iter().copied().fold(f64::MIN, f64::max);
            prop_assert!(least <= found.low && found.low <= found.median);
            prop_assert!(found.median <= found.high && found.high <= most);
        }
    }
}
