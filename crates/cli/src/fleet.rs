//! `memtoll fleet`

mod add;
mod check;
mod parse;
mod retention;

use crate::exit::{self, Code};
use crate::named_values::parser;
use crate::output::Printing;
use add::Add;
use check::Check;
use clap::ValueHint;
use clap::builder::TypedValueParser;
use memtoll_analysis::metric::Metric;
use memtoll_fleet::Error;
use memtoll_fleet::grouping::{By, Per};
use memtoll_fleet::open::open;
use memtoll_fleet::question::{Question, compare, runs, top, trend, usual_label};
use memtoll_fleet::selection::Selection;
use memtoll_fleet::store::{Purpose, Store};
use memtoll_fleet::table::Table;
use parse::{parse_day, parse_label, parse_metric, parse_per};
use regex::Regex;
use retention::{Forget, RollUp, Schema};

/// Query many recordings at once: of all machines, services and versions
///
/// Add recordings to a store, which is a file or a ClickHouse database. Then ask it what costs most, how that changed from
/// version to version, and what the last release changed.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Add(Add),
    Top(Top),
    Trend(Trend),
    Compare(Compare),
    Runs(Runs),
    Check(Check),
    RollUp(RollUp),
    Forget(Forget),
    Schema(Schema),
}

#[derive(clap::Args)]
struct StoreArgument {
    /// The store: a file, or clickhouse://[USER@]HOST[:PORT]/DATABASE (clickhouses:// for HTTPS)
    #[arg(long, value_name = "URL", default_value = "fleet.db", value_hint = ValueHint::FilePath)]
    store: String,
}

/// What all questions have.
#[derive(clap::Args)]
struct Asked {
    #[command(flatten)]
    store: StoreArgument,

    /// Count only runs with this label, such as service=api or version=1.5 (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_label)]
    r#where: Vec<(String, String)>,

    /// Count only runs that began on this day or later (UTC), such as 2026-11-01, or at most this long ago, such as 7d or 12h
    #[arg(long, value_name = "DAY|AGE", value_parser = parse_day)]
    since: Option<i64>,

    /// Count only runs that began before this day or time
    #[arg(long, value_name = "DAY|AGE", value_parser = parse_day)]
    until: Option<i64>,

    /// Use a random sample of at most N runs; results carry an interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    runs: Option<u32>,
}

/// What questions about stacks have.
#[derive(clap::Args)]
struct OfStacks {
    /// Count only stacks in which a function or module matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<Regex>,

    /// Count only processes that run this program (repeatable)
    #[arg(long, value_name = "NAME")]
    process: Vec<String>,

    /// Show this figure, largest first: allocations, bytes, peak, cost, allocator, faults, fault-time, zeroing, mapping, waiting or reading
    #[arg(long, value_name = "METRIC", default_value = "cost", value_parser = parse_metric)]
    metric: Metric,

    /// Divide by this: run, cpu (seconds of CPU) or the name of a label that is a number, such as requests
    #[arg(long, value_name = "WHAT", value_parser = parse_per)]
    per: Option<Per>,

    /// Show this many rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// What top, trend, compare and runs have.
#[derive(clap::Args)]
struct Asking {
    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    stacks: OfStacks,

    #[command(flatten)]
    printing: Printing<Format>,
}

/// Parses what rows are grouped by.
fn group_parser() -> impl TypedValueParser<Value = By> {
    let groups = [By::Function, By::Line, By::Module, By::Process, By::Service, By::Host];
    parser(groups.map(|by| (by, by.title(), "")).into())
}

#[derive(clap::Args)]
struct Grouping {
    /// Group rows by this
    #[arg(long, value_parser = group_parser(), default_value = "function", value_name = "WHAT")]
    group: By,

    /// Include what a function calls (counted once per stack)
    #[arg(long, conflicts_with = "group")]
    with_callees: bool,
}

/// Show what costs most in all runs
#[derive(clap::Args)]
struct Top {
    #[command(flatten)]
    asking: Asking,

    #[command(flatten)]
    grouping: Grouping,
}

/// Show how a metric changes from version to version or from day to day
#[derive(clap::Args)]
struct Trend {
    #[command(flatten)]
    asking: Asking,

