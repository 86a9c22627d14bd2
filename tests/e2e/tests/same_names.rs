//! Functions, files and processes with equal names: their rows have different keys and look different.

use memtoll_e2e::{Recording, Target, library, memtoll, program_with, run, scratch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const GROUPS: [&str; 9] = ["site", "function", "line", "path", "type", "module", "thread", "process", "size"];

/// Two libraries of one name, and one of another, all from the same source file.
fn libraries(folder: &Path) -> [PathBuf; 3] {
    [("-DPLUGIN=40", "plugin.so"), ("-DPLUGIN=50", "plugin.so"), ("-DPLUGIN=60", "other.so")].map(|(flag, name)| {
        let file = folder.join(&flag[2..]).join(name);
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::copy(library("same_names.cpp", &[flag]), &file).unwrap();
        file
    })
}

fn recording() -> &'static Recording {
    static RECORDING: OnceLock<Recording> = OnceLock::new();
    RECORDING.get_or_init(|| {
        let folder = scratch();
        Target::new(program_with("same_names.cpp", &["-O2", "-ldl"])).args(libraries(folder.path())).record()
    })
}

fn rows(group: &str, options: &[&str]) -> Vec<Value> {
    let text = recording().text(&[&["--format", "json", "--limit", "1000000", "--group", group], options].concat());
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    answer["sites"].as_array().expect("sites").clone()
}

fn keys(rows: &[Value]) -> BTreeSet<String> {
    rows.iter().map(|row| row["key"].as_str().expect("a key").to_owned()).collect()
}

#[test]
fn no_two_rows_have_the_same_key() {
    for group in GROUPS {
        let rows = rows(group, &[]);
        assert_eq!(keys(&rows).len(), rows.len(), "{group}: {rows:#?}");
    }
}

#[test]
fn a_key_stays_the_same_in_a_part_of_the_recording() {
    for group in GROUPS {
        let (all, some) = (keys(&rows(group, &[])), keys(&rows(group, &["--min-size", "40", "--max-size", "40"])));
        assert!(!some.is_empty() && some.is_subset(&all), "{group}: {some:?} of {all:?}");
    }
}

#[test]
fn no_two_rows_look_the_same() {
    for group in GROUPS {
        let text = recording().text(&["--group", group, "--limit", "1000000"]);
        let mut lines = text.lines();
        let names_at = lines.next().and_then(|title| title.find("where")).expect("a title");
        let names: Vec<&str> = lines.filter_map(|line| line.get(names_at..)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{group}:\n{text}");
    }
}

#[test]
fn no_two_branches_of_a_tree_look_the_same() {
    for tree in ["--tree", "--callers"] {
        let text = recording().text(&[tree]);
        let names: Vec<&str> = text.lines().filter_map(|line| Some(&line[line.find("plugged")?..])).collect();
        assert_eq!((names.len(), names.iter().collect::<BTreeSet<_>>().len()), (3, 3), "{text}");
    }
}

#[test]
fn a_signature_tells_overloads_apart() {
    let rows = rows("function", &[]);
    let made = rows.iter().filter(|row| row["function"] == "made");
    let signatures: BTreeSet<&str> = made.map(|row| row["signature"].as_str().expect("a signature")).collect();
    assert_eq!(signatures, ["made(int)", "made(long)"].into());
}

#[track_caller]
fn assert_parameters_are_shown(text: &str) {
    let shown = [" made(int) ", " made(long) ", " made"].map(|name| text.matches(name).count());
    assert_eq!(shown, [1, 1, 2], "{text}");
}

#[test]
fn parameters_tell_overloads_apart_in_text() {
    let once = Target::new(program_with("same_names.cpp", &["-O2", "-ldl"])).env("IS_SECOND", "1").record();
    for group in ["site", "function", "line", "path"] {
        assert_parameters_are_shown(&once.text(&["--group", group]));
    }
    for tree in ["--tree", "--callers"] {
        assert_parameters_are_shown(&once.text(&[tree]));
    }
}

fn diff(options: &[&str], before: &Recording, after: &Recording) -> String {
    let mut diff = Command::new(memtoll());
    diff.args(["diff", "--no-debuginfod"]).args(options).args([&before.file, &after.file]);
    run(diff).stdout
}

#[test]
fn libraries_change_each_for_itself() {
    let folder = scratch();
    let [first, second, _] = libraries(folder.path());
    let target = || Target::new(program_with("same_names.cpp", &["-O2", "-ldl"])).env("IS_SECOND", "1");
    let before = target().args([&first, &second]).record();
    let after = target().args([&first, &second, &second]).record();
    for group in ["function", "site", "path"] {
        let text = diff(&["--group", group, "--format", "json"], &before, &after);
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let changes = answer["changes"].as_array().expect("changes");
        let bytes: Vec<_> =
            changes.iter().map(|change| ["before", "after"].map(|side| change["bytes"][side].as_f64())).collect();
        assert_eq!(bytes, [[Some(50.0), Some(100.0)]], "{group}: {changes:#?}");
    }
}

#[test]
fn a_cut_names_one_of_them_by_its_path() {
    let bytes =
        |cut: &str| rows("site", &["--drop", cut]).iter().map(|row| row["bytes"].as_u64().expect("bytes")).sum::<u64>();
    let all = bytes("module:^nothing$");
    assert_eq!(all - bytes("module:PLUGIN=40/plugin.so$"), 40 * 2);
    assert_eq!(all - bytes("module:^plugin.so$"), (40 + 50) * 2);
}

#[test]
fn overloads_change_each_for_itself() {
    let program = program_with("same_names.cpp", &["-O2", "-ldl"]);
    let once = Target::new(program.clone()).env("IS_SECOND", "1").record();
    let twice = Target::new(program).record();
    let rows = |options: &[&str]| diff(&[&["--group", "function"], options].concat(), &once, &twice);
    let answer: Value = serde_json::from_str(&rows(&["--format", "json"])).expect("JSON");
    let changes = answer["changes"].as_array().expect("changes");
    let bytes = |name: &str| {
        let found: Vec<_> = changes.iter().filter(|change| change["frame"]["function"] == name).collect();
        assert_eq!(found.len(), 1, "{name}: {changes:#?}");
        (found[0]["fate"].as_str(), found[0]["bytes"]["difference"].as_f64())
    };
    assert_eq!(bytes("made(int)"), (Some("changed"), Some(10.0)));
    assert_eq!(bytes("made(long)"), (Some("changed"), Some(20.0)));
    assert_parameters_are_shown(&rows(&[]));
}

/// Where a linker keeps one of two functions of the same code, its name tells nothing of the other's callers.
#[test]
fn a_vector_that_grows_by_another_ones_code_keeps_its_type() {
    let merging = ["-O2", "-ffunction-sections", "-fuse-ld=gold", "-Wl,--icf=all"];
    let recording = Target::new(program_with("merged_functions.cpp", &merging)).record();
    let types: Value = serde_json::from_str(&recording.text(&["--format", "json", "--group", "type"])).expect("JSON");
    let types = types["sites"].as_array().expect("sites");
    for (name, function) in
        [("std::vector<shop::Order*>", "shop::order"), ("std::vector<shop::Customer*>", "shop::visit")]
    {
        let of_type = types.iter().find(|row| row["function"] == name);
        assert_eq!(of_type.map(|row| row["allocations"].clone()), Some(11.into()), "{types:#?}");
        assert_eq!(recording.report().function(function).new_blocks, 11);
    }
}
