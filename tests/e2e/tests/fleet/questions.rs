//! What a store answers: the same from both engines.

use super::clickhouse::{ClickHouse, Current};
use super::store::{Store, fails, recording, row, versions};
use memtoll_e2e::{Recording, Target, free_port, memtoll, program, program_with, run, scratch};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// What every engine must do.
fn answers_are_those_of_the_recordings(store: &Store) {
    let (small, large) = (recording("50"), recording("90"));
    store.add(&[&small], &["version=1.4", "requests=10"]);
    store.add(&[&large], &["version=1.5", "requests=20"]);
    // Once more, with other labels: it is the same run.
    let said = store.add(&[&large], &["version=1.6"]);
    assert!(said.contains("added 0 of 1 run ") && said.contains("1 were there already"), "{said}");

    let rows = store.ask("top", &["--metric", "allocations"]);
    let functions = [("load", 50 + 90), ("draw", 12 + 12), ("(total)", 62 + 102)];
    for (name, allocations) in functions {
        assert_eq!(row(&rows, name)["allocations"], allocations, "{rows:#?}");
    }
    // All costs add up to the reports' totals.
    let reports = [small.text(&["--format", "json"]), large.text(&["--format", "json"])];
    let reports = reports.map(|text| serde_json::from_str::<Value>(&text).unwrap());
    for column in ["cost_ns", "allocator_ns", "fault_time_ns", "zeroing_ns", "mapping_ns", "faults", "bytes"] {
        let expected: u64 = reports.iter().map(|report| report["totals"][column].as_u64().unwrap_or(0)).sum();
        assert_eq!(row(&rows, "(total)")[column], expected, "{column}: {rows:#?}");
    }
    // Main calls both functions, and allocates nothing itself.
    let rows = store.ask("top", &["--metric", "allocations", "--with-callees"]);
    assert_eq!(row(&rows, "main")["allocations"], 164, "{rows:#?}");
    let rows = store.ask("top", &["--metric", "allocations", "--filter", "^draw$"]);
    assert_eq!(row(&rows, "(total)")["allocations"], 24, "{rows:#?}");
    let rows = store.ask("top", &["--metric", "allocations", "--where", "version=1.5", "--per", "requests"]);
    assert_eq!(row(&rows, "load")["allocations"], 4.5, "{rows:#?}");
    assert_eq!(row(&rows, "load")["allocations_high"], Value::Null, "one run tells no error: {rows:#?}");
    // A mean has an error, with and without a sample: Student's t of one degree of freedom is 12.706.
    let interval = |rows: &[Value], name: &str| {
        ["allocations_low", "allocations", "allocations_high"].map(|column| row(rows, name)[column].as_f64().unwrap())
    };
    let rows = store.ask("top", &["--metric", "allocations", "--per", "run"]);
    for (name, mean, error) in [("load", 70.0, 12.706 * 20.0), ("draw", 12.0, 0.0), ("(total)", 82.0, 12.706 * 20.0)] {
        let found = interval(&rows, name);
        let expected = [mean - error, mean, mean + error];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.1), "{name}: {found:?}, {expected:?}");
    }
    assert_eq!(store.ask("top", &["--metric", "allocations", "--runs", "100"]), rows);
    let text = store.run("top", &["--metric", "allocations", "--per", "run"]).stdout;
    assert!(text.contains("70 ± 254") && text.contains("from how much runs differ"), "{text}");
    let rows = store.ask("top", &["--metric", "peak", "--where", "version=1.5"]);
    assert_eq!(row(&rows, "load")["peak_bytes"], 100, "{rows:#?}");
    for group in ["line", "module", "process", "service", "host"] {
        let rows = store.ask("top", &["--metric", "allocations", "--group", group]);
        assert_eq!(row(&rows, "(total)")["allocations"], 164, "{group}: {rows:#?}");
        let sum: u64 =
            rows.iter().filter(|row| row["name"] != "(total)").map(|row| row["allocations"].as_u64().unwrap()).sum();
        assert_eq!(sum, 164, "{group}: {rows:#?}");
    }
    let lines = store.ask("top", &["--metric", "allocations", "--group", "line"]);
    assert!(row(&lines, "load")["name"].as_str().unwrap().contains("budget.c:10"), "{lines:#?}");

    let rows = store.ask("trend", &["--label", "version", "--metric", "allocations"]);
    let found: Vec<(&Value, &Value, &Value)> =
        rows.iter().map(|row| (&row["name"], &row["runs"], &row["allocations"])).collect();
    assert_eq!(found, [(&"1.4".into(), &1.into(), &62.into()), (&"1.5".into(), &1.into(), &102.into())]);
    assert_eq!(store.ask("trend", &["--metric", "allocations"]), rows, "there are versions, so it follows them");
    let rows = store.ask("trend", &["--by-day", "--metric", "allocations"]);
    assert_eq!(rows.iter().map(|row| row["runs"].as_u64().unwrap()).sum::<u64>(), 2, "by day: {rows:#?}");

    let rows = store.ask("compare", &["--before", "version=1.4", "--after", "version=1.5", "--metric", "allocations"]);
    assert_eq!((&row(&rows, "load")["difference"], &row(&rows, "(total)")["difference"]), (&40.into(), &40.into()));
    assert_eq!(row(&rows, "draw")["difference"], 0);

    let runs = |per: &[&str]| -> Vec<(Value, Value, Value)> {
        let rows = store.ask("runs", &[&["--metric", "allocations"], per].concat());
        rows.iter().map(|row| (row["allocations"].clone(), row["version"].clone(), row["name"].clone())).collect()
    };
    let [small_path, large_path] = [&small, &large].map(|recording| recording.file.to_str().unwrap());
    assert_eq!(
        runs(&[]),
        [(102.into(), "1.5".into(), large_path.into()), (62.into(), "1.4".into(), small_path.into())],
        "each leads to its recording"
    );
    let by_requests = [(6.2.into(), "1.4".into(), small_path.into()), (5.1.into(), "1.5".into(), large_path.into())];
    assert_eq!(runs(&["--per", "requests"]), by_requests);
    assert_eq!(runs(&["--filter", "^load$", "-n", "1"]), [(90.into(), "1.5".into(), large_path.into())]);

    // A run that does not tell its requests has no part in a mean of these.
    store.add(&[&recording("70")], &["version=1.3", "service=silent"]);
    let rows = store.ask("top", &["--metric", "bytes", "--per", "requests"]);
    assert_eq!(row(&rows, "load")["allocations"].as_f64(), Some((50.0 + 90.0) / 30.0), "{rows:#?}");
    let share = row(&rows, "load")["share"].as_f64().unwrap();
    let all = row(&rows, "(total)")["bytes"].as_f64().unwrap();
    assert!((row(&rows, "load")["bytes"].as_f64().unwrap() / all - share).abs() < 1e-9, "{rows:#?}");
    fails(&store.run("top", &["--where", "version=9"]), 3, &["no run", "version=9", "version=1.4"]);
    fails(&store.run("top", &["--filter", "nobody"]), 3, &["no function or module", "nobody"]);
}

