//! Call trees: from the threads' entries inwards, or from the allocations outwards.
//!
//! Sums are hundreds of bytes long, and there are millions of stacks of dozens of frames. So the sums of a stack are added
//! once, to the branch at which it ends, and from there those of each branch once to its caller's ([`grow`]). Where only
//! large branches are wanted, one number of each stack decides which ones ([`Limit`]), and others are never made. A viewer that shows
//! a few numbers of branches adds up only these ([`Outline`]).

mod bottom_up;
mod callees;
mod callers;
mod frame_names;
mod groups;
mod grow;
mod outline;
mod shape;
#[cfg(test)]
mod tests;
mod twig;

use crate::metric::Metric;
use crate::priced::Priced;
use crate::stable_key::Key;
use crate::stacks::Stacks;
use crate::sums::{Site, Sums};
use callees::Callees;
use callers::Callers;
use frame_names::FrameNames;
use groups::Groups;
use grow::{Ending, grow};
use memtoll_model::FrameId;
pub use outline::Outline;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
pub use shape::Shape;
pub use twig::Twig;

/// Which end of the stacks is the tree's root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the thread's entry to the allocation.
    Callees,
    /// From the allocation to the thread's entry.
    Callers,
}

/// What the branches below the root are, where they are not frames: what stacks have in common that are sorted so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The loaded file of the line that allocates.
    Module,
    /// The type of the blocks.
    Type,
}

/// Where a part of a tree begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Below<'a> {
    Branch(Key),
    /// At the branch to which these keys lead, the root's child first. This takes less time.
    Trail(&'a [Key]),
}

/// Which branches are large enough to be wanted. Small ones are dropped ([`Branch::dropped`]).
#[derive(Clone, Copy)]
pub struct Limit<'a> {
    /// What tells: a number that adds up.
    pub value: &'a dyn Fn(&Priced) -> u64,
    /// The share of the part's root that a branch must have, 0 to 1. A branch without any of it is never wanted.
    pub share: f64,
    /// Branches after which no further ones are looked into, largest first. Those that were say
    /// [`Branch::has_more`].
    pub most: usize,
}

/// Which part of a tree.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// Which end is the root.
    pub direction: Direction,
    /// Only what this function calls, or who calls it: the part of each stack inside or outside of its outermost frame, with
    /// the frame. [`crate::one_function::OneFunction`] reads it.
    pub function: Option<&'a str>,
    /// What the branches below the root are, if not frames. Where a function is asked for, they are frames.
    pub by: Option<By>,
    /// Only what is below this branch.
    pub below: Option<Below<'a>>,
    /// Levels; `None`: all.
    pub depth: Option<usize>,
    /// Only large branches.
    pub limit: Option<Limit<'a>>,
    /// Branches that have branches; all others are leaves with all that is below them. `None`: all may have some.
    pub grown: Option<&'a FxHashSet<Key>>,
}

impl Part<'_> {
    /// All of it.
    pub fn whole(direction: Direction) -> Self {
        Part { direction, function: None, by: None, below: None, depth: None, limit: None, grown: None }
    }

    /// The limit's number of these sums.
    fn value(&self, of: &Priced) -> u64 {
        self.limit.map_or(0, |limit| (limit.value)(of))
    }
}

/// A frame with the sums of all stacks that lead through it.
pub struct Branch {
    /// The frame; the root has none, and neither have branches with a label.
    pub frame: Option<FrameId>,
    /// What a branch is called that is no frame ([`Part::by`]): as the table of modules or types calls it.
    pub label: Option<String>,
    /// Says where in the tree it is, by the names of the frames that lead there.
    pub key: Key,
    /// The sums.
    pub metrics: Priced,
    /// What follows.
    pub children: Vec<Branch>,
    /// What [`Limit`] and [`Branch::sort_and_prune`] dropped of it.
    pub dropped: Option<Box<Dropped>>,
    /// Whether it has children that are beyond the part that was asked for.
    pub has_more: bool,
}

/// Branches that are too small to be shown.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Dropped {
    pub branches: usize,
    /// Their sums.
    pub metrics: Priced,
}

/// A root of nothing.
impl Default for Branch {
    fn default() -> Branch {
        Branch {
            frame: None,
            label: None,
            key: Key::EMPTY,
            metrics: Priced::default(),
            children: Vec::new(),
            dropped: None,
            has_more: false,
        }
    }
}

impl Branch {
    /// What was dropped of it.
    pub fn dropped(&self) -> Dropped {
        self.dropped.as_deref().copied().unwrap_or_default()
    }

    /// Whether any branch was dropped.
    pub fn has_dropped(&self) -> bool {
        self.dropped().branches > 0 || self.children.iter().any(Branch::has_dropped)
    }

    /// Sorts all levels, largest first, and drops what is smaller than `least` of the sorting value.
    pub fn sort_and_prune(&mut self, by: Metric, least: u64) {
        let dropped = &mut self.dropped;
        self.children.retain(|child| {
            let value = by.value(&child.metrics);
            let is_shown = value >= least.max(1);
            if !is_shown && value > 0 {
                let dropped = dropped.get_or_insert_default();
                dropped.branches += 1;
                dropped.metrics.add(&child.metrics);
            }
            is_shown
        });
        self.children.sort_by_key(|child| std::cmp::Reverse(by.value(&child.metrics)));
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
    let value = |site: &Site| part.limit.map_or(0, |_| part.value(&site.metrics()));
    part_with(stacks, sums, part, |site| (value(&site), site)).map(Outline::with_sums)
}

/// The same without sums. `of` says what is kept of those of each stack.
pub fn outline<T>(
    stacks: &mut Stacks,
    sums: &Sums,
    part: &Part,
    mut of: impl FnMut(&Priced) -> T,
) -> Option<Outline<T>> {
    part_with(stacks, sums, part, |site| {
        let metrics = site.metrics();
        (part.value(&metrics), of(&metrics))
    })
}

/// `of` gives the limit's number, and what is added up.
fn part_with<'s, T>(
    stacks: &mut Stacks,
    sums: &'s Sums,
    part: &Part,
    mut of: impl FnMut(Site<'s>) -> (u64, T),
) -> Option<Outline<T>> {
    let mut ends = Vec::with_capacity(sums.sites.len());
    let by = part.by.filter(|_| part.function.is_none());
    let mut groups = by.map(|by| Groups::new(by, part.direction));
    for site in &sums.sites {
        let stack = stacks.of(site.node);
        if stack.matches {
            let path = groups.as_mut().map_or(stack.path, |groups| groups.path(stacks, &stack));
            let (value, of) = of(site);
            ends.push(Ending { path, value, of });
        }
    }
    let labels = groups.map_or(Vec::new(), |groups| groups.labels);
    let mut names = FrameNames::new(&stacks.recording().frames, part.function).with(labels);
    match part.direction {
        Direction::Callees => grow(&mut Callees::new(stacks, &ends, &mut names), ends, part, &mut names),
        Direction::Callers => grow(&mut Callers::new(stacks, &ends, &mut names), ends, part, &mut names),
    }
}
