//! How often call paths allocate: what findings about names and wrappers need. There are thousands of paths, and each selection
//! in a viewer asks for them, so rows with all sums would take too long.

use crate::aggregate::Split;
use crate::stacks::{Path, Stacks};
use crate::sums::Sums;
use rustc_hash::FxHashMap;

/// A call path.
#[derive(Clone, Copy)]
pub struct CallPath<'a> {
    /// From the allocation outwards.
    pub frames: &'a [u32],
    /// Allocations and reallocations.
    pub acquired: u64,
}

/// All call paths of some sums.
#[derive(Default)]
pub struct CallPaths {
    /// Of all paths, one behind the other.
    frames: Vec<u32>,
    /// Of each path: where its frames end, and its allocations.
    all: Vec<(usize, u64)>,
}

impl CallPaths {
    /// Those of some sums, as they are shown.
    pub fn of(stacks: &mut Stacks, sums: &Sums) -> CallPaths {
        let is_split = sums.selection.split != Split::None;
        let mut known: FxHashMap<Path, usize> = FxHashMap::default();
        let mut paths = CallPaths::default();
        for site in &sums.sites {
            let stack = stacks.of(site.node);
            // Where sums are split, those of stacks that do not match are left out already.
            if !stack.matches && !is_split {
                continue;
            }
            let index = *known.entry(stack.path).or_insert_with(|| paths.push(stacks.each_frame(stack.path)));
            let acquired = &mut paths.all[index].1;
            *acquired = acquired.wrapping_add(site.metrics.acquisitions());
        }
        paths
    }

    /// Adds a path without allocations, and says which one it is.
    fn push(&mut self, frames: impl Iterator<Item = u32>) -> usize {
        self.frames.extend(frames);
        self.all.push((self.frames.len(), 0));
        self.all.len() - 1
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = CallPath<'_>> {
        let mut begin = 0;
        self.all.iter().map(move |&(end, acquired)| {
            let frames = &self.frames[begin..end];
            begin = end;
            CallPath { frames, acquired }
        })
    }

    /// Allocations and reallocations of all.
    pub fn acquired(&self) -> u64 {
        self.all.iter().fold(0, |sum: u64, (_, acquired)| sum.wrapping_add(*acquired))
    }
}

#[cfg(test)]
impl CallPaths {
    /// Of frames and allocations.
    pub fn made_of(paths: &[(&[u32], u64)]) -> CallPaths {
        let mut all = CallPaths::default();
        for (frames, acquired) in paths {
            let index = all.push(frames.iter().copied());
            all.all[index].1 = *acquired;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Selection;
    use crate::metric::Metric;
    use crate::sites::{GroupBy, rows};
    use crate::stacks::View;
    use crate::sums::sums;
    use memtoll_model::Recording;

    #[test]
    fn paths_are_those_of_rows() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/tiny.memtoll");
        let recording = Recording::open(golden.as_ref()).unwrap();
        let sums = sums(&recording, Selection::default());
        let mut stacks = Stacks::new(&recording, &View::default());
        let found = CallPaths::of(&mut stacks, &sums);
        let found: Vec<(Vec<u32>, u64)> = found.iter().map(|path| (path.frames.to_vec(), path.acquired)).collect();
        let rows = rows(&mut stacks, &sums, GroupBy::Path);
        let expected = rows.into_iter().map(|row| (row.path, Metric::Acquisitions.value(&row.metrics)));
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert!(found.iter().any(|(frames, acquired)| !frames.is_empty() && *acquired > 0));
    }
}
