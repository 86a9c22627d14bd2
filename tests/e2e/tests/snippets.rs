//! What the documents show: code compiles, commands are understood. An unlisted snippet fails.
//!
//! A snippet is an indented block, or a fenced one that names its language; fenced ones without a language are output.
//! Each is found by its document and the beginning of its first line: C and C++ in the files of `snippets/`, which say what
//! stands around it, the rest in [`OTHERS`].

use memtoll_e2e::{Target, install, memtoll, program, run, scratch, workspace};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a snippet is that is no C or C++.
#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    /// Commands: the shell can read them, and memtoll knows the options.
    Commands,
    /// Lines that stand in this file, too, which another test uses; `<…>` is for the reader to fill in.
    LinesOf(&'static str),
    /// A budget: memtoll understands every line.
    Budget,
    /// A workflow of GitHub Actions: its commands run, one after the other, and succeed.
    Workflow,
    /// A piece of data, or a drawing.
    Text,
}

const OTHERS: &[(&str, &str, What)] = &[
    ("README.md", "make dist", What::Commands),
    ("README.md", "make demo", What::Commands),
    ("README.md", "memtoll report", What::Commands),
    ("README.md", "memtoll view", What::Commands),
    ("README.md", "memtoll advise", What::Commands),
    ("README.md", "memtoll budget", What::Commands),
    ("README.md", "memtoll fleet", What::Commands),
    ("README.md", "memtoll try", What::Commands),
    ("CONTRIBUTING.md", "make help", What::Commands),
    ("remedies/README.md", "include(FetchContent)", What::LinesOf("remedies/tests/fetch/CMakeLists.txt")),
    ("docs/advice.md", "memtoll record ./app", What::Commands),
    ("docs/report.md", "400 KiB  never freed", What::Text),
    ("docs/resident.md", "memtoll report app.memtoll --resident --chart", What::Commands),
    ("docs/resident.md", "memtoll report app.memtoll --metric pinned", What::Commands),
    ("docs/report.md", "# a library that we cannot change", What::Text),
    ("docs/advice.md", "saving = calls", What::Text),
    ("docs/advice.md", "memtoll verify --before ./app.old", What::Commands),
    ("docs/advice.md", "memtoll advise app.memtoll --patch", What::Commands),
    ("docs/attach.md", "memtoll attach 4711", What::Commands),
    ("docs/attach.md", "memtoll attach $(docker", What::Commands),
    ("docs/calibrate.md", "memtoll record --calibrate --", What::Commands),
    ("docs/ci.md", "memtoll ./app", What::Commands),
    ("docs/ci.md", "memtoll check --each-test", What::Commands),
    ("docs/ci.md", "baseline = ", What::Budget),
    ("docs/ci.md", "name: memory budget", What::Workflow),
    ("docs/concepts.md", "gcc -g -O1", What::Commands),
    ("docs/concepts.md", "static char *volatile used", What::LinesOf("docs/concepts.c")),
    ("docs/exit-codes.md", "memtoll check app.memtoll", What::Text),
    ("docs/export.md", "memtoll export", What::Commands),
    ("docs/export.md", "go tool pprof", What::Text),
    ("docs/export.md", "callgrind_annotate", What::Text),
    ("docs/export.md", "heaptrack_print", What::Text),
    ("docs/resident.md", "memtoll record ./app", What::Commands),
    ("docs/fleet.md", "memtoll record -o before", What::Commands),
    ("docs/fleet.md", "memtoll view --store", What::Commands),
    ("docs/fleet.md", "export CLICKHOUSE_USER", What::Commands),
    ("docs/fleet.md", "memtoll fleet roll-up", What::Commands),
    ("docs/fleet.md", "memtoll fleet schema part", What::Commands),
    ("docs/machine.md", "memtoll machine", What::Commands),
    ("docs/machine.md", "x86_64-w64-mingw32", What::Commands),
    ("docs/reading.md", "memtoll ./app", What::Commands),
    ("docs/recording.md", "DEBUGINFOD_URLS=", What::Commands),
    ("docs/recording.md", "mount --bind", What::Text),
    ("docs/replay.md", "memtoll replay", What::Commands),
    ("docs/replay.md", "saving = what", What::Text),
    ("docs/report.md", "target/casestudies/terminal-before", What::Text),
    ("docs/report.md", "[profile.release]", What::Text),
    ("docs/report.md", "memtoll diff", What::Commands),
    ("docs/speed.md", "CARGO_PROFILE_RELEASE_STRIP", What::Commands),
    ("docs/verify.md", "memtoll verify --before './app-old", What::Commands),
    ("docs/verify.md", "memtoll verify --before ./app.old", What::Commands),
    ("docs/verify.md", "memtoll verify --patch", What::Commands),
    ("docs/install.md", "sudo apt install", What::Commands),
    ("docs/install.md", "tar -xf memtoll-VERSION-x86_64-linux.tar.xz", What::Commands),
    ("docs/install.md", "cd /usr/local", What::Commands),
    ("docs/install.md", "make install", What::Commands),
    ("docs/install.md", "tar -xf memtoll-VERSION-x86_64-linux-debug", What::Commands),
    ("docs/install.md", "make dist", What::Commands),
    ("docs/layout.md", "memtoll layout ./app", What::Commands),
    ("docs/layout.md", "struct app::Row", What::Text),
    ("docs/sql.md", "memtoll export", What::Commands),
    // What stands in docs/sql.md is run in tables.rs.
    ("docs/sql.md", "SELECT function, file, line, cost_ns", What::Text),
    ("docs/sql.md", "SELECT function, sum(", What::Text),
    ("docs/sql.md", "WITH calls", What::Text),
    ("docs/sql.md", "SELECT begin_ns", What::Text),
    ("docs/sql.md", "WITH blocks", What::Text),
    ("docs/sql.md", "SELECT acquired.thread", What::Text),
    ("docs/sql.md", "SELECT function, file, line, freed_by", What::Text),
    ("docs/sql.md", "WITH before", What::Text),
    ("docs/sql.md", "SELECT rank", What::Text),
    ("docs/sql.md", "SELECT process", What::Text),
    ("docs/sql.md", "clickhouse local", What::Text),
    ("docs/sql.md", "CREATE TABLE hive", What::Text),
    ("docs/tui.md", "memtoll tui", What::Commands),
    ("docs/viewer.md", "make bench-viewer", What::Commands),
    ("docs/verify.md", "memtoll verify --before 'git log -", What::Commands),
    ("docs/viewer.md", "memtoll view app", What::Commands),
    ("docs/viewer.md", "memtoll view --sources", What::Commands),
    ("casestudies/camera/README.md", "make", What::Commands),
    ("casestudies/dictionary/README.md", "make", What::Commands),
    ("casestudies/dictionary/README.md", "你好", What::Text),
    ("casestudies/serializer/README.md", "make", What::Commands),
    ("casestudies/terminal/README.md", "make", What::Commands),
    ("format/FORMAT.md", "offset", What::Text),
    ("format/FORMAT.md", "payload", What::Text),
    ("format/FORMAT.md", "strings      lengths", What::Text),
];

