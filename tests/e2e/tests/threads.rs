//! Threads: blocks that change hands, very many threads, their names, and all the ways in which they end.

use memtoll_e2e::{Target, program, program_with, run};
use memtoll_text::format::counted;

#[test]
fn a_block_may_be_freed_by_another_thread() {
    let report = Target::new(program("handover.c")).record().report();
    let produced = report.function("produce");
    assert_eq!((produced.new_blocks, produced.bytes), (2000, 200_000));
    assert_eq!((produced.live_blocks, produced.live_bytes), (0, 0));
    assert_eq!(report.function("consume").frees, 2000);
    assert_eq!(produced.peak_bytes, 100_000);
}

#[test]
fn four_threads_that_hammer_lose_nothing() {
    let report = Target::new(program("hammer.c")).record().report();
    let hammered = report.function("hammer_one");
    assert_eq!((hammered.new_blocks, hammered.live_blocks), (400_000, 0));
    let totals = &report.totals.metrics;
    assert_eq!(totals.frees + totals.live_blocks, totals.new_blocks);
    assert!(hammered.peak_bytes <= (64 + 4) * 516, "more live than there can ever be: {}", hammered.peak_bytes);
}

#[test]
fn a_crowd_that_shares_its_addresses_is_counted_exactly() {
    let report = Target::new(program("crowd.c")).env("MALLOC_ARENA_MAX", "1").record().report();
    let crowd = report.function("crowd_one");
    assert_eq!((crowd.new_blocks, crowd.live_blocks), (8 * 50_000 * 3, 0));
    assert_eq!((report.function("crowd").frees, crowd.live_bytes), (8 * 50_000 * 3, 0));
}

#[test]
fn a_thread_stuck_in_a_release_holds_up_nobody() {
    let library = memtoll_e2e::library("lib_stuck_free.c", &[]);
    let recording =
        Target::new(program("stuck_release.c")).env("LD_PRELOAD", &library).env("MALLOC_ARENA_MAX", "1").record();
    assert_eq!(recording.outcome.stdout, "got it again\n");
    let report = recording.report();
    for (function, allocations) in [("first_one", 1), ("later_one", 4_000_000)] {
        let site = report.function(function);
        assert_eq!((site.new_blocks, site.live_blocks), (allocations, 0), "{function}");
    }
    assert_eq!((report.function("release").frees, report.function("main").frees), (1, 4_000_000));
    assert!(report.recorder.late_events > 0);
    let said = recording.text(&[]).contains("1 event came so late");
    assert!(said, "{}", recording.text(&[]));
}

#[test]
fn ten_thousand_threads_come_and_go() {
    let report = Target::new(program("ten_thousand.c")).record().report();
    let lives = report.function("short_life");
    assert_eq!((lives.new_blocks, lives.bytes, lives.live_blocks), (30_000, 500_000, 0));
    assert_eq!(lives.temporary, 20_000);
}

/// `alive_at_once.c`. The C library keeps track of stacks in blocks of its own, which are not counted here.
fn all_are_exact(threads: u64) {
    let recording = Target::new(program("alive_at_once.c")).arg(threads.to_string()).record();
    let report = recording.report();
    let [left, own] = ["left_to_main", "own_block"].map(|function| report.function(function));
    assert_eq!((left.new_blocks, left.live_blocks, left.peak_bytes), (threads, 0, threads * 48));
    assert_eq!((own.new_blocks, own.live_blocks), (threads, 0));
    let totals = &report.totals.metrics;
    assert_eq!(totals.frees + totals.live_blocks, totals.new_blocks, "each free has its allocation");
    assert_eq!((report.recorder.dropped, &report.missing[..]), (0, &[][..]), "{:?}", recording.outcome);
}

#[test]
fn six_thousand_threads_that_live_at_the_same_time_are_exact() {
    all_are_exact(6000);
}

