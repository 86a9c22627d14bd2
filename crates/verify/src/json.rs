//! Results as JSON; docs/verify.md describes it.

use crate::comparison::Comparison;
use crate::interval::Interval;
use crate::metric::Metric;
use crate::prediction::Verdict;
use crate::tryout::Tryout;
use memtoll_text::Quantity;
use serde::Serialize;
use serde_json::{Map, Value, json};

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// An object with a key for each metric of which something is known.
fn by_metric<T: Serialize>(of: impl Fn(Metric) -> Option<T>) -> Value {
    let entries = Metric::ALL.into_iter().filter_map(|metric| Some((metric.key().to_owned(), json!(of(metric)?))));
    Value::Object(entries.collect::<Map<String, Value>>())
}

pub fn comparison(comparison: &Comparison) -> String {
    let row = |metric: Metric| comparison.rows.iter().find(|row| row.metric == metric);
    let inside = |metric: Metric| match row(metric)?.predicted.as_ref()?.1 {
        Verdict::Inside => Some(json!(true)),
        Verdict::Outside => Some(json!(false)),
        Verdict::CannotSay | Verdict::NotMeasured => Some(Value::Null),
    };
    pretty(&json!({
        "commands": comparison.commands,
        "rounds": comparison.rounds,
        "confidence": comparison.confidence,
        "same_output": comparison.same_output,
        "noisy": comparison.noisy,
        "before": by_metric(|metric| row(metric)?.before),
        "after": by_metric(|metric| row(metric)?.after),
        "saved": by_metric(|metric| row(metric)?.saved),
        "predicted": by_metric(|metric| Some(row(metric)?.predicted.as_ref()?.0.saves)),
        "inside": by_metric(inside),
    }))
}

pub fn tryout(tryout: &Tryout) -> String {
    let of = |values: &[Option<Interval>]| by_metric(|metric| values[metric as usize]);
    let results: Vec<Value> = tryout
        .results
        .iter()
        .map(|result| {
            json!({
                "name": result.candidate.name,
                "what": result.candidate.what,
                "setting": result.candidate.assignment(),
                "instead": result.candidate.instead,
                "rounds": result.rounds,
                "saved": of(&result.saved),
                "failed": result.failed,
            })
        })
        .collect();
    pretty(&json!({
        "command": tryout.command,
        "rounds": tryout.rounds,
        "confidence": tryout.confidence,
        "decided_by": tryout.metric.key(),
        "plain": of(&tryout.plain),
        "candidates": results,
        "winner": tryout.winner().map(|winner| &winner.candidate.name),
    }))
}
