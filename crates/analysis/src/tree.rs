//! Call trees: from the threads' entries inwards, or from the allocations outwards.

use crate::metric::Metric;
use crate::priced::Priced;
use crate::stacks::{Path, Stacks};
use crate::sums::Sums;
use rustc_hash::FxHashMap;

/// Which end of the stacks is the tree's root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the thread's entry to the allocation.
    Callees,
    /// From the allocation to the thread's entry.
    Callers,
}

/// A frame with the sums of all stacks that lead through it.
#[derive(Default)]
pub struct Branch {
    /// The frame; the root has none.
    pub frame: Option<u32>,
    /// The sums.
    pub metrics: Priced,
    /// What follows.
    pub children: Vec<Branch>,
    /// What [`Branch::sort_and_prune`] dropped of it.
    pub dropped: Dropped,
    by_frame: FxHashMap<u32, usize>,
}

/// Branches that are too small to be shown.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Dropped {
    /// Number of branches.
    pub branches: usize,
    /// Their sums.
    pub metrics: Priced,
}

impl Branch {
    fn child(&mut self, frame: u32) -> &mut Branch {
        let children = &mut self.children;
        let index = *self.by_frame.entry(frame).or_insert_with(|| {
            children.push(Branch { frame: Some(frame), ..Branch::default() });
            children.len() - 1
        });
        &mut self.children[index]
    }

    /// Whether any branch was dropped.
    pub fn has_dropped(&self) -> bool {
        self.dropped.branches > 0 || self.children.iter().any(Branch::has_dropped)
    }

    /// Sorts all levels, largest first, and drops what is smaller than `least` of the sorting value.
    pub fn sort_and_prune(&mut self, by: Metric, least: u64) {
        let dropped = &mut self.dropped;
        self.children.retain(|child| {
            let value = by.value(&child.metrics);
            let is_shown = value >= least.max(1);
            if !is_shown && value > 0 {
                dropped.branches += 1;
                dropped.metrics.add(&child.metrics);
            }
            is_shown
        });
        self.children.sort_by_key(|child| std::cmp::Reverse(by.value(&child.metrics)));
        self.by_frame.clear();
        for child in &mut self.children {
            child.sort_and_prune(by, least);
        }
    }
}

/// The call tree of a recording.
pub fn call_tree(stacks: &mut Stacks, sums: &Sums, direction: Direction) -> Branch {
    let mut root = Branch::default();
    let mut numbers: FxHashMap<Path, usize> = FxHashMap::default();
    let mut by_path: Vec<(Path, Priced)> = Vec::new();
    for site in &sums.sites {
        let stack = stacks.of(site.node);
        if stack.matches {
            let number = *numbers.entry(stack.path).or_insert_with(|| {
                by_path.push((stack.path, Priced::default()));
                by_path.len() - 1
            });
            by_path[number].1.add(&site.metrics);
        }
    }
    for (path, metrics) in by_path {
        let mut path = stacks.frames(path);
        if direction == Direction::Callees {
            path.reverse();
        }
        root.metrics.add(&metrics);
        let mut at = &mut root;
        for frame in path {
            at = at.child(frame);
            at.metrics.add(&metrics);
        }
    }
    root
}
