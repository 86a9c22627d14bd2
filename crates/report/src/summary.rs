//! The first screen: what a run allocated, which lines and call paths are responsible, what is churn, what stays.

use crate::elements::{block_size, elements};
use crate::{call_paths, costs, format, names, table, tree};
use anstyle::Style;
use comfy_table::Cell;
use memtoll_analysis::sites::{GroupBy, Row, SortBy, rows, sort};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::meta::{Clock, Exit};
use memtoll_trace::summary::Metrics;

const BOLD: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// How much of each section is shown.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Rows of a section.
    pub rows: usize,
    /// Width of the terminal, if there is one.
    pub width: Option<usize>,
}

/// The summary.
pub fn render(recording: &Recording, sums: &Sums, view: &View, limits: Limits) -> String {
    let mut text = head(recording, sums, limits);
    let mut stacks = Stacks::new(recording, view);
    let mut sites = rows(&mut stacks, sums, GroupBy::Site);
    let mut paths = rows(&mut stacks, sums, GroupBy::Path);
    let mut functions = rows(&mut stacks, sums, GroupBy::CompiledFunction);
    text += &costs::sections(recording, sums, &mut sites, limits);
    text += &functions_with_sites(recording, sums, &mut functions, &mut sites, limits);
    text += &call_paths::render(recording, sums, &mut paths, limits);
    for (title, by) in [
        ("Temporary: released before the thread's next allocation", SortBy::Temporary),
        (if sums.images.len() > 1 { "Live at each process's peak" } else { "Live at the peak" }, SortBy::Peak),
        (&first_capital(stays(sums, &recording.about.clock)), SortBy::Live),
    ] {
        text += &short_section(recording, &mut sites, title, by, limits);
    }
    text += &null_frees(recording, sums, &sites, limits);
    text += &processes(recording, sums, limits);
    text += &remarks(recording, sums);
    text
}

pub(crate) fn title(text: &str) -> String {
    format!("\n{BOLD}{text}{BOLD:#}\n")
}

fn head(recording: &Recording, sums: &Sums, limits: Limits) -> String {
    let about = &recording.about;
    let total = &sums.total;
    let clock = &about.clock;
    let command = names::shorten(&about.command.join(" "), limits.width.unwrap_or(usize::MAX).saturating_sub(10));
    let mut text = format!("{BOLD}{command}{BOLD:#}\n");
    text += &format!(
        "{FAINT}{} on {}, {} in {}{FAINT:#}\n\n",
        format::date(about.started),
        about.machine.host,
        format::seconds(clock.seconds(recording.ended())),
        match &recording.images[..] {
            [only] => "1 process".to_owned() + &bad_end(only.end.as_ref().map(|end| end.exit)),
            all => format!("{} processes", all.len()),
        }
    );
    let span = span(sums, clock);
    if !span.is_empty() {
        text = text.trim_end().to_owned() + &format!("\n{BOLD}{span}{BOLD:#}\n\n");
    }
    let mut lines: Vec<(String, String)> = vec![(
        format::count(total.allocations),
        format!("allocations of {} together", format::bytes(total.bytes_allocated)),
    )];
    if total.reallocations > 0 {
        lines.push((format::count(total.reallocations), "reallocations".into()));
    }
    let null = match total.free_null_calls {
        0 => String::new(),
        n => format!(", and {} of a null pointer", format::count(n)),
    };
    lines.push((format::count(total.frees), format!("frees{null}")));
    lines.push((
        format::count(total.temporary),
        match share(total.temporary, total) {
            share if share.is_empty() => "temporary: released before the thread's next allocation".to_owned(),
            share => format!("temporary ({share}): released before the thread's next allocation"),
        },
    ));
    lines.push((
        format::bytes(total.peak_bytes),
        format!("live at the peak, after {}", format::seconds(clock.seconds(sums.peak_time))),
    ));
    lines.push((
        format::bytes(total.live_bytes),
        format!("{}, in {}", stays(sums, clock), format::counted(total.live_allocations, "block")),
    ));
    let inside = Tariff::of(recording).costs(total).allocator / 1e9;
    lines.push((
        format::seconds(inside),
        format!("inside the allocator, {} a call", format::seconds(inside / total.events.max(1) as f64)),
    ));
    let cut = total.truncated_stacks;
    if cut > 0 {
        lines.push((format::count(cut), format!("call stacks ({}) are cut off", format::percent(cut, total.events))));
    }
    for (number, what) in lines {
        text += &format!("{number:>14}  {what}\n");
    }
    if let [only] = &sums.images[..] {
        let line = format::sparkline(&only.curve.highest, 60);
        if line.chars().count() > 8 {
            text += &format!("{:>14}  {line}\n", "live bytes");
        }
    }
    text
}

