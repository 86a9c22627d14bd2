//! The screen after a run: 24 lines of 80 columns, and the next command works.

use memtoll_e2e::{Outcome, Target, memtoll, program, program_with, read_report, run, scratch};
use std::process::Command;

/// What stands on the screen after a run, without what the program wrote.
fn screen(outcome: &Outcome) -> Vec<&str> {
    let lines = outcome.stderr.lines().skip_while(|line| !line.is_empty()).skip(1);
    lines.collect()
}

#[track_caller]
fn fits(lines: &[&str]) {
    assert!(lines.len() <= 24, "{} lines:\n{}", lines.len(), lines.join("\n"));
    // The last line names a file, which may be anywhere, and a command that can be copied.
    for line in &lines[..lines.len() - 1] {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// The command that the last line proposes.
fn next(lines: &[&str]) -> Outcome {
    let last = lines.last().unwrap();
    let command = last.split_once("; next: memtoll ").unwrap_or_else(|| panic!("{last}")).1;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("\"$0\" {command}")).arg(memtoll());
    run(shell)
}

#[test]
fn it_has_24_lines_and_the_three_lines_of_code_that_matter_most() {
    let programs = [
        Target::new(program_with("signed_advice.cpp", &["-O2", "-g"])).arg("pump"),
        Target::new(program("ends.cpp")),
        Target::new(program("forwards.c")),
        Target::shell("for i in 1 2 3; do \"$1\" >/dev/null; done; exit 3", &[&program("tiny.c")]),
        Target::new("git").args(["--version"]),
        Target::new("/usr/bin/python3").args(["-c", "x = [str(i) * 20 for i in range(200000)]"]),
    ];
    for target in programs {
        let recording = target.record();
        let lines = screen(&recording.outcome);
        fits(&lines);
        let text = lines.join("\n");
        for word in ["live", "resident set"] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
        // What belongs to the runtime and to details is in the report.
        for word in ["libstdc++'s pool", "call stack", "temporary:", "note:"] {
            assert!(!text.contains(word), "{word}:\n{text}");
        }
        assert!(
            lines
                .iter()
                .filter(|line| line.trim_start().starts_with(['1', '2', '3', '4']) && line.contains(". "))
                .count()
                <= 3,
            "{text}"
        );
    }
}

#[test]
fn a_finding_has_its_cost_and_its_place_and_the_next_command_says_what_to_do() {
    let recording = Target::new(program_with("signed_advice.cpp", &["-O2", "-g"])).arg("pump").record();
    let lines = screen(&recording.outcome);
    let first = lines.iter().position(|line| *line == "What matters most").unwrap();
    assert!(lines[first + 1].starts_with(" 1. ") && lines[first + 1].contains("signed_advice.cpp:"), "{lines:?}");
    let outcome = next(&lines);
    assert!(outcome.status.success() && outcome.stdout.contains("signed_advice.cpp"), "{outcome:?}");
}

#[test]
fn the_hint_about_plain_runs_comes_once() {
    let home = scratch();
    let file = scratch();
    let record = |number: u32| {
        let mut command = Command::new(memtoll());
        command.env("XDG_CACHE_HOME", home.path()).arg("record").arg("-o");
        command.arg(file.path().join(format!("{number}.memtoll"))).arg("--").arg(program("tiny.c"));
        run(command).stderr.matches("--calibrate").count()
    };
    assert_eq!([record(1), record(2)], [1, 0]);
}

#[test]
fn a_program_that_cannot_be_recorded_leaves_what_the_kernel_counted() {
    let directory = scratch();
    let source = directory.path().join("a.c");
    std::fs::write(&source, "int main(void) { volatile int x = 0; while (x < 20000000) ++x; return 7; }").unwrap();
    let compiled =
        Command::new("cc").args(["-static", "-O1", "-o"]).arg(directory.path().join("a")).arg(&source).status();
    assert!(compiled.unwrap().success());
    let mut command = Command::new(memtoll());
    command.current_dir(directory.path()).args(["record", "--", "./a"]);
    let outcome = run(command);
    assert_eq!(outcome.status.code(), Some(7));
    assert!(
        outcome.stderr.contains("statically linked") && outcome.stderr.contains("memtoll report a.memtoll"),
        "{outcome:?}"
    );
    let report = read_report(&directory.path().join("a.memtoll"), &[]);
    assert!(report.status.success(), "{report:?}");
    for word in ["of CPU time", "page fault", "statically linked"] {
        assert!(report.stdout.contains(word), "{word}: {}", report.stdout);
    }
    for word in ["0 processes", "little to gain", "0 B"] {
        assert!(!report.stdout.contains(word), "{word}: {}", report.stdout);
    }
}

/// Advice about a function without a name says nothing: what is proposed names it, or shows who calls it.
#[test]
fn a_line_without_a_name_is_not_proposed_for_advice() {
    for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let program = program_with("bounded_advice.cpp", &["-O2", "-s", build_id]);
        let recording = Target::new(&program).arg("labels").record();
        let lines = screen(&recording.outcome);
        let (last, name) = (lines.last().unwrap(), program.file_name().unwrap().to_str().unwrap());
        assert!(lines.iter().any(|line| line.starts_with(" 1. ") && line.contains(&format!("{name}+0x"))), "{lines:?}");
        assert!(!last.contains("memtoll advise"), "{last}");
        let outcome = next(&lines);
        assert!(outcome.status.success() && outcome.stdout.contains(&format!("{name}+0x")), "{outcome:?}");
        // `memtoll advise` says why there is none.
        let at = lines.iter().find_map(|line| line.strip_prefix(" 1. ")?.split_whitespace().last()).unwrap();
        let mut advise = Command::new(memtoll());
        let outcome = run({
            advise.arg("advise").arg(&recording.file).arg(at);
            advise
        });
        assert!(outcome.stdout.contains("has no name"), "{outcome:?}");
    }
}
