//! What the commands print: formats, groupings, orders, filters, time, colours, differences.

use memtoll_e2e::{
    Outcome, Recording, Report, Target, memtoll, program, program_with, read_report, run, scratch, source,
};
use serde_json::Value;
use std::process::Command;
use std::sync::LazyLock;

const GROUPS: [&str; 7] = ["function", "line", "path", "module", "thread", "process", "size"];
const ORDERS: [&str; 6] = ["allocations", "bytes", "peak", "live", "temporary", "lifetime"];
const VIEWS: [&str; 3] = ["--flat", "--tree", "--callers"];

/// `sizes.c`: 300 blocks of 8 bytes, 100 of 500, 10 of 100,000.
static SIZES: LazyLock<Recording> = LazyLock::new(|| Target::new(program("sizes.c")).record());
const ALLOCATIONS: u64 = 410;

fn command(words: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.args(words);
    run(command)
}

#[test]
fn json_has_the_documented_names() {
    let text = SIZES.text(&["--format", "json"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    let names = [
        "new_blocks", "frees", "reallocations", "bytes", "peak_bytes", "live_bytes", "live_blocks", "temporary",
        "null_frees",
    ];
    let has = |object: &Value, name: &str, what: &str| {
        assert!(object.get(name).is_some_and(Value::is_u64), "{what} has no number {name}: {object}");
    };
    assert!(json["schema_version"].is_u64());
    for name in names.iter().chain(&["events", "cut_off"]) {
        has(&json["totals"], name, "totals");
        has(&json["processes"][0], name, "a process");
    }
    for site in json["sites"].as_array().unwrap() {
        names.iter().for_each(|name| has(site, name, "a site"));
        assert!(site["function"].is_string() && site["inlined"].is_array(), "{site}");
        assert!(["file", "line", "module", "type"].iter().all(|name| site.get(name).is_some()), "{site}");
    }
    let process = &json["processes"][0];
    assert!(process["pid"].is_u64() && process["exit"]["code"] == 0, "{process}");
    let totals = &json["totals"];
    assert_eq!((&totals["new_blocks"], &totals["frees"]), (&ALLOCATIONS.into(), &(ALLOCATIONS - 10).into()));
    assert_eq!(totals["bytes"], 300 * 8 + 100 * 500 + 10 * 100_000);
    assert_eq!(totals["live_bytes"], 10 * 100_000);
}

#[test]
fn csv_can_be_read_and_adds_up() {
    for group in GROUPS {
        let text = SIZES.text(&["--format", "csv", "--group", group]);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let column = reader.headers().unwrap().iter().position(|name| name == "new_blocks");
        let column = column.unwrap_or_else(|| panic!("no column `allocations`:\n{text}"));
        let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
        assert!(!rows.is_empty(), "{text}");
        let sum: u64 = rows.iter().map(|row| row[column].parse::<u64>().unwrap()).sum();
        assert_eq!(sum, ALLOCATIONS, "by {group}:\n{text}");
    }
}

#[test]
fn collapsed_stacks_add_up() {
    let text = SIZES.text(&["--format", "collapsed"]);
    let mut sum = 0;
    for line in text.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no count: {line}"));
        sum += count.parse::<u64>().unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(stack.split(';').all(|frame| !frame.is_empty()), "{line}");
    }
    assert_eq!(sum, ALLOCATIONS, "{text}");
    let small = text.lines().find(|line| line.contains("small_ones")).expect("a stack with small_ones");
    assert!(
        small.find("main").unwrap() < small.find("small_ones").unwrap(),
        "the outermost frame comes first: {small}"
    );
}

#[test]
fn every_grouping_order_and_view_prints_something() {
    for group in GROUPS {
        assert!(!SIZES.text(&["--group", group]).is_empty(), "{group}");
        serde_json::from_str::<Value>(&SIZES.text(&["--group", group, "--format", "json"])).unwrap();
    }
    for order in ORDERS {
        let text = SIZES.text(&["--flat", "--metric", order]);
        assert!(text.contains("small_ones") || text.contains("large_ones"), "{order}:\n{text}");
    }
    for view in VIEWS {
        for unfold in [&[view][..], &[view, "--unfold"]] {
            let text = SIZES.text(unfold);
            for function in ["small_ones", "middle_ones", "large_ones", "main"] {
                assert!(text.contains(function) || (view == "--flat" && function == "main"), "{unfold:?}:\n{text}");
            }
        }
    }
}

#[test]
fn orders_put_the_right_site_first() {
    let first = |order: &str| {
        let text = SIZES.text(&["--flat", "--metric", order]);
        let names = ["small_ones", "middle_ones", "large_ones"];
        let found = names.iter().filter_map(|name| text.find(name).map(|at| (at, *name))).min();
        found.unwrap_or_else(|| panic!("{text}")).1
    };
    let found = ["allocations", "bytes", "peak", "live", "temporary"].map(|order| (order, first(order)));
    let expected = [
        ("allocations", "small_ones"),
        ("bytes", "large_ones"),
        ("peak", "large_ones"),
        ("live", "large_ones"),
        ("temporary", "small_ones"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_summary_answers_the_first_questions() {
    let text = SIZES.text(&[]);
    for answer in ["410", "small_ones", "large_ones", "sizes.c"] {
        assert!(text.contains(answer), "no {answer} on the first screen:\n{text}");
    }
}

#[test]
fn filters_by_name_and_size() {
    let filtered = SIZES.text(&["--filter", "(small|large)_ones", "--format", "json"]);
    let report = Report::parse_part(filtered.as_bytes());
    report.expect_new_blocks(&[("small_ones", 300), ("middle_ones", 0), ("large_ones", 10)]);
    assert!(!SIZES.text(&["--filter", "(small|large)_ones"]).contains("middle_ones"));
    let report = SIZES.report_with(&["--min-size", "100"]);
    report.expect_new_blocks(&[("small_ones", 0), ("middle_ones", 100), ("large_ones", 10)]);
    let report = SIZES.report_with(&["--max-size", "500"]);
    report.expect_new_blocks(&[("small_ones", 300), ("middle_ones", 100), ("large_ones", 0)]);
    let none = read_report(&SIZES.file, &["--min-size", "9", "--max-size", "499", "--format", "json"]);
    assert_eq!(none.status.code(), Some(3), "{none:?}");
    let said: serde_json::Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!(said["impossible"], "no-block", "{none:?}");
    assert_eq!(
        none.stderr_lines_with(&["no block matches --min-size and --max-size", "97.7 KiB"]).len(),
        1,
        "{none:?}"
    );
}

#[test]
fn any_instant_and_any_span_can_be_looked_at() {
    let recording = Target::new(program("phases.c")).record();
    let whole = recording.report();
    whole.expect_new_blocks(&[("early", 10), ("middle", 20), ("late", 30)]);
    // The middle phase begins 0.3 s after the early one, the late one 0.3 s after that; starting takes far less.
    let span = |from: &str, to: &str| recording.report_with(&["--from", from, "--to", to]);
    span("0s", "0.15s").expect_new_blocks(&[("early", 10), ("middle", 0), ("late", 0)]);
    span("0.15s", "0.5s").expect_new_blocks(&[("early", 0), ("middle", 20), ("late", 0)]);
    recording.report_with(&["--from", "0.5s"]).expect_new_blocks(&[("early", 0), ("middle", 0), ("late", 30)]);
    recording.report_with(&["--to", "500ms"]).expect_new_blocks(&[("early", 10), ("middle", 20), ("late", 0)]);

    let at = recording.report_with(&["--at", "0.5s"]);
    assert_eq!((at.totals.metrics.live_blocks, at.totals.metrics.live_bytes), (20, 20_000));
    assert_eq!(at.function("middle").live_bytes, 20_000);
    assert_eq!(whole.totals.metrics.live_bytes, 0);
}

#[test]
fn marks_cut_a_span_out() {
    let recording = Target::new(program("marks.c")).record();
    assert_eq!(recording.report().new_blocks("allocate"), 142);
    let between = |a: &str, b: &str| recording.report_with(&["--between-marks", a, b]).new_blocks("allocate");
    assert_eq!(between("loaded", "played"), 130);
    assert_eq!(between("frame", "frame"), 30, "a region, from its beginning to its end");
    let outcome = read_report(&recording.file, &["--between-marks", "loaded", "no such mark"]);
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert!(!outcome.stderr_lines_with(&["no such mark"]).is_empty(), "{outcome:?}");
}

#[test]
fn colour_only_where_it_is_wanted() {
    let with = |options: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(memtoll());
        command.arg("report").arg(&SIZES.file).args(options).env_remove("NO_COLOR").envs(variables.iter().copied());
        run(command).stdout.contains('\x1b')
    };
    assert!(!with(&[], &[]), "a file is no terminal");
    assert!(with(&["--color", "always"], &[]));
    assert!(!with(&["--color", "never"], &[]));
    assert!(!with(&["--color", "auto"], &[("NO_COLOR", "1")]));

    // On a terminal, which `script` (util-linux) makes.
    let on_terminal = |variables: &str| {
        let mut command = Command::new("script");
        let line = format!("{variables} '{}' report '{}'", memtoll().display(), SIZES.file.display());
        command.args(["-qec", &line, "/dev/null"]).env_remove("NO_COLOR").env("TERM", "xterm");
        run(command).stdout
    };
    assert!(on_terminal("").contains('\x1b'));
    assert!(!on_terminal("NO_COLOR=1").contains('\x1b'));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut command = Command::new("sh");
    command.args(["-c", "\"$1\" report \"$2\" --tree | head -n 1"]).arg("sh").arg(memtoll()).arg(&SIZES.file);
    let outcome = run(command);
    assert_eq!(outcome.stdout.lines().count(), 1);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
}

#[test]
fn wrong_usage_is_an_error_with_code_2() {
    let file = SIZES.file.to_str().unwrap();
    for words in [
        &["report"][..],
        &["report", file, "--group", "nonsense"],
        &["report", file, "--filter", "("],
        &["report", file, "--at", "yesterday"],
        &["record"],
        &["record", "--max-size", "large", "--", "true"],
        &["nonsense"],
    ] {
        let outcome = command(words);
        assert_eq!(outcome.status.code(), Some(2), "{words:?}: {outcome:?}");
        assert!(!outcome.stderr.is_empty() && outcome.stdout.is_empty(), "{words:?}: {outcome:?}");
    }
}

/// A newcomer types the file alone.
#[test]
fn a_recording_is_no_command() {
    let file = SIZES.file.display().to_string();
    let outcome = command(&[&file]);
    assert_eq!(outcome.status.code(), Some(2));
    let told = format!("{file} is a recording; look at it with: memtoll report {file}\n");
    assert!(outcome.stderr.ends_with(&told), "{outcome:?}");
}

#[test]
fn progress_and_summary_leave_standard_output_alone() {
    let recording = Target::new(program("tiny.c")).record();
    assert_eq!(recording.outcome.stdout, "done\n");
    let file = recording.file.file_name().unwrap().to_string_lossy().into_owned();
    assert!(!recording.outcome.stderr_lines_with(&[&file]).is_empty(), "{:?}", recording.outcome);
    let last = recording.outcome.stderr.lines().last().unwrap();
    assert!(last.contains("recorded in ") && last.contains("; next: memtoll "), "{last}");
}

#[test]
fn blocks_that_the_runtime_keeps_are_no_leak() {
    // As a library, and linked into a program, with and without names.
    for flags in [&["-O2"][..], &["-O2", "-static-libstdc++"], &["-O2", "-static-libstdc++", "-s"]] {
        let text = Target::new(program_with("containers.cpp", flags)).record().text(&[]);
        let in_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(in_one_line.contains("Never freed by the runtime, and no leak: "), "{flags:?}: {text}");
        assert!(in_one_line.contains("libstdc++'s pool for exceptions (7"), "{flags:?}: {text}");
    }
}

fn difference(a: &Recording, b: &Recording, options: &[&str]) -> String {
    let mut words = vec!["diff", a.file.to_str().unwrap(), b.file.to_str().unwrap()];
    words.extend(options);
    let outcome = command(&words);
    assert!(outcome.status.success(), "{outcome:?}");
    outcome.stdout
}

#[test]
fn a_difference_names_what_changed() {
    let after = Target::new(program("sizes.c")).arg("3").record(); // 200 more of the middle ones
    for format in ["text", "markdown"] {
        let text = difference(&SIZES, &after, &["--format", format]);
        assert!(text.contains("middle_ones") && text.contains("200"), "{text}");
        assert!(!text.contains("small_ones"), "it did not change:\n{text}");
    }
    assert!(difference(&SIZES, &after, &["--format", "markdown"]).lines().any(|line| line.starts_with('|')));
    let json: Value = serde_json::from_str(&difference(&SIZES, &after, &["--format", "json"])).unwrap();
    assert!(json["schema_version"].is_u64(), "{json}");
    assert!(json.to_string().contains("middle_ones"), "{json}");
}

#[test]
fn lines_that_moved_are_the_same_call_sites() {
    let folder = scratch();
    let moved = folder.path().join("sizes.c");
    std::fs::write(&moved, format!("\n\n\n{}", std::fs::read_to_string(source("sizes.c")).unwrap())).unwrap();
    let program = folder.path().join("sizes");
    let mut compile = Command::new("gcc");
    compile.args(["-O2", "-g", "-I"]).arg(source("").as_path()).arg("-o").arg(&program).arg(&moved);
    assert!(compile.status().unwrap().success());
    let same = Target::new(&program).record_alone();
    let text = difference(&SIZES, &same, &[]);
    assert!(text.contains("No call site changed"), "{text}");
    let more = Target::new(&program).arg("3").record_alone();
    let json: Value = serde_json::from_str(&difference(&SIZES, &more, &["--format", "json"])).unwrap();
    let [change] = &json["changes"].as_array().unwrap()[..] else { panic!("{json}") };
    let line = |frame: &str| change[frame]["line"].as_u64().unwrap();
    assert_eq!((change["fate"].as_str(), line("frame")), (Some("changed"), line("frame_before") + 3), "{json}");
}

#[test]
fn two_runs_of_the_same_do_not_differ() {
    let again = Target::new(program("sizes.c")).record();
    let text = difference(&SIZES, &again, &[]);
    for function in ["small_ones", "middle_ones", "large_ones"] {
        assert!(!text.contains(function), "{text}");
    }
}
