//! What changed between the recordings before a change and those after it, by call site, function or call path.

mod loaded_files;
mod matching;
mod noise;
mod samples;

pub use loaded_files::LoadedFiles;
pub use noise::{CONFIDENCE, Noise, single};
pub use samples::Samples;

use crate::library::qualified_name;
use crate::metric::{About, Metric, Place, Price, TABLE, all_in, number_in};
use crate::priced::Priced;
use crate::sites::{GroupBy, Row, rows};
use crate::stacks::{Stacks, Texts, View};
use crate::sums::Sums;
use crate::tariff::Tariff;
use memtoll_model::{FrameId, Frames, Recording};
use std::collections::BTreeMap;

/// A recording with its sums.
pub struct Run<'a> {
    pub recording: &'a Recording,
    pub sums: &'a Sums,
    /// What things cost in it.
    pub tariff: Tariff,
}

impl Run<'_> {
    fn knows(&self, metric: Metric) -> bool {
        metric.is_known_of(&self.sums.total, self.tariff.sees())
    }

    /// Whether its value of a metric can be held against those of all others. A sum of prices cannot where it lacks one that
    /// another recording has.
    pub fn compares(&self, metric: Metric, sides: &Sides) -> bool {
        let is_part = |about: &&About| metric.about().price == Price::Sum && about.price != Price::None;
        let lacks = |part: Metric| !self.knows(part) && sides.iter().flatten().any(|run| run.knows(part));
        self.knows(metric) && !TABLE.iter().filter(is_part).any(|part| lacks(part.metric))
    }
}

/// The recordings before the change, and those after it. Neither is empty.
pub type Sides<'a> = [Vec<Run<'a>>; 2];

/// The metrics that are compared of call sites.
const COMPARED: [Metric; number_in(Place::Compared)] = all_in(Place::Compared);

/// One of the metrics that are compared of call sites ([`Place::Compared`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantity(usize);

impl Quantity {
    /// All of them, in the order of [`Quantity::index`].
    pub const ALL: [Quantity; COMPARED.len()] = {
        let (mut all, mut index) = ([Quantity(0); COMPARED.len()], 0);
        while index < COMPARED.len() {
            all[index] = Quantity(index);
            index += 1;
        }
        all
    };

    /// Its place in a list of all.
    pub fn index(self) -> usize {
        self.0
    }

    pub fn metric(self) -> Metric {
        COMPARED[self.0]
    }

    /// Whether it is known of all recordings.
    pub fn is_known(self, sides: &Sides) -> bool {
        sides.iter().flatten().all(|run| run.compares(self.metric(), sides))
    }

    /// How far its value may be off.
    fn error(self, metrics: &Priced, tariff: &Tariff) -> f64 {
        tariff.estimate(self.metric(), metrics).margin()
    }

    /// Its value.
    pub fn of(self, metrics: &Priced) -> f64 {
        self.metric().value(metrics) as f64
    }
}

#[derive(Clone, Debug)]
pub struct Values(Vec<Samples>);

impl Values {
    /// Of nothing: zeros for all runs.
    pub fn zero(sides: &Sides) -> Values {
        let [before, after] = sides.each_ref().map(|runs| vec![0.0; runs.len()]);
        Values(
            Quantity::ALL
                .iter()
                .map(|_| Samples { before: before.clone(), after: after.clone(), single_margins: [0.0; 2] })
                .collect(),
        )
    }

    /// Of whole recordings.
    pub fn totals(sides: &Sides) -> Values {
        let of = |quantity: Quantity, runs: &[Run]| runs.iter().map(|run| quantity.of(&run.sums.total)).collect();
        let samples = |quantity: &Quantity| {
            let [before, after] = sides.each_ref().map(|runs| of(*quantity, runs));
            let error = |run: &Run| quantity.error(&run.sums.total, &run.tariff);
            let single_margins = sides.each_ref().map(|runs| runs.first().map_or(0.0, error));
            Samples { before, after, single_margins }
        };
        Values(Quantity::ALL.iter().map(samples).collect())
    }

    pub fn of(&self, quantity: Quantity) -> &Samples {
        &self.0[quantity.index()]
    }

    /// Adds others, run by run.
    pub fn add(&mut self, other: &Values) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| own.add(other, 1.0));
    }

    /// Takes others away, run by run.
    pub fn subtract(&mut self, other: &Values) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| own.add(other, -1.0));
    }
}

/// What became of a call site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is on both sides.
    Changed,
    /// It was not there before.
    New,
    /// It is not there any more.
    Gone,
}

/// A call site, a function or a call path on both sides.
pub struct Change {
    /// What became of it.
    pub fate: Fate,
    /// The run whose names are shown: the last one after the change, or before it if it is gone.
    pub side: usize,
    /// Its place among the runs of that side.
    pub run: usize,
    /// The row of that run, as a report of it shows it.
    pub row: Row,
    /// The row of the last run before the change, if it is shown by another one.
    pub row_before: Option<(usize, Row)>,
    /// Its values in all runs.
    pub values: Values,
}

