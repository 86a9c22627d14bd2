//! The branches of a tree without their sums: found once, for many sums of the same recording.

use super::callees::Callees;
use super::frame_names::FrameNames;
use super::grow::{Ending, Twig, Way, twigs};
use super::{Direction, Part};
use crate::priced::Priced;
use crate::stable_key::Key;
use crate::stacks::Stacks;
use crate::sums::{Site, Sums};
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

/// The sums of branches whose callers come later. A sum is hundreds of bytes long, and there are hundreds of thousands of branches: the
/// place of one is used again.
#[derive(Default)]
struct Open {
    sums: Vec<Priced>,
    free: Vec<u32>,
}

impl Open {
    /// A place with nothing in it.
    fn place(&mut self) -> u32 {
        if let Some(place) = self.free.pop() {
            self.sums[place as usize] = Priced::default();
            return place;
        }
        self.sums.push(Priced::default());
        self.sums.len() as u32 - 1
    }

    /// Adds what stands in a place to another one, and frees it.
    fn give(&mut self, place: u32, to: u32) {
        let sums = self.sums[place as usize];
        self.sums[to as usize].add(&sums);
        self.free.push(place);
    }
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
    pub fn each(&self, sums: &Sums, mut take: impl FnMut(usize, &Priced, Option<usize>)) {
        let mut ends: Vec<(u32, Site)> = self.ends(sums).collect();
        ends.sort_unstable_by_key(|(branch, _)| *branch);
        let mut open = Open::default();
        // By branch: where its sums stand, and the only branch whose sums these are.
        let mut places = vec![(NONE, NONE); self.twigs.len()];
        for branch in (0..self.twigs.len() as u32).rev() {
            let (mut place, mut same) = places[branch as usize];
            while let Some((_, site)) = ends.pop_if(|(end, _)| *end == branch) {
                if place == NONE {
                    place = open.place();
                }
                same = NONE;
                site.add_to(&mut open.sums[place as usize]);
            }
            if place == NONE {
                continue;
            }
            take(branch as usize, &open.sums[place as usize], (same != NONE).then_some(same as usize));
            if branch == 0 {
                return;
            }
            // Most branches call one other, and take its sums over.
            let caller = &mut places[self.twigs[branch as usize].parent as usize];
            match caller.0 {
                NONE => *caller = (place, branch),
                callers => {
                    caller.1 = NONE;
                    open.give(place, callers);
                }
            }
        }
    }

    /// The branch at which each site ends.
    fn ends<'s>(&self, sums: &'s Sums) -> impl Iterator<Item = (u32, Site<'s>)> {
        let end = |site: Site<'s>| Some((*self.ends.get(site.node.index())?, site));
        sums.sites.iter().filter_map(end).filter(|(branch, _)| *branch != NONE)
    }
}
