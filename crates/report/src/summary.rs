//! The first screen: what a run allocated, which lines and call paths are responsible, what is churn, what stays.

use crate::head::{self, first_capital, stays};
use crate::numbers::Numbers;
use crate::section::{Limits, title, title_within};
use crate::{allocators, balance, call_paths, caveats, costs, findings, plain_run, pools, processes};
use memtoll_analysis::detectors::are_rarely_temporary;
use memtoll_analysis::findings::What;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::runtime_blocks::runtime_blocks;
use memtoll_analysis::site_text::site_text;
use memtoll_analysis::sites::{GroupBy, Row, compiled_functions, rows, rows_without, sort, together};
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::sums::{Sums, sums_of};
use memtoll_analysis::tariff::Tariff;
use memtoll_model::{FrameId, Recording};
use memtoll_query::{Answer, Basis};
use memtoll_text::format;
use memtoll_text::table::Table;
use memtoll_trace::summary::PeakWithMappings;

/// The summary.
pub fn render(answer: &Answer, limits: Limits) -> String {
    let Basis { recording, sums: Some(sums), view, sites, .. } = &answer.basis else { return String::new() };
    let mut stacks = answer.basis.stacks();
    let mut sites = sites.clone().unwrap_or_else(|| rows(&mut stacks, sums, GroupBy::Site));
    let mut functions = compiled_functions(&recording.frames, sums, &sites);
    let matching = view.selects().then(|| together(&sites));
    let runtime = runtime_blocks(recording, sums);
    let mut kept = rows_without(&mut stacks, sums, &sites, |node| runtime.has(node));
    let mut text = caveats::missing(recording, sums, limits.width);
    text += &head::render(recording, sums, matching.as_ref(), limits);
    if recording.images.is_empty() {
        // The notes say why nothing was seen of it.
        text += &head::without_processes(recording, limits.width);
        return text + &caveats::section(&answer.notes, Vec::new(), limits.width);
    }
    let found = answer.findings.as_deref().unwrap_or_default();
    text += &findings::section(found, limits);
    text += &head::totals(recording, sums, &runtime, limits);
    let is_whole = !sums.is_part() && sums.thread_filter.are_all();
    if is_whole {
        text += &plain_run::section(recording, limits.width);
    }
    text += &balance::section(recording, sums, limits);
    text += &costs::section(recording, sums, &mut sites, limits);
    text += &functions_with_sites(recording, sums, &mut functions, &mut sites, limits);
    text += &call_paths::render(recording, sums, &mut stacks, limits);
    if sums.see_frees() {
        let temporary = "Temporary: released before the thread's next allocation";
        text += &short_section(recording, sums, &mut sites, temporary, Metric::Temporary, limits);
        text += &at_the_peak(recording, sums, &mut stacks, &mut sites, limits);
        let stays = first_capital(stays(recording, sums));
        text += &short_section(recording, sums, &mut kept, &stays, Metric::Live, limits);
        text += &head::of_runtime(&runtime, limits.width);
    }
    if found.iter().any(|finding| matches!(finding.what, What::NullFrees(_))) {
        text += &null_frees(recording, sums, &sites, limits);
    }
    text += &allocators::section(recording, sums, limits);
    text += &pools::section(recording, sums, limits);
    text += &processes::section(recording, sums, limits);
    let mut hints = findings::notes(found);
    hints.extend(plain_run::hint(recording).filter(|_| stacks.are_all_plain() && is_whole));
    text + &caveats::section(&answer.notes, hints, limits.width)
}

/// What was live at the peak; of several processes, at that of the largest one: each has its peak at a time of its own.
fn at_the_peak(recording: &Recording, sums: &Sums, stacks: &mut Stacks, sites: &mut [Row], limits: Limits) -> String {
    let largest = sums.counted().max_by_key(|(_, image)| image.total.peak_bytes).map(|(index, _)| index);
    let Some(largest) = largest.filter(|_| sums.are_of_several()) else {
        let title = match sums.peak_with_mappings().filter(PeakWithMappings::is_of_both) {
            Some(_) => format!("Blocks live at their peak ({})", format::bytes(sums.total.peak_bytes)),
            None => "Live at the peak".to_owned(),
        };
        return short_section(recording, sums, sites, &title, Metric::Peak, limits);
    };
    let own = sums_of(recording, sums.selection, sums.thread_filter.only(recording, largest));
    let image = &recording.images[largest];
    let peak = format::bytes(own.total.peak_bytes);
    let title = format!(
        "Blocks at the peak of {} {}, the most of any process ({peak})",
        names::program(image),
        image.about.pid
    );
    let mut sites = rows(stacks, &own, GroupBy::Site);
    short_section(recording, &own, &mut sites, &title, Metric::Peak, limits)
}

