//! What the case studies have in common: building and running their programs, and recording them with memtoll.

use crate::Arguments;
use memtoll_bench::run::{CommandLine, median, number};
use memtoll_bench::tables;
use std::path::Path;

/// `make` puts the programs where [`program`] looks for them.
pub fn build(name: &str) -> Result<(), String> {
    let folder = format!("casestudies/{name}");
    CommandLine::new(["make", "--silent", "--directory", &folder, "OUT=../../target/casestudies"]).measure().map(drop)
}

pub fn program(name: &str, options: &str) -> CommandLine {
    let path = format!("target/casestudies/{name}");
    CommandLine::new(std::iter::once(path.as_str()).chain(options.split_whitespace()))
}

/// All numbers that a program prints on standard error, in their order.
pub fn figures(command: &CommandLine, folder: &Path) -> Result<Vec<f64>, String> {
    let text = command.errors(&folder.join("casestudies.txt"))?;
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}

/// Medians of the figures of several programs, run in turn.
pub fn medians(commands: &[CommandLine], arguments: &Arguments) -> Result<Vec<Vec<f64>>, String> {
    let mut runs = vec![Vec::new(); commands.len()];
    for _ in 0..arguments.rounds {
        for (command, runs) in commands.iter().zip(&mut runs) {
            runs.push(figures(command, &arguments.common.folder)?);
        }
    }
    let column = |runs: &[Vec<f64>], index: usize| median(runs.iter().filter_map(|run| run.get(index).copied()));
    Ok(runs.iter().map(|runs| (0..runs[0].len()).map(|index| column(runs, index)).collect()).collect())
}

/// A recording by memtoll.
pub struct Recorded {
    memtoll: String,
    file: String,
}

impl Recorded {
    pub fn new(command: &CommandLine, arguments: &Arguments) -> Result<Recorded, String> {
        let memtoll = arguments.common.memtoll.display().to_string();
        let file = arguments.common.folder.join("casestudies.memtoll").display().to_string();
        command.under([memtoll.as_str(), "record", "--quiet", "--force", "-o", &file, "--"]).measure()?;
        Ok(Recorded { memtoll, file })
    }

    pub fn report(&self, options: &str) -> CommandLine {
        CommandLine::new([self.memtoll.as_str(), "report", &self.file].into_iter().chain(options.split_whitespace()))
    }

    /// The report's sections on costs.
    pub fn costs(&self) -> Result<String, String> {
        let report = self.report("").output()?;
        let sections =
            ["What memory costs", "Lines whose blocks cost most"].map(|title| tables::section(&report, title));
        let [balance, lines] = sections;
        Ok(format!("{}\n{}", balance?, lines?))
    }
}

/// What memtoll counts in a run: allocations, and calls of `free` with a null pointer.
pub fn counts(command: &CommandLine, arguments: &Arguments) -> Result<[u64; 2], String> {
    let report = Recorded::new(command, arguments)?.report("--format json").json()?;
    Ok(["/totals/allocations", "/totals/null_frees"].map(|path| number(&report, path)))
}

/// What memtoll counts for `many` more of the things that `option` asks for.
pub fn counts_for_each(
    name: &str,
    options: &str,
    option: &str,
    more: u64,
    arguments: &Arguments,
) -> Result<[f64; 2], String> {
    let at = |n: u64| counts(&program(name, &format!("{options} --{option} {n}")), arguments);
    let (few, many) = (at(more)?, at(2 * more)?);
    Ok([0, 1].map(|i| many[i].saturating_sub(few[i]) as f64 / more as f64))
}
