//! What the balance of a process's pages says, in words.

use crate::resident::{CurvePoint, Resident};
use crate::wastes::saves;
use memtoll_analysis::page_balance::{Balance, Part, Unit};
use memtoll_text::format;

/// What JSON and the viewer call a part.
pub const fn name(part: Part) -> &'static str {
    match part {
        Part::Live => "live",
        Part::Slack => "slack",
        Part::Pinned => "pinned",
        Part::FreePages => "free_pages",
        Part::Mappings => "mappings",
        Part::Stacks => "stacks",
        Part::Globals => "globals",
        Part::Files => "files",
        Part::Recorder => "recorder",
        Part::Other => "other",
    }
}

/// What a part is: a part of a sentence.
pub fn is_held_by(pages: &Balance, part: Part) -> String {
    match part {
        Part::Live => "live blocks".to_owned(),
        Part::Slack => "headers and rounding of live blocks".to_owned(),
        Part::Pinned => "free memory on pages that live blocks keep".to_owned(),
        Part::FreePages => match &pages.unit {
            Unit::Page => "free pages that the allocator keeps".to_owned(),
            Unit::Slab => "free pages that the allocator keeps, and what it needs itself".to_owned(),
            Unit::Unknown(name) => format!("{name}, beside live blocks: free, pinned, headers and rounding"),
        },
        Part::Mappings => "mappings that the program made".to_owned(),
        Part::Stacks => "stacks of threads".to_owned(),
        Part::Globals => "global variables".to_owned(),
        Part::Files => "code and other pages of files".to_owned(),
        Part::Recorder => "memtoll's recorder".to_owned(),
        Part::Other => "other memory, which no recorded call made".to_owned(),
    }
}

impl Resident<'_> {
    /// Bytes of a part; `None`: it is in another one, because the allocator's units are not known.
    pub fn bytes_of(&self, part: Part) -> Option<u64> {
        let is_known = self.found.unit.is_known() || !matches!(part, Part::Slack | Part::Pinned);
        is_known.then(|| self.found.part(part))
    }

    /// What small pages would keep out of memory, where malloc has huge ones.
    pub fn huge_pages_half_used(&self) -> Option<String> {
        let huge = self.huge_pages?;
        let [low, high] = huge.unused;
        Some(format!(
            "Huge pages of malloc: {}, of which live blocks take {}; with small pages, {} would not be in memory.",
            format::bytes(huge.bytes),
            format::bytes(huge.live),
            saves(low, high)
        ))
    }

    /// That the resident set was larger when memtoll did not look.
    pub fn missed_peak_in_words(&self) -> Option<String> {
        let CurvePoint { at_ns, bytes } = self.missed_peak?;
        Some(format!(
            "The resident set was larger after {}: {} without the recorder. memtoll did not look at its pages then, because looking \
             takes at most 1 % of the CPU time.",
            format::seconds(at_ns as f64 / 1e9),
            format::bytes(bytes)
        ))
    }

    /// Sentences below the list of what helps.
    pub fn on_what_helps(&self) -> Vec<&'static str> {
        let Some(pinned) = self.pinned else { return Vec::new() };
        let saves_memory = self.wastes.iter().any(|waste| waste.high > 0);
        let keeps = self.free_pages + pinned;
        let is_little = (keeps as f64) < 0.1 * self.rss as f64;
        let nothing = (!saves_memory).then_some(match is_little {
            true => {
                "Nothing that the allocator could do: it keeps next to nothing that is free, and only fewer or smaller blocks help."
            }
            false => "Nothing that memtoll knows: no single line keeps much, and trimming would give back little.",
        });
        let of_free_pages = self.wastes.iter().filter(|waste| waste.part == Part::FreePages).count();
        let overlap = "These savings overlap: some free the same pages.";
        nothing.into_iter().chain((of_free_pages > 1).then_some(overlap)).collect()
    }
}
