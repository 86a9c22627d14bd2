//! A replay as text for a terminal.

use super::contest::{CONFIDENCE, Figure, Outcome};
use super::expected::expected;
use super::fidelity::{FigureBothWays, Recorded, compare};
use super::prepare::{Counts, Prepared};
use crate::interval::Interval;
use crate::prediction::Range;
use memtoll_text::Quantity;
use memtoll_text::format;
use memtoll_text::table::Table;

pub struct Replay<'a> {
    /// The process: `python3 (4711)`.
    pub process: String,
    /// What the recording says.
    pub recorded: Recorded,
    /// What was played, by script.
    pub prepared: &'a [Prepared],
    /// Time between calls, as a multiple of the recorded time.
    pub pace: Option<f64>,
    /// The first one plays what was recorded, against the system's allocator.
    pub outcomes: Vec<Outcome>,
    /// Rounds that count.
    pub rounds: usize,
}

/// A figure for people.
pub fn shown(figure: Figure, value: f64) -> String {
    figure.unit().show(value)
}

fn with_error(figure: Figure, value: Option<Interval>) -> String {
    match value {
        None => "not known".to_owned(),
        Some(found) if found.low == found.high => shown(figure, found.median),
        Some(found) => format!("{} ± {}", shown(figure, found.median), shown(figure, found.error())),
    }
}

fn difference(figure: Figure, value: Option<Interval>) -> String {
    match value {
        None => "not known".to_owned(),
        Some(found) if !found.excludes_zero() => "same".to_owned(),
        Some(found) => {
            let (low, high) = (shown(figure, found.low), shown(figure, found.high));
            format!("{} ({low} to {high})", shown(figure, found.median))
        }
    }
}

/// Memory that is resident beyond the live bytes, at the peaks: 0.3 for 30 % more.
pub fn fragmentation(outcome: &Outcome, counts: &Counts) -> Option<f64> {
    let peak = outcome.of(Figure::Peak)?.median;
    (counts.peak_bytes > 0).then(|| peak / counts.peak_bytes as f64 - 1.0)
}

