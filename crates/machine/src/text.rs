//! The report as text: tables with bars, what is not available, advice.

use crate::report::{Falls, Report, UseCosts, WayCosts};
use crate::units::{microseconds, milliseconds, nanoseconds};
use anstyle::Style;
use comfy_table::{Cell, CellAlignment, Table, presets};
use memtoll_text::format::{Unit, bytes, counted, wrapped};

/// Columns of a terminal that has room for all tables; narrower ones get the main table only, with fewer columns.
const WIDE: usize = 120;
/// Columns that the main table takes without its bars: with all numbers, and with the fewer.
const NUMBERS_WIDTH: usize = 111;
const FEW_NUMBERS_WIDTH: usize = 70;
/// Columns of a line of words: longer lines are hard to read.
const LONGEST_LINE: usize = 110;
/// Columns of a bar, if the terminal has room, and if it has none.
const LONGEST_BAR: usize = 24;
const SHORTEST_BAR: usize = 8;

/// The whole report. `width` is that of the terminal, if there is one.
pub fn text(report: &Report, width: Option<usize>) -> String {
    let wide = width.is_none_or(|width| width >= WIDE);
    let numbers = if wide { NUMBERS_WIDTH } else { FEW_NUMBERS_WIDTH };
    let room = width.map_or(LONGEST_BAR, |width| width.saturating_sub(numbers));
    let mut parts = vec![heading(report), costs(report, wide, room.clamp(SHORTEST_BAR, LONGEST_BAR))];
    if wide {
        parts.extend([with_touch(report), several(report)]);
    } else {
        parts.push(Part::plain(format!("A terminal of {WIDE} columns shows more; --format json shows everything.")));
    }
    parts.extend([unavailable(report), advice(report)]);
    let width = width.unwrap_or(LONGEST_LINE).clamp(40, LONGEST_LINE);
    let shown = parts.iter().filter(|part| !part.title.is_empty() || !part.paragraphs.is_empty());
    shown.map(|part| part.render(width)).collect::<Vec<_>>().join("\n")
}

/// A title, paragraphs, a table: whatever there is of them.
#[derive(Default)]
struct Part {
    title: String,
    paragraphs: Vec<String>,
    /// What each paragraph begins with; its other lines are indented by as much.
    bullet: &'static str,
    table: String,
}

impl Part {
    fn plain(paragraph: String) -> Part {
        Part { paragraphs: vec![paragraph], ..Part::default() }
    }

    fn render(&self, width: usize) -> String {
        let style = Style::new().bold();
        let title = if self.title.is_empty() { String::new() } else { format!("{style}{}{style:#}\n", self.title) };
        let paragraphs: String = self.paragraphs.iter().map(|text| wrapped(self.bullet, text, Some(width))).collect();
        title + &paragraphs + &self.table
    }
}

fn heading(report: &Report) -> Part {
    let machine = &report.machine;
    let huge = match machine.transparent_huge_pages.as_str() {
        "" => "none",
        setting => setting,
    };
    let swap = if machine.swap == 0 { "no swap".to_owned() } else { format!("{} of swap", bytes(machine.swap)) };
    let about = format!(
        "{}, {} processors, {}, {} of memory, {swap}, transparent huge pages: {huge}",
        if machine.processor.is_empty() { "unknown processor" } else { &machine.processor },
        machine.processors,
        machine.kernel,
        bytes(machine.memory),
    );
    let rounds = counted(report.rounds as u64, "round");
    let what = format!("{}: CPU time, user and system, median of {rounds}.", bytes(report.size_bytes));
    Part { title: "What memory costs on this machine".to_owned(), paragraphs: vec![about, what], ..Part::default() }
}

/// A column: its heading, in two lines, and what it says about a way.
struct Column<'a> {
    heading: &'a str,
    align: CellAlignment,
    cell: Box<dyn Fn(&WayCosts) -> String + 'a>,
}

fn left<'a>(heading: &'a str, cell: impl Fn(&WayCosts) -> String + 'a) -> Column<'a> {
    Column { heading, align: CellAlignment::Left, cell: Box::new(cell) }
}

fn right<'a>(heading: &'a str, cell: impl Fn(&WayCosts) -> String + 'a) -> Column<'a> {
    Column { heading, align: CellAlignment::Right, cell: Box::new(cell) }
}

