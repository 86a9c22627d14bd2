//! The findings that the summary starts with.

use crate::section::{Limits, title};
use memtoll_query::findings::Finding;
use memtoll_text::format;

/// Sentences of the first screen at the most; all of them are in the JSON.
const MOST: usize = 8;

/// Findings that say how to read the recording, for the notes at its end. Findings of one line stand beside it.
pub fn notes(findings: &[Finding]) -> Vec<String> {
    let is_told = |finding: &&Finding| finding.what.is_note() && finding.found.site.is_none();
    findings.iter().filter(is_told).map(|finding| finding.text.clone()).collect()
}

/// The section that leads the summary; nothing if nothing was found.
pub fn section(findings: &[Finding<'_>], limits: Limits) -> String {
    /// Characters of a line where there is no terminal.
    const WIDTH: usize = 140;
    let findings = findings.iter().filter(|finding| !finding.what.is_note()).take(MOST);
    let line = |(index, finding): (usize, &Finding)| {
        format::wrapped(&format!("{:>3}. ", index + 1), &finding.text, limits.width.or(Some(WIDTH)))
    };
    let lines: String = findings.enumerate().map(line).collect();
    if lines.is_empty() { lines } else { title("Findings") + &lines }
}
