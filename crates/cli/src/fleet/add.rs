//! `memtoll fleet add`

use super::parse::{now_ns, parse_label, parse_window};
use super::{StoreArgument, failed};
use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code, Failure};
use clap::ValueHint;
use memtoll_fleet::Error;
use memtoll_fleet::open::open;
use memtoll_fleet::run::{Run, Wish};
use memtoll_fleet::store::{Added, Purpose};
use memtoll_text::format::counted;
use std::path::{Path, PathBuf};

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
    /// The paths of source files, and of the recordings
    Paths,
}

/// Says why files were not added, and what to do then.
fn not_added(error: &Error) -> Code {
    match error {
        Error::Away { .. } | Error::Full { .. } => {
            let again = "add the files again: runs that the store already has count once";
            exit::fail(format!("{error}; {again}"), Code::Failed)
        }
        error => failed(error),
    }
}

/// Where a file is, whatever folder a reader is in.
fn shown_path(file: &Path) -> String {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned()).to_string_lossy().into_owned()
}

/// A clock that is ahead by more than this gets a warning.
const AHEAD_NS: i64 = 60_000_000_000;
/// Runs that are held in memory at a time.
const TOGETHER: usize = 32;

impl Add {
    pub fn run(&self) -> Code {
        let mut store = match open(&self.store.store, Purpose::Add) {
            Ok(store) => store,
            Err(error) => return not_added(&error),
        };
        let (mut new, mut known, mut bad) = (0, 0, Code::Done);
        for files in self.files.chunks(TOGETHER) {
            let mut runs: Vec<Run> = Vec::new();
            for file in files {
                match self.read(file) {
                    Ok(run) => runs.push(run),
                    Err(failure) => bad = bad.or(failure.say()),
                }
            }
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
        bad
    }

    /// A recording as a run.
    fn read(&self, file: &Path) -> Result<Run, Failure> {
        let without_paths = self.without.contains(&Private::Paths);
        let wish = Wish {
            labels: self.label.iter().cloned().collect(),
            window_ns: self.window,
            recording: if without_paths { String::new() } else { shown_path(file) },
            without_host: self.without.contains(&Private::Host),
            without_paths,
        };
        let recording = self.names.open(file).map_err(|error| Code::Usage.because(error))?;
        let mut run = Run::of(&recording, &wish);
        if let Some(damage) = run.damage.first() {
            return Err(Code::Damaged.because(format!("{} is not added: {damage}", file.display())));
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
        Ok(run)
    }
}
