//! Allocators other than libc's.

use memtoll_e2e::{NOT_KNOWN, Report, Target, library, program, program_with, run, scratch, wait_until};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

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
    report.expect_new_blocks(&[("executable_work", 20), ("library_work", 50)]);
    assert_eq!(report.function("executable_work").frees, 20);
    assert!(report.missing.is_empty(), "{:?}", report.missing);
    assert_eq!(report.own_allocators[0].pids.len(), 2, "its child, too");
    assert!(!report.notes.iter().any(|note| note.contains("which nothing called")), "{:?}", report.notes);
}

/// Blocks of a library that the executable frees by its own `free`, which memtoll does not see: none is called live, and their
/// frees are missing nowhere.
#[test]
fn what_a_malloc_of_the_program_itself_frees_is_not_known() {
    let library = library("lib_for_heap.c", &[]);
    let flags = ["-O1", "-rdynamic", "-DIMMOVABLE", library.to_str().unwrap()];
    let recording = Target::new(program_with("own_heap.c", &flags)).record();
    assert_eq!(recording.outcome.stdout, "fine\n");
    let first_screen = recording.outcome.stderr_lines_with(&["incomplete: ", "contains a malloc of its"]);
    assert_eq!(first_screen.len(), 1, "{:?}", recording.outcome);
    assert!(recording.outcome.stderr_lines_with(&["never freed, in"]).is_empty(), "{:?}", recording.outcome);
    let report = recording.report();
    report.expect_new_blocks(&[("lib_make", 2000)]);
    let unknown = report.function("lib_make");
    let figures = [unknown.live_blocks, unknown.live_bytes, unknown.peak_bytes, unknown.temporary];
    assert_eq!(figures, [NOT_KNOWN; 4], "{unknown:?}");
    let json: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let own = &json["own_allocators"][0];
    assert_eq!((own["recorded"].as_str(), own["is_exported"].as_bool()), (Some("of_other_files"), Some(true)), "{own}");
    assert!(json["totals"]["lifetime_ns"].is_null() && json["totals"]["peak_with_mappings"].is_null());
    let found: Vec<&str> = json["findings"].as_array().unwrap().iter().filter_map(|of| of["id"].as_str()).collect();
    assert!(!found.contains(&"never-freed") && !found.contains(&"holds-peak"), "{found:?}");
    assert!(json["sites"][0]["pattern"]["lifetimes_ns"].is_null(), "{}", json["sites"][0]);
    for options in [&["--tree", "--metric", "live"][..], &["--metric", "peak"]] {
        let text = recording.text(options);
        assert!(text.contains("is not known: an allocator inside the program hides frees"), "{options:?}: {text}");
    }
    let exported = memtoll_e2e::run({
        let mut command = std::process::Command::new(memtoll_e2e::memtoll());
        command.arg("export").args(["--format", "dhat", "-o", "-"]).arg(&recording.file);
        command
    });
    assert!(!exported.status.success() && exported.stdout.is_empty(), "{exported:?}");
    let advice = memtoll_e2e::run({
        let mut command = std::process::Command::new(memtoll_e2e::memtoll());
        command.arg("advise").arg(&recording.file).args(["--threshold", "0", "--format", "json"]);
        command
    });
    let advice: serde_json::Value = serde_json::from_str(&advice.stdout).unwrap();
    let rules: Vec<&str> = advice["findings"].as_array().unwrap().iter().filter_map(|of| of["rule"].as_str()).collect();
    assert!(!rules.contains(&"never-freed"), "{rules:?}");
}

/// The report says which file answered calls of malloc: the C library, and a library that comes before it.
#[test]
fn the_allocator_that_answered_is_named() {
    let of = |target: Target| {
        let recording = target.record();
        let json: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
        let malloc = json["mallocs"][0].clone();
        assert_eq!(json["mallocs"].as_array().unwrap().len(), 1, "{json}");
        let name = malloc["name"].as_str().unwrap().to_owned();
        let text = recording.text(&[]);
        assert!(text.contains(&format!("malloc: {name}")), "{text}");
        // The first screen wraps lines, and cuts none.
        let file = Path::new(malloc["file"].as_str().unwrap()).file_name().unwrap().to_str().unwrap();
        let named = if name == "jemalloc" { format!("malloc: {name} in {file}") } else { format!("malloc: {name}") };
        let screen = recording.outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(screen.contains(&named), "{screen}");
        (name, malloc["file"].as_str().unwrap().to_owned(), recording)
    };
    let mut version = std::process::Command::new("getconf");
    version.arg("GNU_LIBC_VERSION");
    let version = run(version).stdout.trim().to_owned();
    let (plain, file, before) = of(Target::new(program("keeps.c")));
    assert_eq!(plain, version);
    assert!(file.ends_with("/libc.so.6"), "{file}");
    let jemalloc = system_library("libjemalloc.so.2", "libjemalloc2");
    let (preloaded, file, after) = of(Target::new(program("keeps.c")).env("LD_PRELOAD", &jemalloc));
    assert_eq!(preloaded, "jemalloc");
    assert!(file.ends_with("/libjemalloc.so.2"), "{file}");
    let (linked, ..) =
        of(Target::new(program_with("keeps.c", &["-O2", "-Wl,--no-as-needed", "-lm", jemalloc.to_str().unwrap()])));
    assert_eq!(linked, "jemalloc", "it comes before the C library");
    let mut diff = std::process::Command::new(memtoll_e2e::memtoll());
    diff.arg("diff").args([&before.file, &after.file]);
    let text = run(diff).stdout;
    assert!(text.contains(&format!("malloc: before {version}, after jemalloc in libjemalloc.so.2")), "{text}");
}

