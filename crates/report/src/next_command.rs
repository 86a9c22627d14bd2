//! The command to type next after a recording: what its findings call for, or what names their lines.

use crate::{first_screen, unnamed_functions};
use memtoll_analysis::findings::{NoNames, What};
use memtoll_query::{Answer, Basis};
use memtoll_text::shell;
use memtoll_text::wrap;

/// The most useful command. As long as functions have no names, no view says much; without lines, one function may be all
/// that it says.
fn command(answer: &Answer) -> String {
    let Basis { recording, .. } = &answer.basis;
    let findings = || answer.findings.iter().flatten();
    let file = shell::file(recording.path());
    let missing = findings().find_map(|note| match &note.what {
        What::NoNames(NoNames { files }) => unnamed_functions::command(recording, files),
        What::NoLines(lines) => lines.command().map(str::to_owned),
        _ => None,
    });
    let of_line = || {
        let first =
            first_screen::shown(answer).find_map(|(finding, _)| finding.found.site.as_ref()?.frame.zip(Some(finding)));
        let (frame, finding) = first?;
        // Advice is about source, which is not found without a name.
        if let Some(module) = unnamed_functions::module(&recording.frames, frame) {
            let of_callers = || unnamed_functions::callers(recording, frame);
            return Some(unnamed_functions::command(recording, &[module.to_owned()]).unwrap_or_else(of_callers));
        }
        Some(format!("memtoll advise {file} {}", shell::word(finding.place.as_deref()?)))
    };
    missing.or_else(of_line).unwrap_or_else(|| format!("memtoll report {file}"))
}

/// The line below the screen: where the recording is, and what to type next.
pub fn last_line(answer: &Answer, room: usize) -> String {
    let (file, next) = (answer.basis.recording.path().display(), command(answer));
    let line = format!("recorded in {file}; next: {next}");
    if wrap::width(&line) <= room { line } else { next }
}
