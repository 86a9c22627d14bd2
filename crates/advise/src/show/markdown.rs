//! For pull requests and issues.

use super::words;
use crate::finding::Advice;
use crate::source::Root;
use std::fmt::Write;

pub fn markdown(advice: &Advice, root: &Root) -> String {
    if advice.findings.is_empty() {
        return "**memtoll: nothing found.**\n".to_owned();
    }
    let mut text = String::from("| | where | change | saves |\n|---|---|---|---|\n");
    for finding in &advice.findings {
        let place = words::place(finding).replace('|', "\\|");
        let (change, saves) = (&finding.change, words::headline(finding, advice.processor_ns));
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {} | `{place}` | {change} | {saves} |", finding.rule);
    }
    for finding in &advice.findings {
        let place = words::place(finding);
        let _ = write!(text, "\n### {}: `{place}`\n\n", finding.rule);
        if let Some(file) = &finding.file {
            let name = root.relative(file).unwrap_or_else(|| file.clone());
            let _ = writeln!(text, "`{name}{}`\n", finding.line.map_or(String::new(), |line| format!(":{line}")));
        }
        for line in &finding.evidence.text {
            let _ = writeln!(text, "* {line}");
        }
        let _ = write!(text, "\n{}:\n\n```\n{}\n```\n\n", finding.change, finding.snippet);
        for (name, amount) in words::amounts(&finding.saves) {
            let _ = writeln!(text, "* saves {name}: {amount}");
        }
        if let Some(verified) = &finding.verified {
            let _ = writeln!(text, "* verified: {}", words::verified(verified));
        }
        for line in &finding.assumptions {
            let _ = writeln!(text, "* assumes: {line}");
        }
        if !finding.conflicts.is_empty() {
            let _ = writeln!(text, "* conflicts with: {}", finding.conflicts.join(", "));
        }
        let _ = writeln!(text, "\nConfidence {}, id `{}`.", finding.confidence.word(), finding.id);
    }
    let bound: Vec<String> =
        words::amounts(&advice.bound).iter().map(|(name, amount)| format!("{name} {amount}")).collect();
    if !bound.is_empty() {
        let _ = writeln!(text, "\nAll of them together: {}.", bound.join("; "));
    }
    text
}
