//! What the doctor says of programs that were built in one way or another.

use super::binary::Language;
use super::checks::{Finding, Status};
use super::program::{Examined, program};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const C: &str = "#include <stdlib.h>\n#include <stdio.h>\n\
    __attribute__((noinline)) static void *one(int n) { return malloc(n + 10); }\n\
    __attribute__((noinline)) static void two(int n) { void *p = one(n); printf(\"%p\", p); free(p); }\n\
    int main(int n, char **v) { (void) v; two(n); return 0; }\n";
const OWN_MALLOC: &str = "void *malloc(__SIZE_TYPE__ n) { static char pool[99999]; static __SIZE_TYPE__ at; at += n; \
    return pool + at - n; }\nvoid free(void *p) { (void) p; }\nint main(void) { return !malloc(7); }\n";
const CXX: &str = "#include <string>\n#include <vector>\n\
    namespace app { struct row { std::vector<std::string> cells; }; __attribute__((noinline)) void fill(row &r) { r.cells.emplace_back(100, 'x'); } }\n\
    int main() { app::row r; app::fill(r); return r.cells.size() - 1; }\n";
const RUST: &str = "#[inline(never)] fn words(n: usize) -> Vec<String> { (0..n).map(|i| i.to_string()).collect() }\n\
    fn main() { println!(\"{}\", words(std::env::args().count()).len()); }\n";

struct Built {
    file: PathBuf,
    _folder: TempDir,
}

fn build(compiler: &[&str], source: &str, extension: &str) -> Built {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("program.{extension}"));
    std::fs::write(&path, source).unwrap();
    let file = folder.path().join("program");
    let status = Command::new(compiler[0]).args(&compiler[1..]).arg("-o").arg(&file).arg(&path).status();
    assert!(status.unwrap().success(), "{compiler:?}");
    Built { file, _folder: folder }
}

fn examine(compiler: &[&str], source: &str, extension: &str) -> Examined {
    program(&build(compiler, source, extension).file).unwrap()
}

#[track_caller]
fn of<'a>(examined: &'a Examined, check: &str) -> &'a Finding {
    examined.checks.iter().find(|finding| finding.check == check).unwrap_or_else(|| panic!("{check}: {examined:?}"))
}

/// That these checks miss something, and no other.
#[track_caller]
fn misses(examined: &Examined, expected: &[&str]) {
    let missing = examined.checks.iter().filter(|finding| finding.status == Status::Missing);
    let missing: Vec<&str> = missing.map(|finding| finding.check).collect();
    assert_eq!(missing, expected, "{examined:?}");
}

#[track_caller]
fn remedy<'a>(examined: &'a Examined, check: &str) -> &'a str {
    of(examined, check).remedy.as_deref().unwrap_or_else(|| panic!("{check} has no remedy: {examined:?}"))
}

#[test]
fn programs_with_debug_information_lack_nothing() {
    misses(&examine(&["gcc", "-O2", "-g"], C, "c"), &[]);
    let cxx = examine(&["g++", "-O2", "-g"], CXX, "cpp");
    misses(&cxx, &[]);
    assert_eq!(cxx.language, Language::Cxx);
    let rust = examine(&["rustc", "-O", "-Cdebuginfo=line-tables-only"], RUST, "rs");
    misses(&rust, &[]);
    assert_eq!(rust.language, Language::Rust);
}

#[test]
fn the_flag_that_brings_lines_is_that_of_the_language() {
    let c = examine(&["gcc", "-O2"], C, "c");
    misses(&c, &["lines"]);
    assert_eq!(c.language, Language::C);
    assert!(remedy(&c, "lines").contains("-g in CFLAGS"), "{c:?}");
    let cxx = examine(&["g++", "-O2"], CXX, "cpp");
    misses(&cxx, &["lines"]);
    assert!(remedy(&cxx, "lines").contains("-g in CXXFLAGS"), "{cxx:?}");
    // Its standard library has lines; the program's own functions have none.
    let rust = examine(&["rustc", "-O"], RUST, "rs");
    misses(&rust, &["lines"]);
    assert!(remedy(&rust, "lines").contains("RELEASE_DEBUG=line-tables-only"), "{rust:?}");
}

