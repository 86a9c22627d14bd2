//! What the kernel tells of a process from when memtoll is attached to it.

use super::{Attached, Running};
use memtoll_e2e::{CostReport, Outcome, Recording, program, scratch};
use std::process::{Command, ExitStatus};

#[test]
fn page_faults_after_attach_are_charged_to_the_lines_of_their_blocks() {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let mut running = Running::start(Command::new(program("attached_faults.c")));
    let attached = Attached::with(running.pid(), &file, &["--fault-period", "1"]);
    assert_eq!(running.ask("touch"), "touched");
    let stderr = attached.end();
    running.end_well();
    let outcome = Outcome { status: ExitStatus::default(), stdout: String::new(), stderr };
    let Some(report) = CostReport::of(&Recording::of(outcome, file, folder), &[]) else { return };
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