/// What runs have as a whole stands below the rows, and can be limited: memory that is only reserved is apart from what is used.
fn what_is_only_reserved_is_apart(store: &Store) {
    let record = |what: &str| Target::new(program("own_mappings.c")).arg(what).record();
    store.add(&[&record("protected"), &record("protected")], &["version=opens"]);
    store.add(&[&record("beside")], &["version=uses"]);
    let top = |version: &str| store.run("top", &["--where", &format!("version={version}"), "--metric", "peak"]).stdout;
    let opens = top("opens");
    assert!(opens.contains("A run's memory that is only reserved: 59.0 MiB, the mean of 2 runs."), "{opens}");
    assert!(opens.contains("A run's largest resident set: ") && opens.contains("MiB, the mean of 2 runs."), "{opens}");
    let uses = top("uses");
    assert!(uses.contains("A run's memory that is only reserved: 0 B, the mean of 1 run."), "{uses}");
    let folder = scratch();
    let budget = folder.path().join("memtoll.toml");
    for (limit, code) in [
        ("reserved = '60 MiB'", 0),
        ("reserved = '58 MiB'", 5),
        ("resident-peak = '40 MiB'", 0),
        ("resident-peak = '2 MiB'", 5),
    ] {
        fs::write(&budget, format!("[run]\n{limit}")).unwrap();
        let outcome = store.run("check", &["--budget", budget.to_str().unwrap(), "--where", "version=opens"]);
        assert_eq!(outcome.status.code(), Some(code), "{limit}: {outcome:?}");
    }
}

