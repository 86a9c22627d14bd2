//! Call trees: from the threads' entries inwards, or from the allocations outwards.

use crate::key::Key;
use crate::library::qualified_name;
use crate::metric::Metric;
use crate::priced::Priced;
use crate::stacks::{Path, Stacks};
use crate::sums::Sums;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Which end of the stacks is the tree's root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the thread's entry to the allocation.
    Callees,
    /// From the allocation to the thread's entry.
    Callers,
}

/// Which part of a tree.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Which end is the root.
    pub direction: Direction,
    /// Only what this function calls, or who calls it: the part of each stack inside or outside of the outermost frame of
    /// that name, with the frame.
    pub function: Option<&'a str>,
    /// Only what is below the branch with this key.
    pub below: Option<Key>,
    /// So many levels; `None`: all.
    pub depth: Option<usize>,
}

impl Part<'_> {
    /// All of it.
    pub fn whole(direction: Direction) -> Self {
        Part { direction, function: None, below: None, depth: None }
    }
}

/// A frame with the sums of all stacks that lead through it.
pub struct Branch {
    /// The frame; the root has none.
    pub frame: Option<u32>,
    /// Says where in the tree it is, by the names of the frames that lead there.
    pub key: Key,
    /// The sums.
    pub metrics: Priced,
    /// What follows.
    pub children: Vec<Branch>,
    /// What [`Branch::sort_and_prune`] dropped of it.
    pub dropped: Dropped,
    /// Whether it has children that are deeper than the part that was asked for.
    pub has_more: bool,
    by_key: FxHashMap<Key, usize>,
}

/// Branches that are too small to be shown.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Dropped {
    /// Number of branches.
    pub branches: usize,
    /// Their sums.
    pub metrics: Priced,
}

/// A root of nothing.
impl Default for Branch {
    fn default() -> Branch {
        Branch::new(None, Key::EMPTY)
    }
}

impl Branch {
    fn new(frame: Option<u32>, key: Key) -> Branch {
        Branch {
            frame,
            key,
            metrics: Priced::default(),
            children: Vec::new(),
            dropped: Dropped::default(),
            has_more: false,
            by_key: FxHashMap::default(),
        }
    }

    fn child(&mut self, frame: u32, key: Key) -> &mut Branch {
        let children = &mut self.children;
        let index = *self.by_key.entry(key).or_insert_with(|| {
            children.push(Branch::new(Some(frame), key));
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
        self.by_key.clear();
        for child in &mut self.children {
            child.sort_and_prune(by, least);
        }
    }
}

/// The call tree of a recording.
pub fn call_tree(stacks: &mut Stacks, sums: &Sums, direction: Direction) -> Branch {
    part_of_tree(stacks, sums, &Part::whole(direction)).unwrap_or_default()
}

/// A part of a call tree; nothing if no stack has the branch or the function.
pub fn part_of_tree(stacks: &mut Stacks, sums: &Sums, part: &Part) -> Option<Branch> {
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
    let frames = &stacks.recording().frames;
    let mut keys: Vec<Option<Key>> = vec![None; frames.len()];
    let is_function = |frame: &u32| part.function == Some(qualified_name(frames.text(frames.frame(*frame).function)));
    let mut root = Branch::default();
    let mut is_found = part.below.is_none() && part.function.is_none();
    for (path, metrics) in by_path {
        let mut path = stacks.frames(path);
        if part.function.is_some() {
            let Some(outermost) = path.iter().rposition(is_function) else { continue };
            match part.direction {
                Direction::Callees => path.truncate(outermost + 1),
                Direction::Callers => drop(path.drain(..outermost)),
            }
            is_found |= part.below.is_none();
        }
        if part.direction == Direction::Callees {
            path.reverse();
        }
        let mut path = path.into_iter();
        let mut key = Key::EMPTY;
        let mut next = |key: Key, frame: u32| {
            key.with_key(*keys[frame as usize].get_or_insert_with(|| Key::of_frame(frames, frame)))
        };
        if let Some(below) = part.below {
            let top = path.find(|frame| {
                key = next(key, *frame);
                key == below
            });
            let Some(top) = top else { continue };
            is_found = true;
            (root.frame, root.key) = (Some(top), below);
        }
        root.metrics.add(&metrics);
        let mut at = &mut root;
        for level in 0.. {
            let Some(frame) = path.next() else { break };
            if part.depth.is_some_and(|depth| level >= depth) {
                at.has_more = true;
                break;
            }
            key = next(key, frame);
            at = at.child(frame, key);
            at.metrics.add(&metrics);
        }
    }
    is_found.then_some(root)
}
