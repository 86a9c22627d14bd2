//! See small_vectors.md.

use crate::byte_costs::Work;
use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use crate::range::Range;
use crate::saving::{calls, making, pages, saves};
use crate::site::Site;
use memtoll_text::format;

/// Fewer instances are not worth another type.
const FEWEST: u64 = 500;
/// More bytes inside an object make it too large to be moved and passed around.
const MOST_INSIDE: u64 = 512;
/// The same for vectors that grow: their owners move while they are short, and `reserve` helps them as well.
const MOST_INSIDE_GROWN: u64 = 128;
/// Of making, filling and dropping a vector: its elements are filled as before.
const GOES: Range = Range { low: 0.2, likely: 0.6, high: 1.0 };
/// Bytes of a vector itself.
const VECTOR: u64 = 24;
/// Classes that keep their elements in one block and can keep them inside.
const CLASSES: [&str; 2] = ["std::vector", "Vec"];

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

/// A capacity, and what it would do.
struct Choice {
    elements: u64,
    spilled: u64,
    wasted: u64,
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let element = site.row.element?;
    let (metrics, pattern) = (site.metrics(), &site.pattern);
    let is_vector = CLASSES.contains(&site.class()) && element.size > 0;
    // One that is freed at once is hoisted.
    let is_temporary = metrics.temporary * 10 >= site.acquired() * 9;
    if !is_vector || is_temporary || pattern.instances < FEWEST {
        return None;
    }
    let choices: Vec<Choice> =
        capacities(site, element.size).into_iter().map(|n| choice(site, element.size, n)).collect();
    // Each spilled instance pays twice, each unused byte a little; what is left is the gain.
    let loss = |choice: &Choice| choice.spilled * 64 + choice.wasted;
    let best = choices.iter().min_by_key(|choice| (loss(choice), choice.elements))?;
    let inside = best.elements * element.size;
    let stays = best.spilled as f64 / pattern.instances as f64;
    let wasted_share = best.wasted as f64 / (pattern.instances * inside).max(1) as f64;
    let most = if pattern.steps * 10 > pattern.instances { MOST_INSIDE_GROWN } else { MOST_INSIDE };
    if inside > most || stays > 0.1 || wasted_share > 0.5 {
        return None;
    }
    let bytes: u64 = pattern.instances * inside;
    let kept = bytes as f64 / pattern.heap_bytes.max(1) as f64;
    let work = Work::of(&facts.tariff);
    let gone = pages(facts, site, kept.min(1.0));
    // If as many are always there, a plain array does, and the owner loses the vector's three pointers, too: their pages
    // fault as the elements' do.
    let pointers = (pattern.most_live * VECTOR) as f64 / facts.page();
    let fault = (site.faults.likely / metrics.small_faults.max(1) as f64).max(work.fresh_byte.high * facts.page())
        + work.unmap_page;
    let all_pages = Range::new(0.0, pointers / 2.0, pointers);
    let faults = gone.faults.plus(all_pages);
    let pages_ns = gone.ns.plus(all_pages.scaled(fault));
    // What grew was copied on the way; what is inside is copied when its owner moves.
    let grown = work.copy_byte.scaled(pattern.copied_bytes as f64);
    // Elements are filled as before: what that takes of making them stays.
    let (made, filled) = (making(facts, site, GOES), work.fill_byte.scaled(pattern.bytes as f64));
    let made = Range::new(0.0, (made.likely - filled.high).max(0.0), (made.high - filled.likely).max(0.0));
    let made = made.scaled(1.0 - stays);
    let cpu = calls(facts, site, 1.0 - stays).plus(pages_ns).plus(grown).plus(made);
    let mut draft = Draft::of(index);
    let type_name = site.row.type_name.clone().unwrap_or_default();
    let of = element_name(site);
    let evidence = &mut draft.evidence;
    let sizes = [0.5, 0.9, 0.99, 1.0].map(|share| pattern.quantile(share) / element.size);
    evidence.say(match sizes[0] == sizes[3] {
        true => format!(
            "{} × {type_name}, each with a block for {} ({})",
            format::count(pattern.instances),
            format::counted(sizes[0], "element"),
            format::bytes(sizes[0] * element.size)
        ),
        false => format!(
            "{} × {type_name} with room for {} in the median, {} in nine of ten, {} at most",
            format::count(pattern.instances),
            format::counted(sizes[0], "element"),
            sizes[1],
            sizes[3]
        ),
    });
    if pattern.steps > 0 {
        evidence.say(format!(
            "they grow {} on the way and copy {}",
            format::counted(pattern.steps, "time"),
            format::bytes(pattern.copied_bytes)
        ));
    }
    for choice in &choices {
        evidence.say(format!(
            "inside for {}: {} to the heap, {} unused",
            format::counted(choice.elements, "element"),
            match choice.spilled {
                1 => "1 instance still goes".to_owned(),
                spilled => format!("{} still go", format::counted(spilled, "instance")),
            },
            format::bytes(choice.wasted)
        ));
    }
    for (name, value) in [
        ("instances", pattern.instances),
        ("capacity", best.elements),
        ("element_bytes", element.size),
        ("elements_median", sizes[0]),
        ("elements_p90", sizes[1]),
        ("elements_p99", sizes[2]),
        ("elements_max", sizes[3]),
        ("growth_steps", pattern.steps),
    ] {
        evidence.number(name, value as f64);
    }
    let elements = best.elements;
    draft.proposes = pattern.most_live * inside;
    draft.change = format!("Keep up to {} inside the object that owns them", format::counted(elements, "element"));
    draft.snippet = match facts.language(site) {
        Language::Rust => {
            format!("use smallvec::SmallVec; // crate smallvec\nSmallVec<[{of}; {elements}]> // instead of Vec<{of}>")
        }
        _ => format!(
            "#include <boost/container/small_vector.hpp>\nboost::container::small_vector<{of}, {elements}> // \
             instead of std::vector<{of}>"
        ),
    };
    draft.saves = saves(facts, site, cpu, faults, 1.0 - stays);
    draft.faults_elsewhere = pointers;
    draft.own_work = grown.plus(made).plus(pages_ns.minus(gone.ns));
    // The elements are still there, in the owner's block.
    draft.saves.bytes = Range::exact(pattern.bytes as f64 - bytes as f64);
    draft.saves.peak_bytes = Range::exact(metrics.peak_bytes.0 as f64 - (metrics.peak_blocks * inside) as f64);
    let resident = faults.scaled(facts.page());
    draft.saves.resident_peak_bytes = Range::new(resident.low.min(0.0), resident.likely, resident.high);
    draft.assumptions = vec![
        format!(
            "other inputs need no more than {}: an instance with more pays for its block and for the unused room \
             inside",
            format::counted(elements, "element")
        ),
        format!(
            "the owner can be {} larger: it is copied and moved with its elements",
            format::bytes(inside.saturating_sub(8))
        ),
    ];
    draft.at_most = Confidence::High;
    Some(draft)
}

