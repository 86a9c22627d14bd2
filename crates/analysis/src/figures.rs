//! The one table of figures that no call site has a part of: of whole runs and processes. JSON, limits, stores and the totals of
//! differences come from it: a new figure is a new entry here.

use crate::balance::Balance;
use crate::estimate::Estimate;
use crate::metric::{Metric, Steadiness, Unit};
use crate::priced::Priced;
use crate::reserved::{self, Reserved};
use crate::resident;
use crate::sums::Sums;
use crate::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::meta::{GiveOrTake, Resident};
use memtoll_trace::summary::PeakWithMappings;

/// What figures are computed from. What is not known of something is missing.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The sums.
    pub metrics: &'a Priced,
    /// Prices of the recording.
    pub tariff: &'a Tariff,
    /// CPU time of the program, ns.
    pub processor: Option<Estimate>,
    /// The largest resident set.
    pub resident: Option<Resident>,
    /// The highest sum of blocks and the program's own mappings.
    pub with_mappings: Option<PeakWithMappings>,
    /// What was only reserved then.
    pub reserved: Option<Reserved>,
}

impl<'a> Facts<'a> {
    /// Of all that was added up: a run, or a part of it.
    pub fn of(recording: &Recording, sums: &'a Sums, tariff: &'a Tariff) -> Facts<'a> {
        Facts {
            metrics: &sums.total,
            tariff,
            processor: Balance::of_all(recording, sums).program(),
            resident: resident::together(recording, sums),
            with_mappings: sums.peak_with_mappings(),
            reserved: reserved::of_sums(recording, sums),
        }
    }

    /// Of the image with this index, for as long as it was added up.
    pub fn of_image(recording: &Recording, sums: &'a Sums, index: usize, tariff: &'a Tariff) -> Option<Facts<'a>> {
        let image = sums.images.get(index)?;
        Some(Facts {
            metrics: &image.total,
            tariff,
            processor: Balance::of_image(recording, sums, index).and_then(|balance| balance.program()),
            resident: resident::of_image(recording, index).filter(|_| !sums.is_part()),
            with_mappings: image.peak_with_mappings,
            reserved: image.peak_with_mappings.map(|peak| reserved::at(recording, index, &peak)),
        })
    }

    /// Of some call sites, which have no processes of their own.
    pub fn of_sites(metrics: &'a Priced, tariff: &'a Tariff, processor: Option<Estimate>) -> Facts<'a> {
        Facts { metrics, tariff, processor, resident: None, with_mappings: None, reserved: None }
    }
}

/// What is known of a figure.
#[derive(Debug)]
pub struct About {
    /// Which one.
    pub figure: Figure,
    /// What budgets call it.
    pub name: &'static str,
    /// What JSON and a store call it: its name with its unit.
    pub key: &'static str,
    /// Its name for people.
    pub title: &'static str,
    pub unit: Unit,
    /// How steady it is.
    pub steadiness: Steadiness,
    /// Whether parts of a process have it, too: functions, types, spans of time.
    pub of_parts: bool,
    /// What its lines are known by, if they have no part of the figure itself.
    pub lines: Option<Metric>,
    /// Whether `memtoll budget` limits it.
    pub in_budget: bool,
    /// Whether a store keeps it of each run.
    pub is_kept: bool,
    /// When `memtoll diff` has it among the totals.
    pub in_totals: Totals,
    /// Why it is not known, where it is not.
    unknown: &'static str,
    value: fn(&Facts) -> Option<Estimate>,
}

/// When a difference of runs has a figure among its totals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Totals {
    Never,
    /// If a recording has some of it.
    IfAny,
    /// If a program has mappings of its own, too.
    IfMapped,
}

/// A figure of whole runs and processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Figure {
    /// The largest resident set: of a run, of all its processes at one instant.
    ResidentPeak,
    /// The resident set when the program ended.
    ResidentAtEnd,
    /// The highest sum of live blocks and the program's own mappings.
    PeakWithMappings,
    /// Memory that was only reserved then.
    Reserved,
    /// CPU time of the program.
    Program,
    /// The allocator's part of it.
    AllocatorShare,
}

