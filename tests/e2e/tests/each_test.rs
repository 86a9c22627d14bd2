//! `memtoll check --each-test`: each test of a program is recorded alone, in all frameworks that are known.

use memtoll_e2e::{Outcome, memtoll, program_with, run, scratch, source};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

fn libgtest() -> String {
    format!("/usr/lib/{}/libgtest.a", memtoll_processor::HERE.library_folder)
}

/// Runs `memtoll check --each-test` on a command, in a folder.
fn check(folder: &Path, options: &[&str], words: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.current_dir(folder).args(["check", "--each-test"]).args(options).arg("--").args(words);
    run(command)
}

struct Tests(Value);

impl Tests {
    #[track_caller]
    fn of(outcome: &Outcome) -> Tests {
        Tests(serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}")))
    }

    fn names(&self) -> Vec<&str> {
        self.0["tests"].as_array().unwrap().iter().map(|test| test["name"].as_str().unwrap()).collect()
    }

    #[track_caller]
    fn test(&self, name: &str) -> &Value {
        let all = self.0["tests"].as_array().unwrap();
        all.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("no {name}: {:#}", self.0))
    }

    #[track_caller]
    fn allocations(&self, name: &str) -> u64 {
        self.test(name)["taken"]["allocations"].as_u64().unwrap_or_else(|| panic!("{:#}", self.test(name)))
    }

    /// That one test makes a thousand blocks more than another one. Frameworks allocate, too, Catch2 for each letter of a
    /// longer name.
    #[track_caller]
    fn differ_by_a_thousand(&self, many: &str, none: &str) {
        let more = self.allocations(many) as i64 - self.allocations(none) as i64;
        assert!((980..=1300).contains(&more), "{more}: {:#}", self.0);
    }
}

#[test]
fn google_test_and_its_budget() {
    let program = program_with("tested_gtest.cpp", &["-O2", &libgtest()]);
    let program = program.to_str().unwrap();
    let folder = scratch();
    // Without a budget, nothing is broken.
    let outcome = check(folder.path(), &["--format", "json", "--keep", "kept"], &[program]);
    assert!(outcome.status.success(), "{outcome:?}");
    let tests = Tests::of(&outcome);
    assert_eq!(
        tests.names(),
        ["Loop.MakesMany", "Loop.MakesNone", "All/Sizes.MakesSome/0", "All/Sizes.MakesSome/1"],
        "{outcome:?}"
    );
    tests.differ_by_a_thousand("Loop.MakesMany", "Loop.MakesNone");
    assert_eq!(fs::read_dir(folder.path().join("kept")).unwrap().count(), 4);
    let text = check(folder.path(), &["--top", "1"], &[program]).stdout;
    assert!(
        text.contains("The 1 of 4 tests") && text.contains("Loop.MakesMany") && !text.contains("MakesNone"),
        "{text}"
    );
    // A budget holds each test that its name fits.
    let none = tests.allocations("Loop.MakesNone");
    let budget = format!("[test.\"Loop.*\"]\nallocations = {}\n[run]\nallocations = 1\n", none + 500);
    fs::write(folder.path().join("memtoll.toml"), budget).unwrap();
    let broken = check(folder.path(), &[], &[program]);
    assert_eq!(broken.status.code(), Some(5), "{broken:?}");
    assert!(
        broken.stdout.contains("make_blocks") && broken.stdout.contains("2 limits: 1 broken, 1 kept"),
        "{broken:?}"
    );
    let junit = check(folder.path(), &["--format", "junit"], &[program]);
    assert_eq!(junit.status.code(), Some(5), "{junit:?}");
    assert_eq!(
        (junit.stdout.matches("<testcase").count(), junit.stdout.matches("<failure").count()),
        (4, 1),
        "{junit:?}"
    );
    // A name that no test has is a mistake in the budget.
    fs::write(folder.path().join("memtoll.toml"), "[test.\"Lop.*\"]\nallocations = 1\n").unwrap();
    let unused = check(folder.path(), &[], &[program]);
    assert_eq!(unused.status.code(), Some(7), "{unused:?}");
    assert!(unused.stdout.contains("no test has a name like \"Lop.*\""), "{unused:?}");
}

