//! See reuse.md.

use super::growth;
use crate::byte_costs::Work;
use crate::facts::{Draft, Facts, Language};
use crate::finding::{Called, Confidence, Remedy};
use crate::range::Range;
use crate::saving::{calls, saves};
use crate::site::Site;
use memtoll_text::format;
use memtoll_trace::ids::Bytes;
use memtoll_trace::op::Op;

const SMALLEST: u64 = 64 << 10;
const FEWEST: u64 = 8;

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let (metrics, pattern) = (site.metrics(), &site.pattern);
    // A mapping of the program's own has no block whose life could be followed.
    let pieces = site.acquired();
    if pieces < FEWEST || site.mean_size() < SMALLEST || pattern.steps * 2 > pattern.blocks {
        return None;
    }
    let most_live = pattern.most_live.max(1);
    let touched = metrics.touched_bytes;
    let faults = metrics.small_faults as f64 + metrics.huge_faults as f64;
    // Again and again: what was touched is several times what was ever live, and each block is touched anew, or calloc filled
    // memory with zeroes that stays. An allocator that keeps its memory, perhaps in huge pages, has few faults for many blocks.
    let faults_again = touched >= Bytes(pattern.most_live_bytes * 3) && faults >= pieces as f64;
    let is_zeroed = metrics.operations & Op::ZEROED != 0;
    if pieces < most_live * 4 || !(faults_again || is_zeroed) {
        return None;
    }
    let again = 1.0 - most_live as f64 / pieces as f64;
    let cpu = calls(facts, site, again).plus(site.faults.scaled(again)).plus(site.mapping.scaled(again));
    // What is a copy from the first byte on may not be needed at all.
    let is_copy = pattern.placed_faults > 0 && pattern.copied_faults * 10 >= pattern.placed_faults * 9;
    let copy = if is_copy { Work::of(&facts.tariff).copy_byte.scaled(touched.0 as f64) } else { Range::default() };
    let copy = facts.own.inside(growth::is_copy).map_or(copy, |most| copy.of_at_most_about(most));
    let cpu = cpu.with(Range::new(0.0, copy.low, copy.high));
    let mut draft = Draft::of(index);
    let evidence = &mut draft.evidence;
    evidence.say(format!(
        "{} of {} on average, at most {} live at once",
        format::counted(pieces, "block"),
        format::bytes(site.mean_size()),
        format::count(most_live)
    ));
    evidence.say(match faults_again {
        true => format!(
            "{} page faults, {} for each block: {} touched for the first time, again and again",
            format::count(faults as u64),
            format::rate(faults / pieces as f64),
            format::bytes(touched)
        ),
        false => format!(
            "calloc fills {} with zeroes, most of it memory that the program has already touched",
            format::bytes(metrics.bytes)
        ),
    });
    if is_copy {
        evidence.say("its pages are touched first by a copy: without the copy, the block is not needed");
    }
    for (name, value) in [
        ("blocks", pieces),
        ("most_live", most_live),
        ("faults", faults as u64),
        ("touched_bytes", touched.0),
        ("mean_size", site.mean_size()),
    ] {
        evidence.number(name, value as f64);
    }
    draft.change = match most_live {
        1 => "Keep the block and use it again".to_owned(),
        n => format!("Keep {n} blocks and use them in turn"),
    };
    // If they differ in size, each grows to what it is used for.
    let are_alike = metrics.largest_bytes.times(most_live) <= Bytes(pattern.most_live_bytes).times(2);
    draft.proposes = if are_alike { metrics.largest_bytes.0 * most_live } else { 0 };
    let size = if are_alike { metrics.largest_bytes.0.to_string() } else { "size".to_owned() };
    draft.snippet = snippet(facts.language(site), site, most_live, &size);
    let is_shown = most_live == 1 && matches!(site.class(), "std::vector" | "Vec");
    draft.called = is_shown.then_some(Called::Made("buffer"));
    draft.remedy = (most_live == 1 && site.is_kept_easily()).then_some(Remedy::Keep);
    draft.own_work = copy;
    draft.saves = saves(facts, site, cpu, Range::exact(faults * again).widened(0.95, 1.0), again);
    // Where they differ in size, each one that is kept may grow as often as sizes double.
    let most = pieces as f64 - most_live as f64;
    let grows = if are_alike { 0.0 } else { most_live as f64 * (metrics.largest_bytes.0.max(2) as f64).log2().ceil() };
    let pieces_gone = draft.saves.allocations;
    draft.saves.allocations =
        Range::new((most - grows).max(0.0).min(pieces_gone.low), pieces_gone.likely, pieces_gone.high);
    // Kept between uses, it is there all the time.
    let live = pattern.most_live_bytes as f64;
    draft.saves.peak_bytes = Range::new(-live, 0.0, 0.0);
    draft.saves.resident_peak_bytes = Range::new(-live, 0.0, 0.0);
    draft.assumptions = vec![
        format!("other inputs, too, need {} at once at most", format::counted(most_live, "block")),
        "the next user of the block does not need it zeroed".to_owned(),
        format!("{} stay allocated between uses", format::bytes(pattern.most_live_bytes)),
    ];
    if is_copy {
        draft.assumptions.push("at most: the original is handed out, and the copy goes, too".to_owned());
    }
    draft.at_most = Confidence::High;
    Some(draft)
}

