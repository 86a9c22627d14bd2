//! See heap_thrash.md.

use crate::facts::{Draft, Facts};
use crate::finding::{Confidence, Remedy};
use crate::range::Range;
use crate::saving::wall;
use crate::savings::Saves;
use memtoll_analysis::detectors::{HeapThrash, heap_thrash};
use memtoll_text::format;
use memtoll_trace::ids::Bytes;

pub fn find(facts: &Facts) -> Vec<Draft> {
    let Some(HeapThrash { all, peak }) = heap_thrash(facts.sums) else { return Vec::new() };
    let growing = || facts.sites.iter().enumerate().filter(|(_, site)| site.metrics().grown_bytes > Bytes::ZERO);
    let Some((index, site)) = growing().max_by_key(|(_, site)| site.metrics().grown_bytes) else {
        return Vec::new();
    };
    // One line that makes large blocks is to keep them itself: that is the matter of `reuse`.
    let is_one_line = site.metrics().grown_bytes >= Bytes(all.grown_bytes / 10 * 8) && site.mean_size() >= (64 << 10);
    if is_one_line {
        return Vec::new();
    }
    let again = 1.0 - (peak.0 as f64 / all.grown_bytes as f64).min(1.0);
    let sites: Vec<(usize, f64)> =
        growing().map(|(index, site)| (index, site.metrics().grown_bytes.0 as f64)).collect();
    let at_peak = growing().map(|(_, site)| site.metrics().peak_bytes.0 as f64);
    let grown: Vec<(f64, f64)> = sites.iter().map(|(_, grown)| *grown).zip(at_peak).collect();
    let mut cpu = Range::default();
    let mut faults = 0.0;
    for ((_, site), touched_again) in growing().zip(again_by_site(&grown, peak.0 as f64)) {
        let metrics = site.metrics();
        // Of its pages, those that came with growth of the heap.
        let fresh = (metrics.grown_bytes.0 as f64 / facts.page()).min(metrics.small_faults as f64);
        let share = if metrics.small_faults > 0 { fresh / metrics.small_faults as f64 } else { 0.0 };
        cpu = cpu.with(site.faults.scaled(share * touched_again)).with(site.mapping.scaled(again));
        faults += fresh * touched_again;
    }
    let mut draft = Draft::of(index);
    draft.with = sites.iter().map(|(other, _)| *other).filter(|other| *other != index).collect();
    let (took, calls) = (format::bytes(all.grown_bytes), format::counted(all.grown_calls, "call"));
    draft.evidence.say(format!(
        "the allocator took {took} from the system in {calls} and gave {} back in {}; at most {} were live",
        format::bytes(all.shrunk_bytes),
        format::counted(all.shrunk_calls, "call"),
        format::bytes(peak)
    ));
    draft.evidence.say(format!("{} of it in calls of this line", format::bytes(site.metrics().grown_bytes)));
    for (name, value) in [
        ("grown_bytes", all.grown_bytes),
        ("grown_calls", all.grown_calls),
        ("shrunk_bytes", all.shrunk_bytes),
        ("shrunk_calls", all.shrunk_calls),
    ] {
        draft.evidence.number(name, value as f64);
    }
    let large = site.mean_size() >= (128 << 10);
    let pad = peak.0.next_power_of_two().clamp(1 << 20, 1 << 30);
    draft.change = "Tell glibc to keep the memory".to_owned();
    let (options, tunables) = match large {
        true => (
            [("M_MMAP_MAX", "0".to_owned()), ("M_TRIM_THRESHOLD", "INT_MAX".to_owned())],
            "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=4294967296".to_owned(),
        ),
        false => (
            [("M_TRIM_THRESHOLD", "INT_MAX".to_owned()), ("M_TOP_PAD", pad.to_string())],
            format!("glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad={pad}"),
        ),
    };
    let calls: Vec<String> = options.iter().map(|(name, value)| format!("mallopt({name}, {value});")).collect();
    draft.snippet = format!(
        "#include <malloc.h>\n{} // first thing in main\n// or, without a change: GLIBC_TUNABLES={tunables}",
        calls.join(" ")
    );
    draft.remedy = Some(Remedy::Mallopt { options: options.into() });
    draft.saves = Saves {
        cpu_ns: cpu.widened(0.7, 1.1),
        wall_ns: wall(facts, site, cpu.widened(0.7, 1.1)),
        faults: Range::new(faults * 0.8, faults, faults * 1.05),
        resident_peak_bytes: Range::new(-(peak.0 as f64), 0.0, 0.0),
        ..Saves::default()
    };
    draft.assumptions = vec![
        "the program uses glibc's malloc".to_owned(),
        format!("it may keep what it has at the peak, {}, until it ends", format::bytes(peak)),
    ];
    draft.at_most = Confidence::High;
    vec![draft]
}

/// Of sites that grew the heap, (bytes that they took, bytes that they have of the peak): which part of what each took came again. What
/// lives at the peak came once. Where it lives on what these sites did not take, it is theirs in equal parts of the rest.
fn again_by_site(grown: &[(f64, f64)], peak: f64) -> Vec<f64> {
    let once = |(grown, at_peak): &(f64, f64)| grown.min(*at_peak);
    let all_once: f64 = grown.iter().map(once).sum();
    let all_again = grown.iter().map(|(grown, _)| grown).sum::<f64>() - all_once;
    let left = if all_again > 0.0 { (1.0 - (peak - all_once).max(0.0) / all_again).max(0.0) } else { 0.0 };
    grown.iter().map(|site| (site.0 - once(site)) / site.0 * left).collect()
}

#[cfg(test)]
mod tests {
    use super::again_by_site;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};
    use memtoll_trace::ids::Bytes;

    #[test]
    fn what_lives_at_the_peak_came_once() {
        let rounded = |grown: &[(f64, f64)], peak| -> Vec<f64> {
            again_by_site(grown, peak).iter().map(|part| (part * 100.0).round() / 100.0).collect()
        };
        // Of ghostscript: one line's blocks stay, another's come and go.
        assert_eq!(rounded(&[(5.1, 4.9), (21.6, 1.2)], 6.1), [0.04, 0.94]);
        assert_eq!(rounded(&[(100.0, 0.0)], 4.0), [0.96]);
        assert_eq!(rounded(&[(10.0, 10.0), (90.0, 0.0)], 20.0), [0.0, 0.89], "others have 10 of the peak");
        assert_eq!(rounded(&[(10.0, 10.0)], 10.0), [0.0]);
    }

    /// What it finds is in `tests/e2e/tests/advice.rs`: a heap that shrinks is not made by hand.
    #[test]
    fn a_heap_that_only_grows_is_well() {
        let (counts, pattern) = blocks(10_000, 4000);
        let counts = memtoll_trace::metrics::Metrics { grown_bytes: Bytes(40 << 20), ..counts };
        assert!(drafts(RuleId::HeapThrash, Made { counts, pattern, faults: 15e6, ..Made::default() }).is_empty());
    }
}
