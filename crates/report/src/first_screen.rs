//! The screen after a run: what ran, its memory, what that costs, and the lines that matter most. It has room on 24 lines of
//! 80 columns; everything else is in `memtoll report`.

use crate::caveats;
use crate::head::{self, stays};
use crate::live_curve;
use crate::lost_blocks;
use crate::numbers::Numbers;
use crate::section::{BOLD, FAINT, title};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::page_balance::Part;
use memtoll_analysis::resident as resident_sets;
use memtoll_analysis::runtime_blocks::runtime_blocks;
use memtoll_analysis::sums::{PeakIs, Sums};
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_query::findings::Finding;
use memtoll_query::findings_in_brief::{Brief, LEAST, brief};
use memtoll_query::resident_words::is_held_by;
use memtoll_query::wastes::WasteRow;
use memtoll_query::{Answer, Basis};
use memtoll_text::format;
use memtoll_text::shell;
use memtoll_text::visible;
use memtoll_text::wrap;
use memtoll_trace::summary::PeakWithMappings;

/// Lines at most, with the one that says where the recording is.
pub const LINES: usize = 24;
/// Columns, where the terminal has no fewer.
const COLUMNS: usize = 80;
/// Findings that are shown.
const FINDINGS: usize = 3;
/// Statements about what is missing, and notes of the run, that are shown: each, and lines of one.
const STATEMENTS: usize = 2;
const STATEMENT_LINES: usize = 4;
/// Columns of numbers, with the blanks behind them.
const NUMBERS: usize = 16;

/// The screen. `width`: columns of the terminal, if there is one.
pub fn render(answer: &Answer, width: Option<usize>) -> String {
    let Basis { recording, sums: Some(sums), .. } = &answer.basis else { return String::new() };
    let width = width.unwrap_or(COLUMNS).min(COLUMNS);
    let mut lines = statements("incomplete", caveats::statements(recording, sums), width);
    lines.extend(head(recording, sums, width));
    if recording.images.is_empty() {
        lines.extend(head::without_processes(recording, Some(width)).lines().map(str::to_owned));
        lines.extend(answer.notes.iter().flat_map(|note| wrap::lines(note, width)));
        return text(lines);
    }
    lines.push(String::new());
    lines.extend(totals(answer, sums, width));
    lines.extend(curve(recording, sums, width));
    lines.push(String::new());
    // What the recorder noted, such as processes that it could not record. Others explain figures of the report.
    let notes = statements("note", recording.notes.iter(), width);
    // The last line says where the recording is.
    let room = LINES.saturating_sub(lines.len() + notes.len() + 1);
    lines.extend(findings(answer, room, width));
    lines.extend(notes);
    text(lines)
}

fn text(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The first statements of a kind, and how many more there are.
fn statements<'s>(kind: &str, all: impl Iterator<Item = &'s String>, width: usize) -> Vec<String> {
    let all: Vec<&String> = all.collect();
    let mut lines = Vec::new();
    for text in all.iter().take(STATEMENTS) {
        let own = format::wrapped(&format!("{kind}: "), text, Some(width - 2));
        lines.extend(own.lines().take(STATEMENT_LINES).map(str::to_owned));
        if let Some(last) = lines.last_mut().filter(|_| own.lines().count() > STATEMENT_LINES) {
            last.push_str(" …");
        }
    }
    if all.len() > STATEMENTS {
        lines.push(format!("{kind}: {} more in memtoll report", all.len() - STATEMENTS));
    }
    lines
}

fn head(recording: &Recording, sums: &Sums, width: usize) -> Vec<String> {
    let command = wrap::shorten(&visible(&shell::line(&recording.about.command)), width);
    let run = wrap::lines(&head::run(recording), width).into_iter().map(|line| format!("{FAINT}{line}{FAINT:#}"));
    let parts = head::parts(recording, sums, None);
    let parts = parts.iter().flat_map(|part| wrap::lines(part, width)).map(|line| format!("{BOLD}{line}{BOLD:#}"));
    std::iter::once(format!("{BOLD}{command}{BOLD:#}")).chain(run).chain(parts).collect()
}

/// A number and what it is.
fn line(number: &str, what: &str, width: usize) -> Vec<String> {
    let head = format!("{number:>width$}  ", width = NUMBERS - 2);
    let text = format::wrapped(&head, what, Some(width));
    text.lines().map(str::to_owned).collect()
}

