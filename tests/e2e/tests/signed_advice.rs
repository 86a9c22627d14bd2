//! Advice that an engineer would sign: each case was once wrong, and says what is true.

use memtoll_e2e::{Outcome, Recording, Target, memtoll, program_with, run, source, workspace};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn cxx(problem: &str) -> Recording {
    Target::new(program_with("signed_advice.cpp", &["-O2"])).arg(problem).record()
}

fn rust(problem: &str) -> Recording {
    let program: PathBuf = program_with("signed_advice.rs", &["-O2", "debuginfo=line-tables-only"]);
    Target::new(program).arg(problem).record()
}

fn advise(recording: &Recording, options: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.arg("advise").arg(&recording.file).args(options).arg("--root").arg(workspace());
    run(command)
}

/// All findings, however little they save.
fn findings(recording: &Recording) -> Vec<Value> {
    let outcome = advise(recording, &["--threshold", "0", "--format", "json"]);
    let json: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    json["findings"].as_array().expect("findings").clone()
}

/// The line with this comment.
fn line(file: &str, comment: &str) -> u64 {
    let text = std::fs::read_to_string(source(file)).unwrap();
    1 + text.lines().position(|line| line.contains(&format!("// {comment}"))).expect("a line") as u64
}

#[track_caller]
fn at<'f>(all: &'f [Value], rule: &str, file: &str, comment: &str) -> &'f Value {
    let line = line(file, comment);
    let found = all.iter().find(|finding| finding["rule"] == rule && finding["line"] == line);
    let told: Vec<String> = all.iter().map(|one| format!("{}:{}", one["rule"], one["line"])).collect();
    found.unwrap_or_else(|| panic!("no {rule} in line {line}: {told:?}"))
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

const CXX: &str = "signed_advice.cpp";
const RUST: &str = "signed_advice.rs";

/// `v.reserve(106496)` for 104 KiB took gigabytes: where the size of an element is not known, there is no number.
#[test]
fn bytes_are_no_numbers_of_elements() {
    for debug in ["-g1", "-g2"] {
        let recording = Target::new(program_with(CXX, &["-O2", debug])).arg("grow").record();
        let all = findings(&recording);
        assert_eq!(at(&all, "growth", CXX, "grows")["snippet"], "records.reserve(n); // before the loop", "{debug}");
    }
    let all = findings(&rust("grow"));
    assert_eq!(at(&all, "growth", RUST, "grows")["snippet"], "records.reserve(rows.len()); // before the loop");
    for finding in &all {
        let snippet = text(&finding["snippet"]);
        let number = snippet.split(['(', ')']).nth(1).unwrap_or_default();
        assert!(!number.chars().all(|c| c.is_ascii_digit()) || number.is_empty(), "{snippet}");
    }
}

/// Each line of a fill says what it fills with; what is no zero is needed.
#[test]
fn what_is_filled_with_something_stays_filled() {
    for problem in ["fill", "set"] {
        let all = findings(&cxx(problem));
        assert!(all.iter().all(|finding| finding["rule"] != "untouched"), "{problem}: {all:#?}");
    }
    let all = findings(&cxx("zero"));
    assert!(text(&at(&all, "untouched", CXX, "filled with zeroes")["change"]).contains("of zeroes"));
}

#[test]
fn text_that_is_copied_to_append_to_it_is_found() {
    let all = findings(&cxx("append"));
    let found = at(&all, "append", CXX, "copied each time");
    assert_eq!(found["snippet"], "list += std::to_string(i); list += \",\";");
    assert!(found["saves"]["allocations"]["likely"].as_f64().unwrap() > 60_000.0, "{found:#}");
    let line = line(CXX, "copied each time");
    let others = all.iter().filter(|other| other["line"] == line && other["rule"] != "append");
    assert_eq!(others.count(), 0, "one remedy for one line: {all:#?}");
    let all = findings(&rust("append"));
    assert!(text(&at(&all, "append", RUST, "copied each time")["snippet"]).contains("push_str"));
}

