//! The tests of a test program: how frameworks list them, and how one of them is run alone.

use memtoll_text::shell;
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Who runs tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framework {
    /// A program with GoogleTest.
    GoogleTest,
    /// A program with Catch2.
    Catch2,
    /// The same with version 2, which lists its tests in another way.
    Catch2Old,
    /// A program that `cargo test` has built.
    Libtest,
    /// `cargo test`: all its programs.
    Cargo,
    /// `ctest`: commands.
    CTest,
}

/// A test, and how it is run alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    /// What it is called.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Where it runs; else where memtoll does.
    pub directory: Option<PathBuf>,
    /// Variables that are set for it.
    pub environment: Vec<(String, String)>,
    /// Whether it is good if it fails.
    pub is_to_fail: bool,
    /// The exit code with which it says that it was skipped.
    pub skip_code: Option<i32>,
}

/// Why tests cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum NotListed {
    /// There are no words.
    #[error("there is no test program")]
    Nothing,
    /// The program cannot be read.
    #[error("{}: {error}", program.display())]
    Program {
        program: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The program has no framework that is known.
    #[error("{} is no program of GoogleTest, Catch2 or Rust's test harness, and neither cargo nor ctest", .0.display())]
    Framework(PathBuf),
    /// The program cannot be run.
    #[error("cannot run \"{command}\": {error}")]
    Run {
        /// Its words.
        command: String,
        /// What the system says.
        error: io::Error,
    },
    /// The program ends badly instead.
    #[error("\"{command}\" does not list tests: {status}: {said}")]
    Failed {
        /// Its words.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last line of its standard error.
        said: String,
    },
    /// ctest prints something else.
    #[error("expected what ctest --show-only=json-v1 prints, found: {0}")]
    CTest(#[from] serde_json::Error),
    /// A test of ctest has no command.
    #[error("the test {0} has no program: is it built?")]
    Unbuilt(String),
}

/// Parts of programs' files that only programs with that framework have: those that are least likely to mean something else
/// first.
const MARKS: [(&str, Framework); 5] = [
    ("RUST_TEST_THREADS", Framework::Libtest),
    ("gtest_list_tests", Framework::GoogleTest),
    // Where the framework is a shared library.
    ("_ZN7testing14InitGoogleTest", Framework::GoogleTest),
    ("list-test-names-only", Framework::Catch2Old),
    ("Catch2", Framework::Catch2),
];

/// The framework of a command. A program is not asked, but its file is looked at: one that does not know the option for
/// listing its tests might run them all.
pub fn framework(program: &Path) -> Result<Framework, NotListed> {
    match program.file_name().and_then(OsStr::to_str) {
        Some("ctest" | "ctest3") => return Ok(Framework::CTest),
        Some("cargo") => return Ok(Framework::Cargo),
        _ => {}
    }
    let bytes = std::fs::read(program).map_err(|error| NotListed::Program { program: program.to_owned(), error })?;
    let found = MARKS.iter().find(|(mark, _)| memchr::memmem::find(&bytes, mark.as_bytes()).is_some());
    found.map(|(_, framework)| *framework).ok_or_else(|| NotListed::Framework(program.to_owned()))
}

/// The tests of a command, which says what a user would to run all of them.
pub fn list(words: &[OsString]) -> Result<Vec<Test>, NotListed> {
    let program = words.first().map(PathBuf::from).ok_or(NotListed::Nothing)?;
    match framework(&program)? {
        Framework::GoogleTest => {
            let names = google_test(&ask(words, &["--gtest_list_tests"], Ends::Well)?);
            Ok(alone(words, names, |name| vec![format!("--gtest_filter={name}").into()]))
        }
        Framework::Catch2 => {
            let listed = ask(words, &["--list-tests", "--verbosity", "quiet"], Ends::Well)?;
            // Exit code 4 says that a test was skipped, or, in some versions, that four assertions failed: it counts as failed.
            Ok(alone(words, lines(&listed), |name| vec![catch_escaped(name).into()]))
        }
        Framework::Catch2Old => {
            let listed = ask(words, &["--list-test-names-only"], Ends::Anyhow)?;
            Ok(alone(words, lines(&listed), |name| vec![catch_escaped(name).into()]))
        }
        Framework::Libtest => libtest(words),
        Framework::Cargo => cargo(words),
        Framework::CTest => ctest(&ask(words, &["--show-only=json-v1"], Ends::Well)?),
    }
}

fn alone(words: &[OsString], names: Vec<String>, select: impl Fn(&str) -> Vec<OsString>) -> Vec<Test> {
    let test = |name: String| {
        let command = words.iter().cloned().chain(select(&name)).collect();
        Test { name, command, directory: None, environment: Vec::new(), is_to_fail: false, skip_code: None }
    };
    names.into_iter().map(test).collect()
}

/// How a command that lists tests may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Well,
    /// With the number of tests as its exit code.
    Anyhow,
}

