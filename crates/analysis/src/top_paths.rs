//! The call paths that have most, without making a row for each: a recording can have as many paths as stack nodes, tens of
//! millions.

use crate::metric::Metric;
use crate::priced::Priced;
use crate::sites::{Row, paths_where, sort};
use crate::stacks::{PathDigests, Stacks, Texts};
use crate::sums::Sums;
use memtoll_model::{FrameId, StackId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// Some call paths, and what there is besides.
pub struct TopPaths {
    /// Those with most, largest first.
    pub rows: Vec<Row>,
    /// How many paths have any of it.
    pub number: usize,
    /// What all of them counted and paid.
    pub all: Priced,
}

/// What is known of a path before it has a row.
#[derive(Clone, Copy)]
struct Candidate {
    digest: u64,
    value: u64,
    allocations: u64,
    events: u64,
    /// What leads it.
    frame: Option<FrameId>,
    /// Its first site.
    index: usize,
}

/// The call paths with most of something that adds up, `most` at the most. Paths are told apart by a digest of their frames
/// first; those that get rows, frame by frame.
pub fn top_paths(stacks: &mut Stacks, sums: &Sums, by: Metric, most: usize) -> TopPaths {
    let mut digests = PathDigests::new(stacks);
    let mut nodes: Vec<(StackId, u64)> = Vec::new();
    let mut numbers: FxHashMap<u64, usize> = FxHashMap::with_capacity_and_hasher(sums.sites.len(), Default::default());
    let mut found: Vec<Candidate> = Vec::new();
    let mut all = Priced::default();
    // Those that decide; of a site, they are what it adds to the sum.
    let deciding = |of: &Priced| [by.value(of), of.allocations(), of.events];
    for (index, site) in sums.sites.iter().enumerate() {
        let node = site.node;
        let leading = stacks.leading(node);
        if !leading.matches {
            continue;
        }
        let before = deciding(&all);
        site.add_to(&mut all);
        let after = deciding(&all);
        let digest = digests.of(stacks, node);
        nodes.push((node, digest));
        let number = *numbers.entry(digest).or_insert(found.len());
        if number == found.len() {
            let frame = stacks.first(leading.leading);
            found.push(Candidate { digest, value: 0, allocations: 0, events: 0, frame, index });
        }
        let candidate = &mut found[number];
        // Numbers of a damaged file may be beyond all sums.
        let add = |sum: &mut u64, number: usize| *sum = sum.wrapping_add(after[number].wrapping_sub(before[number]));
        add(&mut candidate.value, 0);
        add(&mut candidate.allocations, 1);
        add(&mut candidate.events, 2);
    }
    found.retain(|path| path.value > 0);
    let number = found.len();
    // In the order of sort().
    let recording = stacks.recording();
    let name = |path: &Candidate| path.frame.map_or("", |frame| Texts::of(&recording.frames, frame).function);
    let largest = |path: &Candidate| Reverse((path.value, path.allocations, path.events));
    let order = |a: &Candidate, b: &Candidate| {
        largest(a).cmp(&largest(b)).then_with(|| name(a).cmp(name(b))).then_with(|| a.index.cmp(&b.index))
    };
    if most < found.len() {
        found.select_nth_unstable_by(most, order);
        found.truncate(most);
    }
    let chosen: FxHashSet<u64> = found.iter().map(|path| path.digest).collect();
    let chosen: FxHashSet<StackId> =
        nodes.into_iter().filter(|(_, digest)| chosen.contains(digest)).map(|(node, _)| node).collect();
    let mut rows = paths_where(stacks, sums, |site| chosen.contains(&site.node));
    sort(&mut rows, &recording.frames, by);
    rows.truncate(most);
    TopPaths { rows, number, all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::{GroupBy, rows};
    use crate::stacks::View;
    use crate::sums::sums;
    use memtoll_model::Recording;
    use memtoll_tally::Selection;

    #[test]
    fn they_are_the_first_rows_of_all_paths() {
        let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden");
        for name in ["costs", "forks", "tiny"] {
            let recording = Recording::open(&golden.join(format!("{name}.memtoll"))).unwrap();
            let sums = sums(&recording, Selection::default());
            for by in [Metric::Allocations, Metric::Bytes] {
                let mut all = rows(&mut Stacks::new(&recording, &View::default()), &sums, GroupBy::Path);
                all.retain(|row| by.value(&row.metrics) > 0);
                sort(&mut all, &recording.frames, by);
                for most in [0, 1, 3, 1000] {
                    let found = top_paths(&mut Stacks::new(&recording, &View::default()), &sums, by, most);
                    let told = |row: &Row| (row.path.clone(), row.frame, by.value(&row.metrics));
                    let expected: Vec<_> = all.iter().take(most).map(told).collect();
                    assert_eq!(found.rows.iter().map(told).collect::<Vec<_>>(), expected, "{name}: {most}");
                    assert_eq!(found.number, all.len(), "{name}");
                    assert_eq!(
                        by.value(&found.all),
                        all.iter().map(|row| by.value(&row.metrics)).sum::<u64>(),
                        "{name}"
                    );
                }
            }
        }
    }
}
