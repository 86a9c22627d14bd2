//! A replay as JSON.

use super::contest::{Figure, Outcome};
use super::expected::expected;
use super::prepare::Counts;
use super::text::{Replay, fragmentation};
use crate::interval::Interval;
use crate::prediction::Range;
use memtoll_text::Quantity;
use serde::Serialize;
use std::collections::BTreeMap;

type Figures = BTreeMap<&'static str, Option<Interval>>;

#[derive(Serialize)]
struct JsonReplay<'a> {
    process: &'a str,
    rounds: usize,
    pace: Option<f64>,
    recorded: JsonRecorded,
    fidelity: Vec<JsonBeside>,
    contestants: Vec<JsonOutcome<'a>>,
    /// Predictions for `memtoll verify`.
    findings: Vec<JsonFinding<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    id: &'a str,
    saves: BTreeMap<&'static str, Range>,
}

#[derive(Serialize)]
struct JsonRecorded {
    calls: u64,
    faults: Option<u64>,
    cpu_ns: [f64; 3],
    peak_bytes: u64,
}

#[derive(Serialize)]
struct JsonBeside {
    figure: &'static str,
    recorded: [f64; 3],
    replayed: Interval,
    difference: Option<f64>,
    agree: bool,
}

#[derive(Serialize)]
struct JsonOutcome<'a> {
    name: &'a str,
    environment: BTreeMap<&'a str, &'a str>,
    calls: &'a Counts,
    refused: u64,
    taken: Figures,
    player: Figures,
    more_than_first: Option<Figures>,
    beyond_live: Option<f64>,
}

fn figures(of: impl Fn(Figure) -> Option<Interval>) -> Figures {
    Figure::ALL.iter().map(|figure| (figure.key(), of(*figure))).collect()
}

/// Times in ns, bytes; of estimates: value, low, high.
pub fn render(replay: &Replay) -> Result<String, serde_json::Error> {
    let three = |of: memtoll_analysis::estimate::Estimate| [of.value, of.low, of.high];
    let outcome = |(number, outcome): (usize, &'_ Outcome)| -> (usize, Figures, Figures, Option<Figures>) {
        let beyond = (number > 0).then(|| figures(|figure| outcome.beyond(&replay.outcomes[0], figure)));
        (number, figures(|figure| outcome.of(figure)), figures(|figure| outcome.own(figure)), beyond)
    };
    let contestants = replay.outcomes.iter().enumerate().map(outcome).map(|(number, taken, player, more)| {
        let outcome = &replay.outcomes[number];
        let counts = &replay.prepared[outcome.contestant.script.min(replay.prepared.len() - 1)].counts;
        let settings = &outcome.contestant.settings;
        JsonOutcome {
            name: &outcome.contestant.name,
            environment: settings.iter().map(|setting| (setting.name(), setting.value())).collect(),
            calls: counts,
            refused: outcome.refused(),
            taken,
            player,
            more_than_first: more,
            beyond_live: fragmentation(outcome, counts),
        }
    });
    let fidelity = replay.fidelity().into_iter().map(|beside| JsonBeside {
        figure: beside.figure.key(),
        recorded: three(beside.recorded),
        difference: beside.difference(),
        agree: beside.agree(),
        replayed: beside.replayed,
    });
    let findings = replay.outcomes.iter().skip(1).filter_map(|outcome| {
        let counts = &replay.prepared[0].counts;
        let found = expected(&replay.recorded, counts, replay.pace, &replay.outcomes[0], outcome)?;
        let mut saves = BTreeMap::from([(Figure::Cpu.key(), found.cpu), (Figure::Faults.key(), found.faults)]);
        saves.extend(found.peak.map(|peak| ("resident_peak_bytes", peak)));
        Some(JsonFinding { id: &outcome.contestant.name, saves })
    });
    let json = JsonReplay {
        process: &replay.process,
        rounds: replay.rounds,
        pace: replay.pace,
        recorded: JsonRecorded {
            calls: replay.recorded.calls,
            faults: replay.recorded.faults,
            cpu_ns: three(replay.recorded.time),
            peak_bytes: replay.recorded.peak_bytes,
        },
        fidelity: fidelity.collect(),
        contestants: contestants.collect(),
        findings: findings.collect(),
    };
    Ok(serde_json::to_string_pretty(&json)? + "\n")
}
