//! How a tree grows, whichever way: bundles of stacks are split, frame by frame.

use super::{Below, Branch, Dropped, Part};
use crate::stable_key::Key;
use crate::stacks::Path;
use crate::sums::Site;
use crate::tree::frame_names::FrameNames;
use memtoll_model::FrameId;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Stacks that have all frames in common from the root to a branch.
pub(super) struct Child<B> {
    pub frame: FrameId,
    /// What the frame is called: children of one branch are called differently.
    pub name: Key,
    pub bundle: B,
}

/// Finds the child with a name. Most branches have a few; a table is made for those that have many.
#[derive(Default)]
pub(super) struct ByName(FxHashMap<Key, usize>);

impl ByName {
    const FEW: usize = 12;

    /// The place of the child with this name among those that are found so far.
    pub fn place<B>(&mut self, found: &[Child<B>], name: Key) -> Option<usize> {
        if found.len() <= Self::FEW {
            return found.iter().position(|child| child.name == name);
        }
        for (place, child) in found.iter().enumerate().skip(self.0.len()) {
            self.0.insert(child.name, place);
        }
        self.0.get(&name).copied()
    }
}

/// One of both ways through stacks.
pub(super) trait Way {
    /// Stacks with the same first frames.
    type Bundle;
    /// All stacks.
    fn all(&mut self) -> Self::Bundle;
    /// What the limit's number is of these stacks.
    fn value(&self, bundle: &Self::Bundle) -> u64;
    /// These stacks end here, as far as no later call says otherwise.
    fn settle(&mut self, bundle: &Self::Bundle, end: End);
    /// The bundles that go on, by the next frame's name.
    fn split(&mut self, bundle: Self::Bundle, names: &mut FrameNames) -> Vec<Child<Self::Bundle>>;
    /// Where the stack of a path ends; nothing: it is not in the part.
    fn end(&mut self, path: Path) -> Option<End>;
}

/// Where the sums of a stack go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub branch: u32,
    /// To what is dropped of the branch, too.
    pub is_dropped: bool,
}

/// A branch without its sums, which are much larger.
pub(super) struct Twig {
    /// The frame, or the group; the part's root may have none.
    pub frame: Option<FrameId>,
    pub key: Key,
    pub parent: u32,
    children: u32,
    /// Children that are too small.
    dropped: usize,
    has_more: bool,
}

impl Twig {
    fn new(frame: Option<FrameId>, key: Key, parent: u32) -> Twig {
        Twig { frame, key, parent, children: 0, dropped: 0, has_more: false }
    }
}

/// The part of the tree that is asked for, of the stacks that end so, with their sums.
pub(super) fn grow<W: Way>(way: &mut W, ends: &[(Path, Site)], part: &Part, names: &mut FrameNames) -> Option<Branch> {
    let twigs = twigs(way, part, names)?;
    let ends: Vec<(End, Site)> = ends.iter().filter_map(|(path, site)| Some((way.end(*path)?, *site))).collect();
    (part.function.is_none() || !ends.is_empty()).then(|| add_up(&twigs, &ends, names))
}

/// The branches of the part, each before what is below it. Nothing: no stack leads to it.
pub(super) fn twigs<W: Way>(way: &mut W, part: &Part, names: &mut FrameNames) -> Option<Vec<Twig>> {
    let all = way.all();
    let (root, bundle) = match part.below {
        None => (Twig::new(None, Key::EMPTY, 0), all),
        Some(below) => find(way, all, below, names)?,
    };
    let least = part.limit.map(|limit| ((way.value(&bundle) as f64 * limit.share) as u64).max(1));
    let most = part.limit.map_or(usize::MAX, |limit| limit.most);
    let mut twigs = vec![root];
    way.settle(&bundle, End { branch: 0, is_dropped: false });
    // The largest first, so that these are there if not all can be.
    let mut order = BinaryHeap::from([(u64::MAX, Reverse(0))]);
    let mut open = vec![Some((bundle, 0))];
    while let Some((_, Reverse(at))) = order.pop() {
        let Some((bundle, level)) = open[at].take() else { continue };
        let next = way.split(bundle, names);
        let value = |child: &Child<W::Bundle>| part.limit.map_or(0, |_| way.value(&child.bundle));
        let mut next: Vec<_> = next.into_iter().map(|child| (value(&child), child)).collect();
        if part.limit.is_some() {
            next.retain(|(value, _)| *value > 0);
            next.sort_by_key(|(value, _)| Reverse(*value));
        }
        if part.depth.is_some_and(|depth| level >= depth) || at > 0 && twigs.len() >= most {
            twigs[at].has_more = !next.is_empty();
            continue;
        }
        for (place, (value, Child { frame, name, bundle })) in next.into_iter().enumerate() {
            if least.is_some_and(|least| value < least || place >= most) {
                twigs[at].dropped += 1;
                way.settle(&bundle, End { branch: at as u32, is_dropped: true });
                continue;
            }
            let number = twigs.len();
            let key = twigs[at].key.with_key(name);
            twigs.push(Twig::new(Some(frame), key, at as u32));
            twigs[at].children += 1;
            way.settle(&bundle, End { branch: number as u32, is_dropped: false });
            let is_leaf = part.grown.is_some_and(|grown| !grown.contains(&key));
            open.push(Some((bundle, level + 1)).filter(|_| !is_leaf));
            if !is_leaf {
                order.push((value, Reverse(number)));
            }
        }
    }
    Some(twigs)
}

