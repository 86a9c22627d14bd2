//! How a program was built, and what to change to see more of it.

use super::binary::{Binary, Error, Language};
use super::checks::{Check, Finding, Outcome, run};
use memtoll_analysis::findings::BUILD_RUST_WITH_LINES;
use memtoll_record::{ExpectedAllocators, Verdict};
use memtoll_symbols::{System, is_of_distribution};
use memtoll_trace::meta::{OwnAllocator, RecordedCalls};
use memtoll_trace::path::last_part;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A program with what was found.
#[derive(Debug, Serialize)]
pub struct Examined {
    /// The file that is executed.
    pub path: PathBuf,
    /// The script of which it is the interpreter.
    pub script: Option<PathBuf>,
    /// What it is written in.
    pub language: Language,
    /// What was found.
    pub checks: Vec<Finding>,
}

const CHECKS: [Check<Binary>; 6] = [
    ("recording", recording),
    ("built by", compilers),
    ("names", names),
    ("lines", lines),
    ("call stacks", call_stacks),
    ("allocator", allocator),
];

/// Looks at the program that `name` would start.
pub fn program(name: &Path) -> Result<Examined, Error> {
    let binary = Binary::read(name)?;
    let checks = run(&CHECKS, &binary);
    Ok(Examined { path: binary.path, script: binary.script, language: binary.language, checks })
}

/// Where debug files of the distribution come from.
pub(crate) fn server_command() -> String {
    format!("export DEBUGINFOD_URLS={}", System::here().server())
}

fn recording(binary: &Binary) -> Option<Outcome> {
    Some(match &binary.verdict {
        Verdict::Recordable => Outcome::ok("it can be recorded"),
        Verdict::Unrecordable(why) | Verdict::Disturbed(why) => match why.rsplit_once("; ") {
            Some((why, remedy)) => Outcome::missing(why).helped_by(remedy),
            None => Outcome::missing(why),
        },
    })
}

fn compilers(binary: &Binary) -> Option<Outcome> {
    let language = match binary.language {
        Language::Rust => "Rust",
        Language::Cxx => "C++",
        Language::C => "C",
        Language::Go => {
            return Some(Outcome::note(
                "Go: its runtime has an allocator of its own, so memtoll records only calls from C",
            ));
        }
    };
    let compilers = match &binary.compilers[..] {
        [] => String::new(),
        list => format!(": {}", list.join(", ")),
    };
    Some(Outcome::ok(format!("{language}{compilers}")))
}

/// What a program does not have.
#[derive(Clone, Copy)]
enum Lacks {
    /// It is stripped.
    Names,
    Lines,
}

/// How to get names and lines of a program: the debug package, or a change of the build.
fn with_debug_information(binary: &Binary, lacks: Lacks) -> String {
    let path = binary.path.to_string_lossy();
    if is_of_distribution(&path) {
        // A server has the libraries' names, too. Debug packages need a source of packages that systems come without.
        return match std::env::var_os("DEBUGINFOD_URLS").is_some_and(|urls| !urls.is_empty()) {
            true => System::here().install(&path).unwrap_or_else(server_command),
            false => server_command(),
        };
    }
    match (binary.language, lacks) {
        (Language::Rust, Lacks::Names) => {
            "CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none cargo build --release"
        }
        (Language::Rust, Lacks::Lines) => BUILD_RUST_WITH_LINES,
        (Language::Cxx, Lacks::Names) => "build with -g in CXXFLAGS, and without -s and strip",
        (Language::Cxx, Lacks::Lines) => "build with -g in CXXFLAGS (CMake: -DCMAKE_BUILD_TYPE=RelWithDebInfo)",
        (_, Lacks::Names) => "build with -g in CFLAGS, and without -s and strip",
        (_, Lacks::Lines) => "build with -g in CFLAGS (CMake: -DCMAKE_BUILD_TYPE=RelWithDebInfo)",
    }
    .to_owned()
}

fn has_names(binary: &Binary) -> bool {
    binary.sample.named * 2 >= binary.sample.functions
}

fn names(binary: &Binary) -> Option<Outcome> {
    if binary.sample.functions == 0 {
        return None; // the lack of frames says it
    }
    Some(match (has_names(binary), binary.has_symbols) {
        (true, true) => Outcome::ok("it has its symbols"),
        (true, false) => Outcome::ok("stripped, but exported or in a debug file"),
        (false, _) => Outcome::missing("stripped: only exported functions have names")
            .helped_by(with_debug_information(binary, Lacks::Names)),
    })
}

fn lines(binary: &Binary) -> Option<Outcome> {
    let sample = &binary.sample;
    if sample.own == 0 {
        return None;
    }
    let share = sample.own_with_line as f64 / sample.own as f64;
    if share >= 0.5 {
        return Some(Outcome::ok("its functions have source lines"));
    }
    if sample.own_with_line > 0 {
        // Libraries that are linked in often come without.
        return Some(Outcome::note(format!("{:.0} % of the functions linked in have source lines", share * 100.0)));
    }
    let outcome = Outcome::missing("no source lines for its own functions");
    // What brings the names of a stripped program back brings its lines, too.
    Some(if has_names(binary) { outcome.helped_by(with_debug_information(binary, Lacks::Lines)) } else { outcome })
}

fn call_stacks(binary: &Binary) -> Option<Outcome> {
    /// Some assembler is always without.
    const ENOUGH: f64 = 0.8;
    if binary.unwindable >= ENOUGH {
        return Some(Outcome::ok("it has unwind tables (.eh_frame)"));
    }
    let found = Outcome::note(format!(
        "unwind tables (.eh_frame) for {:.0} % of its code; for the rest, memtoll finds callers by reading the code, which is less sure",
        binary.unwindable * 100.0
    ));
    Some(match binary.language {
        Language::Go => found, // its compiler writes tables of another kind
        Language::Rust => found.helped_by("RUSTFLAGS='-C force-unwind-tables=yes' cargo build --release"),
        Language::C | Language::Cxx => found.helped_by("build with -fasynchronous-unwind-tables"),
    })
}

fn allocator(binary: &Binary) -> Option<Outcome> {
    let ExpectedAllocators { own, malloc } = &binary.allocators;
    let is_recorded = |own: &OwnAllocator| own.recorded == RecordedCalls::All;
    // The one whose calls are missing first; then the program's own.
    Some(match own.iter().find(|own| !is_recorded(own)).or(own.first()) {
        Some(own) if is_recorded(own) && Path::new(&own.file) == binary.path => {
            Outcome::ok(format!("{} inside it: its calls are recorded", own.name))
        }
        Some(own) if is_recorded(own) => {
            Outcome::ok(format!("{} inside {}: its calls are recorded", own.name, last_part(&own.file)))
        }
        Some(own) => Outcome::missing(memtoll_model::what_is_missing(own)).helped_by(memtoll_model::REMEDY),
        None if binary.defined.contains("_Znwm") => {
            Outcome::note("operator new is linked in (-static-libstdc++): its calls count as malloc's")
        }
        None if binary.imported.is_empty() && binary.language != Language::Go => {
            Outcome::note("it calls no allocation function itself; its libraries may")
        }
        None => match malloc {
            Some(malloc) => {
                Outcome::ok(format!("{} in {}, which memtoll records", malloc.name, last_part(&malloc.file)))
            }
            None => Outcome::ok("the libraries' allocator, which memtoll records"),
        },
    })
}
