//! Call trees as columns, of a bounded number of nodes. Branches that are too small become one node beside their larger
//! siblings, so that sums stay exact.

use crate::metrics::{COUNT, NOTHING, Values, add, values};
use crate::packs::TreeColumns;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stable_key::Key;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::FrameId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// A node with all that is below it.
#[derive(Clone)]
pub struct Node {
    /// Index of the caller; the root's is its own.
    pub parent: usize,
    /// The frame; the root has none, nor has what is left of a node's smaller branches.
    pub frame: Option<FrameId>,
    /// The numbers of all metrics.
    pub values: Values,
    /// The call paths that this node stands for; 0: it is one frame.
    pub others: u32,
}

/// A call tree from the threads' entries inwards. Callers come before what they call.
pub struct Tree {
    /// The nodes; the first is the root.
    pub nodes: Vec<Node>,
    by_frame: FxHashMap<(usize, Option<FrameId>), usize>,
    /// Of the branches that are nodes.
    keys: FxHashSet<Key>,
}

/// The branches of a tree, ranked once. A tree of them has at most as many nodes as [`Ranked::new`] was asked for.
pub struct Ranked {
    /// Each with the place of its caller, which comes before it, its frame, and its key.
    branches: Vec<(usize, Option<FrameId>, Key)>,
    /// The places of the largest, by the metric of which they are the largest share.
    order: Vec<usize>,
    /// Where the numbers of a branch stand. Only those of the largest branches and of the branches that these call are kept.
    places: Vec<u32>,
    values: Vec<Values>,
}

impl Ranked {
    /// The `most` largest of some branches, callers before what they call; the first is the root, which has `root`. `each` calls with the
    /// place of each branch that has sums, its sums, and a branch below it with the same, if there is one: that one comes before it.
    pub fn new(
        branches: Vec<(usize, Option<FrameId>, Key)>,
        (root, tariff): (&Priced, &Tariff),
        most: usize,
        each: impl Fn(&mut dyn FnMut(usize, &Priced, Option<usize>)),
    ) -> Ranked {
        let total = values(root, tariff);
        let mut scores = vec![0.0; branches.len()];
        each(&mut |branch, sums, same| {
            scores[branch] = same.map_or_else(|| share(&values(sums, tariff), &total), |same| scores[same]);
        });
        // A stable sort by share keeps callers before what they call, because no branch is more than its caller.
        for (at, (caller, ..)) in branches.iter().enumerate() {
            scores[at] = if at == 0 { f64::INFINITY } else { scores[at].min(scores[*caller]) };
        }
        let mut order: Vec<usize> = (0..branches.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        order.truncate(most.max(1));
        let mut is_large = vec![false; branches.len()];
        order.iter().for_each(|&index| is_large[index] = true);
        // Those that have no sums have nothing.
        let (mut places, mut kept) = (vec![0; branches.len()], vec![NOTHING]);
        each(&mut |branch, sums, _| {
            if is_large[branches[branch].0] {
                places[branch] = kept.len() as u32;
                kept.push(values(sums, tariff));
            }
        });
        Ranked { branches, order, places, values: kept }
    }

    fn values(&self, branch: usize) -> &Values {
        &self.values[self.places[branch] as usize]
    }
}

impl Tree {
    /// The largest `most` branches of a tree, by the metric of which they are the largest share.
    pub fn of(ranked: &Ranked, most: usize) -> Tree {
        let Ranked { branches, order, .. } = ranked;
        let mut kept = vec![false; branches.len()];
        order.iter().take(most.max(1)).for_each(|&index| kept[index] = true);
        let mut tree = Tree { nodes: Vec::new(), by_frame: FxHashMap::default(), keys: FxHashSet::default() };
        let mut numbers = vec![usize::MAX; branches.len()];
        for (index, &(parent, frame, key)) in branches.iter().enumerate() {
            if kept[index] {
                tree.keys.insert(key);
                let parent = if index == 0 { 0 } else { numbers[parent] };
                numbers[index] = tree.push(parent, frame, *ranked.values(index), 0);
            } else if kept[parent] {
                let other = tree.other(numbers[parent]);
                numbers[index] = other;
                add(&mut tree.nodes[other].values, ranked.values(index));
                tree.nodes[other].others += 1;
            } else {
                numbers[index] = numbers[parent];
            }
        }
        tree
    }

    fn push(&mut self, parent: usize, frame: Option<FrameId>, values: Values, others: u32) -> usize {
        let number = self.nodes.len();
        self.nodes.push(Node { parent, frame, values, others });
        self.by_frame.insert((parent, frame), number);
        number
    }

