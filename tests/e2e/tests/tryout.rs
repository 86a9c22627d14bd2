//! `memtoll try` finds the setting that helps a program whose cure is known.

use memtoll_e2e::{Target, memtoll, printed, program, run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Five rounds of a program and of these settings.
fn tried(only: &str, metric: &str, format: &str, program: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(memtoll());
    command.args(["try", "--only", only, "--metric", metric, "--format", format, "--ignore-output"]);
    command.args(["--min-rounds", "5", "--max-rounds", "5", "--"]).arg(program).args(arguments);
    let output = command.env_remove("GLIBC_TUNABLES").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_heap_that_is_given_back_and_taken_again_is_kept() {
    let text = tried("keep-heap,one-arena", "faults", "json", &program("heap_thrash.c"), &[]);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["winner"], "keep-heap", "{json}");
    let best = &json["candidates"][0];
    // 60 rounds fault on 40 x 24 pages each; kept, the first one does.
    let saved = best["saved"]["faults"]["median"].as_f64().unwrap();
    assert!((50_000.0..62_000.0).contains(&saved), "{json}");
    assert!(best["setting"].as_str().unwrap().starts_with("GLIBC_TUNABLES=glibc.malloc.trim_threshold="), "{json}");
}

/// Twelve threads fill a heap each, one after the other. What they print of themselves is what memtoll measures that one arena saves.
#[test]
fn the_resident_set_at_the_end_is_measured_before_and_after() {
    let program = program("what_helps.c");
    let arguments = ["arenas", "none"];
    let text = tried("one-arena", "resident-end", "json", &program, &arguments);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["winner"], &json["decided_by"]), (&"one-arena".into(), &"resident_end_bytes".into()), "{json}");
    let target = Target::new(&program).args(arguments);
    let plainly = |target: &Target| printed(&run(target.plain_command()).stdout, "after") as f64;
    let as_it_is = plainly(&target);
    let saved = as_it_is - plainly(&target.env("GLIBC_TUNABLES", "glibc.malloc.arena_max=1"));
    // The program leaves out pages of files.
    let of_files = json["plain"]["resident_end_bytes"]["median"].as_f64().unwrap() - as_it_is;
    assert!((0.0..4e6).contains(&of_files), "{as_it_is}: {json}");
    let found = json["candidates"][0]["saved"]["resident_end_bytes"]["median"].as_f64().unwrap();
    assert!((found - saved).abs() <= saved / 50.0 + 65_536.0, "{saved}: {json}");
    let text = tried("one-arena", "resident-end", "text", &program, &arguments);
    assert!(text.contains("resident set at the end") && text.contains("of resident set at the end"), "{text}");
}