/// Which span of time is told; empty: all of it.
fn span(sums: &Sums, clock: &Clock) -> String {
    let at = |units: u64| format::seconds(clock.seconds(units));
    let selection = &sums.selection;
    match (selection.from, selection.to) {
        (0, u64::MAX) => String::new(),
        (_, to) if selection.instant => format!("what was live at {}", at(to)),
        (from, u64::MAX) => format!("from {} on", at(from)),
        (0, to) => format!("up to {}", at(to)),
        (from, to) => format!("from {} to {}", at(from), at(to)),
    }
}

/// What blocks are that were not freed. At an instant, they are merely live.
fn stays(sums: &Sums, clock: &Clock) -> String {
    match sums.selection.to {
        u64::MAX => "never freed".to_owned(),
        _ if sums.selection.instant => "live then".to_owned(),
        to => format!("live at {}", format::seconds(clock.seconds(to))),
    }
}

fn first_capital(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

pub(crate) fn share(part: u64, total: &Metrics) -> String {
    format::percent(part, total.allocations + total.reallocations)
}

/// The functions that allocate most, and for each its lines with the types that they allocate.
fn functions_with_sites(
    recording: &Recording,
    sums: &Sums,
    functions: &mut Vec<Row>,
    sites: &mut [Row],
    limits: Limits,
) -> String {
    let by = SortBy::Allocations;
    sort(functions, &recording.frames, by);
    sort(sites, &recording.frames, by);
    functions.retain(|row| by.value(&row.metrics) > 0);
    if functions.is_empty() {
        return String::new();
    }
    let mut text = title("Functions that allocate most");
    let acquisitions = format::acquisitions(sums.total.reallocations);
    let mut rows = table::new_table(&[acquisitions, "share", "bytes", "peak", "where"]);
    let room = limits.width.map_or(usize::MAX, |width| width.saturating_sub(52).max(30));
    for function in functions.iter().take(limits.rows) {
        let Some(frame) = function.frame else {
            add(&mut rows, &function.metrics, &sums.total, function.label.clone());
            continue;
        };
        let key = |frame: u32| {
            let frame = recording.frames.frame(frame);
            (frame.function, frame.module)
        };
        let compiled = |site: &Row| site.inlined.last().copied().or(site.frame);
        let belongs = |site: &&Row| compiled(site).is_some_and(|f| key(f) == key(frame)) && by.value(&site.metrics) > 0;
        let own: Vec<&Row> = sites.iter().filter(belongs).collect();
        if let [only] = own[..] {
            let line = site_text(recording, only, None);
            add(&mut rows, &function.metrics, &sums.total, names::shorten(&line, room));
            continue;
        }
        add(
            &mut rows,
            &function.metrics,
            &sums.total,
            names::shorten(&names::function(&recording.frames, frame), room),
        );
        const LINES: usize = 5;
        let mut left = function.metrics;
        for (index, site) in own.iter().take(LINES).enumerate() {
            let end = index + 1 == own.len();
            let line = format!("{} {}", if end { "└" } else { "├" }, site_text(recording, site, Some(frame)));
            add(&mut rows, &site.metrics, &sums.total, names::shorten(&line, room));
            left = less(left, &site.metrics);
        }
        if own.len() > LINES {
            add(&mut rows, &left, &sums.total, format!("└ {} more lines", own.len() - LINES));
        }
    }
    text += &table::finish(rows);
    text
}

/// What is left of sums that are shown.
fn less(mut all: Metrics, shown: &Metrics) -> Metrics {
    all.allocations -= shown.allocations;
    all.reallocations -= shown.reallocations;
    all.bytes_allocated -= shown.bytes_allocated;
    all.peak_bytes -= shown.peak_bytes;
    all
}

fn add(rows: &mut comfy_table::Table, metrics: &Metrics, total: &Metrics, name: String) {
    let acquired = SortBy::Allocations.value(metrics);
    rows.add_row([
        Cell::new(format::count(acquired)),
        Cell::new(share(acquired, total)),
        Cell::new(format::bytes(metrics.bytes_allocated)),
        Cell::new(format::bytes(metrics.peak_bytes)),
        Cell::new(name),
    ]);
}

/// `ROW::ROW (row.cpp:12): std::vector<Cell>, inlined into TextBuffer::TextBuffer`; less of it below the heading of the
/// compiled function `below`.
pub(crate) fn site_text(recording: &Recording, site: &Row, below: Option<u32>) -> String {
    let frames = &recording.frames;
    let Some(frame) = site.frame else { return site.label.clone() };
    let function = |frame: u32| frames.frame(frame).function;
    let mut text = match below {
        Some(heading) if function(heading) == function(frame) => names::place(frames, frame),
        _ => names::function_and_place(frames, frame),
    };
    if let Some(kind) = &site.type_name {
        text += &format!(": {}", blocks(&names::short_kind(kind), site));
    }
    if below.is_none() { text + &names::inlined_into(frames, site) } else { text }
}

/// The type, with the size of the blocks where they are all alike: `9,001 × std::vector<Run> of 1 element (16 B)`.
fn blocks(kind: &str, site: &Row) -> String {
    let Some(size) = block_size(&site.metrics) else { return kind.to_owned() };
    let size = format::bytes(size);
    let count = SortBy::Allocations.value(&site.metrics);
    match elements(site) {
        Some(1) => format!("{} × {kind} of 1 element ({size})", format::count(count)),
        Some(many) => format!("{} × {kind} of {} elements ({size})", format::count(count), format::count(many)),
        None => format!("{kind} of {size}"),
    }
}

fn short_section(recording: &Recording, sites: &mut [Row], heading: &str, by: SortBy, limits: Limits) -> String {
    sort(sites, &recording.frames, by);
    // Peaks of several processes are not at one instant, so their sum is more than the recording's peak.
    let total: u64 = sites.iter().map(|row| by.value(&row.metrics)).sum();
    // Rows of less than a hundredth tell nothing.
    let rows: Vec<&Row> =
        sites.iter().filter(|row| by.value(&row.metrics) * 100 > total).take(limits.rows.min(4)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = title(heading);
    for row in rows {
        let room = limits.width.map_or(usize::MAX, |width| width.saturating_sub(26).max(30));
        let line = names::shorten(&site_text(recording, row, None), room);
        let number = tree::value(&row.metrics, by, recording);
        text += &format!("{number:>14} {:>8}  {line}\n", format::percent(by.value(&row.metrics), total));
    }
    text
}

fn null_frees(recording: &Recording, sums: &Sums, sites: &[Row], limits: Limits) -> String {
    // As many as there are allocations: then somebody should know.
    if sums.total.free_null_calls * 10 < sums.total.allocations || sums.total.free_null_calls < 100 {
        return String::new();
    }
    let mut rows: Vec<&Row> =
        sites.iter().filter(|row| row.metrics.free_null_calls * 20 > sums.total.free_null_calls).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.metrics.free_null_calls));
    let mut text = title("free of a null pointer");
    for row in rows.into_iter().take(limits.rows.min(3)) {
        text += &format!("{:>14}  {}\n", format::count(row.metrics.free_null_calls), site_text(recording, row, None));
    }
    text
}

