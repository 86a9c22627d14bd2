//! How many allocations are made in code that lacks names or lines.

use crate::metric::Metric;
use crate::sites::Row;
use rustc_hash::FxHashMap;

fn acquired(row: &Row) -> u64 {
    Metric::Acquisitions.value(&row.metrics)
}

/// Sums of allocations by what `key` says of a call path, largest first.
pub(super) fn ranked(paths: &[Row], key: impl Fn(&Row) -> Option<u32>) -> Vec<(u32, u64)> {
    let mut sums: FxHashMap<u32, u64> = FxHashMap::default();
    paths.iter().filter_map(|row| Some((key(row)?, acquired(row)))).for_each(|(key, number)| {
        *sums.entry(key).or_default() += number;
    });
    let mut ranked: Vec<(u32, u64)> = sums.into_iter().collect();
    ranked.sort_by_key(|(key, number)| (std::cmp::Reverse(*number), *key));
    ranked
}

/// The sum of all of these and that of all call paths, if it is a good part: a fifth.
pub(super) fn is_good_part(ranked: &[(u32, u64)], paths: &[Row]) -> Option<(u64, u64)> {
    const LEAST: u64 = 5;
    let part: u64 = ranked.iter().map(|(_, number)| number).sum();
    let whole: u64 = paths.iter().map(acquired).sum();
    (part > 0 && part >= whole / LEAST).then_some((part, whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::priced::Priced;
    use memtoll_trace::summary::Metrics;

    fn path(frame: u32, allocations: u64) -> Row {
        let metrics = Priced::from(Metrics { allocations, ..Metrics::default() });
        Row { frame: Some(frame), metrics, ..Row::default() }
    }

    #[test]
    fn sums_are_ranked_and_a_fifth_matters() {
        let paths = [path(2, 2), path(1, 1), path(2, 3), path(3, 1), path(9, 28)];
        let some = ranked(&paths, |row| row.frame.filter(|frame| *frame < 9));
        assert_eq!(some, [(2, 5), (1, 1), (3, 1)]);
        assert_eq!(is_good_part(&some, &paths), Some((7, 35)));
        assert_eq!(is_good_part(&some[1..], &paths), None);
        assert_eq!(is_good_part(&[], &[]), None);
    }
}
