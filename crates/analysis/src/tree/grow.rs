//! How a tree grows, whichever way: bundles of stacks are split, frame by frame.

use super::outline::Outline;
use super::twig::{End, Twig};
use super::{Below, Part};
use crate::stable_key::Key;
use crate::stacks::Path;
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

/// A stack, and what is added up of it.
pub(super) struct Ending<T> {
    pub path: Path,
    /// The limit's number.
    pub value: u64,
    pub of: T,
}

/// The part of the tree that is asked for, of the stacks that end so.
pub(super) fn grow<W: Way, T>(
    way: &mut W,
    ends: Vec<Ending<T>>,
    part: &Part,
    names: &mut FrameNames,
) -> Option<Outline<T>> {
    let twigs = twigs(way, part, names)?;
    let ends: Vec<(End, T)> =
        ends.into_iter().filter_map(|Ending { path, of, .. }| Some((way.end(path)?, of))).collect();
    (part.function.is_none() || !ends.is_empty()).then_some(Outline { twigs, ends })
}

/// The branches of the part, each before what is below it. Nothing: no stack leads to it.
pub(super) fn twigs<W: Way>(way: &mut W, part: &Part, names: &mut FrameNames) -> Option<Vec<Twig>> {
    let all = way.all();
    let (root, bundle) = match part.below {
        None => (Twig::root(), all),
        Some(below) => find(way, all, below, names)?,
    };
    let least = part.limit.map(|limit| ((way.value(&bundle) as f64 * limit.share) as u64).max(1));
    let most = part.limit.map_or(usize::MAX, |limit| limit.most);
    let mut twigs = vec![root];
    way.settle(&bundle, End { branch: 0, is_dropped: false });
    // The largest first, so that these are there if not all can be; without a limit, one after the other.
    let mut order = part.limit.map(|_| BinaryHeap::from([(u64::MAX, Reverse(0))]));
    let mut open = vec![Some((bundle, 0))];
    let mut turns = 0..;
    while let Some(at) = match &mut order {
        Some(order) => order.pop().map(|(_, Reverse(at))| at),
        None => turns.next().filter(|at| *at < open.len()),
    } {
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
            twigs.push(Twig::new(frame, key, at as u32, names));
            twigs[at].children += 1;
            way.settle(&bundle, End { branch: number as u32, is_dropped: false });
            let is_leaf = part.grown.is_some_and(|grown| !grown.contains(&key));
            open.push(Some((bundle, level + 1)).filter(|_| !is_leaf));
            if let Some(order) = order.as_mut().filter(|_| !is_leaf) {
                order.push((value, Reverse(number)));
            }
        }
    }
    Some(twigs)
}

/// The branch at which the part begins, and its stacks.
fn find<W: Way>(way: &mut W, all: W::Bundle, below: Below, names: &mut FrameNames) -> Option<(Twig, W::Bundle)> {
    let mut root = Twig::root();
    match below {
        Below::Trail(trail) => {
            let mut bundle = all;
            for &key in trail {
                let next = way.split(bundle, names);
                let child = next.into_iter().find(|child| root.key.with_key(child.name) == key)?;
                root = Twig::new(child.frame, key, 0, names);
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
                        return Some((Twig::new(child.frame, key, 0, names), child.bundle));
                    }
                    open.push((here, child.bundle));
                }
            }
            None
        }
    }
}
