//! What an engine does for a store.

use crate::dialect::Dialect;
use crate::error::Error;
use crate::run::Run;
use crate::sql::{Select, Sql};

/// What became of a run that was to be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Added {
    /// It is in the store now.
    New,
    /// It was there before, and counts once.
    Known,
}

/// A value of an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    Text(String),
    /// A number.
    Number(f64),
}

impl Cell {
    pub fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Number(number) => number.to_string(),
        }
    }

    /// As a number; a text that is none is 0.
    pub fn number(&self) -> f64 {
        match self {
            Cell::Text(text) => text.parse().unwrap_or(0.0),
            Cell::Number(number) => *number,
        }
    }
}

/// Rows of an answer.
pub type Rows = Vec<Vec<Cell>>;

/// A database with the tables of [`crate::schema`].
pub trait Store: Send {
    /// Its engine's words.
    fn dialect(&self) -> &'static Dialect;

    /// Adds runs; each counts once, whatever happens meanwhile, and however often it is added.
    fn add(&mut self, runs: &[Run]) -> Result<Vec<Added>, Error>;

    /// Removes the runs that began before a day, such as `2026-11-01`; how many these were. Call stacks and names stay.
    fn forget(&mut self, until: &str) -> Result<u64, Error>;

    /// Adds rows by a statement, which is never repeated: if the connection breaks, it is unknown whether they are there.
    fn change(&mut self, sql: &Sql) -> Result<(), Error>;

    /// Answers a statement. Each row has as many cells as the statement has columns.
    fn ask(&mut self, select: &Select) -> Result<Rows, Error>;
}

/// What a store is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To add runs: where there is none, it is made.
    Add,
    Ask,
    /// To remove runs.
    Forget,
}
