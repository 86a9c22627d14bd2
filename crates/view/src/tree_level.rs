//! A part of a call tree as columns: as much as is large enough to be seen, and the rest when it is asked for.

use crate::ask::Level;
use crate::frame_table::FrameTable;
use crate::metrics::{self, Values};
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{LevelColumns, LevelPack};
use crate::recordings::Recordings;
use crate::selections::Selected;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stable_key::Key;
use memtoll_analysis::tree::{Below, Branch, Dropped, Limit, Part, part_of_tree};
use memtoll_query::Query;
use memtoll_query::query::TreeQuery;
use std::cmp::Reverse;

/// Nodes of an answer. A screen has room for fewer.
const MOST_NODES: usize = 4_000;

/// The place of a metric among those that are shown.
fn index(metric: Metric) -> Result<usize, NoAnswer> {
    let name = metric.about().name;
    metrics::names().position(|known| known == name).ok_or(NoAnswer::NoColumn(name))
}

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

impl Recordings<'_> {
    /// The level of a selection's tree that is asked for.
    pub(crate) fn level(
        &self,
        selected: &Selected,
        query: &Query,
        tree: &TreeQuery,
        level: &Level,
    ) -> Result<Pack, NoAnswer> {
        let columns: Vec<usize> = match level.columns.is_empty() {
            true => (0..metrics::COUNT).collect(),
            false => level.columns.iter().map(|metric| index(*metric)).collect::<Result<_, NoAnswer>>()?,
        };
        let known = &self.recording().frames;
        let mut key = Key::EMPTY;
        let path = level.path.iter().filter_map(|frame| known.numbered(*frame));
        let label = level.label.as_deref().map(|label| Key::EMPTY.with(label));
        let steps = label.into_iter().chain(path.map(|frame| Key::of_frame(known, frame)));
        let trail: Vec<Key> = steps
            .map(|step| {
                key = key.with_key(step);
                key
            })
            .collect();
        let metric = query.metric();
        let value = |priced: &Priced| metric.value(priced);
        let wanted = Part {
            function: tree.function.as_deref().map(qualified_name),
            by: tree.by,
            below: (!trail.is_empty()).then_some(Below::Trail(&trail)),
            limit: Some(Limit { value: &value, share: tree.min_percent / 100.0, most: MOST_NODES }),
            ..Part::whole(tree.direction)
        };
        let top = match part_of_tree(&mut self.stacks(&selected.view), &selected.sums, &wanted) {
            None if !trail.is_empty() => return Err(NoAnswer::NoCallPath),
            top => top.unwrap_or_default(),
        };
        let nodes = nodes(&top, &value);
        let mut frames = FrameTable::default();
        let mut labels = Vec::new();
        let mut of = LevelColumns::default();
        for node in &nodes {
            let frame = node.branch.and_then(|branch| branch.frame);
            let label = node.branch.and_then(|branch| branch.label.clone());
            of.parent.push(node.parent as f64);
            of.frame.push(frame.map_or(0.0, |id| f64::from(frames.number(id)) + 1.0));
            of.others.push(node.others as f64);
            of.more.push(f64::from(u8::from(node.has_more)));
            of.label.push(if label.is_some() { labels.len() as f64 + 1.0 } else { 0.0 });
            labels.extend(label);
        }
        let (frames, texts) = frames.columns(self.recording());
        let mut pack = Pack::new(&LevelPack { labels, texts });
        pack.columns("tree", &of);
        pack.columns("frames", &frames);
        let tariff = self.tariff.of_sums(&selected.sums);
        let rows: Vec<Values> = nodes.iter().map(|node| metrics::values(&node.metrics, &tariff)).collect();
        metrics::write_some(&mut pack, "tree", &rows, |index| columns.contains(&index));
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
            let Dropped { branches, metrics } = branch.dropped();
            if branches > 0 {
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
        first.dropped = Some(Box::new(Dropped { branches: 2, metrics: one(0, 7).metrics }));
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