/// All figures, in the order in which JSON and stores have them.
pub const TABLE: [About; 6] = [
    About {
        figure: Figure::ResidentPeak,
        name: "resident-peak",
        key: "resident_peak_bytes",
        title: "largest resident set",
        unit: Unit::Bytes,
        steadiness: Steadiness::Faults,
        of_parts: false,
        lines: Some(Metric::Faults),
        in_budget: true,
        is_kept: true,
        in_totals: Totals::Never,
        unknown: "the largest resident set is not known",
        value: |facts| {
            let Resident { program, error, .. } = facts.resident?;
            Some(Estimate::exact(program as f64).give_or_take(error as f64))
        },
    },
    About {
        figure: Figure::ResidentAtEnd,
        name: "resident-at-end",
        key: "resident_at_end_bytes",
        title: "resident set at the end",
        unit: Unit::Bytes,
        steadiness: Steadiness::Faults,
        of_parts: false,
        lines: Some(Metric::Live),
        in_budget: false,
        is_kept: false,
        in_totals: Totals::Never,
        unknown: "the resident set at the end is not known",
        value: |facts| {
            let GiveOrTake { bytes, error } = facts.resident?.at_end?;
            Some(Estimate::exact(bytes as f64).give_or_take(error as f64))
        },
    },
    About {
        figure: Figure::PeakWithMappings,
        name: "peak-with-mappings",
        key: "peak_with_mappings_bytes",
        title: "peak with mappings",
        unit: Unit::Bytes,
        steadiness: Steadiness::Faults,
        of_parts: false,
        lines: Some(Metric::Peak),
        in_budget: false,
        is_kept: false,
        in_totals: Totals::IfMapped,
        unknown: "known for single processes only",
        value: |facts| facts.with_mappings.map(|peak| Estimate::exact(peak.bytes() as f64)),
    },
    About {
        figure: Figure::Reserved,
        name: "reserved",
        key: "reserved_bytes",
        title: "memory that is only reserved",
        unit: Unit::Bytes,
        steadiness: Steadiness::Faults,
        of_parts: false,
        lines: Some(Metric::Mapped),
        in_budget: false,
        is_kept: true,
        in_totals: Totals::IfMapped,
        unknown: "known for single processes only",
        value: |facts| {
            let Reserved { bytes, error } = facts.reserved?;
            Some(Estimate { value: bytes as f64, low: (bytes - error) as f64, high: bytes as f64 })
        },
    },
    About {
        figure: Figure::Program,
        name: "program",
        key: "program_ns",
        title: "CPU time",
        unit: Unit::Time,
        steadiness: Steadiness::Timed,
        of_parts: false,
        lines: Some(Metric::Cost),
        in_budget: false,
        is_kept: false,
        in_totals: Totals::IfAny,
        unknown: "the CPU time is not known",
        value: |facts| facts.processor,
    },
    About {
        figure: Figure::AllocatorShare,
        name: "allocator-share",
        key: "allocator_share",
        title: "share of the CPU time that the allocator takes",
        unit: Unit::Share,
        steadiness: Steadiness::Timed,
        of_parts: true,
        lines: None,
        in_budget: true,
        is_kept: false,
        in_totals: Totals::Never,
        unknown: "the CPU time is not known",
        value: |facts| {
            let whole = facts.processor.filter(|whole| whole.value > 0.0)?;
            Some(facts.tariff.allocator(facts.metrics).scaled(1.0 / whole.value))
        },
    },
];

impl Figure {
    /// What is known of it.
    pub const fn about(self) -> &'static About {
        &TABLE[self as usize]
    }

    /// The one that budgets call so.
    pub fn named(name: &str) -> Option<Figure> {
        TABLE.iter().find(|about| about.name == name).map(|about| about.figure)
    }

    /// Its value, in its unit.
    /// The error is a sentence for the user.
    pub fn value(self, of: &Facts) -> Result<Estimate, &'static str> {
        let about = self.about();
        (about.value)(of).ok_or(about.unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric;

    #[test]
    fn each_figure_is_where_its_number_says_and_has_names_of_its_own() {
        for (index, about) in TABLE.iter().enumerate() {
            assert_eq!(about.figure as usize, index);
            assert_eq!(Figure::named(about.name), Some(about.figure));
            assert_eq!(about.key, about.name.replace('-', "_") + about.unit.in_keys());
            assert!(
                metric::TABLE.iter().all(|metric| metric.name != about.name && metric.key != about.key),
                "{about:?}"
            );
        }
    }
}
