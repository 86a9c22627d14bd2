//! The totals of both sides.

use memtoll_analysis::balance::Balance;
use memtoll_analysis::costs::CostEstimates;
use memtoll_analysis::diff::{Quantity, Run, Samples, Sides};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::reserved::{self, Reserved};
use memtoll_analysis::sees::Sees;
use memtoll_text::format::Unit;

/// What is compared.
struct Declared {
    name: &'static str,
    /// In JSON.
    key: &'static str,
    unit: Unit,
    of: fn(&Run) -> Option<Estimate>,
    shown: Shown,
}

/// When a total is told.
enum Shown {
    Always,
    /// If a recording has some of it.
    IfAny,
    /// If a program has mappings of its own.
    IfMapped,
}

/// A total in all recordings.
pub struct Total {
    /// What it is.
    pub name: &'static str,
    /// In JSON.
    pub key: &'static str,
    /// Of its values.
    pub unit: Unit,
    /// `None` for a side of which a recording does not know it.
    samples: [Option<Vec<Estimate>>; 2],
}

fn count(run: &Run, of: fn(&Priced) -> u64) -> Option<Estimate> {
    Some(Estimate::exact(of(&run.sums.total) as f64))
}

fn time(run: &Run, of: fn(&CostEstimates) -> Estimate) -> Option<Estimate> {
    Some(of(&run.tariff.estimates(&run.sums.total)))
}

fn if_seen(run: &Run, seen: fn(Sees) -> bool, value: Option<Estimate>) -> Option<Estimate> {
    value.filter(|_| seen(run.tariff.sees()))
}

const fn total(name: &'static str, key: &'static str, unit: Unit, of: fn(&Run) -> Option<Estimate>) -> Declared {
    Declared { name, key, unit, of, shown: Shown::Always }
}

/// A total that is a metric's: with its key and its unit.
const fn of_metric(name: &'static str, metric: Metric, of: fn(&Run) -> Option<Estimate>) -> Declared {
    total(name, metric.about().key, metric.about().unit, of)
}

const fn if_any(declared: Declared) -> Declared {
    Declared { shown: Shown::IfAny, ..declared }
}

const fn if_mapped(declared: Declared) -> Declared {
    Declared { shown: Shown::IfMapped, ..declared }
}

const TOTALS: [Declared; 18] = [
    of_metric("allocations", Metric::Allocations, |r| count(r, Priced::allocations)),
    of_metric("reallocations", Metric::Reallocations, |r| count(r, |m| m.reallocations)),
    of_metric("bytes allocated", Metric::Bytes, |r| count(r, |m| m.bytes)),
    if_any(of_metric("bytes mapped", Metric::Mapped, |r| count(r, |m| m.mapped_bytes))),
    of_metric("peak", Metric::Peak, |r| count(r, |m| m.peak_bytes)),
    if_mapped(total("peak with mappings", "peak_with_mappings_bytes", Unit::Bytes, |r| {
        r.sums.peak_with_mappings().map(|peak| Estimate::exact(peak.bytes() as f64))
    })),
    if_mapped(total("reserved at that peak", "reserved_bytes", Unit::Bytes, |r| {
        let Reserved { bytes, error } = reserved::of_sums(r.recording, r.sums)?;
        Some(Estimate { value: bytes as f64, low: (bytes - error) as f64, high: bytes as f64 })
    })),
    of_metric("live at end", Metric::Live, |r| count(r, |m| m.live_bytes)),
    of_metric("temporary", Metric::Temporary, |r| count(r, |m| m.temporary)),
    of_metric("free of null", Metric::NullFrees, |r| count(r, |m| m.null_frees)),
    of_metric("page faults", Metric::Faults, |r| {
        if_seen(r, |sees| sees.faults, Some(Estimate::exact(Quantity::Faults.of(&r.sums.total))))
    }),
    of_metric("inside the allocator", Metric::Allocator, |r| time(r, |c| c.allocator)),
    of_metric("page faults' time", Metric::FaultTime, |r| if_seen(r, |sees| sees.faults, time(r, |c| c.faults))),
    of_metric("mappings", Metric::Mapping, |r| time(r, |c| c.mapping)),
    if_any(of_metric("waiting in the allocator", Metric::Waiting, |r| {
        if_seen(r, |sees| sees.switches, time(r, |c| c.waiting))
    })),
    if_any(of_metric("waiting for the disk", Metric::Reading, |r| {
        if_seen(r, |sees| sees.switches, time(r, |c| c.reading))
    })),
    of_metric("cost of memory", Metric::Cost, |r| time(r, CostEstimates::total)),
    if_any(total("processor time", "processor_ns", Unit::Time, |r| Balance::of_all(r.recording, r.sums).program())),
];

/// The totals that there are.
pub(super) fn totals(sides: &Sides) -> Vec<Total> {
    let value = |declared: &Declared| Total {
        name: declared.name,
        key: declared.key,
        unit: declared.unit,
        samples: sides.each_ref().map(|runs| runs.iter().map(declared.of).collect()),
    };
    let is_any = |total: &Total| total.samples.iter().flatten().flatten().any(|value| value.value > 0.0);
    let is_mapped = sides.iter().flatten().any(|run| run.sums.total.mapped_bytes > 0);
    let all = TOTALS.iter().map(|declared| (&declared.shown, value(declared)));
    let is_shown = |(shown, total): &(&Shown, Total)| match shown {
        Shown::Always => true,
        Shown::IfAny => is_any(total),
        Shown::IfMapped => is_mapped && is_any(total),
    };
    all.filter(is_shown).map(|(_, total)| total).collect()
}

impl Total {
    /// Both sides, if both are known.
    pub fn both(&self) -> Option<Samples> {
        let [before, after] = self.samples.each_ref().map(Option::as_ref);
        let (before, after) = (before?, after?);
        let errors = [before, after].into_iter().filter_map(|side| side.first());
        let values = |side: &[Estimate]| side.iter().map(|of| of.value).collect();
        Some(Samples {
            before: values(before),
            after: values(after),
            single_margin: errors.map(Estimate::margin).fold(0.0, f64::hypot),
        })
    }

    /// The mean of a side.
    pub fn mean(&self, side: usize) -> Option<f64> {
        let values = self.samples[side].as_ref()?;
        Some(values.iter().map(|of| of.value).sum::<f64>() / values.len() as f64)
    }
}