/// Versions of a program may have names of their own: functions are the same by name, as `memtoll diff` has it.
fn programs_may_be_renamed(store: &Store) {
    // Each build has a build id and, by it, a name.
    let build = |version: &str| program_with("budget.c", &["-O2", &format!("-Wl,--build-id=0x{version}")]);
    let add = |version: &str, blocks: &[&str], labels: &[&str]| {
        let recordings: Vec<Recording> =
            blocks.iter().map(|blocks| Target::new(build(version)).args([blocks]).record()).collect();
        store.add(&recordings.iter().collect::<Vec<_>>(), &[labels, &["service=app"]].concat());
    };
    add("1400", &["50", "60"], &["version=1.4", "set=old"]);
    add("1500", &["80", "90"], &["version=1.5", "set=new"]);
    add("1600", &["100"], &["version=1.6", "set=new"]);
    let of = |rows: &[Value], name: &str| {
        let found: Vec<&Value> = rows.iter().filter(|row| row["name"].as_str().unwrap().starts_with(name)).collect();
        assert_eq!(found.len(), 1, "one row for {name}: {rows:#?}");
        assert!(!found[0]["verdict"].as_str().unwrap().contains("new"), "{name}: {rows:#?}");
        let number = |column: &str| found[0][column].as_f64().unwrap();
        (number("before"), number("after"), number("after_high"))
    };
    let near = |found: (f64, f64, f64), expected: (f64, f64, f64)| {
        let [a, b] = [found, expected].map(|(a, b, c)| [a, b, c]);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.1), "{found:?}, {expected:?}");
    };
    for round in ["run by run", "rolled up"] {
        let compare = |more: &[&str]| {
            store.ask("compare", &[&["--metric", "allocations", "--where", "service=app"], more].concat())
        };
        let rows = compare(&["--before", "version=1.4", "--after", "version=1.5"]);
        // Student's t of one degree of freedom is 12.706.
        near(of(&rows, "load"), (55.0, 85.0, 85.0 + 12.706 * 5.0));
        near(of(&rows, "draw"), (12.0, 12.0, 12.0));
        // Two names on one side: t of two degrees of freedom is 4.303, the standard error of 80, 90, 100 is 5.774.
        let rows = compare(&["--before", "set=old", "--after", "set=new"]);
        near(of(&rows, "load"), (55.0, 90.0, 90.0 + 4.303 * 5.774));
        let rows = compare(&["--before", "version=1.4", "--after", "version=1.5", "--with-callees"]);
        near(of(&rows, "main"), (67.0, 97.0, 97.0 + 12.706 * 5.0));
        near(of(&rows, "load"), (55.0, 85.0, 85.0 + 12.706 * 5.0));
        let rows = compare(&["--before", "version=1.4", "--after", "version=1.5", "--group", "line"]);
        near(of(&rows, "load  "), (55.0, 85.0, 85.0 + 12.706 * 5.0));
        // A function's file stands where there is only one.
        let rows = store.ask("top", &["--metric", "allocations", "--where", "service=app", "--where", "version=1.6"]);
        assert!(row(&rows, "load")["name"].as_str().unwrap().ends_with("1600]"), "{round}: {rows:#?}");
        fails(&store.run("roll-up", &["--until", "2100-01-01"]), 0, &["rolled up"]);
    }
}

/// Several addresses may be of one line: the line's sums say how runs differ.
fn a_line_is_one_row(store: &Store) {
    let [few, many] = ["50", "70"].map(|blocks| Target::new(program("one_line.c")).args([blocks]).record());
    store.add(&[&few, &many], &[]);
    let rows = store.ask("top", &["--metric", "allocations", "--group", "line", "--per", "run"]);
    let number = |column: &str| row(&rows, "main")[column].as_f64().unwrap();
    // Student's t of one degree of freedom is 12.706.
    for (column, expected) in [("allocations", 120.0), ("allocations_high", 120.0 + 12.706 * 20.0)] {
        assert!((number(column) - expected).abs() < 0.1, "{column}: {rows:#?}");
    }
}

