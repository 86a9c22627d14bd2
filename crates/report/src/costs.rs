//! What a run's memory cost: the balance of its processor time and page faults, and the lines that cost most.

use crate::{elements, format, names, summary, table, unused};
use comfy_table::Cell;
use memtoll_analysis::balance::{Balance, Faults};
use memtoll_analysis::beside::Beside;
use memtoll_analysis::sites::{Row, SortBy, mean_lifetime, sort};
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
        None if sums.selection.instant => "What memory cost up to then".to_owned(),
        None => "What memory costs".to_owned(),
    });
    let total = &sums.total;
    let faults = total.faults.saturating_add(total.huge_faults);
    let mut line = |ns: f64, what: String| {
        let share = balance.processor.map_or(String::new(), |all| format::percent(ns as u64, all as u64));
        text += &format!("{:>14} {share:>8}  {what}\n", format::seconds(ns / 1e9));
    };
    let tariff = Tariff::of(recording);
    line(
        costs.allocator,
        format!("inside malloc, free and the like, in {}", format::counted(total.timed_calls, "call")),
    );
    if faults > 0 {
        let zeroing = format::seconds(costs.zeroing / 1e9);
        let touched = format::bytes(tariff.touched(total));
        let (count, s) = (format::count(faults), if faults == 1 { "" } else { "s" });
        let estimated = if balance.faults.error > 0.0 {
            format!(" (± {}, sampled)", format::count(balance.faults.error as u64))
        } else {
            String::new()
        };
        line(
            costs.faults - tariff.file_faults(total),
            format!(
                "{count}{estimated} page fault{s} of blocks and mappings: {touched} touched for the first time; {zeroing} of it zeroing"
            ),
        );
    }
    if total.file_faults > 0 || total.major_faults > 0 {
        line(tariff.file_faults(total), files(total));
    }
    if total.mapping_time > 0 {
        line(costs.mapping, format!("making and removing mappings{}", heap_moves(sums)));
    }
    if balance.other_faults > 0.0 {
        line(balance.other_faults, format!("other page faults, about: {}", other_faults(recording, &balance.faults)));
    }
    if let Some(recorder) = balance.recorder.filter(|ns| *ns > 0.0) {
        line(recorder, "the recorder itself, about".to_owned());
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
    if costs.reading > 0.0 {
        text += &format!(
            "{:>14}           waiting for the disk in major faults, in all threads together\n",
            format::seconds(costs.reading / 1e9)
        );
    }
    text + &resident(recording, sums)
        + &unused::lines(recording, sums, sites, &balance)
        + &lines(recording, sums, sites, limits)
}

/// Faults of pages that need not be made: they are in a file's cache, or on a disk.
fn files(metrics: &Metrics) -> String {
    let mapped = |count| format!("{} of files that the program maps", format::counted(count, "page fault"));
    let major = |count| format!("{}: read from disk", format::counted(count, "major fault"));
    match (metrics.file_faults, metrics.major_faults) {
        (mapped_ones, 0) => mapped(mapped_ones),
        (0, majors) => major(majors),
        (mapped_ones, majors) => format!("{}; {}", mapped(mapped_ones), major(majors)),
    }
}

/// `, 12 MiB grown in 3 calls and 10 MiB given back in 2`: memory given back and taken again is seen here.
fn heap_moves(sums: &Sums) -> String {
    let mut beside = Beside::default();
    sums.images.iter().for_each(|image| beside.add(&image.beside));
    let Beside { grown_calls, grown_bytes, shrunk_calls, shrunk_bytes, .. } = beside;
    match (grown_calls, shrunk_calls) {
        (0, 0) => String::new(),
        _ => format!(
            "; the allocator took {} from the system in {} and gave {} back in {}",
            format::bytes(grown_bytes),
            format::counted(grown_calls, "call"),
            format::bytes(shrunk_bytes),
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
        (faults.major, "of all these major: read from disk"),
    ];
    let parts = kinds.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, what)| format!("{} {what}", format::count(*count))).collect::<Vec<_>>().join(", ")
}

/// Heap and resident set in words: they are different things.
fn resident(recording: &Recording, sums: &Sums) -> String {
    if sums.selection.is_part() {
        return String::new();
    }
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
    for row in &rows {
        let mut cells = numbers(&row.metrics, total, &tariff);
        cells.remove(3);
        cells.push(names::shorten(&summary::site_text(recording, row, None), room));
        shown.add_row(cells.into_iter().map(Cell::new));
    }
    let seconds = tariff.clock().seconds(sums.duration);
    summary::title("Lines whose blocks cost most")
        + &table::finish(shown)
        + &in_words(&rows[0].metrics, seconds, &tariff)
}

