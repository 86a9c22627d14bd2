//! Verdicts as JSON.

use crate::verdict::{Judged, Verdict, overall};
use memtoll_analysis::estimate::Estimate;
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    verdict: Verdict,
    limits: Vec<JsonLimit<'a>>,
}

#[derive(Serialize)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
}

impl From<Estimate> for Interval {
    fn from(of: Estimate) -> Interval {
        Interval { value: of.value, low: of.low, high: of.high }
    }
}

/// A limit with its verdict.
#[derive(Serialize)]
pub(crate) struct JsonLimit<'a> {
    limit: String,
    of: &'a str,
    name: &'a str,
    budget_line: usize,
    verdict: Verdict,
    measured: Option<Interval>,
    allowed: Option<Interval>,
    baseline: Option<Interval>,
    note: Option<&'a str>,
    lines: Vec<JsonLine<'a>>,
}

#[derive(Serialize)]
struct JsonLine<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    text: &'a str,
    value: Option<f64>,
    baseline: Option<f64>,
}

impl<'a> JsonLimit<'a> {
    pub(crate) fn of(judged: &'a Judged) -> JsonLimit<'a> {
        JsonLimit {
            limit: judged.entry.key(),
            of: judged.entry.scope.kind.key(),
            name: &judged.entry.scope.name,
            budget_line: judged.entry.line,
            verdict: judged.verdict,
            measured: judged.measured.map(Interval::from),
            allowed: judged.allowed.map(Interval::from),
            baseline: judged.baseline.map(Interval::from),
            note: judged.note.as_deref(),
            lines: judged
                .lines
                .iter()
                .map(|line| JsonLine {
                    function: &line.function,
                    file: line.file.as_deref(),
                    line: line.line,
                    text: &line.text,
                    value: line.value,
                    baseline: line.before,
                })
                .collect(),
        }
    }
}

/// Values are counts, bytes, ns, or parts of 1.
pub fn render(all: &[Judged]) -> Result<String, serde_json::Error> {
    let limits = all.iter().map(JsonLimit::of).collect();
    Ok(serde_json::to_string_pretty(&Report { verdict: overall(all), limits })? + "\n")
}
