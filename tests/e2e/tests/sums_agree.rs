//! All groupings of a recording add up to the same numbers: as a whole, with `--paid`, of some sizes and in a span. Two spans that
//! follow each other add up to the whole.

use memtoll_e2e::{Recording, Target, program};
use serde_json::Value;
use std::collections::BTreeSet;

const GROUPS: [&str; 8] = ["site", "function", "line", "path", "module", "thread", "process", "size"];
const SELECTIONS: [&[&str]; 4] = [&[], &["--paid"], &["--min-size", "64"], &["--from", "10ms"]];
const NUMBERS: [&str; 13] = [
    "cost_ns", "allocator_ns", "fault_time_ns", "mapping_ns", "waiting_ns", "allocations", "frees", "bytes",
    "temporary", "minor_faults", "mapped_bytes", "live_bytes", "live_blocks",
];

fn report(recording: &Recording, options: &[&str]) -> Value {
    let text = recording.text(&[options, &["--format", "json", "--limit", "1000000"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Times of each part of a call site are rounded to a nanosecond; there are thousands.
fn agree(name: &str, one: u64, other: u64) -> bool {
    let rounded = if name.ends_with("_ns") { 1000 + other / 1000 } else { 0 };
    one.abs_diff(other) <= rounded
}

fn check(recording: &Recording) {
    for options in SELECTIONS {
        let by_line = report(recording, options);
        for group in GROUPS {
            let answer = report(recording, &[options, &["--group", group]].concat());
            let rows = answer["sites"].as_array().unwrap();
            let keys: BTreeSet<&str> = rows.iter().map(|row| row["key"].as_str().unwrap()).collect();
            assert_eq!(keys.len(), rows.len(), "keys of {group} repeat with {options:?}");
            for name in NUMBERS {
                let [total, expected] = [&answer, &by_line].map(|of| of["totals"][name].as_u64());
                let (Some(total), Some(expected)) = (total, expected) else {
                    assert_eq!(total, expected, "{name} by {group} with {options:?}");
                    continue;
                };
                assert!(agree(name, total, expected), "{name} by {group}: {total}, {expected} by line, {options:?}");
                let sum: u64 = rows.iter().map(|row| row[name].as_u64().unwrap_or_default()).sum();
                assert!(agree(name, sum, total), "{name} of rows by {group}: {sum}, {total} together, {options:?}");
            }
        }
    }
    for options in [&[][..], &["--paid"]] {
        let whole = report(recording, options);
        let half = (whole["seconds"].as_f64().unwrap() * 5e8) as u64;
        let (to, from) = (format!("{half}ns"), format!("{}ns", half + 1));
        let [first, second] =
            [["--to", &to], ["--from", &from]].map(|span| report(recording, &[options, &span].concat()));
        for name in NUMBERS.iter().filter(|name| !name.starts_with("live")) {
            let [first, second, whole] = [&first, &second, &whole].map(|of| of["totals"][name].as_u64());
            if let (Some(first), Some(second), Some(whole)) = (first, second, whole) {
                assert!(agree(name, first + second, whole), "{name}: {first} and {second} of {whole}, {options:?}");
            }
        }
    }
}

/// Threads that free each other's blocks and wait for each other.
#[test]
fn of_threads() {
    check(&Target::new(program("contended_handover.c")).record_alone());
}

#[test]
fn of_a_heap_that_grows_and_shrinks() {
    check(&Target::new(program("heap_moves.c")).arg("gives_back").record_alone());
}

#[test]
fn of_an_interpreter_with_threads() {
    let script = "import json, threading
def work():
    for i in range(60):
        json.loads(json.dumps({str(k): [k] * 5 for k in range(100)}))
all = [threading.Thread(target=work) for _ in range(3)]
[one.start() for one in all]
[one.join() for one in all]";
    check(&Target::new("/usr/bin/python3").arg("-c").arg(script).record_alone());
}

#[test]
fn of_the_processes_of_a_script() {
    check(&Target::shell("for i in 1 2 3; do ls -l /usr/bin | sort | tail -n 1; done; exec ls /", &[]).record_alone());
}