/// Its blocks are of many types and depths, and no row of them is large.
#[test]
fn what_each_turn_makes_again_is_one_finding() {
    let recording = cxx("match");
    let all = findings(&recording);
    let found = at(&all, "hoist", CXX, "made each time");
    assert_eq!(found["evidence"]["numbers"]["turns"], 300.0, "{found:#}");
    assert!(found["saves"]["cpu_ns"]["high"].is_null() && found["saves"]["cpu_ns"]["low"].as_f64() > Some(0.0));
    let told = advise(&recording, &[]).stdout;
    assert!(told.contains("saves    at least "), "{told}");
    // In the report, too, the line is one finding, with its parts inside.
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let line = line(CXX, "made each time");
    let of_line: Vec<&Value> =
        report["findings"].as_array().unwrap().iter().filter(|finding| finding["line"] == line).collect();
    assert_eq!(of_line.len(), 1, "{of_line:#?}");
    assert_eq!(of_line[0]["place"], format!("{CXX}:{line}"));
    let parts = of_line[0]["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| part["allocations"].as_u64().unwrap()).sum();
    assert!(parts.len() >= 3 && of_line[0]["blocks"] == sum, "{:#}", of_line[0]);
    let there = advise(&recording, &[text(&of_line[0]["place"])]).stdout;
    assert!(there.contains("1. hoist"), "{there}");
}

#[test]
fn what_is_shared_with_nobody_needs_no_counter() {
    let all = findings(&cxx("pump"));
    let found = at(&all, "temporary", CXX, "never shared");
    assert!(
        text(&found["change"]).contains("by reference") && text(&found["snippet"]).contains("Message&"),
        "{found:#}"
    );
}

#[test]
fn copies_that_are_kept_are_found() {
    let all = findings(&cxx("collect"));
    let found = at(&all, "copies", CXX, "copied, and dropped");
    assert_eq!(found["evidence"]["numbers"]["blocks"], 200_000.0, "{found:#}");
    assert!(text(&found["snippet"]).contains("std::move"), "{found:#}");
    let all = findings(&rust("copy"));
    let found = at(&all, "copies", RUST, "copies that are kept");
    assert_eq!(found["evidence"]["numbers"]["blocks"], 50_000.0, "{found:#}");
}

#[test]
fn what_grows_in_place_is_found() {
    let all = findings(&rust("encode"));
    assert_eq!(at(&all, "growth", RUST, "grows in place")["snippet"], "bytes.reserve(n as usize); // before the loop");
}

/// The remedy that saves most comes first, and what has no upper end says so.
#[test]
fn an_arena_leads_where_nodes_die_together() {
    let all = findings(&cxx("graphs"));
    assert_eq!(all[0]["rule"], "arena", "{all:#?}");
    assert!(at(&all, "arena", CXX, "dies with all others")["saves"]["cpu_ns"]["high"].is_null());
    let all = findings(&cxx("words"));
    assert!(at(&all, "node-container", CXX, "searched in a tree")["saves"]["cpu_ns"]["high"].is_null());
}

#[test]
fn the_environment_is_why_threads_wait() {
    let target = Target::new(program_with(CXX, &["-O2"])).arg("wait").env("MALLOC_ARENA_MAX", "1");
    let recording = target.record();
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let setting = serde_json::json!([{ "name": "MALLOC_ARENA_MAX", "value": "1" }]);
    assert_eq!(report["malloc_settings"], setting);
    assert!(recording.text(&[]).contains("with MALLOC_ARENA_MAX=1"));
    let all = findings(&recording);
    // Where one processor has all threads, they hardly meet.
    if let Some(found) = all.iter().find(|finding| finding["rule"] == "contention") {
        assert!(text(&found["snippet"]).contains("env -u MALLOC_ARENA_MAX"), "{found:#}");
    }
    let plain: Value = serde_json::from_str(&cxx("grow").text(&["--format", "json"])).unwrap();
    assert_eq!(plain["malloc_settings"], serde_json::json!([]));
}
