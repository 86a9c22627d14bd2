//! `memtoll verify` and `memtoll try` on programs whose page faults are known.

use serde_json::Value;
use std::process::{Command, Output};

fn memtoll(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_memtoll")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `tail` keeps the last 40,000,000 bytes, some 9,800 pages.
const LARGE: &str = "head -c 40000001 /dev/zero | tail -c 40000000 | wc -c";
/// By a shell, so that its resident set is not known.
const SMALL: &str = "true && echo 40000000";
const QUICK: [&str; 4] = ["--min-rounds", "3", "--max-rounds", "3"];

fn verify(more: &[&str]) -> Output {
    let sides = ["verify", "--before", LARGE, "--after", SMALL, "--metric", "faults"];
    memtoll(&[&sides[..], &QUICK, more].concat())
}

#[test]
fn what_is_saved_is_measured() {
    let output = verify(&["--format", "json"]);
    assert!(output.status.success(), "{}", said(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let saved = |key: &str| json["saved"][key]["median"].as_f64();
    let faults = saved("faults").unwrap();
    assert!((9_000.0..13_000.0).contains(&faults), "{json}");
    assert!(saved("cpu_ns").unwrap() > 0.0 && saved("system_ns").unwrap() > 0.0, "{json}");
    assert_eq!(json["before"]["resident_peak_bytes"]["median"].as_f64().map(|peak| peak > 38e6), Some(true), "{json}");
    // The other side is smaller than memtoll, so what is saved is not known.
    assert_eq!(saved("resident_peak_bytes"), None);
    assert_eq!(json["rounds"], 3);
    let text = String::from_utf8(verify(&[]).stdout).unwrap();
    assert!(text.contains("page faults") && text.contains("Both sides printed the same."), "{text}");
    assert!(text.contains("not known"), "{text}");
}

#[test]
fn the_peak_of_a_program_that_is_smaller_than_memtoll_is_measured() {
    let sides = ["verify", "--before", "sleep 0.05", "--after", "sleep 0.04", "--format", "json"];
    let peaks = |more: &[&str]| {
        let output = memtoll(&[&sides[..], &QUICK, more].concat());
        assert!(output.status.success(), "{}", said(&output));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        ["before", "after", "saved"].map(|side| json[side]["resident_peak_bytes"]["median"].as_f64())
    };
    let [before, after, saved] = peaks(&["--metric", "resident-peak"]).map(Option::unwrap);
    assert!([before, after].iter().all(|peak| (300e3..6e6).contains(peak)), "{before} {after}");
    assert!(saved.abs() < 1e6, "{saved}");
    assert_eq!(peaks(&[]), [None; 3], "a look at the exit can be noticed, so it is not made unasked");
}

#[test]
fn predictions_come_true_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("advice.json");
    let range = |low: f64, high: f64| format!(r#"{{"low": {low}, "likely": {low}, "high": {high}}}"#);
    let predicts = |saves: String| {
        std::fs::write(&file, format!(r#"{{"findings": [{{"id": "reuse-1", "saves": {{{saves}}}}}]}}"#)).unwrap();
        verify(&["--prediction", file.to_str().unwrap(), "--finding", "reuse-1"])
    };
    let advice = |low: f64, high: f64| predicts(format!(r#""faults": {}"#, range(low, high)));
    let inside = advice(9_000.0, 13_000.0);
    assert_eq!(inside.status.code(), Some(0), "{}", said(&inside));
    assert!(String::from_utf8_lossy(&inside.stdout).contains("9,000 to 13,000: inside"));
    let outside = advice(100.0, 200.0);
    assert_eq!(outside.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&outside.stdout).contains("100 to 200: OUTSIDE"));
    assert!(said(&outside).contains("the prediction did not come true"));
    // The resident set of one side is below memtoll's own, so what is saved is unknown.
    let resident = format!(r#""resident_peak_bytes": {}"#, range(1.0, 2.0));
    let both = predicts(format!(r#"{resident}, "faults": {}"#, range(9_000.0, 13_000.0)));
    assert_eq!(both.status.code(), Some(0), "{}", said(&both));
    assert!(String::from_utf8_lossy(&both.stdout).contains(": not measured"));
    let unknown = predicts(resident);
    assert_eq!(unknown.status.code(), Some(7));
    assert!(said(&unknown).contains("measurement cannot tell whether the prediction came true"), "{}", said(&unknown));
    let at_end = predicts(format!(r#""resident_end_bytes": {}"#, range(1.0, 2.0)));
    let text = String::from_utf8_lossy(&at_end.stdout);
    assert!(text.contains("The resident set at the end is not known of commands that a shell runs"), "{text}");
    let missing = verify(&["--prediction", file.to_str().unwrap(), "--finding", "arena-1"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(said(&missing).contains("there is no finding \"arena-1\"; it has: reuse-1"));
}

#[test]
fn a_recording_keeps_what_a_change_saved_and_the_advice_shows_it() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("costs.memtoll");
    std::fs::copy(golden, &file).unwrap();
    let file = file.to_str().unwrap();
    let run = |words: &[&str]| String::from_utf8(memtoll(words).stdout).unwrap();
    let advice = || -> Value {
        let text = run(&["advise", "--no-debuginfod", "--threshold", "0", "--format", "json", file]);
        serde_json::from_str(&text).unwrap()
    };
    let before = advice();
    let findings = before["findings"].as_array().unwrap();
    assert!(findings[0]["verified"].is_null(), "{before:#}");
    let id = findings[0]["id"].as_str().unwrap();
    let report = || -> Value {
        let text = run(&["report", "--no-debuginfod", file, "--format", "json"]);
        let mut report: Value = serde_json::from_str(&text).unwrap();
        report["recorder"].as_object_mut().unwrap().remove("file_bytes").unwrap();
        report
    };
    let reported = report();
    // The second time, in place of the first.
    for _ in 0..2 {
        let output = verify(&["--no-debuginfod", "--format", "json", "--finding", id, file]);
        // This saving was not predicted.
        assert_eq!(output.status.code(), Some(6), "{}", said(&output));
        assert!(said(&output).contains("wrote what it saves into"), "{}", said(&output));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let kept = advice()["findings"][0]["verified"].clone();
        assert_eq!(kept["faults"], json["saved"]["faults"], "{kept:#}");
        assert_eq!(kept["commands"], json["commands"]);
        assert_eq!(kept["as_predicted"], false);
    }
    assert_eq!(report(), reported, "all but the length of the file is as it was");
    for format in ["text", "markdown"] {
        let text = run(&["advise", "--no-debuginfod", "--threshold", "0", "--format", format, file]);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words.join(" ").matches(" in 3 rounds: not as predicted").count(), 1, "{text}");
    }
    let refused = |words: &[&str], code: i32, why: &str| {
        let output = verify(words);
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(why), "{}", said(&output));
    };
    refused(&["--finding", "growth-0", file], 3, "no finding \"growth-0\"");
    refused(&["--finding", id], 2, "--finding ID is one of a recording");
    refused(&[file], 2, "a recording is of use with --patch ID or --finding ID");
}

#[test]
fn sides_that_do_other_work_are_not_compared() {
    let compare = |before: &str, after: &str, more: &[&str]| {
        memtoll(&[&["verify", "--before", before, "--after", after][..], &QUICK, more].concat())
    };
    let other = compare("echo one", "echo two", &[]);
    assert_eq!(other.status.code(), Some(1));
    assert!(said(&other).contains("after does not print what before prints: the first difference is in line 1"));
    assert!(compare("echo one", "echo two", &["--ignore-output"]).status.success());
    // The shell's own number is another one each time.
    let unsteady = compare("echo $$; true", "true", &[]);
    assert_eq!(unsteady.status.code(), Some(1));
    let failed = compare("true", "false", &[]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(said(&failed).contains("after: \"false\" ended with exit code 1; expected exit code 0"));
    assert!(compare("false", "false", &["--exit-code", "1"]).status.success());
    let build = compare("true", "true", &["--after-build", "echo no compiler >&2; exit 4"]);
    assert_eq!(build.status.code(), Some(1));
    assert!(said(&build).contains("--after-build") && said(&build).contains("no compiler"));
}

#[test]
fn each_side_has_its_own_environment() {
    let sides = ["verify", "--before", "printenv SIDE", "--after", "printenv SIDE"];
    let with =
        |after: &str| memtoll(&[&sides[..], &QUICK, &["--before-env", "SIDE=one", "--after-env", after]].concat());
    assert!(with("SIDE=one").status.success());
    assert!(said(&with("SIDE=two")).contains("the first difference is in line 1, at byte 0"));
    assert!(said(&with("SIDE")).contains("expected NAME=VALUE"));
}

#[test]
fn settings_are_tried() {
    let list = memtoll(&["try", "--list"]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("GLIBC_TUNABLES=glibc.malloc.arena_max=1"));
    let arguments = ["try", "--only", "keep-heap,one-arena", "--metric", "faults", "--format", "json"];
    let program = ["--", "head", "-c", "1", "/dev/zero"];
    let output = memtoll(&[&arguments[..], &QUICK, &program].concat());
    assert!(output.status.success(), "{}", said(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        json["candidates"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names.len(), 2, "{json}");
    let unknown = memtoll(&["try", "--only", "magic", "--", "true"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("there is no \"magic\" to try here; there is: keep-heap"));
    let broken = memtoll(&[&["try", "--only", "one-arena"][..], &QUICK, &["--", "false"]].concat());
    assert_eq!(broken.status.code(), Some(1));
    assert!(said(&broken).contains("as it is: \"false\" ended with exit code 1"));
}
