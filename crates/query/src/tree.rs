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
use memtoll_analysis::tree::{Below, Branch, Limit, Part, part_of_tree};
use memtoll_model::Recording;
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
        Ok(Tree { tree: node(recording, &root, tariff), root })
    }
}

fn node<'r>(recording: &'r Recording, branch: &Branch, tariff: &Tariff) -> Node<'r> {
    let dropped = branch.dropped();
    Node {
        key: branch.key.text(),
        place: branch.frame.map(|frame| Place::of(&recording.frames, frame)),
        label: branch.label.clone(),
        figures: Figures::new(&branch.metrics, tariff),
        children: branch.children.iter().map(|child| node(recording, child, tariff)).collect(),
        smaller: (dropped.branches > 0)
            .then(|| LeftOut { number: dropped.branches, figures: Figures::new(&dropped.metrics, tariff) }),
        has_more: branch.has_more,
    }
}
