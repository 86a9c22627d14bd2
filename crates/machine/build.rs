//! Compiles the measuring programs of `machine/`, which are then embedded in the binary.

use std::path::{Path, PathBuf};

/// Like the recorder, they need nothing of the C++ runtime. -Werror is left to the tests: other compilers warn of other
/// things.
const FLAGS: &[&str] = &[
    "-std=c++20",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Wundef",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-pthread",
];
const LINK: &[&str] = &["-s", "-nodefaultlibs", "-lc", "-lgcc", "-lpthread"];

/// The C++ files of a folder that are for Linux.
fn sources(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let name = |path: &Path| path.to_string_lossy().into_owned();
    files.retain(|file| name(file).ends_with(".cpp") && !name(file).ends_with("_windows.cpp"));
    files.sort();
    files
}

/// Compiles `machine/NAME` together with what the programs have in common to `OUT_DIR/NAME`.
fn build(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machine");
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(name);
    let files = [sources(&root.join("common")), sources(&root.join(name))].concat();
    let mut compiler = cc::Build::new().cpp(true).no_default_flags(true).warnings(false).get_compiler().to_command();
    compiler.args(FLAGS).arg("-o").arg(&output).args(&files).args(LINK);
    let status = compiler.status().unwrap_or_else(|error| panic!("cannot run a C++ compiler ({compiler:?}): {error}"));
    assert!(status.success(), "{name} does not compile; a C++20 compiler is needed: {compiler:?}");
}

fn main() {
    build("prices");
}
