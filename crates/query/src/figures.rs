//! The metrics of anything, for scripts: names and order are those of the table of metrics.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::figures::{self, Facts, Figure};
use memtoll_analysis::intervals::CostIntervals;
use memtoll_analysis::metric::{Metric, TABLE, Unit};
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tariff::Tariff;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The metrics of a row, a process or the whole. In JSON, each has the name that the table gives it, and `intervals` has
/// those of the estimates. What the kernel did not show is `null`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    values: Vec<Option<u64>>,
    /// The intervals of estimates.
    pub intervals: CostIntervals,
}

impl Figures {
    /// Of what was priced by `tariff`.
    pub fn new(of: &Priced, tariff: &Tariff) -> Figures {
        let sees = tariff.sees();
        Figures {
            values: TABLE.iter().map(|about| about.metric.known(of, sees)).collect(),
            intervals: CostIntervals::of(of, tariff),
        }
    }

    /// The value of a metric, in its unit; `None` if it is not known.
    pub fn of(&self, metric: Metric) -> Option<u64> {
        self.values[metric as usize]
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(TABLE.len() + 1))?;
        for (about, value) in TABLE.iter().zip(&self.values) {
            map.serialize_entry(about.key, value)?;
        }
        map.serialize_entry("intervals", &self.intervals)?;
        map.end()
    }
}

/// The figures of a run or a process. In JSON, each has the name that their table gives it. What is not known is `null`.
#[derive(Clone, PartialEq, Debug)]
pub struct RunFigures([Option<Estimate>; figures::TABLE.len()]);

impl RunFigures {
    /// Of these facts.
    pub fn new(facts: &Facts) -> RunFigures {
        RunFigures(figures::TABLE.each_ref().map(|about| about.figure.value(facts).ok()))
    }

    /// One of them.
    pub fn of(&self, figure: Figure) -> Option<Estimate> {
        self.0[figure as usize]
    }
}

impl Serialize for RunFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(figures::TABLE.len()))?;
        for (about, value) in figures::TABLE.iter().zip(&self.0) {
            match about.unit {
                Unit::Share => map.serialize_entry(about.key, &value.map(|share| share.value))?,
                Unit::Count | Unit::Bytes | Unit::Time => {
                    map.serialize_entry(about.key, &value.map(|whole| whole.value.round() as u64))?;
                }
            }
        }
        map.end()
    }
}
