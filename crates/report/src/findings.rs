//! The findings that the summary starts with.

use crate::section::{Limits, title};
use crate::{format, names};
use memtoll_analysis::findings::What;
use memtoll_model::Recording;
use memtoll_query::findings::{Finding, wrappers};

/// Sentences of the first screen at the most; all of them are in the JSON.
const MOST: usize = 8;

/// Findings that say how to read the recording, for the notes at its end. What is said of one line stands beside it.
pub fn notes(findings: &[Finding]) -> Vec<String> {
    let is_told = |finding: &&Finding| finding.what.is_note() && finding.found.site.is_none();
    findings.iter().filter(is_told).map(|finding| finding.text.clone()).collect()
}

/// The section that leads the summary; nothing if nothing was found. Of wrappers, it says how to see who calls them.
pub fn section(recording: &Recording, findings: &[Finding<'_>], limits: Limits) -> String {
    let wrappers = wrappers(findings);
    let findings: Vec<&Finding> = findings.iter().filter(|finding| !finding.what.is_note()).take(MOST).collect();
    /// Characters of a line where there is no terminal.
    const WIDTH: usize = 140;
    let is_wrapper = |finding: &Finding| {
        if matches!(&finding.what, What::CheapMemory(cheap) if cheap.is_little) {
            return false;
        }
        let frame = finding.found.site.as_ref().and_then(|site| site.frame);
        frame.zip(wrappers).is_some_and(|(frame, wrappers)| wrappers.holds(&recording.frames, frame))
    };
    // Once is enough.
    let of_wrapper = findings.iter().position(|finding| is_wrapper(finding));
    let lines = findings.iter().enumerate();
    let lines: String = lines
        .map(|(index, finding)| {
            let number = format!("{:>3}. ", index + 1);
            let mut text = finding.text.clone();
            if let Some(wrappers) = wrappers.filter(|_| of_wrapper == Some(index)) {
                let first = wrappers.largest.first().map_or(String::new(), |(frame, _)| {
                    format!(", such as {}", names::function(&recording.frames, *frame))
                });
                let callers = format::counted(wrappers.callers as u64, "caller");
                text += &format!("; it serves {callers}{first}: the notes say how to --fold it");
            }
            format::wrapped(&number, &text, limits.width.or(Some(WIDTH)))
        })
        .collect();
    if lines.is_empty() { lines } else { title("Findings") + &lines }
}
