//! What a comparison says of a finding, as a recording keeps it.

use crate::comparison::Comparison;
use crate::metric::Metric;
use crate::prediction::Verdict;
use memtoll_trace::meta::{Saved, Verified};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the change saved that the finding with this id asks for.
pub fn verified(comparison: &Comparison, finding: &str) -> Verified {
    let saved = |metric: Metric| {
        let saved = comparison.rows.iter().find(|row| row.metric == metric)?.saved?;
        Some(Saved { median: saved.median, low: saved.low, high: saved.high })
    };
    let [before, after] = comparison.commands.clone();
    Verified {
        finding: finding.to_owned(),
        measured: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64),
        commands: (before, after),
        rounds: comparison.rounds as u64,
        confidence: comparison.confidence,
        cpu_ns: saved(Metric::Cpu),
        wall_ns: saved(Metric::Wall),
        faults: saved(Metric::Faults),
        resident_peak_bytes: saved(Metric::ResidentPeak),
        resident_end_bytes: saved(Metric::ResidentEnd),
        as_predicted: match comparison.verdict() {
            Some(Verdict::Inside) => Some(true),
            Some(Verdict::Outside) => Some(false),
            Some(Verdict::CannotSay | Verdict::NotMeasured) | None => None,
        },
    }
}
