//! The allocation functions of C: each counted once, at its caller, with its size; and unchanged for the program.

use memtoll_e2e::{Target, library, program, program_with};

/// Frees of blocks that no recorded call allocated are counted, by line, and told: also from some time on.
#[test]
fn frees_of_unknown_blocks_are_counted() {
    let recording = Target::new(program("unknown_frees.c")).record();
    for options in [&[][..], &["--from", "1ns"]] {
        let json: serde_json::Value =
            serde_json::from_str(&recording.text(&[options, &["--format", "json"]].concat())).unwrap();
        assert_eq!(json["totals"]["unknown_frees"], 10, "{options:?}");
        let site = json["sites"].as_array().unwrap().iter().find(|site| site["function"] == "give_back").unwrap();
        assert_eq!((site["unknown_frees"].as_u64(), site["frees"].as_u64()), (Some(10), Some(10)));
    }
    let text = recording.text(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("7 frees of blocks that their process had before memtoll recorded it: "), "{text}");
    assert!(text.contains("3 frees in forked processes of blocks from before the fork: "), "{text}");
    let plain = Target::new(program("keeps.c")).record().text(&[]);
    assert!(!plain.contains("frees of blocks"), "{plain}");
}

#[test]
fn every_function_is_counted_once_at_every_level_of_optimisation() {
    for flags in [&["-O0"][..], &["-O2"], &["-O3"], &["-O2", "-fno-omit-frame-pointer"]] {
        let report = Target::new(program_with("c_functions.c", flags)).record().report();
        report.expect_new_blocks(&[
            ("use_malloc", 11),
            ("use_calloc", 12),
            ("use_realloc", 13),
            ("use_reallocarray", 14),
            ("use_posix_memalign", 15),
            ("use_aligned_alloc", 16),
            ("use_memalign", 17),
            ("use_valloc", 18),
            ("use_pvalloc", 19),
        ]);
        for (function, bytes) in [
            ("use_malloc", 11 * 100),
            ("use_calloc", 12 * 100),
            ("use_realloc", 13 * 100),
            ("use_reallocarray", 14 * 100),
            ("use_posix_memalign", 15 * 100),
            ("use_aligned_alloc", 16 * 256),
            ("use_memalign", 17 * 100),
            ("use_valloc", 18 * 100),
            ("use_pvalloc", 19 * 4096),
        ] {
            let metrics = report.function(function);
            assert_eq!((function, metrics.bytes), (function, bytes));
            assert_eq!((function, metrics.live_blocks), (function, 0));
        }
        let totals = &report.totals.metrics;
        assert_eq!((totals.new_blocks, totals.frees, totals.reallocations), (135, 135, 0));
        assert_eq!(report.function("release").frees, 135);
        assert_eq!((totals.live_blocks, totals.live_bytes), (0, 0));
        assert_eq!(report.totals.events, 270);
    }
}

#[test]
fn sites_have_the_line_of_the_call() {
    let report = Target::new(program("c_functions.c")).record().report();
    let text = std::fs::read_to_string(memtoll_e2e::source("c_functions.c")).unwrap();
    for function in ["malloc(100)", "realloc(NULL, 100)", "aligned_alloc(128, 256)", "posix_memalign(&block"] {
        let line = 1 + text.lines().position(|line| line.contains(function)).unwrap() as u64;
        let found = report.sites.iter().find(|site| site.line == Some(line));
        let file = found.and_then(|site| site.file.as_deref()).unwrap_or_default();
        assert!(file.ends_with("c_functions.c"), "{function}, line {line}; sites:\n{}", report.listing());
    }
}

#[test]
fn sized_frees_of_c23_work_where_libc_lacks_them() {
    let report = Target::new(program("c23_frees.c")).record().report();
    let made = report.function("make");
    assert_eq!((made.new_blocks, made.bytes, made.live_blocks), (30, 30 * 128, 0));
    assert_eq!(report.totals.metrics.frees, report.totals.metrics.new_blocks);
}

