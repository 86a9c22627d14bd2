//! See formatting.md.

use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use crate::range::Range;
use crate::saving::{calls, saves};
use crate::site::Site;
use memtoll_analysis::library::qualified_name;
use memtoll_report::format;

const FEWEST: u64 = 1000;

/// A family of formatting functions.
struct Family {
    /// What they are called.
    name: &'static str,
    /// What the formatting itself takes with them beyond the allocation, for each block, ns (`format_bench` of the remedies).
    overhead: [f64; 3],
    /// Beginnings of their names.
    functions: &'static [&'static str],
}

const FAMILIES: [Family; 8] = [
    Family {
        name: "asprintf",
        overhead: [10.0, 45.0, 160.0],
        functions: &[
            "asprintf",
            "vasprintf",
            "__asprintf",
            "__vasprintf",
            "__GI___vasprintf",
            "g_strdup_printf",
            "g_strdup_vprintf",
        ],
    },
    Family {
        name: "a string stream",
        overhead: [30.0, 150.0, 800.0],
        functions: &[
            "std::__cxx11::basic_stringbuf",
            "std::__cxx11::basic_ostringstream",
            "std::__cxx11::basic_stringstream",
            "std::basic_stringbuf",
            "std::basic_ostringstream",
            "std::basic_ostream<",
            "std::ostream::",
            "std::operator<< <",
        ],
    },
    Family {
        name: "std::to_string",
        overhead: [0.0, 5.0, 40.0],
        functions: &["std::to_string", "std::to_wstring", "std::__cxx11::to_string", "std::__cxx11::to_wstring"],
    },
    Family {
        name: "a chain of +",
        overhead: [0.0, 5.0, 40.0],
        functions: &["std::operator+<", "std::operator+ <", "std::__str_concat"],
    },
    Family {
        name: "std::format or fmt",
        overhead: [0.0, 10.0, 80.0],
        functions: &["std::format", "std::vformat", "fmt::"],
    },
    Family {
        name: "format! or to_string",
        overhead: [0.0, 10.0, 80.0],
        functions: &[
            "alloc::fmt::format",
            "alloc::string::ToString",
            "<str as alloc::string::ToString",
            "<T as alloc::string::ToString",
            "<alloc::string::String as core::fmt::Write",
            "<i32 as alloc::string::",
            "<u32 as alloc::string::",
            "<i64 as alloc::string::",
            "<u64 as alloc::string::",
            "<usize as alloc::string::",
        ],
    },
    Family {
        name: "printf",
        overhead: [0.0, 20.0, 150.0],
        functions: &[
            "printf",
            "fprintf",
            "snprintf",
            "vfprintf",
            "__vfprintf_internal",
            "__vsnprintf",
            "__printf_fp",
            "__GI___printf_fp",
        ],
    },
    Family { name: "strftime", overhead: [0.0, 20.0, 100.0], functions: &["strftime", "__strftime"] },
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
    let [low, likely, high] = family.overhead;
    let overhead = Range::new(low, likely, high);
    let cpu = calls(site, 1.0).plus(overhead.scaled(acquired as f64));
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
        format!(
            "the text has at most {largest} bytes, as in this run; what does not fit is cut, and that is \
            reported"
        ),
        format!(
            "{} itself takes {} to {} for each block beyond the allocation, as measured on another machine",
            family.name,
            format::seconds(overhead.low / 1e9),
            format::seconds(overhead.high / 1e9)
        ),
    ];
    draft.at_most = Confidence::Medium;
    Some(draft)
}

fn snippet(language: Language, largest: u64) -> String {
    let room = largest.next_power_of_two().max(64);
    match language {
        Language::Rust => format!(
            "use std::fmt::Write;\n// outside of the loop\nlet mut text = String::with_capacity({room});\n// \
             inside: keeps its memory\ntext.clear();\nlet _ = write!(text, \"...\", value);"
        ),
        Language::Cxx => format!(
            "#include <memtoll/text_writer.hpp> // C++17, no allocation, no locale; format.hpp takes {{fmt}} \
             strings\nchar room[{room}];\nmemtoll::text_writer out(room);\nout.append(id).append(' ').append(x, \
                 std::chars_format::fixed, 3);"
        ),
        Language::C => format!(
            "char room[{room}];\nint length = snprintf(room, sizeof room, format, ...); /* length >= sizeof room: \
             cut */"
        ),
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
            (
                "std::__cxx11::basic_string<char> std::operator+<char, std::char_traits<char> >(char const*, char)",
                "a chain of +",
            ),
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
