//! Notes that help to read the first screen: why functions have no names, and what stands between the allocator and the
//! code that a reader looks for.

use crate::unnamed;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::sites::{Row, SortBy};
use memtoll_model::{Frames, Recording};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// The notes. `paths`: all call paths.
pub fn notes(recording: &Recording, paths: &[Row]) -> Vec<String> {
    let frames = &recording.frames;
    unnamed::note(recording, paths).into_iter().chain(wrapper(frames, paths)).collect()
}

/// Sums of allocations by key, largest first.
fn ranked<K: Hash + Eq + Ord + Copy>(found: impl Iterator<Item = (K, u64)>) -> Vec<(K, u64)> {
    let mut sums: FxHashMap<K, u64> = FxHashMap::default();
    found.for_each(|(key, number)| *sums.entry(key).or_default() += number);
    let mut ranked: Vec<(K, u64)> = sums.into_iter().collect();
    ranked.sort_by_key(|(key, number)| (std::cmp::Reverse(*number), *key));
    ranked
}

fn acquired(row: &Row) -> u64 {
    SortBy::Allocations.value(&row.metrics)
}

/// That most allocations come through one function on behalf of others, such as a program's own `xmalloc`.
fn wrapper(frames: &Frames, paths: &[Row]) -> Option<String> {
    const FEWEST_CALLERS: usize = 3;
    let function = |frame: &u32| frames.frame(*frame).function;
    let total: u64 = paths.iter().map(acquired).sum();
    let (first, number) =
        *ranked(paths.iter().filter_map(|row| Some((function(&row.frame?), acquired(row))))).first()?;
    let name = qualified_name(frames.text(first));
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
    if number * 2 < total || !is_plain {
        return None;
    }
    let through = paths.iter().filter(|row| row.frame.as_ref().map(function) == Some(first));
    let callers = ranked(through.filter_map(|row| {
        let caller = row.path.iter().map(function).find(|of| *of != first)?;
        Some((caller, acquired(row)))
    }));
    let (_, most) = *callers.first()?;
    if callers.len() < FEWEST_CALLERS || most * 5 > number * 4 {
        return None;
    }
    Some(format!(
        "{} of all allocations are made in {name}, for {} callers: --fold {name} shows those in its place",
        crate::format::percent(number, total),
        crate::format::count(callers.len() as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_ranked() {
        let found = [("b", 2), ("a", 1), ("b", 3), ("c", 1)];
        assert_eq!(ranked(found.into_iter()), [("b", 5), ("a", 1), ("c", 1)]);
    }
}
