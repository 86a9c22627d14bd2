//! A store under test, and its answers.

use memtoll_e2e::{Outcome, Recording, Target, memtoll, program, program_with, run};
use serde_json::Value;
use std::process::Command;
use tempfile::TempDir;

/// A recording of `budget.c`, which makes `blocks` and 12 others.
pub fn recording(blocks: &str) -> Recording {
    Target::new(program("budget.c")).args([blocks]).record()
}

/// Recordings of two versions of a program. Only the report of the old one folds `grab`.
pub fn versions() -> [Recording; 2] {
    let version =
        |flags: &[&str]| Target::new(program_with("fleet_versions.cpp", &[&["-O2"], flags].concat())).record();
    let versions = [version(&[]), version(&["-DNEW"])];
    let leads = |of: &Recording| of.text(&["--group", "function"]).contains(" grab (fleet_versions.cpp");
    assert_eq!(versions.each_ref().map(leads), [false, true]);
    versions
}

/// A store for a test.
pub struct Store {
    /// Its file or its server.
    pub url: String,
}

impl Store {
    /// A file.
    pub fn in_folder(folder: &TempDir) -> Store {
        Store { url: folder.path().join("fleet.db").to_str().unwrap().to_owned() }
    }

    /// Runs a command of memtoll fleet.
    pub fn run(&self, command: &str, arguments: &[&str]) -> Outcome {
        let mut memtoll = Command::new(memtoll());
        memtoll.args(["fleet", command, "--store", &self.url]).args(arguments);
        run(memtoll)
    }

    /// Adds recordings; memtoll's standard error.
    #[track_caller]
    pub fn add(&self, files: &[&Recording], labels: &[&str]) -> String {
        let mut arguments: Vec<&str> = files.iter().map(|file| file.file.to_str().unwrap()).collect();
        labels.iter().for_each(|label| arguments.extend(["--label", label]));
        let outcome = self.run("add", &arguments);
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        outcome.stderr
    }

    /// The rows of an answer.
    #[track_caller]
    pub fn ask(&self, command: &str, arguments: &[&str]) -> Vec<Value> {
        let outcome = self.run(command, &[arguments, &["--format", "json"]].concat());
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
        json["rows"].as_array().unwrap().clone()
    }
}

/// Checks how a command failed, and that one line has all these words.
#[track_caller]
pub fn fails(outcome: &Outcome, code: i32, words: &[&str]) {
    assert_eq!(outcome.status.code(), Some(code), "{outcome:?}");
    assert_eq!(outcome.stderr_lines_with(words).len(), 1, "{words:?}: {outcome:?}");
}

/// The row whose name begins so.
#[track_caller]
pub fn row<'r>(rows: &'r [Value], name: &str) -> &'r Value {
    rows.iter()
        .find(|row| row["name"].as_str().unwrap().starts_with(name))
        .unwrap_or_else(|| panic!("{name}: {rows:#?}"))
}