/// What the dearest line does, and what its cost consists of: two sentences. `seconds` is how long it was watched.
fn in_words(metrics: &Metrics, seconds: f64, tariff: &Tariff) -> String {
    let mut text = String::new();
    let blocks = SortBy::Allocations.value(metrics);
    let touched = tariff.touched(metrics);
    // A block may begin on one page and end on another.
    let of_blocks = metrics.bytes_allocated.saturating_add(blocks.saturating_mul(2 * tariff.page()));
    if touched > of_blocks {
        text += &format!("The first: memory that the program maps itself; {} of it touched.\n", format::bytes(touched));
    } else if let Some(average) = metrics.bytes_allocated.checked_div(blocks) {
        let size = match elements::block_size(metrics) {
            Some(size) => format::bytes(size),
            None => format!("{} on average", format::bytes(average)),
        };
        text += &format!("The first: {} of {size}", format::counted(blocks, "block"));
        // In a shorter time, a rate says nothing.
        if seconds >= 1.0 {
            text += &format!(", {} a second", format::rate(blocks as f64 / seconds));
        }
        text += &match mean_lifetime(metrics) {
            0 => "; never freed".to_owned(),
            time => format!("; each lives {}", format::seconds(tariff.clock().seconds(time))),
        };
        let faults = SortBy::Faults.value(metrics);
        if faults >= blocks {
            text += &format!(" and has {} page faults", format::rate(faults as f64 / blocks as f64));
        }
        text += ".\n";
    } else if metrics.free_null_calls > 0 {
        text +=
            &format!("The first: {} of free with a null pointer.\n", format::counted(metrics.free_null_calls, "call"));
    }
    if metrics.file_faults > 0 || metrics.major_faults > 0 {
        text += &format!("The first has {}.\n", files(metrics));
    }
    let costs = tariff.costs(metrics);
    let percent = |ns: f64| format::percent(ns as u64, costs.total() as u64);
    let parts = [
        (costs.waiting, "waiting".to_owned()),
        (
            costs.faults,
            match costs.zeroing > 0.0 {
                true => format!("page faults (zeroing the pages: {})", percent(costs.zeroing)),
                false => "page faults".to_owned(),
            },
        ),
        (costs.reading, "waiting for the disk".to_owned()),
        (costs.mapping, "mappings".to_owned()),
        (costs.allocator, "the allocator itself".to_owned()),
    ];
    // Less than a thousandth would be shown as 0.0 %.
    let parts = parts.into_iter().filter(|(ns, _)| ns * 1000.0 >= costs.total());
    let parts: Vec<String> = parts.map(|(ns, what)| format!("{} {what}", percent(ns))).collect();
    text + &format!("Its cost: {}.\n", parts.join(", "))
}

/// Columns of [`numbers`].
pub const COLUMNS: [&str; 8] = ["cost", "share", "allocator", "faults", "fault time", "mapping", "waiting", "touched"];

/// A row's costs, as text.
pub fn numbers(metrics: &Metrics, total: u64, tariff: &Tariff) -> Vec<String> {
    let costs = tariff.costs(metrics);
    let time = |ns: f64| if ns < 0.5 { String::new() } else { format::seconds(ns / 1e9) };
    let (faults, touched) = (SortBy::Faults.value(metrics), tariff.touched(metrics));
    let sees = tariff.sees();
    let seen = |known: bool, text: String| if known { text } else { "unknown".to_owned() };
    vec![
        time(costs.total()),
        format::percent(metrics.cost, total),
        time(costs.allocator),
        seen(sees.faults, if faults == 0 { String::new() } else { format::count(faults) }),
        seen(sees.faults, time(costs.faults)),
        time(costs.mapping),
        seen(sees.switches, time(costs.waiting + costs.reading)),
        seen(sees.faults, if touched == 0 { String::new() } else { format::bytes(touched) }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::meta::{Clock, Price, Prices};

    fn words(metrics: &Metrics, seconds: f64) -> String {
        let price = |median| Price { median, p10: median, p90: median };
        let prices = Prices { minor_fault: price(1000.0), zeroing: price(400.0), ..Prices::default() };
        // A unit is a nanosecond.
        let tariff = Tariff::new(Clock { units_per_second: 1e9, stamp: 0.0 }, prices, 4096);
        let mut metrics = *metrics;
        tariff.fill_in(&mut metrics);
        in_words(&metrics, seconds, &tariff)
    }

    #[test]
    fn the_dearest_line_tells_its_story() {
        let frames = Metrics {
            allocations: 300,
            bytes_allocated: 300 * 1_382_400,
            largest: 1_382_400,
            lifetime: 300 * 33_000_000,
            faults: 300 * 339,
            mapping_time: 25_425_000,
            ..Metrics::default()
        };
        assert_eq!(
            words(&frames, 10.0),
            "The first: 300 blocks of 1.3 MiB, 30 a second; each lives 33.0 ms and has 339 page faults.\n\
             Its cost: 80.0 % page faults (zeroing the pages: 32.0 %), 20.0 % mappings.\n"
        );
    }

    #[test]
    fn what_is_not_there_is_not_told() {
        let leaked = Metrics {
            allocations: 2,
            live_allocations: 2,
            bytes_allocated: 96,
            largest: 64,
            allocator_time: 500,
            ..Metrics::default()
        };
        assert_eq!(
            words(&leaked, 0.5),
            "The first: 2 blocks of 48 B on average; never freed.\nIts cost: 100.0 % the allocator itself.\n"
        );
        let mapped = Metrics { allocations: 1, bytes_allocated: 8, largest: 8, faults: 1352, ..Metrics::default() };
        assert_eq!(
            words(&mapped, 5.0),
            "The first: memory that the program maps itself; 5.3 MiB of it touched.\n\
             Its cost: 100.0 % page faults (zeroing the pages: 40.0 %).\n"
        );
        let file = Metrics { major_faults: 1024, file_faults: 3, reading_time: 90_000_000, ..Metrics::default() };
        assert_eq!(
            words(&file, 5.0),
            "The first has 3 page faults of files that the program maps; 1,024 major faults: read from disk.\n\
             Its cost: 1.1 % page faults, 98.9 % waiting for the disk.\n"
        );
        let nulls = Metrics { free_null_calls: 6144, waiting_time: 300, allocator_time: 400, ..Metrics::default() };
        assert_eq!(
            words(&nulls, 5.0),
            "The first: 6,144 calls of free with a null pointer.\n\
             Its cost: 75.0 % waiting, 25.0 % the allocator itself.\n"
        );
    }
}