fn hostile_names_are_only_names(store: &Store) {
    // Words that could be numbers are words.
    store.add(&[&recording("40")], &["version=nan", "machine=inf"]);

    let version = "1'; DROP TABLE runs; --\\\" `${x}` ?";
    let label = format!("ver'sion\\={version}");
    let service = format!("service={version}");
    store.add(&[&recording("50")], &[&label, &service]);
    store.add(&[&recording("60")], &["version=2"]);
    let rows = store.ask("top", &["--where", &label, "--where", &service, "--metric", "allocations"]);
    assert_eq!(row(&rows, "(total)")["allocations"], 62, "{rows:#?}");
    let rows = store.ask("trend", &["--label", "ver'sion\\", "--metric", "allocations"]);
    assert_eq!(rows[0]["name"], version);
    let rows = store.ask("top", &["--group", "service", "--metric", "allocations"]);
    assert_eq!(row(&rows, version)["allocations"], 62, "{rows:#?}");
    // The name of a function is what its program makes of it.
    let name = "\"x';DROP/**/TABLE/**/sites;--?\\";
    store.add(&[&Target::new(program("hostile_names.c")).record()], &["version=3"]);
    for group in ["function", "line"] {
        let rows = store.ask("top", &["--where", "version=3", "--metric", "allocations", "--group", group]);
        assert_eq!(row(&rows, name)["allocations"], 1, "{rows:#?}");
    }
    let rows = store.ask("top", &["--filter", "DROP/../TABLE", "--metric", "allocations"]);
    assert_eq!(row(&rows, "(total)")["allocations"], 1, "{rows:#?}");
}

/// Of many runs some are drawn, which are always the same; old runs can be removed.
fn large_stores_stay_fast(store: &Store) {
    let recordings: Vec<Recording> = (0..6).map(|_| recording("50")).chain([recording("90")]).collect();
    store.add(&recordings.iter().collect::<Vec<_>>(), &["version=1"]);
    let drawn = ["--metric", "allocations", "--runs", "3"];
    let outcome = store.run("top", &drawn);
    assert!(outcome.stdout.contains("3 of 7 runs") && outcome.stdout.contains("random sample"), "{outcome:?}");
    let rows = store.ask("top", &drawn);
    let all = row(&rows, "(total)");
    // The mean of a run: of the three, one with 102 may be there, or none.
    let expected = [62.0, (62.0 + 62.0 + 102.0) / 3.0];
    let found = all["allocations"].as_f64().unwrap();
    assert!(expected.iter().any(|value| (value - found).abs() < 1e-9), "{rows:#?}");
    let [low, high] = ["allocations_low", "allocations_high"].map(|name| all[name].as_f64().unwrap());
    assert!(low <= found && found <= high && (high > low) == (found > 62.0), "{rows:#?}");
    assert_eq!(store.ask("top", &drawn), rows);
    let rows = store.ask("top", &["--metric", "allocations", "--runs", "100"]);
    assert_eq!(row(&rows, "(total)")["allocations"].as_f64(), Some((6 * 62 + 102) as f64 / 7.0), "{rows:#?}");

    // Yesterday's are kept, and so are today's.
    let said = store.run("forget", &["--until", "1d"]);
    fails(&said, 0, &["removed 0 runs"]);
    let label = ["--where", "version=1", "--metric", "allocations"];
    assert_eq!(row(&store.ask("top", &label), "(total)")["allocations"], 6 * 62 + 102);
    let said = store.run("forget", &["--until", "2100-01-01"]);
    fails(&said, 0, &["removed 7 runs that began before 2100-01-01"]);
    fails(&store.run("top", &[]), 3, &["no run"]);
    store.add(&[&recordings[0]], &["version=1"]);
    assert_eq!(row(&store.ask("top", &label), "(total)")["allocations"], 62, "it can be added again");
}

#[test]
fn a_large_file_stays_fast() {
    let folder = scratch();
    large_stores_stay_fast(&Store::in_folder(&folder));
}

#[test]
fn a_file_answers_what_the_recordings_say() {
    let folder = scratch();
    answers_are_those_of_the_recordings(&Store::in_folder(&folder));
    let folder = scratch();
    what_is_only_reserved_is_apart(&Store::in_folder(&folder));
}

#[test]
fn a_file_matches_functions_of_programs_that_were_renamed() {
    let folder = scratch();
    programs_may_be_renamed(&Store::in_folder(&folder));
}

#[test]
fn a_file_adds_up_lines_by_run() {
    let folder = scratch();
    a_line_is_one_row(&Store::in_folder(&folder));
}

