//! Programs with a change whose saving can be predicted: those with a known fix, and programs from elsewhere with another
//! allocator or a tunable.

use crate::programs::tuned_programs;
use crate::run::CommandLine;
use memtoll_text::shell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command as it is typed, with its environment.
#[derive(Clone)]
pub struct Side {
    /// Words, of which none is quoted.
    pub typed: String,
    /// Additions to the environment.
    pub environment: Vec<(String, String)>,
}

/// What is changed, and who predicts what that saves.
#[derive(Clone, Copy)]
pub enum Change {
    /// The source: the finding of this rule in a function whose name contains this. The program is built in both versions.
    Source(&'static str, &'static str),
    /// The tunables that the finding of this rule names.
    Advised(&'static str),
    /// Another allocator, predicted by a replay.
    Allocator(&'static str),
    /// Tunables, predicted by a replay.
    Tunables(&'static str),
}

impl Change {
    /// In a few words.
    pub fn shown(&self) -> String {
        match self {
            Change::Source(rule, _) => (*rule).to_owned(),
            Change::Advised(rule) => format!("{rule}, with its tunables"),
            Change::Allocator(name) => format!("replay, {name}"),
            Change::Tunables(tunables) => format!("replay, {tunables}"),
        }
    }
}

/// What has to be made before a program can run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Made {
    /// A case study, in all its steps.
    CaseStudy(&'static str),
    /// The programs of the end-to-end tests, one in C++ and one in Rust.
    Cxx,
    Rust,
    /// Programs in C++ that were written after the model, to test it.
    Later,
    /// Inputs of programs that are there.
    Elsewhere,
}

/// A program, and what is changed.
pub struct Case {
    /// Short name.
    pub name: &'static str,
    /// What is changed.
    pub change: Change,
    /// Whether the model was never changed after this program was looked at.
    pub held_out: bool,
    made: Made,
    /// Arguments before and after a change of the source.
    words: [&'static str; 2],
}

/// Programs with a known fix: those that the model was fitted to, and some that were written later.
pub fn known_fixes() -> Vec<Case> {
    use Made::{CaseStudy, Cxx, Later, Rust};
    let case = |(name, rule, function, made, before, after)| Case {
        name,
        change: Change::Source(rule, function),
        held_out: made == Made::Later,
        made,
        words: [before, after],
    };
    let (terminal, writer) = (CaseStudy("terminal"), CaseStudy("serializer"));
    let studies = [
        ("terminal, deque", "node-container", "make_rows", terminal, "before", "2_reserve"),
        ("terminal, no reserve", "growth", "make_rows", terminal, "1_vector", "2_reserve"),
        ("terminal, runs", "small-vectors", "AttrRow", terminal, "2_reserve", "3_inline_run"),
        ("terminal, cells", "small-vectors", "CharRow", terminal, "3_inline_run", "4_inline_cells"),
        ("dictionary", "arena", "Entries::copy", CaseStudy("dictionary"), "4_new", "5_pool"),
        ("camera", "reuse", "allocate_pixels", CaseStudy("camera"), "before", "after"),
        ("serializer, asprintf", "formatting", "print", writer, "asprintf", "to_chars"),
    ];
    let small = [
        ("growth, C++", "growth", "fill_vector", Cxx),
        ("small vectors, C++", "small-vectors", "Item", Cxx),
        ("map, C++", "node-container", "fill_map", Cxx),
        ("names, C++", "arena", "make_names", Cxx),
        ("frames, C++", "reuse", "take_frames", Cxx),
        ("keys, C++", "temporary", "look_up", Cxx),
        ("lines, C++", "formatting", "write_lines", Cxx),
        ("null pointers, C++", "free-null", "free_nothing", Cxx),
        ("growth, Rust", "growth", "fill_vec", Rust),
        ("boxes, Rust", "arena", "make_nodes", Rust),
        ("numbers, Rust", "formatting", "write_numbers", Rust),
        ("list, C++", "node-container", "fill_list", Later),
        ("set, C++", "node-container", "fill_set", Later),
        ("scratch, C++", "temporary", "smooth", Later),
        ("labels, C++", "formatting", "make_labels", Later),
        ("records, C++", "arena", "make_records", Later),
        ("points, C++", "small-vectors", "Sample", Later),
    ];
    let small = small.map(|(name, rule, function, made)| (name, rule, function, made, "", " fixed"));
    studies.into_iter().chain(small).map(case).collect()
}

/// Programs that memtoll was not made with, and what can be changed from outside.
pub fn elsewhere() -> Vec<Case> {
    use Change::{Advised, Allocator, Tunables};
    let all = [
        ("git log -p", false, Advised("heap-thrash")),
        ("git log -p", false, Tunables("glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=67108864")),
        ("jq", false, Allocator("tcmalloc")),
        ("jq", false, Allocator("mimalloc")),
        ("python3", false, Allocator("mimalloc")),
        ("python3", false, Allocator("jemalloc")),
        ("perl", false, Allocator("tcmalloc")),
        ("perl", false, Tunables("glibc.malloc.tcache_count=2000")),
        ("sqlite3", false, Allocator("mimalloc")),
        ("cc1plus", false, Allocator("tcmalloc")),
        ("cc1plus", false, Tunables("glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864")),
    ];
    all.map(|(name, held_out, change)| Case { name, change, held_out, made: Made::Elsewhere, words: ["", ""] }).into()
}

/// Makes what programs need, each once.
pub struct Workshop {
    folder: PathBuf,
    made: BTreeMap<Made, Result<(), String>>,
}

impl Workshop {
    /// In this folder.
    pub fn new(folder: &Path) -> Workshop {
        Workshop { folder: folder.to_owned(), made: BTreeMap::new() }
    }

    /// The program before the change and, if its source is changed, after it.
    pub fn sides(&mut self, case: &Case) -> Result<(Side, Option<Side>), String> {
        let made = self.made.entry(case.made).or_insert_with(|| make(case.made, &self.folder));
        made.clone()?;
        let [before, after] = case.words;
        let typed = |words: &str| Side { typed: words.to_owned(), environment: Vec::new() };
        let both = |program: &dyn Fn(&str) -> String| (typed(&program(before)), Some(typed(&program(after))));
        let studies = "target/casestudies";
        Ok(match (case.made, case.change) {
            (Made::CaseStudy("terminal"), _) => both(&|step| format!("{studies}/terminal-{step} README.md")),
            (Made::CaseStudy("dictionary"), _) => {
                let words = self.folder.join("dictionary.u8");
                both(&|step| format!("{studies}/dictionary-{step} --file {}", words.display()))
            }
            (Made::CaseStudy("camera"), _) => {
                both(&|variant| format!("{studies}/camera-{variant} --frames 300 --fps 0"))
            }
            (Made::CaseStudy(_), _) => {
                both(&|writer| format!("{studies}/serializer-release --pages 64 --threads 1 --writer {writer}"))
            }
            (Made::Cxx | Made::Rust, Change::Source(rule, _)) => {
                let program = self.folder.join(if case.made == Made::Cxx { "advice" } else { "advice_rust" });
                both(&|fixed| format!("{} {rule}{fixed}", program.display()))
            }
            (Made::Later, Change::Source(_, function)) => {
                let program = self.folder.join("later");
                both(&|fixed| format!("{} {function}{fixed}", program.display()))
            }
            _ => {
                let programs = tuned_programs(&self.folder)?;
                let program =
                    programs.into_iter().find(|program| program.name == case.name).ok_or("no such program")?;
                let words: Vec<_> = program.command.words.iter().map(|word| word.to_string_lossy()).collect();
                (Side { typed: shell::line(&words), environment: program.command.environment.clone() }, None)
            }
        })
    }
}

fn make(what: Made, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let compile = |compiler: &str, options: &[&str], source: &str, to: &str| {
        let source = Path::new(source);
        let status = Command::new(compiler).args(options).arg("-o").arg(folder.join(to)).arg(source).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(format!("{compiler} cannot compile {}", source.display())),
            Err(error) => Err(format!("cannot run {compiler}: {error}")),
        }
    };
    match what {
        Made::CaseStudy(name) => {
            let at = format!("casestudies/{name}");
            CommandLine::new(["make", "--silent", "--directory", &at, "OUT=../../target/casestudies"]).measure()?;
            if name == "dictionary" {
                let text = CommandLine::new(["target/casestudies/dictionary-generate"]).output()?;
                let words = folder.join("dictionary.u8");
                fs::write(&words, text).map_err(|error| format!("cannot write {}: {error}", words.display()))?;
            }
            Ok(())
        }
        Made::Cxx => compile("g++", &["-std=c++20", "-g", "-O2"], "tests/e2e/programs/advice.cpp", "advice"),
        Made::Later => compile("g++", &["-std=c++20", "-g", "-O2"], "bench/programs/later.cpp", "later"),
        Made::Rust => compile(
            "rustc",
            &["--edition", "2021", "-g", "-Copt-level=2"],
            "tests/e2e/programs/advice_rust.rs",
            "advice_rust",
        ),
        Made::Elsewhere => Ok(()),
    }
}
