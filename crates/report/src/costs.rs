//! What lines of code cost: a table, and what the dearest one does, in words.

use crate::balance::files;
use crate::numbers::Numbers;
use crate::section::{Limits, title};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::element_counts;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::site_text::site_text;
use memtoll_analysis::sites::{Row, sort};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::touched::faults_again;
use memtoll_analysis::touched::{asked_for, is_more_than_asked_for, maps_itself};
use memtoll_model::Recording;
use memtoll_query::findings_in_words::AGAIN;
use memtoll_text::format::{self, Unit};
use memtoll_text::table::Table;
use memtoll_trace::ids::{Bytes, Units};

/// The section of the summary with the lines that cost most; nothing if none costs anything.
pub fn section(recording: &Recording, sums: &Sums, sites: &mut [Row], limits: Limits) -> String {
    sort(sites, &recording.frames, Metric::Cost);
    let total = sums.total.cost_ns();
    // Rows of less than a hundredth tell nothing.
    let rows: Vec<&Row> =
        sites.iter().filter(|row| row.metrics.cost_ns().times(100) > total).take(limits.rows).collect();
    let Some(first) = rows.first() else { return String::new() };
    let columns = COLUMNS.iter().chain(&["where"]).filter(|name| **name != FAULTS).copied();
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    let tariff = Tariff::of(recording);
    for row in &rows {
        let cells = COLUMNS.iter().zip(numbers(&row.metrics, total.0, &tariff));
        let cells = cells.filter(|(name, _)| **name != FAULTS).map(|(_, cell)| cell);
        table.add(cells.chain([site_text(recording, row, None)]));
    }
    let mut words = in_words(&first.metrics, &tariff, Watched::of(recording, sums, &tariff));
    words.extend(more_than_asked_for(rows.iter().map(|row| &row.metrics), &tariff));
    let words = words.iter().map(|line| format::wrapped("", line, limits.width));
    title("Lines whose blocks cost most") + &table.render(limits.width) + &words.collect::<String>()
}

/// What was looked at of a line.
#[derive(Clone, Copy)]
struct Watched {
    /// For how long.
    seconds: f64,
    /// What is said of blocks that were live at its end.
    kept: &'static str,
    /// CPU time meanwhile, ns, if it is known.
    processor: Option<f64>,
    /// Whether that is of some threads, or in a span, with the recorder's.
    is_part: bool,
}

impl Watched {
    fn of(recording: &Recording, sums: &Sums, tariff: &Tariff) -> Watched {
        let program = Balance::of_all(recording, sums).program();
        Watched {
            seconds: tariff.clock().seconds(sums.duration),
            kept: if sums.selection.to < Units::MAX {
                "live at the end of that time"
            } else {
                recording.kept().words()
            },
            // By the clock, calls take more than CPU time.
            processor: program.map(|time| time.value).filter(|_| tariff.sees().switches),
            is_part: sums.processor.is_some(),
        }
    }
}

/// What the dearest line does, and what its cost consists of: a few sentences.
fn in_words(metrics: &Priced, tariff: &Tariff, watched: Watched) -> Vec<String> {
    let mut lines = Vec::new();
    let blocks = Metric::Allocations.value(metrics);
    if maps_itself(metrics, tariff) {
        lines.push(mappings_in_words(metrics, tariff));
    } else if blocks > 0 {
        lines.push(blocks_in_words(metrics, tariff, watched));
    } else if metrics.null_frees > 0 {
        let calls = format::counted(metrics.null_frees, "call");
        lines.push(format!("The first: {calls} of free with a null pointer."));
    }
    if metrics.file_faults > 0 || metrics.major_faults > 0 {
        lines.push(format!("The first has {}.", files(metrics)));
    }
    let costs = metrics.costs();
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
    let share = watched.processor.filter(|all| costs.processor() * 100.0 >= *all && *all >= costs.processor());
    let share = share.map_or(String::new(), |all| {
        let share = tariff.estimates(metrics).processor().share_of(all);
        let without = if costs.processor() < costs.total() * 0.99 { "Without waiting, it" } else { "It" };
        let whose = if watched.is_part { "" } else { "program's " };
        format!(" {without} takes {share} of the {whose}CPU time.")
    });
    lines.push(format!("Its cost: {}.{share}", parts.join(", ")));
    if faults_again(metrics, tariff) {
        lines.push(format!("More pages faulted than were asked for: {AGAIN}."));
    }
    lines
}

/// Why small blocks touch more than they have.
fn more_than_asked_for<'a>(mut rows: impl Iterator<Item = &'a Priced>, tariff: &Tariff) -> Option<String> {
    rows.any(|row| is_more_than_asked_for(row, tariff)).then(|| {
        "touched can be more than bytes: it counts whole pages, with malloc's headers, the gaps between blocks, and what the \
         allocator needs for itself."
            .to_owned()
    })
}

