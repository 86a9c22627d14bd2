//! Compares what `memtoll advise` and `memtoll replay` predict with what `memtoll verify` measures: on programs with a known
//! fix, and on programs from elsewhere with tunables and other allocators. Prints a table, misses included.

use clap::Parser;
use memtoll_bench::Common;
use memtoll_bench::changes::{Case, Change, Side, Workshop, elsewhere, known_fixes};
use memtoll_bench::run::CommandLine;
use memtoll_bench::tables;
use serde_json::Value;
use std::fs;
use std::process::{Command, ExitCode};

/// What the arguments may be.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Plain runs before each recording
    #[arg(long, default_value_t = 40)]
    calibrate: u32,

    /// Rounds of each replay
    #[arg(long, default_value_t = 10)]
    repeat: u16,

    /// Seconds for each measurement, at most
    #[arg(long, default_value_t = 30)]
    seconds: u32,
}

/// A prediction for `memtoll verify`: a file with it, its id, the saving of CPU time, and the program after the change.
struct Prediction {
    file: String,
    id: String,
    cpu: Value,
    after: Side,
}

/// A row of the table.
struct Line {
    cells: Vec<String>,
    inside: bool,
    /// Whether the range is at most a quarter of the saving, or 2 % of the run, in both directions.
    narrow: bool,
    held_out: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    const HEADER: [&str; 7] = ["program", "by", "run, ms", "predicted, ms", "observed, ms", "inside", "half-width"];
    let mut workshop = Workshop::new(&arguments.common.folder);
    let mut failed = Vec::new();
    for (what, cases) in [("known fixes", known_fixes()), ("programs from elsewhere", elsewhere())] {
        let is_wanted = |case: &&Case| case.name.contains(&arguments.common.only);
        let wanted: Vec<&Case> = cases.iter().filter(is_wanted).collect();
        if wanted.is_empty() {
            continue;
        }
        print!("{what}:\n\n{}", tables::markdown(&HEADER, 2, &[]));
        let mut lines = Vec::new();
        for case in wanted {
            let line = one(case, &arguments, &mut workshop).unwrap_or_else(|why| {
                failed.push(format!("{}, {}: {why}", case.name, case.change.shown()));
                // A saving without a prediction is a miss.
                let cells = [case.name, &case.change.shown(), "", first_line(&why), "", "no", ""].map(str::to_owned);
                Line { cells: cells.into(), inside: false, narrow: false, held_out: case.held_out }
            });
            // As soon as it is known: all of them take an hour.
            println!("| {} |", line.cells.join(" | "));
            lines.push(line);
        }
        println!("\n{}", said(&lines, "observed savings"));
        let held_out: Vec<Line> = lines.into_iter().filter(|line| line.held_out).collect();
        if !held_out.is_empty() {
            println!("\nOf programs that the model was not fitted to: {}", said(&held_out, "savings"));
        }
        println!();
    }
    for why in &failed {
        println!("not measured: {why}");
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn said(lines: &[Line], what: &str) -> String {
    let count = |is: fn(&Line) -> bool| lines.iter().filter(|line| is(line)).count();
    format!(
        "{} of {} {what} lie inside the predicted range; {} of the ranges are as narrow as 25 % of the saving or 2 % of \
         the run in both directions.",
        count(|line| line.inside),
        lines.len(),
        count(|line| line.narrow),
    )
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Records, predicts, measures.
fn one(case: &Case, arguments: &Arguments, workshop: &mut Workshop) -> Result<Line, String> {
    let (before, after) = workshop.sides(case)?;
    let memtoll = arguments.common.memtoll.display().to_string();
    let recording = arguments.common.folder.join("predictions.memtoll").display().to_string();
    let calibrate = format!("--calibrate={}", arguments.calibrate);
    let record = [&memtoll, "record", "--quiet", "--force", &calibrate, "-o", &recording, "--"];
    let mut command = CommandLine::new(record.into_iter().chain(before.typed.split_whitespace()));
    command.environment = before.environment.clone();
    command.measure()?;
    let predicted = predict(case, (&before, after), arguments, &memtoll, &recording)?;
    let seconds = arguments.seconds.to_string();
    let variables = |option: &'static str, side: &Side| -> Vec<String> {
        side.environment.iter().flat_map(|(name, value)| [option.to_owned(), format!("{name}={value}")]).collect()
    };
    let output = Command::new(&memtoll)
        .args(["verify", "--before", &before.typed, "--after", &predicted.after.typed])
        .args(variables("--before-env", &before))
        .args(variables("--after-env", &predicted.after))
        .args(["--prediction", &predicted.file, "--finding", &predicted.id])
        .args(["--max-time", &seconds, "--format", "json"])
        .output()
        .map_err(|error| format!("cannot run {memtoll}: {error}"))?;
    let measured: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("verify: {}", String::from_utf8_lossy(&output.stderr).trim()))?;
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN) / 1e6;
    let saved = &measured["saved"]["cpu_ns"];
    let (low, median, high) = (number(&saved["low"]), number(&saved["median"]), number(&saved["high"]));
    let [least, likely, most] = ["low", "likely", "high"].map(|key| number(&predicted.cpu[key]));
    let run = number(&measured["before"]["cpu_ns"]["median"]);
    let half = (most - least) / 2.0;
    let inside = least <= median && median <= most;
    Ok(Line {
        cells: vec![
            case.name.to_owned(),
            case.change.shown(),
            format!("{run:.1}"),
            format!("{likely:.2} ({least:.2} to {most:.2})"),
            format!("{median:.2} ({low:.2} to {high:.2})"),
            if inside { "yes" } else { "no" }.to_owned(),
            format!("{:.0} % of the saving, {:.1} % of the run", half / median.abs() * 100.0, half / run * 100.0),
        ],
        inside,
        narrow: half <= median.abs() * 0.25 || half <= run * 0.02,
        held_out: case.held_out,
    })
}