#[test]
fn catch2() {
    let program = program_with("tested_catch.cpp", &["-O1", "/usr/lib/libCatch2WithMain.a"]);
    let folder = scratch();
    let outcome = check(folder.path(), &["--format", "json"], &[program.to_str().unwrap()]);
    assert!(outcome.status.success(), "{outcome:?}");
    Tests::of(&outcome).differ_by_a_thousand("makes many, in a [loop]", "makes none");
}

#[test]
fn rust_and_a_test_that_fails() {
    let folder = scratch();
    let (project, code) = (folder.path().join("project"), "project/tests/blocks.rs");
    fs::create_dir_all(project.join("tests")).unwrap();
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/lib.rs"), "").unwrap();
    fs::copy(source("tested_rust.rs"), folder.path().join(code)).unwrap();
    let manifest = "[package]\nname = \"project\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
    let outcome = check(&project, &["--format", "json"], &["cargo", "test", "--offline", "--", "makes"]);
    assert!(outcome.status.success(), "{outcome:?}");
    let tests = Tests::of(&outcome);
    assert_eq!(
        tests.names(),
        ["blocks::makes_many", "blocks::makes_none", "blocks::makes_none_and_more"],
        "a filter holds for the tests' own names: {outcome:?}"
    );
    tests.differ_by_a_thousand("blocks::makes_many", "blocks::makes_none");
    let asked = ["cargo", "test", "--offline", "--", "makes_", "--include-ignored"];
    let outcome = check(&project, &["--format", "json"], &asked);
    assert!(outcome.status.success(), "{outcome:?}");
    let tests = Tests::of(&outcome);
    assert_eq!(tests.names().len(), 4, "one is ignored unless it is asked for: {outcome:?}");
    tests.differ_by_a_thousand("blocks::makes_many_when_asked", "blocks::makes_none");
    let outcome = check(&project, &["--format", "json"], &["cargo", "test", "--offline"]);
    assert_eq!(outcome.status.code(), Some(7), "a test that fails cannot be checked: {outcome:?}");
    let tests = Tests::of(&outcome);
    assert!(tests.test("blocks::fails")["failed"].as_str().unwrap().contains("exit status: 101"), "{outcome:?}");
}

#[test]
fn ctest() {
    let folder = scratch();
    let program = program_with("tested_gtest.cpp", &["-O2", &libgtest()]);
    let program = program.display();
    let tests = format!(
        "add_test(many \"{program}\" \"--gtest_filter=Loop.MakesMany\")\n\
         add_test(none \"{program}\")\nset_tests_properties(none PROPERTIES ENVIRONMENT \"GTEST_FILTER=Loop.MakesNone\")\n\
         add_test(off \"/no/program\")\nset_tests_properties(off PROPERTIES DISABLED TRUE)\n\
         add_test(fails \"/bin/false\")\nset_tests_properties(fails PROPERTIES WILL_FAIL TRUE)\n\
         add_test(skipped sh -c \"exit 77\")\nset_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)\n"
    );
    fs::write(folder.path().join("CTestTestfile.cmake"), tests).unwrap();
    let outcome = check(folder.path(), &["--format", "json"], &["ctest"]);
    assert!(outcome.status.success(), "{outcome:?}");
    let tests = Tests::of(&outcome);
    assert_eq!(tests.names(), ["many", "none", "fails", "skipped"], "one is disabled, and one is to fail");
    tests.differ_by_a_thousand("many", "none");
    let skipped = tests.test("skipped");
    assert!(skipped["skipped"] == true && skipped["verdict"] == "kept" && skipped["taken"].is_null(), "{skipped:#}");
    assert!(tests.test("many")["skipped"] == false);
    let text = check(folder.path(), &[], &["ctest"]).stdout;
    assert!(text.contains("1 test skipped: skipped"), "{text}");
    let junit = check(folder.path(), &["--format", "junit"], &["ctest"]).stdout;
    assert_eq!(junit.matches("<skipped").count(), 1, "{junit}");
}

#[test]
fn what_is_no_test_program_is_not_run() {
    let folder = scratch();
    let outcome = check(folder.path(), &[], &["/bin/true"]);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("no program of GoogleTest, Catch2"), "{outcome:?}");
    let sarif = check(folder.path(), &["--format", "sarif"], &["/bin/true"]);
    assert!(sarif.status.code() == Some(2) && sarif.stderr.contains("text, json and junit"), "{sarif:?}");
}
