//! How many allocations are made in code that lacks names or lines.

use crate::metric::Metric;
use crate::sites::Row;
use memtoll_model::TextId;
use rustc_hash::FxHashMap;

fn acquired(row: &Row) -> u64 {
    Metric::Allocations.value(&row.metrics)
}

/// Sums of allocations by what `key` says of a call site, largest first.
pub(super) fn ranked(sites: &[Row], key: impl Fn(&Row) -> Option<TextId>) -> Vec<(TextId, u64)> {
    let mut sums: FxHashMap<TextId, u64> = FxHashMap::default();
    sites.iter().filter_map(|row| Some((key(row)?, acquired(row)))).for_each(|(key, number)| {
        *sums.entry(key).or_default() += number;
    });
    let mut ranked: Vec<(TextId, u64)> = sums.into_iter().collect();
    ranked.sort_by_key(|(key, number)| (std::cmp::Reverse(*number), *key));
    ranked
}

/// The sum of all of these and that of all call sites, if it is a good part: a fifth.
pub(super) fn is_good_part(ranked: &[(TextId, u64)], sites: &[Row]) -> Option<(u64, u64)> {
    const LEAST: u64 = 5;
    let part: u64 = ranked.iter().map(|(_, number)| number).sum();
    let whole: u64 = sites.iter().map(acquired).sum();
    (part > 0 && part >= whole / LEAST).then_some((part, whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::priced::Priced;
    use memtoll_model::FrameId;
    use memtoll_trace::metrics::Metrics;

    fn site(frame: u32, allocations: u64) -> Row {
        let metrics = Priced::from(Metrics { new_blocks: allocations, ..Metrics::default() });
        Row { frame: Some(FrameId::new(frame)), metrics, ..Row::default() }
    }

    #[test]
    fn sums_are_ranked_and_a_fifth_matters() {
        let sites = [site(2, 2), site(1, 1), site(2, 3), site(3, 1), site(9, 28)];
        let some = ranked(&sites, |row| row.frame.map(FrameId::get).filter(|frame| *frame < 9).map(TextId::new));
        assert_eq!(some, [(2, 5), (1, 1), (3, 1)].map(|(text, number)| (TextId::new(text), number)));
        assert_eq!(is_good_part(&some, &sites), Some((7, 35)));
        assert_eq!(is_good_part(&some[1..], &sites), None);
        assert_eq!(is_good_part(&[], &[]), None);
    }
}
