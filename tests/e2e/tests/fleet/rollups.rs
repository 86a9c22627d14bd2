//! Roll-ups: answers are the same with and without them.

use super::breaking::{Breaking, Broken};
use super::clickhouse::{ClickHouse, Current};
use super::store::{Store, fails, recording, row, versions};
use memtoll_e2e::{Recording, library, memtoll, run, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Questions that roll-ups can answer.
const ROLLED: [&[&str]; 22] = [
    &["top"],
    &["top", "--metric", "allocations"],
    &["top", "--metric", "bytes", "--per", "run"],
    &["top", "--metric", "allocator", "--per", "cpu"],
    &["top", "--metric", "peak"],
    &["top", "--metric", "peak", "--per", "run"],
    &["top", "--metric", "faults", "--per", "run", "--where", "version=1.5"],
    &["top", "--with-callees", "--metric", "allocations", "--per", "run"],
    &["top", "--with-callees", "--metric", "bytes"],
    &["top", "--metric", "allocations", "--where", "service=other"],
    &["top", "--metric", "allocations", "--where", "service=other", "--where", "version=1.5"],
    &["top", "--metric", "allocations", "--group", "service", "--per", "run"],
    &["top", "--metric", "allocations", "-n", "1"],
    &["trend", "--by-day", "--metric", "allocations"],
    &["trend", "--metric", "bytes", "--per", "cpu"],
    &["trend", "--metric", "peak", "--label", "version"],
    &["trend", "--metric", "faults", "--label", "service"],
    &["trend", "--metric", "allocations", "--label", "version", "--where", "service=other"],
    &["compare", "--metric", "allocations", "--before", "version=1.4", "--after", "version=1.5"],
    &["compare", "--metric", "cost", "--before", "version=1.4", "--after", "version=1.5", "--per", "cpu"],
    &["compare", "--metric", "bytes", "--with-callees", "--before", "service=other", "--after", "version=1.4"],
    &["top", "--metric", "allocations", "--since", "2026-01-01", "--until", "2100-01-01"],
];

/// Questions that need the runs.
const PLAIN: [&[&str]; 8] = [
    &["top", "--metric", "allocations", "--group", "line"],
    &["top", "--metric", "allocations", "--group", "process"],
    &["top", "--metric", "allocations", "--filter", "^load$"],
    &["top", "--metric", "allocations", "--runs", "3"],
    &["top", "--metric", "allocations", "--per", "requests"],
    &["top", "--metric", "allocations", "--where", "requests=10"],
    &["trend", "--metric", "allocations", "--label", "requests"],
    // Begins in the middle of a day.
    &["top", "--metric", "allocations", "--since", "23h"],
];

fn answers(store: &Store, questions: &[&[&str]]) -> Vec<Vec<Value>> {
    questions.iter().map(|question| store.ask(question[0], &question[1..])).collect()
}

/// Whether two answers are the same, but for the order in which numbers with decimals were added up.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| is_same(value, other)))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let [a, b] = [a, b].map(|number| number.as_f64().unwrap());
            (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
        }
        _ => a == b,
    }
}

#[track_caller]
fn all_same(questions: &[&[&str]], before: &[Vec<Value>], after: &[Vec<Value>]) {
    for ((question, before), after) in questions.iter().zip(before).zip(after) {
        let [before, after] = [before, after].map(|rows| Value::from(rows.clone()));
        assert!(is_same(&before, &after), "{question:?}: {before:#}\n{after:#}");
    }
}

/// Adds a run of yesterday.
fn add_yesterday(store: &Store, recording: &Recording, labels: &[&str]) {
    let mut command = Command::new(memtoll());
    command.args(["fleet", "add", "--store", &store.url]).arg(&recording.file);
    for label in labels {
        command.args(["--label", label]);
    }
    command.env("LD_PRELOAD", library("clock_behind.c", &[]));
    fails(&run(command), 0, &["counts as of now"]);
}

fn add_runs(store: &Store) {
    store.add(&[&recording("50"), &recording("60"), &recording("75")], &["version=1.4", "requests=10"]);
    store.add(&[&recording("80"), &recording("95")], &["version=1.5", "requests=20"]);
    store.add(&[&recording("30")], &[]);
    store.add(&[&recording("20"), &recording("25")], &["version=1.5", "service=other"]);
    let windows = recording("40");
    let outcome = store.run("add", &[windows.file.to_str().unwrap(), "--window", "1ms", "--label", "version=1.4"]);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    add_yesterday(store, &recording("55"), &["version=1.4"]);
    add_yesterday(store, &recording("65"), &["version=1.5", "service=other"]);
}

#[track_caller]
fn roll_up(store: &Store, more: &[&str], said: &str) {
    let outcome = store.run("roll-up", &[&["--until", "2100-01-01"], more].concat());
    fails(&outcome, 0, &[said]);
}

/// `lose`: removes what runs cost, so that only roll-ups can answer.
fn only_roll_ups_answer(store: &Store, lose: &dyn Fn(), rolled: &[Vec<Value>], plain: &[Vec<Value>]) {
    lose();
    all_same(&ROLLED, rolled, &answers(store, &ROLLED));
    let lost = answers(store, &PLAIN[..4]);
    assert!(lost.iter().zip(plain).all(|(lost, plain)| lost != plain), "nothing was lost: {lost:#?}");
}

