//! `memtoll fleet`

mod parse;

use crate::exit;
use crate::names::NameArguments;
use crate::output::{ColorChoice, Printing, Screen};
use clap::ValueHint;
use memtoll_analysis::metric::Metric;
use memtoll_check::budget::Budget;
use memtoll_check::measured::rules;
use memtoll_check::verdict::{Verdict, overall};
use memtoll_fleet::Error;
use memtoll_fleet::cluster::{tables_of, tables_over};
use memtoll_fleet::question::{Question, compare, top, trend};
use memtoll_fleet::run::{Run, Wish};
use memtoll_fleet::selection::Selection;
use memtoll_fleet::statement::{By, Per};
use memtoll_fleet::store::{Added, Purpose, Store, day, open};
use memtoll_fleet::table::Table;
use memtoll_query::format::counted;
use parse::{now_ns, parse_day, parse_label, parse_metric, parse_name, parse_per, parse_window};
use regex::Regex;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Ask many recordings at once: of all machines, services and versions
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
    Check(Check),
    Forget(Forget),
    Schema(Schema),
}

#[derive(clap::Args)]
struct StoreArgument {
    /// The store: a file, or clickhouse://[USER@]HOST[:PORT]/DATABASE (clickhouses:// for HTTPS)
    #[arg(long, value_name = "URL", default_value = "fleet.db", value_hint = ValueHint::FilePath)]
    store: String,
}

/// Add recordings to a store
///
/// Each run counts once, however often it is added. If a recording is added again after memtoll symbolize, its better names
/// replace those in the store.
#[derive(clap::Args)]
struct Add {
    /// The recordings
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    store: StoreArgument,

    /// Give the runs a label, such as service=api or version=1.5 (repeatable) [default service: the program's name]
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_label)]
    label: Vec<(String, String)>,

    /// Split each run into windows of this length, such as 60s
    #[arg(long, value_name = "TIME", value_parser = parse_window)]
    window: Option<u64>,

    /// Leave this out of the store (repeatable)
    #[arg(long, value_enum, value_name = "WHAT")]
    without: Vec<Private>,

    #[command(flatten)]
    names: NameArguments,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Private {
    /// The name of the machine
    Host,
    /// The paths of source files
    Paths,
}

/// What all questions have.
#[derive(clap::Args)]
struct Asked {
    #[command(flatten)]
    store: StoreArgument,

    /// Count only runs with this label, such as service=api or version=1.5 (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_label)]
    r#where: Vec<(String, String)>,

    /// Count only runs that began on this day or later (UTC), such as 2026-11-01, or at most so long ago, such as 7d or 12h
    #[arg(long, value_name = "DAY|AGE", value_parser = parse_day)]
    since: Option<i64>,

    /// Count only runs that began before this day or time
    #[arg(long, value_name = "DAY|AGE", value_parser = parse_day)]
    until: Option<i64>,

    /// Count at most N runs, drawn by chance: an answer in time from a large store, with an interval
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

    /// The metric: allocations, bytes, peak, cost, allocator, faults, fault-time, zeroing, mapping, waiting or reading
    #[arg(long, value_name = "METRIC", default_value = "cost", value_parser = parse_metric)]
    sort: Metric,

    /// Divide by this: run, cpu (seconds of CPU) or the name of a label that is a number, such as requests
    #[arg(long, value_name = "WHAT", value_parser = parse_per)]
    per: Option<Per>,

    /// Show this many rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Group {
    Function,
    Line,
    Module,
    Process,
    Service,
    Host,
}

#[derive(clap::Args)]
struct Grouping {
    /// Group rows by this
    #[arg(long, value_enum, default_value = "function", value_name = "WHAT")]
    group: Group,

    /// Count what a function calls, too, once in a stack
    #[arg(long, conflicts_with = "group")]
    with_callees: bool,
}

/// Show what costs most in all runs
#[derive(clap::Args)]
struct Top {
    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    stacks: OfStacks,

    #[command(flatten)]
    grouping: Grouping,

    #[command(flatten)]
    printing: Printing<Format>,
}

/// Show how a metric went, from version to version or from day to day
#[derive(clap::Args)]
struct Trend {
    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    stacks: OfStacks,

    /// Show a row for each value of this label, such as version [default: for each day]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    #[command(flatten)]
    printing: Printing<Format>,
}

/// Show what changed between two versions, or any two labels
#[derive(clap::Args)]
struct Compare {
    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    stacks: OfStacks,

    #[command(flatten)]
    grouping: Grouping,

    /// The runs before the change, such as version=1.4 (repeatable: all must fit)
    #[arg(long, value_name = "NAME=VALUE", required = true, value_parser = parse_label)]
    before: Vec<(String, String)>,

