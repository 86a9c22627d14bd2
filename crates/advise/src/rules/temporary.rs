//! See temporary.md.

use crate::facts::{Draft, Facts, Language};
use crate::finding::{Called, Confidence, Remedy};
use crate::formatters::formatter;
use crate::range::Range;
use crate::saving::{calls, making, saves};
use crate::site::Site;
use memtoll_analysis::detectors::are_temporary;
use memtoll_text::format;
use memtoll_trace::ids::Bytes;

/// Of making, filling and dropping the object, what goes with a view.
const VIEWED: Range = Range { low: 0.4, likely: 0.8, high: 1.0 };
/// The same with an object that is kept: it is filled as before.
const KEPT: Range = Range { low: 0.0, likely: 0.4, high: 0.8 };
/// Larger ones are a matter of page faults.
const LARGEST_MEAN: u64 = 64 << 10;
/// Bytes that may lie on the stack.
const ON_STACK: u64 = 4 << 10;

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let (metrics, pattern) = (site.metrics(), &site.pattern);
    let acquired = site.acquired();
    if !are_temporary(metrics)
        || site.mean_size() >= LARGEST_MEAN
        || formatter(site).is_some()
        || metrics.bytes == Bytes::ZERO
    {
        return None;
    }
    let share = metrics.temporary as f64 / acquired as f64;
    let largest = pattern.quantile(0.99).max(1);
    let is_text = matches!(site.class(), "std::string" | "String" | "std::basic_string");
    let goes = if is_text { VIEWED } else { KEPT };
    let made = making(facts, site, goes).scaled(share);
    let cpu = calls(facts, site, share).plus(made);
    let mut draft = Draft::of(index);
    let evidence = &mut draft.evidence;
    evidence.say(format!(
        "{} of {} are freed before the thread's next allocation{}",
        format::count(metrics.temporary),
        format::counted(acquired, "block"),
        site.row.type_name.as_ref().map_or(String::new(), |name| format!(" ({name})"))
    ));
    evidence.say(format!(
        "{} in the median, {} in 99 of 100, {} at most",
        format::bytes(pattern.quantile(0.5)),
        format::bytes(largest),
        format::bytes(metrics.largest_bytes)
    ));
    for (name, value) in [
        ("temporary", metrics.temporary),
        ("blocks", acquired),
        ("bytes_median", pattern.quantile(0.5)),
        ("bytes_p99", largest),
        ("bytes_max", metrics.largest_bytes.0),
    ] {
        evidence.number(name, value as f64);
    }
    let language = facts.language(site);
    draft.change = match is_text {
        true => "Use a view, or one string that is kept and cleared".to_owned(),
        false => "Use one object that is kept from call to call, or a buffer on the stack".to_owned(),
    };
    draft.snippet = snippet(language, site, largest.next_power_of_two().max(32));
    if is_shared(site) {
        // A pool would be no faster than malloc with blocks that are used again at once.
        draft.change =
            "Pass it by reference, or make it once before the loop: no other code keeps a share of it".to_owned();
        let of_pointer = site.element().filter(|_| matches!(site.class(), "Rc" | "Arc"));
        let object = of_pointer.or(site.row.type_name.as_deref()).unwrap_or("T");
        draft.snippet = match language {
            Language::Rust => format!("let item = {object} {{ ... }}; // no Rc or Arc\nf(&item);"),
            _ => format!("{object} item; // on the stack: no shared_ptr\nf(item);   // void f(const {object}& item)"),
        };
    }
    draft.called = object(language, site).map(Called::Made);
    draft.remedy = site.is_kept_easily().then_some(Remedy::Keep);
    draft.saves = saves(facts, site, cpu, Range::default(), share);
    draft.own_work = made;
    // One that is kept grows to the largest; what lives a little longer may go with the others.
    let (gone, grows) = (metrics.temporary as f64, (metrics.largest_bytes.0 as f64).log2().ceil().max(1.0));
    draft.saves.allocations = Range::new((gone - grows).max(0.0), gone, acquired as f64);
    draft.assumptions = vec!["the contents are not needed after the call or the iteration".to_owned()];
    if metrics.new_blocks > pattern.instances + pattern.steps {
        draft.assumptions.push("blocks that were not followed live as the others do".to_owned());
    }
    draft.at_most = Confidence::Medium;
    Some(draft)
}

