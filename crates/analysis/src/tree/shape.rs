//! The branches of a tree without their sums: found once, for many sums of the same recording.

use super::bottom_up::each_branch;
use super::callees::Callees;
use super::frame_names::FrameNames;
use super::grow::{Ending, Way, twigs};
use super::twig::Twig;
use super::{Direction, Part};
use crate::priced::Priced;
use crate::stable_key::Key;
use crate::stacks::Stacks;
use crate::sums::{Site, Sums};
use memtoll_model::FrameId;
use rustc_hash::FxHashSet;

/// No branch.
const NONE: u32 = u32::MAX;

/// A call tree from the threads' entries inwards.
pub struct Shape {
    /// Each before what it calls; the first is the root.
    twigs: Vec<Twig>,
    /// The branch at which the stack of a node ends, by node of [`memtoll_model::Recording::stacks`].
    ends: Vec<u32>,
}

impl Shape {
    /// The tree of sums, in which only the branches `grown` have branches; `None`: all may have some.
    pub fn new(stacks: &mut Stacks, sums: &Sums, grown: Option<&FxHashSet<Key>>) -> Shape {
        let mut ends = vec![NONE; stacks.recording().stacks.len()];
        let paths: Vec<_> = sums.sites.iter().map(|site| (stacks.of(site.node), site)).collect();
        let matching = paths.into_iter().filter(|(stack, _)| stack.matches);
        let paths: Vec<_> = matching.map(|(of, site)| Ending { path: of.path, value: 0, of: site.node }).collect();
        let part = Part { grown, ..Part::whole(Direction::Callees) };
        let mut names = FrameNames::new(&stacks.recording().frames, None);
        let mut callees = Callees::new(stacks, &paths, &mut names);
        let twigs = twigs(&mut callees, &part, &mut names).unwrap_or_default();
        for Ending { path, of: node, .. } in &paths {
            if let Some(end) = callees.end(*path) {
                ends[node.index()] = end.branch;
            }
        }
        Shape { twigs, ends }
    }

    /// What each branch is called from, by number, its frame, and its key. The root is called from itself.
    pub fn branches(&self) -> impl Iterator<Item = (usize, Option<FrameId>, Key)> {
        self.twigs.iter().map(|twig| (twig.parent as usize, twig.frame, twig.key))
    }

    /// The sums of the root.
    pub fn root(&self, sums: &Sums) -> Priced {
        let mut root = Priced::default();
        self.ends(sums).for_each(|(_, site)| site.add_to(&mut root));
        root
    }

    /// Calls `take` with each branch that has sums, from the leaves to the root: its number, its sums, and the branch below it that has
    /// the same, if there is one. `sums` are those that the tree is of, or a part of them.
    pub fn each(&self, sums: &Sums, take: impl FnMut(usize, &Priced, Option<usize>)) {
        each_branch(&self.twigs, self.ends(sums).collect(), take);
    }

    /// The branch at which each site ends.
    fn ends<'s>(&self, sums: &'s Sums) -> impl Iterator<Item = (u32, Site<'s>)> {
        let end = |site: Site<'s>| Some((*self.ends.get(site.node.index())?, site));
        sums.sites.iter().filter_map(end).filter(|(branch, _)| *branch != NONE)
    }
}