fn processes(recording: &Recording, sums: &Sums, limits: Limits) -> String {
    if sums.images.len() < 2 {
        return String::new();
    }
    let mut text = title("Processes");
    let mut rows = table::new_table(&["pid", "allocations", "bytes", "peak", "live at end", "exit", "command"]);
    let mut images: Vec<_> = sums.images.iter().collect();
    images.sort_by_key(|image| std::cmp::Reverse(image.total.allocations));
    let room = limits.width.map_or(usize::MAX, |width| width.saturating_sub(66).max(24));
    for image in images.iter().take(limits.rows) {
        let about = &recording.images[image.image].about;
        let forked = if about.forked_from.is_some() { "(forked) " } else { "" };
        rows.add_row([
            Cell::new(about.pid),
            Cell::new(format::count(image.total.allocations)),
            Cell::new(format::bytes(image.total.bytes_allocated)),
            Cell::new(format::bytes(image.total.peak_bytes)),
            Cell::new(format::bytes(image.total.live_bytes)),
            Cell::new(exit_text(recording.images[image.image].end.as_ref().map(|end| end.exit))),
            Cell::new(names::shorten(&format!("{forked}{}", about.command.join(" ")), room)),
        ]);
    }
    text += &table::finish(rows);
    if images.len() > limits.rows {
        text += &format!("… and {} more; --group process shows all\n", images.len() - limits.rows);
    }
    text
}

