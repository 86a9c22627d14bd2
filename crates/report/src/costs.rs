//! What a run's memory cost: the balance of its processor time and page faults, and the lines that cost most.

use crate::{format, names, summary, table};
use comfy_table::Cell;
use memtoll_analysis::balance::{Balance, Faults};
use memtoll_analysis::sites::{Row, SortBy, sort};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::summary::Metrics;

/// The two sections of the summary; nothing if there is nothing to say.
pub fn sections(recording: &Recording, sums: &Sums, sites: &mut [Row], limits: summary::Limits) -> String {
    let balance = Balance::of_all(recording, sums);
    let costs = &balance.costs;
    if costs.total() <= 0.0 {
        return String::new();
    }
    let mut text = summary::title(&match balance.processor {
        Some(processor) => format!("What memory costs, of {} of processor time", format::seconds(processor / 1e9)),
        None => "What memory costs".to_owned(),
    });
    let mut line = |ns: f64, what: String| {
        let share = balance.processor.map_or(String::new(), |all| format::percent(ns as u64, all as u64));
        text += &format!("{:>14} {share:>8}  {what}\n", format::seconds(ns / 1e9));
    };
    let total = &sums.total;
    let tariff = Tariff::of(recording);
    line(costs.allocator, format!("inside malloc, free and the like, in {} calls", format::count(total.timed_calls)));
    if balance.faults.charged > 0 {
        let zeroing = format::seconds(costs.zeroing / 1e9);
        let touched = format::bytes(tariff.touched(total));
        let count = format::count(balance.faults.charged);
        let estimated = if balance.faults.error > 0.0 {
            format!(" (± {}, sampled)", format::count(balance.faults.error as u64))
        } else {
            String::new()
        };
        line(
            costs.faults,
            format!(
                "{count}{estimated} page faults of blocks and mappings: {touched} touched for the first time; {zeroing} of it zeroing"
            ),
        );
    }
    if total.mapping_time > 0 {
        line(costs.mapping, format!("making and removing mappings{}", heap_moves(recording)));
    }
    if balance.other_faults > 0.0 {
        line(balance.other_faults, format!("other page faults, about: {}", other_faults(recording, &balance.faults)));
    }
    if balance.recorder > 0.0 {
        line(balance.recorder, "the recorder itself, about".to_owned());
    }
    if let Some(rest) = balance.rest() {
        line(rest, "the rest: the program's own work".to_owned());
    }
    if costs.waiting > 0.0 {
        text += &format!(
            "{:>14}           waiting inside malloc, free and the like, in all threads together\n",
            format::seconds(costs.waiting / 1e9)
        );
    }
    text + &resident(recording, sums) + &lines(recording, sums, sites, limits)
}

/// `, 12 MiB grown in 3 calls and 10 MiB given back in 2`: memory given back and taken again is seen here.
fn heap_moves(recording: &Recording) -> String {
    let stats = || recording.images.iter().filter_map(|image| image.end.as_ref()).map(|end| &end.kernel);
    let (grown, grown_calls): (u64, u64) = (stats().map(|s| s.grown_bytes).sum(), stats().map(|s| s.grown_calls).sum());
    let (shrunk, shrunk_calls): (u64, u64) =
        (stats().map(|s| s.shrunk_bytes).sum(), stats().map(|s| s.shrunk_calls).sum());
    match (grown_calls, shrunk_calls) {
        (0, 0) => String::new(),
        _ => format!(
            "; the allocator took {} from the system in {} calls and gave {} back in {}",
            format::bytes(grown),
            format::count(grown_calls),
            format::bytes(shrunk),
            format::count(shrunk_calls)
        ),
    }
}

fn other_faults(recording: &Recording, faults: &Faults) -> String {
    let seen = recording.end.as_ref().is_some_and(|end| end.kernel.faults);
    let kinds = [
        (faults.files, "of files and code"),
        (faults.stacks, "of stacks"),
        (faults.unowned, "of other memory"),
        (faults.unseen, if seen { "inside system calls" } else { "that the kernel only counted" }),
    ];
    let parts = kinds.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, what)| format!("{} {what}", format::count(*count))).collect::<Vec<_>>().join(", ")
}

/// Heap and resident set in words: they are different things.
fn resident(recording: &Recording, sums: &Sums) -> String {
    let usages = recording.images.iter().filter_map(|image| image.end.as_ref()?.kernel.usage);
    let Some(resident) = usages.map(|usage| usage.max_resident).max().filter(|bytes| *bytes > 0) else {
        return String::new();
    };
    let process = if sums.images.len() > 1 { "of one process " } else { "" };
    format!(
        "{:>14}           largest resident set {process}(live blocks had {} at the peak; code, stacks, freed blocks that the\n\
         {:>25}allocator keeps, and the recorder's own memory come on top; pages never touched do not count)\n",
        format::bytes(resident),
        format::bytes(sums.total.peak_bytes),
        ""
    )
}

fn lines(recording: &Recording, sums: &Sums, sites: &mut [Row], limits: summary::Limits) -> String {
    sort(sites, &recording.frames, SortBy::Cost);
    let total = sums.total.cost;
    // Rows of less than a hundredth tell nothing.
    let rows: Vec<&Row> = sites.iter().filter(|row| row.metrics.cost * 100 > total).take(limits.rows).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut shown =
        table::new_table(&["cost", "share", "allocator", "faults", "mapping", "waiting", "touched", "where"]);
    let room = limits.width.map_or(usize::MAX, |width| width.saturating_sub(76).max(30));
    let tariff = Tariff::of(recording);
    for row in rows {
        let mut cells = numbers(&row.metrics, total, &tariff);
        cells.remove(3);
        cells.push(names::shorten(&summary::site_text(recording, row, None), room));
        shown.add_row(cells.into_iter().map(Cell::new));
    }
    summary::title("Lines whose blocks cost most") + &table::finish(shown)
}

/// Columns of [`numbers`].
pub const COLUMNS: [&str; 8] = ["cost", "share", "allocator", "faults", "fault time", "mapping", "waiting", "touched"];

/// A row's costs, as text.
pub fn numbers(metrics: &Metrics, total: u64, tariff: &Tariff) -> Vec<String> {
    let costs = tariff.costs(metrics);
    let time = |ns: f64| if ns < 0.5 { String::new() } else { format::seconds(ns / 1e9) };
    let faults = SortBy::Faults.value(metrics);
    vec![
        time(costs.total()),
        format::percent(metrics.cost, total),
        time(costs.allocator),
        if faults == 0 { String::new() } else { format::count(faults) },
        time(costs.faults),
        time(costs.mapping),
        time(costs.waiting),
        if faults == 0 { String::new() } else { format::bytes(tariff.touched(metrics)) },
    ]
}