    /// Show a row for each value of this label [default: version, or each day where no run has a version]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    /// Show a row for each day
    #[arg(long, conflicts_with = "label")]
    by_day: bool,
}

/// Show what changed between two versions, or any two labels
#[derive(clap::Args)]
struct Compare {
    #[command(flatten)]
    asking: Asking,

    #[command(flatten)]
    grouping: Grouping,

    /// The runs before the change, such as version=1.4 (repeatable: all must fit)
    #[arg(long, value_name = "NAME=VALUE", required = true, value_parser = parse_label)]
    before: Vec<(String, String)>,

    /// The runs after it
    #[arg(long, value_name = "NAME=VALUE", required = true, value_parser = parse_label)]
    after: Vec<(String, String)>,
}

/// List the runs that have most of a metric, and where their recordings are
#[derive(clap::Args)]
struct Runs {
    #[command(flatten)]
    asking: Asking,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Csv,
    Markdown,
}

pub fn run(arguments: &Arguments) -> Code {
    match &arguments.command {
        Command::Add(add) => add.run(),
        Command::Top(top) => top.run(),
        Command::Trend(trend) => trend.run(),
        Command::Compare(compare) => compare.run(),
        Command::Runs(runs) => runs.run(),
        Command::Check(check) => check.run(),
        Command::RollUp(roll_up) => roll_up.run(),
        Command::Forget(forget) => forget.run(),
        Command::Schema(schema) => schema.run(),
    }
}

fn failed(error: &Error) -> Code {
    let code = match error {
        Error::Question(_) => Code::NotFound,
        Error::Missing(_) | Error::Address { .. } | Error::NotAStore(_) | Error::Schema { .. } => Code::Usage,
        _ => Code::Failed,
    };
    exit::fail(error, code)
}

impl Asked {
    fn open(&self) -> Result<Box<dyn Store>, Error> {
        open(&self.store.store, Purpose::Ask)
    }

    fn selection(&self) -> Selection {
        Selection {
            labels: self.r#where.clone(),
            since_ns: self.since,
            until_ns: self.until,
            sample: self.runs.map(u64::from),
            ..Selection::default()
        }
    }
}

impl Grouping {
    fn by(&self) -> By {
        if self.with_callees { By::FunctionWithCallees } else { self.group }
    }
}

impl Asking {
    /// Asks, and prints the answer.
    fn answer(&self, by: By, ask: impl FnOnce(&mut dyn Store, &Question) -> Result<Table, Error>) -> Code {
        let Asking { asked, stacks, printing } = self;
        let (filter, processes) = (stacks.filter.clone(), stacks.process.clone());
        let selection = Selection { filter, processes, ..asked.selection() };
        let question = Question { selection, metric: stacks.metric, by, per: stacks.per.clone(), limit: stacks.limit };
        let table = match asked.open().and_then(|mut store| ask(store.as_mut(), &question)) {
            Ok(table) => table,
            Err(error) => return failed(&error),
        };
        let screen = printing.screen();
        let text = match printing.format {
            Format::Text => Ok(table.text(screen.width)),
            Format::Markdown => Ok(table.markdown()),
            Format::Json => table.json().map_err(|error| error.to_string()),
            Format::Csv => table.csv().map_err(|error| error.to_string()),
        };
        match text {
            Ok(text) => screen.print(&text),
            Err(error) => exit::fail(error, Code::Failed),
        }
    }
}

impl Top {
    fn run(&self) -> Code {
        self.asking.answer(self.grouping.by(), top)
    }
}

impl Trend {
    fn run(&self) -> Code {
        self.asking.answer(By::All, |store, question| {
            let label = match self.label.as_deref() {
                None if !self.by_day => usual_label(store, question)?,
                given => given,
            };
            trend(store, question, label)
        })
    }
}

impl Runs {
    fn run(&self) -> Code {
        self.asking.answer(By::All, runs)
    }
}

impl Compare {
    fn run(&self) -> Code {
        let sides = |store: &mut dyn Store, question: &Question| compare(store, question, &self.before, &self.after);
        self.asking.answer(self.grouping.by(), sides)
    }
}
