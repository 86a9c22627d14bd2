//! The call trees before and after as one: functions are the same if they are called the same, whatever their lines.

use crate::ask::{Changes, most_nodes};
use crate::frame_table::FrameTable;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{ChangedTreeColumns, ChangedTreesPack};
use crate::recordings::Recordings;
use memtoll_analysis::diff::{CONFIDENCE, LoadedFiles, Samples};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stable_key::Key;
use memtoll_analysis::stacks::{Stacks, Texts};
use memtoll_analysis::tree::{Branch, call_tree};
use memtoll_model::{FrameId, Recording};
use memtoll_query::query::TreeQuery;
use memtoll_query::{Answer, Basis, Query};
use rustc_hash::FxHashMap;

/// A function in both trees.
#[derive(Clone, Copy)]
struct Node {
    parent: usize,
    /// Its number in the recording after, or in that before (0) if it is there only.
    frame: Option<(usize, FrameId)>,
    /// Before and after.
    values: [u64; 2],
    /// Call paths that it stands for; 0: it is one function.
    others: usize,
}

/// A node of an answer.
#[derive(Clone, Copy)]
struct Shown {
    node: Node,
    /// See [`Both::widths`].
    width: u64,
}

/// What a branch of one tree has, 0 before or 1 after, and the node that it belongs to.
#[derive(Clone, Copy)]
struct Has<'t> {
    node: usize,
    side: usize,
    metrics: &'t Priced,
}

/// What a function is called, whatever its line.
fn key(recording: &Recording, loaded_files: &LoadedFiles, frame: FrameId) -> Key {
    let frames = &recording.frames;
    Key::EMPTY.with(Texts::of(frames, frame).function).with(loaded_files.name(frames, frames.frame(frame).module))
}

/// Two trees in one. Callers come before what they call.
struct Both<'a> {
    loaded_files: LoadedFiles<'a>,
    nodes: Vec<Node>,
    branches: Vec<Has<'a>>,
    known: FxHashMap<(usize, Key), usize>,
}

