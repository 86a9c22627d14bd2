//! Pools and arenas of the program's own: their blocks count as malloc's do, and each byte once.

use memtoll_e2e::{CostReport, Recording, Target, program, program_with};
use std::sync::LazyLock;

static POOLS: LazyLock<Recording> = LazyLock::new(|| Target::new(program("pools.c")).record());

#[test]
fn blocks_of_pools_count_exactly() {
    let report = POOLS.report();
    let listing = report.listing();
    let of = |name: &str| report.function(name);
    let enemies = of("enemies");
    assert_eq!((enemies.new_blocks, enemies.bytes), (100, 4800), "{listing}");
    assert_eq!((enemies.frees, enemies.live_blocks), (0, 0), "{listing}");
    assert_eq!(of("kill_some").frees, 40, "{listing}");
    let grows = of("grows");
    assert_eq!((grows.new_blocks, grows.reallocations, grows.bytes), (2, 2, 100 + 500 + 2000 + 10));
    assert_eq!(of("ends").frees, 60 + 2 + 1, "what was still there, and the chunk: {listing}");
    // Everything is given back; the C library keeps a thread's local storage.
    let (totals, threads) = (&report.totals.metrics, of("threads"));
    assert_eq!(totals.live_blocks, threads.live_blocks, "{listing}");
    assert_eq!(totals.live_bytes, threads.live_bytes, "{listing}");
}

#[test]
fn pools_end_with_their_memory() {
    let report = POOLS.report_with(&["--wrappers"]);
    let listing = report.listing();
    let of = |name: &str| report.function(name);
    assert_eq!((of("inner").new_blocks, of("inner").bytes), (1, 4000), "{listing}");
    assert_eq!(of("in_inner").new_blocks, 10 + 10 + 7 * 10, "{listing}");
    assert_eq!(of("in_inner").live_blocks, 0, "{listing}");
    assert_eq!(of("forgotten").frees, 10 + 1 + 1 + 10, "blocks, the inner chunk, the outer one, and mapped ones");
    // 6 times those of the frame before, at the end those of the last; then 5 of 6 blocks make room for the next, and of
    // those that are released the last is there, and one is not.
    let last = of("again_and_again");
    assert_eq!((last.new_blocks, last.failed, last.null_frees), (6, 1, 1), "{listing}");
    assert_eq!(last.frees, 7 * 10 + 5 + 1 + 1 + 1, "{listing}");
}

