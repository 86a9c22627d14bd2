//! See never_freed.md.

use crate::facts::{Draft, Facts};
use crate::finding::Confidence;
use crate::pattern::PARTS;
use crate::range::Range;
use crate::savings::Saves;
use crate::site::Site;
use memtoll_analysis::detectors::{keeps_much, loses_much};
use memtoll_analysis::runtime_blocks::runtime_blocks;
use memtoll_text::format;
use memtoll_trace::ids::Bytes;

const FEWEST: u64 = 100;

pub fn find(facts: &Facts) -> Vec<Draft> {
    let runtime = runtime_blocks(facts.recording, facts.sums);
    let own = facts.changeable().filter(|(_, site)| !site.nodes.iter().any(|node| runtime.has(*node)));
    own.filter_map(|(index, site)| draft(facts, index, site)).collect()
}

/// What tells a leak from state that is kept are its survivors: most blocks of the line are freed soon, and a few never, in all
/// parts of the run.
fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let (metrics, pattern) = (site.metrics(), &site.pattern);
    let (kept, blocks) = (pattern.kept, pattern.blocks);
    let is_piling_up = pattern.kept_by_part.iter().filter(|part| **part * 20 >= kept).count() >= PARTS / 2;
    // What a process that ends soon keeps is freed with it.
    let span = pattern.keeper_life / 2;
    let is_mixed = kept * 20 >= blocks && kept * 2 <= blocks && pattern.longest_life < span;
    let forgets = kept >= FEWEST && keeps_much(metrics.live_bytes, Bytes::ZERO) && is_piling_up && is_mixed;
    let (lost, lost_bytes) = (metrics.leaked_blocks(), metrics.leaked_bytes());
    let loses = loses_much(lost, lost_bytes);
    if !loses && (!forgets || metrics.suppressed_blocks > 0) {
        return None;
    }
    let mut draft = Draft::of(index);
    let others = match metrics.freed() {
        0 => String::new(),
        freed if pattern.longest_life == 0 => {
            format!("; {} freed at once", format::plural(freed, "the other is", "the others are"))
        }
        freed => {
            let longest = format::seconds(facts.tariff.ns(pattern.longest_life as f64) / 1e9);
            format!("; {} {longest} at most", format::plural(freed, "the other lives", "the others live"))
        }
    };
    draft.evidence.say(format!(
        "{} of {} {} {}, {} together{others}",
        format::count(kept),
        format::counted(blocks, "block"),
        format::are(kept),
        facts.recording.kept().words(),
        format::bytes(metrics.live_bytes),
    ));
    if loses {
        draft.evidence.say(format!(
            "{} of them, {}, {} lost: nothing points there when the program ends, except other lost blocks",
            format::count(lost),
            format::bytes(lost_bytes),
            format::are(lost)
        ));
        draft.evidence.number("lost_blocks", lost as f64);
        draft.evidence.number("lost_bytes", lost_bytes.0 as f64);
    }
    if is_piling_up {
        draft.evidence.say(format!(
            "they pile up as it runs: {} in eight parts of the run",
            pattern.kept_by_part.map(format::count).join(", ")
        ));
    }
    draft.evidence.number("never_freed", kept as f64);
    draft.evidence.number("blocks", blocks as f64);
    draft.evidence.number("live_bytes", metrics.live_bytes.0 as f64);
    let these = format::plural(kept, "it", "these");
    draft.change = format!("Free {these}, too: find the path on which the block is not released");
    draft.snippet = match facts.language(site) {
        crate::facts::Language::C => "/* every return behind the allocation needs the free */".to_owned(),
        crate::facts::Language::Cxx => "auto owner = std::make_unique<T>(...); // no path can forget it".to_owned(),
        crate::facts::Language::Rust => {
            "// look for std::mem::forget, Box::leak, into_raw, and cycles of Rc".to_owned()
        }
    };
    // What something points to may be in use.
    let forgotten = if forgets { metrics.live_bytes } else { lost_bytes };
    let live = forgotten.0 as f64;
    // With headers, and sizes rounded up.
    let in_heap = pattern.heap_bytes as f64 / pattern.bytes.max(1) as f64;
    let at_peak = metrics.peak_bytes.min(forgotten).0 as f64;
    draft.saves = Saves {
        peak_bytes: Range::new(0.0, at_peak * 0.9, at_peak),
        resident_peak_bytes: Range::new(0.0, live * 0.5, live * in_heap),
        ..Saves::default()
    };
    if lost < kept && forgets {
        draft.assumptions = vec!["the blocks are not in use to the end, as those of a cache would be".to_owned()];
    }
    draft.at_most = if loses { Confidence::Medium } else { Confidence::Low };
    Some(draft)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};

    fn leak(kept: u64, by_part: [u64; PARTS]) -> Made {
        let (counts, pattern) = blocks(10_000, 400);
        let pattern =
            crate::pattern::Pattern { kept, kept_by_part: by_part, keeper_life: 800, longest_life: 100, ..pattern };
        let counts = memtoll_trace::metrics::Metrics { live_bytes: Bytes(kept * 400), live_blocks: kept, ..counts };
        Made { counts, pattern, ..Made::default() }
    }

    #[test]
    fn survivors_that_come_all_along_are_a_leak() {
        let found = drafts(RuleId::NeverFreed, leak(800, [100; PARTS]));
        assert_eq!(found.len(), 1);
        assert!(found[0].saves.resident_peak_bytes.high > 0.0);
    }

    #[test]
    fn what_nothing_points_to_is_a_leak_however_it_came() {
        let state = leak(10_000, [10_000, 0, 0, 0, 0, 0, 0, 0]);
        let lost = memtoll_trace::metrics::Metrics {
            lost_blocks: 10,
            lost_bytes: Bytes(4000),
            indirectly_lost_blocks: 70,
            indirectly_lost_bytes: Bytes(28_000),
            ..state.counts
        };
        let found = drafts(RuleId::NeverFreed, Made { counts: lost, ..state });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].saves.resident_peak_bytes.likely, 16_000.0, "half of what is lost: the rest may be in use");
        assert!(found[0].assumptions.is_empty());
        let few = leak(10_000, [10_000, 0, 0, 0, 0, 0, 0, 0]);
        let lost = memtoll_trace::metrics::Metrics { lost_blocks: 10, lost_bytes: Bytes(4000), ..few.counts };
        assert!(drafts(RuleId::NeverFreed, Made { counts: lost, ..few }).is_empty(), "a few that a start loses");
    }

    #[test]
    fn one_block_is_lost_and_others_are() {
        let made = leak(1, [1, 0, 0, 0, 0, 0, 0, 0]);
        let counts = memtoll_trace::metrics::Metrics {
            lost_blocks: 1,
            lost_bytes: Bytes(1 << 20),
            new_blocks: 2,
            frees: 1,
            ..made.counts
        };
        let pattern = crate::pattern::Pattern { blocks: 2, longest_life: 0, ..made.pattern.clone() };
        let found = drafts(RuleId::NeverFreed, Made { counts, pattern, ..made });
        assert_eq!(
            found[0].evidence.text[0],
            "1 of 2 blocks is never freed, 400 B together; the other is freed at once"
        );
        assert!(found[0].change.starts_with("Free it, too"), "{}", found[0].change);
        assert!(found[0].evidence.text[1].starts_with("1 of them, 1.0 MiB, is lost: "), "{:?}", found[0].evidence.text);
    }

    #[test]
    fn state_that_is_kept_is_none() {
        assert!(drafts(RuleId::NeverFreed, leak(800, [800, 0, 0, 0, 0, 0, 0, 0])).is_empty(), "made at the start");
        assert!(drafts(RuleId::NeverFreed, leak(10_000, [1250; PARTS])).is_empty(), "kept as a whole");
        let mut of_short_processes = leak(800, [100; PARTS]);
        of_short_processes.pattern.keeper_life = 150;
        assert!(
            drafts(RuleId::NeverFreed, of_short_processes).is_empty(),
            "other processes free theirs later than these end"
        );
    }
}