    /// The runs after it
    #[arg(long, value_name = "NAME=VALUE", required = true, value_parser = parse_label)]
    after: Vec<(String, String)>,

    #[command(flatten)]
    printing: Printing<Format>,
}

/// Hold the runs of a store against a budget
///
/// Limits are for the mean run; how much runs differ decides what is noise. Exit codes are those of memtoll check.
#[derive(clap::Args)]
struct Check {
    #[command(flatten)]
    asked: Asked,

    /// The budget; memtoll budget writes a first one
    #[arg(long, value_name = "FILE", default_value = "memtoll.toml", value_hint = ValueHint::FilePath)]
    budget: PathBuf,

    /// Compare with the runs that have this label instead of the value that --where gives it, such as version=1.4 (repeatable:
    /// all must fit)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_label)]
    baseline: Vec<(String, String)>,

    /// Show the limits that are kept, too
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    printing: Printing<CheckFormat>,
}

/// Remove old runs from a store
///
/// Run it once a day, so that the store stays as fast as it is.
#[derive(clap::Args)]
struct Forget {
    #[command(flatten)]
    store: StoreArgument,

    /// Remove the runs that began before this day (UTC), such as 2026-08-01, or longer ago, such as 90d; only whole days
    #[arg(long, value_name = "DAY|AGE", value_parser = parse_day)]
    until: i64,
}

/// Print the SQL that makes a store in ClickHouse
///
/// memtoll fleet add makes the tables itself. This is for servers on which it may not, and for clusters: make the tables on
/// each shard, and on one of them the tables over all shards, in a database of its own.
#[derive(clap::Args)]
struct Schema {
    /// The database
    #[arg(value_name = "DATABASE", value_parser = parse_name)]
    database: String,

    /// Make tables over all shards of this cluster, as the server's configuration calls it
    #[arg(long, value_name = "CLUSTER", requires = "of", value_parser = parse_name)]
    cluster: Option<String>,

    /// The database that the shards have
    #[arg(long, value_name = "DATABASE", requires = "cluster", value_parser = parse_name)]
    of: Option<String>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Csv,
    Markdown,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum CheckFormat {
    Text,
    Json,
    /// A test case for each limit, as CI servers read them
    Junit,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.command {
        Command::Add(add) => add.run(),
        Command::Top(top) => top.run(),
        Command::Trend(trend) => trend.run(),
        Command::Compare(compare) => compare.run(),
        Command::Check(check) => check.run(),
        Command::Forget(forget) => forget.run(),
        Command::Schema(schema) => schema.run(),
    }
}

fn failed(error: &Error) -> ExitCode {
    let code = if matches!(error, Error::Question(_)) { exit::NOTHING } else { exit::BAD_INPUT };
    exit::fail(error, code)
}

/// Says why files were not added, and what to do then.
fn not_added(error: &Error) -> ExitCode {
    match error {
        Error::Away { .. } | Error::Full { .. } => {
            let again = "add the files again: those that are in the store already count once";
            exit::fail(format!("{error}; {again}"), exit::BAD_INPUT)
        }
        error => failed(error),
    }
}

/// A clock may be ahead by this much before it is told.
const AHEAD_NS: i64 = 60_000_000_000;
/// Runs that are held in memory at a time.
const TOGETHER: usize = 32;

impl Add {
    fn run(&self) -> ExitCode {
        let mut store = match open(&self.store.store, Purpose::Add) {
            Ok(store) => store,
            Err(error) => return not_added(&error),
        };
        let (mut new, mut known, mut bad) = (0, 0, 0);
        for files in self.files.chunks(TOGETHER) {
            let runs: Vec<Run> = files.iter().filter_map(|file| self.read(file)).collect();
            bad += files.len() - runs.len();
            match store.add(&runs) {
                Ok(added) => {
                    new += added.iter().filter(|added| **added == Added::New).count();
                    known += added.iter().filter(|added| **added == Added::Known).count();
                }
                Err(error) => return not_added(&error),
            }
        }
        let already = if known > 0 { format!("; {known} were there already, and count once") } else { String::new() };
        exit::say(format!("added {new} of {} runs to {}{already}", self.files.len(), self.store.store));
        if bad > 0 { ExitCode::from(exit::BAD_INPUT) } else { ExitCode::SUCCESS }
    }

