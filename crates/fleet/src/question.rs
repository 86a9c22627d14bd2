//! The questions: top, trend, compare.

use crate::error::Error;
use crate::identity::Key;
use crate::selection::Selection;
use crate::spread::{Base, Values};
use crate::statement::{self, Buckets, By, Per, Runs, Sites};
use crate::store::{Cell, Store};
use crate::table::{Column, Kind, Table, Value};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_query::format;
use regex::Regex;
use std::collections::BTreeMap;

/// What is asked for, whatever the question is.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which runs and stacks.
    pub selection: Selection,
    /// The metric that decides.
    pub metric: Metric,
    /// What rows are.
    pub by: By,
    /// What values are divided by; `None`: nothing, they are sums over all runs.
    pub per: Option<Per>,
    /// So many rows at the most.
    pub limit: usize,
}

impl By {
    /// What the rows are called.
    fn title(self) -> &'static str {
        match self {
            By::All => "all",
            By::Function | By::FunctionWithCallees => "function",
            By::Line => "line",
            By::Module => "module",
            By::Process => "process",
            By::Service => "service",
            By::Host => "host",
        }
    }

    /// Whether the rows add up to the total.
    fn adds_up(self) -> bool {
        self != By::FunctionWithCallees
    }
}

impl Per {
    /// As a reader says it.
    fn shown(&self) -> String {
        match self {
            Per::Run => "per run".to_owned(),
            Per::Cpu => "per second of CPU".to_owned(),
            Per::Label(label) => format!("per {label}"),
        }
    }
}

/// What top shows beside its metric.
const BESIDE: [Metric; 10] = [
    Metric::Cost,
    Metric::Allocator,
    Metric::FaultTime,
    Metric::Zeroing,
    Metric::Mapping,
    Metric::Waiting,
    Metric::Reading,
    Metric::Faults,
    Metric::Acquisitions,
    Metric::Bytes,
];

/// Runs of which something is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub base: Base,
    first: f64,
}

/// Bases by group; without groups, there is one at the most.
pub(crate) fn bases(store: &mut dyn Store, runs: &Runs) -> Result<BTreeMap<String, Known>, Error> {
    let rows = store.ask(&statement::base(runs, store.dialect()))?;
    let known = |row: Vec<Cell>| {
        let base = Base { runs: row[1].number(), weights: row[2].number(), squares: row[3].number() };
        (row[0].text(), Known { base, first: row[4].number() })
    };
    Ok(rows.into_iter().map(known).filter(|(_, known)| known.base.runs > 0.0).collect())
}

/// The keys of functions whose names match; `None`: all stacks.
pub(crate) fn matching(store: &mut dyn Store, admits: impl Fn(&str, &str) -> bool) -> Result<Vec<Key>, Error> {
    let rows = store.ask(&statement::functions(store.dialect()))?;
    let fits = rows.iter().filter(|row| admits(&row[1].text(), &row[2].text()));
    Ok(fits.filter_map(|row| row[0].text().parse().ok()).collect())
}

fn filtered(store: &mut dyn Store, filter: Option<&Regex>) -> Result<Option<Vec<Key>>, Error> {
    let Some(filter) = filter else { return Ok(None) };
    let keys = matching(store, |name, module| filter.is_match(name) || filter.is_match(module))?;
    if keys.is_empty() {
        return Err(Error::Question(format!("no function or module in the store matches \"{filter}\"")));
    }
    Ok(Some(keys))
}

/// One run, or why there is none.
fn only(store: &mut dyn Store, runs: &Runs) -> Result<Known, Error> {
    match bases(store, runs)?.into_values().next() {
        Some(known) if known.base.weights > 0.0 => Ok(known),
        Some(_) => Err(Error::Question(format!("the CPU time of {} is not known", runs.selection.shown()))),
        None => Err(none(store, runs)),
    }
}

/// Why no run counts, and what there is to choose from.
fn none(store: &mut dyn Store, runs: &Runs) -> Error {
    let mut why = match runs.per {
        Per::Label(label) => format!("no run of {} has a number as its label {label}", runs.selection.shown()),
        _ => format!("no run of the store is one of {}", runs.selection.shown()),
    };
    if let Some(seen) = crate::columns::seen(runs.metric) {
        why += &format!(" and knows {} (column {seen})", runs.metric.about().title);
    }
    let there_is = "SELECT DISTINCT name, value FROM labels ORDER BY name, value LIMIT 20";
    let services = "SELECT DISTINCT 'service' AS name, service AS value FROM runs ORDER BY value LIMIT 10";
    let mut known = Vec::new();
    for text in [services, there_is] {
        let rows = store.ask(&statement::Sql::text(text)).unwrap_or_default();
        known.extend(rows.iter().map(|row| format!("{}={}", row[0].text(), row[1].text())));
    }
    match known.is_empty() {
        true => Error::Question(format!("{why}; it is empty")),
        false => Error::Question(format!("{why}; there is {}", known.join(", "))),
    }
}

/// The last row of an answer.
const TOTAL: &str = "(total)";

