//! What `memtoll diff` says of recordings that never change (`format/golden`).

use crate::golden::{json, memtoll, text};
use serde_json::Value;

#[test]
fn a_difference_says_what_is_compared_and_what_is_unknown() {
    let text = text(&["diff", "tiny.memtoll", "costs.memtoll"]);
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("before: ") && lines.next().unwrap().ends_with(": ./costs"), "{text}");
    assert!(text.starts_with("before: ") && text.contains(" ms: ./costs\n"), "for how long: {text}");
    let line = |what: &str| text.lines().find(|line| line.ends_with(what)).unwrap_or_else(|| panic!("{what}: {text}"));
    assert_eq!(line("  page faults").split_whitespace().collect::<Vec<_>>(), ["unknown", "794", "page", "faults"]);
    assert!(line("  CPU time").contains(" ms  "), "{text}");
    assert!(line("new: buffer (costs.c:13)").contains("+3.5 MiB"), "{text}");
    assert!(!text.contains("waiting"), "{text}");
}

#[test]
fn rows_of_several_processes_have_their_own_peaks() {
    let heads = |before, after| text(&["diff", before, after]).contains("own peaks");
    assert!(heads("forks.memtoll", "costs.memtoll") && heads("costs.memtoll", "forks.memtoll"));
    assert!(!heads("tiny.memtoll", "costs.memtoll"));
}

#[test]
fn a_difference_names_call_sites_as_the_report_does() {
    let flat = text(&["report", "costs.memtoll", "--flat"]) + &text(&["report", "costs.memtoll", "--metric", "cost"]);
    let changes = json(&["diff", "forks.memtoll", "costs.memtoll"])["changes"].clone();
    let changes = changes.as_array().unwrap();
    let shown: Vec<&Value> = changes.iter().filter(|change| change["fate"] != "gone").collect();
    assert!(shown.len() >= 3, "{changes:?}");
    for change in shown {
        let name = change["name"].as_str().unwrap();
        assert!(flat.lines().any(|line| line.ends_with(&format!("  {name}"))), "{name}: {flat}");
    }
}

/// The difference of a number in JSON.
fn difference_of(of: &Value, name: &str) -> f64 {
    of[name]["difference"].as_f64().unwrap_or_else(|| panic!("{name}: {of}"))
}

#[test]
fn the_rows_of_a_difference_explain_the_whole() {
    for (pair, function) in
        [(["forks.memtoll", "costs.memtoll"], "buffer"), (["forks.memtoll", "tiny.memtoll"], "worker")]
    {
        // Of one side, what page faults cost is unknown.
        let compares_costs = !pair.contains(&"tiny.memtoll");
        for options in [&[][..], &["--filter", function], &["--group", "function"], &["--group", "path"]] {
            let report = json(&[&["diff"], &pair[..], options].concat());
            assert_eq!(report["whole"]["cost_ns"]["difference"].is_null(), !compares_costs, "{pair:?}");
            let costs = compares_costs.then_some("cost_ns");
            for name in ["allocations", "bytes", "peak_bytes"].into_iter().chain(costs) {
                let rows: f64 = report["changes"].as_array().unwrap().iter().map(|row| difference_of(row, name)).sum();
                let rest = difference_of(&report["within_noise"], name) + difference_of(&report["elsewhere"], name);
                let whole = difference_of(&report["whole"], name);
                assert!((rows + rest - whole).abs() < 1.0, "{pair:?} {options:?}: {name}: {rows} + {rest} = {whole}");
                if name != "allocations" {
                    assert!((whole - difference_of(&report["totals"], name)).abs() < 1.0, "{name}");
                }
            }
            let elsewhere = difference_of(&report["elsewhere"], "bytes");
            assert_eq!(elsewhere != 0.0, options.contains(&"--filter"), "{elsewhere}");
        }
    }
}

#[test]
fn text_and_markdown_of_a_difference_have_the_same_cells() {
    let words = ["diff", "tiny.memtoll", "costs.memtoll", "--format", "markdown"];
    let markdown = text(&words);
    let row = |text: &str| text.lines().find(|line| line.contains("small_blocks (costs.c:16)")).unwrap().to_owned();
    assert!(row(&markdown).ends_with("| new: `small_blocks (costs.c:16)` |"), "{markdown}");
    let cells = |row: String| row.replace(['|', '`'], " ").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells(row(&text(&words[..3]))), cells(row(&markdown)));
}

#[test]
fn several_recordings_a_side_give_intervals() {
    let sides = ["diff", "--before", "tiny.memtoll", "tiny.memtoll", "--after", "costs.memtoll", "costs.memtoll"];
    let report = json(&sides);
    assert_eq!(report["confidence"], 0.95);
    let bytes = &report["totals"]["bytes"];
    // All runs of a side are the same one.
    assert_eq!(bytes["interval"], serde_json::json!([bytes["difference"], bytes["difference"]]));
    assert!(text(&sides).contains("means of 2 recordings before and 2 after"));
    let pair = json(&["diff", "tiny.memtoll", "costs.memtoll"]);
    // Of a pair, times have the errors of each recording, and nothing is known of how counts vary.
    assert_eq!(pair["totals"]["bytes"]["interval"], Value::Null);
    let time = &pair["totals"]["mapping_ns"];
    let [low, high] = [0, 1].map(|end| time["interval"][end].as_f64().unwrap());
    assert!(low < high && (low..=high).contains(&time["difference"].as_f64().unwrap()), "{time}");
    for wrong in [&["diff", "tiny.memtoll"][..], &["diff", "--before", "tiny.memtoll"], &["diff"]] {
        assert_eq!(memtoll(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    let same = ["diff", "costs.memtoll", "costs.memtoll"];
    assert!(text(&same).contains("\nNo call site changed by more than noise.\n"));
    assert_eq!(json(&same)["changes"], Value::Array(vec![]));
}
