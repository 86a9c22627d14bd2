//! For a terminal.

use super::words;
use crate::finding::{Advice, Finding};
use crate::source::Root;
use anstyle::Style;
use memtoll_text::format;

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
/// Columns where there is no terminal.
const WIDTH: usize = 110;

/// The advice as text, within `width` columns. For the finding `patched`, there is a patch.
pub fn text(advice: &Advice, root: &Root, file: &str, width: Option<usize>, patched: Option<&Finding>) -> String {
    let width = width.unwrap_or(WIDTH);
    if advice.findings.is_empty() {
        let unnamed = unnamed(advice, file, width);
        let nothing = match unnamed.is_empty() {
            true => "nothing found",
            false => "nothing found in functions that have names",
        };
        return format!("{nothing}: no change that memtoll knows of saves {}\n", least(advice)) + &unnamed;
    }
    let mut shown = String::new();
    for (index, finding) in advice.findings.iter().enumerate() {
        shown += &one(finding, index + 1, advice.processor_ns, root, width);
        shown.push('\n');
    }
    let bound = words::amounts(&advice.bound);
    if !bound.is_empty() {
        shown += &format!("{BOLD}All of them together{BOLD:#}\n");
    }
    for (name, amount) in bound {
        shown += &format::wrapped(&format!("  {name:17} "), &amount, Some(width));
    }
    if advice.findings.iter().any(|finding| !finding.conflicts.is_empty()) {
        shown += &format::wrapped("  ", "Of findings that conflict, the first counts.", Some(width));
    }
    shown += &unnamed(advice, file, width);
    let first = &advice.findings[0].id;
    shown +=
        &format!("\n{FAINT}check one:  memtoll verify --before CMD --after CMD --finding {first} {file}{FAINT:#}\n");
    if let Some(found) = patched {
        shown += &format!("{FAINT}patch one:  memtoll advise {file} --patch {}{FAINT:#}\n", found.id);
    }
    shown
}

/// What is left out because a reader could not find it in the source, if that is worth a line.
fn unnamed(advice: &Advice, file: &str, width: usize) -> String {
    let share = advice.processor_ns.map_or(0.0, |all| advice.unnamed_ns / all);
    if share < advice.threshold || share <= 0.0 {
        return String::new();
    }
    let text = format!(
        "functions without names have {:.1} % of the CPU time in costs of memory, and are left out: look for \
         names with \
         memtoll symbolize {file}, or give --debug-dir",
        share * 100.0
    );
    format::wrapped("note: ", &text, Some(width))
}

/// `0.5 % of its CPU time, or 5 % of its peak`.
fn least(advice: &Advice) -> String {
    let percent = advice.threshold * 100.0;
    format!("{percent} % of the program's CPU time, or {} % of its peak", percent * 10.0)
}

fn one(finding: &Finding, number: usize, processor: Option<f64>, root: &Root, width: usize) -> String {
    let wrapped = |head: &str, text: &str| format::wrapped(head, text, Some(width));
    let place = words::place(finding) + &words::inlined(finding);
    let mut shown = format!("{BOLD}{number}. {}{BOLD:#}  {}\n", finding.rule, place);
    if let Some(file) = &finding.file {
        let name = root.relative(file).unwrap_or_else(|| file.clone());
        let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
        shown += &format!("   {FAINT}{name}{line}{FAINT:#}\n");
        if let Some(text) = finding.line.and_then(|line| root.line(file, line)) {
            shown += &format!("   {FAINT}    {text}{FAINT:#}\n");
        }
    }
    shown += &wrapped("   saves    ", &words::headline(finding, processor));
    for (name, amount) in words::further(finding) {
        shown += &wrapped("            ", &format!("{name} {amount}"));
    }
    if let Some(verified) = &finding.verified {
        shown += &wrapped("   verified ", &words::verified(verified));
    }
    let mut head = "   because  ";
    for text in &finding.evidence.text {
        shown += &wrapped(head, text);
        head = "            ";
    }
    shown += &wrapped("   change   ", &finding.change);
    for line in finding.snippet.lines() {
        shown += &format!("            {line}\n");
    }
    let mut head = "   assumes  ";
    for text in &finding.assumptions {
        shown += &wrapped(head, text);
        head = "            ";
    }
    if !finding.conflicts.is_empty() {
        shown += &wrapped("   conflicts with ", &finding.conflicts.join(", "));
    }
    shown + &format!("   {FAINT}confidence {}, id {}{FAINT:#}\n", finding.confidence.word(), finding.id)
}
