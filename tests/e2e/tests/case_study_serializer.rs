//! The serialiser: the same text from every writer, and what each of them asks of the heap.

use memtoll_e2e::{Recording, Target, demo_program, program, run, table};
use std::os::unix::process::ExitStatusExt;

const OBJECTS: u64 = 16 * 64;
const FIELDS: u64 = 6;

/// 16 pages of 64 objects from `serializer-BUILD`.
fn serializer(build: &str, writer: &str, threads: &str) -> Target {
    let target = Target::new(demo_program("serializer", build)).args(["--writer", writer, "--threads", threads]);
    target.args(["--pages", "16", "--objects", "64"])
}

fn record(build: &str, writer: &str) -> Recording {
    serializer(build, writer, "4").record()
}

#[test]
fn all_variants_write_the_same_text() {
    let text = run(serializer("release", "to_chars", "1").plain_command()).stdout;
    assert!(text.contains("checksum"), "{text}");
    for build in ["debug", "release"] {
        for writer in ["sprintf", "asprintf", "ostringstream", "to_chars"] {
            for threads in ["1", "4"] {
                let outcome = run(serializer(build, writer, threads).plain_command());
                assert_eq!(outcome.stdout, text, "{build} {writer} {threads}: {outcome:?}");
                assert!(outcome.status.success(), "{build} {writer} {threads}: {outcome:?}");
            }
        }
    }
}

#[test]
fn sprintf_frees_a_null_pointer_for_every_field() {
    for build in ["debug", "release"] {
        let recording = record(build, "sprintf");
        let report = recording.report();
        let printed = report.function("print");
        let found = (printed.new_blocks, printed.frees, printed.null_frees);
        assert_eq!(found, (0, 0, OBJECTS * FIELDS), "{build}; sites:\n{}", report.listing());
        let screen = recording.text(&[]);
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in ["Formatter::~Formatter (sprintf.cpp:", "times with a null pointer"] {
            assert!(words.contains(said), "{build}:\n{screen}");
        }
    }
}

#[test]
fn asprintf_allocates_for_every_field() {
    for build in ["debug", "release"] {
        let report = record(build, "asprintf").report();
        let printed = report.function("print");
        // How many blocks a call takes is the C library's affair: 2 with glibc 2.36, as the README says.
        assert_eq!(printed.new_blocks, 2 * OBJECTS * FIELDS, "{build}; sites:\n{}", report.listing());
        let left = (printed.frees, printed.live_blocks, printed.null_frees);
        assert_eq!(left, (printed.new_blocks, 0, 0), "{build}; sites:\n{}", report.listing());
    }
}

#[test]
fn ostringstream_allocates_twice_for_every_object() {
    let report = record("debug", "ostringstream").report();
    let written = report.function("write_with_ostringstream");
    assert_eq!((written.new_blocks, written.live_blocks), (2 * OBJECTS, 0), "{}", report.listing());
}

#[test]
fn to_chars_asks_nothing_of_the_heap() {
    // Sequentially, so that the C library's own allocations for threads do not blur the difference.
    let counts = |objects: &str| {
        let target = Target::new(demo_program("serializer", "debug")).args(["--writer", "to_chars", "--threads", "1"]);
        let totals = target.args(["--pages", "16", "--objects", objects]).record().report().totals.metrics;
        (totals.new_blocks, totals.frees, totals.null_frees)
    };
    assert_eq!(counts("64"), counts("640"));
}

#[test]
fn every_writer_asks_of_the_heap_what_the_readme_says() {
    let rows = table("casestudies/serializer/README.md", "writers");
    assert_eq!(rows.len(), 2 * 4);
    for row in &rows {
        let build = if row[0] == "glibc" { "release" } else { "debug" };
        let counts = |objects: &str| {
            let target = Target::new(demo_program("serializer", build)).args(["--writer", row[1].trim_matches('`')]);
            let target = target.args(["--threads", "1", "--pages", "1", "--objects", objects]);
            let totals = target.record().report().totals.metrics;
            [totals.new_blocks, totals.null_frees]
        };
        let (few, many, said) = (counts("100"), counts("1100"), [2, 3].map(|i| row[i].parse::<u64>().unwrap()));
        assert_eq!([0, 1].map(|i| many[i] - few[i]), said.map(|count| 1_000 * count), "{row:?}");
    }
}

#[test]
fn the_debug_heap_finds_an_overrun() {
    demo_program("serializer", "debug"); // builds the heap beside it
    let heap = demo_program("serializer", "debug").with_file_name("libdebugheap.so");
    for function in ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign"] {
        let inside =
            run(Target::new(program("overrun.c")).args([function, "0"]).env("LD_PRELOAD", &heap).plain_command());
        assert_eq!(inside.status.code(), Some(0), "{function}: {inside:?}");
        let behind =
            run(Target::new(program("overrun.c")).args([function, "1"]).env("LD_PRELOAD", &heap).plain_command());
        assert_eq!(behind.status.signal(), Some(libc::SIGABRT), "{function}: {behind:?}");
        assert_eq!(behind.stderr_lines_with(&["behind the end of a block"]).len(), 1, "{function}: {behind:?}");
    }
}
