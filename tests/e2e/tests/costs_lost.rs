//! Records of the kernel that memtoll lost.

use memtoll_e2e::{CostReport, Target, program};

/// Pages that `late_supervisor.c` touches.
const TOUCHED: u64 = 20 * 12_000;

/// A supervisor that is stopped loses records. All faults are counted all the same, the intervals contain those whose call
/// site is unknown, and the report says so once.
#[test]
fn lost_faults_are_counted_and_in_the_intervals() {
    let recording = Target::new(program("late_supervisor.c")).record_alone();
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let totals = &report.json["totals"];
    let lost = report.number("/totals/other_faults_by_kind/lost");
    assert!(lost > TOUCHED / 10 && report.number("/totals/lost_records") >= lost, "{totals}");
    let seen = report.function("storms").minor_faults;
    assert!(seen < TOUCHED && seen + lost >= TOUCHED - TOUCHED / 100, "{seen} and {lost}: {}", report.listing());
    let other = report.number("/totals/other_faults");
    let (all, counted) = (report.total().minor_faults + other, report.number("/totals/faults_counted"));
    assert!(all.abs_diff(counted) <= counted / 100, "{all} faults, the kernel counted {counted}: {totals}");
    // The line may have paid for all of them.
    let site = report.json["sites"].as_array().unwrap().iter().find(|site| site["function"] == "storms").unwrap();
    let (paid, most) =
        (site["fault_time_ns"].as_f64().unwrap(), site["intervals"]["fault_time_ns"]["high"].as_f64().unwrap());
    assert!(most >= paid / seen as f64 * TOUCHED as f64 * 0.99, "{paid} ns, at most {most}: {site}");
    let text = recording.text(&[]);
    let in_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        in_one_line.matches("of the kernel's records, because it got no processor in time").count(),
        1,
        "{text}"
    );
    assert!(in_one_line.contains("are counted, but charged to no line."), "{text}");
    assert!(in_one_line.contains("whose records memtoll lost"), "{text}");
}
