//! Programs that forbid themselves system calls, with seccomp. They would have to pay for what the recorder asks of the
//! kernel in their name, so from then on it asks for nothing; recording goes on all the same. And programs that forbid
//! themselves the processor's clock: it is no longer read.

use memtoll_e2e::{Recording, Report, Target, is_root, library, program, program_with};

fn recorded(what: &str, how: &str, way: &str) -> Recording {
    let recording = Target::new(program("seccomp.c")).args([what, how, way]).record();
    let outcome = &recording.outcome;
    assert_eq!((outcome.status.code(), &*outcome.stdout), (Some(3), "done\n"), "{what} {how} {way}: {outcome:?}");
    let report = recording.report();
    let found = ["before_work", "deeper_work", "after_work"].map(|function| report.new_blocks(function));
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
        assert_eq!(recorded("socket", "kill", way).report().new_blocks("thread_work"), 1000);
        let recording = recorded("socket", "errno", way);
        let report = recording.report();
        assert_eq!((report.new_blocks("thread_work"), report.new_blocks("child_work")), (1000, 0));
        let lines = recording.outcome.stderr_lines_with(&["forked", "not recorded"]);
        assert_eq!(lines.len(), 1, "{:?}", recording.outcome);
    }
}

fn without_counter(way: &str) -> Report {
    let recording = Target::new(program("no_counter.c")).arg(way).record();
    let outcome = &recording.outcome;
    assert_eq!((outcome.status.code(), &*outcome.stdout), (Some(3), "done\n"), "{way}: {outcome:?}");
    let report = recording.report();
    report.expect_new_blocks(&[("before_work", 100), ("after_work", 50_000)]);
    let totals = &report.totals.metrics;
    assert_eq!(totals.frees + totals.live_blocks, totals.new_blocks, "each free has its allocation");
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
        assert_eq!((handed_over.new_blocks, handed_over.live_blocks), (50_000, 0), "{way}");
        assert!(handed_over.peak_bytes <= (64 + 4) * 30, "{way}: {handed_over:?}");
        assert_eq!((report.function("frees").frees, report.new_blocks("child_work")), (50_000, 10), "{way}");
    }
}

#[test]
fn strict_seccomp_leaves_nothing_but_memory() {
    for way in ["strict", "strict-syscall"] {
        without_counter(way);
    }
}

/// The figures of `seccomp_asks.c`: its threads sleep for a second each, a forked child makes 500 blocks.
fn asks(how: &str) -> (Report, serde_json::Value) {
    let recording = Target::new(program("seccomp_asks.c")).arg(how).record();
    assert_eq!(recording.outcome.status.code(), Some(0), "{how}: {:?}", recording.outcome);
    let told: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).expect("JSON");
    let totals = &told["totals"];
    let number = |of: &serde_json::Value, name: &str| of[name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"));
    let cpu = number(totals, "cpu_ns") / 1e6;
    assert!((5.0..250.0).contains(&cpu), "{how}: {cpu} ms");
    let parent = &told["processes"][0];
    let (resident, error) = (number(parent, "resident_peak_bytes"), number(parent, "resident_peak_error_bytes"));
    assert!((resident / 1048576.0 - 42.0).abs() < 2.5 && error < 3.0 * 1048576.0, "{how}: {resident} ± {error}");
    let tids = told["threads"].as_array().expect("threads").iter().map(|thread| thread["tid"].as_u64());
    let tids: std::collections::BTreeSet<Option<u64>> = tids.collect();
    assert!(tids.len() >= 5 && !tids.contains(&Some(0)), "{how}: {tids:?}");
    let report = recording.report();
    let of_parent = report.processes[0].totals.metrics.new_blocks;
    assert_eq!((of_parent, report.new_blocks("thread_work")), (405, 400), "{how}: nobody else's blocks");
    (report, told)
}

#[test]
fn a_question_about_seccomp_changes_nothing() {
    for how in ["nothing", "prctl", "prctl bad", "syscall", "syscall bad", "strict fails"] {
        let (report, _) = asks(how);
        assert_eq!((report.processes.len(), report.new_blocks("child_work")), (2, 500), "{how}");
    }
}

#[test]
fn after_a_filter_numbers_are_right_or_unknown() {
    for how in ["filter", "filter by syscall", "listener"] {
        let (report, told) = asks(how);
        assert_eq!((report.processes.len(), report.new_blocks("child_work")), (1, 0), "{how}");
        assert!(told["processes"][0]["cpu_ns"].as_f64().is_some(), "{how}");
    }
}

#[test]
fn children_that_are_missed_are_charged_to_nobody() {
    let recording = Target::new(program("forks_after_filter.c")).record();
    assert_eq!(recording.outcome.status.code(), Some(0), "{:?}", recording.outcome);
    let report = recording.report();
    let (all, work) = (report.totals.metrics.new_blocks, report.new_blocks("work"));
    assert!(work >= 200_000 && work % 200_000 == 0 && all == work, "{work} of {all}");
    assert_eq!((report.new_blocks("child_work"), report.processes.len()), (0, 1));
}

#[test]
fn stacks_are_whole_after_a_filter_wherever_they_lie() {
    // The first call after the filter finds its caller's frame on the next page, in some of these places.
    for place in (0..4096).step_by(208) {
        let target = Target::new("setarch").args(["-R"]).arg(program("seccomp_asks.c")).arg("filter at once");
        let recording = target.env("PLACE", "x".repeat(place + 1)).record();
        let report = recording.report();
        assert_eq!(report.new_blocks("main"), 1, "{place}");
    }
}

#[test]
fn a_private_folder_for_temporary_files_says_what_to_set() {
    let users: &[&str] = if is_root() { &[] } else { &["-r"] };
    let script = "mount -t tmpfs tmpfs /tmp && sh -c 'echo inside'";
    let target = Target::new("unshare").arg("-m").args(users).args(["sh", "-c", script]);
    let recording = target.env("TMPDIR", "/tmp").record();
    let said = ["is not recorded: it does not see memtoll's folder", "set TMPDIR"];
    assert!(!recording.outcome.stderr_lines_with(&said).is_empty(), "{:?}", recording.outcome);
}

/// The import tables of what is loaded then cannot be written, but only threads would be started through them.
#[test]
fn of_a_pthread_create_of_its_own_no_calls_are_missing() {
    let plugin = library("plugin.c", &["-DPLUGIN_A"]);
    let recording = Target::new(program_with("own_threads.c", &["-O2", "-rdynamic"])).arg(&plugin).record();
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    let report = recording.report();
    assert_eq!(report.new_blocks("plugin_a_work"), 3);
    assert!(report.missing.is_empty(), "{:?}", report.missing);
}
