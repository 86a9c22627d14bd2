//! Memory that the allocator takes from the system and gives back, again and again.

use super::{Facts, Finding, Share, What, Whole};
use crate::beside::Beside;
use crate::sums::Sums;
use serde::Serialize;

/// Smaller ones are not worth a sentence. Bytes.
const LEAST: u64 = 1 << 20;
const MOST: usize = 3;

/// The allocator takes memory from the system and gives it back, again and again.
#[derive(Clone, Debug, Serialize)]
pub struct TakenAgain {
    /// What it took in calls of the line, bytes.
    pub bytes: u64,
    /// Calls among them.
    pub calls: u64,
}

pub(super) fn find(facts: &Facts) -> Vec<Finding> {
    if !is_taken_again(facts.sums) {
        return Vec::new();
    }
    let all = facts.sums.images.iter().map(|image| image.beside.grown_bytes).fold(0, u64::saturating_add);
    // A tenth of it is worth a sentence.
    let rows = facts.largest(|row| row.metrics.grown_bytes);
    let rows = rows.into_iter().filter(|row| row.metrics.grown_bytes >= (all / 10).max(LEAST)).take(MOST);
    rows.map(|row| {
        Finding::new(
            What::TakenAgain(TakenAgain { bytes: row.metrics.grown_bytes, calls: row.metrics.grown_calls }),
            Some(row.clone()),
            Share::new(row.metrics.grown_bytes as f64, all as f64, Whole::TakenFromSystem),
        )
    })
    .collect()
}

/// The allocator took much more from the system than was ever live, and gave it back in between.
fn is_taken_again(sums: &Sums) -> bool {
    let mut all = Beside::default();
    sums.images.iter().for_each(|image| all.add(&image.beside));
    let peaks = sums.images.iter().map(|image| image.total.peak_bytes).fold(0, u64::saturating_add);
    all.shrunk_calls >= 10 && all.shrunk_bytes >= all.grown_bytes / 2 && all.grown_bytes / 4 >= peaks.max(LEAST)
}