#[derive(Debug)]
struct Snippet {
    document: String,
    line: usize,
    text: String,
}

impl Snippet {
    fn begins(&self, document: &str, words: &str) -> bool {
        self.document == document && self.text.starts_with(words)
    }
}

/// All documents of the repository.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![workspace()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir()
                && !path.is_symlink()
                && !["target", "node_modules"].contains(&name.as_str())
                && !name.starts_with('.')
            {
                folders.push(path);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn snippets_of(path: &Path) -> Vec<Snippet> {
    let text = std::fs::read_to_string(path).unwrap();
    let document = path.strip_prefix(workspace()).unwrap().to_string_lossy().into_owned();
    let (mut found, mut open): (Vec<Snippet>, bool) = (Vec::new(), false); // open: the last one may go on
    let (mut fence, mut blanks, mut after_blank): (Option<bool>, usize, bool) = (None, 0, true);
    let begin = |line: usize| Snippet { document: document.clone(), line: line + 1, text: String::new() };
    for (number, line) in text.lines().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            open = false;
            fence = match fence {
                Some(_) => None,
                None => Some(!language.is_empty()),
            };
            if fence == Some(true) {
                found.push(begin(number));
            }
        } else if fence == Some(true) {
            let snippet = found.last_mut().unwrap();
            writeln!(snippet.text, "{line}").unwrap();
        } else if fence.is_none() {
            match line.strip_prefix("    ").filter(|_| open || after_blank) {
                Some(code) => {
                    if !open {
                        found.push(begin(number));
                        (open, blanks) = (true, 0);
                    }
                    let snippet = found.last_mut().unwrap();
                    snippet.text += &"\n".repeat(blanks);
                    writeln!(snippet.text, "{}", if snippet.text.is_empty() { code.trim_start() } else { code })
                        .unwrap();
                    blanks = 0;
                }
                None if line.is_empty() => blanks += 1,
                None => open = false,
            }
            after_blank = line.is_empty();
        }
    }
    found
}

fn all_snippets() -> Vec<Snippet> {
    documents().iter().flat_map(|path| snippets_of(path)).collect()
}

/// A file of `snippets/`: what stands around a snippet.
struct Wrapper {
    path: PathBuf,
    text: String,
    document: String,
    words: String,
}

