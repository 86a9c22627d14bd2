//! What is worth typing next after a recording, told from its findings and from what stands between them and a line.

use crate::{unnamed, wrap};
use memtoll_analysis::findings::{NoNames, What};
use memtoll_query::findings::Finding;
use memtoll_query::{Answer, Basis};
use memtoll_trace::meta::MarkKind;
use std::path::Path;

/// Commands, the most useful first; one or two.
pub fn commands(answer: &Answer) -> Vec<String> {
    let Basis { recording, sums: Some(sums), .. } = &answer.basis else { return Vec::new() };
    const MOST: usize = 2;
    let (notes, findings): (Vec<&Finding>, Vec<&Finding>) =
        answer.findings.iter().flatten().partition(|finding| finding.what.is_note());
    let file = unnamed::shell_word(&recording.path().display().to_string());
    let report = |option: String| format!("memtoll report {file} {option}");
    let of_finding = |finding: &Finding| report(option(finding).to_owned());
    let has_regions = recording.images.iter().flat_map(|image| &image.marks).any(|mark| mark.kind == MarkKind::End);
    let several = sums.are_of_several().then(|| report("--group process --sort cost".to_owned()));
    // As long as functions have no names, no view says much; without lines, one function may be all that it says.
    let missing = notes.iter().find_map(|note| match &note.what {
        What::NoNames(NoNames { files }) => unnamed::command(recording, files),
        What::NoLines(lines) => lines.command().map(str::to_owned),
        _ => None,
    });
    let first = missing.into_iter().chain(findings.first().copied().map(of_finding));
    let others = findings.iter().skip(1).copied().map(of_finding);
    let regions = has_regions.then(|| report("--regions".to_owned()));
    let all = first.chain(regions).chain(several).chain(others).chain([report("--tree".to_owned())]);
    let mut commands: Vec<String> = Vec::new();
    for command in all {
        if commands.len() < MOST && !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

/// The last words after a run: where the recording is, and what is worth typing. Commands without room in the same line
/// have lines of their own. They are never broken, so that they can be copied.
pub fn last_words(recording: &Path, commands: &[String], room: Option<usize>) -> String {
    let head = format!("recorded in {}; next:", recording.display());
    let line = format!("{head} {}", commands.join("  or  "));
    match room {
        Some(room) if wrap::width(&line) > room => format!("{head}\n    {}", commands.join("\n    ")),
        _ => line,
    }
}

/// The option of `memtoll report` that shows more of a finding.
fn option(finding: &Finding) -> &'static str {
    match &finding.what {
        What::CostlyLine(line) if !line.touched_by.is_empty() => "--paid",
        What::CostlyLine(_) | What::WaitingForDisk(_) => "--callers --sort cost",
        What::CheapMemory(_) => "--tree",
        What::Waiting(_) => "--lanes",
        What::TakenAgain(_) => "--sort mapping",
        What::HardlyTouched(_) => "--sort peak",
        What::Churn(_) => "--sort temporary",
        What::HoldsPeak(_) => "--callers --sort peak",
        What::NeverFreed(_) => "--sort live",
        What::NullFrees(_) => "--tree",
        What::FaultsAgain(_) | What::NoLines(_) | What::NoNames(_) | What::Wrapped(_) => "--tree",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_without_room_have_lines_of_their_own() {
        let commands = ["memtoll report app.memtoll --tree", "memtoll report app.memtoll --lanes"].map(str::to_owned);
        let words = |room| last_words(Path::new("app.memtoll"), &commands, room);
        let line = format!("recorded in app.memtoll; next: {}  or  {}", commands[0], commands[1]);
        assert_eq!(words(None), line);
        assert_eq!(words(Some(line.len())), line);
        let lines = format!("recorded in app.memtoll; next:\n    {}\n    {}", commands[0], commands[1]);
        assert_eq!(words(Some(line.len() - 1)), lines);
    }
}
