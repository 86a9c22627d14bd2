//! See growth.md.

use crate::byte_costs::Work;
use crate::facts::{Draft, Facts, Language};
use crate::finding::{Called, Confidence, Remedy};
use crate::range::Range;
use crate::saving::{Pages, calls, has_own_mappings, pages, saves};
use crate::site::{Site, makes_room};
use memtoll_analysis::element_counts::elements_of;
use memtoll_text::format;

/// Larger blocks have mappings of their own each time: glibc's largest threshold, bytes.
const MOST_LEARNT: u64 = 32 << 20;
/// Fewer steps are not worth a line.
const FEWEST_STEPS: u64 = 8;
/// Smaller final sizes are a case for keeping the elements inside.
const SMALLEST_FINAL: u64 = 128;
/// What moving an element of a container takes beyond its bytes, ns: nothing for bytes, some for strings.
const MOVE: Range = Range { low: 0.0, likely: 0.6, high: 4.0 };

/// Functions in which blocks are copied or elements are moved when something grows.
pub fn is_copy(function: &str) -> bool {
    let name = function.trim_start_matches('_');
    ["memmove", "memcpy", "mempcpy", "GI_memmove", "GI_memcpy"].iter().any(|start| name.starts_with(start))
        || ["_M_realloc_", "__relocate", "_M_reallocate", "_M_rehash", "_M_mutate"]
            .iter()
            .any(|part| function.contains(part))
}

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    if super::append::is_appending(facts, site) {
        return None;
    }
    let pattern = &site.pattern;
    let in_place = pattern.in_place.min(pattern.steps);
    if pattern.steps < FEWEST_STEPS || pattern.instances == 0 || pattern.steps * 2 < pattern.instances {
        return None;
    }
    if pattern.quantile(0.9) <= SMALLEST_FINAL && site.row.element.is_some() {
        return None;
    }
    let work = Work::of(&facts.tariff);
    // Of each instance, one block is left.
    let goes = pattern.steps as f64 / pattern.blocks.max(1) as f64;
    let finals: u64 = pattern.finals.iter().map(|(size, number)| size * number).sum();
    let kept = (finals as f64 / pattern.bytes.max(1) as f64).min(1.0);
    // What grows where it is has the same pages before and after.
    let kept = kept + (1.0 - kept) * in_place as f64 / pattern.steps as f64;
    // glibc learns to keep blocks as large as those that were given back: what is freed before the next one is taken stays.
    let finals_live = pattern.quantile(1.0) * (pattern.most_live.saturating_sub(1)).clamp(1, pattern.instances);
    let learns =
        has_own_mappings(site) && pattern.quantile(1.0) <= MOST_LEARNT && pattern.kept * 10 <= pattern.instances;
    let again = if learns { (finals_live as f64 / pattern.bytes.max(1) as f64).min(kept) } else { kept };
    let (most, gone) = (pages(facts, site, again), pages(facts, site, kept));
    let gone = Pages {
        faults: Range::new(gone.faults.low, most.faults.likely, most.faults.high),
        ns: Range::new(
            if learns { (gone.ns.low + most.ns.low) / 2.0 } else { gone.ns.low },
            most.ns.likely,
            most.ns.high,
        ),
    };
    let copied = work.copy_byte.scaled(pattern.copied_bytes as f64);
    let elements = site.row.element.map_or(0.0, |of| pattern.copied_bytes as f64 / of.size.max(1) as f64);
    let copied = copied.plus(MOVE.scaled(elements));
    let copied = facts.own.inside(is_copy).map_or(copied, |most| copied.of_at_most_about(most));
    // What realloc copies, it copies inside of its calls, which are counted already.
    let by_realloc = site.metrics().reallocations as f64 / pattern.steps as f64;
    let copied = copied.scaled((1.0 - by_realloc).max(0.0));
    let mapping = if has_own_mappings(site) { site.mapping.scaled(1.0 - again) } else { Range::default() };
    let known = calls(facts, site, goes).plus(gone.ns).plus(copied).plus(mapping);
    let mut draft = Draft::of(index);
    let grown = match &site.row.type_name {
        Some(kind) => format!("{} of {kind}", format::counted(pattern.instances, "instance")),
        None => format::counted(pattern.instances, "block"),
    };
    let evidence = &mut draft.evidence;
    evidence.say(format!(
        "{grown} {} in {}{} and {} {}",
        format::plural(pattern.instances, "grows", "grow"),
        format::counted(pattern.steps, "step"),
        if in_place > 0 { format!(", {} of them in place,", format::count(in_place)) } else { String::new() },
        format::plural(pattern.instances, "copies", "copy"),
        format::bytes(pattern.copied_bytes)
    ));
    let size = |bytes: u64| match site.row.element {
        Some(element) => elements_of(bytes, element)
            .map_or_else(|| format::bytes(bytes), |elements| format::counted(elements, "element")),
        None => format::bytes(bytes),
    };
    let shown = |share: f64| size(pattern.quantile(share));
    evidence.say(match pattern.instances {
        1 => format!("its last block has room for {}", shown(1.0)),
        _ => format!(
            "the last blocks have room for {} in the median, {} in nine of ten, {} at most",
            shown(0.5),
            shown(0.9),
            shown(1.0)
        ),
    });
    for (name, value) in [
        ("instances", pattern.instances),
        ("steps", pattern.steps),
        ("in_place", in_place),
        ("copied_bytes", pattern.copied_bytes),
        ("final_bytes_median", pattern.quantile(0.5)),
        ("final_bytes_p90", pattern.quantile(0.9)),
        ("final_bytes_max", pattern.quantile(1.0)),
    ] {
        evidence.number(name, value as f64);
    }
    draft.change = "Make room once, before it is filled".to_owned();
    draft.snippet = snippet(facts.language(site), site);
    draft.called = (facts.language(site) == Language::Cxx).then_some(Called::Filled(object(site).0));
    draft.remedy = can_reserve(site).then_some(Remedy::Reserve);
    draft.saves = saves(facts, site, known, gone.faults, goes);
    draft.own_work = copied;
    draft.saves.bytes = Range::exact(pattern.bytes as f64 - finals as f64);
    // While it moves, two blocks are there; of what is there at the peak, an old block is a part.
    let largest = (pattern.quantile(1.0) as f64).min(site.metrics().peak_bytes.0 as f64)
        * (1.0 - in_place as f64 / pattern.steps as f64);
    draft.saves.peak_bytes = Range::new(0.0, largest * 0.25, largest * 0.5);
    draft.saves.resident_peak_bytes = Range::new(0.0, 0.0, gone.faults.high * facts.page());
    draft.assumptions.push(
        "n is the number of elements that will be there, which the program knows before the first is added: a capacity of \
         this run is rounded up, and wrong for the next input"
            .to_owned(),
    );
    draft.at_most = Confidence::Medium;
    Some(draft)
}

