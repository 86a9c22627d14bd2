//! See free_null.md.

use super::same_callee::{Cause, cause};
use crate::facts::{Draft, Facts, Language};
use crate::finding::{Confidence, Place};
use crate::range::Range;
use crate::saving::{calls, wall};
use crate::savings::Saves;
use crate::site::Site;
use memtoll_analysis::c_library_blocks::entered;
use memtoll_analysis::detectors::are_many_null_frees;
use memtoll_analysis::tariff::waits;
use memtoll_model::StackId;
use memtoll_text::format;
use memtoll_trace::ids::Bytes;
use rustc_hash::FxHashSet;

/// What a call takes in the caller and on the way from it, ns.
const MOST_AROUND: Range = Range { low: 0.5, likely: 1.0, high: 2.0 };

/// Lines of one file that have one cause, even where it is not known.
const LEAST_OF_FILE: usize = 3;
/// Lines that are named, of those with one cause.
const NAMED: usize = 3;

pub fn find(facts: &Facts) -> Vec<Draft> {
    let found: Vec<Draft> = facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect();
    let with_cause = found.into_iter().map(|draft| (cause(facts, &facts.sites[draft.site]), draft)).collect();
    merged(facts, with_cause)
}

/// One draft for each cause: a function that ends with a jump to free leaves no frame, so the lines that call it are seen.
fn merged(facts: &Facts, mut left: Vec<(Cause, Draft)>) -> Vec<Draft> {
    let mut all = Vec::new();
    while !left.is_empty() {
        let (cause, first) = left.remove(0);
        let (same, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|(other, _)| *other == cause);
        left = others;
        let same: Vec<Draft> = std::iter::once(first).chain(same.into_iter().map(|(_, draft)| draft)).collect();
        match cause {
            Cause::Called { place, .. } => all.push(merge(facts, same, Some(place))),
            Cause::File(_) if same.len() >= LEAST_OF_FILE => all.push(merge(facts, same, None)),
            Cause::Own | Cause::File(_) => all.extend(same),
        }
    }
    all
}

/// Whether the C library itself calls free with nothing, below a function that the line calls: no change of the source avoids it.
fn is_of_library(facts: &Facts, site: &Site) -> bool {
    let nodes: FxHashSet<StackId> = site.nodes.iter().copied().collect();
    let own = facts.sums.sites.iter().filter(|sums| nodes.contains(&sums.node));
    let most = own.max_by_key(|sums| sums.metrics().null_frees);
    most.is_some_and(|most| entered(facts.recording, most.node, site.row.frame).is_some())
}

