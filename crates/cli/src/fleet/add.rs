//! `memtoll fleet add`

use super::parse::{now_ns, parse_label, parse_window};
use super::{StoreArgument, failed};
use crate::exit;
use crate::names::NameArguments;
use clap::ValueHint;
use memtoll_fleet::Error;
use memtoll_fleet::run::{Run, Wish};
use memtoll_fleet::store::{Added, Purpose, open};
use memtoll_quantity::counted;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Add recordings to a store
///
/// Each run counts once, however often it is added. If a recording is added again after memtoll symbolize, its better names
/// replace those in the store.
#[derive(clap::Args)]
pub struct Add {
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
    pub fn run(&self) -> ExitCode {
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
        let runs = counted(self.files.len() as u64, "run");
        exit::say(format!("added {new} of {runs} to {}{already}", self.store.store));
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
