//! Equal parts of a recording's time, added up once for pages of any detail.

use super::sparse_values::SparseRows;
use super::{DETAILS, Detail, PARTS, joined, write_part};
use crate::bounded_tree::{Ranked, Tree};
use crate::metrics::{NOTHING, Values, add, values};
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::Slice;
use crate::profile::Sites;
use crate::recordings::{Compared, Recordings};
use crate::selections::Selected;
use memtoll_analysis::patterns::Patterns;
use memtoll_analysis::sites::{GroupBy, Row, rows};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tree::Shape;
use memtoll_model::{FrameId, Recording};
use memtoll_query::Query;
use memtoll_query::query::When;
use memtoll_tally::in_order;
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// The call tree of a recording without sums: it can be made before it is known what lies in memory, while events are read.
pub(super) struct Outline<'a> {
    /// Knows all stacks.
    open: Recordings<'a>,
    shape: Shape,
    /// How many call sites it has.
    sites: usize,
}

impl<'a> Outline<'a> {
    /// `sums` are those of the whole recording. `open` has met no stacks yet.
    pub fn of(open: Recordings<'a>, sums: &Sums) -> Result<Outline<'a>, NoAnswer> {
        let view = open.session().view(&Query::default())?;
        let shape = {
            let stacks = &mut open.stacks(&view);
            // The order of branches is that in which stacks were met.
            rows(stacks, sums, GroupBy::Site);
            Shape::new(stacks, sums, None)
        };
        Ok(Outline { open, shape, sites: sums.sites.len() })
    }

    fn ranked(&mut self, Selected { sums, view, .. }: &Selected) -> Ranked {
        // In a damaged file, blocks may be live of call sites that allocate none.
        if self.sites != sums.sites.len() {
            self.shape = Shape::new(&mut self.open.stacks(view), sums, None);
        }
        let (shape, tariff) = (&self.shape, self.open.tariff.of_sums(sums));
        let root = shape.root(sums);
        Ranked::new(shape.branches().collect(), (&root, &tariff), DETAILS[0].nodes, |take| shape.each(sums, take))
    }
}

/// A whole recording.
pub(super) struct Whole<'a> {
    pub selected: Selected,
    pub findings: Value,
    /// How its call sites use memory.
    pub patterns: Patterns,
    /// Its call tree.
    pub ranked: Ranked,
    /// Knows all stacks.
    open: Recordings<'a>,
}

impl<'a> Whole<'a> {
    /// For a recording whose events are not read.
    pub fn alone(open: &Recordings<'a>) -> Result<Whole<'a>, NoAnswer> {
        let (sums, _) = open.session().sums(&Query::default())?;
        Whole::of(open, Outline::of(open.again(), &sums)?)
    }

    /// The call tree, and findings and patterns, are made side by side.
    pub fn of(open: &Recordings<'a>, mut outline: Outline<'a>) -> Result<Whole<'a>, NoAnswer> {
        let selected = Selected::of(open, &Query { pages: true, ..Query::default() })?;
        let (ranked, patterns, findings) = std::thread::scope(|scope| {
            let (selected, other) = (&selected, open.again());
            let beside = scope.spawn(move || (other.all_patterns(selected), selected.findings(&other)));
            let ranked = outline.ranked(selected);
            let (patterns, findings) = joined(beside);
            (ranked, patterns, findings)
        });
        Ok(Whole { selected, findings: findings?, patterns, ranked, open: outline.open })
    }

    pub fn sites(&self, open: &Recordings, detail: Detail) -> Sites {
        open.sites(&self.selected.sums, &self.selected.rows, detail.sites)
    }
}

/// The sums of the parts, which need no call tree: one thread adds them up while another one makes it.
pub(super) struct PartSums(Vec<Mutex<PartSum>>);

enum PartSum {
    Open,
    Known(Box<Result<(Selected, Slice), NoAnswer>>),
    Taken,
}

impl PartSums {
    /// None yet.
    pub fn of(open: &Recordings) -> PartSums {
        // A part that goes to the end has what each process left. What is live then is another thing.
        let ends = usize::from(open.recording().images.len() > 1);
        PartSums((0..PARTS + ends).map(|_| Mutex::new(PartSum::Open)).collect())
    }

    /// Adds up all that are not taken.
    pub fn add_up(&self, open: &Recordings) {
        for (number, sum) in self.0.iter().enumerate() {
            let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
            if let PartSum::Open = *sum {
                *sum = PartSum::Known(Box::new(sums_of_part(open, number)));
            }
        }
    }

    /// The sums of a part, which only one caller gets.
    fn take(&self, open: &Recordings, number: usize) -> Result<(Selected, Slice), NoAnswer> {
        let mut sum = self.0[number].lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *sum, PartSum::Taken) {
            PartSum::Known(known) => *known,
            PartSum::Open | PartSum::Taken => sums_of_part(open, number),
        }
    }
}

