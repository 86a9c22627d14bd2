//! The branches of a tree without their sums: found once, for many sums of the same recording.

use super::callees::Callees;
use super::frame_names::FrameNames;
use super::grow::{Ending, Twig, Way, twigs};
use super::{Direction, Part};
use crate::priced::Priced;
use crate::stable_key::Key;
use crate::stacks::Stacks;
use crate::sums::Sums;
use memtoll_model::FrameId;
use rustc_hash::FxHashSet;

/// No branch, or no sums.
const NONE: u32 = u32::MAX;

/// A call tree from the threads' entries inwards.
pub struct Shape {
    /// Each before what it calls; the first is the root.
    twigs: Vec<Twig>,
    /// The branch at which the stack of a node ends, by node of [`memtoll_model::Recording::stacks`].
    ends: Vec<u32>,
}

/// The sums of some branches.
struct Found {
    /// By branch: where its sums are.
    places: Vec<u32>,
    sums: Vec<(usize, Priced)>,
}

impl Found {
    /// The sums of a branch, which has some from now on.
    fn of(&mut self, branch: usize) -> &mut Priced {
        if self.places[branch] == NONE {
            self.places[branch] = self.sums.len() as u32;
            self.sums.push((branch, Priced::default()));
        }
        &mut self.sums[self.places[branch] as usize].1
    }
}

impl Shape {
    /// The tree of sums, in which only the branches `grown` have branches.
    pub fn new(stacks: &mut Stacks, sums: &Sums, grown: &FxHashSet<Key>) -> Shape {
        let mut ends = vec![NONE; stacks.recording().stacks.len()];
        let paths: Vec<_> = sums.sites.iter().map(|site| (stacks.of(site.node), site)).collect();
        let matching = paths.into_iter().filter(|(stack, _)| stack.matches);
        let paths: Vec<_> = matching.map(|(of, site)| Ending { path: of.path, value: 0, of: site.node }).collect();
        let part = Part { grown: Some(grown), ..Part::whole(Direction::Callees) };
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

    /// What each branch is called from, by number, and its frame. The root is called from itself.
    pub fn branches(&self) -> impl Iterator<Item = (usize, Option<FrameId>)> {
        self.twigs.iter().map(|twig| (twig.parent as usize, twig.frame))
    }

    /// The sums of the branches that have some, by number. `sums` are a part of those that the tree is of.
    pub fn add_up(&self, sums: &Sums) -> Vec<(usize, Priced)> {
        let mut found = Found { places: vec![NONE; self.twigs.len()], sums: Vec::new() };
        for site in &sums.sites {
            if let Some(&branch) = self.ends.get(site.node.index()).filter(|branch| **branch != NONE) {
                site.add_to(found.of(branch as usize));
            }
        }
        // From the leaves to the root.
        for branch in (1..self.twigs.len()).rev() {
            if found.places[branch] != NONE {
                let sums = *found.of(branch);
                found.of(self.twigs[branch].parent as usize).add(&sums);
            }
        }
        found.sums
    }
}
