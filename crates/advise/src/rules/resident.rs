//! See resident.md.

use crate::facts::{Draft, Facts};
use crate::finding::Confidence;
use crate::range::Range;
use crate::savings::Saves;
use memtoll_analysis::detectors::stays_resident;
use memtoll_analysis::page_balance::{Balance, Kind, Waste};
use memtoll_text::format;

pub fn find(facts: &Facts) -> Vec<Draft> {
    let Some(pages) = &facts.pages else { return Vec::new() };
    let worth = pages.wastes.iter().filter(|waste| stays_resident(pages, waste, &facts.tariff));
    worth.filter_map(|waste| draft(facts, pages, waste)).collect()
}

fn draft(facts: &Facts, pages: &Balance, waste: &Waste) -> Option<Draft> {
    let is_free = waste.kind.is_freed();
    let free_for = facts.tariff.ns(pages.free_for as f64);
    let of_line = |frame| facts.changeable().find(|(_, site)| site.row.frame == Some(frame));
    // What is about no line stands at the one that had most.
    let largest = || facts.changeable().max_by_key(|(_, site)| site.metrics().peak_bytes);
    let (index, site) = waste.frame.and_then(of_line).or_else(largest)?;
    let mut draft = Draft::of(index);
    draft.place = waste.frame.filter(|frame| site.row.frame != Some(*frame)).map(|frame| facts.place_of(frame));
    draft.change = change(waste.kind).to_owned();
    draft.snippet = snippet(waste.kind).to_owned();
    draft.evidence.say(evidence(waste.kind, pages));
    if is_free {
        let half = "half of what is free has been free for";
        draft.evidence.say(format!("{half} {}", format::seconds(free_for / 1e9)));
        draft.evidence.number("free_for_ns", free_for);
    }
    draft.evidence.number("resident_bytes", pages.resident as f64);
    if let Some((blocks, bytes)) = waste.kind.blocks() {
        draft.evidence.number("blocks", blocks as f64);
        draft.evidence.number("bytes", bytes as f64);
    }
    draft.saves = Saves { resident_end_bytes: saves(waste), ..Saves::default() };
    if matches!(waste.kind, Kind::Pinned { .. }) {
        draft
            .assumptions
            .push("the pages are given back: in glibc by malloc_trim(0), or from the top of the heap".to_owned());
    }
    if is_free {
        draft.assumptions.push("the program does not need the memory again".to_owned());
    }
    if matches!(waste.kind, Kind::HugePages { .. }) {
        draft.assumptions.push("more page faults cost less than the memory: memtoll verify says".to_owned());
    }
    draft.at_most = match waste.kind {
        Kind::FreePages | Kind::Pinned { .. } => Confidence::High,
        Kind::Arenas { .. } | Kind::Rounding { .. } | Kind::KeptByAllocator | Kind::HugePages { .. } => {
            Confidence::Medium
        }
        Kind::TopOfHeap { .. } | Kind::NeverTouched { .. } => Confidence::Low,
    };
    Some(draft)
}

/// With the error of the balance, which docs/resident.md names and `tests/e2e/tests/what_helps.rs` holds.
fn saves(waste: &Waste) -> Range {
    const SHARE: f64 = 0.02;
    const BYTES: f64 = 65_536.0;
    let [low, likely, high] = [waste.low, waste.likely(), waste.high].map(|bytes| bytes as f64);
    Range::new((low * (1.0 - SHARE) - BYTES).max(0.0), likely, high * (1.0 + SHARE) + BYTES)
}

fn change(kind: Kind) -> &'static str {
    match kind {
        Kind::FreePages => "Give free pages back after much has been freed",
        Kind::Pinned { .. } => "Keep blocks that stay apart from those that go: in a pool, or allocated before them",
        Kind::TopOfHeap { .. } => "Allocate this block before those that are freed earlier: it lies on top of the heap",
        Kind::Arenas { .. } => "Let threads share arenas",
        Kind::Rounding { .. } => "Put these blocks into a pool with slots of their size",
        Kind::KeptByAllocator => "Let jemalloc give free pages back sooner",
        Kind::HugePages { .. } => "Let malloc have small pages",
        Kind::NeverTouched { .. } => "Ask for less, and grow",
    }
}

fn snippet(kind: Kind) -> &'static str {
    match kind {
        Kind::FreePages => "#include <malloc.h>\nmalloc_trim(0); // where a phase of the program ends",
        Kind::Pinned { .. } => "// a pool for the blocks that stay, which takes memory in large pieces",
        Kind::TopOfHeap { .. } => "// allocate it where the program starts",
        Kind::Arenas { .. } => "mallopt(M_ARENA_MAX, 2); // or MALLOC_ARENA_MAX=2 in the environment",
        Kind::Rounding { .. } => "// slots of the size of a block, one behind the other",
        Kind::KeptByAllocator => "MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0",
        Kind::HugePages { .. } => {
            "#include <sys/prctl.h>\nprctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); // before the program allocates"
        }
        Kind::NeverTouched { .. } => "// reserve what is used, and grow",
    }
}

fn evidence(kind: Kind, pages: &Balance) -> String {
    let resident = format::bytes(pages.resident);
    let blocks = |number: u64, bytes: u64| format!("{} ({})", format::counted(number, "block"), format::bytes(bytes));
    match kind {
        Kind::FreePages => {
            format!("of {resident} that are resident at the end, nothing lives on pages that malloc_trim(0) gives back")
        }
        Kind::Pinned { blocks: number, bytes } => {
            format!(
                "{} {} on pages that are mostly free, of {resident} that are resident at the end",
                blocks(number, bytes),
                format::plural(number, "lies", "lie")
            )
        }
        Kind::TopOfHeap { blocks: number, bytes } => {
            format!(
                "{} on top of the heap, with free pages below, of {resident} that are resident at the end",
                blocks(number, bytes)
            )
        }
        Kind::Arenas { heaps, needed } => format!(
            "{} of threads are mostly free; together they never held more than {} at once",
            format::counted(heaps, "heap"),
            format::bytes(needed)
        ),
        Kind::Rounding { blocks: number, bytes } => {
            format!(
                "the allocator takes more for {} than was asked for: headers, and sizes rounded up",
                blocks(number, bytes)
            )
        }
        Kind::KeptByAllocator => format!("jemalloc keeps free pages, of {resident} that are resident at the end"),
        Kind::HugePages { bytes, live } => format!(
            "malloc has {} in huge pages, live blocks take {} of them; of {resident} that are resident at the end",
            format::bytes(bytes),
            format::bytes(live)
        ),
        Kind::NeverTouched { blocks: number, bytes, untouched } => {
            format!("of {}, {} were never touched", blocks(number, bytes), format::bytes(untouched))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_keeps_its_bytes() {
        let of = |kind| saves(&Waste { kind, low: 10_000_000, high: 20_000_000, frame: None });
        let (least, most) = (9_734_464.0, 20_465_536.0);
        assert_eq!(of(Kind::Pinned { blocks: 9, bytes: 10 }), Range::new(least, 10_000_000.0, most));
        assert_eq!(of(Kind::FreePages), Range::new(least, 15_000_000.0, most));
        let nothing = saves(&Waste { kind: Kind::FreePages, low: 0, high: 0, frame: None });
        assert_eq!(nothing.low, 0.0);
    }
}
