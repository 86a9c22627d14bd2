//! What was counted, with what it cost.

pub use memtoll_metrics::Priced;