fn names<'a>() -> Column<'a> {
    left("\ntaken and given back by", |way| way.name.clone())
}

/// A table without blanks at the ends of lines.
fn table<'a>(columns: &[Column], ways: impl Iterator<Item = &'a WayCosts>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(|column| Cell::new(column.heading)));
    for (made, column) in table.column_iter_mut().zip(columns) {
        made.set_padding((0, 2));
        made.set_cell_alignment(column.align);
    }
    for way in ways {
        table.add_row(columns.iter().map(|column| (column.cell)(way)));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A bar of eighths of a character.
fn bar(value: f64, highest: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if highest <= 0.0 || value <= 0.0 {
        return String::new();
    }
    let eighths = ((value / highest).min(1.0) * width as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

fn falls(falls: Falls) -> &'static str {
    match falls {
        Falls::Yes => "yes",
        Falls::Lazily => "lazily",
        Falls::MappingOnly => "mapping",
        Falls::No => "no",
    }
}

/// The main table: what remains when the pure touch is subtracted.
fn costs(report: &Report, wide: bool, bar_width: usize) -> Part {
    let spread = |costs: &UseCosts| match report.rounds {
        1 => String::new(),
        _ => format!("±{:.0} %", (costs.cpu_ns.relative() * 100.0).ceil()),
    };
    let again = |way: &WayCosts| way.one_thread.whole.again.above_touch_ns;
    let highest = report.ways.iter().map(again).fold(0.0, f64::max);
    let whole = |way: &WayCosts| way.one_thread.whole.clone();
    let sparse = |way: &WayCosts| way.one_thread.sparse.clone();
    let mut columns = vec![names()];
    if wide {
        columns.push(right("all bytes\nfirst, ms", move |way| milliseconds(whole(way).first.above_touch_ns)));
    }
    let heading = if wide { "\nagain" } else { "all bytes\nagain, ms" };
    columns.push(right(heading, move |way| milliseconds(again(way))));
    columns.push(right("\nspread", move |way| spread(&whole(way).again)));
    columns.push(left("", move |way| bar(again(way), highest, bar_width)));
    if wide {
        columns.push(right("\nµs/MiB", move |way| microseconds(whole(way).again.above_touch_ns_per_mib)));
        columns.push(right("\nns/page", move |way| nanoseconds(whole(way).again.above_touch_ns_per_page)));
        columns.push(right("64 KiB\nfirst, ms", move |way| milliseconds(sparse(way).first.above_touch_ns)));
    }
    let heading = if wide { "\nagain" } else { "64 KiB\nagain, ms" };
    columns.push(right(heading, move |way| milliseconds(sparse(way).again.above_touch_ns)));
    if wide {
        columns.push(right("\nspread", move |way| spread(&sparse(way).again)));
    }
    columns.push(left("resident\nset falls", |way| falls(way.resident_set_falls).to_owned()));
    let explanation = format!(
        "What the first and the second use cost (take, touch, give back), without the touch itself: {} where all bytes \
         are written, {} where only the first byte of each 64 KiB is.",
        Unit::Time.show(report.touch.whole.median),
        Unit::Time.show(report.touch.sparse.median),
    );
    Part {
        title: "The price of memory".to_owned(),
        paragraphs: vec![explanation],
        table: table(&columns, report.ways.iter()),
        ..Part::default()
    }
}

/// The same with the touch, and single writes.
fn with_touch(report: &Report) -> Part {
    let whole = |way: &WayCosts| way.one_thread.whole.clone();
    let sparse = |way: &WayCosts| way.one_thread.sparse.clone();
    let columns = [
        names(),
        right("all bytes\nfirst, ms", move |way| milliseconds(whole(way).first.cpu_ns.median)),
        right("\nagain", move |way| milliseconds(whole(way).again.cpu_ns.median)),
        right("a page, first\np50, ns", move |way| nanoseconds(whole(way).first.write_ns.p50)),
        right("\np99", move |way| nanoseconds(whole(way).first.write_ns.p99)),
        right("again\np50", move |way| nanoseconds(whole(way).again.write_ns.p50)),
        right("\np99", move |way| nanoseconds(whole(way).again.write_ns.p99)),
        right("64 KiB\nfirst, ms", move |way| milliseconds(sparse(way).first.cpu_ns.median)),
        right("\nagain", move |way| milliseconds(sparse(way).again.cpu_ns.median)),
        right("a byte, again\np50, ns", move |way| nanoseconds(sparse(way).again.write_ns.p50)),
        right("\np99", move |way| nanoseconds(sparse(way).again.write_ns.p99)),
    ];
    let explanation = "The same with the touch; and wall time of writing to one page, or one byte.";
    Part {
        title: "With the touch".to_owned(),
        paragraphs: vec![explanation.to_owned()],
        table: table(&columns, report.ways.iter()),
        ..Part::default()
    }
}

/// Several threads beside one.
fn several(report: &Report) -> Part {
    let of_one = |several: &UseCosts, one: &UseCosts| match one.above_touch_ns {
        // Of next to nothing there is no ratio.
        alone if alone < 0.05 * one.cpu_ns.median => String::new(),
        alone => format!("{:.2}", several.above_touch_ns.max(0.0) / alone),
    };
    let costs = |way: &WayCosts| way.several_threads.clone().unwrap_or_else(|| way.one_thread.clone());
    let columns = [
        names(),
        right("all bytes\nfirst, ms", move |way| milliseconds(costs(way).whole.first.above_touch_ns)),
        right("\nagain", move |way| milliseconds(costs(way).whole.again.above_touch_ns)),
        right("to one\nthread", move |way| of_one(&costs(way).whole.again, &way.one_thread.whole.again)),
        right("\nwall, ms", move |way| milliseconds(costs(way).whole.again.wall_ns.median)),
        right("64 KiB\nfirst, ms", move |way| milliseconds(costs(way).sparse.first.above_touch_ns)),
        right("\nagain", move |way| milliseconds(costs(way).sparse.again.above_touch_ns)),
        right("to one\nthread", move |way| of_one(&costs(way).sparse.again, &way.one_thread.sparse.again)),
    ];
    let explanation = format!(
        "CPU time of {} threads, each with its share of the memory, without the touch ({}, {}); wall time of the \
         slowest with it.",
        report.threads,
        Unit::Time.show(report.touch.whole_several.median),
        Unit::Time.show(report.touch.sparse_several.median),
    );
    let ways = report.ways.iter().filter(|way| way.several_threads.is_some());
    Part {
        title: format!("{} threads at once", report.threads),
        paragraphs: vec![explanation],
        table: table(&columns, ways),
        ..Part::default()
    }
}

fn unavailable(report: &Report) -> Part {
    if report.unavailable.is_empty() {
        return Part::default();
    }
    Part {
        title: "Not available here".to_owned(),
        paragraphs: report.unavailable.iter().map(|way| format!("{}: {}", way.name, way.why)).collect(),
        bullet: "  ",
        ..Part::default()
    }
}

fn advice(report: &Report) -> Part {
    Part { title: "What follows".to_owned(), paragraphs: report.advice.clone(), bullet: "  * ", ..Part::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::tests::report;

    #[test]
    fn bars() {
        assert_eq!(bar(1.0, 2.0, 4), "██");
        assert_eq!(bar(2.0, 2.0, 4), "████");
        assert_eq!(bar(0.3, 2.0, 4), "▋");
        assert_eq!(bar(-1.0, 2.0, 4), "");
        assert_eq!(bar(1.0, 0.0, 4), "");
    }

    #[test]
    fn narrow_terminals_get_less() {
        let widest_bar = |text: &str| text.lines().map(|line| line.matches('█').count()).max().unwrap();
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
        for (width, bar) in [(200, LONGEST_BAR), (WIDE, 9), (WIDE - 1, LONGEST_BAR), (80, 10)] {
            let text = text(&report(), Some(width));
            assert_eq!(widest_bar(&text), bar, "{width}");
            assert!(widest(&text) <= width, "{width}\n{text}");
            assert_eq!(text.contains("With the touch"), width >= WIDE);
        }
    }

    /// The whole text with fixed figures. After a change that is meant, copy what the failure prints into the file.
    #[test]
    fn fixed_figures_give_a_fixed_text() {
        let plain = text(&report(), Some(120)).replace("\x1b[1m", "").replace("\x1b[0m", "");
        let expected = include_str!("../tests/report.txt");
        assert!(plain == expected, "the text has changed; it is now:\n{plain}");
    }
}
