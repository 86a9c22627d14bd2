//! The totals of both sides.

use memtoll_analysis::balance::Balance;
use memtoll_analysis::diff::{Quantity, Run, Samples, Sides};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Unit;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::reserved::{self, Reserved};
use memtoll_analysis::tariff::{CostEstimates, Sees};

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

const fn if_any(declared: Declared) -> Declared {
    Declared { shown: Shown::IfAny, ..declared }
}

const fn if_mapped(declared: Declared) -> Declared {
    Declared { shown: Shown::IfMapped, ..declared }
}

const TOTALS: [Declared; 18] = [
    total("allocations", "allocations", Unit::Count, |r| count(r, |m| m.allocations)),
    total("reallocations", "reallocations", Unit::Count, |r| count(r, |m| m.reallocations)),
    total("bytes allocated", "bytes_allocated", Unit::Bytes, |r| count(r, |m| m.bytes_allocated)),
    if_any(total("bytes mapped", "mapped_bytes", Unit::Bytes, |r| count(r, |m| m.mapped_bytes))),
    total("peak", "peak_bytes", Unit::Bytes, |r| count(r, |m| m.peak_bytes)),
    if_mapped(total("peak with mappings", "peak_with_mappings_bytes", Unit::Bytes, |r| {
        r.sums.peak_with_mappings().map(|peak| Estimate::exact(peak.bytes() as f64))
    })),
    if_mapped(total("reserved at that peak", "reserved_bytes", Unit::Bytes, |r| {
        let Reserved { bytes, error } = reserved::of_sums(r.recording, r.sums)?;
        Some(Estimate { value: bytes as f64, low: (bytes - error) as f64, high: bytes as f64 })
    })),
    total("live at end", "live_bytes_at_end", Unit::Bytes, |r| count(r, |m| m.live_bytes)),
    total("temporary", "temporary_allocations", Unit::Count, |r| count(r, |m| m.temporary)),
    total("free of null", "free_null_calls", Unit::Count, |r| count(r, |m| m.free_null_calls)),
    total("page faults", "all_faults", Unit::Count, |r| {
        if_seen(r, |sees| sees.faults, Some(Estimate::exact(Quantity::Faults.of(&r.sums.total))))
    }),
    total("inside the allocator", "allocator_ns", Unit::Time, |r| time(r, |c| c.allocator)),
    total("page faults' time", "fault_ns", Unit::Time, |r| if_seen(r, |sees| sees.faults, time(r, |c| c.faults))),
    total("mappings", "mapping_ns", Unit::Time, |r| time(r, |c| c.mapping)),
    if_any(total("waiting in the allocator", "waiting_ns", Unit::Time, |r| {
        if_seen(r, |sees| sees.switches, time(r, |c| c.waiting))
    })),
    if_any(total("waiting for the disk", "reading_ns", Unit::Time, |r| {
        if_seen(r, |sees| sees.switches, time(r, |c| c.reading))
    })),
    total("cost of memory", "cost_ns", Unit::Time, |r| time(r, CostEstimates::total)),
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