/// What an allocator maps when it is loaded and in a thread of its own is no mapping of the program.
#[test]
fn what_an_allocator_maps_is_its_own() {
    let heap = library("lib_mapping_heap.c", &[]);
    let recording = Target::new(program_with("maps_beside.c", &["-O2", heap.to_str().unwrap()])).record();
    let json: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let totals = &json["totals"];
    assert_eq!((totals["mapped_bytes"].as_u64(), totals["mappings"].as_u64()), (Some(3 << 20), Some(3)), "{totals}");
    let touched = totals["peak_with_mappings"]["mapped_bytes"].as_u64().unwrap();
    assert_eq!(touched, 3 << 20, "{totals}");
    let sites = json["sites"].as_array().unwrap();
    let of_heap =
        sites.iter().filter(|site| ["begins", "fills"].contains(&site["function"].as_str().unwrap_or_default()));
    assert!(of_heap.clone().all(|site| site["touched_bytes"] == 0 && site["faults"] == 0), "{sites:?}");
    let first = recording.outcome.stderr.clone();
    assert!(!first.contains("fills") && !first.contains("begins"), "{first}");
}

/// A process that hides frees takes nothing from what is known of another one.
#[test]
fn hidden_frees_are_those_of_their_process() {
    let library = library("lib_for_heap.c", &[]);
    let hides = program_with("own_heap.c", &["-O1", "-rdynamic", "-DIMMOVABLE", library.to_str().unwrap()]);
    let keeps = program("keeps.c");
    let recording = Target::shell("\"$1\"; \"$2\"; true", &[&hides, &keeps]).record();
    let report = recording.report();
    assert_eq!(report.function("lib_make").live_blocks, NOT_KNOWN, "only of the process that hides frees");
    let kept = report.function("take");
    assert_eq!((kept.live_blocks, kept.peak_bytes), (1, 10 * (40 << 10)), "{kept:?}");
    let json = |options: &[&str]| -> serde_json::Value {
        serde_json::from_str(&recording.text(&[options, &["--format", "json"]].concat())).unwrap()
    };
    let all = json(&[]);
    assert_eq!(all["totals"]["processes_that_hide_frees"], 1);
    assert!(all["totals"]["live_blocks"].as_u64().unwrap() >= 1, "{}", all["totals"]);
    let of = |name: &str| {
        let processes = all["processes"].as_array().unwrap();
        processes.iter().find(|of| of["name"].as_str().unwrap().starts_with(name)).unwrap().clone()
    };
    assert!(of("own_heap")["live_blocks"].is_null() && of("own_heap")["peak_bytes"].is_null());
    assert_eq!(of("keeps")["live_blocks"], 1);
    let text = recording.text(&[]);
    assert!(text.contains("of 1 of 3 processes"), "{text}");
    let only = json(&["--process", &of("own_heap")["pid"].to_string()]);
    assert!(only["totals"]["live_blocks"].is_null() && only["totals"]["peak_bytes"].is_null(), "{}", only["totals"]);
    let exact = recording.text(&["--process", &of("keeps")["pid"].to_string()]);
    assert!(!exact.contains("not known"), "{exact}");
}

/// Operators that put a header before each object. The program deletes objects of a library, and the library those of the program:
/// what is recorded is what all of these get from malloc.
#[test]
fn operators_may_return_a_part_of_a_block() {
    let library = library("lib_for_headers.cpp", &[]);
    for level in ["-O0", "-O2"] {
        let program = program_with("header_operators.cpp", &[level, "-rdynamic", library.to_str().unwrap()]);
        let recording = Target::new(program).record();
        assert_eq!(recording.outcome.stdout, "live 0\n", "{:?}", recording.outcome);
        let report = recording.report();
        let made = [report.function("library_makes"), report.function("program_makes")];
        assert_eq!(
            made.map(|of| (of.new_blocks, of.bytes, of.live_blocks)),
            [(200, 200 * (24 + 16), 0); 2],
            "{}",
            report.listing()
        );
        assert!(report.missing.is_empty(), "{:?}", report.missing);
    }
}