const DRAWN: &str = "The runs were drawn by chance; ± holds what that may change.";

/// How many runs count, and of how many they were drawn.
struct Drawn {
    runs: f64,
    of: f64,
}

impl Drawn {
    fn of(store: &mut dyn Store, runs: &Runs, known: Known) -> Result<Drawn, Error> {
        let number = known.base.runs;
        if runs.selection.sample.is_none() {
            return Ok(Drawn { runs: number, of: number });
        }
        let whole = Selection { sample: None, ..runs.selection.clone() };
        let all = bases(store, &Runs { selection: &whole, buckets: None, ..*runs })?;
        Ok(Drawn { runs: number, of: all.into_values().next().unwrap_or_default().base.runs })
    }

    fn is_sample(&self) -> bool {
        self.runs < self.of
    }

    fn shown(&self) -> String {
        match self.is_sample() {
            true => format!("{} of {}", format::count(self.runs as u64), counted(self.of)),
            false => counted(self.runs),
        }
    }
}

fn counted(runs: f64) -> String {
    format::counted(runs as u64, "run")
}

/// The name of a row: the last column.
fn row_name(row: &[Cell]) -> String {
    let (name, module, file, line) = (row[0].text(), row[1].text(), row[2].text(), row[3].text());
    let place = match (file.as_str(), line.as_str()) {
        ("", _) => String::new(),
        (file, "0") => format!("  {file}"),
        (file, line) => format!("  {file}:{line}"),
    };
    let module = if module.is_empty() || name.contains("+0x") { String::new() } else { format!("  [{module}]") };
    format!("{name}{place}{module}")
}

