//! See arena.md.

use super::temporary::is_shared;
use crate::byte_costs::Work;
use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use crate::range::Range;
use crate::saving::{calls, making, pages, saves};
use crate::site::Site;
use memtoll_text::format;

const FEWEST: u64 = 2000;
/// Larger blocks are few for their bytes.
const LARGEST_MEAN: u64 = 1024;
/// Share of the CPU time: a smaller one is not worth a change of who owns the blocks.
const LEAST_SHARE: f64 = 0.02;
/// What a pool's own work is, ns a block: `string_pool_once_bench` of the remedies.
const BUMP: Range = Range { low: 1.0, likely: 2.0, high: 4.0 };
/// Of making, filling and dropping the objects: they are filled as before, and many have to be dropped.
const GOES: Range = Range { low: 0.0, likely: 0.3, high: 0.7 };
/// A cache line that is no longer written between two blocks, ns.
const LINE: Range = Range { low: 0.0, likely: 3.0, high: 15.0 };

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

/// What lies in the blocks, as far as the advice depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Text,
    Objects,
    Anything,
}

fn content(site: &Site) -> Option<Content> {
    match site.class() {
        "" => Some(Content::Anything),
        "std::string" | "std::basic_string" | "String" => Some(Content::Text),
        "Box" if site.element().is_some_and(|of| of == "str" || of.starts_with('[')) => Some(Content::Text),
        "Rc" | "Arc" if site.element() == Some("str") => Some(Content::Text),
        // Other containers have rules of their own.
        class if ["std::vector", "Vec", "std::deque", "std::list", "std::map", "std::set"].contains(&class) => None,
        class
            if ["unordered_", "boost::", "HashMap", "HashSet", "BTree", "LinkedList", "std::function"]
                .iter()
                .any(|name| class.contains(name)) =>
        {
            None
        }
        _ => Some(Content::Objects),
    }
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let content = content(site)?;
    // Without a type and without a line, the owner of the blocks is unknown: interpreters allocate all kinds in one place.
    if content == Content::Anything && facts.line(site).is_none() {
        return None;
    }
    let (pattern, metrics) = (&site.pattern, site.metrics());
    // What dies in many small lots would need as many pools, and code that knows when each ends. Large lots have one each.
    let is_of_lots = pattern.drained * 2 >= pattern.blocks;
    let is_together = pattern.most_live >= FEWEST && (pattern.most_live * 4 >= pattern.blocks || is_of_lots);
    let is_many = pattern.blocks >= FEWEST && site.mean_size() <= LARGEST_MEAN && is_together;
    if !is_many || metrics.reallocations > 0 || pattern.steps * 50 > pattern.blocks || !site.dies_together() {
        return None;
    }
    let work = Work::of(&facts.tariff);
    let mut gone = pages(facts, site, 0.0);
    // Lot by lot, the heap is trimmed and faults again; one pool keeps its memory for the next lot.
    if is_of_lots {
        let again = 1.0 - pattern.most_live as f64 / pattern.drained.max(1) as f64;
        let all = site.metrics().small_faults as f64;
        gone.faults = Range::new(gone.faults.low, (all * again).max(gone.faults.likely), all);
        gone.ns = Range::new(gone.ns.low, site.faults.likely * again, site.faults.high);
    }
    // What the pool touches instead: its blocks without headers, all that are live at once.
    let touched = pattern.most_live_bytes as f64;
    let fresh = work.fresh_byte.scaled(touched);
    let lines = (pattern.heap_bytes.saturating_sub(pattern.bytes)) as f64 / 64.0;
    let blocks = pattern.blocks as f64;
    let made = making(facts, site, GOES);
    let mapping = if is_of_lots { site.mapping.widened(0.0, 1.0) } else { Range::default() };
    let cpu = calls(facts, site, 1.0)
        .plus(gone.ns)
        .plus(mapping)
        .plus(made)
        .plus(LINE.scaled(lines))
        .minus(BUMP.scaled(blocks))
        .minus(fresh);
    // Objects that lie side by side are walked faster; only plain runs tell how much that may be.
    let cpu = if facts.own.is_known() { cpu } else { cpu.or_more() };
    if cpu.likely < facts.processor().unwrap_or(0.0) * LEAST_SHARE {
        return None;
    }
    let mut draft = Draft::of(index);
    let evidence = &mut draft.evidence;
    evidence.say(format!(
        "{} of {} on average{}, none of them resized; {} live at once",
        format::counted(pattern.blocks, "block"),
        format::bytes(site.mean_size()),
        site.row.type_name.as_ref().map_or(String::new(), |name| format!(" ({name})")),
        format::count(pattern.most_live)
    ));
    evidence.say(format!(
        "they die together: {} {} released one after the other with no allocation in between, {} {} never released",
        format::count(pattern.in_bulk),
        format::are(pattern.in_bulk),
        format::count(pattern.kept),
        format::are(pattern.kept)
    ));
    let headers = pattern.heap_bytes.saturating_sub(pattern.bytes);
    evidence.say(format!(
        "the heap takes {} more than they ask for: headers, and sizes rounded up",
        format::percent(headers, pattern.bytes)
    ));
    for (name, value) in [
        ("blocks", pattern.blocks),
        ("bytes", pattern.bytes),
        ("most_live", pattern.most_live),
        ("released_in_bulk", pattern.in_bulk),
        ("never_released", pattern.kept),
        ("heap_bytes", pattern.heap_bytes),
    ] {
        evidence.number(name, value as f64);
    }
    draft.change = match content {
        Content::Text => "Put the strings into a pool that is dropped as a whole".to_owned(),
        Content::Objects => "Take the objects from an arena that is dropped as a whole".to_owned(),
        Content::Anything => "Take the blocks from a pool that is dropped as a whole".to_owned(),
    };
    draft.snippet = match (is_shared(site), facts.language(site)) {
        (true, Language::C | Language::Cxx) => shared(site, pattern.most_live_bytes),
        (_, language) => snippet(language, content, site, pattern.most_live_bytes),
    };
    draft.proposes = pattern.most_live_bytes;
    let faults = gone.faults.minus(Range::new(touched / facts.page() * 1.05, touched / facts.page() * 0.3, 0.0));
    draft.saves = saves(facts, site, cpu, faults, 1.0);
    draft.own_work = made.plus(LINE.scaled(lines));
    // A pool doubles its pieces: it takes some itself, for each lot.
    let lots = (pattern.blocks as f64 / pattern.most_live.max(1) as f64).ceil();
    let pieces = lots * (touched / facts.page()).max(2.0).log2().ceil();
    draft.saves.allocations = Range::new((blocks - pieces).max(0.0), blocks, blocks);
    draft.saves.bytes = Range::exact(0.0);
    draft.saves.peak_bytes = Range::new(-touched * 0.1, 0.0, 0.0);
    let headers = (pattern.heap_bytes as f64 - pattern.bytes as f64) * touched / (pattern.bytes as f64).max(1.0);
    draft.saves.resident_peak_bytes = Range::new(-(2 << 20) as f64, headers * 0.9, headers * 1.1 + facts.page());
    draft.assumptions = vec![
        "nothing is freed or resized alone: memory comes back only when the pool goes".to_owned(),
        "destructors of what lies in the pool need not run, or run as before".to_owned(),
        format!(
            "the pool gets huge pages at best, and pages one by one at worst, for {}",
            format::bytes(pattern.most_live_bytes)
        ),
    ];
    draft.at_most = Confidence::High;
    Some(draft)
}