/// Whether its blocks are shared by counting references.
pub fn is_shared(site: &Site) -> bool {
    let is_of = |function: &String| {
        ["std::_Sp_counted", "std::make_shared", "std::__shared", "std::allocate_shared"]
            .iter()
            .any(|of| function.contains(of))
    };
    matches!(site.class(), "Rc" | "Arc") || site.through.iter().any(is_of)
}

/// What the snippet calls the object, if it shows one.
fn object(language: Language, site: &Site) -> Option<&'static str> {
    match (language, site.class()) {
        (Language::Rust, "String") | (Language::Cxx, "std::string" | "std::basic_string") => Some("text"),
        (Language::Rust, "Vec") | (Language::Cxx, "std::vector") => Some("items"),
        _ => None,
    }
}

fn snippet(language: Language, site: &Site, largest: u64) -> String {
    let on_stack = largest <= ON_STACK;
    let element = site.element().unwrap_or("T");
    match (language, site.class()) {
        (Language::Rust, "String") => "// a view, where the text is only looked at: fn f(text: &str)\n// else \
            outside of the loop\nlet mut text = String::new();\n// inside\ntext.clear();"
            .to_owned(),
        (Language::Rust, "Vec") => format!(
            "// outside of the loop\nlet mut items: Vec<{element}> = Vec::new();\n\
            // inside: keeps its memory\nitems.clear();"
        ),
        (Language::Rust, _) => "// outside of the loop, or a field: made once, cleared for each use".to_owned(),
        (Language::Cxx, "std::string" | "std::basic_string") => "// a view, where the text is only looked at \
            (also as a key: transparent comparison or hash)\nvoid f(std::string_view text);\n// else outside of \
                the loop\nstd::string text;\n// inside: keeps its memory\ntext.clear();"
            .to_owned(),
        (Language::Cxx, "std::vector") => format!(
            "// outside of the loop\nstd::vector<{element}> items;\n// \
            inside: keeps its memory\nitems.clear();"
        ),
        (Language::Cxx, _) if on_stack => format!(
            "// inside: no heap up to {largest} bytes\nstd::byte \
            room[{largest}];\nstd::pmr::monotonic_buffer_resource memory(room, sizeof room);"
        ),
        (Language::Cxx, _) => "// outside of the loop, or a member: made once, used again for each call".to_owned(),
        (Language::C, _) if on_stack => format!(
            "char room[{largest}];                               /* enough \
            for 99 of 100 of this run */\nchar *block = size <= sizeof room ? room : malloc(size);\n/* ... */\nif \
                (block != room) free(block);"
        ),
        (Language::C, _) => "/* outside of the loop: one block that grows to the largest size needed */".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::pattern::Pattern;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};
    use memtoll_trace::metrics::Metrics;

    fn keys(temporary: u64) -> Made {
        let (counts, pattern) = blocks(10_000, 40);
        let counts = Metrics { temporary, ..counts };
        let pattern = Pattern { most_live: 1, in_bulk: 0, ..pattern };
        Made { type_name: "std::string", counts, pattern, allocator: 4e5, ..Made::default() }
    }

    #[test]
    fn strings_that_are_only_looked_at_become_views() {
        let found = drafts(RuleId::Temporary, keys(10_000));
        assert!(found[0].snippet.contains("std::string_view"), "{}", found[0].snippet);
        assert!(found[0].saves.cpu_ns.low > 2e5 && found[0].saves.cpu_ns.high < 7e5, "{:?}", found[0].saves.cpu_ns);
    }

    #[test]
    fn what_is_shared_with_nobody_is_passed_by_reference() {
        let shared = Made {
            type_name: "Msg",
            through: vec![
                "operator new(unsigned long)", "std::__shared_count<>::__shared_count<Msg>()",
                "std::make_shared<Msg>()",
            ],
            ..keys(10_000)
        };
        let found = drafts(RuleId::Temporary, shared);
        assert!(found[0].change.contains("by reference") && found[0].snippet.contains("const Msg&"), "{:?}", found[0]);
        assert!(!drafts(RuleId::Temporary, keys(10_000))[0].change.contains("by reference"));
    }

    #[test]
    fn blocks_that_live_and_formatted_text_are_no_temporaries() {
        assert!(drafts(RuleId::Temporary, keys(100)).is_empty());
        let formatted = Made { through: vec!["__vasprintf_internal"], ..keys(10_000) };
        assert!(drafts(RuleId::Temporary, formatted).is_empty());
    }
}