/// Whether its class has `reserve`, or `with_capacity`.
fn can_reserve(site: &Site) -> bool {
    const CLASSES: [&str; 8] =
        ["std::vector", "std::string", "std::basic_string", "std::unordered_", "Vec", "String", "HashMap", "HashSet"];
    let class = site.class();
    CLASSES.iter().any(|known| class.starts_with(known)) || class.is_empty() && makes_room(&site.through)
}

/// What the snippet calls the container, in C++, and what it makes room for.
fn object(site: &Site) -> (&'static str, &'static str) {
    match site.class().starts_with("std::unordered") {
        true => ("table", "insertion: no rehashing"),
        false => ("items", "push_back"),
    }
}

/// With room for as many as will come. A number would be one of this run, and of bytes where the size of an element is not
/// known.
fn snippet(language: Language, site: &Site) -> String {
    let class = site.class();
    match language {
        Language::Rust => {
            let class = if class.is_empty() { "Vec" } else { class };
            format!("{class}::with_capacity(n) // or .reserve(n) before the loop")
        }
        Language::Cxx => {
            let (object, why) = object(site);
            format!("{object}.reserve(n); // before the first {why}")
        }
        Language::C => {
            "buffer = malloc(n); /* the size that is needed; realloc only beyond it, by a factor of 2 */".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};
    use memtoll_trace::metrics::Metrics;

    fn vector(steps: u64, in_place: u64) -> Made {
        let (counts, pattern) = blocks(steps + 1, 1 << 16);
        let pattern = crate::pattern::Pattern {
            steps,
            in_place,
            instances: 1,
            finals: [(1 << 20, 1)].into_iter().collect(),
            copied_bytes: 1 << 20,
            ..pattern
        };
        let counts = Metrics { small_faults: 256, ..counts };
        Made {
            type_name: "std::vector<int>",
            element: 4,
            counts,
            pattern,
            allocator: 1e5,
            faults: 3e5,
            ..Made::default()
        }
    }

    #[test]
    fn a_vector_that_grows_gets_room() {
        let found = drafts(RuleId::Growth, vector(18, 0));
        assert_eq!(found[0].snippet, "items.reserve(n); // before the first push_back");
        assert!(found[0].saves.cpu_ns.likely > 1e5, "{:?}", found[0].saves.cpu_ns);
        assert_eq!(found[0].saves.allocations.likely, 18.0);
    }

    #[test]
    fn growth_in_place_saves_its_calls_and_no_pages() {
        let (moves, stays) = (&drafts(RuleId::Growth, vector(18, 0))[0], &drafts(RuleId::Growth, vector(18, 18))[0]);
        assert!(stays.evidence.text[0].contains("in 18 steps, 18 of them in place,"), "{:?}", stays.evidence);
        assert!(stays.saves.cpu_ns.likely > 0.0 && stays.saves.cpu_ns.likely < moves.saves.cpu_ns.likely);
        assert_eq!(stays.saves.faults.likely, 0.0);
    }

    #[test]
    fn few_steps_are_nothing() {
        assert!(drafts(RuleId::Growth, vector(4, 0)).is_empty());
    }

    /// Without the size of an element, a number would be one of bytes; with it, one of this run.
    #[test]
    fn no_snippet_has_a_number_of_this_run() {
        for (type_name, element) in
            [("std::vector<R>", 0), ("std::vector<R>", 104), ("std::string", 1), ("Vec<Rec>", 0), ("", 0)]
        {
            let found = drafts(RuleId::Growth, Made { type_name, element, ..vector(18, 0) });
            assert!(
                !found[0].snippet.contains(|c: char| c.is_ascii_digit()) || type_name.is_empty(),
                "{}",
                found[0].snippet
            );
            assert!(found[0].snippet.contains("(n)"), "{}", found[0].snippet);
        }
    }
}