#[test]
fn sized_frees_of_c23_reach_the_library_that_has_them() {
    let libc = library("c23_library.c", &[]);
    let report = Target::new(program_with("c23_program.c", &["-O2", libc.to_str().unwrap()])).record().report();
    let totals = &report.totals.metrics;
    assert_eq!(report.new_blocks("make"), 20);
    // The library frees by calling free, which is no second release.
    assert_eq!((totals.new_blocks, totals.frees, totals.live_blocks), (20, 20, 0));
    assert_eq!(totals.null_frees, 1);
}

#[test]
fn realloc_is_a_reallocation_unless_it_starts_from_null() {
    let report = Target::new(program("realloc_cases.c")).record().report();
    let totals = &report.totals.metrics;
    assert_eq!(report.function("from_null").new_blocks, 10);
    for function in ["grow", "shrink", "as_array", "to_zero"] {
        assert_eq!((function, report.function(function).reallocations), (function, 10));
    }
    assert_eq!((totals.new_blocks, totals.reallocations, totals.frees), (20, 40, 10));
    assert_eq!(totals.bytes, 10 * (100 + 50 + 100_000 + 10 + 300));
    assert_eq!((totals.live_blocks, totals.live_bytes), (0, 0));
}

#[test]
fn a_failed_realloc_leaves_the_old_block() {
    let report = Target::new(program("realloc_cases.c")).arg("fail").record().report();
    let totals = &report.totals.metrics;
    assert_eq!((totals.live_blocks, totals.live_bytes), (1, 100));
    assert_eq!(report.function("from_null").live_blocks, 1);
    assert!(totals.peak_bytes < 1 << 30, "the block that was not to be had counts as live: {}", totals.peak_bytes);
    assert!(totals.bytes < 1 << 30, "the block that was not to be had counts: {}", totals.bytes);
}

#[test]
fn freeing_null_is_counted_where_it_happens() {
    let report = Target::new(program("free_null.c")).record().report();
    assert_eq!(report.function("careless").null_frees, 20);
    assert_eq!(report.function("very_careless").null_frees, 1000);
    let totals = &report.totals.metrics;
    assert_eq!((totals.null_frees, totals.frees, totals.new_blocks), (1020, 10, 10));
}

#[test]
fn temporary_means_freed_before_the_next_allocation() {
    let report = Target::new(program("temporary.c")).record().report();
    for (function, allocations, temporary) in
        [("churn", 1000, 1000), ("first", 100, 0), ("second", 100, 100), ("kept", 7, 0)]
    {
        let metrics = report.function(function);
        assert_eq!((function, metrics.new_blocks, metrics.temporary), (function, allocations, temporary));
    }
    let kept = report.function("kept");
    assert_eq!((kept.live_blocks, kept.live_bytes), (7, 7 * 16));
    assert_eq!(report.totals.metrics.temporary, 1100);
}

#[test]
fn the_peak_is_exact() {
    let report = Target::new(program("peak.c")).record().report();
    const MIB: u64 = 1 << 20;
    assert_eq!(report.totals.metrics.peak_bytes, 66 * MIB);
    assert_eq!(report.function("large").peak_bytes, 64 * MIB);
    assert_eq!(report.function("one").live_bytes, 8 * MIB);
    assert_eq!(report.function("one").new_blocks, 13);
}

#[test]
fn the_program_sees_the_same_sizes_alignments_and_errors() {
    // The comparison of the outputs, inside `record`, is the test.
    let report = Target::new(program("unchanged.c")).record().report();
    assert_eq!(report.totals.metrics.live_blocks, 0);
}

#[test]
fn what_happens_before_and_after_main_is_seen() {
    let report = Target::new(program("startup_shutdown.c")).record().report();
    report.expect_new_blocks(&[("constructor_work", 3), ("atexit_work", 5), ("destructor_work", 7)]);
    assert_eq!(report.totals.metrics.new_blocks, 15);
}

#[test]
fn mappings_are_events_but_no_allocations() {
    let report = Target::new(program("mappings.c")).record().report();
    assert_eq!((report.totals.metrics.new_blocks, report.totals.metrics.bytes), (0, 0));
    assert!(report.totals.events >= 9, "{:?}", report.totals);
}
