//! What is worth typing next after a recording, told from its findings and from what stands between them and a line.

use crate::{first_screen, unnamed};
use memtoll_analysis::findings::{NoNames, What};
use memtoll_query::{Answer, Basis};

/// The most useful command. As long as functions have no names, no view says much; without lines, one function may be all
/// that it says.
pub fn command(answer: &Answer) -> String {
    let Basis { recording, .. } = &answer.basis;
    let findings = || answer.findings.iter().flatten();
    let file = unnamed::shell_word(&recording.path().display().to_string());
    let missing = findings().find_map(|note| match &note.what {
        What::NoNames(NoNames { files }) => unnamed::command(recording, files),
        What::NoLines(lines) => lines.command().map(str::to_owned),
        _ => None,
    });
    let advice = || {
        let place = first_screen::shown(answer).find_map(|(finding, _)| finding.place.as_deref())?;
        Some(format!("memtoll advise {file} {}", unnamed::shell_word(place)))
    };
    missing.or_else(advice).unwrap_or_else(|| format!("memtoll report {file}"))
}
