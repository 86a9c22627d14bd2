//! See formatting.md.

use super::growth;
use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use crate::formatters::{Family, family};
use crate::program_work::makes;
use crate::range::Range;
use crate::saving::{calls, saves};
use crate::site::Site;
use memtoll_analysis::library::qualified_name;
use memtoll_text::format;

const FEWEST: u64 = 1000;

/// The share of the work that goes ([`Family::goes`]) where C code goes on with the `printf` family.
const GOES_IN_C: [f64; 3] = [0.0, 0.1, 0.3];

pub fn find(facts: &Facts) -> Vec<Draft> {
    let mut all: Vec<Draft> = Vec::new();
    let found = facts.changeable().filter_map(|(index, site)| Some((draft(facts, index, site)?, facts.function(site))));
    for (draft, function) in found {
        // Lines of one function that format are one change.
        match all.iter_mut().find(|other| facts.function(&facts.sites[other.site]) == function) {
            None => all.push(draft),
            Some(first) => {
                first.saves = first.saves.plus(&draft.saves);
                first.own_work = first.own_work.with(draft.own_work);
                first.with.push(draft.site);
                first.evidence.text.extend(draft.evidence.text.into_iter().take(1).map(|text| format!("and {text}")));
            }
        }
    }
    all
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let family = family(site)?;
    let (metrics, pattern) = (site.metrics(), &site.pattern);
    let acquired = site.acquired();
    // Text that is kept has to lie somewhere.
    let is_kept = pattern.most_live * 4 > pattern.blocks;
    if acquired < FEWEST || is_kept || super::append::is_appending(facts, site) {
        return None;
    }
    let (formatting, is_known) = work(facts, site, family);
    let cpu = calls(facts, site, 1.0).plus(formatting);
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
        let (number, are) = (format::count(metrics.temporary), format::are(metrics.temporary));
        evidence.say(format!("{number} {are} freed before the thread's next allocation"));
    }
    let largest = pattern.quantile(1.0).max(1);
    evidence.number("blocks", acquired as f64);
    evidence.number("temporary", metrics.temporary as f64);
    evidence.number("bytes_max", largest as f64);
    draft.change = "Format into memory that is there".to_owned();
    draft.snippet = snippet(facts.language(site), largest);
    draft.saves = saves(facts, site, cpu, Range::default(), 1.0);
    draft.own_work = formatting;
    draft.saves.allocations = allocations(site);
    let share = draft.saves.allocations.scaled(1.0 / acquired as f64);
    draft.saves.bytes = share.scaled(metrics.bytes.0 as f64);
    draft.assumptions = vec![
        format!(
            "the text has at most {largest} bytes, as in this run; what does not fit is cut, and that is \
            reported"
        ),
        match is_known {
            true => format!(
                "{} to {} of the formatting itself goes, which plain runs showed",
                format::seconds(formatting.low / 1e9),
                format::seconds(formatting.high / 1e9)
            ),
            false => format!(
                "{} itself takes {} to {} beyond the allocations, as measured on another machine",
                family.name,
                format::seconds(formatting.low / 1e9),
                format::seconds(formatting.high / 1e9)
            ),
        },
    ];
    draft.at_most = Confidence::Medium;
    Some(draft)
}

/// Blocks that go: those that nothing else could have used, and at most all. Where the caller needs a string of its own, the
/// last block of each text stays.
fn allocations(site: &Site) -> Range {
    let all = site.acquired() as f64;
    let sure = (site.metrics().temporary + site.pattern.steps) as f64;
    Range::new(sure.min(all), all, all)
}

