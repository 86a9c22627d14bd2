//! What was found, where, and in words.

use crate::findings_in_words::{self, sentence};
use crate::rows::{self, RanIn};
use memtoll_analysis::findings::{self, Share, What};
use memtoll_analysis::inclusive_lines;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::sites::{GroupBy, Row};
use memtoll_analysis::stacks::Texts;
use memtoll_model::{Frames, Recording};
use serde::Serialize;

/// A finding: what, where, how much, and in a sentence.
#[derive(Serialize)]
pub struct Finding<'r> {
    /// The rule, and the numbers behind it.
    #[serde(flatten)]
    pub what: What,
    /// The sentence, without the last stop.
    pub text: String,
    /// Whether it says how to read the recording, and not what the program could do better.
    pub is_note: bool,
    /// How much it is of something.
    pub share: Option<Share>,
    /// The row with the same key is its call site, of several the one that costs most; `None`: it is about the run.
    pub key: Option<String>,
    /// The function of the call site.
    pub function: Option<&'r str>,
    /// Its source file.
    pub file: Option<&'r str>,
    pub line: Option<u32>,
    /// The line as `memtoll advise FILE PLACE` takes it: `main.rs:22`, or a function where no line is known.
    pub place: Option<String>,
    /// The call sites of the line: what it is inlined into, and types of blocks. Those that cost most first.
    pub parts: Vec<Part>,
    /// What else was found at the line.
    pub also: Vec<Also>,
    /// The processes that it ran in, where several count.
    pub ran_in: Option<RanIn<'r>>,
    /// As the analysis has it, for printers and for rules that build on it.
    #[serde(skip)]
    pub found: findings::Finding,
}

/// A call site of a finding's line.
#[derive(Serialize)]
pub struct Part {
    /// The row with the same key is this call site.
    pub key: String,
    /// The type of its blocks, where inlined functions tell it.
    pub r#type: Option<String>,
    /// Allocations and reallocations.
    pub allocations: u64,
    pub bytes: u64,
    /// What its blocks and mappings cost, ns.
    pub cost_ns: u64,
}

/// What else was found at a finding's line.
#[derive(Serialize)]
pub struct Also {
    /// The rule, and the numbers behind it.
    #[serde(flatten)]
    pub what: What,
    /// The sentence, without the last stop.
    pub text: String,
    /// How much it is of something.
    pub share: Option<Share>,
}

impl Also {
    fn new(recording: &Recording, found: &findings::Finding, one: &(What, Option<Share>)) -> Also {
        Also { what: one.0.clone(), text: findings_in_words::also(recording, found, one), share: one.1 }
    }
}

impl Part {
    fn new(frames: &Frames, part: &Row) -> Part {
        Part {
            key: rows::key(frames, GroupBy::Site, part),
            r#type: part.type_name.clone(),
            allocations: part.metrics.allocations(),
            bytes: part.metrics.bytes.0,
            cost_ns: part.metrics.cost_ns().0,
        }
    }
}

impl<'r> Finding<'r> {
    /// All sentences about its line, the most important one first.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.text.as_str()).chain(self.also.iter().map(|also| also.text.as_str()))
    }

    /// In words.
    pub fn new(recording: &'r Recording, found: findings::Finding) -> Finding<'r> {
        let frames = &recording.frames;
        let site = found.site.as_ref();
        let texts = site.and_then(|site| site.frame).map(|frame| Texts::of(frames, frame));
        Finding {
            what: found.what.clone(),
            text: sentence(recording, &found),
            is_note: found.what.is_note(),
            share: found.share,
            key: found.parts.first().or(site).map(|site| rows::key(frames, GroupBy::Site, site)),
            function: texts.as_ref().map(|texts| qualified_name(texts.function)),
            file: texts.as_ref().and_then(|texts| texts.file),
            line: texts.as_ref().and_then(|texts| texts.line),
            place: site.and_then(|site| site.frame).map(|frame| inclusive_lines::place(frames, frame)),
            parts: found.parts.iter().map(|part| Part::new(frames, part)).collect(),
            also: found.also.iter().map(|one| Also::new(recording, &found, one)).collect(),
            ran_in: site.and_then(|site| RanIn::of(recording, site)),
            found,
        }
    }
}
