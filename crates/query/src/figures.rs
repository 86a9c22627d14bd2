//! The metrics of anything, for scripts: names and order are those of the table of metrics.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::figures::{self, Facts, Figure};
use memtoll_analysis::intervals::{Interval, Intervals};
use memtoll_analysis::metric::{Metric, TABLE, Unit};
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tariff::Tariff;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The metrics of a row, a process or the whole, each with its error. In JSON, each has the name that the table gives it, and
/// `intervals` has those of estimates. What the kernel did not show is `null`.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures(Vec<Option<Estimate>>);

impl Figures {
    pub fn new(of: &Priced, tariff: &Tariff) -> Figures {
        Figures(tariff.all_estimates(of))
    }

    /// The value of a metric with its error, in its unit; `None` if it is not known.
    pub fn estimate(&self, metric: Metric) -> Option<Estimate> {
        self.0[metric as usize]
    }

    /// The value of a metric alone, in its unit; `None` if it is not known.
    pub fn of(&self, metric: Metric) -> Option<u64> {
        self.estimate(metric).map(|estimate| estimate.value.round() as u64)
    }

    /// The interval of a metric; `None` if it is not known. An exact one has no width.
    pub fn interval(&self, metric: Metric) -> Option<Interval> {
        self.estimate(metric).map(Interval::from)
    }

    pub fn intervals(&self) -> Intervals {
        Intervals::of_all(&self.0)
    }
}

/// The metrics that have intervals in some of these, in the order of the table: those that are never exact, and those that were
/// sampled.
pub fn with_intervals<'f>(of: impl IntoIterator<Item = &'f Figures>) -> Vec<Metric> {
    let mut has: Vec<bool> = TABLE.iter().map(|about| about.metric.is_estimated()).collect();
    for figures in of {
        has.iter_mut().zip(&figures.0).for_each(|(has, of)| *has |= of.is_some_and(|of| !of.is_exact()));
    }
    TABLE.iter().zip(has).filter_map(|(about, has)| has.then_some(about.metric)).collect()
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(TABLE.len() + 1))?;
        for about in TABLE {
            map.serialize_entry(about.key, &self.of(about.metric))?;
        }
        map.serialize_entry("intervals", &self.intervals())?;
        map.end()
    }
}

/// The figures of a run or a process. In JSON, each has the name that their table gives it. What is not known is `null`.
#[derive(Clone, PartialEq, Debug)]
pub struct RunFigures([Option<Estimate>; figures::TABLE.len()]);

impl RunFigures {
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
