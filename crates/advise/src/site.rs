//! The call sites that rules look at: lines of the program's own code with what their blocks cost and how they live.

use crate::pattern::{OfStacks, Pattern, Watch, Watched, patterns};
use crate::range::Range;
use memtoll_analysis::calibration::{self, Figure};
use memtoll_analysis::costs::Costs;
use memtoll_analysis::event_pass::EventPass;
use memtoll_analysis::inclusive_lines::{InclusiveLine, inclusive_lines};
use memtoll_analysis::priced::Priced;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::{FrameId, Recording, StackId};
use memtoll_trace::meta::Found;
use rustc_hash::{FxHashMap, FxHashSet};

/// Sites that are looked at, those that cost most first. Each takes a little time for every page of the heap.
const MOST: usize = 24;

/// A line of the program's code that allocates, maps or frees.
pub struct Site {
    /// The line, its inline chain, the type and the sums.
    pub row: Row,
    /// Nodes of [`Recording::stacks`] that lead to it, that with most allocations first.
    pub nodes: Vec<StackId>,
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
    /// Of a line as a whole: how long threads were between two of its calls with no call elsewhere, in the recorded run, ns.
    pub under_way: f64,
}

impl Site {
    /// Its sums.
    pub fn metrics(&self) -> &Priced {
        &self.row.metrics
    }

    /// The class of its type without arguments: `std::vector`.
    pub fn class(&self) -> &str {
        self.row.type_name.as_deref().map_or("", |name| name.split('<').next().unwrap_or(name))
    }

    /// Whether its blocks belong to a class whose objects keep their memory when they are emptied.
    pub fn is_kept_easily(&self) -> bool {
        matches!(self.class(), "std::vector" | "std::string" | "std::basic_string" | "Vec" | "String")
    }

    /// The argument of its type, as far as it is the only one of interest: `Cell` of `std::vector<Cell>`.
    pub fn element(&self) -> Option<&str> {
        let (_, rest) = self.row.type_name.as_deref()?.split_once('<')?;
        first_argument(rest.strip_suffix('>')?)
    }

    /// CPU time, ns.
    pub fn processor(&self) -> Range {
        self.allocator.plus(self.faults).plus(self.mapping)
    }

    /// Mean size of a block, bytes.
    pub fn mean_size(&self) -> u64 {
        self.metrics().bytes.0.checked_div(self.acquired()).unwrap_or(0)
    }

    /// Allocations and reallocations.
    pub fn acquired(&self) -> u64 {
        self.metrics().allocations()
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
        "std::vector<", "std::string", "std::basic_string<", "std::unordered_", "boost::container::", "HashMap<",
        "HashSet<",
    ]
    .iter()
    .any(|start| type_name.starts_with(start))
}

/// Whether a container's function makes more room on the way from the allocation: of classes in unnamed namespaces, debug
/// information tells no type.
pub fn makes_room(through: &[String]) -> bool {
    const STARTS: [&str; 3] = ["_M_realloc_", "_M_default_append", "_M_range_insert"];
    through.iter().any(|function| STARTS.iter().any(|start| function.starts_with(start)))
}

/// Types whose blocks hold text.
fn is_text(type_name: &str) -> bool {
    ["std::string", "std::basic_string<", "String"].iter().any(|start| type_name.starts_with(start))
}

/// Lines as wholes that are looked at, those that cost most first.
const MOST_LINES: usize = 16;

/// Lines of the program's code with all that is allocated below them. How their blocks live is not followed: see the sites
/// for that.
pub fn lines(making: &Making, found: &[Row]) -> Vec<Site> {
    let mut lines = inclusive_lines(&making.recording.frames, found);
    lines.retain(|line| line.row.metrics.allocations() > 0);
    lines.sort_by_key(|line| std::cmp::Reverse((line.row.metrics.cost_ns(), line.row.metrics.bytes)));
    lines.truncate(MOST_LINES);
    lines.into_iter().map(|line: InclusiveLine| making.site(line.row, Pattern::default())).collect()
}

/// What sites are made from.
pub struct Making<'a> {
    recording: &'a Recording,
    tariff: &'a Tariff,
    plain: PlainKernel,
    /// Allocations and reallocations, by node.
    allocations: FxHashMap<StackId, u64>,
}

impl<'a> Making<'a> {
    pub fn of(recording: &'a Recording, sums: &Sums, tariff: &'a Tariff) -> Making<'a> {
        let allocations = sums.sites.iter().map(|site| (site.node, site.allocations())).collect();
        Making { recording, tariff, plain: PlainKernel::of(recording, sums, tariff), allocations }
    }

    fn site(&self, row: Row, pattern: Pattern) -> Site {
        let Making { recording, tariff, plain, allocations } = self;
        let mut nodes = row.nodes.clone();
        nodes.sort_by_cached_key(|node| (std::cmp::Reverse(allocations.get(node)), *node));
        let costs = row.metrics.costs();
        let through = nodes.first().map_or(Vec::new(), |node| through(recording, *node, row.frame));
        Site {
            allocator: tariff.allocator(&row.metrics).into(),
            faults: plain.faults(&row.metrics, tariff),
            mapping: plain.mapping(&row.metrics, tariff),
            row,
            nodes,
            costs,
            pattern,
            through,
            under_way: 0.0,
        }
    }
}