/// What a command prints with some more arguments.
fn ask(words: &[OsString], more: &[&str], ends: Ends) -> Result<String, NotListed> {
    let shown = || {
        let words = words.iter().map(|word| word.to_string_lossy());
        shell::line(&words.chain(more.iter().map(|word| (*word).into())).collect::<Vec<_>>())
    };
    let (program, arguments) = words.split_first().ok_or(NotListed::Nothing)?;
    let output = Command::new(program).args(arguments).args(more).stdin(Stdio::null()).output();
    let output = output.map_err(|error| NotListed::Run { command: shown(), error })?;
    if !output.status.success() && ends == Ends::Well {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().last().unwrap_or_default().to_owned();
        return Err(NotListed::Failed { command: shown(), status: output.status, said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// `Suite.` in a line of its own, tests below it, each with two blanks before it and comments behind.
fn google_test(listed: &str) -> Vec<String> {
    let mut suite = "";
    let mut names = Vec::new();
    for line in listed.lines() {
        let name = line.split("  #").next().unwrap_or_default();
        match name.strip_prefix("  ") {
            None if name.trim_end().ends_with('.') => suite = name.trim_end(),
            Some(test) if !suite.is_empty() && !is_disabled(suite, test) => {
                names.push(format!("{suite}{}", test.trim_end()));
            }
            _ => {}
        }
    }
    names
}

fn is_disabled(suite: &str, test: &str) -> bool {
    [suite, test].iter().any(|name| name.split('/').any(|part| part.starts_with("DISABLED_")))
}

/// A name as a test specification of Catch2.
fn catch_escaped(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if matches!(c, '\\' | ',' | '[' | ']' | '"' | '~') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

fn libtest(words: &[OsString]) -> Result<Vec<Test>, NotListed> {
    let list = |more: &[&str]| -> Result<Vec<String>, NotListed> {
        let listed = ask(words, &[&["--list", "--format", "terse"], more].concat(), Ends::Well)?;
        Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    };
    let with_ignored = words.iter().any(|word| word == "--ignored" || word == "--include-ignored");
    let mut names = list(&[])?;
    // Tests that are ignored are listed, too, and do not run.
    if !with_ignored {
        let ignored = list(&["--ignored"])?;
        names.retain(|name| !ignored.contains(name));
    }
    let select = |name: &str| {
        let ignored = with_ignored.then_some("--include-ignored");
        ["--exact", name, "--test-threads=1"].into_iter().chain(ignored).map(OsString::from).collect()
    };
    // A filter that chose the tests would choose more than one again.
    Ok(alone(&words[..1], names, select))
}

#[derive(Deserialize)]
struct Artifact {
    reason: String,
    executable: Option<PathBuf>,
    #[serde(default)]
    manifest_path: PathBuf,
    target: Option<Target>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds what `cargo test` runs, and lists the tests of each program.
fn cargo(words: &[OsString]) -> Result<Vec<Test>, NotListed> {
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (build, filters) = words.split_at(at);
    let built = ask(build, &["--no-run", "--message-format=json"], Ends::Well)?;
    let programs: Vec<Artifact> = built
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
        .filter(|built| built.reason == "compiler-artifact" && built.profile.as_ref().is_some_and(|of| of.test))
        .collect();
    let is_one = programs.iter().filter(|built| built.executable.is_some()).count() == 1;
    let mut tests = Vec::new();
    for Artifact { executable, manifest_path, target, .. } in programs {
        let Some(program) = executable else { continue };
        let folder = manifest_path.parent().map(Path::to_owned).unwrap_or_default();
        let of = target.map(|target| target.name).unwrap_or_default();
        let command: Vec<OsString> = std::iter::once(program.into()).chain(filters.iter().skip(1).cloned()).collect();
        for test in libtest(&command)? {
            let name = if is_one { test.name } else { format!("{of}::{}", test.name) };
            let environment = vec![("CARGO_MANIFEST_DIR".to_owned(), folder.display().to_string())];
            tests.push(Test { name, directory: Some(folder.clone()), environment, ..test });
        }
    }
    Ok(tests)
}

#[derive(Deserialize)]
struct Listed {
    tests: Vec<Listing>,
}

#[derive(Deserialize)]
struct Listing {
    name: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: serde_json::Value,
}

/// An exit code: a number, or as a text in what older versions print.
fn exit_code(value: &serde_json::Value) -> Option<i32> {
    let number = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
    i32::try_from(number).ok()
}

/// What `ctest --show-only=json-v1` prints.
fn ctest(listed: &str) -> Result<Vec<Test>, NotListed> {
    let listed: Listed = serde_json::from_str(listed)?;
    let mut tests = Vec::new();
    for Listing { name, command, properties } in listed.tests {
        let value = |key: &str| properties.iter().find(|property| property.name == key).map(|property| &property.value);
        let is = |key: &str| value(key).and_then(serde_json::Value::as_bool).unwrap_or(false);
        if is("DISABLED") {
            continue;
        }
        if command.is_empty() {
            return Err(NotListed::Unbuilt(name));
        }
        let variables = value("ENVIRONMENT").and_then(|value| value.as_array()).into_iter().flatten();
        let pair = |text: &str| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        tests.push(Test {
            directory: value("WORKING_DIRECTORY").and_then(|value| value.as_str()).map(PathBuf::from),
            environment: variables.filter_map(|text| pair(text.as_str()?)).collect(),
            command: command.into_iter().map(OsString::from).collect(),
            is_to_fail: is("WILL_FAIL"),
            skip_code: value("SKIP_RETURN_CODE").and_then(exit_code),
            name,
        });
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_google_test_are_read() {
        let listed = "Running main() from gtest_main.cc\nParser.\n  ReadsAll\n  DISABLED_Slow\nTyped/0.  # TypeParam = int\n  \
                      Works/1  # GetParam() = 3\n";
        assert_eq!(google_test(listed), ["Parser.ReadsAll", "Typed/0.Works/1"]);
    }

    #[test]
    fn names_of_catch_are_no_patterns() {
        assert_eq!(catch_escaped("a, [b] \\"), "a\\, \\[b\\] \\\\");
    }

    #[test]
    fn lists_of_ctest_are_read() {
        let listed = r#"{"kind": "ctestInfo", "tests": [{"name": "one", "command": ["/t", "x"], "properties":
            [{"name": "WORKING_DIRECTORY", "value": "/w"}, {"name": "ENVIRONMENT", "value": ["A=1=2"]}]}]}"#;
        let tests = ctest(listed).unwrap();
        assert_eq!((tests[0].name.as_str(), tests[0].directory.as_deref()), ("one", Some(Path::new("/w"))));
        assert_eq!(tests[0].environment, [("A".to_owned(), "1=2".to_owned())]);
        assert_eq!(tests[0].command, ["/t", "x"]);
        assert!(matches!(ctest(r#"{"tests": [{"name": "two"}]}"#), Err(NotListed::Unbuilt(name)) if name == "two"));
        assert!(matches!(ctest("no"), Err(NotListed::CTest(_))));
        let listed = r#"{"tests": [{"name": "off", "properties": [{"name": "DISABLED", "value": true}]},
            {"name": "bad", "command": ["/t"], "properties": [{"name": "WILL_FAIL", "value": true}]},
            {"name": "may", "command": ["/t"], "properties": [{"name": "SKIP_RETURN_CODE", "value": 77}]}]}"#;
        let tests = ctest(listed).unwrap();
        assert_eq!(tests.iter().map(|test| test.skip_code).collect::<Vec<_>>(), [None, Some(77)]);
        assert_eq!((tests[0].name.as_str(), tests[0].is_to_fail), ("bad", true));
    }

    #[test]
    fn this_program_is_one_of_rust_though_it_names_the_others() {
        assert_eq!(framework(&std::env::current_exe().unwrap()).unwrap(), Framework::Libtest);
    }
}
