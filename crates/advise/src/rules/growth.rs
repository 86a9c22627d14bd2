//! See growth.md.

use crate::facts::{Draft, Facts, Language};
use crate::finding::{Called, Confidence, Remedy};
use crate::pattern::Room;
use crate::range::Range;
use crate::saving::{Pages, Work, calls, has_own_mappings, pages, saves};
use crate::site::Site;
use memtoll_report::format;

/// Larger blocks have mappings of their own each time: glibc's largest threshold, bytes.
const MOST_LEARNT: u64 = 32 << 20;
/// Fewer steps are not worth a line.
const FEWEST_STEPS: u64 = 8;
/// Smaller final sizes are a case for keeping the elements inside.
const SMALLEST_FINAL: u64 = 128;
/// The same room for all instances is advised if it saves at least this share of what is saved where their numbers are known.
const PAYS: f64 = 0.5;
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
    let pattern = &site.pattern;
    let moved = pattern.steps - pattern.in_place.min(pattern.steps);
    if moved < FEWEST_STEPS || pattern.instances == 0 || pattern.steps * 2 < pattern.instances {
        return None;
    }
    if pattern.quantile(0.9) <= SMALLEST_FINAL && site.row.element.is_some() {
        return None;
    }
    let work = Work::of(facts);
    // Of each instance, one block is left.
    let goes = pattern.steps as f64 / pattern.blocks.max(1) as f64;
    let finals: u64 = pattern.finals.iter().map(|(size, number)| size * number).sum();
    let kept = (finals as f64 / pattern.bytes.max(1) as f64).min(1.0);
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
    // mremap moves pages, and copies nothing.
    let copied =
        if has_own_mappings(site) && site.metrics().reallocations > 0 { copied.widened(0.0, 1.0) } else { copied };
    let mapping = if has_own_mappings(site) { site.mapping.scaled(1.0 - again) } else { Range::default() };
    let known = calls(facts, site, goes).plus(gone.ns).plus(copied).plus(mapping);
    let element = site.row.element.map_or(1, |of| of.size.max(1));
    let unused_byte = facts.tariff.faults().page / facts.page() + work.unmap_page / facts.page();
    let room = Room::best(pattern, element, facts.page() as u64, unused_byte / known.likely.max(1.0));
    let lost = Range::new(0.0, 1.0, 1.5).scaled(room.touched_at_once * unused_byte);
    let fixed = Range { high: known.high, ..known.scaled(room.steps).minus(lost) };
    let is_fixed = fixed.likely >= known.likely * PAYS;
    let mut draft = Draft::of(index);
    let grown = match &site.row.type_name {
        Some(kind) => format!("{} of {kind}", format::counted(pattern.instances, "instance")),
        None => format::counted(pattern.instances, "block"),
    };
    let evidence = &mut draft.evidence;
    evidence.say(format!(
        "{grown} {} in {} and {} {}",
        if pattern.instances == 1 { "grows" } else { "grow" },
        format::counted(moved, "step"),
        if pattern.instances == 1 { "copies" } else { "copy" },
        format::bytes(pattern.copied_bytes)
    ));
    let size = |bytes: u64| match site.row.element {
        Some(element) if element.size > 0 => format::counted(bytes / element.size, "element"),
        _ => format::bytes(bytes),
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
        ("steps", moved),
        ("copied_bytes", pattern.copied_bytes),
        ("final_bytes_median", pattern.quantile(0.5)),
        ("final_bytes_p90", pattern.quantile(0.9)),
        ("final_bytes_max", pattern.quantile(1.0)),
    ] {
        evidence.number(name, value as f64);
    }
    let count = room.bytes / element;
    draft.change = "Make room once, before it is filled".to_owned();
    draft.snippet = snippet(facts.language(site), site, is_fixed.then_some(count));
    draft.called = (facts.language(site) == Language::Cxx).then_some(Called::Filled(object(site)));
    draft.remedy = (is_fixed && can_reserve(site)).then_some(Remedy::Reserve { count });
    draft.saves = saves(facts, site, if is_fixed { fixed } else { known }, gone.faults, goes);
    draft.saves.bytes = Range::exact(pattern.bytes as f64 - finals as f64);
    // While it grows, two blocks are there.
    let largest = pattern.quantile(1.0) as f64;
    draft.saves.peak_bytes = Range::new(0.0, largest * 0.25, largest * 0.5);
    draft.saves.resident_bytes = Range::new(0.0, 0.0, gone.faults.high * facts.page());
    let (spilled, _) = pattern.larger(room.bytes);
    let price = format!(
        "{} still grow and {} are reserved and not used",
        format::counted(spilled, "instance"),
        format::bytes(room.unused)
    );
    draft.at_most = Confidence::High;
    if is_fixed {
        let saves = &mut draft.saves;
        saves.page_faults = saves.page_faults.minus(Range::exact(room.touched_at_once / facts.page()));
        saves.peak_bytes = saves.peak_bytes.minus(Range::exact(room.unused_at_once));
        saves.resident_bytes = saves.resident_bytes.minus(Range::exact(room.touched_at_once));
        draft
            .assumptions
            .push("the number of elements, or a good guess, is known before the first is added".to_owned());
        if pattern.instances > 1 {
            draft.assumptions.push(format!("with room for {}, {price}", size(room.bytes)));
        }
    } else {
        let most = pattern.quantile(0.9);
        let (spilled, _) = pattern.larger(most);
        draft.assumptions.push(format!(
            "the number of elements of each is known before the first is added: the same room for all, such as for {}, costs \
             more memory than it saves time ({} still grow)",
            size(most),
            format::counted(spilled, "instance")
        ));
        draft.at_most = Confidence::Low;
    }
    Some(draft)
}

