//! See untouched.md.

use crate::byte_costs::Work;
use crate::facts::{Draft, Facts, Language};
use crate::finding::{Confidence, Remedy};
use crate::range::Range;
use crate::saving::wall;
use crate::savings::Saves;
use crate::site::Site;
use memtoll_analysis::detectors::{self, HardlyTouched};
use memtoll_model::FrameId;
use memtoll_text::format;
use memtoll_trace::ids::Bytes;

/// Bytes that are filled, at least.
const LEAST: Bytes = Bytes(4 << 20);

pub fn find(facts: &Facts) -> Vec<Draft> {
    let hardly = facts.changeable().filter_map(|(index, site)| hardly_touched(facts, index, site));
    hardly.chain(facts.changeable().filter_map(|(index, site)| filled(facts, index, site))).collect()
}

/// Asked for, but hardly used: what is touched of it is known, and faults inside system calls could not be of it.
fn hardly_touched(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let metrics = site.metrics();
    let unseen = detectors::unseen(&facts.balance, &facts.tariff)?;
    // Address space alone is free: only blocks that count in the program's own books are worth a line.
    let Some(HardlyTouched::Blocks(had)) = detectors::hardly_touched(metrics, unseen) else { return None };
    let touched = metrics.touched_bytes.0 as f64;
    let mut draft = Draft::of(index);
    draft.evidence.say(format!(
        "{} live at the peak, {} ever touched",
        format::bytes(had),
        format::bytes(touched as u64)
    ));
    draft.evidence.number("peak_bytes", had.0 as f64);
    draft.evidence.number("touched_bytes", touched);
    draft.change = match touched > 0.0 {
        true => "Ask for less, and grow".to_owned(),
        false => "Allocate it where it is first used".to_owned(),
    };
    draft.snippet = match facts.language(site) {
        Language::Rust => "Vec::with_capacity(n) // n: what the run uses; the vector grows beyond that".to_owned(),
        Language::Cxx => "#include <memtoll/reserved_vector.hpp> // addresses for all, memory for what is used\n\
            memtoll::reserved_vector<T> items(most);"
            .to_owned(),
        Language::C if touched == 0.0 => "if (!block) block = malloc(size); /* where it is first used */".to_owned(),
        Language::C => format!(
            "malloc({}) /* what was touched; realloc beyond it \
            */",
            (touched as u64).next_multiple_of(facts.tariff.page())
        ),
    };
    draft.saves = Saves {
        peak_bytes: Range::new(0.0, had.0 as f64 - touched, had.0 as f64),
        resident_peak_bytes: Range::exact(0.0),
        ..Saves::default()
    };
    draft.assumptions = vec![
        "other inputs touch as little of it".to_owned(),
        "pages that are not touched take no memory: this saves address space and commit charge".to_owned(),
    ];
    draft.at_most = Confidence::Low;
    Some(draft)
}

/// Fresh memory that the program zeroes itself: the kernel has done that, and page faults show who touched it first.
fn filled(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    const FEWEST_FAULTS: u64 = 256;
    let pattern = &site.pattern;
    let touched = site.metrics().touched_bytes;
    let is_filled = pattern.placed_faults >= FEWEST_FAULTS && pattern.filled_faults * 10 >= pattern.placed_faults * 9;
    if !is_filled || touched < LEAST || site.mean_size() < (128 << 10) {
        return None;
    }
    let fill = Work::of(&facts.tariff).fill_byte.scaled(touched.0 as f64);
    let mut draft = Draft::of(index);
    draft.evidence.say(format!(
        "{} of its {} page faults happen in a function that fills memory: the pages are fresh, and the kernel has \
         just zeroed them",
        format::percent(pattern.filled_faults, pattern.placed_faults),
        format::count(pattern.placed_faults)
    ));
    draft.evidence.number("filled_faults", pattern.filled_faults as f64);
    draft.evidence.number("touched_bytes", touched.0 as f64);
    draft.change =
        "Leave the fill out, if it is one of zeroes (calloc knows that fresh memory is zero) or is overwritten \
                    before it is read"
            .to_owned();
    let mut places: Vec<(FrameId, u64)> = pattern.filled_at.iter().map(|(frame, faults)| (*frame, *faults)).collect();
    places.sort_by_key(|(frame, faults)| (std::cmp::Reverse(*faults), *frame));
    draft.filled_at = places.into_iter().map(|(frame, _)| facts.place_of(frame)).collect();
    draft.snippet = match facts.language(site) {
        Language::Rust => "vec![0; n] // asks for zeroed memory; not Vec::new() and resize(n, 0)".to_owned(),
        Language::Cxx => format!(
            "auto data = std::make_unique_for_overwrite<{}[]>(n); // C++20: overwritten anyway\nauto zero = \
             static_cast<{0}*>(std::calloc(n, sizeof({0})));  // zeroes wanted",
            site.element().unwrap_or("char")
        ),
        Language::C => "calloc(n, size) /* instead of malloc and memset */".to_owned(),
    };
    draft.remedy = Some(Remedy::NoFill);
    let faults = Range::new(0.0, 0.0, pattern.filled_faults as f64);
    // What is never used afterwards is not even touched then.
    let cpu = Range::new(fill.low, fill.likely, fill.high + site.faults.high);
    draft.own_work = fill;
    draft.saves = Saves { cpu_ns: cpu, wall_ns: wall(facts, site, cpu), faults, ..Saves::default() };
    draft.saves.resident_peak_bytes = Range::new(0.0, 0.0, touched.0 as f64);
    draft.assumptions = vec![
        "it is filled with zeroes, or overwritten before it is read".to_owned(),
        "the program uses all of it later; memory it never uses would save its page faults, too".to_owned(),
    ];
    draft.at_most = Confidence::Low;
    Some(draft)
}

#[cfg(test)]
mod tests {
    use crate::pattern::Pattern;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};
    use memtoll_trace::ids::Bytes;
    use memtoll_trace::metrics::Metrics;

    fn large(faults: u64, filled_faults: u64) -> Made {
        let (counts, pattern) = blocks(1, 256 << 20);
        let pattern = Pattern { placed_faults: faults, filled_faults, ..pattern };
        let counts = Metrics { small_faults: faults, grown_bytes: Bytes(256 << 20), ..counts };
        Made { counts, pattern, faults: faults as f64 * 1500.0, ..Made::default() }
    }

    #[test]
    fn a_block_that_is_hardly_used_is_memory() {
        let found = drafts(RuleId::Untouched, large(100, 0));
        assert_eq!(found.len(), 1);
        assert!(found[0].saves.cpu_ns.is_nothing() && found[0].saves.peak_bytes.likely > 250e6, "{:?}", found[0].saves);
    }

    #[test]
    fn memory_that_is_zeroed_twice_is_time() {
        let found = drafts(RuleId::Untouched, large(65_536, 65_536));
        assert_eq!(found.len(), 1);
        assert!(found[0].saves.cpu_ns.low > 0.0, "{:?}", found[0].saves);
        assert!(drafts(RuleId::Untouched, large(65_536, 1000)).is_empty(), "others touch it first");
    }
}
