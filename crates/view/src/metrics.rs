//! The metrics that the viewer shows ([`Place::Viewer`]), with what only a screen needs to know of them.

use crate::changes::shown_quantities;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs;
use memtoll_analysis::diff::Quantity;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::{About, Metric, Place, Seen, Sees, Together, all_in, number_in};
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tariff::{PriceErrors, Tariff};
use memtoll_analysis::titles::Titles;
use memtoll_text::format::Unit;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How the numbers of neighboring spans of time become that of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Join {
    Sum,
    Last,
    /// That of the one with the highest total.
    Highest,
}

/// How many metrics there are.
pub const COUNT: usize = number_in(Place::Viewer);

/// Which ones, in the order of columns.
const SHOWN: [Metric; COUNT] = all_in(Place::Viewer);

/// What more than its number says how far a metric is off (`viewer/src/model/errors.ts`). Of rows it adds up, as numbers do.
#[derive(Clone, Copy, PartialEq)]
enum Basis {
    /// By chance, in the metric's unit squared.
    Variance,
    /// What was paid inside calls of the allocator, as far as its error is one of the allocator's time.
    Inside,
    /// By how much parts come out at more than the calls took.
    Overdrawn,
    /// The part of page faults that is of huge pages.
    Huge,
}

impl Basis {
    fn name(self) -> &'static str {
        match self {
            Basis::Variance => "variance",
            Basis::Inside => "inside",
            Basis::Overdrawn => "overdrawn",
            Basis::Huge => "huge",
        }
    }
}

/// Those that a metric has. Other costs err as the whole does.
const fn has(metric: Metric, basis: Basis) -> bool {
    match basis {
        Basis::Variance => matches!(metric.about().seen, Seen::Faults) && !matches!(metric, Metric::Cost),
        Basis::Inside => matches!(metric, Metric::Allocator),
        Basis::Overdrawn | Basis::Huge => matches!(metric, Metric::FaultTime),
    }
}

/// All of them, by metric, in the order of columns.
const BASES: [(usize, Basis); how_many_bases()] = {
    let (mut all, mut number, mut index) = ([(0, Basis::Variance); how_many_bases()], 0, 0);
    while index < COUNT * KINDS.len() {
        let (column, basis) = (index % COUNT, KINDS[index / COUNT]);
        if has(SHOWN[column], basis) {
            all[number] = (column, basis);
            number += 1;
        }
        index += 1;
    }
    all
};

const KINDS: [Basis; 4] = [Basis::Variance, Basis::Inside, Basis::Overdrawn, Basis::Huge];

const fn how_many_bases() -> usize {
    let (mut number, mut index) = (0, 0);
    while index < COUNT * KINDS.len() {
        number += has(SHOWN[index % COUNT], KINDS[index / COUNT]) as usize;
        index += 1;
    }
    number
}

/// Numbers of a row that add up: one of each metric, then what says how far they are off. Of a mean, it is the
/// sum that is divided by the value of another metric. What is counted is exact up to 2^53.
/// Behind them stands for each of [`HIDEABLE`] how many blocks there are of which it is known, and of which it is not.
pub type Values = [f64; WIDTH];

/// What of a row may be known of some blocks only.
const HIDEABLE: [Seen; 3] = [Seen::Frees, Seen::Pages, Seen::Units];

/// Where the numbers of blocks stand.
const BLOCKS: usize = COUNT + BASES.len();

/// Numbers of a row.
const WIDTH: usize = BLOCKS + 2 * HIDEABLE.len();

/// Those of nothing.
pub const NOTHING: Values = [0.0; WIDTH];

/// The numbers of a call site, a branch or the whole.
pub fn values(of: &Priced, tariff: &Tariff) -> Values {
    std::array::from_fn(|place| value_at(place, of, tariff))
}

/// One of these numbers, by its place. It may be less than nothing: what parts of a whole have adds up to what that has.
pub fn value_at(place: usize, of: &Priced, tariff: &Tariff) -> f64 {
    if let Some(metric) = SHOWN.get(place) {
        return metric.sum(of) as i64 as f64;
    }
    if let Some((column, basis)) = BASES.get(place - COUNT) {
        return match basis {
            Basis::Variance => tariff.variance(SHOWN[*column], of),
            Basis::Inside => tariff.allocator_inside(of),
            Basis::Overdrawn => of.overdrawn_ns.0 as f64,
            Basis::Huge => tariff.huge_faults(of).value,
        };
    }
    let (blocks, sees) = (of.blocks(), tariff.sees());
    let at = place - BLOCKS;
    let hidden = match HIDEABLE[at / 2] {
        Seen::Frees => of.unknown_fates,
        Seen::Pages if sees.pages => of.without_pages,
        Seen::Units if sees.pages && sees.units => of.without_units,
        _ => blocks,
    };
    let hidden = hidden.min(blocks);
    (if at.is_multiple_of(2) { blocks - hidden } else { hidden }) as f64
}

