//! Waiting, regions, spans of time, threads.

use memtoll_e2e::{
    CostReport, Recording, Target, demo_program, library, memtoll, printed, program, program_with, run, scratch,
    target_directory,
};
use serde_json::Value;
use std::process::Command;
use std::sync::LazyLock;

fn json(recording: &Recording, options: &[&str]) -> Value {
    let text = recording.text(&[options, &["--format", "json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn json_of(words: &[&str]) -> Value {
    let mut command = Command::new(memtoll());
    command.args(words);
    let outcome = run(command);
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

/// Four threads over a heap with one lock, of which three wait for the fourth, in eight rounds.
static WAITS: LazyLock<Recording> = LazyLock::new(|| {
    let heap = library("lib_one_lock.c", &[]);
    let recording = Target::new(program_with("waits.c", &["-O2", heap.to_str().unwrap()])).record_alone();
    assert!(recording.outcome.status.success(), "{recording:?}");
    recording
});

/// A call for one block that takes milliseconds does the work of 400,000 frees before it; without glibc's fast bins, these do their
/// own.
#[test]
fn a_slow_call_that_puts_other_lines_blocks_together_says_so() {
    for (tunables, is_slow) in [("glibc.malloc.mxfast=128", true), ("glibc.malloc.mxfast=0", false)] {
        let target = Target::new(program_with("joins_blocks.c", &["-O2"])).env("GLIBC_TUNABLES", tunables);
        let Some(report) = CostReport::of(&target.record_alone(), &[]) else { return };
        let findings = report.json["findings"].as_array().unwrap();
        let of_large = findings.iter().find(|found| found["function"] == "make_large");
        let text = of_large.map_or("", |found| found["text"].as_str().unwrap());
        let says_so = text.contains(" ms a block, in which glibc sorts and joins what other lines freed");
        assert_eq!(says_so, is_slow, "{tunables}: {findings:#?}");
    }
}

/// The file lies beside the build: a folder for temporary files may be memory. Where it is memory, nobody waits.
#[test]
fn waiting_for_the_disk_is_found_where_the_file_is_mapped() {
    let folder = tempfile::tempdir_in(target_directory()).unwrap();
    let recording = Target::new(program("reads_disk.c")).arg(folder.path().join("file")).record_alone();
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let [major, waited, left] = ["major", "waited", "left"].map(|what| printed(&recording.outcome.stdout, what));
    let reading = report.function("map_file").reading_ns;
    let findings = json(&recording, &[])["findings"].as_array().unwrap().clone();
    let found = findings.iter().find(|finding| finding["id"] == "waiting-for-disk");
    if major < 500 {
        assert!(found.is_none(), "{major} major faults: {found:?}");
        return;
    }
    // The kernel's work for a page, some 10 us, is in it as well. A thread that does not leave the processor waits for the host at the most.
    let (least, most) = (if left * 10 >= major * 9 { waited / 2 } else { 0 }, 2 * waited + major * 30_000);
    assert!(
        (least..=most).contains(&reading),
        "{reading} ns in {major} faults, {waited} by the program's clocks, {left} times"
    );
    // In a run this short, the kernel may not have looked once.
    let Some(program_ns) = report.json["totals"]["program_ns"].as_u64() else { return };
    // A fast disk makes waits that are not worth a finding.
    if reading < 1_000_000.max(program_ns / 50) {
        assert!(found.is_none(), "{reading} ns: {found:?}");
        return;
    }
    let found = found.unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!((&found["function"], found["major_faults"].as_u64()), (&Value::from("map_file"), Some(major)));
    let said = found["text"].as_str().unwrap();
    assert!(said.contains(" for the disk in ") && said.contains(" of it at map_file (reads_disk.c:"), "{said}");
}

#[test]
fn waiting_for_the_allocators_lock_is_charged_to_the_line() {
    let Some(report) = CostReport::of(&WAITS, &["--metric", "waiting"]) else { return };
    let all = report.total().waiting_ns;
    assert!(all > 0, "no thread waited");
    let printed = report.function("asks").waiting_ns;
    assert!(printed * 10 >= all * 9, "{printed} of {all}:\n{}", report.listing());
}

#[test]
fn waiting_is_known_by_thread_with_who_was_in_the_allocator() {
    let Some(report) = CostReport::of(&WAITS, &[]) else { return };
    let threads = report.json["threads"].as_array().unwrap();
    let own = |thread: &&Value| thread["waits"].as_array().is_some_and(|waits| !waits.is_empty());
    let waiting: Vec<&Value> = threads.iter().filter(own).collect();
    assert!(waiting.len() >= 4, "{threads:#?}");
    let tids: Vec<&Value> = threads.iter().map(|thread| &thread["tid"]).collect();
    let (mut known, mut sum) = (0, 0);
    for thread in waiting {
        for wait in thread["waits"].as_array().unwrap() {
            let (holder, ns) = (&wait["holder_tid"], wait["waiting_ns"].as_u64().unwrap());
            sum += ns;
            if !holder.is_null() {
                assert!(tids.contains(&holder) && *holder != thread["tid"], "{wait} of {thread}");
                known += ns;
            }
        }
    }
    assert!(known * 10 >= sum * 9, "of {sum} ns, only for {known} it is known for whom was waited");
    let waiting = report.total().waiting_ns;
    assert!(sum.abs_diff(waiting) <= 1000 + waiting / 1000, "{sum} by thread, {waiting} by line");

    let text = WAITS.text(&["--group", "thread", "--metric", "waiting"]);
    assert!(text.contains("Who waited in the allocator for whom"), "{text}");
    assert!(text.contains("was in the allocator"), "{text}");
    // The longest waits, as JSON has them: `120 ± 60 ms`.
    let ns = |text: &str| {
        let mut words = text.split_whitespace();
        let value: f64 = words.next()?.replace(',', "").parse().ok()?;
        let factor = words.find_map(|unit| ["ns", "µs", "ms", "s"].iter().position(|one| *one == unit))?;
        Some(value * 1000f64.powi(factor as i32))
    };
    let of_json = threads.iter().filter_map(|thread| thread["waits"].as_array()).flatten();
    let longest = of_json.filter_map(|wait| wait["waiting_ns"].as_f64()).fold(0.0, f64::max);
    let printed = WAITS.text(&["--lanes"]);
    let first = printed.lines().find(|line| line.contains(" waited, while ")).and_then(ns);
    let first = first.unwrap_or_else(|| panic!("{printed}"));
    assert!((first / longest - 1.0).abs() < 0.5, "{first} ns, not {longest}:\n{printed}");
}

#[test]
fn a_thread_pays_for_the_blocks_of_others_that_it_frees() {
    let recording = Target::new(program("contended_handover.c")).record_alone();
    let Some(lines) = CostReport::of(&recording, &[]) else { return };
    let by_thread = CostReport::of(&recording, &["--group", "thread"]).unwrap();
    let rows: Vec<_> = by_thread.sites().collect();
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
    for name in ["cost_ns", "allocator_ns", "waiting_ns"] {
        let [of_threads, of_lines] =
            [&by_thread, &lines].map(|report| report.sites().map(|row| number(row, name)).sum::<u64>());
        let rounded = (rows.len() + lines.sites().count()) as u64;
        assert!(of_threads.abs_diff(of_lines) <= rounded, "{name}: {of_threads} by thread, {of_lines} by line");
    }
    let consumers: Vec<_> = rows.iter().filter(|row| number(row, "frees") == 50_000).collect();
    assert_eq!(consumers.len(), 2, "{rows:#?}");
    for row in consumers {
        assert!(number(row, "allocator_ns") > 100_000, "2 ns for each of 50,000 frees at the least: {row:#?}");
        let tid = row["function"].as_str().unwrap().split(' ').next().unwrap();
        let own = CostReport::of(&recording, &["--thread", tid]).unwrap();
        assert!(own.total().cost_ns.abs_diff(number(row, "cost_ns")) <= 10, "{:?}, {row:#?}", own.total());
    }
}

/// The serialiser's threads over a heap with one lock.
#[test]
fn threads_with_nothing_but_frees_of_null_pointers_are_threads() {
    let target = Target::new(demo_program("serializer", "debug"));
    let recording =
        target.args(["--writer", "sprintf", "--threads", "4", "--pages", "64", "--objects", "256"]).record_alone();
    let rows = recording.text(&["--group", "thread"]);
    assert!(rows.lines().count() >= 5, "{rows}");
}

#[test]
fn what_threads_without_calls_pay_has_their_name() {
    let recording = Target::new(program("touches_elsewhere.c")).record();
    let Some(report) = CostReport::of(&recording, &["--group", "thread", "--metric", "faults"]) else { return };
    let rows = report.json["sites"].as_array().unwrap();
    let called = |row: &&Value| row["function"].as_str().unwrap().starts_with("threads without calls of process ");
    let row = rows.iter().find(called).unwrap_or_else(|| panic!("{rows:#?}"));
    // All pages of the block but the first one, which has the allocator's header, and may be a huge one.
    assert!((6 << 20..8 << 20).contains(&row["touched_bytes"].as_u64().unwrap()), "{row:#?}");
}

#[test]
fn lanes_show_who_waited() {
    if CostReport::of(&WAITS, &[]).is_none() {
        return;
    }
    let lanes = json(&WAITS, &["--lanes"]);
    let lanes = lanes["lanes"].as_array().unwrap();
    assert!(lanes.len() >= 5, "{} lanes", lanes.len());
    let sum =
        |lane: &Value, what: &str| lane[what].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).sum::<f64>();
    let waited = lanes.iter().filter(|lane| sum(lane, "waiting") > 0.0).count();
    assert!(waited >= 4, "{waited} of {} threads waited", lanes.len());
    for lane in lanes {
        let parts: f64 = ["allocator", "faulting", "waiting", "off_processor"].iter().map(|what| sum(lane, what)).sum();
        let alive = sum(lane, "alive");
        assert!(parts <= alive + 1.0, "{parts} intervals of parts, {alive} alive: {}", lane["tid"]);
    }
}

#[test]
fn one_thread_waits_for_nobody() {
    let folder = scratch();
    let target = Target::new(program("steady.c")).arg(folder.path().join("done")).arg("100");
    let recording = target.record_alone();
    assert_eq!(recording.outcome.stdout, "started\nfinished\n");
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    assert_eq!(report.total().waiting_ns, 0);
    for thread in report.json["threads"].as_array().unwrap() {
        let known = thread["waits"].as_array().unwrap().iter().any(|wait| !wait["holder_tid"].is_null());
        assert!(!known, "{thread}");
    }
}

/// Nor does it cost the allocator's time.
#[test]
fn sleep_inside_malloc_is_no_waiting_where_no_other_thread_is_there() {
    let heap = library("lib_one_lock.c", &[]);
    let naps = program_with("naps.c", &["-O2", heap.to_str().unwrap()]);
    for threads in ["1", "2"] {
        let recording = Target::new(&naps).arg(threads).record_alone();
        assert!(recording.outcome.status.success(), "{recording:?}");
        let Some(report) = CostReport::of(&recording, &[]) else { return };
        let site = report.function("asks");
        assert_eq!((site.allocations, site.waiting_ns, report.total().waiting_ns), (20, 0, 0), "{threads}: {site:?}");
        assert!(site.allocator_ns < 100_000_000, "{site:?}");
        let ids: Vec<_> = report.json["findings"].as_array().unwrap().iter().map(|found| found["id"].clone()).collect();
        assert!(!ids.contains(&"waiting".into()), "{ids:?}");
        let advice = json_of(&["advise", recording.file.to_str().unwrap(), "--format", "json"]);
        assert!(!advice.to_string().contains("contention"), "{advice}");
    }
}

#[test]
fn a_stopped_process_waits_for_nobody() {
    let heap = library("lib_one_lock.c", &[]);
    let recording = Target::new(program_with("stops.c", &["-O2", heap.to_str().unwrap()])).record_alone();
    assert!(recording.outcome.status.success(), "{recording:?}");
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    // It was stopped for 400 ms inside this call.
    let site = report.function("asks");
    assert_eq!((site.waiting_ns, report.total().waiting_ns), (0, 0), "{site:?}");
    assert!(site.allocator_ns < 40_000_000, "{site:?}");
    let text = recording.text(&[]);
    assert!(!text.contains("waiting in the allocator"), "{text}");
}

#[test]
fn each_run_of_a_region_has_its_own_costs() {
    let recording = Target::new(program("region_runs.c")).option("--fault-period=1").record_alone();
    let seen = CostReport::of(&recording, &[]).is_some();
    let regions = json(&recording, &["--regions"]);
    let regions = regions["regions"].as_array().unwrap();
    let names: Vec<&str> = regions.iter().map(|region| region["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["frame", "load"]);
    let runs = |index: usize, what: &str| {
        let runs = regions[index]["runs"].as_array().unwrap();
        runs.iter().map(|run| run[what].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!(runs(0, "allocations"), (1..=20).collect::<Vec<u64>>());
    assert_eq!(runs(0, "bytes"), (1..=20).map(|n| n * 40 * 4096).collect::<Vec<u64>>());
    assert_eq!(runs(1, "allocations"), [3]);
    if seen {
        // Each block touches 10 pages, the first of them inside malloc.
        assert_eq!(runs(0, "faults"), (1..=20).map(|n| n * 10).collect::<Vec<u64>>());
        assert_eq!(runs(1, "faults"), [30]);
    }
}

#[test]
fn a_span_of_time_has_its_share_of_the_costs() {
    let recording = Target::new(program("region_runs.c")).option("--fault-period=1").record_alone();
    let Some(all) = CostReport::of(&recording, &[]) else { return };
    assert_eq!(all.function("frame").minor_faults, 210 * 10 + 30);
    let Some(load) = CostReport::of(&recording, &["--between-marks", "load", "load"]) else { return };
    assert_eq!(load.function("frame").minor_faults, 30, "{}", load.listing());
    // What the kernel counts of the whole run has no place beside it.
    let totals = &load.json["totals"];
    for whole in ["recorder_ns", "rest_ns", "faults_counted"] {
        // The rest of so short a run can be below zero, by the errors of the parts.
        let of_all = &all.json["totals"][whole];
        assert!(of_all.is_i64() && totals[whole].is_null(), "{whole}: {of_all}, {totals}");
    }
    assert!(load.number("/totals/other_faults") < all.number("/totals/other_faults"), "{totals}");
    assert!(load.number("/span/from_ns") < load.number("/span/to_ns") && all.json["span"].is_null(), "{totals}");
    assert!(load.json["threads"][0]["minor_faults"].is_null(), "{}", load.json["threads"][0]);
    // When threads had the processor is known of any time.
    let processor =
        |report: &CostReport| ["totals", "processes/0", "threads/0"].map(|of| report.number(&format!("/{of}/cpu_ns")));
    let ([total, process, thread], [all_of_it, ..]) = (processor(&load), processor(&all));
    assert!(
        total == process && process == thread && 0 < total && total < all_of_it,
        "{total} of {all_of_it}: {totals}"
    );
    let parts = ["allocator_ns", "fault_time_ns", "mapping_ns"].map(|part| load.number(&format!("/totals/{part}")));
    assert!(parts.iter().sum::<u64>() <= total, "{totals}");
    let text = recording.text(&["--between-marks", "load", "load"]);
    assert!(text.contains("\nfrom ") && text.contains("page faults of blocks and mappings"), "{text}");
    assert!(text.contains("of CPU time") && text.contains("own work, and the recorder's"), "{text}");
    for whole in ["recorder overhead", "resident", "never freed"] {
        assert!(!text.contains(whole), "{whole}: {text}");
    }
    // Before the program's first instruction, there is nothing yet; after its last one, nothing to choose from.
    let Some(none) = CostReport::of(&recording, &["--to", "1ns"]) else { return };
    assert_eq!((none.total().minor_faults, none.total().mapping_ns), (0, 0), "{}", none.listing());
    assert_eq!((none.number("/totals/other_faults"), none.number("/totals/heap_grown_bytes")), (0, 0));
    let instant = recording.text(&["--at", "0s"]);
    assert!(instant.contains("what was live at ") && instant.contains("live then"), "{instant}");
    assert!(!instant.contains("()") && !instant.contains("never freed"), "{instant}");
}

/// Whichever event is the one that is timed, be it the last one.
#[test]
fn waiting_for_the_search_at_the_end_is_no_time_of_the_recorder() {
    for calls in ["0", "1", "2", "3", "4", "5"] {
        let recording = Target::new(program("ends_late.c")).arg(calls).record_alone();
        let Some(report) = CostReport::of(&recording, &[]) else { return };
        let [recorder, all] = ["recorder_ns", "cpu_ns"].map(|name| report.number(&format!("/totals/{name}")));
        assert!(recorder < all / 2, "{recorder} of {all} ns, after {calls} calls: {}", report.json["totals"]);
    }
}

#[test]
fn threads_have_the_kernels_counts() {
    let recording = Target::new(program("fault_threads.c")).record_alone();
    let report = json(&recording, &[]);
    let threads = report["threads"].as_array().unwrap();
    let of =
        |name: &str| threads.iter().find(|thread| thread["name"] == name).unwrap_or_else(|| panic!("{threads:#?}"));
    // 100 pages, and some of its stack, the C library's and the recorder's.
    let minor = of("frees")["minor_faults"].as_u64().unwrap();
    assert!((100..=180).contains(&minor), "{threads:#?}");
    assert!(of("frees")["cpu_ns"].is_u64() && of("frees")["major_faults"].is_u64(), "{threads:#?}");
    // A thread without calls of its own is there, but was not asked. When it had the processor is known.
    assert!(of("touches")["minor_faults"].is_null(), "{threads:#?}");
    let switches = report["kernel"]["switches"] == true;
    assert_eq!(of("touches")["cpu_ns"].is_u64(), switches, "{threads:#?}");
    let table = recording.text(&["--group", "thread", "--metric", "cost"]);
    assert!(table.contains("  CPU time  for memory  ") && table.contains("unknown") != switches, "{table}");
}

#[test]
fn parts_and_rest_are_the_processor_time_and_a_contradiction_shows() {
    // It does next to nothing but allocate: estimates can be more than there is, and then the rest is less than nothing.
    let recording = Target::new(program("hammer.c")).record_alone();
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let parts = ["allocator_ns", "fault_time_ns", "mapping_ns", "other_fault_time_ns", "recorder_ns", "rest_ns"];
    let number = |name: &str| report.json["totals"][name].as_i64().unwrap_or_else(|| panic!("{name}: {}", report.json));
    let (sum, processor): (i64, i64) = (parts.iter().map(|part| number(part)).sum(), number("cpu_ns"));
    let text = &report.json["totals"];
    assert!(processor > 0 && sum.abs_diff(processor) <= parts.len() as u64, "{sum} of {processor}: {text}");
    // The errors hold: what is left may be nothing.
    let of = |name: &str, end: &str| text["balance_intervals"][name][end].as_i64().unwrap();
    assert!(of("rest_ns", "low") <= number("rest_ns") && number("rest_ns") <= of("rest_ns", "high"), "{text}");
    assert!(of("rest_ns", "high") >= 0, "{text}");
    let allocator = |end: &str| text["intervals"]["allocator_ns"][end].as_i64().unwrap();
    assert!(allocator("low") < number("allocator_ns") && number("allocator_ns") < allocator("high"), "{text}");
}
