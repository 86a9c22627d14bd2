//! Without privileges, and where the kernel refuses to tell of page faults.

use memtoll_e2e::{
    CostReport, Recording, Target, become_ordinary_user, printed, program, record_confined, refuse, without_perf,
};
use serde_json::Value;

/// From here on, perf events cannot be opened.
fn refuse_perf_events() -> std::io::Result<()> {
    refuse(libc::SYS_perf_event_open, None, libc::EPERM)
}

/// Linux before 5.3 has no descriptors of processes.
fn no_process_descriptors() -> std::io::Result<()> {
    refuse(libc::SYS_pidfd_open, None, libc::ENOSYS)
}

/// The recording of a program with all its page faults.
fn record(name: &str, before: fn() -> std::io::Result<()>) -> Recording {
    record_confined(&program(name), &[], &["--fault-period=1"], before)
}

#[test]
fn an_ordinary_user_sees_all_faults_but_those_inside_system_calls() {
    let recording = record("fault_in_read.c", become_ordinary_user);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let charged = report.function("buffer").minor_faults;
    let unseen = report.number("/totals/other_faults_by_kind/unseen");
    if report.json["kernel"]["faults_in_system_calls"] == true {
        assert_eq!(charged, 400, "{}", report.listing());
    } else {
        // The first page is malloc's.
        assert_eq!(charged, 1, "{}", report.listing());
        assert!(unseen >= 399, "{}", report.json["totals"]);
    }
    report.expect_all_faults();
    let recording = record("fault_sites.c", become_ordinary_user);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    assert_eq!(report.function("by_malloc").minor_faults, 400, "{}", report.listing());
    report.expect_all_faults();
}

#[test]
fn faults_inside_a_system_call_are_charged_to_the_block() {
    let recording = Target::new(program("fault_in_read.c")).option("--fault-period=1").record_alone();
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    if report.json["kernel"]["faults_in_system_calls"] == true {
        assert_eq!(report.function("buffer").minor_faults, 400, "{}", report.listing());
    } else {
        assert!(report.number("/totals/other_faults_by_kind/unseen") >= 399, "{}", report.json["totals"]);
    }
}

#[test]
fn a_refusal_is_one_line_and_the_rest_works() {
    let recording = record("fault_threads.c", refuse_perf_events);
    let said = recording.outcome.stderr_lines_with(&["page faults"]);
    assert!(said.len() <= 1, "{said:?}");
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let notes = report["notes"].as_array().unwrap();
    let about: Vec<&Value> = notes.iter().filter(|note| note.as_str().unwrap().contains("page faults")).collect();
    assert_eq!(about.len(), 1, "{notes:?}");
    assert!(without_perf() || about[0].as_str().unwrap().contains("seccomp"), "{about:?}");
    assert_eq!(report["kernel"]["faults"], false);
    // Counts come from getrusage.
    for unknown in ["minor_faults", "major_faults", "fault_time_ns", "touched_bytes", "waiting_ns"] {
        assert!(report["totals"][unknown].is_null(), "{unknown}: {}", report["totals"]);
    }
    assert!(report["totals"]["other_faults_by_kind"]["files"].is_null(), "{}", report["totals"]);
    assert!(report["threads"][0]["waits"].is_null(), "{}", report["threads"][0]);
    let counted = report["totals"]["faults_counted"].as_u64().unwrap();
    assert!(counted >= printed(&recording.outcome.stdout, "minor"), "{}", report["totals"]);
    assert!(report["totals"]["cpu_ns"].as_u64().unwrap() > 0);
    let threads = report["threads"].as_array().unwrap();
    let frees = threads.iter().find(|thread| thread["name"] == "frees").unwrap_or_else(|| panic!("{threads:#?}"));
    assert!(frees["minor_faults"].as_u64().unwrap() >= 100, "{frees}");
    // What needs no kernel works.
    let allocator: u64 = report["totals"]["allocator_ns"].as_u64().unwrap();
    assert!(allocator > 0 && report["totals"]["allocations"].as_u64().unwrap() >= 2, "{}", report["totals"]);
    let text = recording.text(&[]);
    assert!(text.contains("that the kernel only counted"), "{text}");
    let in_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains("by the clock: page faults, mapped blocks and waiting are part of it"), "{text}");
    let table = recording.text(&["--group", "thread", "--metric", "cost"]);
    let row = table.lines().find(|line| line.contains("\"frees\"")).unwrap_or_else(|| panic!("{table}"));
    assert!(row.contains(&format!("{} in all", frees["minor_faults"])), "{table}");
    let lanes = recording.text(&["--lanes"]);
    assert!(lanes.starts_with("note: ") && lanes.matches("unknown").count() >= 3, "{lanes}");
    let lanes: Value = serde_json::from_str(&recording.text(&["--lanes", "--format", "json"])).unwrap();
    let lane = &lanes["lanes"][0];
    assert!(["faulting", "waiting", "off_processor"].iter().all(|what| lane[*what].is_null()), "{lane}");
    assert!(lane["allocator"].is_array(), "{lane}");
}

#[test]
fn without_descriptors_of_processes_their_ends_are_noticed() {
    let report = record("cow.c", no_process_descriptors).report();
    let usual = Target::new(program("cow.c")).record_alone().report();
    assert_eq!(report.totals.metrics.new_blocks, usual.totals.metrics.new_blocks);
    assert_eq!(report.totals.metrics.frees, usual.totals.metrics.frees);
    // Two processes fork at the same time: which of their children comes first is chance.
    let exits = |report: &memtoll_e2e::Report| {
        let mut all: Vec<_> = report.processes.iter().map(|process| process.exit.to_string()).collect();
        all.sort();
        all
    };
    assert_eq!(exits(&report), exits(&usual));
}
