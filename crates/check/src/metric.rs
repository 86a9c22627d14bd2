//! What can be limited: every metric of the analysis that adds up, and what only whole processes have.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::{Metric as Counted, TABLE};
use memtoll_analysis::priced::Priced;
use memtoll_analysis::reserved::Reserved;
use memtoll_analysis::tariff::Tariff;
use memtoll_text::format::Unit;
use memtoll_trace::meta::Resident;

/// What a limit is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Everything that was recorded.
    Run,
    /// The lines of a function.
    Function,
    /// Blocks of a type.
    Type,
    /// What happened between two marks.
    Mark,
    /// Each run of a region.
    Region,
    /// A process.
    Process,
    /// A test, run alone: `memtoll check --each-test`.
    Test,
}

impl Kind {
    /// All of them, in the order of reports.
    pub const ALL: [Kind; 7] =
        [Kind::Run, Kind::Function, Kind::Type, Kind::Mark, Kind::Region, Kind::Process, Kind::Test];

    /// The name of its table in a budget file.
    pub fn key(self) -> &'static str {
        match self {
            Kind::Run => "run",
            Kind::Function => "function",
            Kind::Type => "type",
            Kind::Mark => "mark",
            Kind::Region => "region",
            Kind::Process => "process",
            Kind::Test => "test",
        }
    }
}

/// What a metric is computed from.
pub struct Facts<'a> {
    /// The sums.
    pub metrics: &'a Priced,
    /// Prices of the recording.
    pub tariff: &'a Tariff,
    /// Processor time of the whole that shares are of, ns.
    pub processor: Option<f64>,
    /// The largest resident set, where it is known.
    pub resident: Option<Resident>,
    /// What was only reserved, where it is known.
    pub reserved: Option<Reserved>,
}

/// How a value differs from one run of a program to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steadiness {
    /// Not at all, where the program does the same: the recorder counts every call.
    Counted,
    /// A little: pages come and go with what else the machine does.
    Faults,
    /// A lot.
    Timed,
}

/// Something that can be limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// What call sites have.
    Sum(Counted),
    /// The allocator's part of the processor time.
    AllocatorShare,
    /// The largest resident set: of a run, of all its processes at one instant.
    ResidentPeak,
    /// Memory that was only reserved at the peak with mappings.
    Reserved,
}

/// What a run of a region knows of itself.
const OF_REGIONS: [Counted; 8] = [
    Counted::Allocations,
    Counted::Bytes,
    Counted::Cost,
    Counted::Allocator,
    Counted::Faults,
    Counted::MinorFaults,
    Counted::Mapping,
    Counted::Waiting,
];

impl Metric {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Metric> {
        let sums = TABLE.iter().map(|about| about.metric).filter(|metric| metric.adds_up() || *metric == Counted::Peak);
        sums.map(Metric::Sum).chain([Metric::AllocatorShare, Metric::ResidentPeak, Metric::Reserved])
    }

    /// Those that are known of something.
    pub fn of_kind(kind: Kind) -> impl Iterator<Item = Metric> {
        Metric::all().filter(move |metric| metric.is_known_of(kind))
    }

    /// Its name in budget files and in JSON: that of the report's options.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Sum(counted) => counted.about().name,
            Metric::AllocatorShare => "allocator-share",
            Metric::ResidentPeak => "resident-peak",
            Metric::Reserved => "reserved",
        }
    }

    /// What a reader is told that it is.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Sum(counted) => counted.about().title,
            Metric::AllocatorShare => "share of the CPU time that the allocator takes",
            Metric::ResidentPeak => "largest resident set",
            Metric::Reserved => "memory that is only reserved",
        }
    }

    /// What it is counted in.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Sum(counted) => counted.about().unit,
            Metric::AllocatorShare => Unit::Share,
            Metric::ResidentPeak | Metric::Reserved => Unit::Bytes,
        }
    }

    /// How steady it is.
    pub fn steadiness(self) -> Steadiness {
        match self {
            Metric::Sum(Counted::Touched) | Metric::ResidentPeak | Metric::Reserved => Steadiness::Faults,
            Metric::Sum(counted) if counted.about().unit == Unit::Time => Steadiness::Timed,
            Metric::Sum(counted) if counted.about().seen == memtoll_analysis::metric::Seen::Faults => {
                Steadiness::Faults
            }
            Metric::Sum(_) => Steadiness::Counted,
            Metric::AllocatorShare => Steadiness::Timed,
        }
    }

    /// Whether it is known of such a thing.
    pub fn is_known_of(self, kind: Kind) -> bool {
        match (kind, self) {
            (Kind::Region, Metric::Sum(counted)) => OF_REGIONS.contains(&counted),
            (Kind::Region, _) => false,
            (Kind::Run | Kind::Process | Kind::Test, _) => true,
            (_, metric) => !matches!(metric, Metric::ResidentPeak | Metric::Reserved),
        }
    }

    /// Its value.
    ///
    /// # Errors
    /// It is not known: a statement for the user.
    pub fn value(self, facts: &Facts) -> Result<Estimate, &'static str> {
        let Facts { metrics, tariff, processor, resident, reserved } = facts;
        match self {
            Metric::Sum(counted) if !counted.is_known(tariff.sees()) => {
                Err("the kernel did not show that to memtoll; memtoll doctor says why")
            }
            Metric::Sum(Counted::Allocator) => Ok(tariff.allocator(metrics)),
            Metric::Sum(Counted::Mapping) => Ok(tariff.mapping(metrics)),
            Metric::Sum(Counted::FaultTime) => Ok(tariff.faults_of(metrics)),
            Metric::Sum(Counted::Cost) => Ok(tariff.cost(metrics)),
            Metric::Sum(counted) => Ok(Estimate::exact(counted.value(metrics) as f64)),
            Metric::AllocatorShare => {
                let whole = processor.filter(|whole| *whole > 0.0).ok_or("the processor time is not known")?;
                Ok(tariff.allocator(metrics).scaled(1.0 / whole))
            }
            Metric::ResidentPeak => {
                let resident = resident.ok_or("the largest resident set is not known")?;
                Ok(Estimate::exact(resident.program as f64).give_or_take(resident.error as f64))
            }
            Metric::Reserved => {
                let Reserved { bytes, error } = reserved.ok_or("known for single processes only")?;
                Ok(Estimate { value: bytes as f64, low: (bytes - error) as f64, high: bytes as f64 })
            }
        }
    }
}

/// The metric with this name.
pub fn by_key(key: &str) -> Option<Metric> {
    Metric::all().find(|metric| metric.key() == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_metric_has_a_name_of_its_own() {
        let keys: BTreeSet<&str> = Metric::all().map(Metric::key).collect();
        assert_eq!(keys.len(), Metric::all().count());
        for key in ["allocations", "bytes", "peak", "live", "temporary", "faults", "allocator", "waiting", "cost"] {
            assert!(keys.contains(key), "{key}: {keys:?}");
        }
        assert!(OF_REGIONS.iter().all(|counted| keys.contains(counted.about().name)));
    }
}
