//! Rows of call sites, threads, processes or sizes as a table.

use crate::numbers::{LIVE_AT_END, Numbers, SHARE};
use crate::processor::Processor;
use crate::{caveats, costs, empty_result, pages};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::sites::{GroupBy, Row, together};
use memtoll_analysis::tariff::Tariff;
use memtoll_query::{Answer, Basis, Shown};
use memtoll_text::format;
use memtoll_text::table::Table;

const PEAK: &str = "peak";
/// "freed" are the row's blocks, wherever they were freed; "frees here" are calls, whichever row's blocks they freed.
const COLUMNS: [&str; 10] =
    [ALLOCATIONS, SHARE, "reallocations", "freed", BYTES, PEAK, LIVE_AT_END, TEMPORARY, LIFETIME, "frees here"];
const ALLOCATIONS: &str = "allocations";
const BYTES: &str = "bytes";
const TEMPORARY: &str = "temporary";
const LIFETIME: &str = "lifetime";

/// Of threads and processes: their CPU time, and the share of it that memory takes.
const PROCESSOR_COLUMNS: [&str; 2] = ["CPU time", "for memory"];
const AFTER_SHARE: usize = 2;

/// The rows of an answer as a table, at most `limit` of them. `width` is that of the terminal, if there is one.
pub fn render(answer: &Answer, limit: usize, width: Option<usize>) -> String {
    let Basis { recording, sums: Some(sums), .. } = &answer.basis else { return String::new() };
    let (Shown::Table(shown), Some(sort)) = (&answer.shown, answer.metric) else { return String::new() };
    let group = shown.group;
    let mut rows: Vec<Row> = shown.sites.iter().map(|row| &row.row).chain(&shown.rest).cloned().collect();
    // A line that only frees is shown with its frees; a thread or process in any case.
    if !matches!(group, GroupBy::Thread | GroupBy::Process) {
        let frees = |row: &Row| sort == Metric::Allocations && row.metrics.frees > 0;
        rows.retain(|row| sort.value(&row.metrics) > 0 || frees(row));
    }
    let tariff = answer.basis.tariff;
    let hides = Numbers { of: &Priced::default(), tariff: &tariff }.hides(sort);
    if rows.is_empty() || hides {
        return empty_result::of(recording, sums, sort);
    }
    if group == GroupBy::Size {
        let exact = |label: &str| label.parse().map_or_else(|_| label.to_owned(), format::count) + " B";
        rows.iter_mut().for_each(|row| row.label = exact(&row.label));
    }
    let rows = &rows[..];
    let total = &sums.total;
    let by_cost = sort.is_cost();
    let mut columns = match () {
        () if by_cost => costs::COLUMNS.to_vec(),
        () if sort.is_of_pages() => pages::COLUMNS.to_vec(),
        () => COLUMNS.to_vec(),
    };
    // Shares of costs are always shares of the whole cost.
    let leading = if by_cost { 0 } else { columns.iter().position(|name| *name == column_of(sort)).unwrap_or(0) };
    lead(&mut columns, leading);
    let titles = sums.titles();
    let title = |column| match column {
        LIVE_AT_END => titles.in_rows(Metric::Live),
        PEAK => titles.in_rows(Metric::Peak),
        other => other,
    };
    columns.iter_mut().for_each(|column| *column = title(*column));
    let with_processor = by_cost && rows.iter().any(|row| row.of.is_some());
    if with_processor {
        columns.splice(AFTER_SHARE..AFTER_SHARE, PROCESSOR_COLUMNS);
    }
    columns.push("where");
    let of_names = rows.iter().any(|row| row.frame.is_some());
    let table = if of_names { Table::new(&columns) } else { Table::of_texts(&columns) };
    let mut table = table.keep(title(column_of(sort)));
    let times = with_processor.then(|| Processor::new(recording, sums));
    let shown = &rows[..limit.min(rows.len())];
    let named: Vec<_> = shown.iter().map(|row| (*recording, row)).collect();
    for (row, name) in shown.iter().zip(names::of_rows(&named)) {
        let of_row = Numbers { of: &row.metrics, tariff: &tariff };
        let mut cells = match () {
            () if by_cost => costs::numbers(&row.metrics, total.cost_ns().0, &tariff),
            () if sort.is_of_pages() => pages::numbers(of_row, total, sort),
            () => numbers(of_row, total, sort),
        };
        lead(&mut cells, leading);
        if let Some(times) = &times {
            // Without records of page faults, the kernel still counts them for each thread or process.
            if let Some(faults) = row.of.and_then(|of| times.faults(of)).filter(|_| !tariff.sees().faults) {
                cells[costs::FAULTS_COLUMN] = format!("{} in all", format::count(faults));
            }
            cells.splice(AFTER_SHARE..AFTER_SHARE, of_processor(row, times, &tariff));
        }
        cells.push(name);
        table.add(cells);
    }
    let mut text = table.render(width);
    if rows.len() > limit {
        let rest = &rows[limit..];
        let more = format::count(rest.len() as u64);
        let of_rest = Numbers { of: &together(rest), tariff: &tariff };
        text += &match sort {
            Metric::Lifetime => format!("… and {more} more; --limit shows more of them\n"), // means do not add up
            _ => {
                let (number, share) = (of_rest.in_row(sort), of_rest.share(sort, total));
                format!("… and {more} more with {number} ({}); --limit shows more of them\n", share.trim())
            }
        };
    }
    text + &caveats::folded(answer, width)
}

/// The column that rows are sorted by.
fn column_of(sort: Metric) -> &'static str {
    match sort {
        Metric::Live => LIVE_AT_END,
        other => other.about().title,
    }
}

/// Puts the column that rows are sorted by first. Its share, in the second column, stays beside it.
fn lead<T>(cells: &mut [T], leading: usize) {
    if leading > 0 {
        cells[..=leading].rotate_right(1);
        cells.swap(1, 2);
    }
}

/// A thread's or process's CPU time, and how much for memory takes.
fn of_processor(row: &Row, times: &Processor, tariff: &Tariff) -> [String; 2] {
    let Some(time) = row.of.and_then(|runner| times.of(runner)) else {
        return ["unknown", ""].map(str::to_owned);
    };
    let costs = row.metrics.costs().processor();
    // By the clock, calls take more than CPU time.
    let is_share = costs <= time && tariff.sees().switches;
    let share = if is_share { format::percent(costs as u64, time as u64) } else { String::new() };
    [format::seconds(time / 1e9), share]
}

fn numbers(of: Numbers, total: &Priced, sort: Metric) -> Vec<String> {
    let share = match sort {
        Metric::Lifetime => String::new(),
        by => of.share(by, total),
    };
    vec![
        of.cell(Metric::Allocations),
        share,
        of.cell(Metric::Reallocations),
        of.cell(Metric::Freed),
        of.cell(Metric::Bytes),
        of.cell(Metric::Peak),
        of.cell(Metric::Live),
        of.cell(Metric::Temporary),
        // None was released.
        of.cell_or_blank(Metric::Lifetime),
        of.cell_or_blank(Metric::Frees),
    ]
}
