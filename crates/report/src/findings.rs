//! Findings as sentences.

use crate::section::{Limits, title};
use crate::{format, names};
use memtoll_analysis::findings::{
    CheapMemory, Churn, CostlyLine, Finding, HardlyTouched, HoldsPeak, NeverFreed, NullFrees, Share, TakenAgain,
    Toucher, Waiting, What, Whole,
};
use memtoll_analysis::sites::Row;
use memtoll_model::Recording;
use serde::Serialize;

/// Sentences of the first screen at the most; all of them are in the JSON.
const MOST: usize = 8;

/// The section that leads the summary; nothing if nothing was found.
pub fn section(recording: &Recording, findings: &[Finding], limits: Limits) -> String {
    /// Characters of a line where there is no terminal.
    const WIDTH: usize = 140;
    let lines = findings.iter().take(MOST).enumerate();
    let lines: String = lines
        .map(|(index, finding)| {
            let number = format!("{:>3}. ", index + 1);
            format::wrapped(&number, &sentence(recording, finding), limits.width.or(Some(WIDTH)))
        })
        .collect();
    if lines.is_empty() { lines } else { title("Findings") + &lines }
}

/// A finding in a sentence, without the last stop.
pub fn sentence(recording: &Recording, finding: &Finding) -> String {
    let place = finding.site.as_ref().map_or_else(|| "the run".to_owned(), |site| place(recording, site));
    let share = finding.share.as_ref();
    match &finding.what {
        What::CostlyLine(line) => costly_line(recording, &place, line, finding),
        What::CheapMemory(CheapMemory { cost_ns }) => {
            let time = format::seconds(cost_ns / 1e9);
            format!("Memory costs {time}, {} of all processor time: no line stands out", percent(share))
        }
        What::Waiting(Waiting { waiting_ns }) => {
            let time = format::seconds(waiting_ns / 1e9);
            format!("Threads wait {time} for each other in the allocator, {} of it at {place}", percent(share))
        }
        What::TakenAgain(TakenAgain { bytes, calls }) => {
            let (bytes, calls) = (format::bytes(*bytes), format::counted(*calls, "call"));
            format!("{bytes} taken from the system again and again, in {calls}: {place}")
        }
        What::HardlyTouched(HardlyTouched { bytes, touched_bytes, unseen_bytes }) => {
            let touched = touched_in_words(*touched_bytes, *unseen_bytes);
            format!("{} asked for but hardly touched: {place}, of which {touched}", format::bytes(*bytes))
        }
        What::Churn(Churn { temporary, blocks }) => format!(
            "{place} allocates {} that are freed before the thread's next allocation: {} of all allocations, {} of the \
             line's own",
            format::counted(*temporary, "block"),
            percent(share),
            format::percent(*temporary, *blocks)
        ),
        What::HoldsPeak(HoldsPeak { bytes, blocks }) => format!(
            "{place} has {} of the bytes live in blocks at their peak: {} in {}",
            percent(share),
            format::bytes(*bytes),
            format::counted(*blocks, "block")
        ),
        What::NeverFreed(NeverFreed { blocks, bytes }) => format!(
            "{} of {place} {} never freed: {}, {} of all that stays",
            format::counted(*blocks, "block"),
            if *blocks == 1 { "is" } else { "are" },
            format::bytes(*bytes),
            percent(share)
        ),
        What::NullFrees(NullFrees { calls }) => {
            format!(
                "free is called {} times with a null pointer, {} of it at {place}",
                format::count(*calls),
                percent(share)
            )
        }
    }
}

fn percent(share: Option<&Share>) -> String {
    share.map_or_else(|| "a part".to_owned(), |share| format!("{:.1} %", share.value() * 100.0))
}

fn place(recording: &Recording, site: &Row) -> String {
    site.frame.map_or_else(|| site.label.clone(), |frame| names::function_and_place(&recording.frames, frame))
}

/// `CharRow::CharRow (char_row.hpp:11) takes 21 % of all processor time: 9,001 × vector<Cell> of 120 elements (480 B); 76 %
/// of it page faults of memory touched for the first time`.
fn costly_line(recording: &Recording, place: &str, line: &CostlyLine, finding: &Finding) -> String {
    let share = finding.share.as_ref();
    let of = match share.map(|share| share.of) {
        Some(Whole::ProcessorTime) => "all processor time",
        _ => "what memory costs",
    };
    let mut text = format!("{place} takes {} of {of}", percent(share));
    if let Some(what) = finding.site.as_ref().and_then(|site| memory(line, site)) {
        text += &format!(": {what}");
    }
    text += &most_of(line, of == "all processor time");
    if !line.touched_by.is_empty() {
        let one =
            |by: &Toucher| format!("{} ({:.0} %)", names::function(&recording.frames, by.frame), by.share * 100.0);
        let all: Vec<String> = line.touched_by.iter().map(one).collect();
        text += &format!("; touched by {}: --paid shows who pays", all.join(", "));
    }
    text
}

