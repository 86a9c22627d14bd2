//! What the balance of a process's pages says, in words.

use crate::resident::Resident;
use memtoll_analysis::page_balance::{Part, Unit};
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

impl Resident<'_> {
    /// What a part is: a part of a sentence.
    pub fn is_held_by(&self, part: Part) -> String {
        match part {
            Part::Live => "live blocks".to_owned(),
            Part::Slack => "headers and rounding of live blocks".to_owned(),
            Part::Pinned => "free memory on pages that live blocks keep".to_owned(),
            Part::FreePages => match &self.found.unit {
                Unit::Page => "free pages that the allocator keeps".to_owned(),
                Unit::Slab => "free pages that the allocator keeps, and what it needs itself".to_owned(),
                Unit::Unknown(name) => format!("{name}, beside live blocks: free, pinned, headers and rounding"),
            },
            Part::Mappings => "mappings that the program made".to_owned(),
            Part::Stacks => "stacks of threads".to_owned(),
            Part::Globals => "global variables".to_owned(),
            Part::Files => "code and other pages of files".to_owned(),
            Part::Recorder => "memtoll's recorder".to_owned(),
            Part::Other => "other: memory of which no call is known".to_owned(),
        }
    }

    /// Bytes of a part; `None`: it is in another one, because the allocator's units are not known.
    pub fn bytes_of(&self, part: Part) -> Option<u64> {
        let is_known = self.found.unit.is_known() || !matches!(part, Part::Slack | Part::Pinned);
        is_known.then(|| self.found.part(part))
    }

    /// One sentence on what would make the resident set smaller; `None`: that is not known of this allocator.
    pub fn what_helps(&self) -> Option<String> {
        /// Less of the resident set than this is no reason to do anything.
        const WORTH: f64 = 0.05;
        let pinned = self.pinned?;
        let is_much = |bytes: u64| bytes as f64 >= WORTH * self.rss as f64;
        let free = format::bytes(self.free_pages);
        let gives_back = match self.found.unit {
            Unit::Slab => format!(
                "jemalloc keeps {free} that is free, less what it needs itself: dirty_decay_ms and purging decide for how long."
            ),
            _ => format!("malloc_trim(0) would give back {free}."),
        };
        let separate = "separate the blocks that pin from those that live shortly: by lifetime, in a pool or an arena of their own.";
        Some(match (is_much(self.free_pages), is_much(pinned)) {
            (true, true) => {
                format!("{gives_back} The pinned part comes back only when the blocks that pin it go: {separate}")
            }
            (true, false) => gives_back,
            (false, true) => format!("Giving back free pages brings next to nothing. What helps: {separate}"),
            (false, false) => {
                "The allocator keeps next to nothing that is free: only fewer or smaller blocks help.".to_owned()
            }
        })
    }
}
