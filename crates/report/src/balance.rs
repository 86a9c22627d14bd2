//! What a run's memory cost: the balance of its CPU time and page faults.

use crate::numbers::Numbers;
use crate::plain_run;
use crate::section::{Limits, Lines, prose, title_within};
use memtoll_analysis::balance::{Balance, Faults};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::resident;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::uncharged_faults::HeapAndOtherFaults;
use memtoll_analysis::visible_kernel_events::Sees;
use memtoll_model::Recording;
use memtoll_text::amounts::Nanoseconds;
use memtoll_text::format::{self, UNKNOWN};
use memtoll_trace::costs::Uncharged;
use memtoll_trace::meta::Resident;

/// The section of the summary; nothing if there is nothing to say.
pub fn section(recording: &Recording, sums: &Sums, limits: Limits) -> String {
    let balance = Balance::of_all(recording, sums);
    let costs = sums.total.costs();
    if costs.total() <= 0.0 {
        return String::new();
    }
    let width = prose(limits.width);
    let program = balance.program();
    let mut lines = Lines::new(program.map(|program| program.value), width);
    let total = &sums.total;
    let tariff = Tariff::of(recording);
    let sees = tariff.sees();
    let calls = match total.timed_calls {
        0 => "0 calls".to_owned(),
        calls => {
            let each = balance.charged.allocator.scaled(1.0 / calls as f64).time_with_error();
            format!("{}, {each} each", format::counted(calls, "call"))
        }
    };
    let by_the_clock = match (sees.faults, sees.switches) {
        (true, true) => "",
        (true, false) => ", by the clock: waiting is part of it",
        (false, true) => ": page faults and mapped blocks are part of it",
        (false, false) => ", by the clock: page faults, mapped blocks and waiting are part of it",
    };
    lines.add(balance.charged.allocator, &format!("inside malloc, free and the like, in {calls}{by_the_clock}"));
    let mut add_faults = |time: Estimate, what: &str| match sees.fault_prices {
        true => lines.add(time, what),
        false => lines.beside(UNKNOWN.to_owned(), what),
    };
    if total.small_faults.saturating_add(total.huge_faults) > 0 {
        let what = touches(Numbers { of: total, tariff: &tariff }, sees);
        add_faults(tariff.faults_of_memory(total), &what);
    }
    if total.file_faults > 0 || total.major_faults > 0 {
        add_faults(tariff.faults_of_files(total), &files(total));
    }
    if total.mapping_ns > Nanoseconds::ZERO {
        lines.add(
            balance.charged.mapping,
            &format!("making and removing mappings{}{}", mapped(total), heap_moves(sums)),
        );
    }
    if balance.other_faults.value > 0.0 {
        let kinds = other_faults(recording, &balance.faults);
        lines.add(balance.other_faults, &format!("other page faults: {kinds}"));
    }
    match (balance.rest(), balance.processor) {
        // By the clock, calls may have taken more than the program's CPU time.
        (Some(rest), _) if rest.value > 0.0 || sees.switches => lines.add(rest, &rest_is(&rest, recording)),
        (None, Some(all)) if sums.processor.is_some() => {
            let rest = Estimate::exact(all).minus(balance.explained());
            lines.add(rest, "the rest: the program's own work, and the recorder's");
        }
        _ => {}
    }
    if let Some(recorder) = balance.recorder.filter(|time| time.value > 0.0) {
        lines.beside(recorder.time_with_error(), "recorder overhead, in CPU time (not included above)");
    }
    if costs.waiting > 0.0 {
        lines.beside(
            tariff.estimates(total).waiting.time_with_error(),
            &format!(
                "waiting inside malloc, free and the like, in all threads together, {}",
                plain_run::of_waiting(recording)
            ),
        );
    }
    if costs.reading > 0.0 {
        lines.beside(
            tariff.estimates(total).reading.time_with_error(),
            "waiting for the disk in major faults, in all threads together",
        );
    }
    resident(recording, sums, &tariff, &mut lines);
    let heading = match program.map(|program| (program, format::seconds(program.value / 1e9))) {
        Some((_, about)) if sums.processor.is_some() => {
            format!("What memory costs, of about {about} of CPU time")
        }
        Some((program, _)) => {
            format!("What memory costs, of {} of the program's CPU time", program.time_with_error())
        }
        None if sums.selection.instant => "What memory cost up to then".to_owned(),
        None => "What memory costs".to_owned(),
    };
    title_within(&heading, limits.width) + &lines.text()
}

/// What the CPU time is that nothing explains.
fn rest_is(rest: &Estimate, recording: &Recording) -> String {
    if rest.high < 0.0 {
        return "is missing: the lines above say more than the kernel counted".to_owned();
    }
    let allocator =
        if recording.sees_programs_calls() { "" } else { ", and its allocator's, which memtoll does not see" };
    let little = if rest.is_noise() { ", too little to tell it from the errors above" } else { "" };
    format!("the rest: the program's own work{allocator}{little}")
}