/// How much the program maps, and how much of it it uses.
fn mappings_in_words(metrics: &Priced, tariff: &Tariff) -> String {
    let memory = match metrics.mappings {
        0 => "memory that the program maps itself".to_owned(),
        1 => format!("a mapping of {} that the program makes itself", format::bytes(metrics.mapped_bytes)),
        mappings => format!(
            "{} mappings of {} together that the program makes itself",
            format::count(mappings),
            format::bytes(metrics.mapped_bytes)
        ),
    };
    let touched = tariff
        .sees()
        .faults
        .then(|| format!("; {} of it touched", Numbers { of: metrics, tariff }.with_error(Metric::Touched)));
    format!("The first: {memory}{}.", touched.unwrap_or_default())
}

/// How many blocks, how large, how often, and how long they live.
fn blocks_in_words(metrics: &Priced, tariff: &Tariff, watched: Watched) -> String {
    let blocks = Metric::Allocations.value(metrics);
    let size = match element_counts::block_size(metrics) {
        Some(size) => format::bytes(size),
        None => format!("{} on average", format::bytes(metrics.bytes / blocks.max(1))),
    };
    let mut text = format!("The first: {} of {size}", format::counted(blocks, "block"));
    // In a shorter time, a rate says nothing. `--from 2s --to 3s` is a second, whatever the clock's units make of it.
    if watched.seconds >= 0.999 && blocks > 1 {
        text += &format!(", {} a second", format::rate(blocks as f64 / watched.seconds));
    }
    let stay = watched.kept;
    let lifetime = |ns: u64| format::seconds(ns as f64 / 1e9);
    let others = |but: u64, ns: u64| {
        let live = format::plural(blocks.saturating_sub(but), "the other lives", "the others live");
        format!("{live} {}", lifetime(ns))
    };
    let life = match (metrics.mean_lifetime_ns(), metrics.live_blocks) {
        _ if !Metric::Lifetime.is_known_of(metrics, tariff.sees()) => None,
        (0, 0) if metrics.ended_blocks == 0 => None,
        (0, 0) => Some("there when their process ended".to_owned()),
        (0, _) => Some(stay.to_owned()),
        // One in ten is news.
        (time, live) if live.saturating_mul(10) >= blocks => {
            Some(format!("{} {stay}, {}", format::count(live), others(live, time)))
        }
        (time, _) if metrics.ended_blocks.saturating_mul(10) >= blocks => Some(format!(
            "{} {} there when their process ended, {}",
            format::count(metrics.ended_blocks),
            format::plural(metrics.ended_blocks, "was", "were"),
            others(metrics.ended_blocks, time)
        )),
        (time, _) if blocks == 1 => Some(format!("it lives {}", lifetime(time))),
        (time, _) => Some(format!("each lives {}", lifetime(time))),
    };
    let faults = tariff.estimate(Metric::Faults, metrics);
    let faults = (metrics.faults() >= blocks).then(|| match blocks {
        1 => faults.things("page fault"),
        _ => faults.scaled(1.0 / blocks as f64).with_error(Unit::Count) + " page faults each",
    });
    for part in life.into_iter().chain(faults) {
        text += &format!("; {part}");
    }
    text + "."
}

/// Columns of [`numbers`].
pub const COLUMNS: [&str; 9] =
    ["cost", "share", "allocator", "page faults", "fault time", "mapping", "waiting", "bytes", "touched"];
/// The number of faults: the summary has their time only.
pub(crate) const FAULTS_COLUMN: usize = 3;
const FAULTS: &str = COLUMNS[FAULTS_COLUMN];