fn totals(answer: &Answer, sums: &Sums, width: usize) -> Vec<String> {
    let recording = answer.basis.recording;
    let sees_frees = sums.see_frees();
    let hidden = head::without_frees(recording, sums);
    let mut lines: Vec<String> = hidden.iter().flat_map(|(number, what)| line(number, what, width)).collect();
    if sees_frees {
        lines.extend(peak(recording, sums, width));
    }
    let reserved = head::only_reserved(recording, sums).filter(|_| sees_frees);
    lines.extend(reserved.iter().flat_map(|(number, what)| line(number, what, width)));
    lines.extend(resident_set(recording, sums, width));
    lines.extend(beside_live_blocks(answer, width));
    if sees_frees {
        lines.extend(stay(recording, sums, width));
        lines.extend(head::before_attach(recording).iter().flat_map(|(number, what)| line(number, what, width)));
    }
    lines.extend(cost(recording, sums, width));
    lines
}

/// What is live at the end, if anything is.
fn stay(recording: &Recording, sums: &Sums, width: usize) -> Vec<String> {
    let total = &sums.total;
    // What the runtime of a language keeps is the same in each program: the findings below leave it out, too.
    let runtime = runtime_blocks(recording, sums);
    let (runtime_blocks, runtime_bytes) = runtime.total();
    let (blocks, bytes) = (total.live_blocks - runtime_blocks, total.live_bytes - runtime_bytes);
    if blocks == 0 {
        return Vec::new();
    }
    let mut what = format!("{}, in {}", stays(recording, sums), format::counted(blocks, "block"));
    if runtime_blocks > 0 {
        what += &format!(", without the runtime's {}", format::bytes(runtime_bytes));
    }
    if let Some(lost) = lost_blocks::beside(sums, &runtime) {
        what += &format!("; {} of it lost: nothing points to it any more", format::bytes(lost));
    }
    line(&format::bytes(bytes), &what, width)
}

/// What is live at the peak; of several processes, with what one of them has in mappings of its own.
fn peak(recording: &Recording, sums: &Sums, width: usize) -> Vec<String> {
    let after = |time| format::seconds(recording.about.clock.seconds(time));
    let blocks = Numbers { of: &sums.total, tariff: &Tariff::of(recording) }.with_error(Metric::Peak);
    if !sums.are_of_several() {
        return match sums.peak_with_mappings().filter(PeakWithMappings::is_of_both) {
            Some(both) => {
                let what = format!("live at the peak, after {}; {blocks} at most in blocks", after(both.time));
                line(&format::bytes(both.bytes()), &what, width)
            }
            None => line(&blocks, &format!("live at the peak, after {}", after(sums.peak_time)), width),
        };
    }
    let when = match sums.peak_is() {
        PeakIs::Exact => "at the peak of all processes",
        PeakIs::AtMost => "at most, at the peak of all processes",
        PeakIs::AddedUp => "at the peaks of all processes, added up",
    };
    let lines = line(&blocks, &format!("live in blocks {when}"), width);
    let own = sums.counted().filter_map(|(index, own)| Some((index, own.peak_with_mappings?)));
    let largest = own.max_by_key(|(_, peak)| peak.bytes()).filter(|(_, peak)| peak.is_of_both());
    let of_largest = largest.map(|(index, peak)| {
        let image = &recording.images[index];
        let what = format!("live in {} {} with its mappings", names::program(image), image.about.pid);
        line(&format::bytes(peak.bytes()), &what, width)
    });
    lines.into_iter().chain(of_largest.into_iter().flatten()).collect()
}

/// The resident set, where it was largest and at the end.
fn resident_set(recording: &Recording, sums: &Sums, width: usize) -> Vec<String> {
    let Some(resident) = resident_sets::together(recording, sums) else { return Vec::new() };
    let processes = if sums.are_of_several() { " of all processes" } else { "" };
    let shared = if sums.are_of_several() { "; what they share counts in each" } else { "" };
    let at_end = resident.at_end.map_or(String::new(), |of| format!(", {} at the end", format::bytes(of.bytes)));
    let what = format!("resident set{processes} at its peak (± {}){at_end}{shared}", format::bytes(resident.error));
    line(&format::bytes(resident.program), &what, width)
}

