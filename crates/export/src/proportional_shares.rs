//! Shares of sums that add up to them.

use memtoll_analysis::priced::Priced;
use memtoll_trace::metrics::{Adds, COUNTS};

/// What a stack paid, divided among its parts in proportion to what each was priced at for itself. So are counts: the
/// events of a file may tell more of them than its sums do, which the report shows.
pub fn shares(whole: &Priced, mut parts: Vec<Priced>) -> Vec<Priced> {
    let mut whole = *whole;
    for field in Priced::SUMS {
        divide(&mut whole, &mut parts, field);
    }
    for count in COUNTS.iter().filter(|count| matches!(count.adds, Adds::Sum | Adds::Level)) {
        divide(&mut whole, &mut parts, |priced| (count.of)(&mut priced.counts));
    }
    parts
}

/// Divides one number.
fn divide(whole: &mut Priced, parts: &mut [Priced], field: impl Fn(&mut Priced) -> &mut u64) {
    let weights: Vec<u64> = parts.iter_mut().map(|part| *field(part)).collect();
    parts.iter_mut().zip(divided(*field(whole), &weights)).for_each(|(part, share)| *field(part) = share);
}

/// A number in proportion to weights: to the first, if there is none.
pub fn divided(whole: u64, weights: &[u64]) -> Vec<u64> {
    // Numbers of a damaged file may be beyond all sums.
    let too_many_bits = u64::BITS - weights.len().leading_zeros().min(u64::BITS - 1);
    let is_beyond = weights.iter().try_fold(0u64, |sum, weight| sum.checked_add(*weight)).is_none();
    let shift = if is_beyond { too_many_bits } else { 0 };
    let weights = weights.iter().map(|weight| u128::from(weight >> shift));
    let sum: u128 = weights.clone().sum();
    let mut so_far = 0u128;
    let mut given = 0u64;
    let share = |weight: u128| {
        so_far += weight;
        let until = (u128::from(whole) * so_far).checked_div(sum).map_or(whole, |until| until as u64);
        let share = until - given;
        given = until;
        share
    };
    weights.map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::divided;
    use proptest::prelude::*;

    #[test]
    fn shares_are_in_proportion() {
        assert_eq!(divided(10, &[1, 1]), [5, 5]);
        assert_eq!(divided(10, &[0, 3, 0, 1]), [0, 7, 0, 3]);
        assert_eq!(divided(10, &[0, 0]), [10, 0]);
        assert!(divided(10, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn shares_add_up(whole in any::<u64>(), weights in proptest::collection::vec(any::<u64>(), 1..20)) {
            prop_assert_eq!(divided(whole, &weights).iter().sum::<u64>(), whole);
        }
    }
}
