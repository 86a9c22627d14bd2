//! What another allocator, or a tunable, saves in the program itself, as far as a replay can tell: a prediction that
//! `memtoll verify` can check.
//!
//! ```text
//! saving = what the replay saves x (how much longer the allocator takes in the program than in the replay)
//!          - what loading the allocator takes
//! ```
//!
//! In the program, the caches are colder, for one allocator as for the other. How much each suffers is not known, so the
//! range begins at what the replay itself saves. And where blocks lie changes how fast the program itself runs: with an
//! allocator that puts no headers between them, rather faster.

use super::contest::{Figure, Outcome};
use super::fidelity::Recorded;
use super::prepare::Counts;
use crate::prediction::Range;

/// By how much the program's own work may change, as a share of what the allocator takes: blocks lie elsewhere.
const PLACEMENT: f64 = 0.1;
/// By how much it may become faster with another allocator: those in use have no header in each block, so more blocks lie in
/// a cache line. A guess: of six pairs of a program and an allocator, five saved more than was likely.
const DENSER: f64 = 0.35;
/// The same for page faults.
const FAULTS: f64 = 0.1;

/// What is saved.
pub struct Expected {
    /// CPU time, ns.
    pub cpu: Range,
    /// Page faults.
    pub faults: Range,
    /// The largest resident set, bytes; nothing if the player's own is not known.
    pub peak: Option<Range>,
}

/// Allocators that give memory back after a while, which a replay without pauses does not leave them.
const PURGES_LATER: [&str; 2] = ["jemalloc", "mimalloc"];

/// What is saved of the largest resident set, bytes. A replay knows one order of events: how much is live at once in the
/// program depends on which threads meet, and on what is given back in the pauses between.
fn peak(counts: &Counts, pace: Option<f64>, first: &Outcome, other: &Outcome) -> Option<Range> {
    let more = other.beyond(first, Figure::Peak)?;
    let at_once = counts.thread_peaks_bytes.saturating_sub(counts.peak_bytes) as f64;
    let purges = PURGES_LATER.iter().any(|name| other.contestant.name.contains(name)) && pace != Some(1.0);
    let given_back = match purges {
        true => (other.of(Figure::Peak)?.median - counts.peak_bytes as f64).max(0.0),
        false => 0.0,
    };
    Some(Range { low: -more.high - at_once, likely: -more.median, high: -more.low + at_once + given_back })
}

/// What `other` saves, if it plays the same calls as `first`, which is what was recorded. `counts` are of these calls, `pace`
/// is that of the replay.
pub fn expected(
    recorded: &Recorded,
    counts: &Counts,
    pace: Option<f64>,
    first: &Outcome,
    other: &Outcome,
) -> Option<Expected> {
    if other.contestant.script != first.contestant.script || other.contestant.settings.is_empty() {
        return None;
    }
    let (start, start_faults) = other.start_beyond(first)?;
    let more = other.beyond(first, Figure::Cpu)?;
    let replayed = first.of(Figure::Cpu)?.median;
    let colder = if replayed > 0.0 { recorded.time.value / replayed } else { 1.0 };
    let is_library = other.contestant.settings.iter().any(|setting| setting.library().is_some());
    let placement = recorded.time.value * PLACEMENT;
    let ends = [more.low, more.high].into_iter().flat_map(|end| [-end, -end * colder]);
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
    let cpu = Range {
        low: low - placement - start.high,
        likely: -more.median * colder - start.median,
        high: high + recorded.time.value * if is_library { DENSER } else { PLACEMENT } - start.low,
    };
    let more = other.beyond(first, Figure::Faults)?;
    let unsure = first.of(Figure::Faults)?.median.abs() * FAULTS;
    let faults = Range {
        low: -more.high - start_faults.high - unsure,
        likely: -more.median - start_faults.median,
        high: -more.low - start_faults.low + unsure,
    };
    Some(Expected { cpu, faults, peak: peak(counts, pace, first, other) })
}
