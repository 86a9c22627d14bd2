//! memtoll on recordings that never change (`format/golden`): their names are enough.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden").join(name)
}

pub fn memtoll(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memtoll"));
    for word in words {
        match word.ends_with(".memtoll") {
            true => command.arg(golden(word)),
            false => command.arg(word),
        };
    }
    command.output().unwrap()
}

pub fn text(words: &[&str]) -> String {
    let output = memtoll(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn json(words: &[&str]) -> Value {
    serde_json::from_str(&text(&[words, &["--format", "json"]].concat())).unwrap()
}