/// The formatting itself, as far as it goes, ns; and whether plain runs were seen in it.
fn work(facts: &Facts, site: &Site, of: &Family) -> (Range, bool) {
    let range = |[low, likely, high]: [f64; 3]| Range::new(low, likely, high);
    let text = site.row.type_name.as_deref().filter(|_| of.makes_strings);
    let is_it = |function: &str| {
        let name = qualified_name(function);
        // glibc's own names of its functions: __GI___printf_fp_l.
        let bare = function.trim_start_matches('_');
        let bare = bare.strip_prefix("GI_").unwrap_or(bare).trim_start_matches('_');
        let names = [function, name, bare];
        of.functions.iter().chain(of.inner).any(|start| names.iter().any(|name| name.starts_with(start)))
            // Texts that are put together are copied by functions of their own class, which say nothing of who calls them.
            || text.is_some_and(|text| makes(function, text))
    };
    let blocks = site.acquired() as f64;
    let Some(all) = facts.own.inside(is_it) else { return (range(of.overhead).scaled(blocks), false) };
    // Other lines make texts, too.
    let is_alike = |other: &&Site| {
        family(other).is_some_and(|other| other.name == of.name)
            || text.is_some() && other.row.type_name.as_deref() == text
    };
    let alike = facts.sites.iter().filter(is_alike);
    let all = all.scaled(blocks / alike.map(Site::acquired).sum::<u64>().max(1) as f64);
    // Texts are copied on the way, perhaps by functions that others call, too.
    let copies = facts.own.inside(|function| growth::is_copy(function) && !is_it(function)).unwrap_or_default();
    let all = Range::new(all.low, all.likely + copies.likely * 0.3, all.high + copies.likely);
    let stays_printf = facts.language(site) == Language::C;
    (all.times(range(if stays_printf { GOES_IN_C } else { of.goes })), true)
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
    use crate::program_work::OwnWork;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts, drafts_of};
    use memtoll_trace::meta::Code;

    fn text(through: &'static str, most_live: u64) -> Made {
        let (counts, pattern) = blocks(10_000, 40);
        let pattern = Pattern { most_live, in_bulk: 0, ..pattern };
        Made { counts, pattern, through: vec!["malloc", through], allocator: 4e5, ..Made::default() }
    }

    #[test]
    fn a_stream_that_is_read_from_formats_nothing() {
        let mut read = text("std::__cxx11::basic_stringbuf<char>::str(std::string const&)", 1);
        read.through.push("std::__cxx11::basic_istringstream<char>::basic_istringstream(std::string const&)");
        assert!(drafts(RuleId::Formatting, read).is_empty());
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
            let found = drafts(RuleId::Formatting, text(through, 1));
            assert_eq!(found.len(), 1, "{through}");
            assert!(found[0].evidence.text[0].contains(name), "{through}: {:?}", found[0].evidence);
        }
    }

    #[test]
    fn text_that_is_kept_and_other_code_are_left_alone() {
        assert!(drafts(RuleId::Formatting, text("__vasprintf_internal", 9_000)).is_empty());
        assert!(drafts(RuleId::Formatting, text("app::print_format", 1)).is_empty());
    }

    #[test]
    fn lines_of_one_function_are_one_change() {
        let (one, other) = (text("__vasprintf_internal", 1), text("std::__cxx11::to_string(int)", 1));
        let alone = drafts(RuleId::Formatting, text("__vasprintf_internal", 1));
        let found = drafts_of(RuleId::Formatting, vec![one, other], OwnWork::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].site, &found[0].with[..]), (0, &[1][..]));
        assert_eq!(found[0].saves.allocations.likely, 2.0 * alone[0].saves.allocations.likely);
        assert!(found[0].saves.cpu_ns.likely > alone[0].saves.cpu_ns.likely);
        assert!(found[0].evidence.text.last().unwrap().starts_with("and 10,000 blocks"), "{:?}", found[0].evidence);
    }

    /// Half of what a chain of + takes is in functions of std::string, which were left out.
    #[test]
    fn the_strings_own_work_goes_with_a_chain() {
        let append = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_append(char const*, \
                      unsigned long)";
        let own = |function: &str| {
            let code = Code { functions: vec![function.to_owned()], samples: 100 };
            OwnWork::sampled(&[code], 1e4)
        };
        let chain = "std::__cxx11::basic_string<char> std::operator+<char, std::char_traits<char> >(char const*, char)";
        let label = || Made { type_name: "std::string", ..text(chain, 1) };
        let saved = |own| drafts_of(RuleId::Formatting, vec![label()], own).remove(0).saves.cpu_ns.likely;
        let more = saved(own(append)) - saved(own("elsewhere"));
        assert!((more - 0.6 * 100.0 * 1e4).abs() < 1e3, "{more}");
        // Of printf, strings are no part.
        let printed =
            |own| drafts_of(RuleId::Formatting, vec![text("__vasprintf_internal", 1)], own).remove(0).saves.cpu_ns;
        assert_eq!(printed(own(append)), printed(own("elsewhere")));
    }

    #[test]
    fn plain_runs_tell_what_formatting_takes() {
        let own = |samples| {
            let functions = ["__vfprintf_internal", "asprintf"].map(str::to_owned).to_vec();
            OwnWork::sampled(&[Code { functions, samples }], 1e4)
        };
        let saved = |own| drafts_of(RuleId::Formatting, vec![text("__vasprintf_internal", 1)], own).remove(0);
        let (little, much) = (saved(own(10)), saved(own(1000)));
        assert!(little.assumptions[1].contains("plain runs showed"), "{:?}", little.assumptions);
        // C code goes on with printf: a tenth of the work, most likely, of 10 ms.
        let more = much.saves.cpu_ns.likely - little.saves.cpu_ns.likely;
        assert!((more - 0.1 * 990.0 * 1e4).abs() < 1.0, "{more}");
        assert!(saved(OwnWork::default()).assumptions[1].contains("measured on another machine"));
    }
}