/// How a process ended, if that was not well.
fn bad_end(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) if code != 0 => format!(", exit code {code}"),
        Some(Exit::Signal(_)) => format!(", ended by {}", exit_text(exit)),
        _ => String::new(),
    }
}

/// How a process ended.
fn exit_text(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => code.to_string(),
        Some(Exit::Signal(signal)) => signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned),
        Some(Exit::Exec) => "exec".into(),
        Some(Exit::Running) => "running".into(),
        Some(Exit::Unknown) | None => "unknown".into(),
    }
}

/// Names of the signals that end programs, as Linux numbers them on most processors.
fn signal_name(signal: i32) -> Option<&'static str> {
    let names = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
        (31, "SIGSYS"),
    ];
    names.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name)
}

/// That the program's threads waited for memtoll, if they did so for long.
pub(crate) fn waited_for_memtoll(recording: &Recording) -> Option<String> {
    let ends = recording.images.iter().filter_map(|image| image.end.as_ref());
    let waited = recording.about.clock.seconds(ends.map(|end| end.recorder.wait_time).sum());
    (waited > 0.01).then(|| format!("the program's threads waited {} for memtoll to keep up", format::seconds(waited)))
}

/// What the reader must know to trust the numbers.
fn remarks(recording: &Recording, sums: &Sums) -> String {
    let mut lines: Vec<String> = recording.damage.iter().chain(&sums.damage).chain(&recording.notes).cloned().collect();
    let stats = || recording.images.iter().filter_map(|image| image.end.as_ref()).map(|end| &end.recorder);
    let dropped: u64 = stats().map(|stats| stats.dropped).sum();
    if dropped > 0 {
        lines.push(format!("{} events could not be recorded", format::count(dropped)));
    }
    let lost = recording.end.as_ref().map_or(0, |end| end.kernel.lost_records);
    if lost > 0 {
        lines.push(format!("the kernel could not deliver {} records of page faults and switches", format::count(lost)));
    }
    lines.extend(waited_for_memtoll(recording));
    let late: u64 = stats().map(|stats| stats.late).sum();
    if late > 0 {
        let events = if late == 1 { "event" } else { "events" };
        lines.push(format!(
            "{} {events} came so late that later ones were taken first: counted, but at a time that is a little off",
            format::count(late)
        ));
    }
    if stats().any(|stats| stats.own_allocator) {
        lines.push("the program has an allocator of its own; calls inside its executable are not seen".to_owned());
    }
    lines.into_iter().map(|line| format!("\nnote: {line}")).collect::<String>() + "\n"
}
