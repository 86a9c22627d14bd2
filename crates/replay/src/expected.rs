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

use crate::contest::{Figure, Outcome};
use crate::fidelity::Recorded;
use memtoll_verify::prediction::Range;

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
}

/// What `other` saves, if it plays the same calls as `first`, which is what was recorded.
pub fn expected(recorded: &Recorded, first: &Outcome, other: &Outcome) -> Option<Expected> {
    if other.contestant.script != first.contestant.script || other.contestant.variables.is_empty() {
        return None;
    }
    let (start, start_faults) = other.start_beyond(first)?;
    let more = other.beyond(first, Figure::Cpu)?;
    let replayed = first.of(Figure::Cpu)?.median;
    let colder = if replayed > 0.0 { recorded.time.value / replayed } else { 1.0 };
    let is_library = other.contestant.variables.iter().any(|(name, _)| name == "LD_PRELOAD");
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
    Some(Expected { cpu, faults })
}