    /// A recording as a run; what is wrong is said.
    fn read(&self, file: &Path) -> Option<Run> {
        let wish = Wish {
            labels: self.label.iter().cloned().collect(),
            window_ns: self.window,
            without_host: self.without.contains(&Private::Host),
            without_paths: self.without.contains(&Private::Paths),
        };
        let recording = match self.names.open(file) {
            Ok(recording) => recording,
            Err(error) => {
                exit::say(error);
                return None;
            }
        };
        let mut run = Run::of(&recording, &wish);
        if let Some(damage) = run.damage.first() {
            exit::say(format!("{} is not added: {damage}", file.display()));
            return None;
        }
        let now = now_ns();
        if run.start_ns > now + AHEAD_NS {
            exit::say(format!(
                "{}: by its machine's clock, it begins {} s from now; it counts as of now",
                file.display(),
                (run.start_ns - now) / 1_000_000_000
            ));
            run.start_ns = now;
        }
        Some(run)
    }
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
        match self.group {
            _ if self.with_callees => By::FunctionWithCallees,
            Group::Function => By::Function,
            Group::Line => By::Line,
            Group::Module => By::Module,
            Group::Process => By::Process,
            Group::Service => By::Service,
            Group::Host => By::Host,
        }
    }
}

impl OfStacks {
    fn question(&self, asked: &Asked, by: By) -> Question {
        let selection = Selection { filter: self.filter.clone(), processes: self.process.clone(), ..asked.selection() };
        Question { selection, metric: self.sort, by, per: self.per.clone(), limit: self.limit }
    }
}

/// Asks, and prints the answer.
fn answer(
    asked: &Asked,
    printing: &Printing<Format>,
    ask: impl FnOnce(&mut dyn Store) -> Result<Table, Error>,
) -> ExitCode {
    let table = match asked.open().and_then(|mut store| ask(store.as_mut())) {
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
        Err(error) => exit::fail(error, exit::BAD_INPUT),
    }
}

impl Top {
    fn run(&self) -> ExitCode {
        let question = self.stacks.question(&self.asked, self.grouping.by());
        answer(&self.asked, &self.printing, |store| top(store, &question))
    }
}

impl Trend {
    fn run(&self) -> ExitCode {
        let question = self.stacks.question(&self.asked, By::All);
        answer(&self.asked, &self.printing, |store| trend(store, &question, self.label.as_deref()))
    }
}

impl Compare {
    fn run(&self) -> ExitCode {
        let question = self.stacks.question(&self.asked, self.grouping.by());
        answer(&self.asked, &self.printing, |store| compare(store, &question, &self.before, &self.after))
    }
}

impl Forget {
    fn run(&self) -> ExitCode {
        let until = day(self.until);
        match open(&self.store.store, Purpose::Forget).and_then(|mut store| store.forget(&until)) {
            Ok(runs) => {
                exit::say(format!("removed {} that began before {until}", counted(runs, "run")));
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error),
        }
    }
}

impl Schema {
    fn run(&self) -> ExitCode {
        let statements = match (&self.cluster, &self.of) {
            (Some(cluster), Some(of)) => tables_over(&self.database, cluster, of),
            _ => tables_of(&self.database),
        };
        let text: String = statements.iter().map(|statement| format!("{statement};\n")).collect();
        Screen::stdout(ColorChoice::Never).print(&text)
    }
}

impl Check {
    fn run(&self) -> ExitCode {
        let budget = match Budget::read(&self.budget, &rules()) {
            Ok(budget) => budget.split().1, // a store knows nothing of single tests
            Err(error) => return exit::fail(error, exit::CANNOT_SAY),
        };
        let selection = self.asked.selection();
        let is_replaced = |name: &str| self.baseline.iter().any(|(other, _)| other == name);
        let kept = self.asked.r#where.iter().filter(|(name, _)| !is_replaced(name)).cloned();
        let labels = kept.chain(self.baseline.clone()).collect();
        let baseline = Selection { labels, sample: selection.sample, ..Selection::default() };
        let baseline = (!self.baseline.is_empty()).then_some(&baseline);
        let judged = self
            .asked
            .open()
            .and_then(|mut store| memtoll_fleet::check::check(store.as_mut(), &budget, &selection, baseline));
        let all = match judged {
            Ok(all) => all,
            Err(error) => return exit::fail(error, exit::CANNOT_SAY),
        };
        let (screen, name) = (self.printing.screen(), self.budget.display().to_string());
        let text = match self.printing.format {
            CheckFormat::Text => Ok(memtoll_check::text::render(&all, &name, self.verbose, screen.width)),
            CheckFormat::Json => memtoll_check::json::render(&all).map_err(|error| error.to_string()),
            CheckFormat::Junit => memtoll_check::junit::render(&all, &name).map_err(|error| error.to_string()),
        };
        let printed = match text {
            Ok(text) => screen.print(&text),
            Err(error) => return exit::fail(error, exit::CANNOT_SAY),
        };
        match overall(&all) {
            Verdict::Broken => ExitCode::from(exit::BUDGET_BROKEN),
            Verdict::Unknown => ExitCode::from(exit::CANNOT_SAY),
            Verdict::Kept | Verdict::WithinNoise => printed,
        }
    }
}
