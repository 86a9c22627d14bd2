//! Equal parts of a recording's time, added up once for pages of any detail.

use super::{Detail, PARTS, write_part};
use crate::bounded_tree::{Ranked, Tree};
use crate::metrics::{NOTHING, Values, add, values};
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::Slice;
use crate::profile::Sites;
use crate::recordings::{Compared, Recordings};
use crate::selections::Selected;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stable_key::Key;
use memtoll_analysis::tree::{self, Branch, Direction, part_of_tree};
use memtoll_model::{FrameId, Recording};
use memtoll_query::Query;
use memtoll_query::query::When;
use memtoll_tally::in_order;
use rustc_hash::{FxHashMap, FxHashSet};

/// A whole recording.
pub(super) struct Whole {
    pub selected: Selected,
    pub tree: Branch,
}

impl Whole {
    pub fn of(open: &Recordings) -> Result<Whole, NoAnswer> {
        Whole::of_part(open, &Query { pages: true, ..Query::default() }, None)
    }

    /// `grown`: the branches of the tree that have branches; `None`: all.
    fn of_part(open: &Recordings, query: &Query, grown: Option<&FxHashSet<Key>>) -> Result<Whole, NoAnswer> {
        let selected = Selected::of(open, query)?;
        let part = tree::Part { grown, ..tree::Part::whole(Direction::Callees) };
        let tree = part_of_tree(&mut open.stacks(&selected.view), &selected.sums, &part);
        Ok(Whole { selected, tree: tree.unwrap_or_default() })
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
    nodes: Vec<(usize, Values)>,
    sites: Vec<(usize, Values)>,
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
        let grown = tree.keys();
        let add_up = |open: &mut Recordings, number: usize| {
            let (from, to) = (begin(ended, number), begin(ended, number + 1));
            // The first one begins with the recording and the last one goes to its end, the others up to the next one's
            // first instant.
            let from_ns = (number > 0).then_some(from as u64);
            let to_ns = (number + 1 < PARTS).then(|| open.last_before(to) as u64);
            let when = if number < PARTS { When::Span { from_ns, to_ns } } else { When::At { ns: ended as u64 } };
            let query = Query { when, ..Query::default() };
            let part = Whole::of_part(open, &query, Some(&grown))?;
            let place = |row: &Row| shown.get(&key(row)).copied().or(others);
            let sites = added_up(
                part.selected.rows.iter().filter_map(|row| Some((place(row)?, values(&row.metrics, &open.tariff)))),
            );
            let head = open.slice(&part.selected, Slice { from_ns: from, to_ns: to });
            Ok::<_, NoAnswer>((head, part.tree, sites))
        };
        let mut all = Vec::with_capacity(PARTS);
        // A part that goes to the end has what each process left. What is live then is another thing.
        let ends = usize::from(open.recording().images.len() > 1);
        in_order(
            0..PARTS + ends,
            || open.again(),
            add_up,
            |_, part| {
                let (head, branches, sites) = part?;
                all.push(Part { head, nodes: tree.part(&branches, &open.tariff), sites });
                tell(all.len().min(PARTS));
                Ok::<_, NoAnswer>(())
            },
        )?;
        Ok(Parts { tree, all })
    }

    /// The parts as a page has them that has fewer nodes and sites.
    pub fn packs(&self, tree: &mut Tree, sites: &Sites) -> Vec<Pack> {
        let places = tree.places(&self.tree);
        let pack = |part: &Part| {
            let node = |(node, values): &(usize, Values)| Some((places[*node]?, *values));
            let site = |(site, values): &(usize, Values)| ((*site).min(sites.shown.len()), *values);
            let mut pack = part.head.clone();
            write_part(&mut pack, "tree", &added_up(part.nodes.iter().filter_map(node)));
            write_part(&mut pack, "sites", &added_up(part.sites.iter().map(site)));
            pack
        };
        self.all.iter().map(pack).collect()
    }
}

/// The sums of what has the same number, in the order of numbers. What is nothing is left out.
fn added_up(rows: impl Iterator<Item = (usize, Values)>) -> Vec<(usize, Values)> {
    let mut sums: FxHashMap<usize, Values> = FxHashMap::default();
    for (number, values) in rows {
        add(sums.entry(number).or_insert(NOTHING), &values);
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, values)| values.iter().any(|&value| value > 0.0)).collect();
    sums.sort_unstable_by_key(|(number, _)| *number);
    sums
}

/// What tells two call sites apart.
type SiteKey = (Option<FrameId>, Vec<FrameId>, Option<String>, String);

fn key(row: &Row) -> SiteKey {
    (row.frame, row.inlined.clone(), row.type_name.clone(), row.label.clone())
}