/// The sites of a recording that cost most, or have most at the peak, or are live at the end; and statements about what
/// cannot be read.
pub fn sites(
    making: &Making,
    found: &[Row],
    stacks: &mut Stacks,
    lines: &mut [Site],
    pass: &mut EventPass,
) -> (Vec<Site>, Vec<String>) {
    let (recording, tariff) = (making.recording, making.tariff);
    let mut chosen: Vec<usize> = Vec::new();
    let keys: [fn(&Priced) -> u64; 4] =
        [|of| of.cost_ns().0, |of| of.peak_bytes.max(of.mapped_bytes).0, |of| of.live_bytes.0, |of| of.null_frees];
    for (key, share) in keys.into_iter().zip([MOST, MOST / 3, MOST / 3, MOST]) {
        let mut order: Vec<usize> = (0..found.len()).filter(|index| key(&found[*index].metrics) > 0).collect();
        order.sort_by_key(|index| std::cmp::Reverse(key(&found[*index].metrics)));
        order.truncate(share);
        chosen.extend(order);
    }
    chosen.sort_unstable();
    chosen.dedup();
    let mut watched = Vec::new();
    for index in &chosen {
        let row = &found[*index];
        let grows_untyped = || row.nodes.first().is_some_and(|node| makes_room(&through(recording, *node, row.frame)));
        watched.push(Watched {
            grows: row.type_name.as_deref().map_or_else(grows_untyped, grows),
            may_creep: row.type_name.as_deref().is_none_or(is_text),
        });
    }
    let nodes_of_sites = chosen.iter().map(|index| &found[*index].nodes[..]);
    let watch = Watch {
        of_stack: &OfStacks::new(recording, nodes_of_sites, lines.iter().map(|line| &line.nodes[..])),
        sites: &watched,
        lines: lines.len(),
        longest: tariff.units(crate::pattern::calls::LONG) as u64,
    };
    let (patterns, under_way, damage) = patterns(recording, stacks, &watch, pass);
    for (line, units) in lines.iter_mut().zip(under_way) {
        line.under_way = tariff.ns(units as f64);
    }
    let sites = chosen.into_iter().zip(patterns).map(|(index, pattern)| making.site(found[index].clone(), pattern));
    (sites.collect(), damage)
}

/// What plain runs tell of the kernel's work: where they do, totals are known, and only their division among sites errs.
#[derive(Default)]
struct PlainKernel {
    /// Of page faults: what their time was between, as shares of it.
    faults: Option<Range>,
    /// Of work on mappings: what it took as a share of what it took while it was recorded. The rest of it is the loader's.
    mapping: Option<Range>,
}

/// How far faults of a site are from the mean of all, and its mappings.
const DIVIDED: Range = Range { low: 0.9, likely: 1.0, high: 1.1 };

impl PlainKernel {
    fn of(recording: &Recording, sums: &Sums, tariff: &Tariff) -> PlainKernel {
        let Some(calibration) = &recording.calibration else { return PlainKernel::default() };
        let known = |found: Found| {
            let spread = calibration::plain(calibration).of(Figure::Part(found))?;
            spread.low.is_some_and(|low| low > 0.0).then(|| Range::from(spread.estimate()))
        };
        let recorded = tariff.mapping(&sums.total).value;
        PlainKernel {
            faults: known(Found::Fault).filter(|_| tariff.faults().are_plain).map(|all| all.scaled(1.0 / all.likely)),
            mapping: known(Found::Mapping).filter(|all| all.likely < recorded).map(|all| all.scaled(1.0 / recorded)),
        }
    }

    fn faults(&self, of: &Priced, tariff: &Tariff) -> Range {
        match self.faults {
            Some(plain) => plain.times(DIVIDED).scaled(of.costs().faults),
            None => tariff.faults_of(of).into(),
        }
    }

    fn mapping(&self, of: &Priced, tariff: &Tariff) -> Range {
        match self.mapping {
            Some(plain) => plain.times(DIVIDED).scaled(of.mapping_ns.0 as f64),
            None => tariff.mapping(of).into(),
        }
    }
}

/// Of a line, what is allocated through functions that `admits` lets through, from the allocation to the line.
pub fn part(
    recording: &Recording,
    sums: &Sums,
    tariff: &Tariff,
    line: &Site,
    admits: impl Fn(&[String]) -> bool,
) -> Option<Site> {
    let is_part = |node: &StackId| admits(&through(recording, *node, line.row.frame));
    let nodes: FxHashSet<StackId> = line.nodes.iter().copied().filter(is_part).collect();
    let mut metrics = Priced::default();
    let own = sums.sites.iter().filter(|site| nodes.contains(&site.node));
    let mut allocations: FxHashMap<StackId, u64> = FxHashMap::default();
    for site in own {
        site.add_to(&mut metrics);
        allocations.insert(site.node, site.allocations());
    }
    let row = Row { nodes: nodes.into_iter().collect(), metrics, ..line.row.clone() };
    let making = Making { recording, tariff, plain: PlainKernel::of(recording, sums, tariff), allocations };
    (metrics.allocations() > 0).then(|| making.site(row, Pattern::default()))
}

/// Functions from the allocation to the line.
pub fn through(recording: &Recording, node: StackId, line: Option<FrameId>) -> Vec<String> {
    let inner = recording.frames_of(node).take_while(|frame| Some(*frame) != line).take(64);
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
