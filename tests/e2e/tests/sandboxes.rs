//! Programs that forbid themselves system calls, with seccomp. They would have to pay for what the recorder asks of the
//! kernel in their name, so from then on it asks for nothing; recording goes on all the same.

use memtoll_e2e::{Recording, Target, program};

fn recorded(what: &str, how: &str, way: &str) -> Recording {
    let recording = Target::new(program("seccomp.c")).args([what, how, way]).record();
    let outcome = &recording.outcome;
    assert_eq!((outcome.status.code(), &*outcome.stdout), (Some(3), "done\n"), "{what} {how} {way}: {outcome:?}");
    let report = recording.report();
    let found = ["before_work", "deeper_work", "after_work"].map(|function| report.allocations(function));
    assert_eq!(found, [100, 10, 400_000], "{what} {how} {way}: {outcome:?}");
    recording
}

#[test]
fn calls_that_the_recorder_needs_fail() {
    for what in ["futex", "mmap", "all"] {
        for way in ["prctl", "seccomp"] {
            recorded(what, "errno", way);
        }
    }
}

#[test]
fn calls_that_the_recorder_needs_end_the_process() {
    for what in ["futex", "mmap", "all"] {
        for way in ["prctl", "seccomp"] {
            recorded(what, "kill", way);
        }
    }
}

#[test]
fn threads_that_start_later_are_recorded_and_forked_children_are_missed() {
    for way in ["prctl", "seccomp"] {
        assert_eq!(recorded("socket", "kill", way).report().allocations("thread_work"), 1000);
        let recording = recorded("socket", "errno", way);
        let report = recording.report();
        assert_eq!((report.allocations("thread_work"), report.allocations("child_work")), (1000, 0));
        let lines = recording.outcome.stderr_lines_with(&["forked", "not recorded"]);
        assert_eq!(lines.len(), 1, "{:?}", recording.outcome);
    }
}
