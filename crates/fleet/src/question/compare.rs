//! What changed.

use super::{
    Drawn, INTERVALS, OTHERS, Question, TOTAL, alike, changed, filtered, folded, only, row_name, spread_of, unnamed,
};
use crate::error::Error;
use crate::grouping::{By, Per, Runs, Sites};
use crate::rollup::rolled;
use crate::spread::Values;
use crate::store::{Cell, Store};
use crate::table::{Column, Kind, NAME, Table, Value};
use memtoll_analysis::alike::Alike;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use std::collections::BTreeMap;

/// A row of one side.
struct Side {
    name: String,
    /// Without parameters and loaded file.
    short: String,
    values: Values,
}

impl Side {
    fn of(row: &[Cell], alike: &Alike) -> Side {
        let [short, _, _, file, line] = [0, 1, 2, 3, 4].map(|column| row[column].text());
        Side { name: row_name(row, alike), short: format!("{short}  {file}:{line}"), values: spread_of(row) }
    }
}

/// The rows of both sides, each once. Overloads are different functions, until one of them has no other partner: then its
/// parameters have changed.
fn pairs(before: Vec<Side>, after: Vec<Side>) -> Vec<(String, Values, Values)> {
    let mut sides = [before, after];
    // A function may have another metric only.
    sides.iter_mut().for_each(|side| side.retain(|row| row.values != Values::default()));
    let mut pairs = Vec::new();
    for key in [|row: &Side| row.name.clone(), |row: &Side| row.short.clone()] {
        let mut groups: BTreeMap<String, [Vec<Side>; 2]> = BTreeMap::new();
        for (at, side) in std::mem::take(&mut sides).into_iter().enumerate() {
            side.into_iter().for_each(|row| groups.entry(key(&row)).or_default()[at].push(row));
        }
        for [mut before, mut after] in groups.into_values() {
            let number = before.len().min(after.len());
            sides[0].extend(before.split_off(number));
            sides[1].extend(after.split_off(number));
            pairs.extend(before.into_iter().zip(after).map(|(old, new)| (new.name, old.values, new.values)));
        }
    }
    let [before, after] = sides;
    pairs.extend(before.into_iter().map(|row| (row.name, row.values, Values::default())));
    pairs.extend(after.into_iter().map(|row| (row.name, Values::default(), row.values)));
    pairs
}

/// What changed between two parts of the store.
pub fn compare(
    store: &mut dyn Store,
    question: &Question,
    before: &[(String, String)],
    after: &[(String, String)],
) -> Result<Table, Error> {
    let Question { selection, metric, by, per, limit } = question;
    let by = by.of_versions();
    let per = per.as_ref().unwrap_or(&Per::Run);
    let stacks = filtered(store, selection.filter.as_ref())?;
    let (folds, alike) = (!folded(store)?.is_empty(), alike(store)?);
    let mut of_side = |labels: &[(String, String)]| {
        let selection = rolled(store, &selection.with(labels), by, per, None)?;
        let runs = Runs { selection: &selection, metric: *metric, per, buckets: None };
        let known = only(store, &runs)?;
        let drawn = Drawn::of(store, &runs, known)?;
        let (stacks, metrics) = (stacks.as_deref(), &[*metric]);
        let mut sites = Sites { selection: &selection, per, stacks, own: None, folds, metrics, by };
        let rows = store.ask(&sites.spreads(&runs, store.dialect()))?;
        let rows: Vec<Side> = rows.iter().map(|row| Side::of(row, &alike)).collect();
        sites.by = By::All;
        let all = store.ask(&sites.spreads(&runs, store.dialect()))?;
        let all = all.first().map_or(Values::default(), |row| spread_of(row));
        let called = format!("{} ({})", selection.shown(), drawn.shown());
        Ok((known.base, rows, all, called))
    };
    let (base, rows, all, called) = of_side(before)?;
    let (new_base, new_rows, new_all, new_called) = of_side(after)?;
    let line = |name: &str, before: Values, after: Values| {
        let (old, new) = (base.rate(before), new_base.rate(after));
        let difference = new.minus(old);
        let (share, mut verdict) = changed(old, new);
        if before == Values::default() && after != before {
            verdict = format!("new{}", if verdict.is_empty() { String::new() } else { format!(", {verdict}") });
        }
        let cells = vec![
            Value::Estimate(old),
            Value::Estimate(new),
            Value::Estimate(difference),
            share,
            Value::Text(verdict),
            Value::Text(name.to_owned()),
        ];
        (difference, cells)
    };
    let pairs = pairs(rows, new_rows).into_iter();
    let mut lines: Vec<_> = pairs.map(|(name, before, after)| line(&name, before, after)).collect();
    // What is more than noise leads, then the size of the change.
    let is_real = |difference: &Estimate| difference.low > 0.0 || difference.high < 0.0;
    lines.sort_by(|(a, _), (b, _)| is_real(b).cmp(&is_real(a)).then_with(|| b.value.abs().total_cmp(&a.value.abs())));
    let number = lines.len();
    let real = lines.iter().filter(|(difference, _)| is_real(difference)).count();
    let (_, total) = line(TOTAL, all, new_all);
    let kept: f64 = lines.iter().take(*limit).map(|(difference, _)| difference.value).sum();
    let mut shown: Vec<Vec<Value>> = lines.into_iter().take(*limit).map(|(_, cells)| cells).collect();
    if by.adds_up() && number > *limit && *metric != Metric::Peak {
        let whole = new_base.rate(new_all).value - base.rate(all).value;
        let rest = Value::Number(whole - kept);
        let others = Value::Text(OTHERS.to_owned());
        shown.push(vec![Value::Nothing, Value::Nothing, rest, Value::Nothing, Value::Text(String::new()), others]);
    }
    shown.push(total);
    let unit = metric.about().unit;
    let columns = vec![
        Column::new("before", "before", Kind::Metric(unit)),
        Column::new("after", "after", Kind::Metric(unit)),
        Column::new("difference", "difference", Kind::Change(unit)),
        Column::new("change", "change", Kind::ShareMore),
        Column::new("verdict", "", Kind::Text),
        Column::new(NAME, by.title(), Kind::Text),
    ];
    let title = format!("{} {}: {called} against {new_called}", metric.about().title, per.shown());
    let mut notes = vec![INTERVALS.to_owned()];
    notes.extend(unnamed(&shown));
    if number > 20 && real > 0 {
        notes.push(format!(
            "{real} of {number} rows changed by more than noise; {} of {number} do so by chance.",
            (number as f64 * 0.05).round()
        ));
    }
    Ok(Table { title, columns, rows: shown, notes })
}
