//! How a metric went.

use super::{DRAWN, Drawn, INTERVALS, Known, Question, bases, changed, counted, filtered, none, spread_of};
use crate::error::Error;
use crate::grouping::{Buckets, By, Per, Runs, Sites};
use crate::rollup::rolled;
use crate::run::VERSION;
use crate::spread::Values;
use crate::store::Store;
use crate::table::{Column, Kind, NAME, Table, Value};
use memtoll_analysis::estimate::Estimate;
use memtoll_text::format;
use std::collections::BTreeMap;

/// The label that a trend follows by default: the version, where a run of the selection has one.
pub fn usual_label(store: &mut dyn Store, question: &Question) -> Result<Option<&'static str>, Error> {
    let Question { selection, metric, per, .. } = question;
    let (per, buckets) = (per.as_ref().unwrap_or(&Per::Run), Some(Buckets::Label(VERSION)));
    let selection = &rolled(store, selection, By::All, per, buckets)?;
    let known = bases(store, &Runs { selection, metric: *metric, per, buckets })?;
    Ok((!known.is_empty()).then_some(VERSION))
}

/// How it went, from one value of a label to the next or, without a label, from day to day.
pub fn trend(store: &mut dyn Store, question: &Question, label: Option<&str>) -> Result<Table, Error> {
    let Question { selection, metric, per, .. } = question;
    let per = per.as_ref().unwrap_or(&Per::Run);
    let buckets = label.map_or(Buckets::Day, Buckets::Label);
    let selection = &rolled(store, selection, By::All, per, Some(buckets))?;
    let runs = Runs { selection, metric: *metric, per, buckets: Some(buckets) };
    let known = bases(store, &runs)?;
    if known.is_empty() {
        return Err(match label {
            Some(label) if !bases(store, &Runs { buckets: None, ..runs })?.is_empty() => {
                Error::Question(format!("no run of {} has the label {label}", selection.shown()))
            }
            _ => none(store, &runs),
        });
    }
    let stacks = filtered(store, selection.filter.as_ref())?;
    let (stacks, metrics) = (stacks.as_deref(), &[*metric]);
    let sites = Sites { selection, per, stacks, own: None, folds: false, metrics, by: By::All };
    let found = store.ask(&sites.spreads(&runs, store.dialect()))?;
    let found: BTreeMap<String, Values> = found.iter().map(|row| (row[0].text(), spread_of(row))).collect();
    let known_runs: f64 = known.values().map(|known| known.base.runs).sum();
    // Versions in the order in which they came.
    let mut order: Vec<(&String, &Known)> = known.iter().collect();
    order.sort_by(|a, b| a.1.first.total_cmp(&b.1.first).then_with(|| a.0.cmp(b.0)));
    let skipped = order.len().saturating_sub(question.limit);
    let mut before: Option<Estimate> = None;
    let mut rows = Vec::new();
    for (name, known) in order {
        let rate = known.base.rate(found.get(name).copied().unwrap_or_default());
        let (change, verdict) = before.map_or((Value::Nothing, String::new()), |before| changed(before, rate));
        before = Some(rate);
        rows.push(vec![
            Value::Text(format::date(known.first.max(0.0) as u64)),
            Value::Number(known.base.runs),
            Value::Estimate(rate),
            change,
            Value::Text(verdict),
            Value::Text(name.clone()),
        ]);
    }
    rows.drain(..skipped);
    let about = metric.about();
    let columns = vec![
        Column::new("first", "first run", Kind::Text),
        Column::new("runs", "runs", Kind::Number),
        Column::of_rows(*metric, selection.has_parts()),
        Column::new("change", "change", Kind::ShareMore),
        Column::new("verdict", "", Kind::Text),
        Column::new(NAME, label.unwrap_or("day"), Kind::Text),
    ];
    let mut notes = vec![INTERVALS.to_owned()];
    let all = bases(store, &Runs { buckets: None, ..runs })?.into_values().next().unwrap_or_default();
    let drawn = Drawn::of(store, &runs, all)?;
    if drawn.is_sample() {
        notes.push(format!("{} count. {DRAWN}", drawn.shown()));
    }
    let without = all.base.runs - known_runs;
    if let Some(label) = label.filter(|_| without > 0.0) {
        notes.push(format!("{} without a label {label}: not counted.", counted(without)));
    }
    if skipped > 0 {
        notes.push(format!("{skipped} earlier rows are not shown; -n shows more."));
    }
    let only = selection.filter.as_ref().map_or(String::new(), |filter| format!(", stacks with {filter}"));
    Ok(Table { title: format!("{}: {} {}{only}", selection.shown(), about.title, per.shown()), columns, rows, notes })
}
