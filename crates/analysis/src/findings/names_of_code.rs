//! How many allocations are made in code that lacks names or lines.

use crate::call_paths::{CallPath, CallPaths};
use rustc_hash::FxHashMap;

/// Sums of allocations by what `key` says of a call path, largest first.
pub(super) fn ranked(paths: &CallPaths, key: impl Fn(&CallPath) -> Option<u32>) -> Vec<(u32, u64)> {
    let mut sums: FxHashMap<u32, u64> = FxHashMap::default();
    paths.iter().filter_map(|path| Some((key(&path)?, path.acquired))).for_each(|(key, number)| {
        *sums.entry(key).or_default() += number;
    });
    let mut ranked: Vec<(u32, u64)> = sums.into_iter().collect();
    ranked.sort_by_key(|(key, number)| (std::cmp::Reverse(*number), *key));
    ranked
}

/// The sum of all of these and that of all call paths, if it is a good part: a fifth.
pub(super) fn is_good_part(ranked: &[(u32, u64)], paths: &CallPaths) -> Option<(u64, u64)> {
    const LEAST: u64 = 5;
    let part: u64 = ranked.iter().map(|(_, number)| number).sum();
    let whole = paths.acquired();
    (part > 0 && part >= whole / LEAST).then_some((part, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_ranked_and_a_fifth_matters() {
        let paths = CallPaths::made_of(&[(&[2], 2), (&[1], 1), (&[2, 9], 3), (&[3], 1), (&[9, 2], 28)]);
        let some = ranked(&paths, |path| path.frames.first().copied().filter(|frame| *frame < 9));
        assert_eq!(some, [(2, 5), (1, 1), (3, 1)]);
        assert_eq!(is_good_part(&some, &paths), Some((7, 35)));
        assert_eq!(is_good_part(&some[1..], &paths), None);
        assert_eq!(is_good_part(&[], &CallPaths::default()), None);
    }
}