/// The places of the numbers from which the columns of these metrics are made, in ascending order.
fn places(columns: &[usize]) -> Vec<usize> {
    let has = |column: usize| columns.contains(&column);
    let is_wanted = |place: &usize| match BASES.get(place.wrapping_sub(COUNT)) {
        Some((column, _)) => has(*column),
        None if *place < COUNT => has(*place),
        None => columns.iter().any(|column| SHOWN[*column].about().seen == HIDEABLE[(place - BLOCKS) / 2]),
    };
    (0..WIDTH).filter(is_wanted).collect()
}

/// The numbers from which the columns of some metrics are made.
pub struct Chosen {
    columns: Vec<usize>,
    places: Vec<usize>,
}

/// Those of some metrics; of all, if there are none.
pub fn chosen(metrics: &[Metric]) -> Result<Chosen, NoAnswer> {
    let column = |metric: &Metric| {
        let name = metric.about().name;
        names().position(|known| known == name).ok_or(NoAnswer::NoColumn(name))
    };
    let columns = match metrics.is_empty() {
        true => (0..COUNT).collect(),
        false => metrics.iter().map(column).collect::<Result<Vec<usize>, NoAnswer>>()?,
    };
    Ok(Chosen { places: places(&columns), columns })
}

impl Chosen {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Those of a call site, a branch or the whole.
    pub fn of<'a>(&'a self, of: &'a Priced, tariff: &'a Tariff) -> impl Iterator<Item = f64> + 'a {
        self.places.iter().map(|place| value_at(*place, of, tariff))
    }

    /// Writes the columns of rows.
    pub fn write<I: Iterator<Item = f64>>(&self, pack: &mut Pack, family: &str, rows: impl Iterator<Item = I>) {
        let spread = |numbers: I| {
            let mut row = NOTHING;
            self.places.iter().zip(numbers).for_each(|(place, number)| row[*place] = number);
            row
        };
        let rows: Vec<Values> = rows.map(spread).collect();
        write_some(pack, family, &rows, |index| self.columns.contains(&index));
    }
}

/// The number of a metric in a row, by its column; NaN: it is known of none of the row's blocks.
fn number(row: &Values, column: usize) -> f64 {
    let seen = SHOWN.get(column).map(|metric| metric.about().seen);
    let place = HIDEABLE.iter().position(|hideable| Some(*hideable) == seen);
    let is_hidden = place.is_some_and(|place| {
        let at = BLOCKS + 2 * place;
        row[at] == 0.0 && row[at + 1] > 0.0
    });
    if is_hidden { f64::NAN } else { row[column] }
}

/// The numbers of all together, by metric; nothing where frees are hidden.
pub fn totals(of: &Priced, tariff: &Tariff) -> BTreeMap<String, Option<f64>> {
    let values = values(of, tariff);
    let known = |column| Some(number(&values, column)).filter(|number| !number.is_nan());
    names().map(str::to_owned).zip((0..COUNT).map(known)).collect()
}

/// Adds those of another row.
pub fn add(sums: &mut Values, more: &Values) {
    sums.iter_mut().zip(more).for_each(|(sum, value)| *sum += value);
}

/// Writes the columns of rows.
pub fn write(pack: &mut Pack, family: &str, rows: &[Values]) {
    write_some(pack, family, rows, |_| true);
}

/// The same of some metrics, by their numbers. What says how far they are off is left out where it says nothing.
fn write_some(pack: &mut Pack, family: &str, rows: &[Values], chosen: impl Fn(usize) -> bool) {
    for metric in (0..COUNT).filter(|metric| chosen(*metric)) {
        let column: Vec<f64> = rows.iter().map(|row| number(row, metric)).collect();
        pack.member(family, SHOWN[metric].about().name, &column);
    }
    for (at, (metric, basis)) in BASES.iter().enumerate().filter(|(_, (metric, _))| chosen(*metric)) {
        let column: Vec<f64> = rows.iter().map(|row| row[COUNT + at]).collect();
        if column.iter().any(|value| *value != 0.0) {
            pack.member(family, &format!("{}.{}", SHOWN[*metric].about().name, basis.name()), &column);
        }
    }
}

/// Where the true values of the whole are, by metric: of those that are not exact.
pub fn intervals(of: &Priced, tariff: &Tariff) -> BTreeMap<String, [f64; 2]> {
    let estimates = SHOWN.iter().map(|metric| (metric.about().name, tariff.estimate(*metric, of)));
    let wide = estimates.filter(|(_, estimate)| !estimate.is_exact());
    wide.map(|(name, estimate)| (name.to_owned(), [estimate.low, estimate.high])).collect()
}

