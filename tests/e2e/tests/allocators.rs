//! Allocators other than libc's.

use memtoll_e2e::{Report, Target, library, program_with, run, scratch};
use std::path::PathBuf;

/// A shared library of the system, or a failure that says which package has it.
fn system_library(name: &str, package: &str) -> PathBuf {
    let folders = memtoll_processor::HERE.library_folders();
    let found = folders.iter().map(|folder| PathBuf::from(folder).join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not installed: `apt-get install {package}`"))
}

fn expect_all_functions(report: &Report, has_pvalloc: bool) {
    report.expect_new_blocks(&[
        ("use_malloc", 11),
        ("use_calloc", 12),
        ("use_realloc", 13),
        ("use_reallocarray", 14),
        ("use_posix_memalign", 15),
        ("use_aligned_alloc", 16),
        ("use_memalign", 17),
        ("use_valloc", if has_pvalloc { 18 } else { 18 + 19 }),
        ("use_pvalloc", if has_pvalloc { 19 } else { 0 }),
    ]);
    assert_eq!(report.function("release").frees, 135);
}

/// Records the C and C++ functions with `allocator`, which is linked to the program, or preloaded by the user.
fn works_with(allocator: &str, package: &str, has_pvalloc: bool) {
    let allocator = system_library(allocator, package);
    let path = allocator.to_str().unwrap();
    let pvalloc = if has_pvalloc { "-DWITH_PVALLOC" } else { "-DWITHOUT_PVALLOC" };
    let (linked, not_linked) =
        (program_with("c_functions.c", &["-O2", pvalloc, path]), program_with("c_functions.c", &["-O2", pvalloc]));
    expect_all_functions(&Target::new(linked).record().report(), has_pvalloc);
    let preloaded = Target::new("env").arg(format!("LD_PRELOAD={path}")).arg(&not_linked);
    expect_all_functions(&preloaded.record().report(), has_pvalloc);
    let outside = Target::new(&not_linked).env("LD_PRELOAD", path);
    expect_all_functions(&outside.record().report(), has_pvalloc);

    let report = Target::new(program_with("operators.cpp", &["-O2", path])).record().report();
    report.expect_new_blocks(&[("plain", 11), ("nothrow_array", 17), ("aligned_array", 21)]);
    assert_eq!(report.function("main").frees, 144);

    let report = Target::new(program_with("hammer.c", &["-O2", path])).record().report();
    let hammered = report.function("hammer_one");
    assert_eq!((hammered.new_blocks, hammered.live_blocks), (400_000, 0), "{}", report.listing());
    // What is left is not the program's: the local storage of threads whose stacks are kept, and what the allocator's and the
    // C++ library take once, when they start.
    let totals = &report.totals.metrics;
    assert_eq!(totals.frees + totals.live_blocks, totals.new_blocks, "each free has its allocation");
    assert!(totals.live_blocks <= 4 + 4, "{}", report.listing());
}

#[test]
fn jemalloc() {
    works_with("libjemalloc.so.2", "libjemalloc2", false);
}

#[test]
fn tcmalloc() {
    works_with("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4", true);
}

#[test]
fn mimalloc() {
    works_with("libmimalloc.so.2", "libmimalloc2.0", true);
}

#[test]
fn an_executable_may_bring_its_own_malloc() {
    let library = library("lib_for_own.c", &[]);
    let recording = Target::new(program_with("own_malloc.c", &["-O2", library.to_str().unwrap()])).record();
    assert_eq!(recording.outcome.status.code(), Some(5));
    let report = recording.report();
    report.expect_new_blocks(&[("library_work", 50)]);
    assert_eq!(report.function("library_work").live_blocks, 25);
    // Its own calls pass through no table that could be watched: a note says so.
    assert!(!recording.outcome.stderr_lines_with(&["malloc", "own"]).is_empty(), "{:?}", recording.outcome);
}

/// Programs whose allocation functions go on to the next ones, which are the recorder's: both count each call once.
#[test]
fn an_executables_malloc_may_go_on_to_the_next_one() {
    for level in ["-O0", "-O2"] {
        let recording = Target::new(program_with("counts_itself.cpp", &[level])).record();
        let outcome = &recording.outcome;
        assert_eq!(outcome.status.code(), Some(7), "{outcome:?}");
        assert_eq!(outcome.stdout, "c 20\nc++ 30\nlibrary 40\n", "{level}");
        let report = recording.report();
        report.expect_new_blocks(&[("c_work", 20), ("cxx_work", 30), ("library_work", 40)]);
        assert_eq!(report.function("cxx_work").frees, 30, "{level}; sites:\n{}", report.listing());
        assert_eq!(outcome.stderr_lines_with(&["allocator of its own"]).len(), 0, "{outcome:?}");

        let recording = Target::new(program_with("forwards.c", &[level])).record();
        let outcome = &recording.outcome;
        assert_eq!(outcome.status.code(), Some(7), "{outcome:?}");
        assert_eq!(outcome.stdout, "allocations 50\nreleases 50\n", "{level}");
        let report = recording.report();
        report.expect_new_blocks(&[("malloc", 20), ("library_work", 30)]);
        assert_eq!(report.function("malloc").live_blocks, 0, "{level}");
    }
}

/// Each block goes back to the allocator that gave it: the C++ library's `new[]` and `delete[]` jump to the executable's
/// operators, through the recorder.
#[test]
fn an_executable_may_bring_only_some_of_the_functions() {
    for level in ["-O0", "-O2"] {
        let recording = Target::new(program_with("own_some.cpp", &[level])).record();
        let outcome = &recording.outcome;
        assert_eq!(outcome.status.code(), Some(9), "{outcome:?}");
        assert_eq!(outcome.stdout, "taken 20\ngiven 20\nstrangers 0\n", "{level}");
        let report = recording.report();
        report.expect_new_blocks(&[("arrays", 20)]);
        assert_eq!(report.function("arrays").live_blocks, 0, "{level}");
    }
}

#[test]
fn rustc_with_its_own_jemalloc_is_recorded() {
    let directory = scratch();
    let source = memtoll_e2e::source("rust.rs");
    let target = Target::new("rustc")
        .args(["--edition", "2021", "--crate-name", "compiled", "--emit=metadata", "--out-dir"])
        .arg(directory.path())
        .arg(&source);
    let plain = run(target.plain_command());
    assert!(plain.status.success(), "{plain:?}");
    let recording = target.record_alone();
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    let report = recording.report_with(&[]);
    assert!(report.totals.metrics.new_blocks > 10_000, "{:?}", report.totals);
}
