//! Which finding matters most, and one for each line.

use super::{Facts, Finding, Share, What};
use crate::inclusive_lines::are_of_one_line;
use crate::sites::Row;

/// What a share of the peak counts for beside the same share of the CPU time.
const MEMORY: f64 = 0.1;
/// The same of all never freed: it grows with the run.
const KEPT: f64 = 0.3;

/// The findings, those that matter most first. What is found at one line is one finding; how cheap memory is as a whole is
/// which stands before all of them.
pub(super) fn by_line(found: Vec<Finding>, facts: &Facts) -> Vec<Finding> {
    let frames = &facts.recording.frames;
    let of_line = |row: &Row| facts.lines.iter().position(|line| are_of_one_line(frames, row, &line.row));
    let mut all: Vec<(f64, Option<usize>, Finding)> = Vec::new();
    for mut finding in found {
        let weight = weight(&finding.what, finding.share.as_ref(), facts);
        let line = finding.site.as_ref().filter(|_| is_about_line(&finding.what)).and_then(of_line);
        match all.iter_mut().find(|(_, known, _)| line.is_some() && *known == line) {
            Some((known, _, first)) if *known >= weight => first.also.push((finding.what, finding.share)),
            Some((known, _, first)) => {
                std::mem::swap(first, &mut finding);
                std::mem::swap(&mut first.also, &mut finding.also);
                first.also.insert(0, (finding.what, finding.share));
                *known = weight;
            }
            None => all.push((weight, line, finding)),
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let with_parts = |(_, line, finding): (f64, Option<usize>, Finding)| match line {
        Some(line) => Finding { parts: facts.lines[line].parts.clone(), ..finding },
        None => finding,
    };
    all.into_iter().map(with_parts).collect()
}

/// Whether its call site is what it is about, and not only an example.
fn is_about_line(what: &What) -> bool {
    !matches!(what, What::NoCostlyLine(_)) && !what.is_note()
}

/// How much a finding matters, as about a share of the CPU time.
fn weight(what: &What, share: Option<&Share>, facts: &Facts) -> f64 {
    let value = share.map_or(0.0, Share::value);
    let of_processor = |ns: f64| facts.processor().map_or(value, |all| (ns / all.max(1.0)).min(1.0));
    let of_peak = |bytes: u64| bytes as f64 / facts.sums.peaks_with_mappings().0.max(1) as f64;
    match what {
        What::NoCostlyLine(_) => f64::INFINITY,
        What::CostlyLine(_) => value,
        What::Waiting(waiting) => of_processor(waiting.waiting_ns),
        What::WaitingForDisk(waiting) => of_processor(waiting.waiting_ns),
        // What that costs is the line's cost.
        What::TakenAgain(_) => value * MEMORY,
        What::HardlyTouched(memory) => of_peak(memory.bytes).min(1.0) * MEMORY,
        What::Churn(churn) => churn.of_processor.unwrap_or(value * MEMORY),
        What::HoldsPeak(memory) => of_peak(memory.bytes).min(1.0) * MEMORY,
        What::NeverFreed(memory) => of_peak(memory.bytes).min(1.0) * KEPT,
        // However small, it is certain.
        What::Lost(lost) => of_peak(lost.bytes).clamp(MEMORY, 1.0) * KEPT,
        // Small at the end of this run, and not of the next one.
        What::Grows(_) => MEMORY,
        What::Resident(_) => value * KEPT,
        What::NullFrees(_) => value * MEMORY * MEMORY,
        What::FaultsAgain(_) | What::NoLines(_) | What::NoNames(_) | What::Wrapped(_) => 0.0,
    }
}
