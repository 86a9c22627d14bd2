//! A number in several runs before a change and several after it.

use crate::estimate::Estimate;
use crate::student_t;

/// The values of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Before the change, one a run.
    pub before: Vec<f64>,
    pub after: Vec<f64>,
    /// Half of the interval in which the value of a single run lies, before and after: 0 of what is counted.
    pub single_margins: [f64; 2],
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The variance of the mean; `None` of a single value.
fn variance_of_mean(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let free = values.len().checked_sub(1).filter(|free| *free > 0)? as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / free / values.len() as f64)
}

impl Samples {
    /// A single run a side; `None`: it has nothing there.
    pub fn of_single(sides: [Option<Estimate>; 2]) -> Samples {
        let [before, after] = sides.map(|of| vec![of.map_or(0.0, |of| of.value)]);
        Samples { before, after, single_margins: sides.map(|of| of.map_or(0.0, |of| of.margin())) }
    }

    /// The means, before and after. Means add up: those of all call sites to that of the whole.
    pub fn means(&self) -> [f64; 2] {
        [mean(&self.before), mean(&self.after)]
    }

    /// The difference of the means.
    pub fn difference(&self) -> f64 {
        let [before, after] = self.means();
        after - before
    }

    /// The larger mean.
    pub fn larger(&self) -> f64 {
        let [before, after] = self.means();
        before.max(after)
    }

    /// Half of the interval in which the difference lies with this confidence, by Welch's t-test, which does not suppose
    /// that both sides vary alike. If one of them is a single run, it is what is known of single ones; `None` of what is
    /// counted, and where nothing differs.
    pub fn margin(&self, confidence: f64) -> Option<f64> {
        let variances = variance_of_mean(&self.before).zip(variance_of_mean(&self.after));
        let Some((before, after)) = variances else {
            let [before, after] = self.single_margins;
            let margin = before.hypot(after);
            return (self.difference().abs() >= 0.5 && margin > 0.0).then_some(margin);
        };
        let variance = before + after;
        if variance <= 0.0 {
            return Some(0.0);
        }
        let free = |values: &[f64]| (values.len() - 1) as f64;
        let freedom = variance.powi(2) / (before.powi(2) / free(&self.before) + after.powi(2) / free(&self.after));
        Some(student_t::errors(freedom, confidence)? * variance.sqrt())
    }

    /// Half of the interval in which each side lies with this confidence.
    pub fn margins(&self, confidence: f64) -> [f64; 2] {
        let margin = |values: &[f64], single: f64| {
            let spread = variance_of_mean(values).map(f64::sqrt);
            let of = |spread: f64| Some(student_t::errors((values.len() - 1) as f64, confidence)? * spread);
            spread.and_then(of).unwrap_or(single)
        };
        let [before, after] = self.single_margins;
        [margin(&self.before, before), margin(&self.after, after)]
    }

    /// Adds others, run by run, times a factor.
    pub fn add(&mut self, other: &Samples, factor: f64) {
        let add = |own: &mut [f64], other: &[f64]| {
            own.iter_mut().zip(other).for_each(|(own, other)| *own += factor * other);
        };
        add(&mut self.before, &other.before);
        add(&mut self.after, &other.after);
        for (own, other) in self.single_margins.iter_mut().zip(other.single_margins) {
            *own = own.hypot(factor * other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(before: &[f64], after: &[f64]) -> Samples {
        Samples { before: before.to_vec(), after: after.to_vec(), single_margins: [0.0; 2] }
    }

    /// Alike in number and variance, two sides of three have four degrees of freedom, of which tables say 2.7764.
    #[test]
    fn the_interval_is_welchs() {
        let alike = samples(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
        assert_eq!(alike.difference(), 3.0);
        assert!((alike.margin(0.95).unwrap() - 2.7764 * (2.0f64 / 3.0).sqrt()).abs() < 1e-3);
        // 4.418 degrees of freedom, between 2.776 and 2.571.
        let unlike = samples(&[10.0, 12.0, 11.0], &[14.0, 15.0, 19.0, 16.0]);
        let students = unlike.margin(0.95).unwrap() / 1.5f64.sqrt();
        assert!((2.571..2.776).contains(&students), "{students}");
        assert!(unlike.margin(0.999).unwrap() > 2.0 * unlike.margin(0.95).unwrap());
    }

    #[test]
    fn a_difference_errs_as_both_sides_do() {
        let of = |value, by| Some(Estimate::exact(value).give_or_take(by));
        let margin = |sides| Samples::of_single(sides).margin(0.95);
        assert_eq!(margin([of(10.0, 3.0), of(20.0, 4.0)]), Some(5.0));
        assert_eq!((margin([None, of(20.0, 4.0)]), margin([of(20.0, 3.0), of(20.0, 4.0)])), (Some(4.0), None));
    }

    #[test]
    fn each_side_errs_on_its_own() {
        let of = |value, by| Some(Estimate::exact(value).give_or_take(by));
        assert_eq!(Samples::of_single([of(10.0, 3.0), of(20.0, 4.0)]).margins(0.95), [3.0, 4.0]);
        let [before, after] = samples(&[1.0, 2.0, 3.0], &[4.0, 4.0]).margins(0.95);
        // Two degrees of freedom.
        assert!((before - 4.3027 / 3.0f64.sqrt()).abs() < 1e-3 && after == 0.0, "{before} {after}");
    }

    #[test]
    fn one_run_knows_no_noise() {
        assert_eq!(samples(&[1.0], &[2.0, 3.0]).margin(0.95), None);
        assert_eq!(samples(&[1.0, 1.0], &[2.0, 2.0]).margin(0.95), Some(0.0));
        let mut times = Samples { single_margins: [3.0, 0.0], ..samples(&[1.0], &[2.0]) };
        times.add(&Samples { single_margins: [0.0, 4.0], ..times.clone() }, 1.0);
        assert_eq!((times.difference(), times.margin(0.95)), (2.0, Some(5.0)));
        times.add(&times.clone(), -1.0);
        assert_eq!((times.difference(), times.margin(0.95)), (0.0, None), "nothing is left of it");
    }
}