#[test]
fn a_file_takes_hostile_names() {
    let folder = scratch();
    hostile_names_are_only_names(&Store::in_folder(&folder));
}

#[test]
fn a_function_counts_once_in_a_stack() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recording = Target::new(program("deep_recursion.c")).record();
    store.add(&[&recording], &[]);
    let rows = store.ask("top", &["--metric", "allocations", "--with-callees"]);
    assert_eq!(row(&rows, "down")["allocations"], 20_000, "{rows:#?}");
}

#[test]
fn callers_of_wrappers_lead_and_the_recorder_takes_no_cpu_time_as_in_reports() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recording = Target::new(program("wrappers.c")).record();
    store.add(&[&recording], &[]);
    let rows = store.ask("top", &["--metric", "allocations"]);
    for (caller, allocations) in [("often", 830), ("sometimes", 100), ("rarely", 70)] {
        assert_eq!(row(&rows, caller)["allocations"], allocations, "{rows:#?}");
    }
    assert!(rows.iter().all(|row| !row["name"].as_str().unwrap().starts_with("own_alloc")), "{rows:#?}");
    // What reports leave out can still be asked for.
    for more in [&["--filter", "^own_alloc$"][..], &["--with-callees"]] {
        let rows = store.ask("top", &[&["--metric", "allocations"], more].concat());
        assert!(rows.iter().any(|row| row["allocations"] == 1000), "{more:?}: {rows:#?}");
    }
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let [run] = &store.ask("runs", &["--metric", "allocations"])[..] else { panic!("one run") };
    assert_eq!(run["program_ns"], report["totals"]["program_ns"]);
    assert!(run["program_ns"].as_u64() < report["totals"]["cpu_ns"].as_u64(), "{run:#?}");
}

/// Where a wrapper is found in one version only, and overloads cost something, what has not changed is the same.
fn versions_compare_function_by_function(store: &Store) {
    let [old, new] = versions();
    store.add(&[&old], &["version=1", "service=api"]);
    store.add(&[&new], &["version=2", "service=api"]);
    let compare = ["--metric", "allocations", "--before", "version=1", "--after", "version=2", "-n", "100"];
    let changes = |rows: &[Value]| -> Vec<(String, u64, u64)> {
        let name = |row: &Value| row["name"].as_str().unwrap().split("  [").next().unwrap().to_owned();
        let change = |row: &Value| (name(row), row["before"].as_u64().unwrap(), row["after"].as_u64().unwrap());
        let mut all: Vec<_> = rows.iter().map(change).filter(|(name, ..)| !name.starts_with('(')).collect();
        all.sort();
        all
    };
    let expected = [
        ("first", 40, 40),
        ("load", 0, 600),
        ("main", 40, 40),
        ("put(char const*)", 20, 20),
        ("put(int)", 30, 50),
        ("second", 40, 40),
        ("sized(long)", 10, 10),
        ("third", 40, 40),
    ];
    let expected = expected.map(|(name, before, after)| (name.to_owned(), before, after));
    let rows = store.ask("compare", &compare);
    let found: Vec<_> =
        changes(&rows).into_iter().filter(|change| expected.iter().any(|one| one.0 == change.0)).collect();
    assert_eq!(found, expected, "{rows:#?}");
    assert!(rows.iter().all(|row| !row["name"].as_str().unwrap().starts_with("grab")), "{rows:#?}");
    let lines = store.ask("top", &["--metric", "allocations", "--group", "line", "--where", "version=2", "-n", "100"]);
    for (name, allocations) in [("first  ", 40), ("put(int)  ", 50)] {
        assert_eq!(row(&lines, name)["allocations"], allocations, "{lines:#?}");
    }
    assert!(lines.iter().all(|row| !row["name"].as_str().unwrap().starts_with("grab")), "{lines:#?}");
    // Overloads are chosen as rows show them.
    let trend = ["--metric", "allocations", "--label", "version", "--filter", r"^put\(int\)$"];
    let trend: Vec<_> = store.ask("trend", &trend).iter().map(|row| row["allocations"].as_u64()).collect();
    assert_eq!(trend, [Some(30), Some(50)]);
}

#[test]
fn a_file_compares_versions_function_by_function() {
    let folder = scratch();
    versions_compare_function_by_function(&Store::in_folder(&folder));
}

