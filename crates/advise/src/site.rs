//! The call sites that rules look at: lines of the program's own code with what their blocks cost and how they live.

use crate::pattern::{Pattern, Watched, patterns};
use crate::range::Range;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::{Path, Stacks};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::{Costs, Tariff};
use memtoll_model::Recording;
use memtoll_trace::summary::Metrics;
use rustc_hash::FxHashMap;

/// Sites that are looked at, those that cost most first. Each costs a little for every event.
const MOST: usize = 24;

/// A line of the program's code that allocates, maps or frees.
pub struct Site {
    /// The line, its inline chain, the type and the sums.
    pub row: Row,
    /// Nodes of [`Recording::stacks`] that lead to it, that with most allocations first.
    pub nodes: Vec<u32>,
    /// What it costs.
    pub costs: Costs,
    /// The allocator's own work, with its error, ns.
    pub allocator: Range,
    /// Page faults, with their error, ns.
    pub faults: Range,
    /// Work on mappings, with its error, ns.
    pub mapping: Range,
    /// How its blocks live.
    pub pattern: Pattern,
    /// Library functions between the line and the allocation, of the node with most allocations, from the inside out.
    pub through: Vec<String>,
}

impl Site {
    /// Its sums.
    pub fn metrics(&self) -> &Metrics {
        &self.row.metrics
    }

    /// The class of its type without arguments: `std::vector`.
    pub fn class(&self) -> &str {
        self.row.type_name.as_deref().map_or("", |name| name.split('<').next().unwrap_or(name))
    }

    /// The argument of its type, as far as it is the only one of interest: `Cell` of `std::vector<Cell>`.
    pub fn element(&self) -> Option<&str> {
        let (_, rest) = self.row.type_name.as_deref()?.split_once('<')?;
        first_argument(rest.strip_suffix('>')?)
    }

    /// Processor time, ns.
    pub fn processor(&self) -> Range {
        self.allocator.plus(self.faults).plus(self.mapping)
    }

    /// Mean size of a block, bytes.
    pub fn mean_size(&self) -> u64 {
        self.metrics().bytes_allocated.checked_div(self.acquired()).unwrap_or(0)
    }

    /// Allocations and reallocations.
    pub fn acquired(&self) -> u64 {
        self.metrics().allocations + self.metrics().reallocations
    }

    /// Whether its blocks die in bulk, or are kept to the end, nearly all of them.
    pub fn dies_together(&self) -> bool {
        let Pattern { in_bulk, kept, blocks, .. } = self.pattern;
        blocks > 0 && (in_bulk + kept) * 100 >= blocks * 95
    }
}

/// What stands before the first comma that is not within brackets.
fn first_argument(arguments: &str) -> Option<&str> {
    let mut depth = 0usize;
    for (at, c) in arguments.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return Some(arguments[..at].trim()),
            _ => {}
        }
    }
    (!arguments.is_empty()).then(|| arguments.trim())
}

/// Types whose growth is a larger block, a move, and a release.
fn grows(type_name: &str) -> bool {
    [
        "std::vector<",
        "std::string",
        "std::basic_string<",
        "std::unordered_",
        "boost::container::",
        "HashMap<",
        "HashSet<",
    ]
    .iter()
    .any(|start| type_name.starts_with(start))
}

/// The sites of a recording that cost most, or have most at the peak, or are live at the end; and statements about what
/// cannot be read.
pub fn sites(recording: &Recording, sums: &Sums, stacks: &mut Stacks, tariff: &Tariff) -> (Vec<Site>, Vec<String>) {
    let mut by_key: FxHashMap<(Path, Option<u32>), usize> = FxHashMap::default();
    let mut found: Vec<(Row, Vec<(u64, u32)>)> = Vec::new();
    for site in &sums.sites {
        let stack = stacks.of(site.node);
        let type_name = stacks.type_of(&stack);
        let index = *by_key.entry((stack.leading, type_name)).or_insert_with(|| {
            found.push((row(stacks, stack.leading, type_name, stacks.element(&stack)), Vec::new()));
            found.len() - 1
        });
        let (row, nodes) = &mut found[index];
        row.metrics.add(&site.metrics);
        row.element = row.element.filter(|element| stacks.element(&stack) == Some(*element));
        nodes.push((site.metrics.allocations, site.node));
    }
    let mut chosen: Vec<usize> = Vec::new();
    let keys: [fn(&Metrics) -> u64; 4] =
        [|of| of.cost, |of| of.peak_bytes.max(of.mapped_bytes), |of| of.live_bytes, |of| of.free_null_calls];
    for (key, share) in keys.into_iter().zip([MOST, MOST / 3, MOST / 3, MOST / 6]) {
        let mut order: Vec<usize> = (0..found.len()).filter(|index| key(&found[*index].0.metrics) > 0).collect();
        order.sort_by_key(|index| std::cmp::Reverse(key(&found[*index].0.metrics)));
        order.truncate(share);
        chosen.extend(order);
    }
    chosen.sort_unstable();
    chosen.dedup();
    let mut site_of: FxHashMap<u32, u32> = FxHashMap::default();
    let mut watched = Vec::new();
    for (number, index) in chosen.iter().enumerate() {
        let (row, nodes) = &found[*index];
        site_of.extend(nodes.iter().map(|(_, node)| (*node, number as u32)));
        watched.push(Watched { grows: row.type_name.as_deref().is_some_and(grows) });
    }
    let (patterns, damage) = patterns(recording, &site_of, &watched);
    let sites = chosen.into_iter().zip(patterns).map(|(index, pattern)| {
        let (row, mut nodes) = found[index].clone();
        nodes.sort_by_key(|(allocations, node)| (std::cmp::Reverse(*allocations), *node));
        let nodes: Vec<u32> = nodes.into_iter().map(|(_, node)| node).collect();
        let costs = tariff.costs(&row.metrics);
        let through = nodes.first().map_or(Vec::new(), |node| through(recording, *node, row.frame));
        Site {
            allocator: tariff.allocator(&row.metrics).into(),
            faults: tariff.faults_of(costs.faults).into(),
            mapping: tariff.mapping(&row.metrics).into(),
            row,
            nodes,
            costs,
            pattern,
            through,
        }
    });
    (sites.collect(), damage)
}

fn row(
    stacks: &Stacks,
    leading: Path,
    type_name: Option<u32>,
    element: Option<memtoll_analysis::elements::Element>,
) -> Row {
    let frames = stacks.frames(leading);
    Row {
        frame: frames.first().copied(),
        inlined: frames.iter().skip(1).copied().collect(),
        path: Vec::new(),
        type_name: type_name.map(|number| stacks.type_name(number).to_owned()),
        element,
        label: String::new(),
        of: None,
        metrics: Metrics::default(),
    }
}

/// Functions from the allocation to the line.
fn through(recording: &Recording, node: u32, line: Option<u32>) -> Vec<String> {
    let (nodes, _) = recording.stacks.stack(node);
    let frames = nodes.iter().flat_map(|id| recording.frames.chain(&recording.stacks.node(*id)).iter().copied());
    let inner = frames.take_while(|frame| Some(*frame) != line).take(64);
    inner.map(|frame| recording.frames.text(recording.frames.frame(frame).function).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_end_at_commas_between_them() {
        assert_eq!(first_argument("Cell"), Some("Cell"));
        assert_eq!(first_argument("std::pair<int, long>, std::less<int>"), Some("std::pair<int, long>"));
        assert_eq!(first_argument(""), None);
    }
}