/// What the resident set at the end is for the most part, beside live blocks.
fn beside_live_blocks(answer: &Answer, width: usize) -> Vec<String> {
    /// What is less of the resident set is no answer.
    const LEAST: f64 = 0.1;
    let Basis { recording, pages: Some(pages), .. } = &answer.basis else { return Vec::new() };
    let parts = Part::ALL.into_iter().filter(|part| !matches!(part, Part::Live | Part::Recorder));
    let largest = parts.map(|part| (pages.part(part), part)).max_by_key(|(bytes, _)| *bytes);
    let Some((bytes, part)) = largest.filter(|(bytes, _)| *bytes as f64 >= LEAST * pages.resident as f64) else {
        return Vec::new();
    };
    let waste = pages.wastes.iter().find(|waste| waste.kind.part() == part);
    let helps = waste.map_or(String::new(), |waste| format!("; {}", WasteRow::new(&recording.frames, waste).brief));
    let what = format!("of it at the end: {}{helps} (report --resident)", is_held_by(pages, part));
    line(&format::bytes(bytes), &what, width)
}

/// What memory costs, and what most of that is.
fn cost(recording: &Recording, sums: &Sums, width: usize) -> Vec<String> {
    let balance = Balance::of_all(recording, sums);
    let all = balance.explained();
    if all.value <= 0.0 {
        return Vec::new();
    }
    let faults = balance.charged.faults.plus(balance.other_faults);
    let parts = [
        (balance.charged.allocator, "malloc and free"),
        (faults, "page faults"),
        (balance.charged.mapping, "making and removing mappings"),
    ];
    let largest = parts.into_iter().max_by(|a, b| a.0.value.total_cmp(&b.0.value));
    let most = largest.map_or(String::new(), |(_, what)| format!("; most of it: {what}"));
    // Of a short run, the program's own time may be known too badly for a share.
    let program = balance.program().filter(|program| program.value > all.value);
    let share = program.map_or(String::new(), |program| format!(", {}", all.share_of(program.value)));
    line(&all.time_with_error(), &format!("of CPU time for memory{share}{most}"), width)
}

fn curve(recording: &Recording, sums: &Sums, width: usize) -> Option<String> {
    let bars = live_curve::bars(recording, sums, width - NUMBERS)?;
    Some(format!("{:>width$}  {bars}", "live bytes", width = NUMBERS - 2))
}

/// The findings that have a place on the screen, most important first.
pub(crate) fn shown<'a>(answer: &'a Answer) -> impl Iterator<Item = (&'a Finding<'a>, Brief)> {
    let is_much = |finding: &&Finding| !finding.share.is_some_and(|share| share.value() < LEAST);
    let recording = answer.basis.recording;
    let all = answer.findings.iter().flatten().filter(is_much);
    all.filter_map(move |finding| Some((finding, brief(recording, finding)?)))
}

/// The lines that matter most, in at most `room` lines of the screen.
fn findings(answer: &Answer, room: usize, width: usize) -> Vec<String> {
    let briefs: Vec<Brief> = shown(answer).map(|(_, brief)| brief).take(FINDINGS).collect();
    if briefs.is_empty() {
        return vec!["No line stands out.".to_owned()];
    }
    let mut lines = vec![title("What matters most").trim().to_owned()];
    for (index, brief) in briefs.into_iter().enumerate() {
        let mut own = paragraph(index + 1, &brief, width);
        own.truncate(room.saturating_sub(lines.len()));
        lines.extend(own);
    }
    lines
}

/// A finding in at most four lines: its cost and place, and what happens there.
fn paragraph(number: usize, brief: &Brief, width: usize) -> Vec<String> {
    /// Lines for what happens there.
    const MOST: usize = 2;
    let head = format!("{number:>2}. {:>10}  ", brief.cost);
    let room = width.saturating_sub(wrap::width(&head));
    let mut lines = vec![head + &wrap::shorten(&brief.place, room)];
    let what = brief.share.iter().cloned().chain([brief.what.clone()]).collect::<Vec<_>>().join(": ");
    // With room for what shows that it goes on.
    let broken = wrap::lines(&what, width - NUMBERS - 2);
    let is_cut = broken.len() > MOST;
    lines.extend(broken.into_iter().take(MOST).map(|line| format!("{:NUMBERS$}{line}", "")));
    if let Some(last) = lines.last_mut().filter(|_| is_cut) {
        last.push_str(" …");
    }
    lines
}