/// What costs most.
///
/// # Errors
/// Nothing is selected, or the store does not answer.
pub fn top(store: &mut dyn Store, question: &Question) -> Result<Table, Error> {
    let Question { selection, metric, by, per, limit } = question;
    // A sample tells rates, and no sums over all runs.
    let per = per.as_ref().or(selection.sample.map(|_| &Per::Run));
    let runs = Runs { selection, metric: *metric, per: per.unwrap_or(&Per::Run), buckets: None };
    let known = only(store, &runs)?;
    let drawn = Drawn::of(store, &runs, known)?;
    let stacks = filtered(store, selection.filter.as_ref())?;
    let is_peak = *metric == Metric::Peak;
    let metrics: Vec<Metric> = match is_peak {
        true => vec![Metric::Peak],
        false => std::iter::once(*metric).chain(BESIDE.into_iter().filter(|beside| beside != metric)).collect(),
    };
    let mut sites = Sites { selection, stacks: stacks.as_deref(), own: None, metrics: &metrics, by: *by };
    let rows = store.ask(&sites.totals(store.dialect(), Some(*limit)))?;
    sites.by = By::All;
    let all = store.ask(&sites.totals(store.dialect(), None))?;
    let divisor = if per.is_some() { known.base.weights } else { 1.0 };
    let whole = all.first().map_or(0.0, |row| row[4].number());
    let share = |value: f64| if whole > 0.0 { Value::Number(value / whole) } else { Value::Nothing };
    let mut spreads = BTreeMap::new();
    if drawn.is_sample() {
        let mut sites = Sites { metrics: &metrics[..1], ..sites };
        spreads.extend(
            store.ask(&sites.spreads(&runs, store.dialect()))?.iter().map(|row| (row_name(row), spread_of(row))),
        );
        sites.by = By::All;
        let all = store.ask(&sites.spreads(&runs, store.dialect()))?;
        spreads.extend(all.iter().map(|row| (TOTAL.to_owned(), spread_of(row))));
    }
    let line = |row: &[Cell], name: String| {
        let first = match spreads.get(&name) {
            Some(values) => Value::Estimate(known.base.rate(*values)),
            None => Value::Number(row[4].number() / divisor),
        };
        let mut cells = vec![first, share(row[4].number())];
        cells.extend(row[5..].iter().map(|cell| Value::Number(cell.number() / divisor)));
        cells.push(Value::Text(name));
        cells
    };
    let mut columns = vec![Column::of(*metric), Column::new("share", "share", Kind::Share)];
    columns.extend(metrics[1..].iter().map(|metric| Column::of(*metric)));
    columns.push(Column::new("name", by.title(), Kind::Text));
    let mut shown: Vec<Vec<Value>> = rows.iter().map(|row| line(row, row_name(row))).collect();
    if by.adds_up()
        && !is_peak
        && let Some(all) = all.first()
    {
        let rest = |index: usize| all[index].number() - rows.iter().map(|row| row[index].number()).sum::<f64>();
        let left: Vec<Cell> = (0..all.len())
            .map(|index| if index < 4 { all[index].clone() } else { Cell::Number(rest(index)) })
            .collect();
        if left[4..].iter().any(|cell| cell.number() > 0.5) {
            shown.push(line(&left, "(all others)".to_owned()));
        }
        shown.push(line(all, TOTAL.to_owned()));
    }
    let per = per.map_or_else(|| "in all".to_owned(), Per::shown);
    let title = format!("{}: {}, {per}, {}", selection.shown(), drawn.shown(), metric.about().title);
    let mut notes = Vec::new();
    notes.extend(drawn.is_sample().then(|| DRAWN.to_owned()));
    notes.extend(left_out(store, selection, *metric, drawn.of)?);
    if *by == By::FunctionWithCallees {
        notes.push("Each function counts with all that it calls, once in a stack: rows do not add up.".to_owned());
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
    let runs = Runs { selection: &whole, metric: Metric::Acquisitions, per: &Per::Run, buckets: None };
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

fn spread_of(row: &[Cell]) -> Values {
    Values { sum: row[4].number(), squares: row[5].number(), products: row[6].number() }
}

/// How it went, from version to version or from day to day.
///
/// # Errors
/// Nothing is selected, or the store does not answer.
pub fn trend(store: &mut dyn Store, question: &Question, label: Option<&str>) -> Result<Table, Error> {
    let Question { selection, metric, per, .. } = question;
    let per = per.as_ref().unwrap_or(&Per::Run);
    let buckets = label.map_or(Buckets::Day, Buckets::Label);
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
    let sites = Sites { selection, stacks: stacks.as_deref(), own: None, metrics: &[*metric], by: By::All };
    let found = store.ask(&sites.spreads(&runs, store.dialect()))?;
    let found: BTreeMap<String, Values> = found.iter().map(|row| (row[0].text(), spread_of(row))).collect();
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
        Column::of(*metric),
        Column::new("change", "change", Kind::ShareMore),
        Column::new("verdict", "", Kind::Text),
        Column::new("name", label.unwrap_or("day"), Kind::Text),
    ];
    let mut notes = vec![INTERVALS.to_owned()];
    let all = bases(store, &Runs { buckets: None, ..runs })?.into_values().next().unwrap_or_default();
    let drawn = Drawn::of(store, &runs, all)?;
    if drawn.is_sample() {
        notes.push(format!("{} count. {DRAWN}", drawn.shown()));
    }
    if skipped > 0 {
        notes.push(format!("{skipped} earlier rows are not shown; -n shows more."));
    }
    let only = selection.filter.as_ref().map_or(String::new(), |filter| format!(", stacks with {filter}"));
    Ok(Table { title: format!("{}: {} {}{only}", selection.shown(), about.title, per.shown()), columns, rows, notes })
}

const INTERVALS: &str =
    "± is a 95 % interval from how much runs differ; without it, there is one run or all are alike.";

/// By which share a rate changed, and whether that is more than runs differ.
fn changed(before: Estimate, after: Estimate) -> (Value, String) {
    let difference = after.minus(before);
    let share = if before.value > 0.0 { Value::Number(difference.value / before.value) } else { Value::Nothing };
    let verdict = match () {
        () if difference.value == 0.0 => "",
        () if !difference.low.is_finite() || !difference.high.is_finite() => "one run: noise is not known",
        () if difference.low > 0.0 => "more",
        () if difference.high < 0.0 => "less",
        () => "within noise",
    };
    (share, verdict.to_owned())
}

/// What changed between two parts of the store.
///
/// # Errors
/// Nothing is selected on a side, or the store does not answer.
pub fn compare(
    store: &mut dyn Store,
    question: &Question,
    before: &[(String, String)],
    after: &[(String, String)],
) -> Result<Table, Error> {
    let Question { selection, metric, by, per, limit } = question;
    let per = per.as_ref().unwrap_or(&Per::Run);
    let stacks = filtered(store, selection.filter.as_ref())?;
    let mut of_side = |labels: &[(String, String)]| {
        let selection = selection.with(labels);
        let runs = Runs { selection: &selection, metric: *metric, per, buckets: None };
        let known = only(store, &runs)?;
        let drawn = Drawn::of(store, &runs, known)?;
        let mut sites =
            Sites { selection: &selection, stacks: stacks.as_deref(), own: None, metrics: &[*metric], by: *by };
        let rows = store.ask(&sites.spreads(&runs, store.dialect()))?;
        let rows: BTreeMap<String, Values> = rows.iter().map(|row| (row_name(row), spread_of(row))).collect();
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
        if before == Values::default() {
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
    let names: std::collections::BTreeSet<&String> = rows.keys().chain(new_rows.keys()).collect();
    let of = |rows: &BTreeMap<String, Values>, name: &String| rows.get(name).copied().unwrap_or_default();
    let mut lines: Vec<_> = names.iter().map(|name| line(name, of(&rows, name), of(&new_rows, name))).collect();
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
        let others = Value::Text("(all others)".to_owned());
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
        Column::new("name", by.title(), Kind::Text),
    ];
    let title = format!("{} {}: {called} against {new_called}", metric.about().title, per.shown());
    let mut notes = vec![INTERVALS.to_owned()];
    if number > 20 && real > 0 {
        notes.push(format!(
            "{real} of {number} rows changed by more than noise; {} of {number} do so by chance.",
            (number as f64 * 0.05).round()
        ));
    }
    Ok(Table { title, columns, rows: shown, notes })
}