/// The functions that allocate most, and for each its lines with the types that they allocate.
fn functions_with_sites(
    recording: &Recording,
    sums: &Sums,
    functions: &mut Vec<Row>,
    sites: &mut [Row],
    limits: Limits,
) -> String {
    let by = Metric::Allocations;
    sort(functions, &recording.frames, by);
    sort(sites, &recording.frames, by);
    functions.retain(|row| by.value(&row.metrics) > 0);
    if functions.is_empty() {
        return String::new();
    }
    let text = title("Functions that allocate most");
    let peak = sums.titles().in_rows(Metric::Peak);
    let mut rows = Table::new(&["allocations", "share", "bytes", peak, "where"]);
    let tariff = Tariff::of(recording);
    for function in functions.iter().take(limits.rows) {
        let Some(frame) = function.frame else {
            add(&mut rows, Numbers { of: &function.metrics, tariff: &tariff }, &sums.total, function.label.clone());
            continue;
        };
        let key = |frame: FrameId| {
            let frame = recording.frames.frame(frame);
            (frame.function, frame.module)
        };
        let compiled = |site: &Row| site.inlined.last().copied().or(site.frame);
        let belongs = |site: &&Row| compiled(site).is_some_and(|f| key(f) == key(frame)) && by.value(&site.metrics) > 0;
        let own: Vec<&Row> = sites.iter().filter(belongs).collect();
        if let [only] = own[..] {
            add(
                &mut rows,
                Numbers { of: &function.metrics, tariff: &tariff },
                &sums.total,
                site_text(recording, only, None),
            );
            continue;
        }
        let name = names::function(&recording.frames, frame) + &names::ran_in(recording, function);
        add(&mut rows, Numbers { of: &function.metrics, tariff: &tariff }, &sums.total, name);
        const LINES: usize = 5;
        let mut left = function.metrics;
        for (index, site) in own.iter().take(LINES).enumerate() {
            let end = index + 1 == own.len();
            let line = format!("{} {}", if end { "└" } else { "├" }, site_text(recording, site, Some(frame)));
            add(&mut rows, Numbers { of: &site.metrics, tariff: &tariff }, &sums.total, line);
            left = left.without(&site.metrics);
        }
        if own.len() > LINES {
            add(
                &mut rows,
                Numbers { of: &left, tariff: &tariff },
                &sums.total,
                format!("└ {} more lines", own.len() - LINES),
            );
        }
    }
    text + &rows.render(limits.width)
}

fn add(rows: &mut Table, of: Numbers, total: &Priced, name: String) {
    rows.add([
        of.cell(Metric::Allocations),
        of.share(Metric::Allocations, total),
        of.cell(Metric::Bytes),
        of.cell(Metric::Peak),
        name,
    ]);
}

fn short_section(
    recording: &Recording,
    sums: &Sums,
    sites: &mut [Row],
    heading: &str,
    by: Metric,
    limits: Limits,
) -> String {
    sort(sites, &recording.frames, by);
    // Peaks of several processes are not at one instant, so their sum is more than the recording's peak.
    let total: u64 = sites.iter().map(|row| by.value(&row.metrics)).sum();
    // Rows of less than a hundredth tell nothing.
    let rows: Vec<&Row> =
        sites.iter().filter(|row| by.value(&row.metrics) * 100 > total).take(limits.rows.min(4)).collect();
    let is_rare = by == Metric::Temporary && are_rarely_temporary(total, Metric::Allocations.value(&sums.total));
    if rows.is_empty() || is_rare {
        return String::new();
    }
    let mut text = title_within(heading, limits.width);
    let tariff = Tariff::of(recording);
    for row in rows {
        let of = Numbers { of: &row.metrics, tariff: &tariff };
        let (number, share) = (of.in_row(by), of.estimate(by).share_of(total as f64));
        let line = site_text(recording, row, None);
        text += &format::wrapped(&format!("{number:>14} {share:>8}  "), &line, limits.width);
    }
    text
}

fn null_frees(recording: &Recording, sums: &Sums, sites: &[Row], limits: Limits) -> String {
    let mut rows: Vec<&Row> = sites.iter().filter(|row| row.metrics.null_frees * 20 > sums.total.null_frees).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.metrics.null_frees));
    let mut text = title("free of a null pointer");
    let tariff = Tariff::of(recording);
    for row in rows.into_iter().take(limits.rows.min(3)) {
        let number = format!("{:>14}  ", Numbers { of: &row.metrics, tariff: &tariff }.cell(Metric::NullFrees));
        text += &format::wrapped(&number, &site_text(recording, row, None), limits.width);
    }
    text
}