/// Capacities worth weighing: those that half, nine of ten, 99 of 100 and all instances need.
fn capacities(site: &Site, size: u64) -> Vec<u64> {
    let mut all: Vec<u64> = [0.5, 0.9, 0.99, 1.0].iter().map(|share| site.pattern.quantile(*share) / size).collect();
    all.retain(|elements| *elements > 0 && elements * size <= MOST_INSIDE);
    all.dedup();
    all
}

fn choice(site: &Site, size: u64, elements: u64) -> Choice {
    let inside = elements * size;
    let (spilled, _) = site.pattern.larger(inside);
    let fits = site.pattern.finals.iter().filter(|(bytes, _)| **bytes <= inside);
    let unused: u64 = fits.map(|(bytes, number)| (inside - bytes) * number).sum();
    Choice { elements, spilled, wasted: unused + spilled * inside }
}

fn element_name(site: &Site) -> String {
    site.element().unwrap_or("T").to_owned()
}

#[cfg(test)]
mod tests {
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};

    fn cells(capacities: &[(u64, u64)]) -> Made {
        let number = capacities.iter().map(|(_, number)| number).sum();
        let (counts, pattern) = blocks(number, 480);
        let finals = capacities.iter().map(|(elements, number)| (elements * 4, *number)).collect();
        let pattern = crate::pattern::Pattern { finals, ..pattern };
        Made { type_name: "std::vector<Cell>", element: 4, counts, pattern, allocator: 1e6, ..Made::default() }
    }

    #[test]
    fn equal_vectors_get_room_for_all_their_elements() {
        let found = drafts(RuleId::SmallVectors, cells(&[(120, 9001)]));
        assert_eq!(found.len(), 1);
        assert!(found[0].snippet.contains("boost::container::small_vector<Cell, 120>"), "{}", found[0].snippet);
        assert_eq!(found[0].saves.allocations.likely, 9001.0);
        assert!(found[0].saves.cpu_ns.low > 0.5e6, "{:?}", found[0].saves.cpu_ns);
    }

    /// Where a plain array does, 24 bytes of each owner go, too: 2,148 faults were saved where 1,023 were predicted at the most.
    #[test]
    fn the_owners_pages_may_go_too() {
        let (counts, pattern) = blocks(200_000, 12);
        let counts = memtoll_trace::metrics::Metrics { small_faults: 1563, ..counts };
        let finals = [(12, 200_000)].into_iter().collect();
        let pattern = crate::pattern::Pattern { finals, ..pattern };
        let items = Made {
            type_name: "std::vector<unsigned int>",
            element: 4,
            counts,
            pattern,
            faults: 2e6,
            ..Made::default()
        };
        let saves = drafts(RuleId::SmallVectors, items)[0].saves;
        assert!((2140.0..2200.0).contains(&saves.faults.high), "{:?}", saves.faults);
        assert!(saves.faults.low > 800.0 && saves.faults.likely < 2000.0, "{:?}", saves.faults);
    }

    #[test]
    fn a_capacity_that_few_need_is_not_taken() {
        let found = drafts(RuleId::SmallVectors, cells(&[(4, 9700), (120, 300)]));
        assert!(found[0].snippet.contains("small_vector<Cell, 4>"), "{}", found[0].snippet);
        assert!(
            found[0].evidence.text.iter().any(|text| text.contains("for 4 elements: 300 instances")),
            "{:?}",
            found[0].evidence
        );
    }

    #[test]
    fn few_large_or_scattered_vectors_stay_as_they_are() {
        assert!(drafts(RuleId::SmallVectors, cells(&[(120, 400)])).is_empty(), "few");
        assert!(drafts(RuleId::SmallVectors, cells(&[(200, 9001)])).is_empty(), "large");
        assert!(drafts(RuleId::SmallVectors, cells(&[(2, 4000), (60, 3000), (1000, 3000)])).is_empty(), "scattered");
        let other = Made { type_name: "std::string", ..cells(&[(120, 9001)]) };
        assert!(drafts(RuleId::SmallVectors, other).is_empty(), "no vector");
    }
}
