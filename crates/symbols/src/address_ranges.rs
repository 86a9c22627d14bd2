//! Ranges of addresses.

use std::ops::Range;

/// The same addresses in ranges that neither overlap nor touch, by address. Empty ranges are left out.
pub fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_or_touch_are_one() {
        assert_eq!(merged(vec![7..9, 1..3, 3..4, 2..3, 8..12, 5..5]), [1..4, 7..12]);
    }
}
