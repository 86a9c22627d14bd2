//! The head of the first screen: which run, which part of it, and its totals.

use crate::live_curve;
use crate::lost_blocks;
use crate::numbers::Numbers;
use crate::processes::bad_end;
use crate::section::{BOLD, FAINT, Limits, prose};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::reserved::{self, Reserved};
use memtoll_analysis::runtime_blocks::RuntimeBlocks;
use memtoll_analysis::sums::{PeakIs, Sums};
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::{process_id, thread_name};
use memtoll_model::{Kept, Recording};
use memtoll_query::run_details::answering;
use memtoll_tally::Threads;
use memtoll_text::format::{self, UNKNOWN};
use memtoll_text::shell;
use memtoll_text::visible;
use memtoll_text::wrap;
use memtoll_trace::ids::{Bytes, Units};
use memtoll_trace::meta::Clock;
use memtoll_trace::summary::PeakWithMappings;

/// The head. `matching`: what the filter lets through, if there is one.
pub fn render(recording: &Recording, sums: &Sums, matching: Option<&Priced>, limits: Limits) -> String {
    let about = &recording.about;
    let mut text = String::new();
    let command =
        wrap::shorten(&visible(&shell::line(&about.command)), limits.width.unwrap_or(usize::MAX).saturating_sub(10));
    text += &format!("{BOLD}{command}{BOLD:#}\n");
    let run = run(recording);
    let lines = |text: &str| wrap::lines(text, limits.width.unwrap_or(usize::MAX));
    text.extend(lines(&run).iter().map(|line| format!("{FAINT}{line}{FAINT:#}\n")));
    if !about.malloc_settings.is_empty() {
        let settings = about.malloc_settings.iter().map(|setting| format!("{}={}", setting.name, setting.value));
        let settings = format!("with {}", settings.collect::<Vec<_>>().join(" "));
        text.extend(lines(&settings).iter().map(|line| format!("{line}\n")));
    }
    text.push('\n');
    let parts = parts(recording, sums, matching);
    if !parts.is_empty() {
        text = text.trim_end().to_owned() + "\n";
        text.extend(parts.iter().flat_map(|part| lines(part)).map(|line| format!("{BOLD}{line}{BOLD:#}\n")));
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// When it ran, where, and how it ended.
pub(crate) fn run(recording: &Recording) -> String {
    let about = &recording.about;
    let duration = recording.seconds().map(|seconds| format!("{} in ", format::seconds(seconds))).unwrap_or_default();
    let ended = match &recording.images[..] {
        [] => "nothing recorded".to_owned(),
        [only] => format!("{duration}1 process{}", bad_end(only.end.as_ref().map(|end| end.exit))),
        all => format!("{duration}{}", format::counted(all.len() as u64, "process")),
    };
    let host = if about.machine.host.is_empty() { String::new() } else { format!(" on {}", about.machine.host) };
    let rank = about.rank.map_or(String::new(), |rank| format!(", {rank}"));
    let malloc = match answering(recording) {
        names if names.is_empty() => names,
        names => format!(", malloc: {names}"),
    };
    format!("{}{host}{rank}, {ended}{malloc}", format::date(about.started))
}

/// Which part of the recording is shown; empty: all of it. `matching`: what a filter lets through.
pub(crate) fn parts(recording: &Recording, sums: &Sums, matching: Option<&Priced>) -> Vec<String> {
    whose(recording, sums)
        .into_iter()
        .chain(part(sums, &recording.about.clock))
        .chain(matching.map(|matching| filtered(recording, matching, &sums.total)))
        .collect()
}

/// What the kernel counted of a run of which nothing else is known, such as one of a static program.
pub(crate) fn without_processes(recording: &Recording, width: Option<usize>) -> String {
    let Some(usage) = recording.end.as_ref().and_then(|end| end.usage) else { return String::new() };
    let time = format::seconds(usage.cpu_ns() as f64 / 1e9);
    let faults = format::counted(usage.faults(), "page fault");
    let mut text =
        "\n".to_owned() + &format::wrapped(&format!("{time:>14}  "), &format!("of CPU time, {faults}"), width);
    if usage.max_resident > 0 {
        let largest = format::bytes(usage.max_resident);
        text += &format::wrapped(&format!("{largest:>14}  "), "resident set of its largest process", width);
    }
    text
}

/// The totals, below a blank line.
pub fn totals(recording: &Recording, sums: &Sums, runtime: &RuntimeBlocks, limits: Limits) -> String {
    let mut text = "\n".to_owned();
    for (number, what) in numbers(recording, sums, runtime) {
        text += &format::wrapped(&format!("{number:>14}  "), &what, prose(limits.width));
    }
    let room = limits.width.map_or(60, |width| width.saturating_sub(16).min(60));
    if let Some(line) = live_curve::bars(recording, sums, room) {
        // The curve leaves out what the peak above it has in mappings.
        let is_part = sums.peak_with_mappings().as_ref().is_some_and(PeakWithMappings::is_of_both);
        text += &format!("{:>14}  {line}\n", if is_part { "live in blocks" } else { "live bytes" });
    }
    text
}

/// Blocks that are never freed, by design of a runtime.
pub fn of_runtime(runtime: &RuntimeBlocks, width: Option<usize>) -> String {
    let (blocks, bytes) = runtime.total();
    if blocks == 0 {
        return String::new();
    }
    let kinds = runtime.kinds.iter().map(|(what, _, bytes)| format!("{what} ({})", format::bytes(*bytes)));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let what = format!(
        "Never freed by the runtime, and no leak: {} in {}: {kinds}",
        format::bytes(bytes),
        format::counted(blocks, "block")
    );
    "\n".to_owned() + &format::wrapped("", &what, width)
}

fn numbers(recording: &Recording, sums: &Sums, runtime: &RuntimeBlocks) -> Vec<(String, String)> {
    let total = &sums.total;
    let tariff = Tariff::of(recording);
    let of = Numbers { of: total, tariff: &tariff };
    let said = |metric| of.with_error(metric);
    let all = total.allocations();
    let resized = match total.reallocations {
        0 => String::new(),
        1 => ", 1 of them a reallocation".to_owned(),
        _ => format!(", {} of them reallocations", said(Metric::Reallocations)),
    };
    let together = format!("allocation{} of {} together{resized}", format::plural(all, "", "s"), said(Metric::Bytes));
    let mut lines: Vec<(String, String)> = vec![(said(Metric::Allocations), together)];
    let null = match total.null_frees {
        0 => String::new(),
        _ => format!(", and {} of a null pointer", said(Metric::NullFrees)),
    };
    lines.push((said(Metric::Frees), format!("free{}{null}", format::plural(total.frees, "", "s"))));
    let sees_frees = sums.see_frees();
    lines.extend(without_frees(recording, sums));
    if sees_frees {
        lines.push((
            said(Metric::Temporary),
            match of.estimate(Metric::Temporary).share_of(all as f64) {
                share if share.is_empty() => "temporary: released before the thread's next allocation".to_owned(),
                share => format!("temporary ({share}): released before the thread's next allocation"),
            },
        ));
        lines.push(peak(recording, sums));
        lines.extend(only_reserved(recording, sums));
    }
    // What is not worth a part of the peak is not worth a line.
    let highest = sums.peak_with_mappings().map_or(total.peak_bytes, |peak| Bytes(peak.bytes()));
    if total.mappings > 0 && total.mapped_bytes.times(100) >= highest {
        let calls = of.things(Metric::Mappings, "mapping");
        lines.push((
            said(Metric::Mapped),
            format!("asked for beside blocks: {calls} that the program, or an allocator of its own, makes itself"),
        ));
    }
    if sees_frees {
        lines.push(stay(recording, sums, runtime, of));
        lines.extend(lost_blocks::lines(recording, sums, runtime));
        lines.extend(before_attach(recording));
    }
    if total.failed > 0 {
        lines.push((said(Metric::Failed), format!("allocation{} failed", format::plural(total.failed, "", "s"))));
    }
    let cut = total.cut_off;
    if cut > 0 {
        lines.push((
            said(Metric::CutOff),
            format!("call stack{} ({}) cut off", format::plural(cut, "", "s"), format::percent(cut, total.events)),
        ));
    }
    lines
}

/// In the place of figures that need frees which an allocator of the program hides.
pub(crate) fn without_frees(recording: &Recording, sums: &Sums) -> Option<(String, String)> {
    let (all, hidden) = sums.hidden();
    let what = "live bytes, their peak, temporary blocks, and what is never freed";
    let of = match (hidden, all) {
        (0, _) => return None,
        _ if hidden == all => String::new(),
        _ => {
            let mut names: Vec<&str> = sums
                .counted()
                .filter(|(_, image)| image.hides_frees)
                .map(|(index, _)| names::program(&recording.images[index]))
                .collect();
            names.sort_unstable();
            names.dedup();
            let others = if names.len() > 3 { ", …" } else { "" };
            names.truncate(3);
            format!(
                " of {hidden} of {all} processes ({}{others}); below, they are those of the others",
                names.join(", ")
            )
        }
    };
    Some((UNKNOWN.to_owned(), format!("{what}{of}")))
}

/// What processes had before memtoll was attached to them, and what is not known of that.
pub(crate) fn before_attach(recording: &Recording) -> Vec<(String, String)> {
    let all = || recording.images.iter().filter_map(|image| Some((image, image.attached.as_ref()?)));
    let mut lines = Vec::new();
    for (image, attached) in all() {
        if attached.blocks > 0 {
            let blocks = format::counted(attached.blocks, "block");
            let freed = attached.freed.map_or(String::new(), |freed| {
                format!(", {} of them freed meanwhile", format::percent(freed, attached.blocks))
            });
            lines.push((format::bytes(attached.bytes), format!("live before attach, in {blocks}{freed}")));
        }
        if let Some(why) = &attached.unknown {
            let part = if attached.blocks > 0 { "some blocks" } else { "blocks" };
            let text = format!("{part} from before attach: {why}; live bytes are those since attach");
            lines.push((UNKNOWN.to_owned(), text));
        }
        if attached.unknown_frees > 0 {
            let what = format!(
                "free{} of blocks from before attach, sizes not known",
                format::plural(attached.unknown_frees, "", "s")
            );
            // A forked child's are its parent's.
            if image.about.forked_from.is_none() {
                lines.push((format::count(attached.unknown_frees), what));
            }
        }
    }
    lines
}

/// What is live at the end.
fn stay(recording: &Recording, sums: &Sums, runtime: &RuntimeBlocks, of: Numbers) -> (String, String) {
    let (runtime_blocks, runtime_bytes) = runtime.total();
    let of_runtime = match sums.selection.to < Units::MAX || runtime_blocks == 0 {
        true => String::new(),
        false => {
            let whose = match sums.total.live_blocks {
                1 => String::new(),
                all if all == runtime_blocks => "all ".to_owned(),
                _ => format!("{} of them ", format::count(runtime_blocks)),
            };
            format!(", {whose}the runtime's ({})", format::bytes(runtime_bytes))
        }
    };
    let blocks = of.things(Metric::LiveBlocks, "block");
    let gone = gone(sums).map_or(String::new(), |gone| format!("; {gone}"));
    (of.with_error(Metric::Live), format!("{}, in {blocks}{of_runtime}{gone}", stays(recording, sums)))
}

/// The peak, and of what it is if the program has mappings of its own.
pub(crate) fn peak(recording: &Recording, sums: &Sums) -> (String, String) {
    let clock = &recording.about.clock;
    let tariff = Tariff::of(recording);
    let peak_of = |of: &Priced| Numbers { of, tariff: &tariff }.with_error(Metric::Peak);
    let blocks = peak_of(&sums.total);
    let process = |index: usize| {
        let image = &recording.images[index];
        format!("{} {}", names::program(image), image.about.pid)
    };
    let after = |time| format::seconds(clock.seconds(time));
    let parts = |peak: &PeakWithMappings| {
        let (blocks, mapped) = (format::bytes(peak.block_bytes), format::bytes(peak.mapped_bytes));
        // Without page faults, it is unknown which.
        let touched = recording.end.as_ref().is_some_and(|end| end.kernel.faults);
        let or_not = if touched { "" } else { ", touched or not" };
        format!("{blocks} in blocks, {mapped} in the program's own mappings{or_not}")
    };
    if sums.are_of_several() {
        let when = match sums.peak_is() {
            PeakIs::Exact => "at the peak of all processes together",
            PeakIs::AtMost => "at most, at the peak of all processes together",
            PeakIs::AddedUp => "at the peaks of the processes, added up",
        };
        let highest = sums.counted().max_by_key(|(_, own)| own.total.peak_bytes);
        let with_mappings = sums.counted().filter_map(|(index, own)| Some((index, own.peak_with_mappings?)));
        let with_mappings = with_mappings.max_by_key(|(_, peak)| peak.bytes()).filter(|(_, peak)| peak.is_of_both());
        let what = match (with_mappings, highest) {
            (Some((index, peak)), _) => {
                let (name, bytes, parts) = (process(index), format::bytes(peak.bytes()), parts(&peak));
                format!("live in blocks {when}; with mappings, {name} had {bytes}: {parts}")
            }
            (None, Some((index, own))) => {
                let (name, bytes) = (process(index), peak_of(&own.total));
                format!("live {when}; {name} had the most, {bytes}")
            }
            (None, None) => format!("live {when}"),
        };
        return (blocks, what);
    }
    match sums.peak_with_mappings().filter(PeakWithMappings::is_of_both) {
        None => {
            let whose = if sums.are_parts() { "the process's" } else { "the" };
            let when = if sums.total.peak_bytes > Bytes::ZERO {
                format!(", after {}", after(sums.peak_time))
            } else {
                String::new()
            };
            (blocks, format!("live at {whose} peak{when}"))
        }
        Some(peak) => {
            let own = match peak.block_bytes < sums.total.peak_bytes.0 {
                true => format!("; blocks alone had {blocks} after {}", after(sums.peak_time)),
                false => String::new(),
            };
            let what = format!("live at the peak, after {}: {}{own}", after(peak.time), parts(&peak));
            (format::bytes(peak.bytes()), what)
        }
    }
}

/// What the program has mapped and does not use, if that is worth a line: it is no memory.
pub(crate) fn only_reserved(recording: &Recording, sums: &Sums) -> Option<(String, String)> {
    let peak = sums.peak_with_mappings()?;
    let Reserved { bytes, error } = reserved::of_sums(recording, sums)?;
    let is_sure = error.saturating_mul(100) < bytes;
    let (at_most, perhaps) = match () {
        () if is_sure => ("", String::new()),
        () if error >= bytes => ("up to ", String::new()),
        () => ("", format!(" (or up to {} less)", format::bytes(error))),
    };
    let what = format!(
        "of address space only reserved then{perhaps}: mapped by the program, but never touched or without access, so it takes no memory"
    );
    peak.is_worth_telling(bytes).then(|| (format!("{at_most}{}", format::bytes(bytes)), what))
}

/// The processes and threads that the report is about; nothing: all.
fn whose(recording: &Recording, sums: &Sums) -> Option<String> {
    /// More are only counted.
    const SHOWN: usize = 4;
    if sums.thread_filter.are_all() {
        return None;
    }
    let mut names = Vec::new();
    for (index, image) in recording.images.iter().enumerate() {
        let process = format!("{} {}", names::program(image), process_id(recording, index));
        match sums.thread_filter.of(index) {
            None => {}
            Some(Threads::All) => names.push(format!("process {process}")),
            Some(threads) => {
                for thread in image.threads.iter().filter(|thread| threads.admit(thread.number)) {
                    let name = thread_name(image, thread).map_or(String::new(), |name| format!("{name} "));
                    names.push(format!("thread {name}{} of {process}", thread.tid));
                }
            }
        }
    }
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    if more > 0 {
        names.push(format!("{} more", format::count(more as u64)));
    }
    Some(format!("only {}", names.join(", ")))
}

/// The part of the recording that the report is about; nothing: all of it.
fn part(sums: &Sums, clock: &Clock) -> Option<String> {
    let at = |units: u64| format::seconds(clock.seconds(units));
    let selection = &sums.selection;
    let span = match (selection.from, selection.to) {
        (Units::ZERO, Units::MAX) => None,
        (_, to) if selection.instant => Some(format!("what was live at {}", at(to.0))),
        (from, Units::MAX) => Some(format!("from {} on", at(from.0))),
        (Units::ZERO, to) => Some(format!("up to {}", at(to.0))),
        (from, to) => Some(format!("from {} to {}", at(from.0), at(to.0))),
    };
    let sizes = match (selection.min_size, selection.max_size) {
        (Bytes::ZERO, Bytes::MAX) => None,
        (least, Bytes::MAX) => Some(format!("blocks of at least {}", format::bytes(least))),
        (Bytes::ZERO, most) => Some(format!("blocks of at most {}", format::bytes(most))),
        (least, most) => Some(format!("blocks of {} to {}", format::bytes(least), format::bytes(most))),
    };
    let parts: Vec<String> = span.into_iter().chain(sizes).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Says what matches the filter and the cuts: lines are only of that, totals are not.
fn filtered(recording: &Recording, matching: &Priced, total: &Priced) -> String {
    let tariff = Tariff::of(recording);
    let of = Numbers { of: matching, tariff: &tariff };
    match matching.events {
        0 => "no call stack matches; totals are those of all stacks".to_owned(),
        _ => format!(
            "stacks that match: {} ({}) of {} together; totals are those of all stacks",
            of.things(Metric::Allocations, "allocation"),
            of.share(Metric::Allocations, total),
            of.with_error(Metric::Bytes)
        ),
    }
}

/// What blocks are that were not freed. At an instant, they are merely live.
pub(crate) fn stays(recording: &Recording, sums: &Sums) -> String {
    let clock = &recording.about.clock;
    match sums.selection.to {
        Units::MAX => match recording.kept() {
            Kept::StillLive => format!("{} where the recording ends", Kept::StillLive.words()),
            kept => kept.words().to_owned(),
        },
        _ if sums.selection.instant => "live then".to_owned(),
        to => format!("live at {}", format::seconds(clock.seconds(to.0))),
    }
}

/// What became of blocks that are neither live nor freed.
fn gone(sums: &Sums) -> Option<String> {
    let blocks = format::counted(sums.total.ended_blocks, "more block");
    (sums.total.ended_blocks > 0).then(|| match sums.selection.to < Units::MAX {
        true => format!("processes that had ended left {blocks}"),
        false => format!("exec discarded {blocks}"),
    })
}

pub(crate) fn first_capital(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_stacks_are_no_part_of_the_peak_that_is_told() {
        let peak = |mapped_bytes| PeakWithMappings {
            block_bytes: 60 << 20,
            mapped_bytes,
            time: 7,
            ..PeakWithMappings::default()
        };
        assert!(!peak(0).is_of_both() && !peak(12 << 10).is_of_both());
        assert!(peak(1 << 20).is_of_both());
    }
}