/// Gives branches their sums, from the leaves to the root. Each is made once, where it stays.
fn add_up(twigs: &[Twig], ends: &[(End, Site)], names: &FrameNames) -> Branch {
    // The stacks that end at branch n: `order[starts[n]..starts[n + 1]]`.
    let mut starts = vec![0; twigs.len() + 2];
    ends.iter().for_each(|(end, _)| starts[end.branch as usize + 2] += 1);
    for number in 2..starts.len() {
        starts[number] += starts[number - 1];
    }
    let mut order = vec![0; ends.len()];
    for (index, (end, _)) in ends.iter().enumerate() {
        let place = &mut starts[end.branch as usize + 1];
        order[*place] = index;
        *place += 1;
    }
    let mut made: Vec<Vec<Branch>> = Vec::new();
    made.resize_with(twigs.len(), Vec::new);
    for (number, twig) in twigs.iter().enumerate().rev() {
        let label = twig.frame.and_then(|frame| names.label(frame));
        let mut branch = Branch::new(twig.frame.filter(|_| label.is_none()), twig.key);
        branch.label = label.map(str::to_owned);
        branch.has_more = twig.has_more;
        if twig.dropped > 0 {
            branch.dropped = Some(Box::new(Dropped { branches: twig.dropped, ..Dropped::default() }));
        }
        branch.children = std::mem::take(&mut made[number]);
        branch.children.reverse();
        for &index in &order[starts[number]..starts[number + 1]] {
            let (end, site) = ends[index];
            site.add_to(&mut branch.metrics);
            if let Some(dropped) = branch.dropped.as_mut().filter(|_| end.is_dropped) {
                site.add_to(&mut dropped.metrics);
            }
        }
        for child in &branch.children {
            branch.metrics.add(&child.metrics);
        }
        if number == 0 {
            return branch;
        }
        let siblings = &mut made[twig.parent as usize];
        if siblings.is_empty() {
            siblings.reserve_exact(twigs[twig.parent as usize].children as usize);
        }
        siblings.push(branch);
    }
    Branch::default()
}

/// The branch at which the part begins, and its stacks.
fn find<W: Way>(way: &mut W, all: W::Bundle, below: Below, names: &mut FrameNames) -> Option<(Twig, W::Bundle)> {
    let mut root = Twig::new(None, Key::EMPTY, 0);
    match below {
        Below::Trail(trail) => {
            let mut bundle = all;
            for &key in trail {
                let next = way.split(bundle, names);
                let child = next.into_iter().find(|child| root.key.with_key(child.name) == key)?;
                root = Twig::new(Some(child.frame), key, 0);
                bundle = child.bundle;
            }
            Some((root, bundle))
        }
        Below::Branch(key) => {
            let mut open = vec![(Key::EMPTY, all)];
            while let Some((above, bundle)) = open.pop() {
                for child in way.split(bundle, names) {
                    let here = above.with_key(child.name);
                    if here == key {
                        return Some((Twig::new(Some(child.frame), key, 0), child.bundle));
                    }
                    open.push((here, child.bundle));
                }
            }
            None
        }
    }
}
