//! The totals of two recordings, side by side.

use super::{Diff, acquired, faults};
use crate::format;
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

const TOTALS: [Total; 14] = [
    total("allocations", Quantity::Count(|m| m.allocations)),
    total("reallocations", Quantity::Count(|m| m.reallocations)),
    total("bytes allocated", Quantity::Bytes(|m| m.bytes_allocated)),
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

impl Total {
    fn value(&self, metrics: &Metrics, costs: &Costs) -> f64 {
        match self.of {
            Quantity::Count(of) | Quantity::Bytes(of) => of(metrics) as f64,
            Quantity::Time(of) => of(costs),
        }
    }

    fn text(&self, value: f64) -> String {
        match self.of {
            Quantity::Count(_) => format::count(value as u64),
            Quantity::Bytes(_) => format::bytes(value as u64),
            Quantity::Time(_) => format::seconds(value / 1e9),
        }
    }

    fn difference(&self, value: f64) -> String {
        match self.of {
            Quantity::Count(_) => format::signed_count(value as i64),
            Quantity::Bytes(_) => format::signed_bytes(value as i64),
            Quantity::Time(_) => format::signed_seconds(value / 1e9),
        }
    }
}

impl Diff<'_> {
    /// Of each total: before, after, difference, that in percent, and what it is.
    pub(super) fn total_cells(&self) -> impl Iterator<Item = [String; 5]> {
        let metrics = self.totals();
        let costs = [0, 1].map(|side| self.tariffs[side].costs(metrics[side]));
        TOTALS.iter().filter_map(move |total| {
            let [before, after] = [0, 1]
                .map(|side| (total.known)(self.tariffs[side].sees()).then(|| total.value(metrics[side], &costs[side])));
            if !total.always && before.unwrap_or(0.0) == 0.0 && after.unwrap_or(0.0) == 0.0 {
                return None;
            }
            let text = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| total.text(value));
            let (change, percent) = match (before, after) {
                (Some(before), Some(after)) if before != after => (
                    total.difference(after - before),
                    if before > 0.0 { format!("{:+.1} %", (after - before) * 100.0 / before) } else { String::new() },
                ),
                _ => (String::new(), String::new()),
            };
            Some([text(before), text(after), change, percent, total.name.to_owned()])
        })
    }

    /// Whether the same was allocated.
    pub(super) fn allocates_the_same(&self) -> bool {
        let [before, after] = self.totals();
        acquired(before) == acquired(after) && before.bytes_allocated == after.bytes_allocated
    }
}
