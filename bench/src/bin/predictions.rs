//! Compares what `memtoll advise` and `memtoll replay` predict with what `memtoll verify` measures: on programs with a known
//! fix, and on programs from elsewhere with tunables and other allocators. Prints a table, misses included.

use clap::Parser;
use memtoll_bench::programs::tuned_programs;
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

/// A command as it is typed, with its environment.
#[derive(Clone)]
struct Side {
    typed: String,
    environment: Vec<(String, String)>,
}

/// What is changed, and who predicts what that saves.
enum Change {
    /// The source: the finding of a rule in a function whose name contains this, and the program after the change.
    Source(&'static str, &'static str, Side),
    /// The tunables that the finding of this rule names.
    Advised(&'static str),
    /// Another allocator, predicted by a replay.
    Allocator(&'static str),
    /// Tunables, predicted by a replay.
    Tunables(&'static str),
}

impl Change {
    fn shown(&self) -> String {
        match self {
            Change::Source(rule, ..) => (*rule).to_owned(),
            Change::Advised(rule) => format!("{rule}, with its tunables"),
            Change::Allocator(name) => format!("replay, {name}"),
            Change::Tunables(tunables) => format!("replay, {tunables}"),
        }
    }
}

/// A program, and what is changed.
struct Case {
    name: &'static str,
    before: Side,
    change: Change,
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
}

fn main() {
    let arguments = Arguments::parse();
    const HEADER: [&str; 7] = ["program", "by", "run, ms", "predicted, ms", "observed, ms", "inside", "half-width"];
    let folder = &arguments.common.folder;
    let own = ("known fixes", or_exit(cases(folder)));
    let others = ("programs from elsewhere", or_exit(outside(folder)));
    for (what, cases) in [own, others] {
        let wanted = cases.iter().filter(|case| case.name.contains(&arguments.common.only));
        let lines: Vec<Line> = wanted
            .map(|case| {
                let line = one(case, &arguments).unwrap_or_else(|why| {
                    let cells = [case.name, &case.change.shown(), "", &why, "", "no", ""].map(str::to_owned).to_vec();
                    Line { cells, inside: false, narrow: false }
                });
                eprintln!("{}", line.cells.join(" | "));
                line
            })
            .collect();
        let count = |is: fn(&Line) -> bool| lines.iter().filter(|line| is(line)).count();
        let rows: Vec<Vec<String>> = lines.iter().map(|line| line.cells.clone()).collect();
        println!(
            "{what}:\n\n{}\n{} of {} observed savings lie inside the predicted range; of {}, it is as narrow as 25 % of \
             the saving or 2 % of the run in both directions.\n",
            tables::markdown(&HEADER, 2, &rows),
            count(|line| line.inside),
            lines.len(),
            count(|line| line.narrow),
        );
    }
}

fn typed(command: &str) -> Side {
    Side { typed: command.to_owned(), environment: Vec::new() }
}

/// Programs that memtoll was not made with, and what can be changed from outside.
fn outside(folder: &Path) -> Result<Vec<Case>, String> {
    let programs = tuned_programs(folder)?;
    let changes = [
        ("git log -p", Change::Advised("heap-thrash")),
        ("git log -p", Change::Tunables("glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=67108864")),
        ("jq", Change::Allocator("tcmalloc")),
        ("jq", Change::Allocator("mimalloc")),
        ("python3", Change::Allocator("mimalloc")),
        ("python3", Change::Allocator("jemalloc")),
        ("perl", Change::Allocator("tcmalloc")),
        ("perl", Change::Tunables("glibc.malloc.tcache_count=2000")),
        ("sqlite3", Change::Allocator("mimalloc")),
        ("cc1plus", Change::Allocator("tcmalloc")),
        ("cc1plus", Change::Tunables("glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864")),
    ];
    let case = |(name, change): (&'static str, Change)| {
        let program = programs.iter().find(|program| program.name == name)?;
        let words: Vec<_> = program.command.words.iter().map(|word| word.to_string_lossy()).collect();
        let before = Side { typed: words.join(" "), environment: program.command.environment.clone() };
        Some(Case { name, before, change })
    };
    Ok(changes.into_iter().filter_map(case).collect())
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
    let case = |name, rule, function, before: String, after: String| Case {
        name,
        before: typed(&before),
        change: Change::Source(rule, function, typed(&after)),
    };
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

/// Records, predicts, measures.
fn one(case: &Case, arguments: &Arguments) -> Result<Line, String> {
    let memtoll = arguments.common.memtoll.display().to_string();
    let recording = arguments.common.folder.join("predictions.memtoll").display().to_string();
    let calibrate = format!("--calibrate={}", arguments.calibrate);
    let record = [&memtoll, "record", "--quiet", "--force", &calibrate, "-o", &recording, "--"];
    let mut command = CommandLine::new(record.into_iter().chain(case.before.typed.split_whitespace()));
    command.environment = case.before.environment.clone();
    command.measure()?;
    let predicted = predict(case, arguments, &memtoll, &recording)?;
    let seconds = arguments.seconds.to_string();
    let variables = |option: &'static str, side: &Side| -> Vec<String> {
        side.environment.iter().flat_map(|(name, value)| [option.to_owned(), format!("{name}={value}")]).collect()
    };
    let output = Command::new(&memtoll)
        .args(["verify", "--before", &case.before.typed, "--after", &predicted.after.typed])
        .args(variables("--before-env", &case.before))
        .args(variables("--after-env", &predicted.after))
        .args(["--prediction", &predicted.file, "--finding", &predicted.id])
        .args(["--max-time", &seconds, "--format", "json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {memtoll}: {error}"))?;
    let measured: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("verify: {error}"))?;
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
    })
}

fn predict(case: &Case, arguments: &Arguments, memtoll: &str, recording: &str) -> Result<Prediction, String> {
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
        let environment = case.before.environment.iter().cloned().chain(variables).collect();
        Side { typed: case.before.typed.clone(), environment }
    };
    let replayed = |option: &str, value: &str| -> Result<(Value, Side), String> {
        let json = json(&["replay", recording, option, value, "--format", "json"])?;
        let finding = json["findings"].get(0).cloned().ok_or("no prediction")?;
        let environment = json["contestants"][1]["environment"].as_object().cloned().unwrap_or_default();
        let variables = environment.into_iter().map(|(name, value)| (name, value.as_str().unwrap_or("").to_owned()));
        Ok((finding, with(variables.collect())))
    };
    let (finding, after) = match &case.change {
        Change::Source(rule, function, after) => (advised(rule, function)?, after.clone()),
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
