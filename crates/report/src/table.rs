//! Rows as a table with aligned columns.

use crate::{costs, format, names};
use anstyle::Style;
use comfy_table::{Cell, CellAlignment, Table, presets};
use memtoll_analysis::sites::{Row, SortBy, mean_lifetime};
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::meta::Clock;
use memtoll_trace::summary::Metrics;

const COLUMNS: [&str; 9] =
    ["allocations", "share", "reallocs", "frees", "bytes", "peak", "live at end", "temporary", "lifetime"];

/// Characters that the numbers of a row take.
const NUMBERS_WIDTH: usize = 94;

/// A table of `rows`, at most `limit` of them. `width` is that of the terminal, if there is one: names are shortened to
/// fit.
pub fn render(
    recording: &Recording,
    rows: &[Row],
    total: &Metrics,
    sort: SortBy,
    limit: usize,
    width: Option<usize>,
) -> String {
    let by_cost = sort.is_cost();
    let numbers_shown: &[&str] = if by_cost { &costs::COLUMNS } else { &COLUMNS };
    let mut table = new_table(&numbers_shown.iter().chain(&["where"]).copied().collect::<Vec<_>>());
    let tariff = Tariff::of(recording);
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(NUMBERS_WIDTH).max(30));
    for row in rows.iter().take(limit) {
        let mut cells = match by_cost {
            true => costs::numbers(&row.metrics, total.cost, &tariff),
            false => numbers(&row.metrics, total, sort, &recording.about.clock),
        };
        cells.push(name(recording, row, room));
        table.add_row(cells.into_iter().map(Cell::new));
    }
    let mut text = finish(table);
    if rows.len() > limit {
        text.push_str(&format!(
            "… and {} more; --limit shows more of them\n",
            format::count((rows.len() - limit) as u64)
        ));
    }
    text
}

/// A table without borders whose columns but the last are aligned to the right.
pub fn new_table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(Cell::new));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index + 1 < columns.len() {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The table's text, without blanks at the ends of lines and with the header set off.
pub fn finish(table: Table) -> String {
    let style = Style::new().bold();
    let styled = |(index, line): (usize, String)| match index {
        0 => format!("{style}{}{style:#}\n", line.trim_end()),
        _ => line.trim_end().to_owned() + "\n",
    };
    table.lines().enumerate().map(styled).collect()
}

fn numbers(metrics: &Metrics, total: &Metrics, sort: SortBy, clock: &Clock) -> Vec<String> {
    let share = match sort {
        SortBy::Lifetime => String::new(),
        by => format::percent(by.value(metrics), by.value(total)),
    };
    let lifetime = match mean_lifetime(metrics) {
        0 => String::new(), // none was released
        units => format::seconds(clock.seconds(units)),
    };
    vec![
        format::count(metrics.allocations),
        share,
        format::count(metrics.reallocations),
        format::count(metrics.frees),
        format::bytes(metrics.bytes_allocated),
        format::bytes(metrics.peak_bytes),
        format::bytes(metrics.live_bytes),
        format::count(metrics.temporary),
        lifetime,
    ]
}

/// The row's name with its place, type, and what it is inlined into.
pub fn name(recording: &Recording, row: &Row, room: usize) -> String {
    let frames = &recording.frames;
    let Some(frame) = row.frame else {
        return names::shorten(&row.label, room);
    };
    if !row.path.is_empty() {
        let path: Vec<String> = row.path.iter().map(|frame| names::function(frames, *frame)).collect();
        return names::shorten(&path.join(" < "), room);
    }
    let mut text = names::function_and_place(frames, frame);
    if let Some(kind) = &row.type_name {
        text = format!("{text}: {}", names::short_kind(kind));
    }
    names::shorten(&(text + &names::inlined_into(frames, row)), room)
}
