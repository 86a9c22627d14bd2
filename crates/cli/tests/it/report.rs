//! What `memtoll report` says of recordings that never change (`format/golden`).

use crate::golden::{golden, json, memtoll, text};
use serde_json::Value;
use std::process::Command;

const GROUPS: [&str; 8] = ["site", "function", "line", "path", "module", "thread", "process", "size"];
/// What sites add up to, to the last one.
const COUNTS: [&str; 13] = [
    "new_blocks", "frees", "reallocations", "bytes", "live_bytes", "live_blocks", "temporary", "null_frees", "events",
    "cut_off", "minor_faults", "touched_bytes", "allocator_ns",
];

/// The error where nothing in the recording is what was asked for; nothing else is printed.
#[track_caller]
fn nothing(words: &[&str]) -> String {
    let output = memtoll(words);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(3), true), "{words:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}

fn sum(list: &Value, name: &str) -> u64 {
    list.as_array().unwrap().iter().map(|one| number(one, name)).sum()
}

fn sum_of_csv(words: &[&str], name: &str) -> u64 {
    let text = text(&[words, &["--format", "csv"]].concat());
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let column = reader.headers().unwrap().iter().position(|column| column == name).unwrap();
    reader.records().map(|row| row.unwrap()[column].parse().unwrap_or(0)).sum()
}

#[test]
fn all_forms_tell_the_same_sums() {
    for file in ["tiny.memtoll", "forks.memtoll", "costs.memtoll"] {
        let whole = json(&["report", file])["totals"].clone();
        for group in GROUPS {
            let words = ["report", file, "--group", group];
            let report = json(&words);
            for name in COUNTS {
                let total = number(&report["totals"], name);
                let sums = [sum(&report["sites"], name), sum(&report["processes"], name), sum_of_csv(&words, name)];
                assert_eq!(sums, [total; 3], "{file} by {group}: {name}");
                // The price of faults is settled for each site, and threads and sizes make other sites.
                let other_sites = name == "allocator_ns" && ["thread", "size"].contains(&group);
                assert!(other_sites || total == number(&whole, name), "{file} by {group}: {name}");
            }
            assert_eq!(report["totals"]["peak_bytes"], whole["peak_bytes"], "{file} by {group}");
            // Of each row, a fraction of a ns is cut off.
            let rows = report["sites"].as_array().unwrap().len() as u64;
            let (cost, total) = (sum(&report["sites"], "cost_ns"), number(&report["totals"], "cost_ns"));
            assert!(cost <= total && total <= cost + rows, "{file} by {group}: {cost} of {total}");
        }
        for (order, name) in [("allocations", "events"), ("bytes", "bytes"), ("cost", "cost_ns")] {
            let collapsed = text(&["report", file, "--format", "collapsed", "--metric", order]);
            let found: u64 =
                collapsed.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
            let expected = match order {
                "allocations" => number(&whole, "allocations"),
                _ => number(&whole, name),
            };
            assert!(found.abs_diff(expected) <= expected / 200, "{file}: {order}: {found} instead of {expected}");
        }
    }
}

#[test]
fn what_was_asked_for_stands_beside_what_was_touched() {
    let summary = text(&["report", "costs.memtoll"]);
    let buffer = summary.lines().find(|line| line.ends_with("  buffer (costs.c:13)")).unwrap();
    let header = summary.lines().find(|line| line.contains("  touched  where")).unwrap();
    assert_eq!(header.split_whitespace().rev().take(3).collect::<Vec<_>>(), ["where", "touched", "bytes"]);
    assert!(buffer.contains("  3.5 MiB  2.5 MiB  buffer"), "{buffer}");
    assert!(!header.contains("waiting"), "no thread waited: {header}");
}

#[test]
fn a_share_stands_beside_what_it_is_a_share_of() {
    for (sort, column) in [
        ("allocations", "allocations"),
        ("bytes", "bytes"),
        ("peak", "peak"),
        ("live", "live"),
        ("temporary", "temporary"),
        ("cost", "cost"),
    ] {
        let table = text(&["report", "costs.memtoll", "--flat", "--metric", sort]);
        let header: Vec<&str> =
            table.lines().next().unwrap().split_whitespace().filter(|w| *w != "at" && *w != "end").collect();
        assert_eq!(header[..2], [column, "share"], "--metric {sort}: {header:?}");
        assert_eq!(header.iter().filter(|name| **name == "share").count(), 1, "{header:?}");
    }
}

