//! Compiles the recorder, which is then embedded in the binary. Its debug information stays in a file of its own,
//! `libmemtoll.so.debug`: without it, the binary is 2 MB smaller, and runs have 2 MB less to write and to read.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Those of recorder/CMakeLists.txt, less -Werror (other compilers warn of other things); tests/flags.rs compares them.
const FLAGS: &[&str] = &[
    "-std=c++20",
    "-shared",
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-Wundef",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fvisibility=hidden",
    "-fPIC",
    "-fno-plt",
    "-fno-optimize-sibling-calls",
];
const LINK: &[&str] = &["-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,-z,defs", "-nodefaultlibs", "-lc", "-lgcc"];

/// Folders of the recorder's sources; others hold what only its tests and checks need.
const FOLDERS: &[&str] = &["src", "src/arch", "src/arch/x86_64", "src/hooks", "src/threads", "src/unwind"];

/// The C++ files in a folder, without its subfolders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cpp"));
    files.sort();
    files
}

/// Moves the debug information of `library` to `library.debug`. The names of functions stay.
fn split_debug_information(library: &Path) {
    let debug = library.with_extension("so.debug");
    let objcopy = |arguments: &[&std::ffi::OsStr]| {
        let status = Command::new("objcopy").args(arguments).status();
        let status = status.unwrap_or_else(|error| panic!("cannot run objcopy, a part of binutils: {error}"));
        assert!(status.success(), "objcopy {arguments:?}: {status}");
    };
    objcopy(&["--only-keep-debug".as_ref(), library.as_os_str(), debug.as_os_str()]);
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    objcopy(&["--strip-debug".as_ref(), &link, library.as_os_str()]);
}

fn main() {
    // As it is now, not as it was compiled: a clone may have been moved.
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let recorder = manifest.join("../../recorder");
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("libmemtoll.so");
    let files: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| sources(&recorder.join(folder))).collect();
    let remedies = recorder.join("../remedies/include");
    println!("cargo::rerun-if-changed={}", remedies.join("memtoll/config.hpp").display());
    let mut compiler = cc::Build::new().cpp(true).no_default_flags(true).warnings(false).get_compiler().to_command();
    compiler.args(FLAGS).arg("-I").arg(recorder.join("include")).arg("-I").arg(remedies);
    compiler.arg("-o").arg(&output).args(&files).args(LINK);
    let status = compiler.status().unwrap_or_else(|error| panic!("cannot run a C++ compiler ({compiler:?}): {error}"));
    assert!(status.success(), "the recorder does not compile; a C++20 compiler is needed: {compiler:?}");
    split_debug_information(&output);
}
