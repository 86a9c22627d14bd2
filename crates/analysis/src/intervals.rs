//! The intervals of costs, as output has them.

use crate::estimate::Estimate;
use crate::priced::Priced;
use crate::tariff::Tariff;
use serde::Serialize;

/// Where the true time is in 95 of 100 recordings, ns.
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
    /// The estimate of which it is the interval.
    pub fn around(self, value: f64) -> Estimate {
        Estimate { value, low: self.low as f64, high: self.high as f64 }
    }
}

/// The intervals of times, under the names that these have in JSON; `None` of what the kernel did not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CostIntervals {
    /// The allocator's own work.
    pub allocator_ns: Interval,
    /// Page faults, zeroing included.
    pub fault_time_ns: Option<Interval>,
    /// Zeroing.
    pub zeroing_ns: Option<Interval>,
    /// Work on mappings.
    pub mapping_ns: Interval,
    /// Waiting in the allocator.
    pub waiting_ns: Option<Interval>,
    /// Waiting for the disk.
    pub reading_ns: Option<Interval>,
    /// All of it.
    pub cost_ns: Interval,
}

impl CostIntervals {
    /// All, by the names of their times.
    pub fn named(&self) -> [(&'static str, Option<Interval>); 7] {
        [
            ("allocator_ns", Some(self.allocator_ns)),
            ("fault_time_ns", self.fault_time_ns),
            ("zeroing_ns", self.zeroing_ns),
            ("mapping_ns", Some(self.mapping_ns)),
            ("waiting_ns", self.waiting_ns),
            ("reading_ns", self.reading_ns),
            ("cost_ns", Some(self.cost_ns)),
        ]
    }

    /// Of what was priced by `tariff`.
    pub fn of(of: &Priced, tariff: &Tariff) -> CostIntervals {
        let (costs, sees) = (tariff.estimates(of), tariff.sees());
        let if_seen = |seen: bool, time: Estimate| seen.then(|| Interval::from(time));
        CostIntervals {
            allocator_ns: costs.allocator.into(),
            fault_time_ns: if_seen(sees.faults, costs.faults),
            zeroing_ns: if_seen(sees.faults, costs.zeroing),
            mapping_ns: costs.mapping.into(),
            waiting_ns: if_seen(sees.switches, costs.waiting),
            reading_ns: if_seen(sees.switches, costs.reading),
            cost_ns: costs.total().into(),
        }
    }
}
