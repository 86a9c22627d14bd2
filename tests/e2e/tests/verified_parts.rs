//! The parts that `memtoll verify` measures are those that recordings tell and advice predicts.

use memtoll_e2e::{memtoll, program, run};
use serde_json::Value;
use std::process::Command;

/// Zeroing of calloc and copying of realloc are done by memset and memcpy of the C library, for the allocator.
#[test]
fn what_the_allocator_zeroes_and_copies_is_its_own_time() {
    let program = program("zeroes.c").display().to_string();
    for problem in ["calloc", "realloc"] {
        let mut verify = Command::new(memtoll());
        verify.args(["verify", "--before", &format!("{program} {problem}"), "--after"]);
        verify.args([&format!("{program} {problem} fixed"), "--max-time", "20", "--format", "json"]);
        let outcome = run(verify);
        let json: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
        let saved =
            |key: &str, end: &str| json["saved"][key][end].as_f64().unwrap_or_else(|| panic!("no {key}: {json:#}"));
        let (all, own) = (saved("cpu_ns", "median"), saved("allocator_ns", "median"));
        assert!(saved("cpu_ns", "low") > 0.0, "{problem}: nothing is saved: {json:#}");
        assert!((0.7 * all..1.3 * all).contains(&own), "{problem}: {own} in the allocator of {all}");
    }
}
