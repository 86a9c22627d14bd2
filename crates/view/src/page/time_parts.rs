//! Equal parts of a recording's time, added up once for pages of any detail.

use super::sparse_values::SparseRows;
use super::{Detail, PARTS, write_part};
use crate::bounded_tree::{Ranked, Tree};
use crate::metrics::{Values, add, values};
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::Slice;
use crate::profile::Sites;
use crate::recordings::{Compared, Recordings};
use crate::selections::Selected;
use memtoll_analysis::sites::Row;
use memtoll_analysis::tree::{Branch, Direction, Shape, call_tree};
use memtoll_model::{FrameId, Recording};
use memtoll_query::Query;
use memtoll_query::query::When;
use memtoll_tally::in_order;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// A whole recording.
pub(super) struct Whole {
    pub selected: Selected,
    pub findings: Value,
    pub tree: Branch,
}

impl Whole {
    pub fn of(open: &Recordings) -> Result<Whole, NoAnswer> {
        let selected = Selected::of(open, &Query { pages: true, ..Query::default() })?;
        let findings = selected.findings(open)?;
        let tree = call_tree(&mut open.stacks(&selected.view), &selected.sums, Direction::Callees);
        Ok(Whole { selected, findings, tree })
    }

    pub fn sites(&self, open: &Recordings, detail: Detail) -> Sites {
        open.sites(&self.selected.sums, &self.selected.rows, detail.sites)
    }

    /// The branches of its call tree.
    pub fn ranked(&self, open: &Recordings) -> Ranked<'_> {
        Ranked::new(&self.tree, open.tariff.of_sums(&self.selected.sums))
    }
}

/// The parts, for the nodes and sites of one detail. Behind them, of a recording with several processes, the instant of its end.
pub(super) struct Parts {
    tree: Tree,
    all: Vec<Part>,
}

struct Part {
    /// What no detail changes.
    head: Pack,
    nodes: SparseRows,
    sites: SparseRows,
}

/// Where a part begins, ns since the recording began.
fn begin(ended_ns: f64, number: usize) -> f64 {
    ended_ns * number as f64 / PARTS as f64
}

/// Where parts begin, the first one left out, as a recording's slices want it.
pub(super) fn borders(recording: &Recording) -> Vec<u64> {
    let ended_ns = Recordings::new(recording, Compared::default()).ended_ns();
    let units = |number| recording.about.clock.units(begin(ended_ns, number).floor() / 1e9);
    (1..PARTS).map(units).collect()
}

impl Parts {
    /// Adds up each part. `tell` receives how many are done.
    pub fn of(
        open: &Recordings,
        (whole, ranked): (&Whole, &Ranked),
        detail: Detail,
        mut tell: impl FnMut(usize),
    ) -> Result<Parts, NoAnswer> {
        let mut tree = Tree::of(ranked, detail.nodes);
        let sites = whole.sites(open, detail);
        let rows = &whole.selected.rows;
        let shown: FxHashMap<SiteKey, usize> =
            sites.shown.iter().enumerate().map(|(number, &index)| (key(&rows[index]), number)).collect();
        let others = (sites.others > 0).then_some(sites.shown.len());
        let ended = open.ended_ns();
        let Selected { sums, view, .. } = &whole.selected;
        let shape = Shape::new(&mut open.stacks(view), sums, tree.keys());
        let nodes = tree.nodes_of(shape.branches());
        let add_up = |open: &mut Recordings, number: usize| {
            let (from, to) = (begin(ended, number), begin(ended, number + 1));
            // The first one begins with the recording and the last one goes to its end, the others up to the next one's
            // first instant.
            let from_ns = (number > 0).then_some(from as u64);
            let to_ns = (number + 1 < PARTS).then(|| open.last_before(to) as u64);
            let when = if number < PARTS { When::Span { from_ns, to_ns } } else { When::At { ns: ended as u64 } };
            let query = Query { when, ..Query::default() };
            let selected = Selected::of(open, &query)?;
            let place = |row: &Row| shown.get(&key(row)).copied().or(others);
            let sites = selected.rows.iter().filter_map(|row| Some((place(row)?, values(&row.metrics, &open.tariff))));
            let branches = shape.add_up(&selected.sums);
            let nodes = branches.iter().map(|(branch, sums)| (nodes[*branch], values(sums, &open.tariff)));
            let head = open.slice(&selected, Slice { from_ns: from, to_ns: to });
            Ok::<_, NoAnswer>(Part { head, nodes: added_up(nodes), sites: added_up(sites) })
        };
        let mut all = Vec::with_capacity(PARTS);
        // A part that goes to the end has what each process left. What is live then is another thing.
        let ends = usize::from(open.recording().images.len() > 1);
        in_order(
            0..PARTS + ends,
            || open.again(),
            add_up,
            |_, part| {
                all.push(part?);
                tell(all.len().min(PARTS));
                Ok::<_, NoAnswer>(())
            },
        )?;
        Ok(Parts { tree, all })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Where the nodes of the parts count in a tree that has fewer.
    pub fn places(&self, tree: &mut Tree) -> Vec<Option<usize>> {
        tree.places(&self.tree)
    }

    /// A part as a page has it that has fewer nodes and sites.
    pub fn pack(&self, number: usize, places: &[Option<usize>], sites: &Sites) -> Pack {
        let part = &self.all[number];
        let node = |(node, values): (usize, Values)| Some((places[node]?, values));
        let site = |(site, values): (usize, Values)| (site.min(sites.shown.len()), values);
        let mut pack = part.head.clone();
        write_part(&mut pack, "tree", &added_up(part.nodes.iter().filter_map(node)));
        write_part(&mut pack, "sites", &added_up(part.sites.iter().map(site)));
        pack
    }
}

/// The sums of what has the same number, in the order of numbers. What is nothing is left out.
fn added_up(rows: impl Iterator<Item = (usize, Values)>) -> SparseRows {
    let mut places: FxHashMap<usize, usize> = FxHashMap::default();
    let mut sums: Vec<(usize, Values)> = Vec::new();
    for (number, values) in rows {
        let next = sums.len();
        match *places.entry(number).or_insert(next) {
            place if place < next => add(&mut sums[place].1, &values),
            _ => sums.push((number, values)),
        }
    }
    sums.sort_unstable_by_key(|(number, _)| *number);
    let mut rows = SparseRows::default();
    sums.retain(|(_, values)| values.iter().any(|&value| value > 0.0));
    sums.iter().for_each(|(number, values)| rows.push(*number, values));
    rows
}

/// What tells two call sites apart.
type SiteKey = (Option<FrameId>, Vec<FrameId>, Option<String>, String);

fn key(row: &Row) -> SiteKey {
    (row.frame, row.inlined.clone(), row.type_name.clone(), row.label.clone())
}
