//! Numbers with their errors; `memtoll-metrics` has them.

pub use memtoll_metrics::Estimate;