#[test]
fn a_tree_says_what_it_counts() {
    let heading = |options: &[&str]| {
        let tree = text(&[&["report", "costs.memtoll"], options].concat());
        tree.lines().next().unwrap().to_owned()
    };
    let all = number(&json(&["report", "costs.memtoll"])["totals"], "allocations");
    assert_eq!(
        heading(&["--tree"]),
        format!("Call tree, from main to the allocations: {},{:03} allocations", all / 1000, all % 1000)
    );
    let some = heading(&["--callers", "--filter", "small_blocks"]);
    let expected = "Callers, from the allocations outwards: 4,000 allocations in stacks that match, 99.7 % of all";
    assert_eq!(some, expected);
    assert!(heading(&["--tree", "--metric", "peak"]).ends_with(" in blocks at their peak"));
}

#[test]
fn trees_by_module_and_type_have_the_rows_of_the_table() {
    for (file, group, option) in [
        ("costs.memtoll", "module", "--tree"),
        ("forks.memtoll", "module", "--callers"),
        ("costs.memtoll", "type", "--callers"),
    ] {
        let table = json(&["report", file, "--group", group]);
        let tree = json(&["report", file, option, "--group", group, "--min-percent", "0"]);
        let rows = |list: &Value, name: &str| -> Vec<(String, u64)> {
            let of = |row: &Value| (row[name].as_str().unwrap().to_owned(), number(row, "allocations"));
            let mut rows: Vec<_> = list.as_array().unwrap().iter().map(of).filter(|row| row.1 > 0).collect();
            rows.sort();
            rows
        };
        let found = rows(&tree["tree"]["children"], "label");
        assert_eq!(found, rows(&table["sites"], "function"), "{file} {group}");
        let printed = text(&["report", file, option, "--group", group, "--min-percent", "0"]);
        assert!(printed.lines().next().unwrap().contains(&format!(", by {group}: ")), "{printed}");
        assert!(found.iter().all(|(label, _)| printed.contains(label)), "{found:?} in {printed}");
    }
    let refused = memtoll(&["report", "costs.memtoll", "--tree", "--group", "thread"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("expected --group module or --group type"));
}

#[test]
fn an_instant_is_not_the_end() {
    let of = |options: &[&str]| {
        let table = text(&[&["report", "costs.memtoll", "--flat"], options].concat());
        table.lines().next().unwrap().to_owned()
    };
    assert!(of(&[]).contains("live at end"));
    for options in [&["--at", "9ms"][..], &["--to", "9ms"]] {
        assert!(of(options).contains("live then  ") && !of(options).contains("live at end"), "{options:?}");
    }
    let processes = text(&["report", "forks.memtoll", "--to", "1ms"]);
    assert!(processes.contains("live then  ") && !processes.contains("live at end"), "{processes}");
}

#[test]
fn the_heap_only_grew_before_the_first_buffer() {
    let words = ["report", "costs.memtoll", "--max-size", "4096"];
    let text = text(&words);
    assert!(text.contains("from the system in") && !text.contains("gave"), "{text}");
    assert!(text.contains("\nblocks of at most 4.0 KiB\n"), "{text}");
}

/// All sites of a filter together, also those that a limit leaves out; totals are of all stacks.
#[test]
fn json_has_what_a_filter_lets_through() {
    let all = json(&["report", "costs.memtoll"]);
    assert!(all.get("matching").is_none(), "{}", all["matching"]);
    let filtered = ["report", "costs.memtoll", "--group", "size", "--filter", "buffer"];
    let some = json(&filtered);
    for metric in ["allocations", "bytes", "cost_ns"] {
        let sites = some["sites"].as_array().unwrap();
        let sum: u64 = sites.iter().map(|site| site[metric].as_u64().unwrap()).sum();
        assert_eq!(some["matching"][metric], sum, "{metric}");
        assert_eq!(some["totals"][metric], all["totals"][metric], "{metric}");
        assert!(sites.len() > 1 && sum < all["totals"][metric].as_u64().unwrap(), "{metric}");
    }
    let first = json(&[&filtered[..], &["--limit", "1"]].concat());
    assert_eq!(first["matching"], some["matching"]);
}

#[test]
fn a_filter_says_what_it_lets_through() {
    let some = text(&["report", "costs.memtoll", "--filter", "small_blocks"]);
    assert!(some.contains("stacks that match: 4,000 allocations (99.7 %) of 391 KiB together;"), "{some}");
}

#[test]
fn an_empty_table_says_why() {
    let sorted = |file: &str, by: &str| text(&["report", file, "--metric", by]);
    assert_eq!(sorted("costs.memtoll", "waiting"), "No thread waited in the allocator.\n");
    assert_eq!(sorted("tiny.memtoll", "faults"), "Page faults are unknown: the kernel did not show them.\n");
    let before = text(&["report", "costs.memtoll", "--at", "0s", "--tree"]);
    assert_eq!(before, "Nothing was live then.\n");
}

#[test]
fn functions_can_be_folded_like_those_of_a_library() {
    let sites = |options: &[&str]| {
        let report = json(&[&["report", "costs.memtoll"], options].concat());
        let functions = report["sites"].as_array().unwrap().iter();
        functions.map(|site| site["function"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(sites(&[]).iter().any(|function| function == "buffer"));
    let folded = sites(&["--fold", "^buffer$"]);
    assert!(folded.iter().all(|function| function != "buffer"), "{folded:?}");
    assert!(
        folded.iter().filter(|function| *function == "main").count() >= 2,
        "the two lines that call it: {folded:?}"
    );
}

#[test]
fn options_without_effect_are_errors() {
    for words in [
        &["--tree", "--group", "thread"][..],
        &["--lanes", "--metric", "cost"],
        &["--regions", "--min-size", "1"],
        &["--recorder", "--from", "1ms"],
        &["--format", "collapsed", "--group", "module"],
        &["--min-size", "2M", "--max-size", "1M"],
        &["--from", "2ms", "--to", "1ms"],
    ] {
        let output = memtoll(&[&["report", "costs.memtoll"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}

#[test]
fn regions_of_a_span_are_those_that_ran_in_it() {
    let runs = |options: &[&str]| {
        let report = json(&[&["report", "costs.memtoll", "--regions"], options].concat());
        report["regions"].as_array().unwrap().first().map_or(0, |region| region["runs"].as_array().unwrap().len())
    };
    let all = json(&["report", "costs.memtoll", "--regions"])["regions"][0]["runs"].clone();
    let begin = number(&all[4], "begin_ns");
    assert_eq!(runs(&[]), 10);
    assert_eq!(runs(&["--from", &format!("{begin}ns")]), 6);
    assert_eq!(runs(&["--to", &format!("{begin}ns")]), 4);
    let none = text(&["report", "costs.memtoll", "--regions", "--to", "1us"]);
    assert_eq!(none, "No run of a region is wholly in that time.\n");
}

#[test]
fn threads_and_processes_are_told_apart_by_what_they_run() {
    let table = text(&["report", "forks.memtoll", "--group", "thread"]);
    assert!(table.contains(" of process ") && table.contains(" (forks)"), "{table}");
    let summary = text(&["report", "forks.memtoll"]);
    let processes = summary.split("\nProcesses\n").nth(1).unwrap().lines().next().unwrap();
    for column in ["pid", "cost", "exit", "command"] {
        assert!(processes.contains(column), "{column}: {processes}");
    }
    assert!(text(&["report", "costs.memtoll", "--lanes"]).lines().any(|line| line.ends_with("  costs")));
}

/// What a terminal of `columns` columns shows; `script` (util-linux) makes one.
fn on_terminal(columns: usize, words: &[&str]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| match word.ends_with(".memtoll") {
            true => golden(word).display().to_string(),
            false => (*word).to_owned(),
        })
        .collect();
    let line = format!(
        "stty cols {columns} rows 40; '{}' '{}' --color never 2>/dev/null",
        env!("CARGO_BIN_EXE_memtoll"),
        words.join("' '")
    );
    let output = Command::new("script").args(["-qec", &line, "/dev/null"]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

#[test]
fn nothing_is_wider_than_the_screen() {
    let views: [&[&str]; 9] = [
        &[],
        &["--flat", "--metric", "lifetime"],
        &["--metric", "cost"],
        &["--tree"],
        &["--callers"],
        &["--lanes"],
        &["--regions"],
        &["--recorder"],
        &["--group", "path"],
    ];
    let of_costs = views.map(|view| ("costs.memtoll", view));
    for columns in [60, 80, 100, 120, 200] {
        for (file, view) in of_costs.into_iter().chain([("forks.memtoll", views[0]), ("tiny.memtoll", views[0])]) {
            let text = on_terminal(columns, &[&["report", file], view].concat());
            assert!(!text.is_empty(), "{view:?}");
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {file} {view:?}: {line}\n{text}");
            }
        }
        let table = on_terminal(columns, &["report", "costs.memtoll", "--flat", "--metric", "lifetime"]);
        assert!(table.contains("buffer (costs.c:13)"), "{table}");
        assert!(table.lines().next().unwrap().contains("lifetime"), "the order is by it: {table}");
    }
}

#[test]
fn what_is_piped_is_not_cut() {
    let table = text(&["report", "costs.memtoll", "--flat"]);
    let header = table.lines().next().unwrap();
    for column in ["freed", "live at end", "temporary", "lifetime", "frees here", "where"] {
        assert!(header.contains(column), "{column}: {header}");
    }
    assert!(!table.contains("no room"), "{table}");
}

#[test]
fn where_nothing_is_what_was_asked_for_there_is_something_to_choose_from() {
    for shape in [&[][..], &["--flat"], &["--tree"], &["--callers"], &["--group", "thread"]] {
        let said = nothing(&[&["report", "costs.memtoll", "--filter", "nosuchthing"], shape].concat());
        assert!(said.contains("no call stack matches \"nosuchthing\""), "{said}");
        assert!(said.contains("small_blocks, buffer") && said.contains("in costs"), "{said}");
    }
    for options in [&["--from", "100s"][..], &["--at", "1000s"], &["--lanes", "--from", "100s"]] {
        let said = nothing(&[&["report", "costs.memtoll"], options].concat());
        assert!(said.contains("the recording ends after ") && said.contains("--list marks"), "{said}");
    }
    let said = nothing(&["report", "costs.memtoll", "--min-size", "1G"]);
    assert!(said.contains("no block matches --min-size and --max-size: the largest has 1.0 MiB"), "{said}");
    let said = nothing(&["report", "costs.memtoll", "--process", "nobody"]);
    assert!(said.contains("no process is called \"nobody\": there are costs "), "{said}");
    assert!(nothing(&["report", "costs.memtoll", "--thread", "4"]).contains("--list threads"));
    let said = nothing(&["report", "costs.memtoll", "--filter", "^costs$"]);
    assert!(said.contains("no call stack"), "{said}");
    // For scripts, the form is kept.
    let output = memtoll(&["report", "costs.memtoll", "--process", "nobody", "--format", "json"]);
    let refusal: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &refusal["impossible"]), (Some(3), &Value::from("no-match")));
    let output = memtoll(&["report", "costs.memtoll", "--filter", "nosuchthing", "--format", "json"]);
    let refusal: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &refusal["impossible"]), (Some(3), &Value::from("no-stack")));
    assert_eq!(refusal["functions"], serde_json::json!(["small_blocks", "buffer"]), "what there is to choose from");
}

#[test]
fn processes_can_be_selected_and_add_up() {
    let whole = json(&["report", "forks.memtoll"]);
    let processes = whole["processes"].as_array().unwrap();
    assert!(processes.len() > 1);
    for name in COUNTS {
        let of = |process: &Value| {
            let pid = process["pid"].to_string();
            let words = ["report", "forks.memtoll", "--process", &pid];
            let own = json(&words);
            assert_eq!(own["processes"].as_array().unwrap().len(), 1, "{pid}");
            assert_eq!(sum(&own["sites"], name), number(&own["totals"], name), "{pid}: {name}");
            assert_eq!(sum_of_csv(&words, name), number(&own["totals"], name), "{pid}: {name}");
            assert!(own["threads"].as_array().unwrap().iter().all(|thread| thread["pid"] == process["pid"]));
            number(&own["totals"], name)
        };
        assert_eq!(processes.iter().map(of).sum::<u64>(), number(&whole["totals"], name), "{name}");
    }
    let pid = processes[1]["pid"].to_string();
    let summary = text(&["report", "forks.memtoll", "--process", &pid]);
    assert!(summary.contains(&format!("\nonly process forks {pid}\n")), "{summary}");
    assert!(!summary.contains("\nProcesses\n"), "{summary}");
    let tree = text(&["report", "forks.memtoll", "--process", &pid, "--tree"]);
    assert_ne!(tree, text(&["report", "forks.memtoll", "--tree"]));
    assert_eq!(text(&["report", "forks.memtoll", "--process", &pid, "--lanes"]).matches(&pid).count(), 2);
    let all = json(&["report", "forks.memtoll", "--process", "forks"]);
    assert_eq!(all["totals"]["allocations"], whole["totals"]["allocations"], "all are called so");
}

#[test]
fn sizes_are_exact_and_have_separators() {
    let sizes = text(&["report", "costs.memtoll", "--group", "size"]);
    assert!(sizes.contains("  262,144 B\n") && sizes.contains("  1,048,576 B\n"), "{sizes}");
}

#[test]
fn threads_can_be_selected_and_add_up() {
    let whole = json(&["report", "forks.memtoll"]);
    let rows = json(&["report", "forks.memtoll", "--group", "thread"]);
    let threads = whole["threads"].as_array().unwrap();
    for name in COUNTS {
        let mut of_all = 0;
        for thread in threads {
            let tid = thread["tid"].to_string();
            let own = json(&["report", "forks.memtoll", "--thread", &tid]);
            let row = rows["sites"].as_array().unwrap().iter();
            let row = row.filter(|row| row["function"].as_str().unwrap().starts_with(&format!("{tid} ")));
            let of_rows: u64 = row.map(|row| number(row, name)).sum();
            assert_eq!(number(&own["totals"], name), of_rows, "thread {tid}: {name}");
            of_all += of_rows;
        }
        // The price of faults is settled for each site, and threads make other sites.
        assert!(name == "allocator_ns" || of_all == number(&whole["totals"], name), "{name}");
    }
}

#[test]
fn what_there_is_can_be_listed() {
    let list = |what: &str| json(&["report", "costs.memtoll", "--list", what])[what].clone();
    assert_eq!(
        list("marks")[0],
        serde_json::json!({
            "name": "frame", "kind": "region", "times": 10,
            "first_ns": list("marks")[0]["first_ns"], "last_ns": list("marks")[0]["last_ns"],
        })
    );
    assert_eq!(list("processes").as_array().unwrap().len(), 1);
    assert_eq!(list("threads")[0]["name"], "costs");
    assert!(list("modules").as_array().unwrap().iter().any(|file| file["path"].as_str().unwrap().ends_with("/costs")));
    for what in ["marks", "threads", "processes", "modules"] {
        assert!(text(&["report", "costs.memtoll", "--list", what]).lines().count() > 1, "{what}");
    }
}

/// A recording of which only the first bytes are there.
fn cut(name: &str, percent: usize) -> (tempfile::NamedTempFile, String) {
    let bytes = std::fs::read(golden(name)).unwrap();
    let file = tempfile::NamedTempFile::with_suffix(".cut").unwrap();
    std::fs::write(file.path(), &bytes[..bytes.len() * percent / 100]).unwrap();
    let path = file.path().to_str().unwrap().to_owned();
    (file, path)
}

#[test]
fn a_damaged_recording_says_so_first_and_ends_with_code_4() {
    for percent in [30, 60, 95] {
        let (_file, path) = cut("costs.memtoll", percent);
        let summary = memtoll(&["report", &path]);
        let shown = String::from_utf8_lossy(&summary.stdout);
        assert_eq!(summary.status.code(), Some(4), "{percent} %: {summary:?}");
        assert!(shown.starts_with("incomplete: the file is cut off at byte "), "{percent} %: {shown}");
        assert!(shown.contains("./costs"), "what can be read is shown: {shown}");
        for options in [&["--flat"][..], &["--format", "json"], &["--lanes"], &["--list", "threads"]] {
            let output = memtoll(&[&["report", &path], options].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(4), "{options:?}: {output:?}");
            assert!(said.contains("the file is cut off"), "{options:?}: {said}");
        }
        for files in [[path.as_str(), "costs.memtoll"], ["costs.memtoll", path.as_str()]] {
            let output = memtoll(&["diff", files[0], files[1]]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(4), "{output:?}");
            assert!(said.contains(&path) && said.contains("cut off"), "{said}");
            assert!(!output.stdout.is_empty(), "{output:?}");
        }
    }
}

#[test]
fn what_a_cut_off_recording_does_not_know_is_no_zero() {
    let (_file, path) = cut("costs.memtoll", 95);
    let output = memtoll(&["report", &path, "--format", "json"]);
    let totals = &serde_json::from_slice::<Value>(&output.stdout).unwrap()["totals"];
    assert!(totals["faults"].as_u64().unwrap() > 0, "{totals}");
    for name in ["fault_time_ns", "zeroing_ns", "other_fault_time_ns", "cpu_ns"] {
        assert!(totals[name].is_null(), "{name}: {totals}");
    }
    assert!(totals["intervals"]["fault_time_ns"].is_null(), "{totals}");
    let shown = String::from_utf8_lossy(&memtoll(&["report", &path]).stdout).into_owned();
    let line = shown.lines().find(|line| line.contains("page faults of blocks and mappings")).unwrap();
    assert!(line.trim_start().starts_with("not known") && !line.contains("zeroing"), "{line}");
}

#[test]
fn the_summary_leads_with_findings_and_the_json_has_them() {
    let report = json(&["report", "costs.memtoll"]);
    let findings = report["findings"].as_array().unwrap();
    let first = &findings[0];
    assert_eq!((&first["id"], &first["function"]), (&Value::from("costly-line"), &Value::from("buffer")), "{first}");
    let share = &first["share"];
    assert_eq!(share["of"], "processor_time");
    assert!(share["part"].as_f64().unwrap() <= share["whole"].as_f64().unwrap(), "{share}");
    let parts = ["allocator_ns", "fault_time_ns", "mapping_ns", "waiting_ns", "reading_ns"];
    let sum: f64 = parts.iter().map(|name| first[name].as_f64().unwrap()).sum();
    assert!((sum - first["cost_ns"].as_f64().unwrap()).abs() < 1.0, "{first}");
    let summary = text(&["report", "costs.memtoll"]);
    let at = |what: &str| summary.find(what).unwrap_or_else(|| panic!("no {what}: {summary}"));
    assert!(at("\nFindings\n  1. buffer (costs.c:13) takes ") < at("allocations of"), "{summary}");
    assert!(at("allocations of") < at("What memory costs, of"), "{summary}");
    let details = at("\nLines whose blocks cost most");
    assert!(summary[..details].lines().count() <= 32, "the point is on the first screen: {summary}");
    assert!(json(&["report", "costs.memtoll", "--group", "thread"])["findings"].as_array().unwrap().is_empty());
}

/// A length that is not known is not shown as 0.
#[test]
fn a_recording_without_events_has_no_length() {
    let whole = std::fs::read(golden("tiny.memtoll")).unwrap();
    let file = tempfile::Builder::new().suffix(".memtoll").tempfile().unwrap();
    let path = file.path().to_str().unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for length in (150..whole.len()).step_by(150) {
        std::fs::write(path, &whole[..length]).unwrap();
        let shown = String::from_utf8(memtoll(&["report", path]).stdout).unwrap();
        assert!(!shown.contains(" 0 s in ") && !shown.contains("after 0 s"), "{length}: {shown}");
        let json: Value = serde_json::from_slice(&memtoll(&["report", path, "--format", "json"]).stdout).unwrap();
        lengths.insert(json["seconds"].as_f64().map(|seconds| seconds > 0.0));
        let diff = String::from_utf8(memtoll(&["diff", path, "tiny.memtoll"]).stdout).unwrap();
        assert!(!diff.contains(", 0 s: "), "{length}: {diff}");
    }
    assert_eq!(lengths, [None, Some(true)].into(), "files of both kinds");
}
