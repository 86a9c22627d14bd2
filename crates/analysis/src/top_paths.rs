//! The call paths that have most, without making a row for each: a recording can have as many paths as stack nodes, tens of
//! millions.

use crate::metric::Metric;
use crate::priced::Priced;
use crate::sites::{Row, paths_where, sort};
use crate::stacks::{PathDigests, Stacks, Texts};
use crate::sums::Sums;
use memtoll_model::StackId;
use rustc_hash::FxHashSet;

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
struct Candidate<'p> {
    /// What it has of the metric, its allocations and its events.
    numbers: [u64; 3],
    /// The digest of the path, and the place of each of its sites.
    sites: &'p [(u64, u32)],
}

impl<'p> Candidate<'p> {
    fn of(path: &'p [(u64, u32)], sites: &[(StackId, [u64; 3])]) -> Candidate<'p> {
        let mut numbers = [0u64; 3];
        for (_, at) in path {
            let (_, own) = &sites[*at as usize];
            numbers.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.wrapping_add(*own));
        }
        Candidate { numbers, sites: path }
    }
}

/// The call paths with most of something that adds up, `most` at the most. Paths are told apart by a digest of their frames
/// first; those that get rows, frame by frame.
pub fn top_paths(stacks: &mut Stacks, sums: &Sums, by: Metric, most: usize) -> TopPaths {
    let mut digests = PathDigests::new(stacks);
    let mut sites: Vec<(StackId, [u64; 3])> = Vec::with_capacity(sums.sites.len());
    // Sorted, as a table of hundreds of thousands of digests is always met outside of the caches.
    let mut paths: Vec<(u64, u32)> = Vec::with_capacity(sums.sites.len());
    let mut all = Priced::default();
    let numbers = |of: &Priced| [by.value(of), of.allocations(), of.events];
    for site in &sums.sites {
        if !stacks.leading(site.node).matches {
            continue;
        }
        let before = numbers(&all);
        site.add_to(&mut all);
        let after = numbers(&all);
        paths.push((digests.of(stacks, site.node), sites.len() as u32));
        // Numbers of a damaged file may be beyond all sums.
        sites.push((site.node, std::array::from_fn(|number| after[number].wrapping_sub(before[number]))));
    }
    paths.sort_unstable();
    let with_one_digest = paths.chunk_by(|(one, _), (other, _)| one == other);
    let mut found: Vec<Candidate> =
        with_one_digest.map(|path| Candidate::of(path, &sites)).filter(|path| path.numbers[0] > 0).collect();
    let number = found.len();
    // In the order of sort().
    let recording = stacks.recording();
    let first = |path: &Candidate| path.sites[0].1;
    let mut name = |path: &Candidate| {
        let leading = stacks.leading(sites[first(path) as usize].0).leading;
        stacks.first(leading).map_or("", |frame| Texts::of(&recording.frames, frame).function)
    };
    if most < found.len() {
        found.select_nth_unstable_by(most, |a, b| {
            let largest = b.numbers.cmp(&a.numbers);
            largest.then_with(|| name(a).cmp(name(b))).then_with(|| first(a).cmp(&first(b)))
        });
        found.truncate(most);
    }
    let chosen = found.iter().flat_map(|path| path.sites).map(|(_, at)| sites[*at as usize].0);
    let chosen: FxHashSet<StackId> = chosen.collect();
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
    use crate::testing::golden;
    use memtoll_tally::Selection;

    #[test]
    fn they_are_the_first_rows_of_all_paths() {
        for name in ["costs", "forks", "tiny"] {
            let recording = golden(name);
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
