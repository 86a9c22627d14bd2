//! The runs themselves, and where their recordings are.

use super::{DRAWN, Drawn, Question, filtered, only};
use crate::error::Error;
use crate::grouping::{By, Per, Runs, Sites};
use crate::run::VERSION;
use crate::statement::{AboutRuns, about_runs, labels_of};
use crate::store::{Cell, Store};
use crate::table::{Column, Kind, NAME, Table, Value};
use memtoll_text::format::{self, Unit};
use std::collections::BTreeMap;

/// The runs that have most of a metric.
pub fn runs(store: &mut dyn Store, question: &Question) -> Result<Table, Error> {
    let Question { selection, metric, per, limit, .. } = question;
    let per = per.as_ref().unwrap_or(&Per::Run);
    let runs = Runs { selection, metric: *metric, per, buckets: None };
    let known = only(store, &runs)?;
    let drawn = Drawn::of(store, &runs, known)?;
    let stacks = filtered(store, selection.filter.as_ref())?;
    let sites =
        Sites { selection, per, stacks: stacks.as_deref(), own: None, folds: false, metrics: &[*metric], by: By::All };
    let values = store.ask(&sites.of_each_run(&runs, store.dialect(), *limit))?;
    let uploads: Vec<String> = values.iter().map(|row| row[0].text()).collect();
    let about = by_upload(store.ask(&about_runs(&uploads, store.dialect()))?);
    let versions = by_upload(store.ask(&labels_of(&uploads, VERSION, store.dialect()))?);
    let rows: Vec<Vec<Value>> = values
        .iter()
        .filter_map(|row| {
            let upload = row[0].text();
            let about = about.get(&upload)?;
            let text = |column: AboutRuns| about[column as usize].text();
            let time = |column: AboutRuns| match about[column as usize].number() {
                0.0 => Value::Nothing,
                time => Value::Number(time),
            };
            let recording = text(AboutRuns::Recording);
            Some(vec![
                Value::Number(row[1].number()),
                time(AboutRuns::Cpu),
                time(AboutRuns::Wall),
                Value::Text(format::date(about[AboutRuns::Start as usize].number().max(0.0) as u64)),
                Value::Text(versions.get(&upload).map_or(String::new(), |row| row[1].text())),
                Value::Text(text(AboutRuns::Service)),
                Value::Text(text(AboutRuns::Host)),
                if recording.is_empty() { Value::Nothing } else { Value::Text(recording) },
            ])
        })
        .collect();
    let columns = vec![
        Column::of_rows(*metric, selection.has_parts()),
        Column::new("program_ns", "CPU time", Kind::Metric(Unit::Time)),
        Column::new("wall_ns", "wall time", Kind::Metric(Unit::Time)),
        Column::new("began", "began (UTC)", Kind::Text),
        Column::new("version", "version", Kind::Text),
        Column::new("service", "service", Kind::Text),
        Column::new("host", "host", Kind::Text),
        Column::new(NAME, "recording", Kind::Text),
    ];
    let mut notes = Vec::new();
    notes.extend(drawn.is_sample().then(|| format!("{} count. {DRAWN}", drawn.shown())));
    let others = known.base.runs - rows.len() as f64;
    if others > 0.0 {
        let are = if others == 1.0 { "is" } else { "are" };
        notes.push(format!("{} with less {are} not shown; -n shows more.", super::counted(others)));
    }
    let unknown = rows.iter().filter(|row| row.last() == Some(&Value::Nothing)).count();
    if unknown > 0 {
        let runs = format::counted(unknown as u64, "run");
        notes.push(format!("The store does not have the recording's path of {runs}: added with --without paths."));
    }
    let only = selection.filter.as_ref().map_or(String::new(), |filter| format!(", stacks with {filter}"));
    let title = format!("{}: {} {}, of each run{only}", selection.shown(), metric.about().title, per.shown());
    Ok(Table { title, columns, rows, notes })
}

fn by_upload(rows: Vec<Vec<Cell>>) -> BTreeMap<String, Vec<Cell>> {
    rows.into_iter().map(|row| (row[0].text(), row)).collect()
}
