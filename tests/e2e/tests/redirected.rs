//! Allocators inside programs and libraries, whose functions are redirected to the recorder.

use memtoll_e2e::{Recording, Report, Target, library, printed, program, program_with, run, scratch};
use std::path::{Path, PathBuf};

/// A library of the system, or a failure that says which package has it.
fn installed(name: &str, package: &str) -> PathBuf {
    let folders = memtoll_processor::HERE.library_folders();
    let found = folders.iter().map(|folder| PathBuf::from(folder).join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not installed: `apt-get install {package}`"))
}

/// Compiles a program with a static library.
fn with_archive(program: &str, options: &[&str], archive: &Path) -> PathBuf {
    let needed = [installed("libstdc++.so.6", "libstdc++6"), installed("libm.so.6", "libc6")];
    let files = std::iter::once(archive).chain(needed.iter().map(PathBuf::as_path));
    let all: Vec<&str> = options.iter().copied().chain(files.map(|file| file.to_str().unwrap())).collect();
    program_with(program, &all)
}

/// Expects that one allocator is redirected, of which nothing is missing, and returns what it was asked for: calls,
/// allocations, bytes, releases.
#[track_caller]
fn answered(report: &Report, name: &str) -> [u64; 4] {
    let own: Vec<_> = report.own_allocators.iter().filter(|own| own.name == name).collect();
    assert!(own.iter().all(|own| own.recorded == "all"), "{:?}", report.own_allocators);
    assert!(report.missing.is_empty(), "{:?}", report.missing);
    let sum = |field: fn(&memtoll_e2e::Answered) -> u64| own.iter().map(|own| field(&own.answered)).sum();
    [sum(|it| it.calls), sum(|it| it.allocations), sum(|it| it.bytes), sum(|it| it.releases)]
}

/// What a program says that it has counted.
fn number(recording: &Recording, name: &str) -> u64 {
    let line = recording.outcome.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|line| line.parse().ok()).unwrap_or_else(|| panic!("no {name}: {:?}", recording.outcome))
}

#[test]
fn every_call_and_byte_of_one_and_many_threads_is_counted() {
    for level in ["-O0", "-O2"] {
        for threads in ["1", "4", "50"] {
            let recording = Target::new(program_with("own_jemalloc.c", &[level])).arg(threads).record();
            let report = recording.report();
            let [calls, allocations, bytes, releases] = answered(&report, "jemalloc");
            let counted = [number(&recording, "allocations"), number(&recording, "bytes"), number(&recording, "frees")];
            assert_eq!([allocations, bytes, releases], counted, "{level}, {threads} threads");
            let work = report.function("work");
            // A reallocation is neither a new block nor a free here.
            let moved = work.reallocations;
            assert_eq!([work.new_blocks + moved, work.bytes, work.frees + moved], counted, "{}", report.listing());
            assert_eq!(work.live_blocks, 0);
            // A null pointer, an alignment that is refused; all others give or take a block.
            let rounds = 300 * threads.parse::<u64>().unwrap();
            assert_eq!((work.null_frees, work.failed), (rounds, rounds), "{calls} calls");
        }
    }
}

/// Firefox's allocator: the second argument of `moz_arena_free` is the block.
#[test]
fn blocks_of_arenas_are_acquired_and_released() {
    for threads in ["1", "4", "50"] {
        let recording = Target::new(program_with("own_arenas.c", &["-O1", "-rdynamic"])).arg(threads).record();
        let report = recording.report();
        let work = report.function("work");
        let counted = [number(&recording, "allocations"), number(&recording, "bytes"), number(&recording, "frees")];
        let moved = work.reallocations;
        assert_eq!([work.new_blocks + moved, work.bytes, work.frees + moved], counted, "{}", report.listing());
        assert_eq!(work.live_blocks, 0, "{}", report.listing());
        let json: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
        assert_eq!(json["totals"]["unknown_frees"], 0);
        assert!(answered(&report, "mozjemalloc")[1] >= counted[0]);
    }
}

/// Operators of a program that get their memory from no malloc are an allocator, too.
#[test]
fn operators_with_memory_of_their_own_are_an_allocator() {
    let recording = Target::new(program_with("pool_operators.cpp", &["-O2"])).record();
    let report = recording.report();
    let [calls, allocations, bytes, releases] = answered(&report, "an operator new of its own");
    let counted = [number(&recording, "made"), number(&recording, "gone")];
    assert_eq!(([allocations, releases], bytes, calls), (counted, 107 * 8, 207));
    let site = report.function("make_one");
    assert_eq!((site.new_blocks, site.live_blocks, site.bytes), (107, 7, 107 * 8), "{}", report.listing());
    // Where they are copied into their callers, there is nothing to redirect.
    let copied = Target::new(program_with("pool_operators.cpp", &["-O2", "-DCOPIED"])).record();
    let notes = copied.text(&["--format", "json"]);
    assert!(notes.contains("contains an operator new of its own, which nothing called"), "{notes}");
    // Where they go on to malloc, that is what counts.
    let forwarding = Target::new(program_with("own_operators.cpp", &["-O2"])).record().report();
    assert!(forwarding.own_allocators.is_empty(), "{:?}", forwarding.own_allocators);
}