#[test]
fn functions_without_names_say_how_they_get_them() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let stripped = Target::new(program_with("budget.c", &["-O2", "-s"])).args(["50"]).record();
    store.add(&[&stripped], &["version=1"]);
    store.add(&[&recording("60")], &["version=2"]);
    let top = |version: &str| store.run("top", &["--metric", "allocations", "--where", version]).stdout;
    let says = |text: &str| text.contains("shown as addresses") && text.contains("memtoll symbolize");
    assert!(says(&top("version=1")), "{}", top("version=1"));
    assert!(!says(&top("version=2")), "{}", top("version=2"));
    let compared = ["--metric", "allocations", "--before", "version=1", "--after", "version=2"];
    let compared = store.run("compare", &compared).stdout;
    assert!(says(&compared), "{compared}");
}

#[test]
fn every_format_has_the_same_rows() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    store.add(&[&recording("50")], &[]);
    let text = |format: &str| store.run("top", &["--metric", "allocations", "--format", format]).stdout;
    assert!(text("text").contains("1 run, in all, allocations"), "{}", text("text"));
    let csv = text("csv");
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).collect();
    assert!(csv.starts_with("allocations,share,cost_ns,") && rows[0][0] == *"50", "{csv}");
    let markdown = text("markdown");
    assert!(markdown.lines().any(|line| line.starts_with("| 50 | 80.6 % |") && line.contains("load")), "{markdown}");
}

#[test]
fn windows_add_up_to_the_run() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recording = Target::shell("i=0; while [ $i -lt 20 ]; do i=$((i+1)); sleep 0.01; done", &[]).record();
    let whole: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let outcome = store.run("add", &[recording.file.to_str().unwrap(), "--window", "50ms"]);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let rows = store.ask("top", &["--metric", "allocations"]);
    for column in ["allocations", "bytes"] {
        assert_eq!(row(&rows, "(total)")[column], whole["totals"][column], "{column}: {rows:#?}");
    }
}

#[test]
fn what_is_private_stays_on_the_machine() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recording = Target::new(program("budget.c")).args(["50", "", "--password=hunter2"]).record();
    let file = recording.file.to_str().unwrap();
    let outcome = store.run("add", &[file, "--without", "host", "--without", "paths"]);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let bytes = fs::read(&store.url).unwrap();
    let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(has("load"), "functions have names");
    assert!(!has("hunter2") && !has("e2e/programs") && !has("/usr/lib"), "arguments and paths");
    assert!(!has(&format!("{}\0", host.trim())), "the machine");
    assert_eq!(store.ask("top", &["--group", "host"])[0]["name"], "");
}

#[test]
fn budgets_hold_for_the_mean_run() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    store.add(&[&recording("50"), &recording("50")], &["version=1.4"]);
    store.add(&[&recording("80"), &recording("80")], &["version=1.5"]);
    let budget = folder.path().join("memtoll.toml");
    let check = |text: &str, options: &[&str]| {
        fs::write(&budget, text).unwrap();
        store.run("check", &[&["--budget", budget.to_str().unwrap()], options].concat())
    };
    let new = ["--where", "version=1.5", "--baseline", "version=1.4"];
    for (text, code) in [
        ("[run]\nallocations = 92", 0),
        ("[run]\nallocations = 91", 5),
        ("[run]\nallocations = '+30'", 0),
        ("[run]\nallocations = '+29'", 5),
        ("[function.load]\nallocations = 80", 0),
        ("[function.'lo*']\nallocations = 79", 5),
        ("[function.main]\nallocations = 0", 0),
        ("[function.main]\nallocations = 91\nwith_callees = true", 5),
        ("[function.nobody]\nallocations = 0", 0),
        // A name that is gone keeps no limit.
        ("[function.laod]\nallocations = 80", 7),
        // It is unknown whether that is its name.
        ("[process.bugdet]\nallocations = 0", 7),
        ("[region.frame]\nallocations = 0", 7),
        ("[run]\nlive = 0", 7),
    ] {
        let outcome = check(text, &new);
        assert_eq!(outcome.status.code(), Some(code), "{text}: {outcome:?}");
    }
    let outcome = check("[function.nobody]\nallocations = 0", &[&new[..], &["-v"]].concat());
    assert!(outcome.stdout.contains("no call site of a function nobody"), "{outcome:?}");
    let programs = store.ask("top", &["--group", "process", "--metric", "allocations"]);
    let own = programs[0]["name"].as_str().unwrap();
    let of_program = |most: u32| check(&format!("[process.'{own}']\nallocations = {most}"), &new).status.code();
    assert_eq!((of_program(92), of_program(91)), (Some(0), Some(5)), "{own}");
    // A baseline takes the place of the label that it has; the others stay.
    store.add(&[&recording("10")], &["version=1.4", "service=other"]);
    let service = ["--where", &format!("service={own}")];
    let grown = |text: &str| check(text, &[&new[..], &service].concat()).status.code();
    assert_eq!((grown("[run]\nallocations = '+30'"), grown("[run]\nallocations = '+29'")), (Some(0), Some(5)));
    // Without a baseline, there is nothing to compare with.
    assert_eq!(check("[run]\nallocations = '+30'", &new[..2]).status.code(), Some(7));
    let outcome = check("[run]\nallocations = 91", &new);
    assert!(outcome.stdout.contains("92; the budget allows 91"), "{outcome:?}");
}