/// Faults of pages that are touched for the first time.
fn touches(of: Numbers, sees: Sees) -> String {
    let sampled = if of.estimate(Metric::MinorFaults).is_exact() { "" } else { " (sampled)" };
    let zeroing = match sees.fault_prices {
        true => format!("; {} of it zeroing", of.with_error(Metric::Zeroing)),
        false => String::new(),
    };
    let (faults, touched) = (of.things(Metric::MinorFaults, "page fault"), of.with_error(Metric::Touched));
    format!("{faults}{sampled} of blocks and mappings: {touched} touched for the first time{zeroing}")
}

/// Faults of pages that need not be made: they are in a file's cache, or on a disk.
pub(crate) fn files(metrics: &Priced) -> String {
    let mapped = |count| format!("{} of files that the program maps", format::counted(count, "page fault"));
    let major = |count| format!("{}: read from disk", format::counted(count, "major fault"));
    match (metrics.file_faults, metrics.major_faults) {
        (mapped_ones, 0) => mapped(mapped_ones),
        (0, majors) => major(majors),
        (mapped_ones, majors) => format!("{}, and {}", mapped(mapped_ones), major(majors)),
    }
}

/// What the program took from the system itself.
fn mapped(total: &Priced) -> String {
    if total.mappings == 0 {
        return String::new();
    }
    let calls = format::counted(total.mappings, "call");
    format!("; mmap, mremap and mprotect took {} in {calls}", format::bytes(total.mapped_bytes))
}

/// How the heap moved: memory given back and taken again is seen here.
fn heap_moves(sums: &Sums) -> String {
    let mut beside = HeapAndOtherFaults::default();
    sums.images.iter().for_each(|image| beside.add(&image.beside));
    let taken = format!(
        "the allocator took {} from the system in {}",
        format::bytes(beside.grown_bytes),
        format::counted(beside.grown_calls, "call")
    );
    let (given, given_calls) = (format::bytes(beside.shrunk_bytes), format::counted(beside.shrunk_calls, "call"));
    match (beside.grown_calls, beside.shrunk_calls) {
        (0, 0) => String::new(),
        (_, 0) => format!("; {taken}"),
        (0, _) => format!("; the allocator gave {given} back in {given_calls}"),
        (_, calls) => format!("; {taken} and gave {given} back in {}", format::count(calls)),
    }
}

fn other_faults(recording: &Recording, faults: &Faults) -> String {
    let seen = recording.end.as_ref().is_some_and(|end| end.kernel.faults);
    let of = |memory| faults.uncharged.of(memory);
    let kinds = [
        (of(Uncharged::Files), "of code and constants"),
        (of(Uncharged::Globals), "of global variables"),
        (of(Uncharged::Stacks), "of stacks"),
        (of(Uncharged::Loader), "of the loader"),
        (of(Uncharged::Shared), "of shared memory"),
        (of(Uncharged::Unowned), "of other memory"),
        (faults.unseen, if seen { "inside system calls" } else { "that the kernel only counted" }),
        (faults.lost, "whose records memtoll lost"),
        (faults.major, "of all these major: read from disk"),
    ];
    let parts = kinds.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, what)| format!("{} {what}", format::count(*count))).collect::<Vec<_>>().join(", ")
}

/// Heap and resident set in words: they are different things.
fn resident(recording: &Recording, sums: &Sums, tariff: &Tariff, lines: &mut Lines) {
    let Some(resident) = resident::together(recording, sums) else { return };
    let Resident { program, recorder, error, at_end, unseen } = resident;
    let processes = if sums.are_of_several() { " of all processes at one instant" } else { "" };
    let at_end =
        at_end.map(|of| format!("; {}{} at the end", format::bytes(of.bytes), give_or_take(of.bytes, of.error)));
    let seen = unseen
        .filter(|units| *units > 0)
        .map(|units| format!(", as last seen {} before the end", format::seconds(tariff.ns(units as f64) / 1e9)));
    lines.beside(
        format::bytes(program),
        &format!(
            "largest resident set{processes}{}{}{}, without the recorder's own {} (not live bytes: \
             docs/report.md, Heap and resident set)",
            give_or_take(program, error),
            at_end.unwrap_or_default(),
            seen.unwrap_or_default(),
            format::bytes(recorder)
        ),
    );
}

/// The error of a number of bytes, if it is worth a word.
fn give_or_take(bytes: u64, error: u64) -> String {
    match error.saturating_mul(1000) < bytes {
        true => String::new(),
        false => format!(" (± {})", format::bytes(error)),
    }
}