fn wrappers() -> Vec<Wrapper> {
    let folder = workspace().join("tests/e2e/snippets");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let place = text.lines().find_map(|line| line.trim_start().strip_prefix('@')).expect("a line with @");
        let (document, words) = place.split_once(": ").expect("@document: first words");
        Wrapper { document: document.to_owned(), words: words.to_owned(), text: text.clone(), path }
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_snippet_has_a_rule_and_every_rule_a_snippet() {
    let (snippets, wrappers) = (all_snippets(), wrappers());
    assert!(snippets.len() > 20, "{snippets:#?}");
    let mut used = BTreeSet::new();
    for snippet in &snippets {
        let wrapped = wrappers.iter().map(|wrapper| (wrapper.document.as_str(), wrapper.words.as_str()));
        let rules = wrapped.chain(OTHERS.iter().map(|(document, words, _)| (*document, *words)));
        let found: Vec<_> = rules.filter(|(document, words)| snippet.begins(document, words)).collect();
        let Snippet { document, line, text } = snippet;
        assert_eq!(
            found.len(),
            1,
            "{document}:{line}: expected one rule, in snippets.rs or in snippets/, for:\n{text}"
        );
        assert!(used.insert(found[0]), "{document}:{line}: its rule is another snippet's: {found:?}");
    }
    assert_eq!(used.len(), wrappers.len() + OTHERS.len(), "a rule of no snippet: {used:#?}");
}

#[test]
fn code_compiles() {
    let (snippets, folder) = (all_snippets(), scratch());
    let include = workspace().join("remedies/include");
    let mut compiled = 0;
    for wrapper in wrappers() {
        let snippet = snippets.iter().find(|snippet| snippet.begins(&wrapper.document, &wrapper.words));
        let snippet = snippet.unwrap_or_else(|| panic!("{}: of no snippet", wrapper.path.display()));
        let place = wrapper.text.lines().find(|line| line.trim_start().starts_with('@')).unwrap();
        let text = wrapper.text.replace(place, &snippet.text);
        let file = folder.path().join(wrapper.path.file_name().unwrap());
        std::fs::write(&file, &text).unwrap();
        let is_c = file.extension().is_some_and(|extension| extension == "c");
        let standards = text.lines().find_map(|line| line.strip_prefix("// standards: ")).expect("standards");
        let only_debug = text.contains("\n// only without NDEBUG");
        for compiler in if is_c { ["gcc", "clang"] } else { ["g++", "clang++"] } {
            for (number, standard) in standards.split(' ').enumerate() {
                // What NDEBUG leaves out is the same in all standards.
                for release in [false, true].into_iter().take(if number == 0 { 2 } else { 1 }) {
                    let mut command = Command::new(compiler);
                    command.arg(format!("-std=c{}{standard}", if is_c { "" } else { "++" }));
                    command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"]).arg(&include);
                    command.args(release.then_some("-DNDEBUG")).arg(&file);
                    let outcome = run(command);
                    let expected = !(release && only_debug);
                    assert_eq!(
                        outcome.status.success(),
                        expected,
                        "{}:{}, {compiler} {standard}, NDEBUG {release}: {outcome:?}",
                        snippet.document,
                        snippet.line
                    );
                    compiled += 1;
                }
            }
        }
    }
    assert!(compiled >= 4 * wrappers().len());
}

#[test]
fn commands_are_understood() {
    let folder = scratch();
    let recording = Target::new(program("marks.c")).record();
    for snippet in all_snippets() {
        let Some((.., what)) = OTHERS.iter().find(|(document, words, _)| snippet.begins(document, words)) else {
            continue;
        };
        let Snippet { document, line, text } = &snippet;
        match what {
            What::Text => {}
            What::Budget => {
                let budget = folder.path().join("budget.toml");
                std::fs::write(&budget, text).unwrap();
                std::fs::copy(&recording.file, folder.path().join("main.memtoll")).unwrap();
                let mut check = Command::new(memtoll());
                check.arg("check").arg(&recording.file).arg("--budget").arg(&budget).args(["--format", "json"]);
                // It names regions and processes that this recording does not have; each limit is listed.
                let outcome = run(check);
                let shown: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
                let told = shown["limits"].as_array().map_or(0, Vec::len);
                assert_eq!(told, limits_on_recordings(text), "{document}:{line}: {outcome:?}");
            }
            What::Workflow => run_workflow(text, &format!("{document}:{line}")),
            What::LinesOf(file) => {
                let lines = std::fs::read_to_string(workspace().join(file)).unwrap();
                for shown in text.lines() {
                    let code = shown.split('#').next().unwrap().trim();
                    let parts = code.split(['<', '>']).step_by(2).flat_map(|part| part.split(' '));
                    let here = lines.lines().any(|there| parts.clone().all(|part| there.contains(part)));
                    let names_a_target = code.starts_with("target_link_libraries");
                    assert!(
                        here || names_a_target && lines.contains("PRIVATE memtoll::remedies"),
                        "{document}:{line}: {code}"
                    );
                }
            }
            What::Commands => {
                let script = folder.path().join("script");
                std::fs::write(&script, text).unwrap();
                let mut bash = Command::new("bash");
                bash.arg("-n").arg(&script);
                let outcome = run(bash);
                assert!(outcome.status.success(), "{document}:{line}: {outcome:?}");
                for command in text.lines().filter(|command| command.starts_with("memtoll ")) {
                    expect_understood(&folder, &recording.file, command, &format!("{document}:{line}"));
                }
            }
        }
    }
}

/// Keys of a budget that are no limits.
const NO_LIMITS: [&str; 3] = ["baseline", "after", "with_callees"];

/// The number of limits in a budget but for those on single tests, which --each-test checks.
fn limits_on_recordings(budget: &str) -> usize {
    let mut is_of_tests = false;
    let is_limit = |line: &&str| {
        if line.starts_with('[') {
            is_of_tests = line.starts_with("[test.");
        }
        !is_of_tests && line.contains(" = ") && !NO_LIMITS.contains(&first(line))
    };
    budget.lines().filter(is_limit).count()
}

fn first(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// The commands of a workflow's `run: |`, by the deeper indentation below it.
fn commands_of(workflow: &str) -> Vec<&str> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut lines = workflow.lines().peekable();
    let mut commands = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim_start().trim_start_matches("- ") != "run: |" {
            continue;
        }
        while let Some(command) = lines.next_if(|next| depth(next) > depth(line)) {
            commands.push(command.trim());
        }
    }
    commands
}

