//! The metrics that the viewer shows: those of the one table ([`memtoll_analysis::metric::TABLE`]) that call trees and
//! spans of time add up, with what only a screen needs to know of them.

use memtoll_analysis::diff::Quantity;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tariff::Tariff;
use memtoll_text::format::Unit;
use serde_json::{Value, json};

/// How the numbers of neighboring spans of time become that of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Join {
    /// Their sum.
    Sum,
    /// That of the last one.
    Last,
    /// That of the one with the highest total.
    Highest,
}

/// Which metrics, in the order of columns; the kind of cost that gives their color (empty: none).
const SHOWN: [(Metric, &str); 19] = [
    (Metric::Cost, "cost"),
    (Metric::Allocator, "allocator"),
    (Metric::FaultTime, "faults"),
    (Metric::Zeroing, "zeroing"),
    (Metric::Mapping, "mapping"),
    (Metric::Waiting, "waiting"),
    (Metric::Reading, "waiting"),
    (Metric::Allocations, ""),
    (Metric::Bytes, ""),
    (Metric::Peak, ""),
    (Metric::Live, ""),
    (Metric::LiveBlocks, ""),
    (Metric::Temporary, ""),
    (Metric::Lifetime, ""),
    (Metric::Freed, ""),
    (Metric::Faults, ""),
    (Metric::Touched, ""),
    (Metric::Frees, ""),
    (Metric::NullFrees, ""),
];

/// How many metrics there are.
pub const COUNT: usize = SHOWN.len();

/// A number for each metric. Of the mean lifetime, it is the sum that is divided by the number of freed blocks.
pub type Values = [u64; COUNT];

/// The numbers of a call site, a branch or the whole.
pub fn values(of: &Priced) -> Values {
    SHOWN.map(|(metric, _)| of_metric(metric, of))
}

/// One of these numbers.
pub fn value(index: usize, of: &Priced) -> u64 {
    SHOWN.get(index).map_or(0, |(metric, _)| of_metric(*metric, of))
}

fn of_metric(metric: Metric, of: &Priced) -> u64 {
    match metric {
        Metric::Lifetime => of.lifetime_ns,
        metric => metric.value(of),
    }
}

/// The names of the metrics, which their columns have.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHOWN.iter().map(|(metric, _)| metric.about().name)
}

fn join(metric: Metric) -> Join {
    match metric {
        Metric::Live | Metric::LiveBlocks => Join::Last,
        Metric::Peak => Join::Highest,
        _ => Join::Sum,
    }
}

/// The table, for the front end.
pub fn describe(tariff: &Tariff) -> Value {
    let one = |&(metric, color): &(Metric, &str)| {
        let about = metric.about();
        let compared = Quantity::ALL.into_iter().find(|quantity| quantity.metric() == metric);
        json!({
            "name": about.name,
            "title": about.title,
            "unit": match about.unit { Unit::Time => "ns", Unit::Bytes => "bytes", Unit::Count | Unit::Share => "count" },
            "help": about.help,
            "origin": about.origin(),
            "known": metric.is_known(tariff.sees()),
            "join": match join(metric) { Join::Sum => "sum", Join::Last => "last", Join::Highest => "highest" },
            "color": color,
            "over": (metric == Metric::Lifetime).then_some(Metric::Freed.about().name),
            "compared": compared.is_some(),
            "resolves": compared.and_then(Quantity::resolves),
        })
    };
    SHOWN.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_shown_once_and_add_up() {
        for (index, (metric, _)) in SHOWN.iter().enumerate() {
            assert!(!SHOWN[..index].iter().any(|(other, _)| other == metric), "{metric:?}");
            assert!(metric.adds_up() || *metric == Metric::Lifetime, "{metric:?}");
        }
        let of = Priced { lifetime_ns: 30, ..Priced::default() };
        assert_eq!(values(&of)[SHOWN.iter().position(|(metric, _)| *metric == Metric::Lifetime).unwrap()], 30);
    }
}
