//! `memtoll check`

mod each_test;

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code};
use crate::output::{Printing, Screen};
use clap::ValueHint;
use memtoll_check::budget::Budget;
use memtoll_check::measured::Measured;
use memtoll_check::verdict::{Judged, Verdict, judge, overall};
use memtoll_check::{annotations, json, junit, sarif, text};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Check recordings against a memory budget
///
/// Says which limits are broken, which lines broke them, and what changed since the baseline. Give several recordings of
/// the same program to tell changes of its times from noise.
///
/// With --each-test, runs each test of a test program alone, records it, lists the tests that allocate most, and checks them
/// against the limits that the budget has for tests.
#[derive(clap::Args)]
#[command(override_usage = "memtoll check [OPTIONS] FILE...\n       \
    memtoll check --each-test [OPTIONS] -- TEST-PROGRAM [ARGS]...")]
pub struct Arguments {
    /// The recordings
    #[arg(value_name = "FILE", required_unless_present = "each_test", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Record each test of a program alone: of GoogleTest, Catch2, Rust's test harness, cargo test, or ctest
    #[arg(long, requires = "command", conflicts_with_all = ["files", "baseline"])]
    each_test: bool,

    /// The test program and its arguments; or cargo test, or ctest
    #[arg(last = true, requires = "each_test", value_name = "TEST-PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,

    /// With --each-test: list at most N tests
    #[arg(long, value_name = "N", default_value_t = 10, requires = "each_test")]
    top: usize,

    /// With --each-test: keep the recordings in this folder
    #[arg(long, value_name = "DIR", requires = "each_test", value_hint = ValueHint::DirPath)]
    keep: Option<PathBuf>,

    /// The budget; memtoll budget writes a first one [default: memtoll.toml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    budget: Option<PathBuf>,

    /// Compare with this recording instead of the budget's baseline (repeatable)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    baseline: Vec<PathBuf>,

    /// Show the limits that are kept, too
    #[arg(short, long)]
    verbose: bool,

    /// Write paths in sarif and github relative to this folder
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    root: PathBuf,

    #[command(flatten)]
    names: NameArguments,

    #[command(flatten)]
    printing: Printing<Format>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    /// A test case for each limit, as CI servers read them
    Junit,
    /// Results for code scanning
    Sarif,
    /// Annotations of GitHub Actions, then the text
    Github,
}

/// Where a budget is unless it is named.
const BUDGET: &str = "memtoll.toml";

pub fn run(arguments: &Arguments) -> Code {
    if arguments.each_test {
        return each_test::run(arguments);
    }
    let all = match check(arguments) {
        Ok(all) => all,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let screen = arguments.printing.screen();
    let text = match arguments.render(&all, &screen) {
        Ok(text) => text,
        Err(error) => return exit::fail(error, Code::Failed),
    };
    let printed = screen.print(&text);
    code_of(overall(&all)).or(printed)
}

/// The exit code of a verdict.
pub fn code_of(verdict: Verdict) -> Code {
    match verdict {
        Verdict::Broken => Code::LimitBroken,
        Verdict::Unknown => Code::NotKnown,
        Verdict::Kept | Verdict::WithinNoise => Code::Done,
    }
}

fn check(arguments: &Arguments) -> Result<Vec<Judged>, String> {
    let name = arguments.budget_file();
    let (_, budget) = Budget::read(name).map_err(|error| error.to_string())?.split();
    if budget.entries.is_empty() {
        return Err(format!("{}: all limits are of tests: use --each-test", name.display()));
    }
    let open = |path: &PathBuf| -> Result<Measured, String> {
        let recording = arguments.names.open(path).map_err(|error| error.to_string())?;
        Measured::of_budget(recording, path.display().to_string(), &budget).map_err(|error| error.to_string())
    };
    let baseline = if arguments.baseline.is_empty() { &budget.baseline } else { &arguments.baseline };
    let baseline = baseline.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let measured = arguments.files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    Ok(judge(&budget, &measured, &baseline))
}

impl Arguments {
    fn budget_file(&self) -> &Path {
        self.budget.as_deref().unwrap_or(Path::new(BUDGET))
    }

    fn render(&self, all: &[Judged], screen: &Screen) -> Result<String, String> {
        let budget = self.budget_file().display().to_string();
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let root: &Path = &root;
        let text = || text::render(all, &budget, self.verbose, screen.width);
        match self.printing.format {
            Format::Text => Ok(text()),
            Format::Json => json::render(all).map_err(|error| error.to_string()),
            Format::Junit => junit::render(all, &budget).map_err(|error| error.to_string()),
            Format::Sarif => sarif::render(all, &budget, root).map_err(|error| error.to_string()),
            Format::Github => Ok(annotations::render(all, &budget, root) + &text()),
        }
    }
}