fn snippet(language: Language, site: &Site, most_live: u64, size: &str) -> String {
    let element = site.element().unwrap_or("std::byte");
    match (language, most_live) {
        (Language::Rust, 1) => {
            "// outside of the loop\nlet mut buffer = Vec::new();\n// inside: keeps its memory\nbuffer.clear();"
                .to_owned()
        }
        (Language::Rust, n) => format!(
            "// a free list of at most {n} buffers; take one, or make it the first time\nlet mut buffer = \
             free.pop().unwrap_or_default();\nbuffer.clear();\n// when it is done with\nfree.push(buffer);"
        ),
        (Language::Cxx, 1) if site.class() == "std::vector" => format!(
            "// outside of the loop\nstd::vector<{element}> buffer;\n// inside: keeps its memory\nbuffer.clear();"
        ),
        (Language::Cxx, 1) => {
            format!("// outside of the loop\nauto buffer = std::make_unique_for_overwrite<std::byte[]>({size});")
        }
        (Language::Cxx, n) => format!(
            "#include <memtoll/buffer_pool.hpp>\nmemtoll::buffer_pool pool({size}, {n});\nauto buffer = \
             pool.lease(); // its end returns the buffer"
        ),
        (Language::C, 1) => format!(
            "static char *buffer;            /* kept from call to call */\nif (!buffer) buffer = malloc({size});"
        ),
        (Language::C, n) => format!(
            "static char *kept[{n}];         /* unused buffers of {size} bytes */\nchar *buffer = count \
             ? kept[--count] : malloc({size});"
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::pattern::Pattern;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};
    use memtoll_trace::ids::Bytes;
    use memtoll_trace::metrics::Metrics;
    use memtoll_trace::op::Op;

    fn frames(most_live: u64) -> Made {
        let (counts, pattern) = blocks(300, 1_382_400);
        let pattern = Pattern { most_live, most_live_bytes: most_live * 1_382_400, ..pattern };
        Made {
            counts: Metrics { small_faults: 300 * 338, ..counts },
            pattern,
            faults: 150e6,
            mapping: 30e6,
            ..Made::default()
        }
    }

    #[test]
    fn buffers_that_fault_each_time_are_kept() {
        let found = drafts(RuleId::Reuse, frames(3));
        assert!(found[0].snippet.contains("kept[3]"), "{}", found[0].snippet);
        let saves = found[0].saves;
        assert_eq!(saves.allocations.likely, 297.0);
        assert!((saves.cpu_ns.likely - 180e6 * 0.99).abs() < 1e6, "{:?}", saves.cpu_ns);
    }

    /// Three buffers of the largest size would take more than was ever live.
    #[test]
    fn buffers_of_different_sizes_get_no_number() {
        let mut made = frames(3);
        made.counts.largest_bytes = Bytes(100 << 20);
        let found = drafts(RuleId::Reuse, made);
        assert!(found[0].snippet.contains("malloc(size)") && found[0].proposes == 0, "{}", found[0].snippet);
        assert!(drafts(RuleId::Reuse, frames(3))[0].snippet.contains("malloc(1382400)"));
    }

    #[test]
    fn buffers_that_are_all_needed_or_whose_pages_stay_are_not() {
        assert!(drafts(RuleId::Reuse, frames(300)).is_empty());
        let mut warm = frames(3);
        warm.counts.small_faults = 400;
        assert!(drafts(RuleId::Reuse, warm).is_empty());
        // An allocator keeps two huge pages: five faults are not for each of the blocks.
        let mut kept = frames(2);
        (kept.counts.small_faults, kept.counts.huge_faults) = (1, 5);
        kept.pattern.most_live_bytes = 2 << 20;
        assert!(drafts(RuleId::Reuse, kept).is_empty());
        // But calloc fills them with zeroes each time.
        let mut zeroed = frames(3);
        zeroed.counts.small_faults = 400;
        zeroed.counts.operations = Op::CALLOC.bit();
        let found = drafts(RuleId::Reuse, zeroed);
        assert!(found[0].evidence.text[1].starts_with("calloc fills 396 MiB"), "{:?}", found[0].evidence.text);
    }
}