    /// What stands for a node's smaller branches.
    fn other(&mut self, parent: usize) -> usize {
        match self.by_frame.get(&(parent, None)) {
            Some(&other) if other != 0 => other,
            _ => self.push(parent, None, NOTHING, 0),
        }
    }

    /// The branches that are nodes.
    pub fn keys(&self) -> &FxHashSet<Key> {
        &self.keys
    }

    /// The node of each branch of a tree in which only the branches of [`Tree::keys`] have branches: branches come with the numbers of
    /// their callers, which come before them. What is no node counts with the smaller branches of its caller.
    pub fn nodes_of(&mut self, branches: impl Iterator<Item = (usize, Option<FrameId>)>) -> Vec<usize> {
        let mut nodes = Vec::new();
        for (number, (caller, frame)) in branches.enumerate() {
            let node = match nodes.get(caller) {
                Some(&caller) if number > 0 => match self.by_frame.get(&(caller, frame)) {
                    Some(&known) if frame.is_some() => known,
                    _ => self.other(caller),
                },
                _ => 0,
            };
            nodes.push(node);
        }
        nodes
    }

    /// Where the nodes of a finer tree of the same recording count in this one: with the same branch, or with the smaller
    /// branches of its caller. `None`: those already count what is below them.
    pub fn places(&mut self, finer: &Tree) -> Vec<Option<usize>> {
        let mut places: Vec<Option<usize>> = vec![Some(0)];
        for node in finer.nodes.iter().skip(1) {
            // Callers come before what they call.
            let caller = places[node.parent].filter(|&caller| caller == 0 || self.nodes[caller].frame.is_some());
            places.push(caller.map(|caller| match self.by_frame.get(&(caller, node.frame)) {
                Some(&same) if node.frame.is_some() => same,
                _ => self.other(caller),
            }));
        }
        places
    }

    /// The nodes as columns, without the numbers of metrics. `number` gives those of frames.
    pub(crate) fn columns(&self, mut number: impl FnMut(FrameId) -> u32) -> TreeColumns {
        let frame = |node: &Node| node.frame.map_or(0.0, |frame| f64::from(number(frame)) + 1.0);
        TreeColumns {
            parent: self.nodes.iter().map(|node| node.parent as f64).collect(),
            frame: self.nodes.iter().map(frame).collect(),
            others: self.nodes.iter().map(|node| f64::from(node.others)).collect(),
        }
    }