fn answers_are_the_same(store: &Store, lose: &dyn Fn()) {
    add_runs(store);
    let [rolled, plain] = [&ROLLED[..], &PLAIN].map(|questions| answers(store, questions));
    // Today is not over.
    fails(&store.run("roll-up", &[]), 0, &["rolled up 2 days of services"]);
    all_same(&ROLLED, &rolled, &answers(store, &ROLLED));
    roll_up(store, &[], "rolled up 2 days of services before 2100-01-01");
    roll_up(store, &[], "rolled up 0 days");
    all_same(&ROLLED, &rolled, &answers(store, &ROLLED));
    all_same(&PLAIN, &plain, &answers(store, &PLAIN));
    // A run that comes later counts at once; the other service's roll-up still does.
    let total = |rows: &[Value]| row(rows, "(total)")["allocations"].as_u64().unwrap();
    let before = total(&store.ask("top", &["--metric", "allocations"]));
    store.add(&[&recording("50")], &["version=1.5"]);
    assert_eq!(total(&store.ask("top", &["--metric", "allocations"])), before + 62);
    let [rolled, plain] = [&ROLLED[..], &PLAIN].map(|questions| answers(store, questions));
    roll_up(store, &[], "rolled up 1 day");
    all_same(&ROLLED, &rolled, &answers(store, &ROLLED));
    roll_up(store, &["--again"], "rolled up 4 days");
    all_same(&PLAIN, &plain, &answers(store, &PLAIN));
    only_roll_ups_answer(store, lose, &rolled, &plain);
}

/// Removes rows from a file.
fn lose_rows(file: &Path) {
    let script = "import sqlite3, sys\nstore = sqlite3.connect(sys.argv[1])\nfor table in ('sites', 'totals', 'labels'):\n    \
                  store.execute(f'DELETE FROM {table}')\nstore.commit()";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(file);
    let outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
}

const LOST: [&str; 3] = ["sites", "totals", "labels"];

#[test]
fn a_file_answers_the_same_from_roll_ups() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    answers_are_the_same(&store, &|| lose_rows(Path::new(&store.url)));
    fails(&store.run("forget", &["--until", "2100-01-01"]), 0, &["removed 12 runs"]);
    fails(&store.run("top", &[]), 3, &["no run"]);
}

#[test]
fn what_a_later_run_folds_is_folded_in_earlier_days() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let [old, new] = versions();
    let question = ["--metric", "allocations", "-n", "100"];
    let leads = |name: &str| {
        let rows = store.ask("top", &question);
        rows.iter().any(|row| row["name"].as_str().unwrap().starts_with(name))
    };
    add_yesterday(&store, &new, &["service=api"]);
    roll_up(&store, &[], "rolled up 1 day");
    assert!(leads("grab") && !leads("first"));
    // What another service folds changes nothing.
    store.add(&[&old], &["service=other"]);
    assert!(leads("grab") && leads("first"));
    store.add(&[&recording("50")], &["service=api"]);
    roll_up(&store, &[], "rolled up 2 days");
    let [older, _] = versions();
    store.add(&[&older], &["service=api"]);
    let rows = store.ask("top", &question);
    assert!(!leads("grab") && leads("first"), "{rows:#?}");
    roll_up(&store, &[], "rolled up 2 days");
    lose_rows(Path::new(&store.url));
    assert_eq!(store.ask("top", &question), rows);
}

#[test]
fn clickhouse_answers_the_same_from_roll_ups() {
    let server = ClickHouse::start();
    let store = server.store(server.port, "fleet");
    let lose = || LOST.iter().for_each(|table| drop(server.query(&format!("TRUNCATE TABLE fleet.{table}"))));
    answers_are_the_same(&store, &lose);
    fails(&store.run("forget", &["--until", "2100-01-01"]), 0, &["removed 12 runs"]);
    fails(&store.run("top", &[]), 3, &["no run"]);
    // What is left of a roll-up that broke off counts nowhere.
    let store = server.store(server.port, "broken");
    store.add(&[&recording("50")], &["version=1"]);
    let expected = store.ask("top", &["--metric", "allocations"]);
    for (words, how, left) in [
        ("INSERT INTO rolled_sums", Broken::Before, 1),
        ("INSERT INTO rolled_sums", Broken::After, 1),
        ("INSERT INTO rolls", Broken::Before, 1),
        ("INSERT INTO rolls", Broken::After, 0),
    ] {
        let between = Breaking::start(server.port, words, how);
        let outcome = server.store(between.port, "broken").run("roll-up", &["--until", "2100-01-01"]);
        fails(&outcome, 1, &["cannot reach the store"]);
        assert_eq!(store.ask("top", &["--metric", "allocations"]), expected, "{words}, {how:?}");
        if left == 0 {
            fails(&store.run("roll-up", &["--until", "2100-01-01"]), 0, &["rolled up 0 days"]);
        }
    }
}

/// It understands every question; when days are rolled up is the same for all stores.
#[test]
fn a_current_engine_answers_the_same_from_roll_ups() {
    let engine = Current::start();
    let store = engine.store("fleet");
    let lose = || LOST.iter().for_each(|table| drop(engine.query(&format!("TRUNCATE TABLE fleet.{table}"))));
    add_runs(&store);
    let [rolled, plain] = [&ROLLED[..], &PLAIN].map(|questions| answers(&store, questions));
    roll_up(&store, &[], "rolled up 4 days");
    all_same(&PLAIN, &plain, &answers(&store, &PLAIN));
    only_roll_ups_answer(&store, &lose, &rolled, &plain);
}
