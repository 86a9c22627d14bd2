//! What costs most.

use super::{
    DRAWN, Drawn, INTERVALS, OTHERS, Question, TOTAL, alike, bases, counted, filtered, folded, only, row_name,
    spread_of, unnamed,
};
use crate::columns::{METRICS, is_largest_of_windows};
use crate::error::Error;
use crate::grouping::{By, Per, Runs, Sites};
use crate::rollup::rolled;
use crate::run_means;
use crate::selection::Selection;
use crate::statement::VALUES;
use crate::store::{Cell, Store};
use crate::table::{Column, Kind, NAME, Table, Value};
use memtoll_analysis::metric::Metric;
use std::collections::BTreeMap;

/// What costs most.
pub fn top(store: &mut dyn Store, question: &Question) -> Result<Table, Error> {
    let Question { selection, metric, by, per, limit } = question;
    // A sample tells rates, and no sums over all runs.
    let per = per.as_ref().or(selection.sample.map(|_| &Per::Run));
    let selection = &rolled(store, selection, *by, per.unwrap_or(&Per::Run), None)?;
    let runs = Runs { selection, metric: *metric, per: per.unwrap_or(&Per::Run), buckets: None };
    let known = only(store, &runs)?;
    let drawn = Drawn::of(store, &runs, known)?;
    let stacks = filtered(store, selection.filter.as_ref())?;
    let is_peak = *metric == Metric::Peak;
    let metrics: Vec<Metric> = match is_peak {
        true => vec![Metric::Peak],
        false => {
            let beside = METRICS.into_iter().filter(|beside| beside != metric && !is_largest_of_windows(*beside));
            std::iter::once(*metric).chain(beside).collect()
        }
    };
    let (stacks, folds, alike) = (stacks.as_deref(), !folded(store)?.is_empty(), alike(store)?);
    let sites = Sites { selection, per: runs.per, stacks, own: None, folds, metrics: &metrics, by: *by };
    let together = Sites { by: By::All, ..sites };
    let rows = store.ask(&sites.totals(store.dialect(), Some(*limit)))?;
    let all = store.ask(&together.totals(store.dialect(), None))?;
    let divisor = if per.is_some() { known.base.weights } else { 1.0 };
    let whole = all.first().map_or(0.0, |row| row[VALUES].number());
    let share = |value: f64| if whole > 0.0 { Value::Number(value / whole) } else { Value::Nothing };
    // Means have errors; sums over all runs have none.
    let mut spreads = BTreeMap::new();
    if per.is_some() {
        let [sites, together] = [&sites, &together].map(|sites| Sites { metrics: &metrics[..1], ..*sites });
        let each = store.ask(&sites.spreads(&runs, store.dialect()))?;
        spreads.extend(each.iter().map(|row| (row_name(row, &alike), spread_of(row))));
        let all = store.ask(&together.spreads(&runs, store.dialect()))?;
        spreads.extend(all.iter().map(|row| (TOTAL.to_owned(), spread_of(row))));
    }
    let line = |row: &[Cell], name: String| {
        let first = match spreads.get(&name) {
            Some(values) => Value::Estimate(known.base.rate(*values)),
            None => Value::Number(row[VALUES].number() / divisor),
        };
        let mut cells = vec![first, share(row[VALUES].number())];
        cells.extend(row[VALUES + 1..].iter().map(|cell| Value::Number(cell.number() / divisor)));
        cells.push(Value::Text(name));
        cells
    };
    let of_parts = !matches!(by, By::All | By::Service | By::Host) || selection.has_parts();
    let mut columns = vec![Column::of_rows(*metric, of_parts), Column::new("share", "share", Kind::Share)];
    columns.extend(metrics[1..].iter().map(|metric| Column::of(*metric)));
    columns.push(Column::new(NAME, by.title(), Kind::Text));
    let mut shown: Vec<Vec<Value>> = rows.iter().map(|row| line(row, row_name(row, &alike))).collect();
    if by.adds_up()
        && !is_peak
        && let Some(all) = all.first()
    {
        let rest = |index: usize| all[index].number() - rows.iter().map(|row| row[index].number()).sum::<f64>();
        let left: Vec<Cell> = (0..all.len())
            .map(|index| if index < VALUES { all[index].clone() } else { Cell::Number(rest(index)) })
            .collect();
        if left[VALUES..].iter().any(|cell| cell.number() > 0.5) {
            shown.push(line(&left, OTHERS.to_owned()));
        }
        shown.push(line(all, TOTAL.to_owned()));
    }
    let is_mean = per.is_some();
    let per = per.map_or_else(|| "in all".to_owned(), Per::shown);
    let title = format!("{}: {}, {per}, {}", selection.shown(), drawn.shown(), metric.about().title);
    let mut notes = Vec::new();
    notes.extend(is_mean.then(|| INTERVALS.to_owned()));
    notes.extend(drawn.is_sample().then(|| DRAWN.to_owned()));
    if !selection.has_parts() {
        notes.extend(run_means::told(store, selection)?);
    }
    notes.extend(left_out(store, selection, *metric, drawn.of)?);
    notes.extend(unnamed(&shown));
    if *by == By::FunctionWithCallees {
        notes.push("Each function includes what it calls, once per stack: rows do not add up to the total.".to_owned());
    }
    Ok(Table { title, columns, rows: shown, notes })
}

/// Says how many runs do not know the metric.
fn left_out(
    store: &mut dyn Store,
    selection: &Selection,
    metric: Metric,
    counted_runs: f64,
) -> Result<Option<String>, Error> {
    // Counts of calls are known of all runs.
    let whole = Selection { sample: None, ..selection.clone() };
    let runs = Runs { selection: &whole, metric: Metric::Allocations, per: &Per::Run, buckets: None };
    let all = bases(store, &runs)?.into_values().next().unwrap_or_default().base.runs;
    let missing = all - counted_runs;
    let why = "the kernel did not show it there, or they lack what values are divided by";
    Ok((missing > 0.0).then(|| {
        format!(
            "{} of {} not counted: {} is not known of them ({why}).",
            counted(missing),
            counted(all),
            metric.about().title
        )
    }))
}
