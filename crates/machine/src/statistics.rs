//! Medians and their like.

/// The value below which a share `q` (0 to 1) of `values` lies, interpolated between neighbours. `None` if there are no
/// values.
pub(crate) fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = q * last as f64;
    let (low, high) = (position.floor() as usize, position.ceil() as usize);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (position - low as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let values = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 0.5), Some(3.0));
        assert_eq!(quantile(&values, 1.0), Some(5.0));
        assert_eq!(quantile(&values, 0.1), Some(1.4));
        assert_eq!(quantile(&values[..2], 0.5), Some(2.5));
        assert_eq!(quantile(&[7.0], 0.9), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
