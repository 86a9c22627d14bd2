//! See formatting.md.

use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use crate::range::Range;
use crate::saving::{calls, saves};
use crate::site::Site;
use memtoll_analysis::library::qualified_name;
use memtoll_report::format;

const FEWEST: u64 = 1000;

/// A family of formatting functions: beginnings of their names, what they are called, and what the formatting itself takes
/// with them beyond the allocation, for each block, ns (`format_bench` of the remedies).
struct Family {
    functions: &'static [&'static str],
    name: &'static str,
    overhead: Range,
}

const FAMILIES: [Family; 8] = [
    Family {
        functions: &["vasprintf", "asprintf", "__vasprintf", "__asprintf", "__GI___vasprintf", "__vasprintf_internal", "__vasprintf_chk", "__asprintf_chk", "g_strdup_printf", "g_strdup_vprintf"],
        name: "asprintf",
        overhead: Range { low: 0.0, likely: 40.0, high: 250.0 },
    },
    Family {
        functions: &["std::__cxx11::basic_stringbuf", "std::basic_stringbuf", "std::__cxx11::basic_ostringstream", "std::basic_ostream<", "std::__cxx11::basic_stringstream", "std::ostream::", "std::basic_ostringstream", "std::operator<< <"],
        name: "a string stream",
        overhead: Range { low: 0.0, likely: 150.0, high: 900.0 },
    },
    Family { functions: &["std::to_string", "std::__cxx11::to_string", "std::__cxx11::to_wstring", "std::to_wstring"], name: "std::to_string", overhead: Range { low: 0.0, likely: 5.0, high: 40.0 } },
    Family { functions: &["std::operator+<", "std::operator+ <", "std::__str_concat"], name: "a chain of +", overhead: Range { low: 0.0, likely: 5.0, high: 40.0 } },
    Family { functions: &["std::format", "std::vformat", "fmt::"], name: "std::format or fmt", overhead: Range { low: 0.0, likely: 10.0, high: 80.0 } },
    Family { functions: &["alloc::fmt::format", "<str as alloc::string::ToString", "<T as alloc::string::ToString", "<alloc::string::String as core::fmt::Write", "<i32 as alloc::string::", "<u32 as alloc::string::", "<u64 as alloc::string::", "<i64 as alloc::string::", "<usize as alloc::string::", "alloc::string::ToString"], name: "format! or to_string", overhead: Range { low: 0.0, likely: 10.0, high: 80.0 } },
    Family { functions: &["__printf_fp", "__GI___printf_fp", "printf", "fprintf", "snprintf", "vfprintf", "__vfprintf_internal", "__vsnprintf"], name: "printf", overhead: Range { low: 0.0, likely: 20.0, high: 150.0 } },
    Family { functions: &["__strftime", "strftime"], name: "strftime", overhead: Range { low: 0.0, likely: 20.0, high: 100.0 } },
];

/// The formatting functions through which a site allocates.
pub fn formatter(site: &Site) -> Option<&'static str> {
    family(site).map(|family| family.name)
}

fn family(site: &Site) -> Option<&'static Family> {
    let is_of = |family: &&Family| {
        site.through.iter().any(|function| {
            let name = qualified_name(function);
            family.functions.iter().any(|start| function.starts_with(start) || name.starts_with(start))
        })
    };
    FAMILIES.iter().find(is_of)
}

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let family = family(site)?;
    let (metrics, pattern) = (site.metrics(), &site.pattern);
    let acquired = site.acquired();
    // Text that is kept has to lie somewhere.
    let is_kept = pattern.most_live * 4 > pattern.blocks;
    if acquired < FEWEST || is_kept {
        return None;
    }
    let cpu = calls(site, 1.0).plus(family.overhead.scaled(acquired as f64));
    let mut draft = Draft::of(index);
    let evidence = &mut draft.evidence;
    evidence.say(format!(
        "{} of {} on average, allocated by {}, at most {} live at once",
        format::counted(acquired, "block"),
        format::bytes(site.mean_size()),
        family.name,
        format::count(pattern.most_live)
    ));
    if metrics.temporary > 0 {
        evidence.say(format!("{} are freed before the thread's next allocation", format::count(metrics.temporary)));
    }
    let largest = pattern.quantile(1.0).max(1);
    evidence.number("blocks", acquired as f64);
    evidence.number("temporary", metrics.temporary as f64);
    evidence.number("bytes_max", largest as f64);
    draft.change = "Format into memory that is there".to_owned();
    draft.snippet = snippet(facts.language(site), largest);
    draft.saves = saves(facts, site, cpu, Range::default(), 1.0);
    draft.assumptions = vec![
        format!("the text has at most {largest} bytes, as in this run; what does not fit is cut, and that is reported"),
        format!("{} itself takes {} to {} for each block beyond the allocation, as measured on another machine", family.name,
            format::seconds(family.overhead.low / 1e9), format::seconds(family.overhead.high / 1e9)),
    ];
    draft.at_most = Confidence::Medium;
    Some(draft)
}

fn snippet(language: Language, largest: u64) -> String {
    let room = largest.next_power_of_two().max(64);
    match language {
        Language::Rust => format!("use std::fmt::Write;\n// outside of the loop\nlet mut text = String::with_capacity({room});\n// inside: keeps its memory\ntext.clear();\nlet _ = write!(text, \"...\", value);"),
        Language::Cxx => format!("#include <memtoll/text_writer.hpp> // C++17, no allocation, no locale; format.hpp takes {{fmt}} strings\nchar room[{room}];\nmemtoll::text_writer out(room);\nout.append(id).append(' ').append(x, std::chars_format::fixed, 3);"),
        Language::C => format!("char room[{room}];\nint length = snprintf(room, sizeof room, format, ...); /* length >= sizeof room: cut */"),
    }
}

#[cfg(test)]
mod tests {
    use crate::pattern::Pattern;
    use crate::testing::{Made, blocks, drafts};

    fn text(through: &'static str, most_live: u64) -> Made {
        let (counts, pattern) = blocks(10_000, 40);
        let pattern = Pattern { most_live, in_bulk: 0, ..pattern };
        Made { counts, pattern, through: vec!["malloc", through], allocator: 4e5, ..Made::default() }
    }

    #[test]
    fn each_family_is_known() {
        for (through, name) in [
            ("__vasprintf_internal", "asprintf"),
            ("std::__cxx11::basic_stringbuf<char, std::char_traits<char> >::overflow(int)", "a string stream"),
            ("std::__cxx11::to_string(int)", "std::to_string"),
            ("std::__cxx11::basic_string<char> std::operator+<char, std::char_traits<char> >(char const*, char)", "a chain of +"),
            ("std::vformat(std::basic_string_view<char>)", "std::format or fmt"),
            ("fmt::v9::vformat[abi:cxx11]", "std::format or fmt"),
            ("alloc::fmt::format::format_inner", "format! or to_string"),
        ] {
            let found = drafts("formatting", text(through, 1));
            assert_eq!(found.len(), 1, "{through}");
            assert!(found[0].evidence.text[0].contains(name), "{through}: {:?}", found[0].evidence);
        }
    }

    #[test]
    fn text_that_is_kept_and_other_code_are_left_alone() {
        assert!(drafts("formatting", text("__vasprintf_internal", 9_000)).is_empty());
        assert!(drafts("formatting", text("app::print_format", 1)).is_empty());
    }
}