/// What identifies a row in different recordings: its name in the report. Lines change with every
/// edit and are not part of it; they tell call sites of the same name apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Identity {
    /// The functions: of a call site, the first one and those into which it is inlined. Overloads are different ones.
    functions: Vec<String>,
    /// The same without parameters, which may change with an edit.
    names: Vec<String>,
    /// The loaded file of each, which may be renamed.
    files: Vec<String>,
    /// The type of the blocks.
    kind: Option<String>,
    lines: Vec<Option<u32>>,
}

impl Identity {
    fn of(row: &Row, frames: &Frames, group: GroupBy, loaded_files: &LoadedFiles) -> Identity {
        let chain: Vec<FrameId> = match &row.path[..] {
            [] => row.frame.into_iter().chain(row.inlined.iter().copied()).collect(),
            path => path.to_vec(),
        };
        let function = |id: &FrameId| Texts::of(frames, *id).function.to_owned();
        let functions = if chain.is_empty() { vec![row.label.clone()] } else { chain.iter().map(function).collect() };
        let name = |function: &String| qualified_name(function).to_owned();
        let names = if chain.is_empty() { functions.clone() } else { functions.iter().map(name).collect() };
        let file = |id: &FrameId| loaded_files.name(frames, frames.frame(*id).module).to_owned();
        let files = chain.iter().map(file).collect();
        let lines = match group {
            GroupBy::Site => chain.iter().map(|id| frames.frame(*id).line).collect(),
            _ => Vec::new(),
        };
        Identity { functions, names, files, kind: row.type_name.clone(), lines }
    }
}

/// A row of one side.
struct Found {
    identity: Identity,
    /// By run: the metrics' values.
    values: Vec<[f64; Quantity::ALL.len()]>,
    /// How far each may be off in a single run.
    errors: [f64; Quantity::ALL.len()],
    /// Allocations and reallocations, in all runs.
    allocations: u64,
    /// The last run that has it, and its row there.
    run: usize,
    row: Row,
}

impl Found {
    /// Allocations and reallocations, the mean of all runs.
    fn allocations(&self) -> f64 {
        self.allocations as f64 / self.values.len() as f64
    }
}

/// The rows of a side.
fn found(runs: &[Run], view: &View, group: GroupBy, loaded_files: &LoadedFiles) -> Vec<Found> {
    let mut all: BTreeMap<Identity, Found> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for row in rows(&mut Stacks::new(run.recording, view), run.sums, group) {
            let identity = Identity::of(&row, &run.recording.frames, group, loaded_files);
            let entry = all.entry(identity.clone());
            let values = vec![Default::default(); runs.len()];
            let found = entry.or_insert_with(|| Found {
                identity,
                values,
                errors: Default::default(),
                allocations: 0,
                run: number,
                row: row.clone(),
            });
            for quantity in Quantity::ALL {
                found.values[number][quantity.index()] += quantity.of(&row.metrics);
                let error = &mut found.errors[quantity.index()];
                *error = error.hypot(quantity.error(&row.metrics, &run.tariff));
            }
            found.allocations = found.allocations.wrapping_add(row.metrics.allocations());
            (found.run, found.row) = (number, row);
        }
    }
    all.into_values().collect()
}

/// All call sites (functions, call paths) of both sides, matched.
pub fn compare(sides: &Sides, view: &View, group: GroupBy) -> Vec<Change> {
    let loaded_files = LoadedFiles::of(sides.iter().flatten().map(|run| run.recording));
    let [before, after] = sides.each_ref().map(|runs| found(runs, view, group, &loaded_files));
    let pairs = matching::pairs(before, after);
    pairs.into_iter().filter_map(|(before, after)| change(sides, before, after)).collect()
}

fn change(sides: &Sides, before: Option<Found>, after: Option<Found>) -> Option<Change> {
    let mut values = Values::zero(sides);
    for (side, found) in [&before, &after].into_iter().enumerate() {
        for (run, found) in found.iter().flat_map(|found| found.values.iter().enumerate()) {
            for (samples, value) in values.0.iter_mut().zip(found) {
                let samples = if side == 0 { &mut samples.before } else { &mut samples.after };
                samples[run] = *value;
            }
        }
        let errors = found.as_ref().map_or_else(Default::default, |found| found.errors);
        for (samples, error) in values.0.iter_mut().zip(errors) {
            samples.single_margins[side] = error;
        }
    }
    let change = |fate, side, shown: Found, row_before| Change {
        fate,
        side,
        run: shown.run,
        row: shown.row,
        row_before,
        values,
    };
    match (before, after) {
        (Some(before), Some(after)) => Some(change(Fate::Changed, 1, after, Some((before.run, before.row)))),
        (None, Some(after)) => Some(change(Fate::New, 1, after, None)),
        (Some(before), None) => Some(change(Fate::Gone, 0, before, None)),
        (None, None) => None,
    }
}
