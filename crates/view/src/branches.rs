//! A part of a call tree as columns: as much as is large enough to be seen, and the rest when it is asked for.

use crate::ask::Ask;
use crate::engine::{Engine, Found};
use crate::frames::FrameTable;
use crate::metrics;
use crate::pack::Pack;
use memtoll_analysis::key::Key;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tree::{Below, Branch, Direction, Dropped, Limit, part_of_tree};
use serde_json::json;
use std::cmp::Reverse;

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
    pub(crate) fn part_of_tree(&mut self, found: &Found, ask: &Ask) -> Result<Pack, String> {
        let part = &ask.tree;
        let number = |name: &str| {
            metrics::names().position(|known| known == name).ok_or_else(|| format!("there is no metric {name:?}"))
        };
        let metric = number(&part.metric)?;
        let columns = part.columns.iter().map(|name| number(name)).collect::<Result<Vec<usize>, String>>()?;
        let columns = if columns.is_empty() { (0..metrics::COUNT).collect() } else { columns };
        let direction = if part.reversed { Direction::Callers } else { Direction::Callees };
        let known = &self.recording().frames;
        let mut key = Key::EMPTY;
        let path = part.path.iter().filter_map(|frame| known.numbered(*frame));
        let label = part.label.as_deref().map(|label| Key::EMPTY.with(label));
        let steps = label.into_iter().chain(path.map(|frame| Key::of_frame(known, frame)));
        let trail: Vec<Key> = steps
            .map(|step| {
                key = key.with_key(step);
                key
            })
            .collect();
        let value = |priced: &Priced| metrics::value(metric, priced);
        let wanted = memtoll_analysis::tree::Part {
            function: part.function.as_deref().map(qualified_name),
            by: part.by,
            below: (!trail.is_empty()).then_some(Below::Trail(&trail)),
            limit: Some(Limit { value: &value, share: part.least, most: MOST_NODES }),
            ..memtoll_analysis::tree::Part::whole(direction)
        };
        let top = match part_of_tree(self.stacks(ask)?, &found.sums, &wanted) {
            None if !trail.is_empty() => return Err("There is no such call path in this selection.".to_owned()),
            top => top.unwrap_or_default(),
        };
        let nodes = nodes(&top, &value);
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
        // Number of its label plus one; 0: it is a frame.
        let label = |node: &Node| node.branch.and_then(|branch| branch.label.clone());
        let mut last = 0.0;
        let numbers = column(&mut |node| {
            last += f64::from(u8::from(label(node).is_some()));
            if label(node).is_some() { last } else { 0.0 }
        });
        pack.column("tree.label", &numbers);
        let labels: Vec<String> = nodes.iter().filter_map(label).collect();
        pack.set("labels", json!(labels));
        frames.write(self.recording(), "", &mut pack);
        Ok(pack)
    }
}

/// All branches, largest first below the same one; what is dropped of one stands beside its children.
fn nodes<'b>(top: &'b Branch, value: &impl Fn(&Priced) -> u64) -> Vec<Node<'b>> {
    let node = |parent, branch: &'b Branch| Node {
        parent,
        branch: Some(branch),
        others: 0,
        metrics: branch.metrics,
        has_more: branch.has_more,
    };
    let mut nodes = vec![node(0, top)];
    let mut at = 0;
    while let Some(branch) = nodes.get(at).map(|node| node.branch) {
        if let Some(branch) = branch {
            let mut children: Vec<&Branch> = branch.children.iter().collect();
            children.sort_by_key(|child| Reverse(value(&child.metrics)));
            nodes.extend(children.into_iter().map(|child| node(at, child)));
            if branch.dropped.branches > 0 {
                let Dropped { branches, metrics } = branch.dropped;
                nodes.push(Node { parent: at, branch: None, others: branches, metrics, has_more: true });
            }
        }
        at += 1;
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::FrameId;
    use memtoll_trace::metrics::Metrics;

    fn branch(frame: Option<u32>, allocations: u64, children: Vec<Branch>) -> Branch {
        let counts = Metrics { new_blocks: allocations, ..Metrics::default() };
        let mut branch = Branch::default();
        (branch.frame, branch.children) = (frame.map(FrameId::new), children);
        branch.metrics = Priced { counts, ..Priced::default() };
        branch
    }

    #[test]
    fn what_is_dropped_stands_beside_its_siblings() {
        let one = |frame, value| branch(Some(frame), value, vec![]);
        let mut first = branch(Some(1), 90, vec![one(3, 4), one(2, 79)]);
        first.dropped = Dropped { branches: 2, metrics: one(0, 7).metrics };
        let mut second = one(5, 91);
        second.has_more = true;
        let top = branch(None, 181, vec![first, second]);
        let nodes = nodes(&top, &|of: &Priced| of.allocations());
        let of = |node: &Node| {
            let frame = node.branch.and_then(|branch| branch.frame).map(FrameId::get);
            (node.parent, frame, node.metrics.allocations(), node.others, node.has_more)
        };
        assert_eq!(
            nodes.iter().map(of).collect::<Vec<_>>(),
            [
                (0, None, 181, 0, false),
                (0, Some(5), 91, 0, true),
                (0, Some(1), 90, 0, false),
                (2, Some(2), 79, 0, false),
                (2, Some(3), 4, 0, false),
                (2, None, 7, 2, true),
            ]
        );
    }
}
