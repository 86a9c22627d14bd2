//! An answer: columns and rows, and what a reader must know of them.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::titles::Titles;
use memtoll_text::format::Unit;

/// The column that says what rows are called, the last one.
pub const NAME: &str = "name";

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Metric(Unit),
    /// The difference of two such values.
    Change(Unit),
    /// A part of a whole, 0 to 1.
    Share,
    /// By how much more, as a part of what it was.
    ShareMore,
    /// A number of things.
    Number,
    /// A name.
    Text,
}

#[derive(Clone, Debug)]
pub struct Column {
    /// Its name in JSON and CSV.
    pub name: String,
    pub title: String,
    /// What it holds.
    pub kind: Kind,
}

impl Column {
    pub fn new(name: impl Into<String>, title: impl Into<String>, kind: Kind) -> Column {
        Column { name: name.into(), title: title.into(), kind }
    }

    pub fn of(metric: Metric) -> Column {
        let about = metric.about();
        Column::new(about.key, about.title, Kind::Metric(about.unit))
    }

    /// Of rows whose values are sums over processes, of parts of them if `of_parts`.
    pub fn of_rows(metric: Metric, of_parts: bool) -> Column {
        let titles = Titles { are_of_several: of_parts, end_early: false };
        Column { title: titles.in_rows(metric).to_owned(), ..Column::of(metric) }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A number with its interval.
    Estimate(Estimate),
    Text(String),
    /// It is not known.
    Nothing,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Table {
    /// What is shown, of which runs.
    pub title: String,
    /// Columns; the last one is what rows are called.
    pub columns: Vec<Column>,
    /// A value for each column.
    pub rows: Vec<Vec<Value>>,
    /// What a reader must know, each a sentence.
    pub notes: Vec<String>,
}