/// A row's costs, as text.
pub fn numbers(metrics: &Priced, total: u64, tariff: &Tariff) -> Vec<String> {
    let costs = tariff.estimates(metrics);
    let known = |time: Estimate| if time.value < 0.5 { String::new() } else { time.known_time() };
    let of = Numbers { of: metrics, tariff };
    let sees = tariff.sees();
    let seen = |known: bool, text: String| if known { text } else { "unknown".to_owned() };
    let waiting = costs.waiting.plus(costs.reading);
    let waiting = match sees.switches {
        true => known(waiting),
        // That of threads that waited for others is seen from their calls alone.
        false if waiting.value >= 0.5 => format!("≥ {}", known(waiting)),
        false => "unknown".to_owned(),
    };
    vec![
        known(costs.total()),
        format::percent(metrics.cost_ns().0, total),
        known(costs.allocator),
        seen(sees.faults, of.cell_or_blank(Metric::Faults)),
        seen(sees.faults, known(costs.faults)),
        known(costs.mapping),
        waiting,
        match asked_for(metrics) == Bytes::ZERO || maps_itself(metrics, tariff) && metrics.mappings == 0 {
            true => String::new(),
            false => Metric::Bytes.show(of.estimate(Metric::Bytes).plus(of.estimate(Metric::Mapped))),
        },
        seen(sees.faults, of.cell_or_blank(Metric::Touched)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::Units;
    use memtoll_trace::meta::{Clock, Price, Prices};
    use memtoll_trace::metrics::Metrics;
    use memtoll_trace::op::Op;

    fn words(metrics: &Metrics, seconds: f64) -> String {
        words_of(|tariff| tariff.price(metrics), seconds)
    }

    fn words_of(metrics: impl Fn(&Tariff) -> Priced, seconds: f64) -> String {
        let price = |median| Price { median, p10: median, p90: median };
        let prices = Prices { minor_fault: price(1000.0), zeroing: price(400.0), ..Prices::default() };
        // A unit is a nanosecond.
        let tariff = Tariff::new(Clock { units_per_second: 1e9, stamp: 0.0 }, prices, 4096);
        let metrics = metrics(&tariff);
        let watched = Watched { seconds, kept: "never freed", processor: Some(400e6), is_part: false };
        in_words(&metrics, &tariff, watched).join("\n") + "\n"
    }

    #[test]
    fn the_dearest_line_tells_its_story() {
        let frames = Metrics {
            new_blocks: 300,
            bytes: Bytes(300 * 1_382_400),
            largest_bytes: Bytes(1_382_400),
            lifetime: Units(300 * 33_000_000),
            small_faults: 300 * 339,
            mapping_time: Units(25_425_000),
            ..Metrics::default()
        };
        assert_eq!(
            words(&frames, 10.0),
            "The first: 300 blocks of 1.3 MiB, 30 a second; each lives 33.0 ms; 339 page faults each.\n\
             Its cost: 80.0 % page faults (zeroing the pages: 32.0 %), 20.0 % mappings. It takes 32 % of the \
             program's CPU time.\n"
        );
        assert!(words(&frames, 0.9995).contains("1.3 MiB, 300 a second;"), "{}", words(&frames, 0.9995));
        let twice = Metrics { small_faults: 300 * 500, ..frames };
        assert!(words(&twice, 10.0).contains("More pages faulted than were asked for"), "{}", words(&twice, 10.0));
        let one = Metrics {
            new_blocks: 1,
            bytes: Bytes(1_382_400),
            lifetime: Units(33_000_000),
            small_faults: 339,
            ..frames
        };
        assert!(words(&one, 10.0).starts_with("The first: 1 block of 1.3 MiB; it lives 33.0 ms; 339 page faults.\n"));
    }

    #[test]
    fn what_a_process_left_does_not_live_on() {
        let counts = Metrics {
            new_blocks: 4,
            live_blocks: 3,
            bytes: Bytes(4 * 80),
            largest_bytes: Bytes(80),
            lifetime: Units(3_000_000),
            ..Metrics::default()
        };
        let ended = |tariff: &Tariff| {
            let mut metrics = tariff.price(&counts);
            metrics.end();
            metrics
        };
        let text = words_of(ended, 0.5);
        assert!(text.contains("of 80 B; 3 were there when their process ended, the other lives 3.0 ms."), "{text}");
        let all = |tariff: &Tariff| {
            let mut metrics = tariff.price(&Metrics { live_blocks: 4, lifetime: Units::ZERO, ..counts });
            metrics.end();
            metrics
        };
        let text = words_of(all, 0.5);
        assert!(text.contains("of 80 B; there when their process ended."), "{text}");
    }

    #[test]
    fn what_is_not_there_is_not_told() {
        let leaked = Metrics {
            new_blocks: 2,
            live_blocks: 2,
            bytes: Bytes(96),
            largest_bytes: Bytes(64),
            allocator_time: Units(500),
            ..Metrics::default()
        };
        assert_eq!(
            words(&leaked, 0.5),
            "The first: 2 blocks of 48 B on average; never freed.\nIts cost: 100.0 % the allocator itself.\n"
        );
        let operations = Op::MMAP.bit();
        let scattered = Metrics { live_blocks: 1, lifetime: Units(3_000_000), largest_bytes: Bytes(80), ..leaked };
        assert!(
            words(&scattered, 0.5).contains("average; 1 never freed, the other lives 3.0 ms."),
            "{}",
            words(&scattered, 0.5)
        );
        let mapped = Metrics {
            new_blocks: 1,
            bytes: Bytes(8),
            largest_bytes: Bytes(8),
            small_faults: 1352,
            operations,
            ..Metrics::default()
        };
        assert_eq!(
            words(&mapped, 5.0),
            "The first: memory that the program maps itself; 5.3 MiB of it touched.\n\
             Its cost: 100.0 % page faults (zeroing the pages: 40.0 %).\n"
        );
        let known = Metrics { mappings: 2, mapped_bytes: Bytes(1 << 30), ..mapped };
        assert!(
            words(&known, 5.0).starts_with(
                "The first: 2 mappings of 1.0 GiB together that the program makes itself; 5.3 MiB of it touched.\n"
            ),
            "{}",
            words(&known, 5.0)
        );
        let file =
            Metrics { major_faults: 1024, file_faults: 3, reading_time: Units(90_000_000), ..Metrics::default() };
        assert_eq!(
            words(&file, 5.0),
            "The first has 3 page faults of files that the program maps, and 1,024 major faults: read from disk.\n\
             Its cost: 1.1 % page faults, 98.9 % waiting for the disk.\n"
        );
        let nulls =
            Metrics { null_frees: 6144, waiting_time: Units(300), allocator_time: Units(400), ..Metrics::default() };
        assert_eq!(
            words(&nulls, 5.0),
            "The first: 6,144 calls of free with a null pointer.\n\
             Its cost: 75.0 % waiting, 25.0 % the allocator itself.\n"
        );
    }
}