fn predict(
    case: &Case,
    (before, changed): (&Side, Option<Side>),
    arguments: &Arguments,
    memtoll: &str,
    recording: &str,
) -> Result<Prediction, String> {
    let file = arguments.common.folder.join("prediction.json").display().to_string();
    let json = |words: &[&str]| -> Result<Value, String> {
        let text = CommandLine::new([&[memtoll], words].concat()).output()?;
        fs::write(&file, &text).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let advised = |rule: &str, function: &str| -> Result<Value, String> {
        let json = json(&["advise", recording, "--format", "json", "--threshold", "0", "--rule", rule])?;
        let findings = json["findings"].as_array().ok_or("no findings")?;
        let is_it = |finding: &&Value| finding["function"].as_str().is_some_and(|name| name.contains(function));
        findings.iter().find(is_it).cloned().ok_or_else(|| "no finding".to_owned())
    };
    let with = |variables: Vec<(String, String)>| {
        let environment = before.environment.iter().cloned().chain(variables).collect();
        Side { typed: before.typed.clone(), environment }
    };
    let repeat = arguments.repeat.to_string();
    let replayed = |option: &str, value: &str| -> Result<(Value, Side), String> {
        let json = json(&["replay", recording, option, value, "--repeat", &repeat, "--format", "json"])?;
        let finding = json["findings"].get(0).cloned().ok_or("no prediction")?;
        let environment = json["contestants"][1]["environment"].as_object().cloned().unwrap_or_default();
        let variables = environment.into_iter().map(|(name, value)| (name, value.as_str().unwrap_or("").to_owned()));
        Ok((finding, with(variables.collect())))
    };
    let (finding, after) = match case.change {
        Change::Source(rule, function) => (advised(rule, function)?, changed.ok_or("no program after the change")?),
        Change::Advised(rule) => {
            let finding = advised(rule, "")?;
            let named = finding["snippet"].as_str().and_then(|snippet| snippet.split("GLIBC_TUNABLES=").nth(1));
            let tunables = named.and_then(|text| text.split_whitespace().next()).ok_or("no tunables")?;
            (finding.clone(), with(vec![("GLIBC_TUNABLES".to_owned(), tunables.to_owned())]))
        }
        Change::Allocator(name) => replayed("--allocator", name)?,
        Change::Tunables(tunables) => replayed("--tunables", tunables)?,
    };
    let id = finding["id"].as_str().ok_or("a finding without an id")?.to_owned();
    Ok(Prediction { file, id, cpu: finding["saves"]["cpu_ns"].clone(), after })
}