#[test]
fn reports_name_the_pools() {
    let text = POOLS.text(&[]);
    let row = |name: &str| text.lines().find(|line| line.contains(&format!(" {name}, from "))).unwrap_or_default();
    let words = |name: &str| row(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    assert_eq!(words("inner"), "10 1,000 B 1,000 B 3.9 KiB 25.0 % 1 10 inner, from 1 call path", "{text}");
    assert_eq!(words("frame"), "70 6.8 KiB 1,000 B 4.9 KiB 20.0 % 8 70 frame, from 1 call path", "{text}");
    assert!(text.contains("(handed out outside of all pools)"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&POOLS.text(&["--format", "json"])).unwrap();
    let pool = json["pools"].as_array().unwrap().iter().find(|pool| pool["name"] == "level").unwrap();
    let number = |name: &str| pool[name].as_u64().unwrap();
    assert_eq!((number("blocks"), number("dropped"), number("begun")), (104, 60 + 2, 1), "{pool}");
    assert_eq!((number("most_chunk_bytes"), number("chunk_bytes_at_peak")), (100_000, 100_000), "{pool}");
    assert_eq!(number("peak_bytes"), 60 * 48 + 2000 + 10, "{pool}");
}

#[test]
fn two_threads_hand_out_at_once() {
    let report = POOLS.report();
    let threads = report.function("takes_and_gives");
    assert_eq!((threads.new_blocks, threads.frees), (2 * 20_001, 2 * 20_000), "{}", report.listing());
    assert_eq!((threads.live_blocks, report.function("threads").frees), (0, 2), "{}", report.listing());
}

/// What a span of time adds up to is what the recording says of all of it.
#[test]
fn events_say_the_same_as_sums() {
    let (all, read) = (POOLS.report(), POOLS.report_with(&["--from", "0", "--to", "3600s", "--min-size", "0"]));
    for name in ["by_malloc", "enemies", "grows", "inner", "in_inner", "takes_and_gives", "again_and_again"] {
        assert_eq!(all.function(name), read.function(name), "{name}");
    }
}

#[test]
fn each_byte_and_page_counts_once() {
    let recording = Target::new(program("pools.c")).arg("touched").option("--fault-period=1").record_alone();
    let report = recording.report();
    let listing = report.listing();
    const PAGE: u64 = 4096;
    let peak = |name: &str| (report.function(name).peak_bytes, report.function(name).live_bytes);
    assert_eq!(peak("by_malloc"), (250 * PAGE, 250 * PAGE), "what is not handed out: {listing}");
    assert_eq!(peak("texture"), (300 * PAGE, 300 * PAGE), "{listing}");
    assert_eq!(peak("mesh"), (50 * PAGE, 50 * PAGE), "{listing}");
    assert_eq!(report.totals.metrics.live_bytes, 600 * PAGE, "{listing}");
    assert_eq!(report.totals.metrics.peak_bytes, 600 * PAGE, "{listing}");

    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let faults = |name: &str| report.function(name).minor_faults;
    let listing = report.listing();
    // A block of malloc's begins behind a header on its first page, so its pages are one off: each block's first page holds
    // the end of the one before.
    assert_eq!(faults("texture"), 100 - 1 + 200, "the first was touched by malloc: {listing}");
    assert_eq!(faults("mesh"), 50, "{listing}");
    assert_eq!(faults("by_malloc"), 1 + 30, "{listing}");
    assert_eq!(faults("by_mmap"), 7, "{listing}");
    report.expect_all_faults();
}

#[test]
fn pools_of_containers_are_typed() {
    let recording = Target::new(program("pools.cpp")).record();
    let text = recording.text(&["--fold", "arena::take|from_arena", "--flat"]);
    assert!(text.contains("std::vector<bullet, from_arena<bullet>>"), "{text}");
    assert!(text.contains("std::list<int, from_arena<int>>"), "{text}");
    let report = recording.report();
    let of = |name: &str| report.function(name);
    let listing = report.listing();
    assert_eq!((of("shoot").new_blocks, of("shoot").bytes), (1, 48_000), "{listing}");
    assert_eq!((of("walk").new_blocks, of("walk").bytes), (50, 50 * 24), "{listing}");
    assert_eq!((of("world").new_blocks, of("world").live_blocks), (20, 0), "{listing}");
}

#[test]
fn the_remedies_say_what_they_hand_out_unless_ndebug_is_defined() {
    let report = Target::new(program("remedy_pools.cpp")).record().report();
    let listing = report.listing();
    let of = |name: &str| report.function(name);
    // A thousand strings, a long one, one that is written in place, and one of fifty that are the same; twice.
    assert_eq!((of("names").new_blocks, of("names").reallocations), (2 * 1003, 2), "{listing}");
    assert_eq!((of("large").new_blocks, of("large").bytes), (1, 3 << 20), "{listing}");
    assert_eq!((of("frames").new_blocks, of("frames").bytes), (4, 40_000), "{listing}");
    for name in ["names", "large", "frames"] {
        assert_eq!(of(name).live_blocks, 0, "{name}: {listing}");
    }
    let report = Target::new(program_with("remedy_pools.cpp", &["-O2", "-DNDEBUG"])).record().report();
    assert_eq!(
        ["names", "large", "frames"].map(|name| report.function(name).new_blocks),
        [0; 3],
        "{}",
        report.listing()
    );
}
