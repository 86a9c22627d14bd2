//! The recorder is built twice: by this crate's build script, for users, and by CMake, for its own tests. Both must build
//! the same thing.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// What stands between two pieces of a text.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split(start).nth(1).and_then(|rest| rest.split(end).next()).unwrap_or_else(|| panic!("no {start}"))
}

/// Flags in a piece of text, without those that only one of the two needs.
fn flags(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| c.is_whitespace() || c == '"');
    let words = words.map(|word| word.trim_end_matches(',')).filter(|word| word.starts_with('-'));
    words
        .filter(|word| !["-Werror", "-g", "-std=c++20", "-shared", "-lc", "-lgcc"].contains(word))
        .map(str::to_owned)
        .collect()
}

#[test]
fn both_builds_use_the_same_flags() {
    let cmake = read("../../recorder/CMakeLists.txt");
    let script = read("build.rs");
    let compile = format!("{} {}", between(&cmake, "set(WARNINGS", ")"), between(&cmake, "set(RECORDER_FLAGS", ")"));
    assert_eq!(flags(between(&script, "const FLAGS", "];")), flags(&compile));
    let link = between(&cmake, "set(RECORDER_LINK", ")");
    assert_eq!(flags(between(&script, "const LINK", "];")), flags(link));
}

/// The build script goes on after a warning: other compilers warn of other things.
#[test]
fn the_compiler_warns_of_nothing() {
    assert_eq!(include_str!(concat!(env!("OUT_DIR"), "/warnings.txt")), "");
}

/// Programs call hooks with stack pointers that these registers' places in memory would not stand.
#[test]
fn no_vector_register_is_used() {
    let library = concat!(env!("OUT_DIR"), "/libmemtoll.so");
    let output = Command::new("objdump").args(["--disassemble", "--no-show-raw-insn", library]).output();
    let text = String::from_utf8(output.expect("objdump, a part of binutils").stdout).unwrap();
    let instructions = || text.lines().filter(|line| line.starts_with(' '));
    assert!(instructions().count() > 10_000, "{text}");
    let found: Vec<&str> = instructions().filter(|line| line.contains("%xmm")).collect();
    assert!(found.is_empty(), "{found:#?}");
}
