//! What the source says of a finding: names for its snippet, and whether it holds at all.
//!
//! A recording knows that a function fills memory, and not with what; that a chain of `+` makes a string, and not that it
//! is the one which it began with. Where the source is at hand, and as it was when the program was built, it is read.

mod append;
mod fill;

use crate::finding::{Advice, Finding, Place, Remedy};
use crate::patch::code::{Code, Language};
use crate::patch::{Source, named};
use crate::source::Root;
use memtoll_model::Recording;

/// Gives snippets the names that the source has, and leaves out what the source contradicts. `may_read` says which files
/// may be read.
pub fn read_sources(recording: &Recording, advice: &mut Advice, root: &Root, may_read: impl Fn(&Place) -> bool) {
    let source = |finding: &Finding, place: &Place| {
        may_read(place).then(|| Source::of(recording, &finding.module, place, root).ok()).flatten()
    };
    let is_contradicted = |finding: &Finding| {
        if finding.remedy != Some(Remedy::NoFill) {
            return false;
        }
        // Of a fault in memset, the kernel does not say who called it: then it is looked for behind the allocation.
        let known = finding.filled_at.iter().filter(|place| place.file.is_some());
        let mut values = known.chain(finding.stack.first()).filter_map(|place| {
            let source = source(finding, place)?;
            let code = Code::new(&source.text, Language::of(&source.file));
            let line = code.line(source.line)?;
            fill::value(&code, line.clone()).or_else(|| fill::value_behind(&code, line))
        });
        values.any(|value| !fill::is_zero(&value))
    };
    advice.retain(|finding| !is_contradicted(finding));
    for finding in &mut advice.findings {
        let Some(source) = finding.stack.first().and_then(|place| source(finding, place)) else { continue };
        let code = Code::new(&source.text, Language::of(&source.file));
        let Some(line) = code.line(source.line) else { continue };
        if let Some(snippet) = append::snippet(finding, &code, line.clone()).or_else(|| named(finding, &code, line)) {
            finding.snippet = snippet;
        }
    }
}