    /// The numbers of the nodes.
    pub(crate) fn values(&self) -> Vec<Values> {
        self.nodes.iter().map(|node| node.values).collect()
    }
}

/// The largest share that a row has of any metric's total.
fn share(of: &Values, total: &Values) -> f64 {
    let shares = of.iter().zip(total).take(COUNT).map(|(part, whole)| part / whole.max(1.0));
    shares.fold(0.0, f64::max)
}

/// The indices of the `most` largest of some rows, by the metric of which they are the largest share.
pub fn largest(rows: &[Values], most: usize) -> Vec<usize> {
    let mut total = NOTHING;
    rows.iter().for_each(|row| add(&mut total, row));
    let share = |row: &Values| (share(row, &total) * 1e12) as u64;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_cached_key(|&index| (Reverse(share(&rows[index])), index));
    order.truncate(most);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::names;
    use memtoll_analysis::tree::Branch;
    use memtoll_trace::meta::{Clock, Prices};
    use memtoll_trace::metrics::Metrics;

    fn branch(frame: u32, allocations: u64, children: Vec<Branch>) -> Branch {
        let counts = Metrics { new_blocks: allocations, ..Metrics::default() };
        let metrics = Priced { counts, ..Priced::default() };
        let mut branch = Branch::default();
        (branch.frame, branch.metrics, branch.children) = (Some(FrameId::new(frame)), metrics, children);
        branch
    }

    fn root(children: Vec<Branch>) -> Branch {
        let allocations = children.iter().map(|child| child.metrics.allocations()).sum();
        let mut root = branch(0, allocations, children);
        root.frame = None;
        root
    }

    fn allocations(values: &Values) -> u64 {
        values[names().position(|name| name == "allocations").unwrap()] as u64
    }

    fn tariff() -> Tariff {
        Tariff::new(Clock { units_per_second: 1e9, stamp: 0.0 }, Prices::default(), 4096)
    }

    fn ranked(root: &Branch, most: usize) -> Ranked {
        let mut branches = vec![(0, root)];
        let mut at = 0;
        while at < branches.len() {
            branches.extend(branches[at].1.children.iter().map(|child| (at, child)));
            at += 1;
        }
        let all = branches.iter().map(|(caller, branch)| (*caller, branch.frame, branch.key)).collect();
        Ranked::new(all, (&root.metrics, &tariff()), most, |take| {
            branches.iter().enumerate().rev().for_each(|(place, (_, branch))| take(place, &branch.metrics, None));
        })
    }

    /// The numbers of another tree by the nodes of this one, in which only nodes have branches.
    fn part_of(tree: &mut Tree, root: &Branch) -> Vec<(usize, Values)> {
        let mut branches = vec![(0, root, Some(0))];
        let mut at = 0;
        while at < branches.len() {
            let (_, branch, node) = branches[at];
            let known = |node: usize, child: &Branch| tree.by_frame.get(&(node, child.frame)).copied();
            if let Some(node) = node {
                branches.extend(branch.children.iter().map(|child| (at, child, known(node, child))));
            }
            at += 1;
        }
        let nodes = tree.nodes_of(branches.iter().map(|(caller, branch, _)| (*caller, branch.frame)));
        let mut sums: std::collections::BTreeMap<usize, Values> = std::collections::BTreeMap::new();
        for (node, (_, branch, _)) in nodes.into_iter().zip(branches) {
            add(sums.entry(node).or_insert(NOTHING), &values(&branch.metrics, &tariff()));
        }
        sums.into_iter().collect()
    }

    #[test]
    fn small_branches_become_one() {
        let small = branch(3, 5, vec![branch(4, 3, vec![])]);
        let whole = root(vec![branch(1, 90, vec![branch(2, 80, vec![])]), small, branch(5, 4, vec![])]);
        let mut tree = Tree::of(&ranked(&whole, 3), 3);
        let shown = tree
            .nodes
            .iter()
            .map(|node| (node.parent, node.frame.map(FrameId::get), allocations(&node.values), node.others));
        let shown: Vec<_> = shown.collect();
        assert_eq!(shown, [(0, None, 99, 0), (0, Some(1), 90, 0), (0, None, 9, 2), (1, Some(2), 80, 0)]);
        let part = root(vec![branch(1, 7, vec![branch(9, 2, vec![])]), branch(3, 1, vec![])]);
        let part: Vec<_> =
            part_of(&mut tree, &part).iter().map(|(node, values)| (*node, allocations(values))).collect();
        assert_eq!(part, [(0, 8), (1, 7), (2, 1), (4, 2)]);
        assert_eq!((tree.nodes[4].parent, tree.nodes[4].frame), (1, None));
    }

    /// The numbers of nodes by the frames that lead to them.
    fn by_path(tree: &Tree, rows: &[(usize, Values)]) -> Vec<(Vec<Option<FrameId>>, u64)> {
        let path = |mut node: usize| {
            let mut path = Vec::new();
            while node != 0 {
                path.push(tree.nodes[node].frame);
                node = tree.nodes[node].parent;
            }
            path
        };
        let mut rows: Vec<_> = rows.iter().map(|(node, values)| (path(*node), allocations(values))).collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn a_coarser_tree_has_the_same_numbers_of_a_part_from_a_finer_one() {
        let grown = |seed: u64| {
            let mut state = seed;
            let mut random = move |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            fn grow(frame: u32, depth: u32, random: &mut impl FnMut(u64) -> u64) -> Branch {
                let width = if depth == 0 { 0 } else { 2 + random(2) as u32 };
                let children: Vec<Branch> = (1..=width).map(|child| grow(child, depth - 1, random)).collect();
                let below: u64 = children.iter().map(|child| child.metrics.allocations()).sum();
                branch(frame, below + 1 + random(9), children)
            }
            root((1..=3).map(|frame| grow(frame, 4, &mut random)).collect())
        };
        let (whole, part) = (grown(1), grown(2));
        let mut fine = Tree::of(&ranked(&whole, 60), 60);
        let rows = part_of(&mut fine, &part);
        for most in [60, 30, 9, 2, 1] {
            let ranked = ranked(&whole, 60);
            let (mut coarse, mut expected) = (Tree::of(&ranked, most), Tree::of(&ranked, most));
            let places = coarse.places(&fine);
            let mut sums: FxHashMap<usize, Values> = FxHashMap::default();
            for (node, values) in &rows {
                let Some(place) = places[*node] else { continue };
                add(sums.entry(place).or_insert(NOTHING), values);
            }
            let sums: Vec<_> = sums.into_iter().collect();
            let direct = part_of(&mut expected, &part);
            assert_eq!(by_path(&coarse, &sums), by_path(&expected, &direct), "{most} nodes");
            if most == 60 {
                assert!(places.iter().enumerate().all(|(node, place)| *place == Some(node)));
            }
        }
    }
}
