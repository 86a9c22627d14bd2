//! Lines whose blocks or mappings cost a good part of the program's CPU time.

use super::touching_lines::{Toucher, touchers};
use super::{Facts, Finding, Share, What, Whole};
use crate::element_counts::{block_size, elements};
use crate::intervals::{Interval, Intervals};
use crate::metric::Metric;
use crate::priced::Priced;
use crate::sites::Row;
use memtoll_trace::ids::Bytes;
use serde::Serialize;

/// Less of the program's CPU time is not worth a sentence.
const LEAST: f64 = 0.02;
/// A further line must have more.
const LEAST_OF_FURTHER: f64 = 0.04;
const MOST: usize = 5;

/// A line whose blocks or mappings cost much time. Times in ns, sizes in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct CostlyLine {
    /// Allocations and reallocations.
    pub blocks: u64,
    pub bytes: u64,
    /// Size of each, where all are alike.
    pub block_size: Option<u64>,
    /// Elements in each, where that is known.
    pub elements: Option<u64>,
    /// Calls of mmap and mremap that take memory.
    pub mappings: u64,
    /// What these asked for.
    pub mapped_bytes: u64,
    /// Pages that were touched for the first time.
    pub touched_bytes: u64,
    /// Of these, what the allocator needed for itself.
    pub touched_for_the_allocator_bytes: u64,
    /// Blocks that were not freed; not known where frees are hidden.
    pub never_freed: Option<u64>,
    /// Of those that were freed; 0 if none was; not known where frees are hidden.
    pub lifetime_ns: Option<f64>,
    /// All of it.
    pub cost_ns: f64,
    /// The allocator's own work.
    pub allocator_ns: f64,
    /// Page faults, zeroing included.
    pub fault_time_ns: f64,
    pub zeroing_ns: f64,
    /// Work on mappings.
    pub mapping_ns: f64,
    /// Waiting in the allocator.
    pub waiting_ns: f64,
    /// Waiting for the disk.
    pub reading_ns: f64,
    /// Of the times above.
    pub intervals: Intervals,
    /// Who touched the memory first, where few large blocks serve others: an arena or a pool. Largest first.
    pub touched_by: Vec<Toucher>,
}

/// Memory costs little, or no line much of it. Times in ns, without waiting.
#[derive(Clone, Debug, Serialize)]
pub struct NoCostlyLine {
    pub cost_ns: f64,
    /// Where the truth of that is.
    pub cost_interval: Interval,
    /// What the dearest line costs: that of the finding.
    pub line_ns: f64,
    /// Where the truth of that is.
    pub line_interval: Interval,
    /// CPU time of all.
    pub processor_ns: f64,
    /// Whether even all of it is not worth a change.
    pub is_little: bool,
}

pub(super) fn find(facts: &mut Facts) -> Vec<Finding> {
    let costs = facts.sums.total.costs();
    // By the clock, calls take more than CPU time.
    let processor = facts.processor().filter(|all| *all >= costs.processor() && facts.tariff.sees().switches);
    let (whole, of) = match processor {
        Some(all) if facts.sums.processor.is_some() => (all, Whole::ProcessorTimeOfPart),
        Some(all) => (all, Whole::ProcessorTime),
        None => (costs.total(), Whole::CostOfMemory),
    };
    let part = |row: &Row| {
        let costs = row.metrics.costs();
        if of.is_processor_time() { costs.processor() } else { costs.total() }
    };
    let tariff = facts.tariff;
    let estimate = |of_what: &Priced| tariff.estimates(of_what).processor();
    let largest = facts.largest(|row| part(row) as u64);
    let largest: Vec<Row> = largest.into_iter().take(MOST).cloned().collect();
    let all = tariff.estimates(&facts.sums.total);
    let share = |row: &Row| match of.is_processor_time() {
        true => Share::new(estimate(&row.metrics), whole, of),
        // As wrong as the whole is, of which it is a part.
        false => Share::new(tariff.estimates(&row.metrics).share_of(&all).scaled(whole), whole, of),
    };
    let shares: Vec<Option<Share>> = largest.iter().map(share).collect();
    let dearest = largest.first().cloned();
    let mut found = Vec::new();
    for (row, share) in largest.into_iter().zip(shares) {
        let least = if found.is_empty() { LEAST } else { LEAST_OF_FURTHER };
        if share.is_some_and(|share| share.value() >= least) {
            let what = What::CostlyLine(Box::new(evidence(facts, &row)));
            found.push(Finding::new(what, Some(row), share));
        }
    }
    // Of some call stacks, it is not known that all lines cost little.
    let is_whole = facts.recording.sees_programs_calls() && !facts.stacks.selects();
    if found.is_empty() && is_whole && processor.is_some() && costs.total() > 0.0 {
        let (cost, line) =
            (estimate(&facts.sums.total), dearest.as_ref().map(|row| estimate(&row.metrics)).unwrap_or_default());
        let nothing = NoCostlyLine {
            cost_ns: costs.processor(),
            cost_interval: cost.into(),
            line_ns: dearest.as_ref().map_or(0.0, part),
            line_interval: line.into(),
            processor_ns: whole,
            is_little: costs.processor() < whole * LEAST,
        };
        let share = Share::new(cost, whole, of);
        found.push(Finding::new(What::NoCostlyLine(nothing), dearest, share));
    }
    found
}

fn evidence(facts: &mut Facts, row: &Row) -> CostlyLine {
    let metrics = &row.metrics;
    let costs = metrics.costs();
    let sees_frees = Metric::Live.is_known_of(metrics, facts.tariff.sees());
    CostlyLine {
        blocks: Metric::Allocations.value(metrics),
        bytes: metrics.bytes.0,
        block_size: block_size(metrics),
        elements: elements(row),
        mappings: metrics.mappings,
        mapped_bytes: metrics.mapped_bytes.0,
        touched_bytes: metrics.touched_bytes.0,
        touched_for_the_allocator_bytes: facts.tariff.touched_for_the_allocator(metrics).0,
        never_freed: sees_frees.then_some(metrics.live_blocks),
        lifetime_ns: sees_frees.then(|| metrics.mean_lifetime_ns() as f64),
        cost_ns: costs.total(),
        allocator_ns: costs.allocator,
        fault_time_ns: costs.faults,
        zeroing_ns: costs.zeroing,
        mapping_ns: costs.mapping,
        waiting_ns: costs.waiting,
        reading_ns: costs.reading,
        intervals: Intervals::of(metrics, facts.tariff),
        touched_by: if serves_others(row, costs.faults, costs.total()) { touchers(facts, row) } else { Vec::new() },
    }
}

/// Whether it looks like an arena or a pool: few large pieces, and what they cost is mostly page faults, which others have.
fn serves_others(row: &Row, faults: f64, cost: f64) -> bool {
    const FEW: u64 = 1000;
    const LARGE: Bytes = Bytes(256 << 10);
    let pieces = Metric::Allocations.value(&row.metrics) + row.metrics.mappings;
    let bytes = row.metrics.bytes + row.metrics.mapped_bytes;
    (1..=FEW).contains(&pieces) && bytes / pieces >= LARGE && faults * 2.0 >= cost
}