#[test]
fn threads_that_find_no_room_are_said_to_be_missing() {
    // 800 MB are enough for 900 threads, but not for as many ends of the log.
    let script = "ulimit -v 800000; MALLOC_ARENA_MAX=1 exec \"$1\" 900";
    for option in ["--max-size=1G", "--quiet"] {
        let recording = Target::shell(script, &[&program("alive_at_once.c")]).option(option).record();
        let report = recording.report();
        assert!(report.recorder.dropped > 0, "{:?}", report.recorder);
        let said = [format!("missing: {}", counted(report.recorder.dropped, "call")), "alive_at_once".to_owned()];
        let is_said = |line: &str| said.iter().all(|word| line.contains(word));
        assert!(report.missing.iter().any(|line| is_said(line)), "{:?}", report.missing);
        // First thing in each report, and after the run.
        let text = recording.text(&[]).replace("\n            ", " ");
        assert!(text.lines().next().is_some_and(is_said), "{text}");
        let stderr = recording.outcome.stderr.replace("\n            ", " ");
        assert!(stderr.lines().any(is_said), "{option}: {stderr}");
    }
}

#[test]
fn what_the_loader_allocates_for_a_thread_is_counted_like_its_release() {
    let library = memtoll_e2e::library("lib_counts.c", &[]);
    let recording = Target::new(program("many_threads.c")).env("LD_PRELOAD", &library).record();
    let counted = |what: &str| {
        let line = recording.outcome.stdout.lines().find(|line| line.starts_with(what));
        line.and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or_else(|| panic!("no {what}: {recording:?}"))
    };
    let report = recording.report();
    let (starts, joins) = (report.function("starts"), report.function("joins"));
    assert!(starts.new_blocks >= 100, "{}", report.listing());
    assert_eq!((starts.new_blocks, starts.frees), (counted("allocations"), 0), "{}", report.listing());
    assert_eq!((joins.new_blocks, joins.frees), (0, counted("frees")), "{}", report.listing());
    let totals = &report.totals.metrics;
    assert_eq!(totals.frees + totals.live_blocks, totals.new_blocks, "each free has its allocation");
    // The recorder's hook has a frame in these stacks, which is nobody's business.
    for options in [["--tree", "--unfold"], ["--callers", "--unfold"], ["--format", "collapsed"]] {
        let text = recording.text(&options);
        assert!(text.contains("starts") && !text.contains("hook_"), "{text}");
    }
}

#[test]
fn a_thread_may_unmap_the_memory_that_holds_its_handle() {
    let library = memtoll_e2e::library("lib_patient_create.c", &[]);
    let recording = Target::new(program_with("handle_is_gone.c", &["-O2", library.to_str().unwrap()])).record();
    assert_eq!(recording.outcome.stdout, "all gone\n");
    assert_eq!(recording.report().new_blocks("detached_work"), 20);
}

#[test]
fn threads_have_their_names() {
    let recording = Target::new(program("thread_names.cpp")).record();
    assert_eq!(recording.report().new_blocks("work"), 600);
    let text = recording.text(&["--group", "thread"]);
    for (name, allocations) in [("loader", "100"), ("painter", "200"), ("sounder", "300")] {
        let line =
            text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("no line for {name}:\n{text}"));
        assert!(line.contains(allocations), "{line}");
    }
}

#[test]
fn what_threads_do_on_their_way_out_is_seen() {
    let report = Target::new(program("thread_ends.cpp")).record().report();
    report.expect_new_blocks(&[
        ("specific_work", 5 * 3 * 2),
        ("local_work", 5 * 3 * 2),
        ("cleanup_work", 5 * 3),
        ("detached_work", 5),
        ("last_work", 1),
    ]);
}

#[test]
fn a_thread_that_unloads_code_disturbs_no_other() {
    let plugin = memtoll_e2e::library("plugin.c", &["-DPLUGIN_A"]);
    let target = Target::new(program("unloads_while.c")).arg(&plugin);
    assert!(run(target.plain_command()).status.success());
    let recording = target.record_alone();
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    // The program's own line: memtoll's summary has calls in it, too.
    let said = recording.outcome.stderr.lines().find_map(|line| line.strip_prefix("calls "));
    let calls: u64 = said.and_then(|number| number.trim().parse().ok()).expect("a line with the calls");
    recording.report().expect_new_blocks(&[("busy_work", calls), ("plugin_a_work", 50 * 3)]);
}
