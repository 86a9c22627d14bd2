//! A part of a call tree as columns: as much as is large enough to be seen, and the rest when it is asked for.

use crate::ask::{Level, most_nodes};
use crate::frame_table::FrameTable;
use crate::metrics;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{LevelColumns, LevelPack};
use crate::recordings::Recordings;
use crate::selections::Selected;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stable_key::Key;
use memtoll_analysis::tree::{Below, Limit, Part, Twig, outline};
use memtoll_query::Query;
use memtoll_query::query::TreeQuery;

/// A node of an answer.
struct Node {
    parent: usize,
    /// The branch, by its number.
    branch: usize,
    /// Whether it is the smaller branches below it together.
    are_others: bool,
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
        let chosen = metrics::chosen(&level.columns)?;
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
        let most = most_nodes(level.searched);
        let value = |priced: &Priced| metric.value(priced);
        let wanted = Part {
            function: tree.function.as_deref(),
            by: tree.by,
            below: (!trail.is_empty()).then_some(Below::Trail(&trail)),
            limit: Some(Limit { value: &value, share: tree.min_percent / 100.0, most }),
            ..Part::whole(tree.direction)
        };
        let tariff = self.tariff.of_sums(&selected.sums);
        // Only the numbers that are shown are added up.
        let count = chosen.count();
        let mut numbers = Vec::with_capacity(selected.sums.sites.len() * count);
        let keep = |of: &Priced| {
            numbers.extend(chosen.of(of, &tariff));
            numbers.len() - count
        };
        let outline = match outline(&mut self.stacks(&selected.view), &selected.sums, &wanted, keep) {
            None if !trail.is_empty() => return Err(NoAnswer::NoCallPath),
            outline => outline.unwrap_or_default(),
        };
        let nodes = nodes(outline.branches());
        let mut frames = FrameTable::default();
        let mut labels = Vec::new();
        let mut of = LevelColumns::default();
        for node in &nodes {
            let branch = &outline.branches()[node.branch];
            let frame = branch.frame.filter(|_| !node.are_others);
            let label = branch.label.clone().filter(|_| !node.are_others);
            of.parent.push(node.parent as f64);
            of.frame.push(frame.map_or(0.0, |id| f64::from(frames.number(id)) + 1.0));
            of.others.push(if node.are_others { branch.dropped as f64 } else { 0.0 });
            of.more.push(f64::from(u8::from(node.are_others || branch.has_more)));
            of.label.push(if label.is_some() { labels.len() as f64 + 1.0 } else { 0.0 });
            labels.extend(label);
        }
        let (frames, texts) = frames.columns(self.recording());
        let mut pack = Pack::new(&LevelPack { labels, texts });
        pack.columns("tree", &of);
        pack.columns("frames", &frames);
        let added = outline.add_up(count, |at: &usize| numbers[*at..][..count].iter().copied());
        let row = |node: &Node| {
            let sums = if node.are_others { added.of_dropped(node.branch) } else { added.of_branch(node.branch) };
            sums.iter().copied()
        };
        chosen.write(&mut pack, "tree", nodes.iter().map(row));
        Ok(pack)
    }
}

/// All branches, level by level, largest first below the same one; what is dropped of one stands beside those below it.
fn nodes(branches: &[Twig]) -> Vec<Node> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); branches.len()];
    branches.iter().enumerate().skip(1).for_each(|(number, branch)| below[branch.parent as usize].push(number));
    let mut nodes = vec![Node { parent: 0, branch: 0, are_others: false }];
    let mut at = 0;
    while let Some(&Node { branch, are_others, .. }) = nodes.get(at) {
        if !are_others {
            nodes.extend(below[branch].iter().map(|&branch| Node { parent: at, branch, are_others: false }));
            if branches[branch].dropped > 0 {
                nodes.push(Node { parent: at, branch, are_others: true });
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

    fn twig(frame: Option<u32>, parent: u32, dropped: usize) -> Twig {
        let frame = frame.map(FrameId::new);
        Twig { frame, label: None, key: Key::EMPTY, parent, children: 0, dropped, has_more: false }
    }

    #[test]
    fn what_is_dropped_stands_beside_its_siblings() {
        let of = |frame, parent, dropped| twig(Some(frame), parent, dropped);
        let branches = [twig(None, 0, 0), of(5, 0, 0), of(1, 0, 2), of(2, 2, 0), of(3, 2, 0)];
        let nodes: Vec<_> = nodes(&branches).iter().map(|node| (node.parent, node.branch, node.are_others)).collect();
        assert_eq!(nodes, [(0, 0, false), (0, 1, false), (0, 2, false), (2, 3, false), (2, 4, false), (2, 2, true)]);
    }
}