/// A copy that the compiler made of an allocator's function cannot be redirected: where it is called, not all is recorded.
#[test]
fn copies_of_functions_that_are_called_are_told() {
    let own = |flags: &[&str]| {
        let recording = Target::new(program_with("copied_malloc.c", flags)).record();
        assert_eq!(recording.outcome.stdout, "fine\n");
        recording
    };
    let recording = own(&["-O1", "-rdynamic", "-DCALLED"]);
    let report = recording.report();
    let told = report.missing.iter().any(|text| text.contains("code calls malloc.constprop.0"));
    assert!(told, "{:?}", report.missing);
    assert!(report.own_allocators.iter().all(|own| own.recorded != "all"), "{:?}", report.own_allocators);
    let report = own(&["-O1", "-rdynamic"]).report();
    assert_eq!(answered(&report, "a malloc of its own")[1], 5, "nothing calls the copy");
}

/// Valgrind runs a translation of the code: what is written over it has no effect, and nothing is said to be recorded.
#[test]
fn nothing_is_redirected_inside_valgrind() {
    let program = program_with("own_jemalloc.c", &["-O2"]);
    let recording = Target::new("valgrind").args(["-q", "--tool=none"]).arg(&program).arg("1").record();
    let report = recording.report_with(&[]);
    assert!(report.own_allocators.iter().all(|own| own.recorded != "all"), "{:?}", report.own_allocators);
    let text = recording.text(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Valgrind runs a translation of its code"), "{text}");
}

/// The same programs as with shared libraries (allocators.rs).
#[test]
fn allocators_of_static_libraries_are_recorded() {
    for (name, file, package) in [
        ("jemalloc", "libjemalloc.a", "libjemalloc-dev"),
        ("tcmalloc", "libtcmalloc_minimal.a", "libgoogle-perftools-dev"),
    ] {
        let file = installed(file, package);
        let built = |program, level| with_archive(program, &[level, "-DWITHOUT_PVALLOC"], &file);
        for level in ["-O1", "-O2"] {
            let report = Target::new(built("c_functions.c", level)).record().report();
            report.expect_new_blocks(&[
                ("use_malloc", 11),
                ("use_calloc", 12),
                ("use_realloc", 13),
                ("use_posix_memalign", 15),
                ("use_aligned_alloc", 16),
                ("use_memalign", 17),
            ]);
            assert_eq!(report.function("release").frees, 135, "{name}; sites:\n{}", report.listing());
            assert!(answered(&report, name)[0] > 200, "{:?}", report.own_allocators);
        }
        let report = Target::new(built("operators.cpp", "-O2")).record().report();
        report.expect_new_blocks(&[("plain", 11), ("nothrow_array", 17), ("aligned_array", 21)]);
        assert_eq!(report.function("main").frees, 144);
        let report = Target::new(built("hammer.c", "-O2")).record().report();
        let hammered = report.function("hammer_one");
        assert_eq!((hammered.new_blocks, hammered.live_blocks), (400_000, 0), "{name}; {}", report.listing());
        // Exceptions pass through the hooks of operator new.
        let recording = Target::new(built("bad_alloc.cpp", "-O2")).record();
        answered(&recording.report(), name);
    }
}

/// The library is called right after dlsym, without a call of malloc before.
#[test]
fn an_allocator_inside_a_library_is_recorded_whenever_that_is_loaded() {
    let library = library("lib_own_mimalloc.c", &[]);
    let program = program_with("loads_own.c", &["-O2"]);
    let recording = Target::new(&program).arg(&library).record();
    assert_eq!(recording.outcome.status.code(), Some(0), "{:?}", recording.outcome);
    let report = recording.report();
    // Of 10 three times, of 20 and of 40: with half as many that stay.
    report.expect_new_blocks(&[("lib_own_work", 90 + 45)]);
    assert_eq!(report.function("lib_own_work").frees, 90);
    let [_, allocations, bytes, releases] = answered(&report, "mimalloc");
    assert_eq!([allocations, bytes, releases], [135, 90 * 40 + 45 * 24, 90]);
}

#[test]
fn an_allocator_inside_a_library_that_the_program_needs_is_recorded() {
    let library = library("lib_own_mimalloc.c", &[]);
    let report = Target::new(program_with("linked_own.c", &["-O2", library.to_str().unwrap()])).record().report();
    report.expect_new_blocks(&[("lib_own_work", 1500)]);
    assert_eq!(answered(&report, "mimalloc"), [2500, 1500, 1000 * 40 + 500 * 24, 1000]);
}

#[test]
fn threads_may_load_such_libraries_at_the_same_time() {
    const MANY: u64 = 16;
    let folder = scratch();
    let library = library("lib_own_mimalloc.c", &[]);
    let copies: Vec<PathBuf> = (0..MANY).map(|number| folder.path().join(format!("{number}.so"))).collect();
    copies.iter().for_each(|copy| _ = std::fs::copy(&library, copy).unwrap());
    let recording = Target::new(program_with("loads_own_at_once.c", &["-O2"])).args(&copies).record();
    assert_eq!(recording.outcome.status.code(), Some(0), "{:?}", recording.outcome);
    let report = recording.report();
    // Each loads its library four times and calls it with 10; every fourth has a child that does so once.
    let calls = MANY * 4 + MANY / 4;
    report.expect_new_blocks(&[("lib_own_work", calls * 15)]);
    let [_, allocations, bytes, releases] = answered(&report, "mimalloc");
    assert_eq!([allocations, bytes, releases], [calls * 15, calls * (10 * 40 + 5 * 24), calls * 10]);
}

/// A child of another thread has all of a library's calls redirected, or none of them.
#[test]
fn a_child_of_the_moment_in_which_calls_are_redirected_is_recorded_as_a_whole() {
    let library = library("lib_own_registers.c", &[]);
    let recording =
        Target::new(program_with("forks_while_loading.c", &["-O2", "-rdynamic"])).arg(&library).record_alone();
    assert_eq!(recording.outcome.status.code(), Some(0), "{:?}", recording.outcome);
    assert!(printed(&recording.outcome.stdout, "writes") >= 2, "{:?}", recording.outcome);
    let report = recording.report();
    // Of 10 in each process.
    report.expect_new_blocks(&[("lib_own_work", 2 * 15)]);
    assert_eq!(report.function("lib_own_work").frees, 2 * 10);
}

/// What is not recorded of one library says nothing of another, whose calls are recorded already.
#[test]
fn a_library_stays_recorded_when_another_one_cannot_be() {
    let folder = scratch();
    let library = library("lib_own_mimalloc.c", &[]);
    let copies = ["first.so", "second.so"].map(|name| folder.path().join(name));
    copies.iter().for_each(|copy| _ = std::fs::copy(&library, copy).unwrap());
    let recording = Target::new(program_with("loads_own_at_work.c", &["-O2"])).args(&copies).record();
    assert_eq!(recording.outcome.status.code(), Some(0), "{:?}", recording.outcome);
    let report = recording.report();
    let of = |name: &str| {
        let own = report.own_allocators.iter().filter(|own| own.file.ends_with(name));
        own.map(|own| (own.recorded.as_str(), own.answered.allocations)).collect::<Vec<_>>()
    };
    assert_eq!(of("first.so"), [("all", 45)], "{:?}", report.own_allocators);
    assert_eq!(of("second.so"), [("none", 0)], "{:?}", report.own_allocators);
    let told = report.notes.iter().any(|text| text.contains("threads were at work when it was found"));
    assert!(told, "{:?}", report.notes);
}

fn stripped(folder: &Path, program: &Path) -> PathBuf {
    let stripped = folder.join("stripped");
    let mut strip = std::process::Command::new("strip");
    strip.arg("-o").arg(&stripped).arg(program);
    assert!(run(strip).status.success());
    stripped
}

#[test]
fn of_stripped_programs_it_is_said_what_is_not_seen() {
    let folder = scratch();
    let stripped = stripped(folder.path(), &program_with("own_jemalloc.c", &["-O2"]));
    // With a program whose calls are seen: of both together it is not known what memory costs.
    let recording = Target::shell("\"$1\"; \"$2\"", &[&stripped, &program("tiny.c")]).record();
    let missing = recording.report().missing;
    assert!(
        missing[0].contains("stripped contains jemalloc, whose calls bypass memtoll (it was stripped of"),
        "{missing:?}"
    );
    let text = recording.text(&[]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("own work, and its allocator's, which memtoll does not see"), "{text}");
    assert!(!words.contains("little to gain"), "{text}");
}

/// A file in the cache of debuginfod's clients has the names of the stripped program.
#[test]
fn debug_files_have_the_names_of_stripped_programs() {
    let folder = scratch();
    let program = program_with("own_jemalloc.c", &["-O2", "-Wl,--build-id=0x0123456789abcdef"]);
    let cache = folder.path().join("cache");
    let of_program = cache.join("0123456789abcdef");
    std::fs::create_dir_all(&of_program).unwrap();
    let mut keep = std::process::Command::new("objcopy");
    keep.arg("--only-keep-debug").arg(&program).arg(of_program.join("debuginfo"));
    assert!(run(keep).status.success());
    let target = Target::new(stripped(folder.path(), &program)).env("DEBUGINFOD_CACHE_PATH", &cache);
    let recording = target.record();
    let [_, allocations, ..] = answered(&recording.report(), "jemalloc");
    assert_eq!(allocations, number(&recording, "allocations"));
}

#[test]
fn stripped_programs_keep_what_is_exported() {
    let file = installed("libtcmalloc_minimal.a", "libgoogle-perftools-dev");
    let program = with_archive("hammer.c", &["-O2"], &file);
    let folder = scratch();
    let stripped = stripped(folder.path(), &program);
    let report = Target::new(&stripped).record().report();
    assert!(answered(&report, "tcmalloc")[1] >= 400_000, "{:?}", report.own_allocators);
}
