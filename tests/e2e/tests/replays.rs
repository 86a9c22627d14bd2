//! `memtoll replay` makes exactly the recorded calls: the player itself is recorded to see that.

use memtoll_e2e::{Outcome, Target, memtoll, program, run, scratch, skipped, without_perf};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn replay(file: &Path, options: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.arg("replay").arg(file).args(options);
    run(command)
}

#[track_caller]
fn json(file: &Path, options: &[&str]) -> Value {
    let outcome = replay(file, &[options, &["--format", "json"]].concat());
    assert!(outcome.status.success(), "{outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

/// Allocations by size, frees, and frees of null pointers, of all calls that a recording holds.
#[derive(PartialEq, Debug)]
struct Calls {
    sizes: BTreeMap<String, u64>,
    frees: u64,
    null: u64,
}

fn calls(file: &Path) -> Calls {
    let report = |options: &[&str]| -> Value {
        let mut command = Command::new(memtoll());
        command.arg("report").arg(file).args(["--format", "json", "-n", "100000"]).args(options);
        serde_json::from_str(&run(command).stdout).unwrap()
    };
    let count = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let all = report(&[]);
    let mut sizes = BTreeMap::new();
    for site in report(&["--group", "size"])["sites"].as_array().unwrap() {
        let number = count(site, "allocations");
        if number > 0 {
            sizes.insert(site["function"].as_str().unwrap().to_owned(), number);
        }
    }
    Calls { sizes, frees: count(&all["totals"], "frees"), null: count(&all["totals"], "null_frees") }
}

/// The calls of a recording, and those of a recording of the player that plays it.
fn both(target: &Target) -> (Calls, Calls) {
    let recording = target.record_alone();
    let folder = scratch();
    let outcome = replay(&recording.file, &["--keep", folder.path().to_str().unwrap()]);
    assert!(outcome.status.success(), "{outcome:?}");
    let player = Target::new(folder.path().join("player")).arg(folder.path().join("recorded.script")).arg("real");
    (calls(&recording.file), calls(&player.record_alone().file))
}

#[test]
fn a_single_thread_makes_the_same_calls() {
    for name in ["budget.c", "realloc_cases.c", "free_null.c", "sizes.c", "containers.cpp"] {
        let (mut recorded, played) = both(&Target::new(program(name)));
        if name == "realloc_cases.c" {
            // A reallocation to nothing is played as a free: other allocators than glibc's return a block.
            recorded.frees += recorded.sizes.remove("0").expect("reallocations to nothing");
        }
        assert!(recorded.sizes.values().sum::<u64>() > 0, "{name}");
        assert_eq!(recorded, played, "{name}");
    }
}

#[test]
fn threads_hand_blocks_over_and_end() {
    let (recorded, played) = both(&Target::new(memtoll_e2e::program_with("handover.c", &["-O2", "-pthread"])));
    // The C library allocates something for each thread that the player starts, and frees null pointers when it ends, as it
    // did for the program's.
    assert!(played.null >= recorded.null, "{recorded:?} {played:?}");
    for (size, number) in &recorded.sizes {
        let found = played.sizes.get(size).copied().unwrap_or(0);
        assert!((*number..=number + 8).contains(&found), "{size}: {number} recorded, {found} played");
    }
    assert!(played.sizes.len() <= recorded.sizes.len() + 1, "{recorded:?} {played:?}");
}

#[test]
fn a_heap_that_is_trimmed_faults_as_recorded_and_less_when_kept() {
    let recording = Target::new(program("heap_thrash.c")).record_alone();
    let tunables = "glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864";
    let shown = json(&recording.file, &["--tunables", tunables, "--allocator", "jemalloc", "--repeat", "2"]);
    // 60 rounds fault on 40 x 24 pages each.
    let faults = |number: usize| shown["contestants"][number]["taken"]["faults"]["median"].as_f64().unwrap();
    assert!((54_000.0..62_000.0).contains(&faults(0)), "{shown}");
    assert!(faults(1) < 0.5 * faults(0), "{shown}");
    if without_perf() {
        return skipped("fidelity is not checked, as announced by MEMTOLL_WITHOUT_PERF");
    }
    let difference = shown["fidelity"][0]["difference"].as_f64().unwrap();
    assert_eq!(shown["fidelity"][0]["figure"], "faults");
    assert!(difference.abs() < 0.05, "{shown}");
}

#[test]
fn sites_are_left_out_or_pooled() {
    let recording = Target::new(program("budget.c")).record_alone();
    let of =
        |option: &str| json(&recording.file, &[option, "^load", "--repeat", "1"])["contestants"][1]["calls"].clone();
    let without = of("--without");
    assert_eq!(
        (&without["allocations"], &without["frees"], &without["left_out"]),
        (&12.into(), &12.into(), &50.into())
    );
    for option in ["--arena", "--reuse"] {
        let pooled = of(option);
        assert_eq!((&pooled["allocations"], &pooled["pooled"]), (&12.into(), &50.into()), "{option}: {pooled}");
    }
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let recording = Target::new(program("budget.c")).record_alone();
    for (options, code, words) in [
        (&["--without", "no_such_function"][..], 3, "no call site matches \"no_such_function\""),
        (&["--allocator", "xyzmalloc"], 2, "one of: "),
        (&["--allocator", "/no/such/library.so"], 2, "found \"/no/such/library.so\""),
        (&["--process", "nobody"], 3, "no process \"nobody\""),
        (&["--pace", "0"], 2, "expected a factor above 0"),
    ] {
        let outcome = replay(&recording.file, options);
        assert_eq!(outcome.status.code(), Some(code), "{options:?}: {outcome:?}");
        assert!(outcome.stderr.contains(words), "{options:?}: {outcome:?}");
    }
    let outcome = replay(&recording.file, &["--allocator", program("budget.c").to_str().unwrap(), "--repeat", "1"]);
    assert_eq!(outcome.status.code(), Some(1), "a program is no allocator: {outcome:?}");
}

/// That events are damaged is not that there are none.
#[test]
fn what_is_damaged_is_not_replayed() {
    let recording = Target::new(program("noisy.c")).record_alone();
    let mut bytes = std::fs::read(&recording.file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&recording.file, &bytes).unwrap();
    let outcome = replay(&recording.file, &[]);
    assert_eq!(outcome.status.code(), Some(4), "{outcome:?}");
    assert!(outcome.stderr.contains("the file is damaged at byte"), "{outcome:?}");
}

/// Which threads are at their peaks at once is chance: what is predicted of the resident set contains all of them together.
#[test]
fn the_peak_is_predicted_no_better_than_threads_meet() {
    const PEAK: f64 = (4 << 20) as f64;
    let recording = Target::new(program("peaks_apart.c")).record_alone();
    let found = json(&recording.file, &["--tunables", "glibc.malloc.mmap_threshold=33554432"]);
    let calls = &found["contestants"][0]["calls"];
    let (at_once, all) = (calls["peak_bytes"].as_f64().unwrap(), calls["thread_peaks_bytes"].as_f64().unwrap());
    assert!((PEAK..PEAK * 1.1).contains(&at_once) && (PEAK * 3.0..PEAK * 3.1).contains(&all), "{calls:#}");
    let saves = &found["findings"][0]["saves"]["resident_peak_bytes"];
    let [low, likely, high] = ["low", "likely", "high"].map(|end| saves[end].as_f64().unwrap());
    assert!(low <= likely - (all - at_once) && high >= likely + (all - at_once), "{saves:#}");
    // With one thread, there is nothing to meet.
    let alone = json(&Target::new(program("budget.c")).record_alone().file, &[]);
    let calls = &alone["contestants"][0]["calls"];
    assert_eq!(calls["thread_peaks_bytes"], calls["peak_bytes"]);
}
