//! What docs/concepts.md and docs/reading.md say of their program.

use memtoll_e2e::{Target, run, scratch, workspace};
use serde_json::Value;
use std::process::Command;

#[test]
fn the_pages_show_true_figures() {
    let folder = scratch();
    let program = folder.path().join("concepts");
    let mut compile = Command::new("gcc");
    compile.args(["-g", "-O1", "-o"]).arg(&program).arg(workspace().join("docs/concepts.c"));
    let outcome = run(compile);
    assert!(outcome.status.success(), "{outcome:?}");
    let recording = Target::new(&program).record();
    let (text, page) = (recording.text(&[]), std::fs::read_to_string(workspace().join("docs/reading.md")).unwrap());
    for exact in [
        "       101,001  allocations of 83.1 MiB together\n",
        "       100,980  frees\n",
        "       100,000  temporary (99.0 %): released before the thread's next allocation\n",
        "      73.5 MiB  live at the peak, after ",
        "      64.2 MiB  never freed, in 21 blocks\n",
    ] {
        assert!(page.contains(exact), "docs/reading.md lacks {exact}");
        assert!(text.contains(exact), "the report lacks {exact}: {text}");
    }
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let totals = &report["totals"];
    // In other libraries and kernels, a little more or less: the pages say 26.7 MiB and 6,543 faults.
    let mib = |name: &str| totals[name].as_f64().unwrap_or_else(|| panic!("{name}: {totals}")) / f64::from(1 << 20);
    assert!((mib("resident_peak_bytes") - 26.7).abs() < 1.5, "{totals}");
    assert!((mib("resident_at_end_bytes") - 26.7).abs() < 1.5, "{totals}");
    if let Some(faults) = totals["minor_faults"].as_f64() {
        assert!((faults - 6543.0).abs() < 100.0, "{totals}");
    }
}