impl<'a> Both<'a> {
    fn new(loaded_files: LoadedFiles<'a>) -> Both<'a> {
        let root = Node { parent: 0, frame: None, values: [0; 2], others: 0 };
        Both { loaded_files, nodes: vec![root], branches: Vec::new(), known: FxHashMap::default() }
    }

    /// Adds the tree before (0) or after (1).
    fn add(&mut self, side: usize, root: &'a Branch, recording: &Recording, value: &impl Fn(&Branch) -> u64) {
        self.nodes[0].values[side] += value(root);
        self.branches.push(Has { node: 0, side, metrics: &root.metrics });
        let mut open = vec![(0, root)];
        while let Some((at, branch)) = open.pop() {
            for child in &branch.children {
                let Some(frame) = child.frame else { continue };
                let key = key(recording, &self.loaded_files, frame);
                let nodes = &mut self.nodes;
                let index = *self.known.entry((at, key)).or_insert_with(|| {
                    nodes.push(Node { parent: at, frame: None, values: [0; 2], others: 0 });
                    nodes.len() - 1
                });
                let node = &mut nodes[index];
                node.values[side] += value(child);
                self.branches.push(Has { node: index, side, metrics: &child.metrics });
                if node.frame.is_none_or(|(known, _)| known < side) {
                    node.frame = Some((side, frame));
                }
                open.push((index, child));
            }
        }
    }

    /// How wide nodes are so that what is gone has room beside what is new: of themselves, the larger of before and after.
    fn widths(&self) -> Vec<u64> {
        let mut own: Vec<[u64; 2]> = self.nodes.iter().map(|node| node.values).collect();
        for node in self.nodes.iter().skip(1) {
            for side in [0, 1] {
                own[node.parent][side] = own[node.parent][side].saturating_sub(node.values[side]);
            }
        }
        let mut widths: Vec<u64> = own.iter().map(|[before, after]| *before.max(after)).collect();
        for index in (1..self.nodes.len()).rev() {
            widths[self.nodes[index].parent] += widths[index];
        }
        widths
    }

    /// The width from which on branches below a node are shown: a share of its own, and more if there are too many.
    fn least(&self, top: usize, widths: &[u64], share: f64, most: usize) -> u64 {
        let mut is_below = vec![false; self.nodes.len()];
        is_below[top] = true;
        let mut below = Vec::new();
        for index in top + 1..self.nodes.len() {
            if is_below[self.nodes[index].parent] {
                is_below[index] = true;
                below.push(widths[index]);
            }
        }
        below.sort_unstable_by(|a, b| b.cmp(a));
        let beyond = below.get(most).map_or(0, |width| width + 1);
        ((widths[top] as f64 * share) as u64).max(beyond).max(1)
    }

    /// A node with what is below it, without branches narrower than `least`; those of one caller are one node. And where in it each
    /// node is that is a part of it.
    fn pruned(&self, top: usize, widths: &[u64], least: u64) -> (Vec<Shown>, Vec<Option<usize>>) {
        let mut places: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut parts = places.clone();
        let mut others: FxHashMap<usize, usize> = FxHashMap::default();
        let mut kept = vec![Shown { node: Node { parent: 0, ..self.nodes[top] }, width: widths[top] }];
        (places[top], parts[top]) = (Some(0), Some(0));
        for (index, (node, &width)) in self.nodes.iter().zip(widths).enumerate().skip(top + 1) {
            // What is below a narrow branch is in it already.
            let Some(parent) = places[node.parent] else { continue };
            if width >= least {
                (places[index], parts[index]) = (Some(kept.len()), Some(kept.len()));
                kept.push(Shown { node: Node { parent, ..*node }, width });
                continue;
            }
            let other = *others.entry(parent).or_insert_with(|| {
                kept.push(Shown { node: Node { parent, frame: None, values: [0; 2], others: 0 }, width: 0 });
                kept.len() - 1
            });
            parts[index] = Some(other);
            let other = &mut kept[other];
            other.node.others += 1;
            other.width += width;
            for side in [0, 1] {
                other.node.values[side] += node.values[side];
            }
        }
        (kept, parts)
    }

    /// How far each side of each node may be off, of `count` nodes. `parts`: where each branch counts; `estimate`: what a side
    /// has of the metric.
    fn margins(
        &self,
        count: usize,
        parts: &[Option<usize>],
        estimate: impl Fn(usize, &Priced) -> Estimate,
    ) -> [Vec<f64>; 2] {
        let mut shown: Vec<(usize, &Has)> =
            self.branches.iter().filter_map(|has| Some((parts[has.node]?, has))).collect();
        shown.sort_by_key(|(at, has)| (*at, has.side));
        let mut sides = vec![[None; 2]; count];
        for of in shown.chunk_by(|one, other| (one.0, one.1.side) == (other.0, other.1.side)) {
            let (at, Has { side, .. }) = of[0];
            let mut sum = Priced::default();
            of.iter().for_each(|(_, has)| sum.add(has.metrics));
            sides[at][*side] = Some(estimate(*side, &sum));
        }
        sides
            .into_iter()
            .map(|of| Samples::of_single(of).margins(CONFIDENCE).into())
            .unzip::<_, _, Vec<f64>, Vec<f64>>()
            .into()
    }
}

impl Recordings<'_> {
    /// What changed, as one tree of both sides.
    pub(crate) fn changed_trees(&self, query: &Query, tree: &TreeQuery, changes: &Changes) -> Result<Pack, NoAnswer> {
        let metric = query.metric();
        let compared = self.compared(query, changes, 1)?;
        let answers: Vec<&Answer> = compared.sides().iter().flatten().collect();
        let tree_of = |answer: &&Answer| {
            let Basis { recording, sums, .. } = &answer.basis;
            let sums = sums.as_ref().ok_or(NoAnswer::Lacks("sums"))?;
            Ok(call_tree(&mut Stacks::new(recording, compared.view()), sums, tree.direction))
        };
        let trees = answers.iter().map(tree_of).collect::<Result<Vec<Branch>, NoAnswer>>()?;
        let mut both = Both::new(LoadedFiles::of(answers.iter().map(|answer| answer.basis.recording)));
        for (side, (answer, all)) in answers.iter().zip(&trees).enumerate() {
            both.add(side, all, answer.basis.recording, &|branch| metric.value(&branch.metrics));
        }
        let recordings = [0, 1].map(|side: usize| answers[side].basis.recording);
        let mut top = 0;
        for &(side, frame) in &changes.path {
            let frame = recordings.get(side).and_then(|recording| Some((recording, recording.frames.numbered(frame)?)));
            let next =
                frame.and_then(|(recording, frame)| both.known.get(&(top, key(recording, &both.loaded_files, frame))));
            top = *next.ok_or(NoAnswer::NoCallPath)?;
        }
        let widths = both.widths();
        let least = both.least(top, &widths, tree.min_percent / 100.0, most_nodes(changes.searched));
        let (nodes, parts) = both.pruned(top, &widths, least);
        let [before_margin, after_margin] =
            both.margins(nodes.len(), &parts, |side, of| answers[side].basis.tariff.estimate(metric, of));
        let mut tables = [FrameTable::default(), FrameTable::default()];
        let mut number = |of: &Shown| of.node.frame.map_or(0.0, |(side, id)| f64::from(tables[side].number(id)) + 1.0);
        let columns = ChangedTreeColumns {
            parent: nodes.iter().map(|of| of.node.parent as f64).collect(),
            frame: nodes.iter().map(&mut number).collect(),
            side: nodes.iter().map(|of| of.node.frame.map_or(1.0, |(side, _)| side as f64)).collect(),
            others: nodes.iter().map(|of| of.node.others as f64).collect(),
            width: nodes.iter().map(|of| of.width as f64).collect(),
            before: nodes.iter().map(|of| of.node.values[0] as f64).collect(),
            after: nodes.iter().map(|of| of.node.values[1] as f64).collect(),
            before_margin,
            after_margin,
        };
        let [(before, before_texts), (after, after_texts)] =
            [0, 1].map(|side| tables[side].columns(answers[side].basis.recording));
        let mut pack = Pack::new(&ChangedTreesPack { before_texts, after_texts });
        pack.columns("tree", &columns);
        pack.columns("before.frames", &before);
        pack.columns("after.frames", &after);
        Ok(pack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_text::amounts::Nanoseconds;

    fn both(nodes: &[(usize, u64, u64)]) -> Both<'static> {
        let node = |&(parent, before, after): &(usize, u64, u64)| Node {
            parent,
            frame: Some((1, FrameId::new(7))),
            values: [before, after],
            others: 0,
        };
        Both { nodes: nodes.iter().map(node).collect(), ..Both::new(LoadedFiles::of([])) }
    }

    #[test]
    fn what_is_gone_has_room_beside_what_is_new() {
        let tree = both(&[(0, 100, 60), (0, 80, 0), (0, 10, 55), (2, 10, 40)]);
        // Of themselves: the root 10 and 5, the second 0 and 15.
        assert_eq!(tree.widths(), [10 + 80 + 55, 80, 40 + 15, 40]);
    }

    /// What a side does not have is not off.
    #[test]
    fn each_side_errs_by_itself() {
        let of = |ns| Priced { waiting_ns: Nanoseconds(ns), ..Priced::default() };
        let (before, after, narrow) = (of(100), of(60), of(10));
        let mut both = both(&[(0, 100, 60), (0, 80, 20), (0, 0, 10), (0, 0, 10), (0, 0, 0)]);
        let has = |node, side, metrics| Has { node, side, metrics };
        both.branches =
            vec![has(0, 1, &after), has(0, 0, &before), has(2, 1, &narrow), has(3, 1, &narrow), has(1, 0, &before)];
        let by = |side, of: &Priced| {
            let value = of.waiting_ns.0 as f64;
            Estimate::exact(value).give_or_take(if side == 0 { 30.0 } else { value / 1.5 })
        };
        // The third and the fourth one are one.
        let [before, after] = both.margins(3, &[Some(0), Some(1), Some(2), Some(2), None], by);
        assert_eq!((before, &after[..2]), (vec![30.0, 30.0, 0.0], &[40.0, 0.0][..]));
        assert!((after[2] - 20.0 / 1.5).abs() < 1e-9, "{after:?}");
    }

    #[test]
    fn narrow_branches_are_one_and_sums_stay() {
        let both = both(&[(0, 100, 60), (0, 80, 20), (0, 3, 4), (2, 3, 2), (0, 5, 0)]);
        let widths = both.widths();
        let shown = |top, least| -> Vec<_> {
            let (nodes, _) = both.pruned(top, &widths, least);
            nodes.iter().map(|of| (of.node.parent, of.node.values, of.node.others, of.width)).collect()
        };
        // Of itself, the root has 12 before and 36 after; it is wider than both.
        assert_eq!(shown(0, 10), [(0, [100, 60], 0, 36 + 80 + 5 + 5), (0, [80, 20], 0, 80), (0, [8, 4], 2, 5 + 5)]);
        assert_eq!(shown(2, 1), [(0, [3, 4], 0, 5), (0, [3, 2], 0, 3)]);
        assert_eq!(
            [both.least(0, &widths, 0.5, 9), both.least(2, &widths, 0.0, 9), both.least(0, &widths, 0.0, 1)],
            [63, 1, 6]
        );
    }
}
