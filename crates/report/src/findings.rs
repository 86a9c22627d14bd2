//! The findings that the summary starts with.

use crate::section::{Limits, prose, title};
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
    let findings = findings.iter().filter(|finding| !finding.what.is_note()).take(MOST);
    let width = prose(limits.width);
    let lines = |(index, finding): (usize, &Finding)| {
        let heads = std::iter::once(format!("{:>3}. ", index + 1)).chain(std::iter::repeat("     · ".to_owned()));
        heads.zip(finding.sentences()).map(|(head, text)| format::wrapped(&head, text, width)).collect::<String>()
    };
    let lines: String = findings.enumerate().map(lines).collect();
    if lines.is_empty() { lines } else { title("Findings") + &lines }
}
