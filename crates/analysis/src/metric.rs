//! Metrics; `memtoll-metrics` has the list of them.

pub use memtoll_metrics::{
    About, Metric, Place, Price, Seen, Sees, Steadiness, TABLE, Together, Unit, all_in, number_in,
};