fn merge(facts: &Facts, mut same: Vec<Draft>, called: Option<Place>) -> Draft {
    let calls = |draft: &Draft| draft.evidence.numbers.get("calls").copied().unwrap_or(0.0);
    same.sort_by(|a, b| calls(b).total_cmp(&calls(a)));
    let all: f64 = same.iter().map(calls).sum();
    let mut lines: Vec<String> = same
        .iter()
        .take(NAMED)
        .map(|draft| {
            let place = facts.place(&facts.sites[draft.site]);
            let line = place.line.map_or(String::new(), |line| format!(", line {line}"));
            format!("{} in {}{line}", format::often(calls(draft) as u64), place.function)
        })
        .collect();
    if same.len() > NAMED {
        lines.push(format!("the rest in {} more", format::counted((same.len() - NAMED) as u64, "line")));
    }
    let from = format::counted(same.len() as u64, "line");
    let mut merged = same[0].clone();
    let (first, others) = (format!("free is called {} with a null pointer", format::often(all as u64)), &same[1..]);
    merged.evidence.text[0] = match &called {
        Some(place) => format!(
            "{first} by {}, which {from} {}: it ends with a jump to free, so stacks have no frame of it",
            place.function,
            format::plural(same.len() as u64, "calls", "call")
        ),
        None => format!("{first} from {from} of one file: they may call one function that ends with a jump to free"),
    };
    merged.evidence.text.insert(1, lines.join("; "));
    merged.evidence.number("calls", all);
    merged.evidence.number("lines", same.len() as f64);
    merged.saves = same.iter().fold(Saves::default(), |sum, draft| sum.plus(&draft.saves));
    merged.own_work = same.iter().fold(Range::default(), |sum, draft| sum.with(draft.own_work));
    merged.at_most = same.iter().map(|draft| draft.at_most).min().unwrap_or(Confidence::Low);
    merged.with.extend(others.iter().map(|draft| draft.site));
    merged.place = called;
    merged
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let metrics = site.metrics();
    let of_nothing = metrics.new_blocks > 0 && metrics.bytes == Bytes::ZERO;
    let nulls = if of_nothing { metrics.new_blocks } else { metrics.null_frees };
    let timed = metrics.timed_calls.max(1);
    // Calls of a line that also allocates: the part of them that is null.
    let share = (nulls as f64 / timed as f64).min(1.0);
    if !are_many_null_frees(nulls) || share < 0.1 || !of_nothing && is_of_library(facts, site) {
        return None;
    }
    // A call of free with null is short: where calls of both kinds are mixed, it has less than its share of their time.
    let mut own_work = Range::default();
    let of_calls = match facts.own.around(facts.function(site)) {
        Some(around) => {
            own_work = around.of_at_most_about(MOST_AROUND.scaled(nulls as f64));
            site.allocator.scaled(share).plus(own_work)
        }
        None => calls(facts, site, share),
    };
    let cpu = if share > 0.9 { of_calls } else { of_calls.widened(0.1, 1.0) };
    let mut draft = Draft::of(index);
    let evidence = &mut draft.evidence;
    evidence.say(match of_nothing {
        true => format!("{} of zero bytes", format::counted(nulls, "allocation")),
        false => format!("free is called {} with a null pointer", format::often(nulls)),
    });
    evidence.number("calls", nulls as f64);
    if site.costs.waiting > 0.0 {
        evidence.say(format!(
            "threads wait {} in these calls: this allocator takes its lock before it looks",
            waits(site.costs.waiting).time_with_error()
        ));
        evidence.number("waiting_ns", site.costs.waiting);
    }
    draft.change = match of_nothing {
        true => "Do not allocate where there is nothing to keep".to_owned(),
        false => {
            "Ask before the call whether there is something to free; better, do not come here with nothing".to_owned()
        }
    };
    draft.snippet = match (of_nothing, facts.language(site)) {
        (true, _) => "if (size == 0) return nullptr;".to_owned(),
        (false, Language::Cxx) => {
            "if (block) std::free(block); // free(nullptr) is allowed, and no call is cheaper".to_owned()
        }
        (false, _) => "if (block) free(block); /* free(NULL) is allowed, and no call is cheaper */".to_owned(),
    };
    draft.saves.cpu_ns = cpu;
    draft.own_work = own_work;
    let waited = site.costs.waiting * share;
    let wall = wall(facts, site, cpu);
    draft.saves.wall_ns = Range::new(wall.low, wall.likely + facts.wall.waited(waited).likely, wall.high);
    draft.saves.allocations = Range::exact(if of_nothing { nulls as f64 } else { 0.0 });
    draft.assumptions = match site.costs.waiting > 0.0 {
        true => vec![
            "the allocator of this run is the one that counts: a debug heap locks where a release heap does not"
                .to_owned(),
        ],
        false => Vec::new(),
    };
    draft.at_most = if site.costs.waiting > 0.0 { Confidence::Medium } else { Confidence::High };
    Some(draft)
}

#[cfg(test)]
mod tests {
    use crate::rules::RuleId;
    use crate::testing::{Made, drafts};
    use memtoll_trace::metrics::Metrics;

    fn calls(null_frees: u64, timed_calls: u64) -> Made {
        let counts = Metrics { null_frees, timed_calls, events: timed_calls, ..Metrics::default() };
        Made { counts, allocator: 1e6, waiting: 5e6, ..Made::default() }
    }

    #[test]
    fn storms_of_null_pointers_are_found() {
        let found = drafts(RuleId::FreeNull, calls(50_000, 50_000));
        assert!(found[0].saves.cpu_ns.low > 0.5e6 && found[0].saves.wall_ns.high > 5e6, "{:?}", found[0].saves);
        assert!(found[0].evidence.text.iter().any(|text| text.contains("lock")));
    }

    #[test]
    fn zero_sizes_are_found_too() {
        let counts = Metrics { new_blocks: 5000, timed_calls: 10_000, events: 10_000, ..Metrics::default() };
        let found = drafts(RuleId::FreeNull, Made { counts, allocator: 1e6, ..Made::default() });
        assert_eq!(found[0].saves.allocations.likely, 5000.0);
    }

    #[test]
    fn a_null_pointer_now_and_then_is_nothing() {
        assert!(drafts(RuleId::FreeNull, calls(500, 500)).is_empty());
        assert!(drafts(RuleId::FreeNull, calls(5_000, 100_000)).is_empty());
    }
}