#[test]
fn stripped_programs_and_lost_frames_are_found() {
    let c = examine(&["gcc", "-O2", "-s"], C, "c");
    misses(&c, &["names", "lines"]);
    assert!(remedy(&c, "names").contains("without -s"), "{c:?}");
    let rust = examine(&["rustc", "-O", "-Cstrip=symbols"], RUST, "rs");
    misses(&rust, &["names", "lines"]);
    assert!(remedy(&rust, "names").contains("RELEASE_STRIP=none"), "{rust:?}");
    let many: String =
        (0..50).map(|number| format!("int f{number}(int n) {{ return n / ({number} + n); }}\n")).collect();
    let frameless = examine(&["gcc", "-O2", "-g", "-fno-asynchronous-unwind-tables"], &(many + C), "c");
    assert!(remedy(&frameless, "call stacks").contains("-fasynchronous-unwind-tables"), "{frameless:?}");
    assert!(
        of(&frameless, "call stacks").found.contains("callers by reading the code, which is less sure"),
        "{frameless:?}"
    );
}

#[test]
fn what_cannot_be_recorded_is_said_with_what_would_help() {
    let fixed = examine(&["gcc", "-g", "-static"], C, "c");
    assert_eq!(of(&fixed, "recording").status, Status::Missing);
    assert!(remedy(&fixed, "recording").contains("link it dynamically"), "{fixed:?}");
    let sanitized = examine(&["gcc", "-g", "-fsanitize=address"], C, "c");
    assert!(of(&sanitized, "recording").found.contains("sanitizer"), "{sanitized:?}");
    let own = examine(&["gcc", "-g", "-fno-builtin"], OWN_MALLOC, "c");
    let allocator = of(&own, "allocator");
    assert_eq!(allocator.status, Status::Ok, "{own:?}");
    assert!(allocator.found.contains("its calls are recorded"), "{own:?}");
}

/// A library with a jemalloc for itself, in a program that has another malloc or the C library's.
#[test]
fn allocators_of_libraries_are_found() {
    let of_libc = examine(&["gcc", "-g"], C, "c");
    let found = &of(&of_libc, "allocator").found;
    assert!(found.starts_with("glibc ") && found.contains(" in libc.so.6"), "{found}");
    let preferred = examine(&["gcc", "-g", "-Wl,--no-as-needed", "-ljemalloc"], C, "c");
    assert!(of(&preferred, "allocator").found.contains("jemalloc in libjemalloc.so.2"), "{preferred:?}");

    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("parts.c");
    std::fs::write(&source, "#include <stdlib.h>\nvoid *part(int n) { return malloc(n); }\n").unwrap();
    let link = Command::new("gcc")
        .args(["-g", "-shared", "-fPIC", "-Wl,--exclude-libs,ALL", "-o"])
        .args([&folder.path().join("libparts.so"), &source])
        .args(["-l:libjemalloc_pic.a", "-lm", "-lstdc++", "-lpthread", "-ldl"])
        .status();
    assert!(link.unwrap().success());
    let folder = folder.path().to_str().unwrap();
    let run_path = format!("-Wl,-rpath,{folder}");
    let with = examine(&["gcc", "-g", &run_path, "-L", folder, "-Wl,--no-as-needed", "-lparts"], C, "c");
    assert_eq!(of(&with, "allocator").found, "jemalloc inside libparts.so: its calls are recorded", "{with:?}");
}

#[test]
fn scripts_are_their_interpreters() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/usr/bin/env sh\nexit 0\n").unwrap();
    assert!(Command::new("chmod").arg("755").arg(&script).status().unwrap().success());
    let examined = program(&script).unwrap();
    assert_eq!(examined.script.as_deref(), Some(script.as_path()));
    assert!(examined.path.ends_with("sh"), "{examined:?}");
}

#[test]
fn what_is_no_program_is_an_error_that_names_it() {
    let error = |name: &str| program(Path::new(name)).unwrap_err().to_string();
    assert!(error("no-such-program-anywhere").contains("no-such-program-anywhere"));
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("letter");
    std::fs::write(&text, "a letter").unwrap();
    assert!(Command::new("chmod").arg("755").arg(&text).status().unwrap().success());
    assert!(error(text.to_str().unwrap()).contains("not an ELF program"));
}