/// What most of a line's cost is. Waiting takes no processor time, and is said beside it.
fn most_of(line: &CostlyLine, of_processor: bool) -> String {
    let working = [
        (
            line.fault_ns,
            if line.touched_bytes > 0 { "page faults of memory touched for the first time" } else { "page faults" },
        ),
        (line.allocator_ns, "the allocator's own work"),
        (line.mapping_ns, "making and removing mappings"),
    ];
    let waiting = [(line.waiting_ns, "waiting in the allocator"), (line.reading_ns, "waiting for the disk")];
    let largest = |parts: &[(f64, &'static str)]| parts.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
    let (parts, whole) = match of_processor {
        true => (working.to_vec(), working.iter().map(|(ns, _)| ns).sum()),
        false => ([&working[..], &waiting[..]].concat(), line.cost_ns),
    };
    let mut text = String::new();
    if let Some((ns, what)) = largest(&parts).filter(|_| whole > 0.0) {
        text += &format!("; {} of it {what}", format::percent(ns as u64, whole as u64));
    }
    if let Some((ns, what)) = largest(&waiting).filter(|(ns, _)| of_processor && *ns * 10.0 >= whole && *ns > 0.0) {
        text += &format!("; {} more {what}", format::seconds(ns / 1e9));
    }
    text
}

/// What a line allocates or maps.
fn memory(line: &CostlyLine, site: &Row) -> Option<String> {
    if line.mapped_bytes > line.bytes {
        let (number, bytes) = (format::counted(line.mappings, "mapping"), format::bytes(line.mapped_bytes));
        return Some(format!("{number} of {bytes} together that the program makes itself"));
    }
    if line.blocks == 0 {
        return None;
    }
    let number = format::count(line.blocks);
    let size = match line.block_size {
        Some(size) => format::bytes(size),
        None => format!("{} on average", format::bytes(line.bytes / line.blocks)),
    };
    Some(match (&site.type_name, line.elements) {
        (Some(kind), Some(elements)) => {
            let elements = format::counted(elements, "element");
            format!("{number} × {} of {elements} ({size})", names::short_kind(kind))
        }
        (Some(kind), None) => format!("{number} × {} of {size}", names::short_kind(kind)),
        (None, _) => format!("{} of {size}", format::counted(line.blocks, "block")),
    })
}

/// What is known to have been touched, and what may have been, bytes.
fn touched_in_words(touched: u64, unseen: u64) -> String {
    match unseen > touched / 10 {
        true => format!(
            "{} to {} touched (page faults inside system calls are not shown)",
            format::bytes(touched),
            format::bytes(touched.saturating_add(unseen))
        ),
        false => format!("{} touched", format::bytes(touched)),
    }
}

/// A finding in JSON.
#[derive(Serialize)]
pub struct JsonFinding<'a> {
    #[serde(flatten)]
    what: &'a What,
    text: String,
    share: Option<Share>,
    function: Option<String>,
    file: Option<&'a str>,
    line: Option<u32>,
}

/// The findings for scripts.
pub fn json<'a>(recording: &'a Recording, findings: &'a [Finding]) -> Vec<JsonFinding<'a>> {
    let frame = |finding: &Finding| Some(recording.frames.frame(finding.site.as_ref()?.frame?));
    findings
        .iter()
        .map(|finding| JsonFinding {
            what: &finding.what,
            text: sentence(recording, finding),
            share: finding.share,
            function: frame(finding).map(|frame| {
                memtoll_analysis::library::qualified_name(recording.frames.text(frame.function)).to_owned()
            }),
            file: frame(finding).and_then(|frame| frame.file).map(|file| recording.frames.text(file)),
            line: frame(finding).and_then(|frame| frame.line),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_part_of_processor_time() {
        let line = CostlyLine {
            blocks: 0,
            bytes: 0,
            block_size: None,
            elements: None,
            mappings: 1,
            mapped_bytes: 0,
            touched_bytes: 0,
            never_freed: 0,
            mean_lifetime_ns: 0.0,
            cost_ns: 300e6,
            allocator_ns: 0.0,
            fault_ns: 10e6,
            zeroing_ns: 0.0,
            mapping_ns: 30e6,
            waiting_ns: 0.0,
            reading_ns: 260e6,
            touched_by: Vec::new(),
        };
        assert_eq!(
            most_of(&line, true),
            "; 75.0 % of it making and removing mappings; 260 ms more waiting for the disk"
        );
        assert_eq!(most_of(&line, false), "; 86.7 % of it waiting for the disk");
        let quick = CostlyLine { reading_ns: 1e6, cost_ns: 41e6, ..line };
        assert_eq!(most_of(&quick, true), "; 75.0 % of it making and removing mappings");
    }

    #[test]
    fn what_may_have_been_touched_is_said() {
        assert_eq!(touched_in_words(3 << 20, 0), "3.0 MiB touched");
        let range = touched_in_words(8192, 14 << 20);
        assert_eq!(range, "8.0 KiB to 14.0 MiB touched (page faults inside system calls are not shown)");
    }
}
