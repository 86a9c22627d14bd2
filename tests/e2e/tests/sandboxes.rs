//! Programs that forbid themselves system calls, with seccomp. They would have to pay for what the recorder asks of the
//! kernel in their name, so from then on it asks for nothing; recording goes on all the same. And programs that forbid
//! themselves the processor's clock: it is no longer read.

use memtoll_e2e::{Recording, Report, Target, program};

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

fn without_counter(way: &str) -> Report {
    let recording = Target::new(program("no_counter.c")).arg(way).record();
    let outcome = &recording.outcome;
    assert_eq!((outcome.status.code(), &*outcome.stdout), (Some(3), "done\n"), "{way}: {outcome:?}");
    let report = recording.report();
    report.expect_allocations(&[("before_work", 100), ("after_work", 50_000)]);
    let totals = &report.totals.metrics;
    assert_eq!(totals.frees + totals.live_allocations_at_end, totals.allocations, "each free has its allocation");
    let said =
        recording.text(&[]).contains("may not read the clock") || !outcome.stderr_lines_with(&["clock"]).is_empty();
    assert!(said, "{way}: {outcome:?}");
    report
}

#[test]
fn a_forbidden_time_stamp_counter_is_not_read() {
    for way in ["prctl", "syscall"] {
        let report = without_counter(way);
        // In all threads, events have an order; or these blocks would be freed before they are allocated.
        let handed_over = report.function("handed_over");
        assert_eq!((handed_over.allocations, handed_over.live_allocations_at_end), (50_000, 0), "{way}");
        assert!(handed_over.peak_bytes <= (64 + 4) * 30, "{way}: {handed_over:?}");
        assert_eq!((report.function("frees").frees, report.allocations("child_work")), (50_000, 10), "{way}");
    }
}

#[test]
fn strict_seccomp_leaves_nothing_but_memory() {
    for way in ["strict", "strict-syscall"] {
        without_counter(way);
    }
}
