//! Compares what `memtoll advise` predicts with what `memtoll verify` measures, on programs with a known fix. Prints a
//! table, misses included.

use clap::Parser;
use memtoll_bench::run::CommandLine;
use memtoll_bench::tables;
use memtoll_bench::{Common, or_exit};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the arguments may be.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Plain runs before each recording
    #[arg(long, default_value_t = 15)]
    calibrate: u32,

    /// Seconds for each measurement, at most
    #[arg(long, default_value_t = 30)]
    seconds: u32,
}

/// A program with a problem, and without it.
struct Case {
    name: &'static str,
    rule: &'static str,
    /// A part of the function with the problem.
    function: &'static str,
    before: String,
    after: String,
}

fn main() {
    let arguments = Arguments::parse();
    const HEADER: [&str; 7] = ["program", "rule", "run, ms", "predicted, ms", "observed, ms", "inside", "half-width"];
    let mut rows = Vec::new();
    let (mut inside, mut all) = (0, 0);
    for case in or_exit(cases(&arguments.common.folder)) {
        if !case.name.contains(&arguments.common.only) {
            continue;
        }
        all += 1;
        match one(&case, &arguments) {
            Ok((row, is_inside)) => {
                inside += u32::from(is_inside);
                rows.push(row.to_vec());
            }
            Err(why) => {
                rows.push([case.name, case.rule, "", &why, "", "no", ""].map(str::to_owned).to_vec());
            }
        }
        eprintln!("{} {}: done", case.name, case.rule);
    }
    println!(
        "{}\n{inside} of {all} observed savings lie inside the predicted range.",
        tables::markdown(&HEADER, 2, &rows)
    );
}

fn cases(folder: &Path) -> Result<Vec<Case>, String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    for name in ["terminal", "dictionary", "camera", "serializer"] {
        let at = format!("casestudies/{name}");
        CommandLine::new(["make", "--silent", "--directory", &at, "OUT=../../target/casestudies"]).measure()?;
    }
    let programs = Path::new("tests/e2e/programs");
    let (cxx, rust, words) = (folder.join("advice"), folder.join("advice_rust"), folder.join("dictionary.u8"));
    let compile = |compiler: &str, options: &[&str], source: &str, to: &PathBuf| {
        let status = Command::new(compiler).args(options).arg("-o").arg(to).arg(programs.join(source)).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            _ => Err(format!("{compiler} cannot compile {source}")),
        }
    };
    compile("g++", &["-std=c++20", "-g", "-O2"], "advice.cpp", &cxx)?;
    compile("rustc", &["--edition", "2021", "-g", "-Copt-level=2"], "advice_rust.rs", &rust)?;
    let text = CommandLine::new(["target/casestudies/dictionary-generate"]).output()?;
    fs::write(&words, text).map_err(|error| format!("cannot write {}: {error}", words.display()))?;
    let program = |name: &str, options: &str| format!("target/casestudies/{name} {options}");
    let terminal = |step: &str| program(&format!("terminal-{step}"), "README.md");
    let dictionary = |step: &str| program(&format!("dictionary-{step}"), &format!("--file {}", words.display()));
    let camera = |variant: &str| program(&format!("camera-{variant}"), "--frames 300 --fps 0");
    let writer = |name: &str| program("serializer-release", &format!("--pages 64 --threads 1 --writer {name}"));
    let case = |name, rule, function, before, after| Case { name, rule, function, before, after };
    let mut all = vec![
        case("terminal, deque", "node-container", "make_rows", terminal("before"), terminal("2_reserve")),
        case("terminal, no reserve", "growth", "make_rows", terminal("1_vector"), terminal("2_reserve")),
        case("terminal, runs", "small-vectors", "AttrRow", terminal("2_reserve"), terminal("3_inline_run")),
        case("terminal, cells", "small-vectors", "CharRow", terminal("3_inline_run"), terminal("4_inline_cells")),
        case("dictionary", "arena", "Entries::copy", dictionary("4_new"), dictionary("5_pool")),
        case("camera", "reuse", "allocate_pixels", camera("before"), camera("after")),
        case("serializer, asprintf", "formatting", "print", writer("asprintf"), writer("to_chars")),
    ];
    let small = [
        ("growth, C++", "growth", "fill_vector", &cxx),
        ("small vectors, C++", "small-vectors", "Item", &cxx),
        ("map, C++", "node-container", "fill_map", &cxx),
        ("names, C++", "arena", "make_names", &cxx),
        ("frames, C++", "reuse", "take_frames", &cxx),
        ("keys, C++", "temporary", "look_up", &cxx),
        ("lines, C++", "formatting", "write_lines", &cxx),
        ("null pointers, C++", "free-null", "free_nothing", &cxx),
        ("growth, Rust", "growth", "fill_vec", &rust),
        ("boxes, Rust", "arena", "make_nodes", &rust),
        ("numbers, Rust", "formatting", "write_numbers", &rust),
    ];
    for (name, rule, function, program) in small {
        let before = format!("{} {rule}", program.display());
        all.push(case(name, rule, function, before.clone(), format!("{before} fixed")));
    }
    Ok(all)
}

/// Records, takes the finding, measures. The row of the table, and whether the CPU time that is saved was predicted.
fn one(case: &Case, arguments: &Arguments) -> Result<([String; 7], bool), String> {
    let memtoll = arguments.common.memtoll.display().to_string();
    let at = |name: &str| arguments.common.folder.join(name).display().to_string();
    let (recording, advice) = (at("predictions.memtoll"), at("advice.json"));
    let calibrate = format!("--calibrate={}", arguments.calibrate);
    let record = [&memtoll, "record", "--quiet", "--force", &calibrate, "-o", &recording, "--"];
    CommandLine::new(record.into_iter().chain(case.before.split_whitespace())).measure()?;
    let shown = [&memtoll, "advise", &recording, "--format", "json", "--threshold", "0", "--rule", case.rule];
    let text = CommandLine::new(shown).output()?;
    fs::write(&advice, &text).map_err(|error| error.to_string())?;
    let json: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let findings = json["findings"].as_array().ok_or("no findings")?;
    let is_it = |finding: &&Value| finding["function"].as_str().is_some_and(|name| name.contains(case.function));
    let finding = findings.iter().find(is_it).ok_or("no finding")?;
    let id = finding["id"].as_str().unwrap_or_default();
    let seconds = arguments.seconds.to_string();
    let output = Command::new(&memtoll)
        .args(["verify", "--before", &case.before, "--after", &case.after, "--prediction", &advice, "--finding", id])
        .args(["--max-time", &seconds, "--format", "json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {memtoll}: {error}"))?;
    let measured: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("verify: {error}"))?;
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN) / 1e6;
    let saved = &measured["saved"]["cpu_ns"];
    let (low, median, high) = (number(&saved["low"]), number(&saved["median"]), number(&saved["high"]));
    let predicted = &finding["saves"]["cpu_ns"];
    let [least, likely, most] = ["low", "likely", "high"].map(|key| number(&predicted[key]));
    let is_inside = least <= median && median <= most;
    let run = number(&measured["before"]["cpu_ns"]["median"]);
    let half = (most - least) / 2.0;
    let row = [
        case.name.to_owned(),
        case.rule.to_owned(),
        format!("{run:.1}"),
        format!("{likely:.2} ({least:.2} to {most:.2})"),
        format!("{median:.2} ({low:.2} to {high:.2})"),
        if is_inside { "yes" } else { "no" }.to_owned(),
        format!("{:.0} % of the saving, {:.1} % of the run", half / median.abs() * 100.0, half / run * 100.0),
    ];
    Ok((row, is_inside))
}