impl Replay<'_> {
    fn counts(&self, outcome: &Outcome) -> &Counts {
        &self.prepared[outcome.contestant.script.min(self.prepared.len() - 1)].counts
    }

    /// What was recorded beside what was replayed, if all of it was played.
    pub fn fidelity(&self) -> Vec<FigureBothWays> {
        self.outcomes.first().map_or_else(Vec::new, |first| compare(&self.recorded, first))
    }

    /// All of it.
    pub fn text(&self, width: Option<usize>) -> String {
        let Some(first) = self.outcomes.first() else { return String::new() };
        let counts = self.counts(first);
        let mut text = format::wrapped("", &self.head(counts), width);
        text.push('\n');
        text += &self.values(width);
        if self.outcomes.len() > 1 {
            text += &format!("\nDifference from {}\n", first.contestant.name);
            text += &self.differences(width);
        }
        text.push('\n');
        for line in self.statements(first, counts) {
            text += &format::wrapped("", &line, width);
        }
        text
    }

    fn head(&self, counts: &Counts) -> String {
        format!(
            "{}: {} by {}, {} allocated, {} live at the peak",
            self.process,
            format::counted(counts.calls(), "call"),
            format::counted(counts.threads, "thread"),
            format::bytes(counts.bytes),
            format::bytes(counts.peak_bytes)
        )
    }

    fn values(&self, width: Option<usize>) -> String {
        let mut columns: Vec<&str> = Figure::ALL.iter().map(|figure| figure.title()).collect();
        columns.extend(["beyond live", "what"]);
        let mut table = Table::new(&columns).keep(Figure::Cpu.title());
        for outcome in &self.outcomes {
            let mut cells: Vec<String> =
                Figure::ALL.iter().map(|figure| with_error(*figure, outcome.of(*figure))).collect();
            let beyond = fragmentation(outcome, self.counts(outcome));
            cells.push(beyond.map_or("not known".to_owned(), |share| format::Unit::Share.signed(share)));
            cells.push(outcome.contestant.name.clone());
            table.add(cells);
        }
        table.render(width)
    }

    fn differences(&self, width: Option<usize>) -> String {
        let mut columns: Vec<&str> = Figure::ALL.iter().map(|figure| figure.title()).collect();
        columns.push("what");
        let mut table = Table::new(&columns).keep(Figure::Cpu.title());
        for outcome in &self.outcomes[1..] {
            let one = |figure: &Figure| difference(*figure, outcome.beyond(&self.outcomes[0], *figure));
            let mut cells: Vec<String> = Figure::ALL.iter().map(one).collect();
            cells.push(outcome.contestant.name.clone());
            table.add(cells);
        }
        table.render(width)
    }

    fn statements(&self, first: &Outcome, counts: &Counts) -> Vec<String> {
        let percent = CONFIDENCE * 100.0;
        let mut all = vec![format!(
            "Medians of {}, with the half-width of their {percent:.0} % intervals. What the player takes by itself ({} of \
             CPU time) is taken off.",
            format::counted(self.rounds as u64, "round"),
            with_error(Figure::Cpu, first.own(Figure::Cpu))
        )];
        if self.rounds < 6 {
            all.push("Few rounds say little about their errors: --repeat 10 says more.".to_owned());
        }
        all.push(match self.pace {
            None => "No time passes between calls, so the caches are warmer than in the program.".to_owned(),
            Some(1.0) => "As much time passes between calls as in the recording.".to_owned(),
            Some(pace) => format!("{pace} times as much time passes between calls as in the recording."),
        });
        all.push(self.calls(counts));
        for outcome in &self.outcomes[1..] {
            let Some(found) = expected(&self.recorded, counts, self.pace, first, outcome) else { continue };
            all.push(format!(
                "In the program, with its colder caches, {} should change the CPU time by {}{}; memtoll try measures it.",
                outcome.contestant.name,
                change(Figure::Cpu, &found.cpu),
                found.peak.map_or(String::new(), |peak| format!(
                    " and the peak resident set by {}",
                    change(Figure::Peak, &peak)
                ))
            ));
        }
        if counts.thread_peaks_bytes > counts.peak_bytes + counts.peak_bytes / 10 {
            all.push(format!(
                "Which threads are at their peaks at once is chance: all of them would have {} live, and the recording had {}. \
                 The ranges of the peak resident set contain that, and what allocators give back in pauses.",
                format::bytes(counts.thread_peaks_bytes),
                format::bytes(counts.peak_bytes)
            ));
        }
        for outcome in self.outcomes.iter().filter(|outcome| outcome.refused() > 0) {
            let refused = format::counted(outcome.refused(), "call");
            all.push(format!("{} refused {refused}.", outcome.contestant.name));
        }
        let order = first.order_ns();
        if counts.threads > 1 && order > 0.0 {
            let time = format::seconds(order / 1e9);
            let why = if self.pace.is_some() { "the recorded order or time" } else { "the recorded order" };
            all.push(format!("All threads together waited {time} for {why}: that is not waiting in the allocator."));
        }
        if !self.prepared[0].knows_pages {
            all.push("The recording does not know page faults: all pages of all blocks are touched.".to_owned());
        }
        all.extend(self.fidelity().iter().map(beside));
        all
    }

    /// How many calls were played of those recorded, and why others were not.
    fn calls(&self, counts: &Counts) -> String {
        let not = [
            (counts.failed, "that failed"),
            (counts.unknown_frees, "that free blocks from before the recording"),
            (counts.own_pools, "of the program's own allocator (memtoll.h)"),
        ];
        let not: Vec<String> = not
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", format::count(*number)))
            .collect();
        let mut text = format!(
            "Fidelity: {} of {} recorded calls played",
            format::count(counts.calls()),
            format::count(self.recorded.calls)
        );
        if !not.is_empty() {
            text += &format!("; not {}", not.join(", not "));
        }
        let changed = &self.prepared[self.prepared.len() - 1].counts;
        if self.prepared.len() > 1 {
            let numbers = [(changed.left_out, "left out"), (changed.pooled, "served by a pool")];
            for (number, what) in numbers.iter().filter(|(number, _)| *number > 0) {
                text += &format!("; with the change, {} {what}", format::counted(*number, "allocation"));
            }
        }
        text + "."
    }
}

/// `-6.0 MiB (-28 MiB to +16 MiB)`: what is saved, with the sign of the other differences.
fn change(figure: Figure, saved: &Range) -> String {
    let [low, likely, high] = [-saved.high, -saved.likely, -saved.low].map(|value| figure.unit().signed(value));
    format!("{likely} ({low} to {high})")
}

fn beside(one: &FigureBothWays) -> String {
    let FigureBothWays { figure, recorded, replayed } = one;
    let what = match figure {
        Figure::Faults => "page faults of blocks",
        _ => "CPU time for the allocator, its mappings and the page faults of blocks",
    };
    let interval = |low: f64, high: f64| format!("{} to {}", shown(*figure, low), shown(*figure, high));
    let mut text = format!("Fidelity: {what}: recorded {}", shown(*figure, recorded.value));
    if recorded.margin() > 0.0 {
        text += &format!(" ({})", interval(recorded.low, recorded.high));
    }
    text += &format!(", replayed {} ({})", shown(*figure, replayed.median), interval(replayed.low, replayed.high));
    if let Some(difference) = one.difference() {
        text += &format!(": {}", format::Unit::Share.signed(difference));
    }
    if recorded.margin() > 0.0 {
        text += if one.agree() { ", the intervals meet" } else { ", the intervals do not meet" };
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_more_is_no_negative_saving() {
        let saved = Range { low: -1.0e6, likely: -0.5e6, high: 2.0e6 };
        assert_eq!(change(Figure::Cpu, &saved), "+500 µs (-2.0 ms to +1.0 ms)");
    }
}
