//! `memtoll try` finds the setting that helps a program whose cure is known.

use memtoll_e2e::{memtoll, program};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_heap_that_is_given_back_and_taken_again_is_kept() {
    let mut command = Command::new(memtoll());
    command.args(["try", "--only", "keep-heap,one-arena", "--metric", "faults", "--format", "json"]);
    command.args(["--min-rounds", "5", "--max-rounds", "5", "--"]).arg(program("heap_thrash.c"));
    let output = command.env_remove("GLIBC_TUNABLES").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["winner"], "keep-heap", "{json}");
    let best = &json["candidates"][0];
    // 60 rounds fault on 40 x 24 pages each; kept, the first one does.
    let saved = best["saved"]["faults"]["median"].as_f64().unwrap();
    assert!((50_000.0..62_000.0).contains(&saved), "{json}");
    assert!(best["setting"].as_str().unwrap().starts_with("GLIBC_TUNABLES=glibc.malloc.trim_threshold="), "{json}");
}
