//! The totals of two recordings, side by side.

use super::{Diff, acquired, faults};
use crate::format;
use memtoll_analysis::balance::Balance;
use memtoll_analysis::tariff::{Costs, Sees};
use memtoll_trace::summary::Metrics;

/// What is compared.
struct Total {
    name: &'static str,
    of: Quantity,
    /// Whether it is known.
    known: fn(Sees) -> bool,
    /// Whether it is told where both recordings have none.
    always: bool,
}

/// A number of things, bytes, or time in ns.
enum Quantity {
    Count(fn(&Metrics) -> u64),
    Bytes(fn(&Metrics) -> u64),
    Time(fn(&Costs) -> f64),
}

const fn total(name: &'static str, of: Quantity) -> Total {
    Total { name, of, known: |_| true, always: true }
}

const fn if_faults_are_seen(name: &'static str, of: Quantity) -> Total {
    Total { known: |sees| sees.faults, ..total(name, of) }
}

const fn if_switches_are_seen(name: &'static str, of: Quantity) -> Total {
    Total { known: |sees| sees.switches, always: false, ..total(name, of) }
}

const TOTALS: [Total; 15] = [
    total("allocations", Quantity::Count(|m| m.allocations)),
    total("reallocations", Quantity::Count(|m| m.reallocations)),
    total("bytes allocated", Quantity::Bytes(|m| m.bytes_allocated)),
    Total { always: false, ..total("bytes mapped", Quantity::Bytes(|m| m.mapped_bytes)) },
    total("peak", Quantity::Bytes(|m| m.peak_bytes)),
    total("live at end", Quantity::Bytes(|m| m.live_bytes)),
    total("temporary", Quantity::Count(|m| m.temporary)),
    total("free of null", Quantity::Count(|m| m.free_null_calls)),
    if_faults_are_seen("page faults", Quantity::Count(faults)),
    total("inside the allocator", Quantity::Time(|c| c.allocator)),
    if_faults_are_seen("page faults' time", Quantity::Time(|c| c.faults)),
    total("mappings", Quantity::Time(|c| c.mapping)),
    if_switches_are_seen("waiting in the allocator", Quantity::Time(|c| c.waiting)),
    if_switches_are_seen("waiting for the disk", Quantity::Time(|c| c.reading)),
    total("cost of memory", Quantity::Time(Costs::total)),
];

impl Quantity {
    fn value(&self, metrics: &Metrics, costs: &Costs) -> f64 {
        match self {
            Quantity::Count(of) | Quantity::Bytes(of) => of(metrics) as f64,
            Quantity::Time(of) => of(costs),
        }
    }

    fn text(&self, value: f64) -> String {
        match self {
            Quantity::Count(_) => format::count(value as u64),
            Quantity::Bytes(_) => format::bytes(value as u64),
            Quantity::Time(_) => format::seconds(value / 1e9),
        }
    }

    fn difference(&self, value: f64) -> String {
        match self {
            Quantity::Count(_) => format::signed_count(value as i64),
            Quantity::Bytes(_) => format::signed_bytes(value as i64),
            Quantity::Time(_) => format::signed_seconds(value / 1e9),
        }
    }

    /// Before, after, difference, that in percent, and what it is.
    fn cells(&self, name: &str, [before, after]: [Option<f64>; 2]) -> [String; 5] {
        let text = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| self.text(value));
        let (change, percent) = match (before, after) {
            (Some(before), Some(after)) if before != after => (
                self.difference(after - before),
                if before > 0.0 { format!("{:+.1} %", (after - before) * 100.0 / before) } else { String::new() },
            ),
            _ => (String::new(), String::new()),
        };
        [text(before), text(after), change, percent, name.to_owned()]
    }
}

impl Diff<'_> {
    /// Of each total: before, after, difference, that in percent, and what it is.
    pub(super) fn total_cells(&self) -> impl Iterator<Item = [String; 5]> {
        let metrics = self.totals();
        let costs = [0, 1].map(|side| self.tariffs[side].costs(metrics[side]));
        let rows = TOTALS.iter().filter_map(move |total| {
            let [before, after] = [0, 1].map(|side| {
                (total.known)(self.tariffs[side].sees()).then(|| total.of.value(metrics[side], &costs[side]))
            });
            let is_told = total.always || before.unwrap_or(0.0) > 0.0 || after.unwrap_or(0.0) > 0.0;
            is_told.then(|| total.of.cells(total.name, [before, after]))
        });
        let processor = self.sides.map(|side| Balance::of_all(side.recording, side.sums).processor);
        let is_known = processor.iter().any(Option::is_some);
        rows.chain(is_known.then(|| Quantity::Time(Costs::total).cells("processor time", processor)))
    }

    /// Whether the same was allocated.
    pub(super) fn allocates_the_same(&self) -> bool {
        let [before, after] = self.totals();
        acquired(before) == acquired(after) && before.bytes_allocated == after.bytes_allocated
    }
}
