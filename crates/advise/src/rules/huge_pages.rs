//! See huge_pages.md.

use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use crate::range::Range;
use crate::saving::wall;
use crate::savings::Saves;
use crate::site::Site;
use memtoll_text::format;
use memtoll_trace::ids::Bytes;

const HUGE: Bytes = Bytes(2 << 20);
/// Smaller blocks have too few huge pages to make up for the one that is not full.
const LEAST: Bytes = Bytes(16 << 20);

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let metrics = site.metrics();
    let huge = facts.tariff.prices().huge_fault?;
    let pieces = (site.acquired() + metrics.mappings).max(1);
    let bytes = metrics.bytes + metrics.mapped_bytes;
    let touched = Bytes(facts.tariff.page()).times(metrics.small_faults);
    // All of it must be used: a huge page is there as a whole.
    let is_dense = touched.times(10) >= bytes.times(8) && touched <= bytes + bytes / 4;
    if bytes / pieces < LEAST || !is_dense || HUGE.times(metrics.huge_faults) > touched {
        return None;
    }
    let pages = (touched.0 / HUGE.0) as f64 + pieces as f64;
    // The kernel of a virtual machine may have to ask its host for the memory: ten times the price has been seen.
    let instead = Range::new(huge.p10 * pages, huge.median * pages, huge.p90.max(huge.median * 2.0) * pages);
    let cpu = site.faults.minus(instead);
    if cpu.low <= 0.0 {
        return None;
    }
    let mut draft = Draft::of(index);
    draft.evidence.say(format!(
        "{} of {} on average, {} of it touched in pages of {}: {} page faults",
        format::counted(pieces, "block"),
        format::bytes(bytes / pieces),
        format::bytes(touched),
        format::bytes(facts.tariff.page()),
        format::count(metrics.small_faults)
    ));
    draft.evidence.say(format!(
        "here, a fault takes {} and a huge page's {} on a quiet machine",
        format::seconds(site.costs.faults / metrics.small_faults.max(1) as f64 / 1e9),
        format::seconds(huge.median / 1e9)
    ));
    draft.evidence.number("touched_bytes", touched.0 as f64);
    draft.evidence.number("faults", metrics.small_faults as f64);
    draft.change = "Ask for huge pages".to_owned();
    draft.snippet = match facts.language(site) {
        Language::Cxx => format!(
            "#include <memtoll/region.hpp>\nmemtoll::region data({}, memtoll::pages::huge);\n// or: \
             std::aligned_alloc(2 << 20, size) and madvise(data, size, MADV_HUGEPAGE) before the first touch",
            metrics.largest_bytes.max(bytes / pieces).0
        ),
        _ => "aligned_alloc(2 << 20, size), then madvise(data, size, MADV_HUGEPAGE) before the first \
            touch"
            .to_owned(),
    };
    let faults = metrics.small_faults as f64 - pages;
    draft.saves = Saves {
        cpu_ns: cpu,
        wall_ns: wall(facts, site, cpu),
        faults: Range::new(faults * 0.9, faults, faults),
        ..Saves::default()
    };
    draft.saves.resident_peak_bytes = Range::new(-(pieces as f64) * HUGE.0 as f64, 0.0, 0.0);
    draft.assumptions = vec![
        "the kernel has huge pages to give: after a long time without a restart, memory can be too fragmented"
            .to_owned(),
        "faster access through fewer entries of the TLB is not counted".to_owned(),
    ];
    draft.at_most = Confidence::Medium;
    Some(draft)
}

#[cfg(test)]
mod tests {
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};

    fn large(size: u64, faults_ns: f64) -> Made {
        let (counts, pattern) = blocks(1, size);
        Made { counts, pattern, faults: faults_ns, ..Made::default() }
    }

    #[test]
    fn large_dense_blocks_get_huge_pages_if_these_pay() {
        let found = drafts(RuleId::HugePages, large(512 << 20, 300e6));
        assert!(found[0].saves.cpu_ns.low > 0.0 && found[0].saves.cpu_ns.high < 350e6, "{:?}", found[0].saves.cpu_ns);
        assert!(found[0].saves.resident_peak_bytes.low < 0.0);
        assert!(drafts(RuleId::HugePages, large(512 << 20, 1e6)).is_empty(), "the faults are as cheap");
        assert!(drafts(RuleId::HugePages, large(8 << 20, 300e6)).is_empty(), "small");
    }
}
