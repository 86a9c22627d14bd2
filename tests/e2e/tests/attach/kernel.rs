//! What the kernel tells of a process from when memtoll is attached to it.

use super::{Attached, Running};
use memtoll_e2e::{CostReport, Outcome, Recording, library, program, program_with, scratch};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use tempfile::TempDir;

/// Ends both; the recording with its costs. `None`: the kernel refused to count.
fn costs(attached: Attached, running: Running, file: PathBuf, folder: TempDir) -> Option<CostReport> {
    let stderr = attached.end();
    running.end_well();
    let outcome = Outcome { status: ExitStatus::default(), stdout: String::new(), stderr };
    CostReport::of(&Recording::of(outcome, file, folder), &[])
}

#[test]
fn page_faults_after_attach_are_charged_to_the_lines_of_their_blocks() {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let mut running = Running::start(Command::new(program("attached_faults.c")));
    let attached = Attached::with(running.pid(), &file, &["--fault-period", "1"]);
    assert_eq!(running.ask("touch"), "touched");
    let Some(report) = costs(attached, running, file, folder) else { return };
    let listing = report.listing();
    assert_eq!(report.function("old_thread").minor_faults, 300, "{listing}");
    assert_eq!(report.function("new_thread").minor_faults, 100, "{listing}");
    let before =
        report.json["sites"].as_array().unwrap().iter().find(|site| site["function"] == "before attach").unwrap();
    assert_eq!(before["minor_faults"], 50, "{listing}");
    // Threads and their stacks, the recorder, and no page from before.
    let others = report.number("/totals/faults_counted") - 450;
    assert!(others < 300, "{others}\n{listing}");
    // A thread's last frees are the C library's own, of blocks that were released before.
    assert_eq!(report.number("/totals/unknown_frees"), 0, "{listing}");
    assert!(!report.json["notes"].to_string().contains("not charged"), "{}", report.json["notes"]);
}

#[test]
fn waiting_after_attach_is_charged_to_the_line_that_waits() {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let heap = library("lib_one_lock.c", &[]);
    let mut command = Command::new(program_with("waits.c", &["-O2", heap.to_str().unwrap()]));
    command.arg("asked");
    let mut running = Running::start(command);
    let attached = Attached::to(running.pid(), &file);
    assert_eq!(running.ask("go"), "waited");
    let Some(report) = costs(attached, running, file, folder) else { return };
    let (found, all) = (report.function("asks"), report.total().waiting_ns);
    assert_eq!(found.allocations, 32, "{}", report.listing());
    assert!(found.waiting_ns > 0 && found.waiting_ns * 10 >= all * 9, "{all}\n{}", report.listing());
}
