//! What a row of a store counts: the one list from which tables, statements and output come. Names and units are those of
//! the table of metrics.

use crate::error::Error;
use memtoll_analysis::metric::{Metric, Place, Seen, Together, all_in, number_in};

/// The metrics that a row has, in the order of its columns. Each metric more is a column of all call stacks of all runs.
pub const METRICS: [Metric; number_in(Place::Fleet)] = all_in(Place::Fleet);

/// The name of a metric's column.
pub fn name(metric: Metric) -> &'static str {
    metric.about().key
}

/// The metric that an option calls so.
pub fn named(option: &str) -> Result<Metric, Error> {
    METRICS.into_iter().find(|metric| metric.about().name == option).ok_or_else(|| {
        let names: Vec<&str> = METRICS.iter().map(|metric| metric.about().name).collect();
        Error::Question(format!("a store has no metric \"{option}\"; it has {}", names.join(", ")))
    })
}

/// The column of a run that says whether the metric is known of it, if it is not known of all.
pub fn seen(metric: Metric) -> Option<&'static str> {
    match metric.about().seen {
        // No store keeps what lies in memory at the end, or what a search found lost: the table of metrics sees to that.
        Seen::Calls | Seen::Stamps | Seen::Pages | Seen::Units => None,
        Seen::Frees | Seen::Search => Some("sees_frees"),
        Seen::Faults => Some("sees_faults"),
        Seen::Switches => Some("sees_switches"),
    }
}

/// Whether the largest window counts, and not the sum of all.
pub fn is_largest_of_windows(metric: Metric) -> bool {
    metric.about().together != Together::Sum
}
