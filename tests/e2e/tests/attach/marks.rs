//! Marks of programs that were running before, which looked for the recorder in vain.

use super::*;

#[test]
fn a_mark_ends_the_recording() {
    ends_with_a_mark(Command::new(program("sets_marks.c")));
}

/// The recorder hears of many marks before memtoll has redirected the allocation functions.
#[test]
fn marks_count_from_when_calls_do() {
    let mut often = Command::new(program("sets_marks.c"));
    often.arg("100");
    ends_with_a_mark(often);
}

fn ends_with_a_mark(sets_marks: Command) {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let running = Running::start(sets_marks);
    // Several times: what the header has found the first time serves the others.
    let (mut round, mut tries) = (0, 0..6);
    while round < 3 {
        assert!(tries.next().is_some(), "the mark that ends the recording is always its first one");
        let mut command = Command::new(memtoll());
        command
            .args(["record", "--pid", &running.pid().to_string(), "--until-mark", "done", "--force", "-o"])
            .arg(&file);
        let began = Instant::now();
        let outcome = run(command);
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        assert!(began.elapsed() < Duration::from_secs(30), "{outcome:?}");
        // One mark in fifty ends the recording, and may be the first one in it.
        let marks = read_report(&file, &["--between-marks", "tick", "done", "--format", "json"]);
        if marks.stderr.contains("no mark \"done\" after \"tick\"; it has: done") {
            continue;
        }
        round += 1;
        // The first two as well.
        for last in ["done", "tock"] {
            let between = read_report(&file, &["--between-marks", "tick", last, "--format", "json"]);
            assert!(between.status.success(), "round {round}: {between:?}");
            let blocks = Report::parse_part(between.stdout.as_bytes()).function("allocate").new_blocks;
            assert!(blocks > 0 && blocks.is_multiple_of(7), "round {round}: {blocks}");
        }
    }
}

#[test]
fn a_program_without_marks_is_not_waited_for() {
    let folder = scratch();
    let running = Running::with_threads(1);
    let outcome = run(attach(running.pid(), &folder.path().join("a.memtoll"), &["--until-mark", "done"]));
    assert_eq!(outcome.status.code(), Some(125), "{outcome:?}");
    assert!(outcome.stderr.contains("it sets no marks: none of its files is compiled with memtoll.h"), "{outcome:?}");
    running.end_well();
}