/// Runs a workflow's commands where a checkout would be: with a program `app` and its first budget.
fn run_workflow(workflow: &str, place: &str) {
    let folder = scratch();
    install(&program("budget.c"), &folder.path().join("app"));
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let own = memtoll().parent().unwrap().to_owned();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&folders))).unwrap();
    let commands = commands_of(workflow);
    assert!(commands.len() >= 4, "{place}: {commands:?}");
    let prepare = ["memtoll record -o first.memtoll -- ./app", "memtoll budget first.memtoll -o memtoll.toml"];
    for command in prepare.iter().chain(&commands) {
        let mut shell = Command::new("bash");
        shell.args(["-e", "-o", "pipefail", "-c", command]).env("PATH", &path).current_dir(folder.path());
        let outcome = run(shell);
        assert!(outcome.status.success(), "{place}: {command}: {outcome:?}");
    }
    let sarif = std::fs::read_to_string(folder.path().join("memtoll.sarif")).unwrap();
    let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    assert_eq!(sarif["version"], "2.1.0", "{place}: {sarif}");
    let junit = std::fs::read_to_string(folder.path().join("memtoll.xml")).unwrap();
    assert!(junit.contains("<testsuites") && junit.contains("failures=\"0\""), "{place}: {junit}");
}

/// Runs what makes or reads recordings, these on one that has every name; of the rest, asks for help about it.
fn expect_understood(folder: &tempfile::TempDir, recording: &Path, command: &str, place: &str) {
    let words = command.split(" #").next().unwrap();
    let runs = ["memtoll report ", "memtoll diff ", "memtoll ./app"].iter().any(|start| words.starts_with(start));
    for name in words.split_whitespace().filter(|word| word.ends_with(".memtoll") || *word == "F") {
        std::fs::copy(recording, folder.path().join(name)).unwrap();
    }
    std::fs::create_dir_all(folder.path().join("build")).unwrap();
    install(Path::new("/bin/true"), &folder.path().join("app"));
    let words = match runs {
        // The marks of the recording.
        true => words.replace("--between-marks load render", "--between-marks loaded played"),
        false => {
            let words = words.split(" | ").next().unwrap(); // who reads it may not be installed
            let own = words.split(" -- ").next().unwrap(); // what it would start
            format!("{own} --help")
        }
    };
    let mut shell = Command::new("bash");
    shell.args(["-c", &words.replacen("memtoll", "\"$MEMTOLL\"", 1)]);
    shell.env("MEMTOLL", memtoll()).current_dir(folder.path());
    let outcome = run(shell);
    // 2: the usage is wrong. 3: nothing of that is in this recording.
    assert!(matches!(outcome.status.code(), Some(0 | 3)), "{place}: {words}: {outcome:?}");
}