#[test]
fn clickhouse_answers_what_the_recordings_say() {
    let server = ClickHouse::start();
    answers_are_those_of_the_recordings(&server.store(server.port, "fleet"));
    what_is_only_reserved_is_apart(&server.store(server.port, "whole"));
    programs_may_be_renamed(&server.store(server.port, "renamed"));
    versions_compare_function_by_function(&server.store(server.port, "versions"));
    a_line_is_one_row(&server.store(server.port, "line"));
    hostile_names_are_only_names(&server.store(server.port, "hostile"));
    large_stores_stay_fast(&server.store(server.port, "large"));
}

#[test]
fn two_shards_answer_as_one() {
    let [first, second] = [[(); 3], [(); 3]].map(|ports| ports.map(|()| free_port()));
    let shards = [first[1], second[1]];
    let servers = [first, second].map(|ports| ClickHouse::start_by(&[], ports, &shards));
    let schema = |options: &[&str]| {
        let mut command = Command::new(memtoll());
        command.args(["fleet", "schema"]).args(options);
        let outcome = run(command);
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        outcome.stdout
    };
    let make = |server: &ClickHouse, text: String| {
        for statement in text.split_terminator(";\n") {
            let answer = server.query(statement);
            assert!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{statement}: {answer}");
        }
    };
    servers.iter().for_each(|server| make(server, schema(&["part"])));
    make(&servers[0], schema(&["fleet", "--cluster", "shards", "--of", "part"]));
    let store = servers[0].store(servers[0].port, "fleet");
    answers_are_those_of_the_recordings(&store);
    let recordings: Vec<Recording> = (0..16).map(|_| recording("50")).collect();
    store.add(&recordings.iter().collect::<Vec<_>>(), &["version=2"]);
    let rows = store.ask("top", &["--metric", "allocations", "--where", "version=2"]);
    assert_eq!(row(&rows, "(total)")["allocations"], 16 * 62, "{rows:#?}");
    let question = ["--metric", "allocations", "--with-callees"];
    let before = store.ask("top", &question);
    fails(&store.run("roll-up", &["--until", "2100-01-01"]), 0, &["rolled up 2 days of services"]);
    assert_eq!(store.ask("top", &question), before, "from roll-ups");
    for server in &servers {
        let answer = server.query("SELECT uniq(run) > 0, (SELECT count() FROM part.runs) > 0 FROM part.sites");
        assert!(answer.ends_with("1\t1\n"), "each shard has a part of the rows: {answer}");
    }
    programs_may_be_renamed(&store);
    fails(&store.run("forget", &["--until", "90d"]), 1, &["shards of a cluster", "with each of these"]);
    let shard = servers[1].store(servers[1].port, "part");
    fails(&shard.run("forget", &["--until", "90d"]), 0, &["removed 0 runs"]);
}

#[test]
fn a_current_engine_answers_the_same() {
    let engine = Current::start();
    answers_are_those_of_the_recordings(&engine.store("fleet"));
    programs_may_be_renamed(&engine.store("renamed"));
    versions_compare_function_by_function(&engine.store("versions"));
    hostile_names_are_only_names(&engine.store("hostile"));
    large_stores_stay_fast(&engine.store("large"));
}
