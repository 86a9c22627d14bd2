//! `memtoll check --each-test`: a recording for each test.

use super::{Arguments, Format, code_of};
use crate::exit::{self, Code, Failure};
use crate::wait_messages::Waiting;
use memtoll_check::budget::Budget;
use memtoll_check::framework::{Test, list};
use memtoll_check::measured::{Measured, fits};
use memtoll_check::suite::{Suite, Tested};
use memtoll_verify::run::last_lines;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn run(arguments: &Arguments) -> Code {
    let suite = match suite(arguments) {
        Ok(suite) => suite,
        Err(failure) => return failure.say(),
    };
    let screen = arguments.printing.screen();
    let shown = match arguments.printing.format {
        Format::Json => suite.json().map_err(|error| error.to_string()),
        Format::Junit => suite.junit().map_err(|error| error.to_string()),
        Format::Text => Ok(suite.text(arguments.top, arguments.verbose, screen.width)),
        Format::Sarif | Format::Github => Err("--each-test has the formats text, json and junit".to_owned()),
    };
    match shown {
        Ok(shown) => {
            let printed = screen.print(&shown);
            code_of(suite.verdict()).or(printed)
        }
        Err(error) => exit::fail(error, Code::Failed),
    }
}

fn cannot(why: String) -> Failure {
    Code::Failed.because(why)
}

fn suite(arguments: &Arguments) -> Result<Suite, Failure> {
    if matches!(arguments.printing.format, Format::Sarif | Format::Github) {
        return Err(Code::Usage.because("--each-test has the formats text, json and junit"));
    }
    // Without a budget, the worst tests are listed.
    let file = arguments.budget_file();
    let budget = match arguments.budget.is_some() || file.exists() {
        true => Budget::read(file).map_err(|error| Code::Usage.because(error))?.split().0,
        false => Budget::default(),
    };
    let tests = list(&arguments.command).map_err(|why| cannot(why.to_string()))?;
    if tests.is_empty() {
        return Err(Code::NotKnown.because("the program has no tests"));
    }
    let is_unused = |name: &str| !tests.iter().any(|test| fits(name, &test.name));
    let unused = budget.entries.iter().filter(|entry| is_unused(&entry.scope.name)).cloned().collect();
    let scratch = tempfile::tempdir().map_err(|error| cannot(format!("no temporary folder: {error}")))?;
    let folder = arguments.keep.as_deref().unwrap_or(scratch.path());
    std::fs::create_dir_all(folder).map_err(|error| cannot(format!("{}: {error}", folder.display())))?;
    let waiting = Waiting::new("recording tests");
    let all = tests.len();
    let mut tested = Vec::with_capacity(tests.len());
    for (index, test) in tests.into_iter().enumerate() {
        waiting.tell(format!("{index} of {all} done: {}", test.name));
        let file = file_of(folder, index, &test.name);
        let failed = match record(&test, &file).map_err(cannot)? {
            Ended::Skipped => {
                tested.push(Tested::skipped(test.name));
                continue;
            }
            Ended::Failed(how) => Some(how),
            Ended::Well => None,
        };
        let recording = arguments.names.open(&file).map_err(|error| error.to_string());
        let measured = recording.and_then(|recording| {
            Measured::of_budget(recording, test.name.clone(), &budget).map_err(|error| error.to_string())
        });
        let measured = match measured {
            Ok(measured) => vec![measured],
            Err(error) => {
                let why = failed.unwrap_or(error);
                tested.push(Tested::new(test.name, &[], Some(why), &Budget::default()));
                continue;
            }
        };
        tested.push(Tested::new(test.name, &measured, failed, &budget));
        if arguments.keep.is_none() {
            std::fs::remove_file(&file).map_err(|error| cannot(format!("{}: {error}", file.display())))?;
        }
    }
    drop(waiting);
    Ok(Suite { tests: tested, unused, budget: file.display().to_string() })
}

/// How a test ended.
enum Ended {
    Well,
    Failed(String),
    Skipped,
}

/// Records a test.
fn record(test: &Test, file: &Path) -> Result<Ended, String> {
    let own = std::env::current_exe().map_err(|error| format!("memtoll cannot be found: {error}"))?;
    let mut said = tempfile::tempfile().map_err(|error| format!("no temporary file: {error}"))?;
    let output = || said.try_clone().map_err(|error| format!("no temporary file: {error}"));
    let mut command = Command::new(own);
    command.args(["record", "--quiet", "--force", "--exact-name", "--progress", "never", "-o"]).arg(file);
    command.arg("--").args(&test.command);
    command.envs(test.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(output()?).stderr(output()?);
    if let Some(directory) = &test.directory {
        command.current_dir(directory);
    }
    let status = command.status().map_err(|error| format!("memtoll cannot be started: {error}"))?;
    let wanted = if test.is_to_fail { ", and it was to fail" } else { "" };
    Ok(match status.code() {
        Some(code) if test.skip_code == Some(code) => Ended::Skipped,
        _ if status.success() == test.is_to_fail => Ended::Failed(format!("{status}{wanted}{}", last_lines(&mut said))),
        _ => Ended::Well,
    })
}

/// A file for a test's recording.
fn file_of(folder: &Path, index: usize, name: &str) -> PathBuf {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(80).collect();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.join(format!("{:04}-{plain}.memtoll", index + 1))
}