fn sums_of_part(open: &Recordings, number: usize) -> Result<(Selected, Slice), NoAnswer> {
    let ended = open.ended_ns();
    let (from, to) = (begin(ended, number), begin(ended, number + 1));
    // The first one begins with the recording and the last one goes to its end, the others up to the next one's first instant.
    let from_ns = (number > 0).then_some(from as u64);
    let to_ns = (number + 1 < PARTS).then(|| open.last_before(to) as u64);
    let when = if number < PARTS { When::Span { from_ns, to_ns } } else { When::At { ns: ended as u64 } };
    let selected = Selected::of(open, &Query { when, ..Query::default() })?;
    Ok((selected, Slice { from_ns: from, to_ns: to }))
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
    /// Makes each part of its sums. `tell` receives how many are done.
    pub fn of(
        open: &Recordings,
        (whole, part_sums): (&Whole, &PartSums),
        detail: Detail,
        mut tell: impl FnMut(usize),
    ) -> Result<Parts, NoAnswer> {
        let mut tree = Tree::of(&whole.ranked, detail.nodes);
        let sites = whole.sites(open, detail);
        let rows = &whole.selected.rows;
        let shown: FxHashMap<SiteKey, usize> =
            sites.shown.iter().enumerate().map(|(number, &index)| (key(&rows[index]), number)).collect();
        let others = (sites.others > 0).then_some(sites.shown.len());
        let Selected { sums, view, .. } = &whole.selected;
        let shape = Shape::new(&mut whole.open.stacks(view), sums, Some(tree.keys()));
        let nodes = tree.nodes_of(shape.branches().map(|(caller, frame, _)| (caller, frame)));
        let make = |(open, adding): &mut (Recordings, RowSums), number: usize| {
            let (selected, slice) = part_sums.take(open, number)?;
            let place = |row: &Row| shown.get(&key(row)).copied().or(others);
            for row in &selected.rows {
                place(row).into_iter().for_each(|place| adding.add(place, &values(&row.metrics, &open.tariff)));
            }
            let sites = adding.finish();
            shape.each(&selected.sums, |branch, sums, _| {
                let values = values(sums, &open.tariff);
                if values != NOTHING {
                    adding.add(nodes[branch], &values);
                }
            });
            Ok::<_, NoAnswer>(Part { head: open.slice(&selected, slice), nodes: adding.finish(), sites })
        };
        let mut all = Vec::with_capacity(PARTS);
        in_order(
            0..part_sums.0.len(),
            || (open.again(), RowSums::default()),
            make,
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
    pub fn pack(&self, adding: &mut RowSums, number: usize, places: &[Option<usize>], sites: &Sites) -> Pack {
        let part = &self.all[number];
        let mut pack = part.head.clone();
        for (node, values) in part.nodes.iter() {
            places[node].into_iter().for_each(|place| adding.add(place, &values));
        }
        write_part(&mut pack, "tree", &adding.finish());
        part.sites.iter().for_each(|(site, values)| adding.add(site.min(sites.shown.len()), &values));
        write_part(&mut pack, "sites", &adding.finish());
        pack
    }
}

/// Adds up what has the same number. Its memory is used again.
#[derive(Default)]
pub(super) struct RowSums {
    /// By number: one more than the place among the sums, or 0.
    places: Vec<u32>,
    sums: Vec<Values>,
}

impl RowSums {
    fn add(&mut self, number: usize, values: &Values) {
        if self.places.len() <= number {
            self.places.resize((number + 1).next_power_of_two(), 0);
        }
        match self.places[number] {
            0 => {
                self.sums.push(*values);
                self.places[number] = self.sums.len() as u32;
            }
            place => add(&mut self.sums[place as usize - 1], values),
        }
    }

    /// The sums in the order of numbers, and nothing is added up any more.
    fn finish(&mut self) -> SparseRows {
        let mut rows = SparseRows::default();
        for (number, place) in self.places.iter_mut().enumerate().filter(|(_, place)| **place > 0) {
            let values = &self.sums[std::mem::take(place) as usize - 1];
            rows.push(number, values);
        }
        self.sums.clear();
        rows
    }
}

/// What tells two call sites apart.
type SiteKey = (Option<FrameId>, Vec<FrameId>, Option<String>, String);

fn key(row: &Row) -> SiteKey {
    (row.frame, row.inlined.clone(), row.type_name.clone(), row.label.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_number_add_up_in_the_order_of_numbers() {
        let row = |value: f64| {
            let mut values = NOTHING;
            values[1] = value;
            values
        };
        let mut sums = RowSums::default();
        for (number, value) in [(7, 1.0), (2, 3.0), (4, 0.0), (7, 2.5), (4, 0.0)] {
            sums.add(number, &row(value));
        }
        assert_eq!(sums.finish().iter().collect::<Vec<_>>(), [(2, row(3.0)), (4, NOTHING), (7, row(3.5))]);
        sums.add(4, &row(1.0));
        assert_eq!(sums.finish().iter().collect::<Vec<_>>(), [(4, row(1.0))], "what was added up is forgotten");
    }
}
