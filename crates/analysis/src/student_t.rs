//! Student's t: how far a mean of few values may be from the truth.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Standard errors on each side of a mean that hold the truth with this probability, from 0 to 1; `freedom`: degrees of freedom,
/// the number of values less one. `None` without any.
pub fn errors(freedom: f64, confidence: f64) -> Option<f64> {
    let students = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(students.inverse_cdf(1.0 - (1.0 - confidence) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a table of the distribution: two-sided, 95 %.
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (freedom, expected) in [(1.0, 12.706), (2.0, 4.303), (10.0, 2.228), (30.0, 2.042)] {
            let errors = errors(freedom, 0.95).unwrap();
            assert!((errors - expected).abs() < 0.001, "{freedom}: {errors}");
        }
        assert_eq!(errors(0.0, 0.95), None);
    }
}
