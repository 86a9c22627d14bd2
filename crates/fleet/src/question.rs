//! The questions: top, trend, compare, runs; here, what they have in common.

mod compare;
mod runs;
mod top;
mod trend;

pub use compare::compare;
pub use runs::runs;
pub use top::top;
pub use trend::{trend, usual_label};

use crate::error::Error;
use crate::grouping::{By, Per, Runs};
use crate::identity::Key;
use crate::selection::Selection;
use crate::spread::{Base, Values};
use crate::statement::{self, VALUES};
use crate::store::{Cell, Store};
use crate::table::Value;
use memtoll_analysis::alike::Alike;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_text::format;
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
    /// The most rows.
    pub limit: usize,
}

impl By {
    /// What the rows are called.
    pub fn title(self) -> &'static str {
        match self {
            By::All => "all",
            By::Function | By::FunctionWithCallees | By::Name | By::NameWithCallees => "function",
            By::Line => "line",
            By::Module => "module",
            By::Process => "process",
            By::Service => "service",
            By::Host => "host",
        }
    }

    /// Whether the rows add up to the total.
    fn adds_up(self) -> bool {
        !matches!(self, By::FunctionWithCallees | By::NameWithCallees)
    }

    /// By what versions are compared: a program, and so the loaded file of its functions, may have a name of its own in each.
    fn of_versions(self) -> By {
        match self {
            By::Function => By::Name,
            By::FunctionWithCallees => By::NameWithCallees,
            other => other,
        }
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

/// The keys of functions whose name, whole name and module match.
pub(crate) fn matching(store: &mut dyn Store, admits: impl Fn([&str; 3]) -> bool) -> Result<Vec<Key>, Error> {
    let mut rows = store.ask(&statement::functions(store.dialect()))?;
    rows.retain(|row| admits([&row[1].text(), &row[2].text(), &row[3].text()]));
    Ok(keys(&rows))
}

/// How many functions each service folds into their callers.
pub(crate) fn folded(store: &mut dyn Store) -> Result<BTreeMap<String, u64>, Error> {
    let rows = store.ask(&statement::wrappers())?;
    Ok(rows.iter().map(|row| (row[0].text(), row[1].number() as u64)).collect())
}

fn keys(rows: &[Vec<Cell>]) -> Vec<Key> {
    rows.iter().filter_map(|row| row[0].text().parse().ok()).collect()
}

/// What functions of a store are called, as far as they share their names.
fn alike(store: &mut dyn Store) -> Result<Alike, Error> {
    let rows = store.ask(&statement::overloads(store.dialect()))?;
    let functions: Vec<String> = rows.iter().map(|row| row[0].text()).collect();
    Ok(Alike::among(functions.iter().map(String::as_str)))
}

fn filtered(store: &mut dyn Store, filter: Option<&Regex>) -> Result<Option<Vec<Key>>, Error> {
    let Some(filter) = filter else { return Ok(None) };
    let alike = alike(store)?;
    let fits = |[name, whole, module]: [&str; 3]| {
        let longer = alike.longer(whole);
        let shown = longer.as_deref().unwrap_or(name);
        [name, module, shown, &function_name(shown, module)].iter().any(|text| filter.is_match(text))
    };
    let keys = matching(store, fits)?;
    if keys.is_empty() {
        return Err(Error::Question(format!("no function or module in the store matches \"{filter}\"")));
    }
    Ok(Some(keys))
}

/// One run, or why there is none.
fn only(store: &mut dyn Store, runs: &Runs) -> Result<Known, Error> {
    match bases(store, runs)?.into_values().next() {
        Some(known) => Ok(known),
        None => Err(none(store, runs)),
    }
}

/// Why no run counts, and what there is to choose from.
fn none(store: &mut dyn Store, runs: &Runs) -> Error {
    let mut why = match runs.per {
        Per::Label(label) => format!("no run of {} has a number as its label {label}", runs.selection.shown()),
        Per::Cpu => format!("no run of {} has a CPU time that is known", runs.selection.shown()),
        Per::Run => format!("no run of the store is one of {}", runs.selection.shown()),
    };
    if let Some(seen) = crate::columns::seen(runs.metric) {
        why += &format!(" and knows {} (column {seen})", runs.metric.about().title);
    }
    let mut known = Vec::new();
    for select in statement::labels() {
        let rows = store.ask(&select).unwrap_or_default();
        known.extend(rows.iter().map(|row| format!("{}={}", row[0].text(), row[1].text())));
    }
    match known.is_empty() {
        true => Error::Question(format!("{why}; it is empty")),
        false => Error::Question(format!("{why}; there is {}", known.join(", "))),
    }
}

/// The last row of an answer.
pub(crate) const TOTAL: &str = "(total)";
/// The row before it: what is not shown.
pub(crate) const OTHERS: &str = "(all others)";

const DRAWN: &str = "The runs are a random sample; ± contains the sampling error.";

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
fn row_name(row: &[Cell], alike: &Alike) -> String {
    let [name, whole, module, file, line] = [0, 1, 2, 3, 4].map(|column| row[column].text());
    let name = alike.longer(&whole).unwrap_or(name);
    let place = match (file.as_str(), line.as_str()) {
        ("", _) => String::new(),
        (file, "0") => format!("  {file}"),
        (file, line) => format!("  {file}:{line}"),
    };
    function_name(&format!("{name}{place}"), &module)
}

/// A function with its loaded file, which tells it apart from others of its name.
fn function_name(name: &str, module: &str) -> String {
    if module.is_empty() || is_address(name) { name.to_owned() } else { format!("{name}  [{module}]") }
}

/// Whether a function has no name but its file's and the address in it, such as `git+0x1f2c`.
fn is_address(function: &str) -> bool {
    let digits = function.rsplit_once("+0x").map_or("", |(_, digits)| digits);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Says how functions without names get them, if rows of an answer are such.
fn unnamed(rows: &[Vec<Value>]) -> Option<String> {
    let is_unnamed = |row: &Vec<Value>| match row.last() {
        Some(Value::Text(name)) => is_address(name),
        _ => false,
    };
    let count = rows.iter().filter(|row| is_unnamed(row)).count();
    (count > 0).then(|| {
        let functions = format::counted(count as u64, "function");
        format!(
            "{functions} shown as addresses, from files without symbols. Run memtoll symbolize on the recordings and add \
             them again: names replace addresses."
        )
    })
}

pub(crate) fn spread_of(row: &[Cell]) -> Values {
    let [sum, squares, products] = [0, 1, 2].map(|value| row[VALUES + value].number());
    Values { sum, squares, products }
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
