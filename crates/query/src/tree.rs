//! Call trees. Ask for a few levels, and for what is below a node when it is opened.

use crate::figures::Figures;
use crate::impossible::Impossible;
use crate::left_out::LeftOut;
use crate::query::TreeQuery;
use crate::rows::Place;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stable_key::Key;
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::tree::{Below, Branch, Dropped, Limit, Part, part_of_tree};
use memtoll_model::{Recording, TextId};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A call tree, or a part of it.
#[derive(Serialize)]
pub struct Tree<'r> {
    /// The root, or the node that was asked for.
    pub tree: Node<'r>,
    /// As the analysis has it, sorted, without small branches; for printers.
    #[serde(skip)]
    pub root: Branch,
}

/// A function in a call tree, with all that is below it.
#[derive(Serialize)]
pub struct Node<'r> {
    /// Ask for this node with [`TreeQuery::node`]. It stays the same as long as the names of the frames that lead here do.
    pub key: String,
    /// The function; the root has none, and neither has a node with a label.
    pub place: Option<Place<'r>>,
    /// The module or the type, of nodes that are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Sums of all stacks through it. Those of the children and of `smaller` are part of them; the rest is its own.
    #[serde(flatten)]
    pub figures: Figures,
    /// What follows, largest first.
    pub children: Vec<Node<'r>>,
    /// Children that are too small to be shown, together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smaller: Option<LeftOut>,
    /// Whether it has children that were not asked for.
    pub has_more: bool,
}

impl<'r> Node<'r> {
    /// The whole names of the functions below it, its own among them.
    pub(crate) fn functions(&self) -> Vec<&'r str> {
        let mut functions = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            functions.extend(node.place.as_ref().map(|place| place.whole));
            open.extend(&node.children);
        }
        functions
    }
}

impl<'r> Tree<'r> {
    pub(crate) fn new(
        recording: &'r Recording,
        sums: &Sums,
        stacks: &mut Stacks,
        query: &TreeQuery,
        metric: Metric,
        tariff: &Tariff,
    ) -> Result<Tree<'r>, Impossible> {
        let no_node = |key: &String| Impossible::NoNode { key: key.clone() };
        let below = query.node.as_ref().map(|key| Key::parse(key).ok_or_else(|| no_node(key))).transpose()?;
        let value = |of: &Priced| metric.value(of);
        let limit = Limit { value: &value, share: query.min_percent / 100.0, most: usize::MAX };
        let part = Part {
            function: query.function.as_deref(),
            by: query.by,
            below: below.map(Below::Branch),
            depth: query.depth,
            limit: metric.adds_up().then_some(limit),
            ..Part::whole(query.direction)
        };
        let found = part_of_tree(stacks, sums, &part);
        let mut root = found.ok_or_else(|| match (&query.node, &query.function) {
            (None, Some(name)) => Impossible::NoFunction { name: name.clone(), there_are: Vec::new() },
            (key, _) => no_node(key.as_ref().unwrap_or(&String::new())),
        })?;
        let least = metric.value(&root.metrics) as f64 * query.min_percent / 100.0;
        root.sort_and_prune(metric, (least as u64).max(1));
        let value = |branches: &[&Branch]| branches.iter().map(|branch| metric.value(&branch.metrics)).sum();
        let nodes = Nodes { recording, tariff, joins_lines: query.joins_lines, value: &value };
        Ok(Tree { tree: nodes.node(&[&root]), root })
    }
}

/// Makes nodes of branches.
struct Nodes<'a, 'r> {
    recording: &'r Recording,
    tariff: &'a Tariff,
    joins_lines: bool,
    value: &'a dyn Fn(&[&Branch]) -> u64,
}

impl<'r> Nodes<'_, 'r> {
    /// Of a branch, or of those of the lines of one function, which have their caller in common.
    fn node(&self, branches: &[&Branch]) -> Node<'r> {
        let (mut metrics, mut dropped) = (Priced::default(), Dropped::default());
        for branch in branches {
            metrics.add(&branch.metrics);
            dropped.branches += branch.dropped().branches;
            dropped.metrics.add(&branch.dropped().metrics);
        }
        let places =
            || branches.iter().filter_map(|branch| branch.frame).map(|id| Place::of(&self.recording.frames, id));
        let mut place = places().next();
        if let Some(first) = &mut place {
            first.line = first.line.filter(|line| places().all(|other| other.line == Some(*line)));
        }
        Node {
            // The same, whichever line has most.
            key: branches.iter().map(|branch| branch.key).min().unwrap_or(Key::EMPTY).text(),
            place,
            label: branches.first().and_then(|branch| branch.label.clone()),
            figures: Figures::new(&metrics, self.tariff),
            children: self.groups(branches).iter().map(|group| self.node(group)).collect(),
            smaller: (dropped.branches > 0)
                .then(|| LeftOut { number: dropped.branches, figures: Figures::new(&dropped.metrics, self.tariff) }),
            has_more: branches.iter().any(|branch| branch.has_more),
        }
    }

    /// The children of branches, those of one node together, largest first.
    fn groups<'b>(&self, branches: &[&'b Branch]) -> Vec<Vec<&'b Branch>> {
        let children = branches.iter().flat_map(|branch| &branch.children);
        if !self.joins_lines {
            return children.map(|child| vec![child]).collect();
        }
        let mut groups: Vec<Vec<&Branch>> = Vec::new();
        let mut known: FxHashMap<(TextId, TextId), usize> = FxHashMap::default();
        for child in children {
            let frame = child.frame.map(|id| self.recording.frames.frame(id));
            let place = frame
                .map_or(groups.len(), |frame| *known.entry((frame.function, frame.module)).or_insert(groups.len()));
            match groups.get_mut(place) {
                Some(group) => group.push(child),
                None => groups.push(vec![child]),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse((self.value)(group)));
        groups
    }
}
