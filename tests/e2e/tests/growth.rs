//! Growth that does not end is told apart from what only looks like it.

use memtoll_analysis::growth::{self, Growing, Kept, growing};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_e2e::{Recording, Target, program, program_with};
use memtoll_model::reading::{self, Reading};
use memtoll_tally::Selection;
use serde_json::Value;
use std::cell::RefCell;
use std::sync::Arc;

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

/// A process that is over at once only builds what it works with, however long others run.
#[test]
fn short_processes_of_a_long_run_do_not_grow() {
    let short = program_with("grows.c", &["-DSTEPS=400", "-DPAUSE=300000"]);
    let recording = Target::new("/bin/sh").args(["-c", &format!("{} leak; sleep 1", short.display())]).record_alone();
    let findings = json(&recording, &[]);
    assert!(!findings["findings"].as_array().unwrap().iter().any(grows), "{}", findings["findings"]);
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

/// The lines that grow in a whole recording, and how many events were read.
fn growing_lines(recording: &memtoll_model::Recording, how: growth::Reading) -> (Vec<Growing>, u64) {
    let mut stacks = Stacks::new(recording, &View::default());
    let Selection { from, to, .. } = Selection::default();
    let reading = Arc::new(Reading::default());
    let (all, tariff) = (ThreadFilter::default(), Tariff::of(recording));
    let found = reading::during(Some(reading.clone()), || {
        growing(&mut stacks, |index| all.of(index).is_some(), (from, to), &tariff, how)
    });
    (found.expect("events"), reading.events())
}

/// What chapters say at most of a line holds for its events, and only these lines' events are read.
#[test]
fn chapters_rule_out_lines_that_do_not_grow() {
    let recording = memtoll_model::Recording::open(&record("busy_leak").file).expect("a recording");
    let (exact, all_events) = growing_lines(&recording, growth::Reading::Events);
    assert_eq!(exact.len(), 1, "{exact:?}");
    let bounds = RefCell::new(Vec::new());
    let keep = |kept: Kept| {
        bounds.borrow_mut().push(kept);
        kept.older * 2 > kept.blocks
    };
    let (found, _) = growing_lines(&recording, growth::Reading::Chapters(&keep));
    assert_eq!((found.len(), found[0].frame), (1, exact[0].frame), "{found:?}");
    assert_eq!(found[0].least.len(), exact[0].least.len());
    let bounds = bounds.into_inner();
    let same = |kept: &&Kept| (kept.blocks, kept.freed) == (exact[0].blocks, exact[0].freed);
    let bound = bounds.iter().find(same).unwrap_or_else(|| panic!("{exact:?} {bounds:?}"));
    assert!((exact[0].older..=bound.blocks).contains(&bound.older), "{exact:?} {bound:?}");
    // Requests are freed at once: none is old.
    assert!(bounds.iter().any(|kept| kept.freed > 1_000_000 && kept.older <= 1), "{bounds:?}");
    let (none, read) = growing_lines(&recording, growth::Reading::Chapters(&|_| false));
    assert!(none.is_empty() && read > 0 && read < all_events / 2, "{read} of {all_events} events");
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
