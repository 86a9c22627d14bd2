//! The intervals of numbers, as output has them.

use crate::estimate::Estimate;
use crate::metric::{Metric, TABLE};
use crate::priced::Priced;
use crate::tariff::Tariff;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Where the true number is in 95 of 100 recordings, in its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: i64,
    /// Upper end.
    pub high: i64,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Interval {
        Interval { low: estimate.low.round() as i64, high: estimate.high.round() as i64 }
    }
}

impl Interval {
    pub fn around(self, value: f64) -> Estimate {
        Estimate { value, low: self.low as f64, high: self.high as f64 }
    }
}

/// The intervals of metrics. In JSON, each has the name that the metric has there: those that are never exact in any case,
/// `null` if the kernel did not show them, the others if they have a width here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals(Vec<(Metric, Option<Estimate>)>);

impl Intervals {
    /// Of all metrics, in the order of the table.
    pub fn of_all(all: &[Option<Estimate>]) -> Intervals {
        let shown = |(about, estimate): (&crate::metric::About, &Option<Estimate>)| {
            let has_width = estimate.is_some_and(|estimate| !estimate.is_exact());
            (about.metric.is_estimated() || has_width).then_some((about.metric, *estimate))
        };
        Intervals(TABLE.iter().zip(all).filter_map(shown).collect())
    }

    pub fn of(of: &Priced, tariff: &Tariff) -> Intervals {
        Intervals::of_all(&tariff.all_estimates(of))
    }

    /// `value` of a metric, with its interval if that is known.
    pub fn around(&self, metric: Metric, value: f64) -> Estimate {
        self.get(metric).map_or(Estimate::exact(value), |interval| interval.around(value))
    }

    /// The interval of a metric; `None` if the metric is exact or not known.
    pub fn get(&self, metric: Metric) -> Option<Interval> {
        self.0.iter().find(|(of, _)| *of == metric)?.1.map(Interval::from)
    }
}

impl Serialize for Intervals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (metric, estimate) in &self.0 {
            map.serialize_entry(metric.about().key, &estimate.map(Interval::from))?;
        }
        map.end()
    }
}
