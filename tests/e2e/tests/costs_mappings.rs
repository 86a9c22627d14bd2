//! Work on mappings, and memory that malloc takes from the system and gives back.

use memtoll_e2e::{CostReport, Recording, Target, memtoll, program, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

fn record(name: &str, arguments: &[&str]) -> Recording {
    Target::new(program(name)).args(arguments).option("--fault-period=1").record_alone()
}

#[test]
fn blocks_above_the_threshold_are_mapped_and_unmapped_each_time() {
    let recording = record("heap_moves.c", &["threshold"]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let threshold = report.function("threshold");
    // Four pages each time: nothing is kept.
    assert_eq!(threshold.minor_faults, 4 * 200, "{}", report.listing());
    assert!(threshold.mapping_ns > 200 * 1000, "200 mmap and munmap take more than 1 us: {}", report.listing());
    // Seen by the kernel's word, each time.
    for moved in ["grown", "shrunk"] {
        let calls = report.number(&format!("/totals/heap_{moved}_calls"));
        assert!((200..=203).contains(&calls), "{moved} in {calls} calls");
        let bytes = report.number(&format!("/totals/heap_{moved}_bytes"));
        assert!((200 << 20..=201 << 20).contains(&bytes), "{moved} by {bytes}");
    }
    let text = recording.text(&[]);
    assert!(text.contains("the allocator took 201 MiB"), "{text}");
}

/// The supervisor sleeps while a program allocates little; what the kernel tells still comes before the calls it is about.
#[test]
fn a_calm_program_has_all_its_mappings() {
    let recording = record("heap_moves.c", &["now_and_then"]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    for moved in ["grown", "shrunk"] {
        let calls = report.number(&format!("/totals/heap_{moved}_calls"));
        assert!((2000..=2003).contains(&calls), "{moved} in {calls} calls");
    }
}

#[test]
fn the_end_of_the_heap_goes_up_and_down() {
    let recording = record("heap_moves.c", &["trimming"]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let trimming = report.function("trimming");
    assert!((4 * 199..=4 * 200).contains(&trimming.minor_faults), "{}", report.listing());
    assert!(trimming.mapping_ns > 200 * 500, "200 brk up and down take more than 0.5 us: {}", report.listing());
    for moved in ["grown", "shrunk"] {
        let calls = report.number(&format!("/totals/heap_{moved}_calls"));
        assert!((199..=203).contains(&calls), "{moved} in {calls} calls");
    }
}

/// A heap that shrinks gives back the pages of many blocks in the call that frees the last one.
#[test]
fn a_heap_that_shrinks_is_paid_by_those_who_filled_it() {
    let recording = record("heap_moves.c", &["gives_back"]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let listing = report.listing();
    let [fills, last] = ["fills", "is_last"].map(|name| report.function(name));
    assert!(fills.minor_faults >= 20 * 3900, "a page is shared here and there: {listing}");
    assert!(fills.mapping_ns > 20 * last.mapping_ns, "{listing}");
    assert!(fills.mapping_ns * 10 > report.number("/totals/mapping_ns") * 9, "{listing}");
    assert!(last.allocator_ns * 20 < fills.mapping_ns, "what others pay is no work of the allocator: {listing}");
    for options in [&["--group", "size"][..], &["--group", "thread"], &["--paid"], &["--paid", "--group", "size"]] {
        let [of_part, all] =
            [&CostReport::of(&recording, options).unwrap(), &report].map(|report| report.total().cost_ns);
        // Each row is rounded to a nanosecond.
        assert!(of_part.abs_diff(all) < 1000, "{all} by line, {of_part} with {options:?}");
    }
    let Some(paid) = CostReport::of(&recording, &["--paid"]) else { return };
    // Each call site is rounded to a nanosecond.
    let [all, all_paid] = [&report, &paid].map(|report| report.number("/totals/mapping_ns"));
    assert!(all.abs_diff(all_paid) < 100, "{all} by who asked, {all_paid} by who paid");
    // The rest is what the heap's growth took.
    assert!(paid.function("gives_back").mapping_ns * 4 > fills.mapping_ns, "{}", paid.listing());
}

/// Memory that one line asks for and another one touches is used: the report says so by either line.
#[test]
fn touches_of_others_are_no_reason_to_call_memory_unused() {
    let recording = record("touched_elsewhere.c", &[]);
    for options in [&[][..], &["--paid"]] {
        let Some(report) = CostReport::of(&recording, options) else { return };
        let payer = report.function(if options.is_empty() { "asks" } else { "uses" });
        assert!(payer.minor_faults >= 10 * 1024, "{options:?}: {}", report.listing());
        let findings = report.json["findings"].to_string();
        assert!(!findings.contains("hardly-touched"), "{options:?}: {findings}");
    }
}

#[test]
fn giving_back_is_charged_to_whoever_took() {
    let recording = record("fault_sites.c", &[]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let listing = report.listing();
    // munmap of 500 pages by main, MADV_DONTNEED by again.
    assert!(report.function("by_mmap").mapping_ns > 0, "{listing}");
    assert_eq!(report.function("main").mapping_ns + report.function("again").mapping_ns, 0, "{listing}");
    // mremap, which moves the pages of a block.
    assert!(report.function("grows").mapping_ns > 0, "{listing}");
    let Some(paid) = CostReport::of(&recording, &["--paid"]) else { return };
    assert!(paid.function("main").mapping_ns > 0, "{}", paid.listing());
    assert!(paid.function("again").mapping_ns > 0, "{}", paid.listing());
}

/// What the kernel does inside a call is not counted twice, as the call's time and as faults, however much else there is.
#[test]
fn pages_that_a_mapping_brings_along_are_part_of_its_time() {
    for arguments in [&[][..], &["madvise"]] {
        let recording = Target::new(program("populated.c")).args(arguments).record_alone();
        let Some(report) = CostReport::of(&recording, &[]) else { return };
        report.expect_all_faults();
        assert!(report.number("/totals/other_faults_by_kind/unseen") >= 4 * 16_384, "{}", report.json["totals"]);
        let [mapping, others] =
            ["mapping_ns", "other_fault_time_ns"].map(|name| report.number(&format!("/totals/{name}")));
        assert!(report.function("populate").mapping_ns * 10 >= mapping * 9, "{}", report.listing());
        assert!(others * 20 <= mapping, "{arguments:?}: {others} ns beside {mapping}");
    }
}

/// More busy threads than processors: what others do meanwhile is no part of a call for mappings.
#[test]
fn mappings_take_processor_time_only() {
    let recording = record("mapping_storm.c", &[]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let totals = &report.json["totals"];
    let number = |what: &str| totals[what].as_u64().unwrap();
    let parts = ["allocator_ns", "fault_time_ns", "mapping_ns", "other_fault_time_ns"].map(number);
    let all = number("cpu_ns");
    assert!(parts.iter().sum::<u64>() <= all, "{totals}");
    assert!(number("mapping_ns") > 0 && number("mapping_ns") <= all / 2, "{totals}");
    report.expect_all_faults();
}

#[test]
fn memory_that_is_not_used_is_named() {
    let recording = Target::new(program("unused.c")).option("--fault-period=1").record_alone();
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let total = report.total();
    // mmap and mremap; neither the address space, nor what malloc maps.
    assert_eq!((total.mappings, total.mapped_bytes), (2, 128 << 20), "{}", report.listing());
    let by_thread = CostReport::of(&recording, &["--group", "thread"]).unwrap().total();
    assert_eq!((by_thread.mappings, by_thread.mapped_bytes), (2, 128 << 20));
    let text = recording.text(&[]);
    let in_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains("; mmap, mremap and mprotect took 128 MiB in 2 calls; the allocator took"), "{text}");
    let said = |words: &str| in_one_line.split(words).nth(1).unwrap_or_else(|| panic!("{words}: {text}")).to_owned();
    // All of one line stands in one place.
    let untouched = said("of hardly_touched (unused.c:");
    let untouched = untouched.split("This line asks for 64.0 MiB and hardly touches it: ").nth(1).unwrap_or_default();
    assert!(untouched.starts_with("2.7 MiB touched"), "{text}");
    let mapped = said("maps (unused.c:20) asks for 96.0 MiB and hardly touches it: ");
    assert!(mapped.split(['(', '.']).next().is_some_and(|touched| touched.contains("KiB")), "{mapped}");
    let again = said("again_and_again (unused.c:25) takes");
    let (taken, _) = again.split_once(" from the system again and again, in 200 calls").unwrap_or_default();
    assert!(taken.rsplit("This line takes ").next().unwrap().starts_with("80") && !taken.contains("hardly"), "{again}");
}

#[test]
fn what_is_used_is_not_said_to_be_unused() {
    let recording = Target::new(program("fault_sites.c")).option("--fault-period=1").record_alone();
    let text = recording.text(&[]);
    assert!(!text.contains("hardly touches") && !text.contains("again and again"), "{text}");
}

const MIB: u64 = 1 << 20;

/// The peak with mappings in a report, without the time.
fn peak_with_mappings(recording: &Recording, part: &str, options: &[&str]) -> Value {
    let text = recording.text(&[&["--format", "json"], options].concat());
    let report: Value = serde_json::from_str(&text).unwrap();
    let mut peak = report.pointer(part).unwrap_or_else(|| panic!("{part}: {text}")).clone();
    if let Some(fields) = peak.as_object_mut() {
        assert!(fields.remove("at_ns").unwrap().as_u64() > Some(0));
        assert!(fields.remove("reserved_error_bytes").unwrap().as_u64() < Some(2 * MIB));
    }
    peak
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the summary in the file says is what all events say.
#[test]
fn the_peak_is_that_of_blocks_and_mappings_together() {
    let all_events: &[&[&str]] = &[&["--to", "3600s"], &["--group", "size"], &["--group", "thread"]];
    for (what, blocks, mapped, reserved) in [
        ("beside", 1, 9, 0),
        ("replaced", 5, 2, 62),
        ("protected", 1, 7, 59),
        ("handed_out", 4, 5, 0),
        ("unused", 1, 6, 60),
    ] {
        let recording = Target::new(program("own_mappings.c")).arg(what).record_alone();
        let expected = json!({
            "bytes": (blocks + mapped) * MIB, "block_bytes": blocks * MIB, "mapped_bytes": mapped * MIB,
            "reserved_bytes": reserved * MIB
        });
        for part in ["/totals/peak_with_mappings", "/processes/0/peak_with_mappings"] {
            assert_eq!(peak_with_mappings(&recording, part, &[]), expected, "{what}");
            for options in all_events {
                assert_eq!(peak_with_mappings(&recording, part, options), expected, "{what}: {options:?}");
            }
            // Of large blocks only, there is no sum with mappings.
            assert_eq!(peak_with_mappings(&recording, part, &["--min-size", "2"]), Value::Null, "{what}");
        }
        let text = in_one_line(&recording.text(&[]));
        let parts = format!(": {blocks}.0 MiB in blocks, {mapped}.0 MiB in the program's own mappings");
        let total = format!("{}.0 MiB live at the peak, after ", blocks + mapped);
        assert!(text.contains(&total) && text.contains(&parts), "{text}");
        let only_reserved = format!("{reserved}.0 MiB of address space only reserved then");
        assert_eq!(text.contains(&only_reserved), reserved > 0, "{text}");
    }
}

/// Address space that is opened with mprotect is asked for there, and paid there.
#[test]
fn who_opens_reserved_memory_asks_for_it() {
    let recording = Target::new(program("own_mappings.c")).arg("protected").record();
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let sites = report["sites"].as_array().unwrap();
    let of = |name: &str, key: &str| {
        let own = sites.iter().filter(|site| site["function"] == name);
        own.map(|site| site[key].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((of("open_up", "mappings"), of("open_up", "mapped_bytes")), (4, 7 * MIB), "{sites:#?}");
    assert_eq!(of("reserve", "mapped_bytes"), 0);
    if let Some(costs) = CostReport::of(&recording, &[]) {
        assert!(costs.function("open_up").minor_faults >= 1024, "{}", costs.listing());
        assert!(costs.function("reserve").minor_faults < 300, "{}", costs.listing());
    }
}

/// `--paid` shows no callers of memset: they pay nothing.
#[test]
fn who_touches_memory_is_told_without_the_c_library() {
    let recording = Target::new(program("served.c")).record();
    if CostReport::of(&recording, &[]).is_none() {
        return;
    }
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let arena = findings.iter().find(|finding| finding["id"] == "costly-line" && finding["function"] == "arena");
    let touched_by = arena.unwrap_or_else(|| panic!("{findings:#?}"))["touched_by"].as_array().unwrap();
    assert!(touched_by.len() == 1 && touched_by[0]["function"] == "writes", "{touched_by:?}");
    let share = touched_by[0]["share"].as_f64().unwrap();
    assert!((0.4..0.6).contains(&share), "of all faults: {share}");
}

#[test]
fn blocks_have_a_peak_of_their_own() {
    let recording = Target::new(program("own_mappings.c")).arg("beside").record_alone();
    let text = in_one_line(&recording.text(&[]));
    assert!(text.contains(" own mappings; blocks alone had 3.0 MiB after "), "{text}");
    assert!(text.contains("Blocks live at their peak (3.0 MiB)"), "{text}");
    assert!(!text.contains(" live bytes "), "the curve is that of blocks, and says so: {text}");
}

/// What was mapped before a span of time is there when it begins.
#[test]
fn a_span_begins_with_what_is_mapped() {
    let recording = Target::new(program("own_mappings.c")).arg("beside").record_alone();
    // The program still ends, after its last call.
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let from = format!("{:.6}ms", report["seconds"].as_f64().unwrap() * 1e3 - 0.002);
    let peak = peak_with_mappings(&recording, "/totals/peak_with_mappings", &["--from", &from]);
    assert_eq!(peak, json!({ "bytes": 6 * MIB, "block_bytes": 0, "mapped_bytes": 6 * MIB, "reserved_bytes": 0 }));
}

/// When each of several processes had how much of both is not known, so each has its own peak.
#[test]
fn each_process_has_its_own_mappings() {
    let recording = Target::new(program("own_mappings.c")).arg("forks").record_alone();
    assert_eq!(peak_with_mappings(&recording, "/totals/peak_with_mappings", &[]), Value::Null);
    let of = |process: usize| peak_with_mappings(&recording, &format!("/processes/{process}/peak_with_mappings"), &[]);
    assert_eq!(of(0), json!({ "bytes": 10 * MIB, "block_bytes": MIB, "mapped_bytes": 9 * MIB, "reserved_bytes": 0 }));
    assert_eq!(of(1), json!({ "bytes": 2 * MIB, "block_bytes": 2 * MIB, "mapped_bytes": 0, "reserved_bytes": 0 }));
    let text = in_one_line(&recording.text(&[]));
    let largest = "10.0 MiB: 1.0 MiB in blocks, 9.0 MiB in the program's own mappings";
    assert!(
        text.contains("live in blocks at the peak of all processes together; with mappings, own_mappings")
            && text.contains(largest),
        "{text}"
    );
}

#[test]
fn a_difference_has_the_peak_with_mappings() {
    let of = |what: &str| Target::new(program("own_mappings.c")).arg(what).record_alone();
    let (before, after) = (of("beside"), of("replaced"));
    let totals = |before: &Recording, after: &Recording| {
        let mut command = Command::new(memtoll());
        command.args(["diff", "--format", "json"]).arg(&before.file).arg(&after.file);
        let outcome = run(command);
        serde_json::from_str::<Value>(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))["totals"]
            .take()
    };
    let mut peak = totals(&before, &after)["peak_with_mappings_bytes"].take();
    peak.as_object_mut().unwrap().remove("interval");
    let expected = [("before", 10), ("after", 7), ("difference", -3)];
    assert_eq!(peak, json!(BTreeMap::from(expected.map(|(key, mib)| (key, f64::from(mib) * MIB as f64)))));
    let reserved = &totals(&before, &after)["reserved_bytes"];
    assert_eq!((&reserved["before"], &reserved["after"]), (&json!(0.0), &json!((62 * MIB) as f64)), "{reserved}");
    // Without mappings, the peak of blocks says all.
    let without = Target::new(program("peak.c")).record_alone();
    assert_eq!(totals(&without, &without)["peak_with_mappings_bytes"], Value::Null);
}
