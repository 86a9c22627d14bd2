//! Savings in words, for all formats that people read.

use crate::finding::Finding;
use crate::savings::{Saves, Saving};
use memtoll_text::Quantity;
use memtoll_text::format::{self, Unit};
use memtoll_trace::meta::{Saved, Verified};

const NOTHING: &str = "nothing that can be told from chance";

/// The title and amount of each saving that is one.
pub fn amounts(saves: &Saves) -> Vec<(&'static str, String)> {
    Saving::ALL.iter().filter_map(|saving| Some((saving.title(), saves.amount(*saving)?))).collect()
}

/// The kind that leads: the one that counted when findings were ranked.
fn leading(saves: &Saves) -> Saving {
    match () {
        () if saves.cpu_ns.likely >= saves.wall_ns.likely && !saves.cpu_ns.is_nothing() => Saving::Cpu,
        () if !saves.wall_ns.is_nothing() => Saving::Wall,
        () if !saves.resident_peak_bytes.is_nothing() => Saving::ResidentPeak,
        () if !saves.resident_end_bytes.is_nothing() => Saving::ResidentEnd,
        () => Saving::Peak,
    }
}

/// The title and amount of each saving but the one that leads.
pub fn further(finding: &Finding) -> Vec<(&'static str, String)> {
    let first = leading(&finding.saves).title();
    amounts(&finding.saves).into_iter().filter(|(title, _)| *title != first).collect()
}

/// `2.3 ms of CPU time (1.9 ms to 2.9 ms), 4.1 % of the run`.
pub fn headline(finding: &Finding, processor: Option<f64>) -> String {
    let saving = leading(&finding.saves);
    let (of, title) = (finding.saves.of(saving), saving.title());
    let [low, likely, high] = [of.low, of.likely, of.high].map(|of| saving.unit().show(of));
    let share = processor
        .filter(|_| saving == Saving::Cpu)
        .map_or(String::new(), |all| format!(", {} of the run", Unit::Share.show(of.likely / all)));
    match finding.saves.amount(saving).filter(|_| of.is_open()) {
        // What a leak loses may be little in a short run.
        None if of.is_nothing() => NOTHING.to_owned(),
        Some(amount) => format!("{amount} of {title}{share}"),
        None => format!("{likely} of {title} ({low} to {high}){share}"),
    }
}

/// `1.9 ms of CPU time (1.7 ms to 2.1 ms), 12 page faults, in 20 rounds: as predicted`.
pub fn verified(of: &Verified) -> String {
    let figures = [
        ("of CPU time", Unit::Time, of.cpu_ns),
        ("of wall time", Unit::Time, of.wall_ns),
        ("page faults", Unit::Count, of.faults),
        ("of the resident set", Unit::Bytes, of.resident_peak_bytes),
        ("of the resident set at the end", Unit::Bytes, of.resident_end_bytes),
    ];
    let told = figures.into_iter().filter_map(|(name, unit, saved)| {
        // What may be nothing is left out.
        let Saved { median, low, high } = saved.filter(|saved| saved.low > 0.0 || saved.high < 0.0)?;
        let [median, low, high] = [median, low, high].map(|of| unit.show(of));
        Some(if low == high { format!("{median} {name}") } else { format!("{median} {name} ({low} to {high})") })
    });
    let mut told: Vec<String> = told.collect();
    if told.is_empty() {
        told.push(NOTHING.to_owned());
    }
    let verdict = match of.as_predicted {
        Some(true) => ": as predicted",
        Some(false) => ": not as predicted",
        None => "",
    };
    format!("{} in {}{verdict}", told.join(", "), format::counted(of.rounds, "round"))
}

/// `f (a.cpp:12)`.
pub fn place(finding: &Finding) -> String {
    let file = finding.file.as_deref().map(memtoll_analysis::names::last_part);
    match (file, finding.line) {
        (Some(file), Some(line)) => format!("{} ({file}:{line})", finding.function),
        (Some(file), None) => format!("{} ({file})", finding.function),
        _ => finding.function.clone(),
    }
}

/// `inlined into g, h`.
pub fn inlined(finding: &Finding) -> String {
    let names: Vec<&str> =
        finding.inlined.iter().map(|place| place.function.as_str()).filter(|name| *name != finding.function).collect();
    if names.is_empty() { String::new() } else { format!(", inlined into {}", names.join(", ")) }
}
