//! What a question adds up: of which runs and rows, by what, and divided by what.

use crate::identity::Key;
use crate::selection::Selection;
use memtoll_analysis::metric::Metric;

/// What sums are grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Nothing.
    All,
    /// The function that leads each stack.
    Function,
    /// All functions that the report shows of a stack, each once.
    FunctionWithCallees,
    /// The name of that function, whatever loaded file it is in.
    Name,
    /// The names of all these functions, each once.
    NameWithCallees,
    /// The line that the report names.
    Line,
    /// The loaded file of that function.
    Module,
    /// The program.
    Process,
    /// A column of runs.
    Service,
    /// The machine.
    Host,
}

/// What values are divided by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Per {
    Run,
    /// A second of CPU time.
    Cpu,
    /// What a label counts, such as requests.
    Label(String),
}

/// Runs, and what they are weighed and grouped by.
pub struct Runs<'a> {
    /// Which ones.
    pub selection: &'a Selection,
    /// The metric that must be known of them.
    pub metric: Metric,
    /// What values are divided by.
    pub per: &'a Per,
    /// The label whose values make groups; `None`: days.
    pub buckets: Option<Buckets<'a>>,
}

/// What groups of runs are.
#[derive(Clone, Copy, Debug)]
pub enum Buckets<'a> {
    /// The values of a label.
    Label(&'a str),
    Day,
}

/// Which rows are added up, of which functions.
pub struct Sites<'a> {
    /// Which runs.
    pub selection: &'a Selection,
    /// Only runs of which this is known.
    pub per: &'a Per,
    /// Only stacks that show one of these functions.
    pub stacks: Option<&'a [Key]>,
    /// Only stacks that one of these functions leads.
    pub own: Option<&'a [Key]>,
    /// Whether services fold functions into their callers.
    pub folds: bool,
    /// What is added up; the first one decides which runs count.
    pub metrics: &'a [Metric],
    /// What sums are grouped by.
    pub by: By,
}
