//! A part of a call tree as columns: as much as is large enough to be seen, and the rest when it is asked for.

use crate::ask::Ask;
use crate::engine::{Engine, Found};
use crate::frames::FrameTable;
use crate::metrics;
use crate::pack::Pack;
use memtoll_analysis::key::Key;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tree::{Branch, Direction, Part, part_of_tree};
use serde_json::json;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nodes of an answer. A screen has room for fewer.
const MOST_NODES: usize = 4_000;

/// A node of an answer.
struct Node<'b> {
    parent: usize,
    /// `None`: smaller branches together.
    branch: Option<&'b Branch>,
    /// How many smaller branches.
    others: usize,
    metrics: Priced,
    /// Whether it has children that are not in the answer.
    has_more: bool,
}

impl Engine<'_> {
    /// The part of a selection's tree that is asked for.
    pub(crate) fn part_of_tree(&mut self, found: &mut Found, ask: &Ask) -> Result<Pack, String> {
        let part = &ask.tree;
        let number = |name: &str| {
            metrics::names().position(|known| known == name).ok_or_else(|| format!("there is no metric {name:?}"))
        };
        let metric = number(&part.metric)?;
        let columns = part.columns.iter().map(|name| number(name)).collect::<Result<Vec<usize>, String>>()?;
        let columns = if columns.is_empty() { (0..metrics::COUNT).collect() } else { columns };
        let direction = if part.reversed { Direction::Callers } else { Direction::Callees };
        let function = part.function.as_deref().map(qualified_name);
        let wanted = Part { function, ..Part::whole(direction) };
        let of_function;
        let root = match part.function {
            Some(_) => {
                of_function = part_of_tree(self.stacks(ask)?, &found.sums, &wanted).unwrap_or_default();
                &of_function
            }
            None => {
                let kept = &mut found.trees[usize::from(part.reversed)];
                if kept.is_none() {
                    *kept = part_of_tree(self.stacks(ask)?, &found.sums, &wanted);
                }
                kept.get_or_insert_default()
            }
        };
        let mut top = root;
        let known = &self.recording().frames;
        for &frame in part.path.iter().filter(|frame| (**frame as usize) < known.len()) {
            let key = top.key.with_key(Key::of_frame(known, frame));
            match top.children.iter().find(|child| child.key == key) {
                Some(child) => top = child,
                None => return Err("There is no such call path in this selection.".to_owned()),
            }
        }
        let value = |priced: &Priced| metrics::value(metric, priced);
        let least = (value(&root.metrics) as f64 * part.least) as u64;
        let nodes = largest(top, &value, least);
        let mut pack = Pack::new();
        let mut frames = FrameTable::default();
        let column = |of: &mut dyn FnMut(&Node) -> f64| nodes.iter().map(of).collect::<Vec<f64>>();
        pack.column("tree.parent", &column(&mut |node| node.parent as f64));
        let frame = |node: &Node| node.branch.and_then(|branch| branch.frame);
        pack.column(
            "tree.frame",
            &column(&mut |node| frame(node).map_or(0.0, |id| f64::from(frames.number(id)) + 1.0)),
        );
        pack.column("tree.others", &column(&mut |node| node.others as f64));
        pack.column("tree.more", &column(&mut |node| f64::from(u8::from(node.has_more))));
        let names: Vec<&str> = metrics::names().collect();
        for index in columns {
            let numbers = column(&mut |node| metrics::value(index, &node.metrics) as f64);
            pack.column(&format!("tree.{}", names[index]), &numbers);
        }
        pack.set("nodes", json!(nodes.len()));
        frames.write(self.recording(), "", &mut pack);
        Ok(pack)
    }
}

/// The largest branches, callers before what they call. Those below `least` are one beside their larger siblings.
fn largest<'b>(top: &'b Branch, value: &impl Fn(&Priced) -> u64, least: u64) -> Vec<Node<'b>> {
    let node = |parent, branch: &'b Branch| Node {
        parent,
        branch: Some(branch),
        others: 0,
        metrics: branch.metrics,
        has_more: false,
    };
    let mut nodes = vec![node(0, top)];
    let mut open = BinaryHeap::from([(value(&top.metrics), Reverse(0))]);
    while let Some((_, Reverse(at))) = open.pop() {
        let Some(branch) = nodes[at].branch else { continue };
        let mut children: Vec<(u64, &Branch)> =
            branch.children.iter().map(|child| (value(&child.metrics), child)).filter(|(size, _)| *size > 0).collect();
        if children.is_empty() {
            continue;
        }
        if nodes.len() >= MOST_NODES {
            nodes[at].has_more = true;
            continue;
        }
        children.sort_by_key(|(size, _)| Reverse(*size));
        // What was asked for itself is there as far as there is room.
        let seen = children.iter().take_while(|(size, _)| *size >= least).count();
        let (seen, small) = children.split_at(seen.min(MOST_NODES));
        for (size, child) in seen {
            open.push((*size, Reverse(nodes.len())));
            nodes.push(node(at, child));
        }
        if let Some((_, first)) = small.first() {
            let mut metrics = first.metrics;
            small[1..].iter().for_each(|(_, child)| metrics.add(&child.metrics));
            nodes.push(Node { parent: at, branch: None, others: small.len(), metrics, has_more: true });
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::summary::Metrics;

    fn branch(frame: Option<u32>, allocations: u64, children: Vec<Branch>) -> Branch {
        let counts = Metrics { allocations, ..Metrics::default() };
        let mut branch = Branch::default();
        (branch.frame, branch.children) = (frame, children);
        branch.metrics = Priced { counts, ..Priced::default() };
        branch
    }

    #[test]
    fn small_branches_are_one_and_more_is_told() {
        let one = |frame, value| branch(Some(frame), value, vec![]);
        let top = branch(
            None,
            99,
            vec![branch(Some(1), 90, vec![one(2, 80), one(3, 4), one(4, 3)]), one(5, 6), one(6, 2), one(7, 0)],
        );
        let shown = |least| -> Vec<_> {
            let nodes = largest(&top, &|of: &Priced| of.counts.allocations, least);
            let of = |node: &Node| {
                (node.parent, node.branch.and_then(|branch| branch.frame), node.metrics.counts.allocations, node.others)
            };
            nodes.iter().map(of).collect()
        };
        assert_eq!(
            shown(5),
            [
                (0, None, 99, 0),
                (0, Some(1), 90, 0),
                (0, Some(5), 6, 0),
                (0, None, 2, 1),
                (1, Some(2), 80, 0),
                (1, None, 7, 2)
            ]
        );
        assert_eq!(shown(0).len(), 7);
        assert_eq!(shown(200).iter().map(|node| node.3).sum::<usize>(), 3);
    }
}
