//! What can be limited: every metric of the analysis that adds up, and what only whole processes have.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::figures::{self, Facts, Figure};
pub use memtoll_analysis::metric::Steadiness;
use memtoll_analysis::metric::{Metric as Counted, Place, Seen, TABLE};
use memtoll_text::format::Unit;

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

/// Something that can be limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// What call sites have.
    Sum(Counted),
    /// What only a run or a process has.
    Figure(Figure),
}

impl Metric {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Metric> {
        let sums = TABLE.iter().map(|about| about.metric).filter(|metric| metric.adds_up());
        sums.map(Metric::Sum).chain(figures::TABLE.iter().map(|about| Metric::Figure(about.figure)))
    }

    /// Those that are known of something.
    pub fn of_kind(kind: Kind) -> impl Iterator<Item = Metric> {
        Metric::all().filter(move |metric| metric.is_known_of(kind))
    }

    /// Its name in budget files and in JSON: that of the report's options.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Sum(counted) => counted.about().name,
            Metric::Figure(figure) => figure.about().name,
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Sum(counted) => counted.about().title,
            Metric::Figure(figure) => figure.about().title,
        }
    }

    /// What it is counted in.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Sum(counted) => counted.about().unit,
            Metric::Figure(figure) => figure.about().unit,
        }
    }

    /// How steady it is.
    pub fn steadiness(self) -> Steadiness {
        match self {
            Metric::Sum(counted) => counted.steadiness(),
            Metric::Figure(figure) => figure.about().steadiness,
        }
    }

    /// Whether it is known of such a thing.
    pub fn is_known_of(self, kind: Kind) -> bool {
        match (kind, self) {
            (Kind::Region, Metric::Sum(counted)) => counted.about().is_in(Place::Regions),
            (Kind::Region, Metric::Figure(_)) => false,
            (Kind::Run | Kind::Process | Kind::Test, _) | (_, Metric::Sum(_)) => true,
            (_, Metric::Figure(figure)) => figure.about().of_parts,
        }
    }

    /// Its value.
    /// The error is a sentence for the user.
    pub fn value(self, facts: &Facts) -> Result<Estimate, &'static str> {
        match self {
            Metric::Sum(counted) if !counted.is_known_of(facts.metrics, facts.tariff.sees()) => {
                Err(match counted.about().seen {
                    Seen::Frees => {
                        "an allocator inside the program hides frees from memtoll; memtoll report says which"
                    }
                    of @ (Seen::Pages | Seen::Units | Seen::Search) => of.why_not(),
                    _ => "the kernel did not show that to memtoll; memtoll doctor says why",
                })
            }
            Metric::Sum(counted) => Ok(facts.tariff.estimate(counted, facts.metrics)),
            Metric::Figure(figure) => figure.value(facts),
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
        assert!(Counted::shown_in(Place::Regions).all(|counted| keys.contains(counted.about().name)));
    }
}
