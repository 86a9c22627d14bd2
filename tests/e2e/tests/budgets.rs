//! `memtoll budget` and `memtoll check`: exact limits of programs whose counts are known.

use memtoll_e2e::{Outcome, Recording, Target, memtoll, program, program_with, run, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A recording of `budget.c`.
fn recording(arguments: &[&str]) -> Recording {
    Target::new(program("budget.c")).args(arguments).record()
}

fn check(files: &[&Path], budget: &Path, options: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.arg("check").args(files).arg("--budget").arg(budget).args(options);
    run(command)
}

/// A folder with a budget in it.
fn budget(text: &str) -> (TempDir, std::path::PathBuf) {
    let folder = scratch();
    let path = folder.path().join("memtoll.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[track_caller]
fn expect(outcome: &Outcome, code: i32) {
    assert_eq!(outcome.status.code(), Some(code), "{outcome:?}");
}

#[test]
fn a_first_budget_is_kept_by_its_own_recording() {
    let recording = recording(&[]);
    let folder = scratch();
    let path = folder.path().join("memtoll.toml");
    let write = || {
        let mut command = Command::new(memtoll());
        command.arg("budget").arg(&recording.file).arg("-o").arg(&path);
        run(command)
    };
    expect(&write(), 0);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("allocations = 69  # 62 measured"), "{text}");
    assert!(text.contains("[region.\"frame\"]  # 20 runs\nafter = 3\nallocations = 0\n"), "{text}");
    expect(&check(&[&recording.file], &path, &[]), 0);
    // A budget with edits in it is not overwritten.
    let again = write();
    expect(&again, 1);
    assert!(again.stderr.contains("it exists already") && again.stderr.contains("with -o"), "{again:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

/// A program that is over at once has its times by luck; one that works has a limit for them.
#[test]
fn a_first_budget_limits_no_times_of_a_short_program() {
    for (options, works) in [(&["-O2"][..], false), (&["-O2", "-DWORKS"], true)] {
        let recording = Target::new(program_with("budget.c", options)).record();
        let totals: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
        // On a machine that is busy, a short program may take long.
        let takes = totals["totals"]["program_ns"].as_f64().unwrap();
        let is_limited = takes >= 10e6;
        assert!(is_limited || !works, "100 ms of work took {takes} ns");
        let mut command = Command::new(memtoll());
        command.arg("budget").arg(&recording.file);
        let text = run(command).stdout;
        let of_times = |line: &&str| line.starts_with("allocator-share = ") || line.contains("us\"");
        assert_eq!(text.lines().filter(of_times).count() > 0, is_limited, "takes {takes} ns: {text}");
        assert_ne!(text.contains("# allocator-share: the program takes "), is_limited, "takes {takes} ns: {text}");
    }
}

#[test]
fn what_has_no_name_gets_no_limit() {
    let recording = Target::new(program_with("tiny.c", &["-O2", "-s"])).arg("7").record();
    let mut command = Command::new(memtoll());
    command.arg("budget").arg(&recording.file);
    let text = run(command).stdout;
    assert!(!text.lines().any(|line| line.starts_with("[function.") && line.contains("+0x")), "{text}");
    assert!(text.contains(" has no name: the next build has another function there"), "{text}");
}

/// A wrapper of malloc breaks no limit: its callers do. It can be limited by its own name all the same.
#[test]
fn callers_of_wrappers_have_the_limits() {
    let recording = Target::new(program("named_wrappers.cpp")).record();
    let mut command = Command::new(memtoll());
    let first = run({
        command.arg("budget").arg(&recording.file);
        command
    });
    let tables: Vec<&str> = first.stdout.lines().filter(|line| line.starts_with("[function.")).collect();
    assert_eq!(tables, ["[function.\"parse\"]", "[function.\"load\"]", "[function.\"store\"]"], "{first:?}");
    assert!(first.stdout.contains("[function.\"parse\"]\nallocations = 220  # 200 measured"), "{first:?}");
    let (_folder, path) = budget(&first.stdout);
    expect(&check(&[&recording.file], &path, &[]), 0);
    for (function, most) in [("parse", 200), ("load", 100), ("store", 60), ("app::xmalloc", 150), ("*malloc", 300)] {
        for (limit, code) in [(most, 0), (most - 1, 5)] {
            let (_folder, path) = budget(&format!("[function.'{function}']\nallocations = {limit}\n"));
            expect(&check(&[&recording.file], &path, &[]), code);
        }
    }
}

#[test]
fn limits_are_exact_and_name_the_line() {
    let recording = recording(&[]);
    let own = program("budget.c");
    let of_process = format!("[process.'{}']\nallocations = 62", own.file_name().unwrap().to_str().unwrap());
    for (text, code) in [
        ("[run]\nallocations = 62\nbytes = 5288", 0),
        ("[run]\nallocations = 61", 5),
        ("[run]\nbytes = 5287", 5),
        ("[function.load]\nallocations = 50", 0),
        ("[function.'lo*']\nallocations = 49", 5),
        ("[function.main]\nwith_callees = true\nallocations = 61", 5),
        ("[function.main]\nallocations = 0", 0),
        ("[function.gone]\nallocations = 0", 0),
        ("[function.laod]\nallocations = 50", 7),
        ("[type.gone]\nallocations = 50", 7),
        ("[mark.'loading..loaded']\nallocations = 50", 0),
        ("[mark.'loading..loaded']\nallocations = 49", 5),
        ("[mark.'loaded..loading']\nallocations = 49", 7),
        ("[region.frame]\nallocations = 4\nbytes = 96", 0),
        ("[region.frame]\nallocations = 3", 5),
        ("[region.frame]\nafter = 3\nallocations = 0", 0),
        ("[region.frame]\nafter = 2\nallocations = 0", 5),
        ("[region.frame]\nafter = 20\nallocations = 0", 7),
        ("[region.level]\nallocations = 0", 7),
        (of_process.as_str(), 0),
        ("[process.other]\nallocations = 62", 7),
        ("[run]\nallocations = '+5 %'", 7),
        ("[run]\nallocation = 3", 2),
    ] {
        let (_folder, path) = budget(text);
        let outcome = check(&[&recording.file], &path, &[]);
        assert_eq!(outcome.status.code(), Some(code), "{text}: {outcome:?}");
    }
    for (text, nearest) in
        [("[function.laod]\nallocations = 50", "load"), ("[function.'app::load']\nallocations = 50", "load")]
    {
        let (_folder, path) = budget(text);
        let said = check(&[&recording.file], &path, &[]).stdout;
        assert!(said.contains(&format!("the nearest name is \"{nearest}\"")), "{said}");
    }
    let (_folder, path) = budget("[run]\nallocations = 61\n");
    let text = check(&[&recording.file], &path, &[]).stdout;
    assert!(text.starts_with("broken      run: allocations: 62; the budget allows 61"), "{text}");
    assert!(text.contains("50  load (budget.c:10)") && text.ends_with("1 limit: 1 broken, 0 kept\n"), "{text}");
    let (_folder, path) = budget("[run]\n\nallocation = 3\n");
    let said = check(&[&recording.file], &path, &[]).stderr;
    assert!(said.contains("memtoll.toml:3: expected a limit of a run, found \"allocation\"; there is: "), "{said}");
}

#[test]
fn a_baseline_tells_what_changed() {
    let (before, after) = (recording(&[]), recording(&["50", "all"]));
    let (_folder, path) = budget("[run]\nallocations = '+10 %'\nbytes = '+10 KiB'\n");
    let baseline = before.file.to_str().unwrap();
    expect(&check(&[&before.file], &path, &["--baseline", baseline]), 0);
    let outcome = check(&[&after.file], &path, &["--baseline", baseline]);
    expect(&outcome, 5);
    let text = outcome.stdout;
    assert!(text.contains("130; the budget allows 68 (10 % more than the baseline)"), "{text}");
    assert!(text.contains("80  draw (budget.c:17); 12 in the baseline"), "{text}");
    assert!(!text.contains("load (") && text.contains("2 limits: 1 broken, 1 kept"), "{text}");
}

#[test]
fn machines_read_verdicts() {
    let recording = recording(&[]);
    let (_folder, path) = budget("[run]\nallocations = 61\nbytes = 9999\n[region.level]\nallocations = 0\n");
    let root = program("budget.c");
    let root = memtoll_e2e::source("budget.c").parent().map_or(root, Path::to_path_buf);
    let formatted = |format: &str| {
        let outcome = check(&[&recording.file], &path, &["--format", format, "--root", root.to_str().unwrap()]);
        expect(&outcome, 5);
        outcome.stdout
    };
    let json: Value = serde_json::from_str(&formatted("json")).unwrap();
    assert_eq!((&json["verdict"], &json["limits"][0]["verdict"]), (&"broken".into(), &"broken".into()), "{json}");
    assert_eq!((&json["limits"][1]["verdict"], &json["limits"][2]["verdict"]), (&"kept".into(), &"unknown".into()));
    assert_eq!(json["limits"][0]["lines"][0]["line"], 10, "{json}");
    let sarif: Value = serde_json::from_str(&formatted("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{sarif}");
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "budget.c", "{sarif}");
    assert_eq!(place["region"]["startLine"], 10);
    assert_eq!(results[0]["ruleId"], "budget/allocations");
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["id"] == results[0]["ruleId"]), "{sarif}");
    let junit = formatted("junit");
    assert!(
        junit.contains("tests=\"3\"") && junit.contains("failures=\"1\"") && junit.contains("errors=\"1\""),
        "{junit}"
    );
    let github = formatted("github");
    assert!(
        github.starts_with("::error file=budget.c,line=10,title=Memory budget%3A run.allocations::run: "),
        "{github}"
    );
    assert!(github.contains("\n::warning file=") && github.contains("budget allows 61"), "{github}");
}

#[test]
fn a_recording_that_was_cut_off_keeps_no_budget() {
    let recording = recording(&[]);
    let bytes = std::fs::read(&recording.file).unwrap();
    let (folder, path) = budget("[run]\nallocations = 100\n");
    let cut = folder.path().join("cut.memtoll");
    std::fs::write(&cut, &bytes[..bytes.len() - 100]).unwrap();
    expect(&check(&[&cut], &path, &[]), 7);
}
