//! What changes saved that the advice asks for.

use serde::{Deserialize, Serialize};

/// A change that was made for a finding of the advice, measured without the recorder by `memtoll verify`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Verified {
    /// The finding's id.
    pub finding: String,
    /// When that was measured: nanoseconds since 1970, UTC.
    pub measured: u64,
    /// What ran before the change, and after it.
    pub commands: (String, String),
    /// How often each of them ran.
    pub rounds: u64,
    /// How sure the intervals are, from 0 to 1.
    pub confidence: f64,
    /// CPU time that the change saved in a run, ns.
    pub cpu_ns: Option<Saved>,
    /// Time from start to end, ns.
    pub wall_ns: Option<Saved>,
    /// Page faults.
    pub faults: Option<Saved>,
    /// The largest resident set, bytes.
    pub resident_peak_bytes: Option<Saved>,
    /// The resident set at the end, bytes.
    pub resident_end_bytes: Option<Saved>,
    /// Whether all of that is as predicted; null: it is not known well enough.
    pub as_predicted: Option<bool>,
}

/// A saving; a loss is less than 0.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
pub struct Saved {
    /// The median of all rounds.
    pub median: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