/// Nothing in the file tells that frees are missing. That addresses are handed out again does.
#[test]
fn frees_that_are_missing_are_found_out() {
    let report = Target::new(program("hidden_frees.c")).record().report();
    report.expect_new_blocks(&[("hidden", 1000), ("seen", 1000)]);
    assert!(report.missing[0].contains("freed blocks without memtoll"), "{:?}", report.missing);
    assert_eq!((report.function("seen").frees, report.function("seen").live_blocks), (1000, NOT_KNOWN));
}

/// The same where its functions can be redirected: nothing is live at the end.
#[test]
fn what_a_malloc_of_the_program_itself_frees_is_seen() {
    let library = library("lib_for_heap.c", &[]);
    let flags = ["-O1", "-rdynamic", library.to_str().unwrap()];
    let report = Target::new(program_with("own_heap.c", &flags)).record().report();
    report.expect_new_blocks(&[("lib_make", 2000)]);
    assert_eq!(report.function("lib_make").live_blocks, 0);
    assert_eq!((report.function("lib_run").frees, report.function("main").frees), (1000, 1000));
    assert!(report.missing.is_empty(), "{:?}", report.missing);
}

/// Also of a recording that memtoll could not bring to its end.
#[test]
fn a_recording_that_is_cut_off_knows_that_frees_are_missing() {
    let directory = scratch();
    let file = directory.path().join("run.memtoll");
    let target = Target::new(program("hidden_frees.c")).arg("1000");
    let mut memtoll = target.record_command(&file);
    let mut memtoll = memtoll.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // A block of events is 65,536: some dozens of rounds.
    wait_until("events are written", || fs::metadata(&file).is_ok_and(|about| about.len() > 20_000));
    memtoll.kill().unwrap();
    memtoll.wait().unwrap();
    let json = memtoll_e2e::read_report(&file, &["--format", "json"]).stdout;
    let report = Report::parse_part(json.as_bytes());
    assert!(report.missing.iter().any(|text| text.contains("freed blocks without memtoll")), "{:?}", report.missing);
    assert!(report.new_blocks("hidden") > 10_000, "{}", report.listing());
    assert_eq!(report.function("seen").live_blocks, NOT_KNOWN);
}

/// An allocator under names of its own, as Rust's crates have them.
#[test]
fn an_allocator_under_other_names_is_recorded() {
    let recording = Target::new(program_with("own_allocator.rs", &["debuginfo=2"])).record();
    assert_eq!(recording.outcome.stdout, "1000\n");
    let report = recording.report();
    assert!(report.missing.is_empty(), "{:?}", report.missing);
    assert!(report.totals.metrics.new_blocks >= 1001, "{}", report.listing());
    let text = recording.text(&[]);
    assert!(!text.contains("without line numbers"), "{text}");
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
        assert_eq!(outcome.stderr_lines_with(&["bypass memtoll"]).len(), 0, "{outcome:?}");

        let recording = Target::new(program_with("forwards.c", &[level])).record();
        let outcome = &recording.outcome;
        assert_eq!(outcome.status.code(), Some(7), "{outcome:?}");
        assert_eq!(outcome.stdout, "allocations 50\nreleases 50\n", "{level}");
        let report = recording.report();
        report.expect_new_blocks(&[("executable_work", 20), ("library_work", 30)]);
        assert_eq!(report.function("executable_work").live_blocks, 0, "{level}");
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
        assert_eq!(report.function("arrays").frees, 20, "{level}");
    }
}

/// What it writes is the same, byte by byte.
#[test]
fn rustc_with_its_own_jemalloc_is_recorded() {
    let (plain, recorded) = (scratch(), scratch());
    let source = memtoll_e2e::source("rust.rs");
    let into = |folder: &tempfile::TempDir| {
        Target::new("rustc")
            .args(["--edition", "2021", "--crate-name", "compiled", "--emit=metadata,obj", "--out-dir"])
            .arg(folder.path())
            .arg(&source)
    };
    let outcome = run(into(&plain).plain_command());
    assert!(outcome.status.success(), "{outcome:?}");
    let recording = into(&recorded).record_alone();
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    for name in ["libcompiled.rmeta", "compiled.o"] {
        let bytes = |folder: &tempfile::TempDir| std::fs::read(folder.path().join(name)).unwrap();
        assert!(bytes(&plain) == bytes(&recorded), "{name} differs");
    }
    let report = recording.report_with(&[]);
    assert!(report.missing.is_empty(), "{:?}", report.missing);
    let own = report.own_allocators.iter().find(|own| own.name == "jemalloc");
    let own = own.unwrap_or_else(|| panic!("{:?}", report.own_allocators));
    assert!(own.recorded == "all" && own.answered.allocations > 10_000, "{own:?}");
}
