//! Budgets over the runs of a store: the mean of a run is held against each limit, with the spread between runs.

use crate::columns::METRICS;
use crate::error::Error;
use crate::grouping::{By, Per, Runs, Sites};
use crate::question::{bases, folded, matching, spread_of};
use crate::rollup::rolled;
use crate::run_figures::FIGURES;
use crate::run_means::Mean;
use crate::selection::Selection;
use crate::spread::{Base, Values};
use crate::statement;
use crate::store::Store;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::figures::Figure;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::metric::Metric;
use memtoll_check::budget::{Budget, Entry, What};
use memtoll_check::measured::{Value, fits_function};
use memtoll_check::metric::{Kind, Metric as Limited};
use memtoll_check::nearest;
use memtoll_check::unknown::Unknown;
use memtoll_check::verdict::{Judged, judge_values, of_one_run};

/// Why a store does not know what an entry limits.
#[derive(Debug, thiserror::Error)]
enum NotKnown {
    #[error("no run of {runs} knows {title}")]
    Metric { runs: String, title: &'static str },
    #[error("no run of {runs} has costs of a program \"{name}\"")]
    Program { runs: String, name: String },
    #[error("a store has no such metric; it has {there}. memtoll check reads it from recordings")]
    NoColumn { there: String },
    #[error("a store knows nothing of a {0}; memtoll check reads it from recordings")]
    NoScope(&'static str),
}

impl From<NotKnown> for Unknown {
    fn from(why: NotKnown) -> Unknown {
        Unknown::Elsewhere(Box::new(why))
    }
}

/// Holds the runs of `selection` against a budget; `baseline`: the runs that relative limits are compared with.
pub fn check(
    store: &mut dyn Store,
    budget: &Budget,
    selection: &Selection,
    baseline: Option<&Selection>,
) -> Result<Vec<Judged>, Error> {
    let mut judged = Vec::with_capacity(budget.entries.len());
    for entry in &budget.entries {
        let now = value(store, entry, selection)?;
        let before = baseline.map(|baseline| value(store, entry, baseline)).transpose()?;
        let note = now.as_ref().ok().and_then(|value| value.note.clone());
        let estimate = |value: Result<Value, Unknown>| value.map(|value| value.estimate);
        let one = judge_values(entry, estimate(now), before.map(estimate));
        judged.push(Judged { note: one.note.or(note), ..one });
    }
    Ok(judged)
}

/// What runs have of what an entry limits, or why that is unknown.
fn value(store: &mut dyn Store, entry: &Entry, selection: &Selection) -> Result<Result<Value, Unknown>, Error> {
    if let Some(figure) = figure(entry) {
        let known = Mean::of(store, selection, figure)?;
        return Ok(known.map_or_else(
            || Err(NotKnown::Metric { runs: selection.shown(), title: figure.about().title }.into()),
            |mean| Ok(Value { estimate: of_runs(entry, mean.runs as f64, mean.value), note: None }),
        ));
    }
    let metric = match metric(entry) {
        Ok(metric) => metric,
        Err(why) => return Ok(Err(why.into())),
    };
    let name = &entry.scope.name;
    let functions = match entry.scope.kind {
        Kind::Function => Some(matching(store, |[function, ..]| fits_function(name, function))?),
        _ => None,
    };
    let mut selection = selection.clone();
    if entry.scope.kind == Kind::Process {
        selection.processes = vec![name.clone()];
    }
    if functions.is_none() {
        selection = rolled(store, &selection, By::All, &Per::Run, None)?;
    }
    let runs = Runs { selection: &selection, metric, per: &Per::Run, buckets: None };
    let base = bases(store, &runs)?.into_values().next().unwrap_or_default().base;
    if base == Base::default() {
        return Ok(Err(NotKnown::Metric { runs: selection.shown(), title: metric.about().title }.into()));
    }
    let (stacks, own) = match (functions.as_deref(), entry.scope.with_callees) {
        (Some(keys), true) => (Some(keys), None),
        (keys, _) => (None, keys),
    };
    let folds = own.is_some() && !folded(store)?.is_empty();
    let metrics = &[metric];
    let sites = Sites { selection: &selection, per: &Per::Run, stacks, own, folds, metrics, by: By::All };
    let rows = store.ask(&sites.spreads(&runs, store.dialect()))?;
    if rows.is_empty() && entry.scope.kind == Kind::Process {
        return Ok(Err(NotKnown::Program { runs: selection.shown(), name: name.clone() }.into()));
    }
    let values = rows.first().map_or(Values::default(), |row| spread_of(row));
    let estimate = of_runs(entry, base.runs, base.rate(values));
    let is_nobody = functions.is_some_and(|functions| functions.is_empty());
    let note = is_nobody.then(|| format!("no call site of a {}", entry.scope.shown()));
    if is_nobody && !entry.limit.is_nothing() {
        let known = store.ask(&statement::functions(store.dialect()))?;
        let known: Vec<String> = known.iter().map(|row| row[1].text()).collect();
        let nearest = nearest::hint(name, known.iter().map(|function| qualified_name(function)));
        return Ok(Err(Unknown::NoMatch { of: entry.scope.shown(), nearest }));
    }
    Ok(Ok(Value { estimate, note }))
}

/// The mean of `runs`. A single run has the spread that is usual for the metric.
fn of_runs(entry: &Entry, runs: f64, mean: Estimate) -> Estimate {
    if runs > 1.0 { mean } else { of_one_run(entry, mean.value) }
}

/// The figure of whole runs that an entry limits.
fn figure(entry: &Entry) -> Option<Figure> {
    match (entry.scope.kind, entry.what) {
        (Kind::Run, What::Metric(limited)) => FIGURES.into_iter().find(|figure| Limited::Figure(*figure) == limited),
        _ => None,
    }
}

/// The metric of a row that an entry limits.
fn metric(entry: &Entry) -> Result<Metric, NotKnown> {
    let known = || {
        let figures = FIGURES.map(|figure| format!("{} of [run]", figure.about().name));
        METRICS.map(|metric| metric.about().name.to_owned()).into_iter().chain(figures).collect::<Vec<_>>().join(", ")
    };
    match (entry.scope.kind, entry.what) {
        (Kind::Run | Kind::Function | Kind::Process, What::Metric(Limited::Sum(metric)))
            if METRICS.contains(&metric) =>
        {
            Ok(metric)
        }
        (Kind::Run | Kind::Function | Kind::Process, _) => Err(NotKnown::NoColumn { there: known() }),
        (kind, _) => Err(NotKnown::NoScope(kind.key())),
    }
}
