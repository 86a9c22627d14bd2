//! See append.md.

use crate::byte_costs::Work;
use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use crate::formatters::formatter;
use crate::range::Range;
use crate::saving::{calls, saves};
use crate::site::Site;
use memtoll_text::format;

const FEWEST: u64 = 500;
/// The largest text inside a `std::string` itself, and the smallest room that a Rust one takes, bytes.
const INSIDE: u64 = 15;
const LEAST_ROOM: u64 = 8;

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

/// Texts of a thread that are live at once: the old one, the new one, and what is appended.
const MOST_LIVE: u64 = 4;

/// Whether each block of a site holds what the one before held, and something more.
pub fn is_appending(facts: &Facts, site: &Site) -> bool {
    let pattern = &site.pattern;
    let is_text = matches!(site.class(), "std::string" | "std::basic_string" | "String") || formatter(site).is_some();
    is_text
        && pattern.blocks >= FEWEST
        && pattern.creeping * 10 >= pattern.blocks * 7
        && pattern.most_live <= MOST_LIVE * facts.threads() as u64
        // Only text that grows by copies counts, not by realloc.
        && site.metrics().reallocations <= 3 * site.metrics().new_blocks
}

/// How many blocks a text takes until it has all of its largest block's bytes: it doubles its room.
fn blocks_of(largest: u64, language: Language) -> f64 {
    let (room, length) = match language {
        Language::Rust => (LEAST_ROOM, largest),
        // Of its block, the last byte is the zero behind the text.
        Language::Cxx | Language::C => (INSIDE, largest.saturating_sub(1)),
    };
    let doubled = (length as f64 / room as f64).max(1.0).log2().ceil();
    if room == INSIDE { doubled } else { doubled + 1.0 }
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    if !is_appending(facts, site) {
        return None;
    }
    let pattern = &site.pattern;
    // Each block that is no larger than the one before may begin a text; where they get smaller, one does.
    let (most_texts, texts) = ((pattern.blocks - pattern.creeping).max(1) as f64, (pattern.begun_again + 1) as f64);
    let largest = pattern.quantile(1.0) as f64;
    // Each text grows from nothing, or one that is kept from text to text has grown in the first of them.
    let blocks = pattern.blocks as f64;
    let each = blocks_of(pattern.quantile(1.0), facts.language(site));
    let without = |texts: f64| (blocks - texts * each).max(0.0);
    let allocations = Range::new(without(most_texts), without(texts), blocks);
    let goes = allocations.likely / blocks;
    // A text that was just written is in the cache, and of a chain of two, the second moves what the first has copied.
    let copied =
        Work::of(&facts.tariff).copy_byte.scaled((pattern.crept_bytes as f64 - 2.0 * texts * largest).max(0.0));
    let copied = Range::new(copied.low * 0.2, copied.likely * 0.5, copied.high);
    let cpu = calls(facts, site, goes).plus(copied);
    let mut draft = Draft::of(index);
    draft.evidence.say(format!(
        "{} of {} on average, {} of them a little larger than the one before: the text is copied each time, {} together",
        format::counted(pattern.blocks, "block"),
        format::bytes(site.mean_size()),
        format::percent(pattern.creeping, pattern.blocks),
        format::bytes(pattern.crept_bytes)
    ));
    draft.evidence.number("blocks", pattern.blocks as f64);
    draft.evidence.number("creeping", pattern.creeping as f64);
    draft.evidence.number("copied_bytes", pattern.crept_bytes as f64);
    draft.change = "Append to the text instead of making a new one from it".to_owned();
    draft.snippet = match facts.language(site) {
        Language::Cxx => "text += x; // in place of text = text + x".to_owned(),
        Language::Rust => {
            "text.push_str(x); // in place of text = format!(\"{text}{x}\"); or write!(text, \"...\", x)".to_owned()
        }
        Language::C => {
            "length += snprintf(text + length, size - length, ...); /* text grows by a factor of 2 */".to_owned()
        }
    };
    draft.saves = saves(facts, site, cpu, Range::default(), goes);
    draft.own_work = copied;
    draft.saves.allocations = allocations;
    let bytes = site.metrics().bytes.0 as f64;
    let without = |texts: f64| (bytes - 2.0 * texts * largest).max(0.0);
    draft.saves.bytes = Range::new(without(most_texts), without(texts), bytes);
    draft.assumptions = vec!["no other code keeps the text that it began with".to_owned()];
    draft.at_most = Confidence::High;
    Some(draft)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};

    fn texts(creeping: u64) -> Made {
        let (counts, pattern) = blocks(10_000, 1000);
        let pattern = Pattern { creeping, crept_bytes: creeping * 1000, most_live: 3, in_bulk: 0, ..pattern };
        Made { type_name: "std::string", counts, pattern, allocator: 4e5, ..Made::default() }
    }

    #[test]
    fn text_that_is_copied_to_grow_is_appended_to() {
        let found = drafts(RuleId::Append, texts(9_900));
        assert!(found[0].snippet.starts_with("text += x;"), "{}", found[0].snippet);
        assert!(found[0].saves.cpu_ns.low > 3e5 && found[0].saves.allocations.likely > 9_000.0, "{:?}", found[0].saves);
    }

    /// 121 letters take four blocks: rooms of 30, 60, 120 and 240.
    #[test]
    fn a_text_takes_as_many_blocks_as_its_room_doubles() {
        let cases = [(16, 0.0), (17, 1.0), (31, 1.0), (32, 2.0), (121, 3.0), (122, 4.0)];
        assert_eq!(cases.map(|(size, _)| blocks_of(size, Language::Cxx)), cases.map(|(_, blocks)| blocks));
        let cases = [(5, 1.0), (8, 1.0), (9, 2.0), (64, 4.0), (65, 5.0)];
        assert_eq!(cases.map(|(size, _)| blocks_of(size, Language::Rust)), cases.map(|(_, blocks)| blocks));
    }

    #[test]
    fn other_text_is_left_to_other_rules() {
        assert!(drafts(RuleId::Append, texts(1_000)).is_empty());
        let kept = Made { pattern: Pattern { most_live: 10_000, ..texts(9_900).pattern }, ..texts(9_900) };
        assert!(drafts(RuleId::Append, kept).is_empty(), "a list of texts that get longer");
        let plain = Made { type_name: "", ..texts(9_900) };
        assert!(drafts(RuleId::Append, plain).is_empty(), "blocks that happen to get larger");
    }
}