/// What metrics are called, where that is not their own title.
pub fn titles(of: Titles) -> BTreeMap<String, packs::Titles> {
    let differ = |metric: &&Metric| of.in_rows(**metric) != metric.about().title;
    let both = |metric| packs::Titles { of_all: of.of_all(metric), in_rows: of.in_rows(metric) };
    SHOWN.iter().filter(differ).map(|metric| (metric.about().name.to_owned(), both(*metric))).collect()
}

/// The names of the metrics, which their columns have.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHOWN.iter().map(|metric| metric.about().name)
}

fn join(metric: Metric) -> Join {
    match metric.about().together {
        Together::Level => Join::Last,
        Together::Peak | Together::Largest => Join::Highest,
        Together::Sum | Together::Mean(_) => Join::Sum,
    }
}

/// The lists of the front end that a metric is in.
fn lists(about: &About) -> Vec<&'static str> {
    let lists = [(Place::Lines, "lines"), (Place::Tree, "tree"), (Place::Overview, "overview")];
    lists.into_iter().filter(|(place, _)| about.is_in(*place)).map(|(_, name)| name).collect()
}

/// The table, for the front end. `has_looks`: whether it is known what lay in memory when a process ended, for who asks for it.
pub fn describe(tariff: &Tariff, has_looks: bool) -> Value {
    let sees = Sees { pages: has_looks, units: has_looks, ..tariff.sees() };
    let one = |&metric: &Metric| {
        let about = metric.about();
        let divided = tariff.allocator_division().filter(|_| metric == Metric::Allocator);
        let errors = tariff.price_errors(metric);
        let beside = |of: Estimate| json!([of.value - of.low, of.high - of.value]);
        let compared = shown_quantities().find(|quantity| quantity.metric() == metric);
        json!({
            "name": about.name,
            "title": about.title,
            "unit": match about.unit { Unit::Time => "ns", Unit::Bytes => "bytes", Unit::Count | Unit::Share => "count" },
            "help": about.help,
            "origin": about.origin(),
            "known": metric.is_known(sees),
            "join": match join(metric) { Join::Sum => "sum", Join::Last => "last", Join::Highest => "highest" },
            "color": metric.color().unwrap_or_default(),
            "lists": lists(about),
            "over": metric.over().map(|over| over.about().name),
            "compared": compared.is_some(),
            "divided": divided.map(|(total, error)| json!({ "total": total, "error": error })),
            "prices": errors.map(|PriceErrors { each, huge, missing }| {
                json!({ "each": beside(each), "huge": beside(huge), "missing": missing })
            }),
            "resolves": compared.and_then(Quantity::resolves),
        })
    };
    SHOWN.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_text::amounts::Nanoseconds;
    use memtoll_trace::meta::{Clock, Prices};
    use memtoll_trace::metrics::Metrics;

    #[test]
    fn means_are_sums_and_lists_are_of_what_is_shown() {
        let lists: usize = SHOWN.iter().map(|metric| lists(metric.about()).len()).sum();
        assert_eq!(
            lists,
            [Place::Lines, Place::Tree, Place::Overview].map(number_in).iter().sum::<usize>(),
            "all are in the viewer"
        );
        let of = Priced { lifetime_ns: Nanoseconds(30), ..Priced::default() };
        let tariff = Tariff::new(Clock { units_per_second: 1e9, stamp: 0.0 }, Prices::default(), 4096);
        assert_eq!(values(&of, &tariff)[SHOWN.iter().position(|metric| *metric == Metric::Lifetime).unwrap()], 30.0);
    }

    #[test]
    fn the_numbers_of_a_column_tell_what_all_numbers_tell_of_it() {
        let counts = Metrics { new_blocks: 9, live_blocks: 4, small_faults: 7, ..Metrics::default() };
        let of = Priced { counts, unknown_fates: 9, without_pages: 3, ..Priced::default() };
        let tariff = Tariff::new(Clock { units_per_second: 1e9, stamp: 0.0 }, Prices::default(), 4096);
        let all = values(&of, &tariff);
        for (column, metric) in SHOWN.iter().enumerate() {
            let mut some = NOTHING;
            places(&[column]).into_iter().for_each(|place| some[place] = value_at(place, &of, &tariff));
            assert_eq!(number(&some, column).to_bits(), number(&all, column).to_bits(), "{metric:?}");
        }
        assert!((0..COUNT).any(|column| number(&all, column).is_nan()));
        let of_all: Vec<usize> = (0..COUNT).collect();
        assert_eq!(places(&of_all), (0..WIDTH).collect::<Vec<_>>());
        assert!(BASES.iter().enumerate().all(|(at, (column, _))| places(&[*column]).contains(&(COUNT + at))));
        // A part of a price may be less than nothing.
        let cost = SHOWN.iter().position(|metric| *metric == Metric::Cost).unwrap();
        let less = Priced { allocator_ns: Nanoseconds(0u64.wrapping_sub(5)), ..Priced::default() };
        assert_eq!(value_at(cost, &less, &tariff), -5.0);
    }
}
