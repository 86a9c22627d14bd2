//! The call trees before and after as one: functions are the same if they are called the same, whatever their lines.

use crate::ask::Ask;
use crate::engine::Engine;
use crate::frames::FrameTable;
use crate::metrics;
use crate::pack::Pack;
use memtoll_analysis::key::Key;
use memtoll_analysis::stacks::{Stacks, Texts};
use memtoll_analysis::tree::{Branch, Direction, call_tree};
use memtoll_model::Recording;
use rustc_hash::FxHashMap;
use serde_json::json;

/// Nodes of an answer. A screen has room for fewer.
const MOST_NODES: usize = 20_000;

/// A function in both trees.
struct Node {
    parent: usize,
    /// Its number in the recording after, or in that before (0) if it is there only.
    frame: Option<(usize, u32)>,
    /// Before and after.
    values: [u64; 2],
    /// Call paths that it stands for; 0: it is one function.
    others: usize,
}

/// Two trees in one. Callers come before what they call.
struct Both {
    nodes: Vec<Node>,
    known: FxHashMap<(usize, Key), usize>,
}

impl Both {
    fn new() -> Both {
        let root = Node { parent: 0, frame: None, values: [0; 2], others: 0 };
        Both { nodes: vec![root], known: FxHashMap::default() }
    }

    /// Adds the tree before (0) or after (1).
    fn add(&mut self, side: usize, root: &Branch, recording: &Recording, value: &impl Fn(&Branch) -> u64) {
        self.nodes[0].values[side] += value(root);
        let mut open = vec![(0, root)];
        while let Some((at, branch)) = open.pop() {
            for child in &branch.children {
                let Some(frame) = child.frame else { continue };
                let texts = Texts::of(&recording.frames, frame);
                let key = Key::EMPTY.with(texts.function).with(texts.module_name());
                let nodes = &mut self.nodes;
                let index = *self.known.entry((at, key)).or_insert_with(|| {
                    nodes.push(Node { parent: at, frame: None, values: [0; 2], others: 0 });
                    nodes.len() - 1
                });
                let node = &mut nodes[index];
                node.values[side] += value(child);
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

    /// Without branches narrower than `least`; those of one caller are one node.
    fn pruned(self, least: u64) -> Vec<Node> {
        let widths = self.widths();
        let mut places: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut others: FxHashMap<usize, usize> = FxHashMap::default();
        let mut kept: Vec<Node> = Vec::new();
        for (index, node) in self.nodes.into_iter().enumerate() {
            if index == 0 {
                places[0] = Some(0);
                kept.push(node);
                continue;
            }
            // What is below a narrow branch is in it already.
            let Some(parent) = places[node.parent] else { continue };
            if widths[index] >= least {
                places[index] = Some(kept.len());
                kept.push(Node { parent, ..node });
                continue;
            }
            let other = *others.entry(parent).or_insert_with(|| {
                kept.push(Node { parent, frame: None, values: [0; 2], others: 0 });
                kept.len() - 1
            });
            kept[other].others += 1;
            for side in [0, 1] {
                kept[other].values[side] += node.values[side];
            }
        }
        kept
    }
}

impl Engine<'_> {
    /// What changed, as one tree of both sides.
    pub(crate) fn compare_trees(&self, ask: &Ask) -> Result<Pack, String> {
        let part = &ask.tree;
        let metric = metrics::names().position(|name| name == part.metric);
        let metric = metric.ok_or_else(|| format!("there is no metric {:?}", part.metric))?;
        let view = Engine::view(ask)?;
        let direction = if part.reversed { Direction::Callers } else { Direction::Callees };
        let answers = self.sides(ask)?;
        let mut both = Both::new();
        for (side, answer) in answers.iter().enumerate() {
            let recording = answer.basis.recording;
            let sums = answer.basis.sums.as_ref().ok_or("the answer has no sums")?;
            let tree = call_tree(&mut Stacks::new(recording, &view), sums, direction);
            both.add(side, &tree, recording, &|branch| metrics::value(metric, &branch.metrics));
        }
        let widths = both.widths();
        let mut sorted = widths.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let beyond = sorted.get(MOST_NODES).map_or(0, |width| width + 1);
        let least = ((widths[0] as f64 * part.least) as u64).max(beyond).max(1);
        let nodes = both.pruned(least);
        let mut pack = Pack::new();
        let mut tables = [FrameTable::default(), FrameTable::default()];
        let column = |of: &mut dyn FnMut(&Node) -> f64| nodes.iter().map(of).collect::<Vec<f64>>();
        let mut number = |node: &Node| node.frame.map_or(0.0, |(side, id)| f64::from(tables[side].number(id)) + 1.0);
        pack.column("tree.frame", &column(&mut number));
        pack.column("tree.side", &column(&mut |node| node.frame.map_or(1.0, |(side, _)| side as f64)));
        pack.column("tree.parent", &column(&mut |node| node.parent as f64));
        pack.column("tree.others", &column(&mut |node| node.others as f64));
        pack.column("tree.before", &column(&mut |node| node.values[0] as f64));
        pack.column("tree.after", &column(&mut |node| node.values[1] as f64));
        for ((table, answer), name) in tables.iter().zip(&answers).zip(["before.", "after."]) {
            table.write(answer.basis.recording, name, &mut pack);
        }
        pack.set("files", json!(self.files()));
        Ok(pack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(nodes: &[(usize, u64, u64)]) -> Both {
        let node = |&(parent, before, after): &(usize, u64, u64)| Node {
            parent,
            frame: Some((1, 7)),
            values: [before, after],
            others: 0,
        };
        Both { nodes: nodes.iter().map(node).collect(), known: FxHashMap::default() }
    }

    #[test]
    fn what_is_gone_has_room_beside_what_is_new() {
        let tree = both(&[(0, 100, 60), (0, 80, 0), (0, 10, 55), (2, 10, 40)]);
        // Of themselves: the root 10 and 5, the second 0 and 15.
        assert_eq!(tree.widths(), [10 + 80 + 55, 80, 40 + 15, 40]);
    }

    #[test]
    fn narrow_branches_are_one_and_sums_stay() {
        let nodes = both(&[(0, 100, 60), (0, 80, 20), (0, 3, 4), (2, 3, 2), (0, 5, 0)]).pruned(10);
        let shown: Vec<_> = nodes.iter().map(|node| (node.parent, node.values, node.others)).collect();
        assert_eq!(shown, [(0, [100, 60], 0), (0, [80, 20], 0), (0, [8, 4], 2)]);
    }
}
