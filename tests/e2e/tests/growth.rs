//! Growth that does not end is told apart from what only looks like it.

use memtoll_e2e::{Recording, Target, program};
use serde_json::Value;

fn json(recording: &Recording, options: &[&str]) -> Value {
    serde_json::from_str(&recording.text(&[options, &["--format", "json"]].concat())).expect("JSON")
}

/// Whether a finding, or what else was found at its line, says that blocks pile up.
fn grows(finding: &Value) -> bool {
    finding["id"] == "grows" || finding["also"].as_array().unwrap().iter().any(|also| also["id"] == "grows")
}

fn record(how: &str) -> Recording {
    Target::new(program("grows.c")).arg(how).record_alone()
}

#[test]
fn sessions_that_are_forgotten_are_found() {
    let recording = record("leak");
    let grown = json(&recording, &["--grown"]);
    let lines = grown["grown"].as_array().expect("lines");
    assert_eq!(lines.len(), 1, "{grown}");
    let line = &lines[0];
    assert_eq!(line["function"], "open_session");
    // A block of 200 bytes in four steps of a millisecond each and what a sleep takes longer: 500 of them in all.
    let (blocks, older) = (line["blocks"].as_u64().unwrap(), line["older_than_any_freed"].as_u64().unwrap());
    assert!((470..=500).contains(&blocks) && older == blocks, "{line}");
    let (rate, seconds) = (line["bytes_per_second"].as_f64().unwrap(), grown["seconds"].as_f64().unwrap());
    let expected = 500.0 * 200.0 / seconds;
    assert!((rate / expected - 1.0).abs() < 0.3, "{rate}, not {expected}: {line}");
    let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64().unwrap());
    assert!(low <= rate && rate <= high, "{line}");
    let findings = json(&recording, &[]);
    let found = findings["findings"].as_array().unwrap().iter().find(|finding| grows(finding));
    let found = found.unwrap_or_else(|| panic!("{}", findings["findings"]));
    assert_eq!(found["function"], "open_session", "{found}");
    let text = recording.text(&["--grown"]);
    assert!(text.contains("What grows steadily") && text.contains("open_session"), "{text}");
    assert!(recording.text(&[]).contains("pile up: "), "{}", recording.text(&[]));
}

/// What chapters of millions of events say agrees with the events.
#[test]
fn sessions_that_are_forgotten_are_found_among_millions_of_events() {
    let recording = record("busy_leak");
    let grown = json(&recording, &["--grown"]);
    let lines = grown["grown"].as_array().expect("lines");
    assert_eq!(lines.len(), 1, "{grown}");
    let exact = &lines[0];
    let findings = json(&recording, &[]);
    let is_it = |finding: &&Value| finding["id"] == "grows";
    let all = findings["findings"].as_array().unwrap().iter();
    let mut each = all.flat_map(|finding| std::iter::once(finding).chain(finding["also"].as_array().unwrap()));
    let found = each.find(is_it).unwrap_or_else(|| panic!("{}", findings["findings"]));
    assert_eq!(exact["function"], "open_session", "{exact}");
    assert_eq!((&found["blocks"], &found["bytes"]), (&exact["blocks"], &exact["bytes"]), "{found}, not {exact}");
    let (older, of_events) = (found["older"].as_u64().unwrap(), exact["older_than_any_freed"].as_u64().unwrap());
    assert!(older <= of_events && older >= of_events * 3 / 4, "{older} of {of_events}: {found}");
    let rate = |of: &Value| of["bytes_per_second"].as_f64().unwrap();
    assert!((rate(found) / rate(exact) - 1.0).abs() < 0.1, "{found}, not {exact}");
    assert!(recording.text(&[]).contains("pile up: "), "{}", recording.text(&[]));
}

/// While a block is resized, it is live.
#[test]
fn a_block_that_realloc_lengthens_grows() {
    let grown = json(&record("list"), &["--grown"]);
    let lines = grown["grown"].as_array().expect("lines");
    assert_eq!(lines.len(), 1, "{grown}");
    // 200 bytes a step, from 1,000 on.
    assert_eq!((&lines[0]["function"], &lines[0]["blocks"]), (&"longer_list".into(), &1.into()), "{grown}");
    let (bytes, rate) = (lines[0]["bytes"].as_u64().unwrap(), lines[0]["bytes_per_second"].as_f64().unwrap());
    assert!((380_000..=1_000 + 2_000 * 200).contains(&bytes), "{grown}");
    let expected = 2_000.0 * 200.0 / grown["seconds"].as_f64().unwrap();
    assert!((rate / expected - 1.0).abs() < 0.3, "{rate}, not {expected}: {grown}");
}

#[test]
fn caches_bursts_and_start_up_do_not_grow() {
    for how in ["cache", "bursts", "start"] {
        let recording = record(how);
        assert_eq!(json(&recording, &["--grown"])["grown"].as_array().unwrap().len(), 0, "{how}");
        assert!(recording.text(&["--grown"]).contains("No line grows steadily"), "{how}");
        let findings = json(&recording, &[]);
        assert!(!findings["findings"].as_array().unwrap().iter().any(grows), "{how}");
    }
}