/// Objects that are shared, in a pool.
fn shared(site: &Site, bytes: u64) -> String {
    let object = site.row.type_name.as_deref().unwrap_or("T");
    format!(
        "#include <memory_resource>\nstd::pmr::monotonic_buffer_resource pool({bytes}); // outlives all of them\n\
         auto item = std::allocate_shared<{object}>(std::pmr::polymorphic_allocator<{object}>(&pool)); // in place of \
         make_shared"
    )
}

fn snippet(language: Language, content: Content, site: &Site, bytes: u64) -> String {
    let wide = site.element().unwrap_or("char");
    match (language, content) {
        (Language::Rust, Content::Text) => {
            format!(
                "let pool = bumpalo::Bump::with_capacity({bytes}); // crate bumpalo\nlet text: &str = \
                 pool.alloc_str(&text);"
            )
        }
        (Language::Rust, _) => {
            let object = site.element().unwrap_or("value");
            format!(
                "let pool = bumpalo::Bump::with_capacity({bytes}); // crate bumpalo\nlet item: &mut {object} = \
                 pool.alloc(value);"
            )
        }
        (Language::Cxx, Content::Text) if wide == "char16_t" => {
            format!(
                "#include <memtoll/string_pool.hpp>\nmemtoll::u16string_pool strings;\nstrings.reserve({bytes} / \
                 sizeof(char16_t)); // if it is known\nstd::u16string_view text = strings.add(source);"
            )
        }
        (Language::Cxx, Content::Text) => {
            format!(
                "#include <memtoll/string_pool.hpp>\nmemtoll::string_pool strings;\nstrings.reserve({bytes}); // \
                 if it is known\nstd::string_view text = strings.add(source);"
            )
        }
        (Language::Cxx, Content::Objects) => {
            let object = site.element().or(site.row.type_name.as_deref()).unwrap_or("T");
            format!(
                "#include <memory_resource>\nstd::pmr::monotonic_buffer_resource pool({bytes});\n\
                 std::pmr::polymorphic_allocator<> from(&pool);\n{object}* item = from.new_object<{object}>(/* \
                     ... */); // pool.release() frees all"
            )
        }
        (Language::Cxx, Content::Anything) => {
            format!(
                "#include <memtoll/string_pool.hpp>                  // text: one pool for all strings\n\
                 memtoll::string_pool strings;                        // u16string_pool, u32string_pool for wide \
                     ones\nstd::string_view text = strings.add(source);\n#include \
                         <memory_resource>                           // anything else\n\
                             std::pmr::monotonic_buffer_resource pool({bytes});  // pool.release() frees all\n\
                                 void* block = pool.allocate(size, alignment);"
            )
        }
        (Language::C, _) => {
            format!(
                "struct pool {{ char *next, *end; }};  /* one block of {bytes} bytes, or a chain of large ones \
                 */\nchar *block = pool->next; pool->next += (size + 15) & ~(size_t)15;  /* free the large \
                     blocks, never this one */"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::pattern::Pattern;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};

    fn strings(type_name: &'static str) -> Made {
        let (counts, pattern) = blocks(480_000, 32);
        Made { type_name, counts, pattern, allocator: 12e6, faults: 13e6, ..Made::default() }
    }

    #[test]
    fn strings_that_die_together_get_a_pool() {
        let found = drafts(RuleId::Arena, strings("std::basic_string<char16_t>"));
        assert!(found[0].snippet.contains("u16string_pool"), "{}", found[0].snippet);
        let saves = found[0].saves;
        assert!(saves.cpu_ns.low > 5e6 && saves.cpu_ns.likely < 30e6 && saves.cpu_ns.is_open(), "{:?}", saves.cpu_ns);
        assert_eq!(saves.allocations.likely, 480_000.0);
        let objects = drafts(RuleId::Arena, strings("Box<app::Node>"));
        assert!(objects[0].snippet.contains("bumpalo"), "{}", objects[0].snippet);
    }

    #[test]
    fn shared_objects_come_from_a_pool_with_their_counters() {
        let made = Made {
            type_name: "Node",
            through: vec!["operator new(unsigned long)", "std::make_shared<Node>()"],
            ..strings("Node")
        };
        let found = drafts(RuleId::Arena, made);
        assert!(found[0].snippet.contains("std::allocate_shared<Node>"), "{}", found[0].snippet);
    }

    #[test]
    fn what_is_resized_or_freed_alone_does_not() {
        let with = |change: fn(&mut Made)| {
            let mut made = strings("");
            change(&mut made);
            drafts(RuleId::Arena, made).len()
        };
        assert_eq!(with(|_| {}), 1);
        assert_eq!(with(|made| made.counts.reallocations = 5), 0);
        assert_eq!(with(|made| made.pattern.in_bulk = 400_000), 0);
        assert_eq!(with(|made| made.pattern = Pattern { most_live: 100, ..made.pattern.clone() }), 0);
        assert_eq!(with(|made| made.type_name = "std::vector<int>"), 0);
        let cheap = |made: &mut Made| {
            (made.allocator, made.faults) = (0.0, 0.0);
            (made.counts.timed_calls, made.counts.small_faults) = (0, 0);
        };
        assert_eq!(with(cheap), 0, "there is too little to gain");
    }
}