/// Whether its class has `reserve`, or `with_capacity`.
fn can_reserve(site: &Site) -> bool {
    const CLASSES: [&str; 8] =
        ["std::vector", "std::string", "std::basic_string", "std::unordered_", "Vec", "String", "HashMap", "HashSet"];
    CLASSES.iter().any(|class| site.class().starts_with(class))
}

/// What the snippet calls the container, in C++.
fn object(site: &Site) -> &'static str {
    if site.class().starts_with("std::unordered") { "table" } else { "items" }
}

/// With room for so many, or for as many as will come.
fn snippet(language: Language, site: &Site, count: Option<u64>) -> String {
    let class = site.class();
    let number = count.map_or_else(|| "n".to_owned(), |count| count.to_string());
    match language {
        Language::Rust => {
            let class = if class.is_empty() { "Vec" } else { class };
            format!("{class}::with_capacity({number}) // or .reserve(n) before the loop")
        }
        Language::Cxx => {
            let object = object(site);
            let why = if object == "table" { "insertion: no rehashing" } else { "push_back" };
            format!("{object}.reserve({number}); // before the first {why}")
        }
        Language::C => {
            format!("buffer = malloc({number}); /* the expected size; realloc only beyond it, by a factor of 2 */")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::finding::Confidence;
    use crate::testing::{Made, blocks, drafts};
    use memtoll_trace::summary::Metrics;

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
        let counts = Metrics { faults: 256, ..counts };
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
        let found = drafts("growth", vector(18, 0));
        assert_eq!(found[0].snippet, "items.reserve(262144); // before the first push_back");
        assert!(found[0].saves.cpu_ns.likely > 1e5, "{:?}", found[0].saves.cpu_ns);
        assert_eq!(found[0].saves.allocations.likely, 18.0);
    }

    #[test]
    fn growth_in_place_and_few_steps_are_nothing() {
        assert!(drafts("growth", vector(18, 18)).is_empty());
        assert!(drafts("growth", vector(4, 0)).is_empty());
    }

    /// Vectors of which four of five get one element and the others 128, so many of them live at once.
    fn lists(most_live: u64) -> Made {
        let (counts, pattern) = blocks(8 * 20_000, 128);
        let pattern = crate::pattern::Pattern {
            steps: 7 * 20_000,
            instances: 100_000,
            finals: [(8, 80_000), (1024, 20_000)].into_iter().collect(),
            copied_bytes: 20_000 * 1016,
            most_live,
            ..pattern
        };
        Made {
            type_name: "std::vector<Edge*>",
            element: 8,
            counts,
            pattern,
            allocator: 10e6,
            faults: 1e6,
            ..Made::default()
        }
    }

    #[test]
    fn room_for_all_is_not_advised_where_most_would_not_use_it() {
        let found = &drafts("growth", lists(100_000))[0];
        assert_eq!(found.snippet, "items.reserve(n); // before the first push_back");
        assert!(found.remedy.is_none() && found.at_most == Confidence::Low);
        assert!(found.assumptions[0].contains("costs more memory than it saves time"), "{:?}", found.assumptions);
        // One after the other, they use the same memory.
        let found = &drafts("growth", lists(1))[0];
        assert_eq!(found.snippet, "items.reserve(128); // before the first push_back");
        assert!(found.remedy.is_some() && found.at_most == Confidence::High);
        assert!(found.assumptions[1].ends_with("77.5 MiB are reserved and not used"), "{:?}", found.assumptions);
    }
}
