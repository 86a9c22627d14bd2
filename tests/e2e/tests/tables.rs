//! Exports that others read: SQL on Parquet tables, and traces by Perfetto's published definitions. What they find is what
//! the report says.

use memtoll_e2e::{Recording, Target, memtoll, program, run, scratch, target_directory, workspace};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Runs a script of `readers/` in a folder; what it prints.
#[track_caller]
fn reader(script: &str, arguments: &[&str], folder: &Path) -> Value {
    let python = target_directory().join("readers/bin/python");
    assert!(python.exists(), "{} is missing: run `make target/readers/ready`", python.display());
    let mut command = Command::new(python);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("readers").join(script);
    command.arg(script).args(arguments).current_dir(folder);
    let outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[track_caller]
fn export(recording: &Path, to: &Path, options: &[&str]) -> String {
    let mut command = Command::new(memtoll());
    command.arg("export").arg(recording).arg("-o").arg(to).args(options);
    let outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
    outcome.stderr
}

#[track_caller]
fn report(recording: &Path, options: &[&str]) -> Value {
    let mut command = Command::new(memtoll());
    command.arg("report").arg(recording).args(["--format", "json", "-n", "1000000"]).args(options);
    serde_json::from_str(&run(command).stdout).unwrap()
}

/// What the SQL of `docs/sql.md` finds in a folder.
fn answers(folder: &Path) -> Value {
    let document = workspace().join("docs/sql.md");
    reader("sql.py", &[document.to_str().unwrap()], folder)
}

fn number(of: &Value) -> i64 {
    of.as_i64().or_else(|| of.as_f64().map(|value| value.round() as i64)).unwrap_or_else(|| panic!("no number: {of}"))
}

fn sum(rows: &Value, column: &str) -> i64 {
    rows.as_array().unwrap().iter().map(|row| number(&row[column])).sum()
}

fn rows(report: &Value) -> &Vec<Value> {
    report["sites"].as_array().unwrap()
}

/// What a report says of a finding and of what else it found at the line.
fn sentences(finding: &Value) -> String {
    let also = finding["also"].as_array().unwrap();
    let all: Vec<&str> = std::iter::once(finding).chain(also).map(|one| one["text"].as_str().unwrap()).collect();
    all.join(". ")
}

/// Checks all figures of the document against the report of a recording that stands in for all three.
#[track_caller]
fn check(recording: &Recording) -> Value {
    let folder = scratch();
    for (name, options) in [("app", &["--events"][..]), ("before", &[]), ("after", &[])] {
        let to = folder.path().join(name).with_extension("tables");
        export(&recording.file, &to, &[&["--format", "parquet"], options].concat());
    }
    let found = answers(folder.path());
    let all = report(&recording.file, &["--metric", "cost"]);
    let totals = &all["totals"];

    let cost = &found["Which lines cost most?"][0];
    assert_eq!(cost.as_array().unwrap().len(), rows(&all).len().min(10));
    let costs: Vec<i64> = rows(&all).iter().map(|row| number(&row["cost_ns"])).collect();
    let of_sql: Vec<i64> = cost
        .as_array()
        .unwrap()
        .iter()
        .map(|row| number(&Value::from(row["cost_ms"].as_f64().unwrap() * 1e6)))
        .collect();
    assert_eq!(of_sql, costs[..of_sql.len()]);

    let functions = report(&recording.file, &["--group", "function", "--metric", "faults"]);
    if let Some(faults) = totals["faults"].as_i64() {
        let by_function = &found["Which functions pay for page faults?"][0];
        assert_eq!(sum(by_function, "faults"), faults);
        let highest = |rows: &Value, name: &str| rows.as_array().unwrap().iter().map(|row| number(&row[name])).max();
        // Functions of one name in two files are two rows of the report.
        assert!(highest(by_function, "faults") >= highest(&functions["sites"], "faults"));
        // A program of a distribution may have no name for its main.
        let main = found["Which functions pay for page faults?"][1].as_array().unwrap();
        if let Some(main) = main.iter().find(|row| row["function"] == "main") {
            let of_main = report(&recording.file, &["--filter", "^main$"]);
            assert_eq!(number(&main["faults"]), sum(&of_main["sites"], "faults"), "with all that main calls");
        }
    }

    let growth = &found["What grows over time?"];
    assert_eq!(sum(&growth[0], "allocations"), number(&totals["allocations"]));
    assert_eq!(sum(&growth[0], "allocator_ns"), number(&totals["allocator_ns"]));
    if !totals["fault_time_ns"].is_null() {
        assert_eq!(sum(&growth[0], "fault_time_ns"), number(&totals["fault_time_ns"]));
    }
    assert_eq!(sum(&growth[1], "bytes"), number(&totals["live_bytes"]), "of the pools' none");
    assert_eq!(sum(&growth[1], "blocks"), number(&totals["live_blocks"]));

    let threads = &found["Which threads free the blocks of others?"];
    assert_eq!(sum(&threads[0], "blocks"), sum(&threads[1], "freed_by_other_threads"));

    let change = &found["What did a change change?"][0];
    assert_eq!(sum(change, "before"), number(&totals["allocations"]));
    assert_eq!(sum(change, "after"), number(&totals["allocations"]));
    assert!(change.as_array().unwrap().iter().all(|row| row["cost_ms_more"].as_f64() == Some(0.0)));

    let findings = found["What did memtoll find?"][0].as_array().unwrap();
    let expected = all["findings"].as_array().unwrap();
    assert_eq!(findings.len(), expected.len());
    for (row, finding) in findings.iter().zip(expected) {
        assert_eq!((&row["rule"], &row["text"]), (&finding["id"], &Value::from(sentences(finding))));
    }

    let programs = &found["Which programs does a build spend its memory on?"][0];
    assert_eq!(sum(programs, "images"), all["processes"].as_array().unwrap().len() as i64);
    assert_eq!(sum(programs, "allocations"), number(&totals["allocations"]));
    found
}

#[test]
fn sql_finds_the_reports_figures_of_a_real_program() {
    let script =
        "import json\nall = [json.loads(json.dumps({'a': [i, str(i)] * 10})) for i in range(2000)]\nprint(len(all))";
    check(&Target::new("/usr/bin/python3").arg("-c").arg(script).record());
}

#[test]
fn sql_says_what_changed_between_two_runs() {
    // load makes 50 blocks, then 80; draw 12 before and after.
    let [before, after] = ["50", "80"].map(|blocks| Target::new(program("budget.c")).args([blocks]).record());
    let folder = scratch();
    for (name, recording) in [("app", &after), ("before", &before), ("after", &after)] {
        let to = folder.path().join(name).with_extension("tables");
        export(&recording.file, &to, &["--format", "parquet", "--events"][..if name == "app" { 3 } else { 2 }]);
    }
    let found = &answers(folder.path())["What did a change change?"][0];
    let of = |name: &str| found.as_array().unwrap().iter().find(|row| row["function"] == name).unwrap();
    for (name, old, new) in [("load", 50, 80), ("draw", 12, 12)] {
        assert_eq!((number(&of(name)["before"]), number(&of(name)["after"])), (old, new), "{found}");
    }
    assert_eq!(found[0]["function"], "load", "what changed most leads: {found}");
    let cost = |recording: &Recording| sum(&report(&recording.file, &[])["sites"], "cost_ns");
    let more: f64 = found.as_array().unwrap().iter().map(|row| row["cost_ms_more"].as_f64().unwrap()).sum();
    assert!((more - (cost(&after) - cost(&before)) as f64 / 1e6).abs() < 1e-3, "{more}: {found}");
}

#[test]
fn sql_finds_whose_threads_free_the_blocks_of_others() {
    let found = check(&Target::new(program("handover.c")).record());
    assert!(sum(&found["Which threads free the blocks of others?"][0], "blocks") > 0);
}

#[test]
fn sql_adds_up_processes() {
    let found = check(&Target::new(program("fork_both.c")).record());
    assert!(sum(&found["Which programs does a build spend its memory on?"][0], "images") > 1);
}

#[test]
fn tables_have_what_is_selected() {
    let recording = Target::new(program("handover.c")).record();
    let folder = scratch();
    let options = ["--min-size", "64"];
    export(
        &recording.file,
        &folder.path().join("app.tables"),
        &[&["--format", "parquet", "--events"][..], &options].concat(),
    );
    let statement = "### x\n\n```sql\nSELECT (SELECT sum(allocations) FROM 'app.tables/stacks.parquet') AS stacks,\n\
        (SELECT count(*) FROM 'app.tables/events.parquet' WHERE effect = 'acquire') AS events,\n\
        (SELECT count(*) FROM 'app.tables/events.parquet' WHERE effect = 'release' AND NOT is_resize) AS frees\n```\n";
    std::fs::write(folder.path().join("x.md"), statement).unwrap();
    let found = &reader("sql.py", &["x.md"], folder.path())["x"][0][0];
    let report = report(&recording.file, &options);
    let totals = &report["totals"];
    assert!(number(&totals["allocations"]) > 0);
    for name in ["stacks", "events"] {
        assert_eq!(number(&found[name]), number(&totals["allocations"]), "{name}");
    }
    assert_eq!(number(&found["frees"]), number(&totals["frees"]));
}

#[test]
fn tables_replace_nothing_unless_they_are_told_to() {
    let recording = Target::new(program("budget.c")).record();
    let folder = scratch();
    let tables = folder.path().join("app.tables");
    let command = |options: &[&str]| {
        let mut command = Command::new(memtoll());
        command.arg("export").arg(&recording.file).args(["--format", "parquet"]).args(options);
        run(command)
    };
    let name = tables.to_str().unwrap();
    assert!(command(&["-o", name]).status.success());
    let again = command(&["-o", name]);
    assert!(!again.status.success() && again.stderr.contains("--force"), "{again:?}");
    assert!(command(&["-o", name, "--force"]).status.success());
    let mut files: Vec<_> = std::fs::read_dir(&tables).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    let expected = ["findings", "frames", "processes", "runs", "sites", "stacks", "threads", "timeline"];
    assert_eq!(files, expected.map(|table| OsString::from(format!("{table}.parquet"))));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    std::fs::write(tables.join("notes.txt"), "mine").unwrap();
    let others = command(&["-o", name, "--force"]);
    assert!(!others.status.success() && others.stderr.contains("notes.txt"), "{others:?}");
    assert!(tables.join("notes.txt").exists() && tables.join("sites.parquet").exists());
    let stdout = command(&["-o", "-"]);
    assert!(!stdout.status.success() && stdout.stderr.contains("folder"), "{stdout:?}");
    let collapsed = command(&["--format", "collapsed", "--events"]);
    assert!(!collapsed.status.success(), "{collapsed:?}");
}

/// Compares what the published definitions read in a trace, and what Perfetto's trace processor answers in SQL, with the
/// report for the same selection.
#[track_caller]
fn check_trace(recording: &Recording, options: &[&str]) -> Value {
    let folder = scratch();
    let trace = folder.path().join("app.pftrace");
    export(&recording.file, &trace, &[&["--format", "perfetto"], options].concat());
    let [read, found] =
        ["trace.py", "trace_sql.py"].map(|script| reader(script, &[trace.to_str().unwrap()], folder.path()));
    for part in ["heap", "functions", "counters", "highest", "slices"] {
        let numbers = |of: &Value| -> Vec<(String, i64)> {
            of[part].as_object().unwrap().iter().map(|(name, value)| (name.clone(), number(value))).collect()
        };
        assert_eq!(numbers(&found), numbers(&read), "{part}");
    }
    assert_eq!((&found["threads"], &found["processes"]), (&read["threads"], &read["processes"]));
    let report = report(&recording.file, options);
    let totals = &report["totals"];
    for name in ["bytes", "allocations", "live_bytes", "live_blocks"] {
        assert_eq!(number(&found["heap"][name]), sum(&report["sites"], name), "{name}");
    }
    let counters = [("allocations", "allocations"), ("bytes", "bytes"), ("page faults", "faults")];
    let times = ["allocator", "fault time", "mapping", "waiting", "reading"];
    let times = times.into_iter().zip(["allocator_ns", "fault_time_ns", "mapping_ns", "waiting_ns", "reading_ns"]);
    for (counter, name) in counters.into_iter().chain(times).filter(|(_, name)| !totals[name].is_null()) {
        assert_eq!(number(&found["counters"][counter]), number(&totals[name]), "{counter}");
    }
    found
}

#[test]
fn a_trace_has_the_reports_sums_over_time() {
    let recording = Target::new(program("region_runs.c")).record();
    let found = check_trace(&recording, &[]);
    let report = report(&recording.file, &[]);
    assert_eq!(number(&found["highest"]["live bytes"]), number(&report["totals"]["peak_bytes"]));
    let of_main = self::report(&recording.file, &["--filter", "^main$"]);
    assert_eq!(number(&found["functions"]["main"]), sum(&of_main["sites"], "allocations"));
    let regions = self::report(&recording.file, &["--regions"]);
    for region in regions["regions"].as_array().unwrap() {
        let runs = region["runs"].as_array().unwrap().len() as i64;
        assert_eq!(number(&found["slices"][region["name"].as_str().unwrap()]), runs, "{region}");
    }
    assert!(!regions["regions"].as_array().unwrap().is_empty());
}

#[test]
fn a_trace_has_several_processes_and_threads() {
    let found = check_trace(&Target::new(program("fork_both.c")).record(), &[]);
    assert!(found["processes"].as_array().unwrap().len() > 1);
    let found = check_trace(&Target::new(program("handover.c")).record(), &[]);
    assert!(found["threads"].as_array().unwrap().len() > 1);
}

#[test]
fn the_published_definitions_of_otlp_read_the_sums() {
    let recording = Target::new(program("handover.c")).record();
    let folder = scratch();
    let file = folder.path().join("app.otlp.pb");
    export(&recording.file, &file, &["--format", "otlp"]);
    let found = reader("otlp.py", &[file.to_str().unwrap()], folder.path());
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let of_main = self::report(&recording.file, &["--filter", "^main$"]);
    for (name, column) in [
        ("alloc_objects", "allocations"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "live_blocks"),
        ("inuse_space", "live_bytes"),
        ("cost", "cost_ns"),
        ("faults", "faults"),
    ] {
        assert_eq!(found["sums"][name], report["totals"][column], "{name}: {found}");
    }
    assert!(number(&found["main"]["alloc_objects"]) > 0);
    assert_eq!(number(&found["main"]["alloc_objects"]), sum(&of_main["sites"], "allocations"));
}

#[test]
fn speedscopes_schema_admits_the_sums() {
    // Functions without names, several processes, and times of all kinds.
    let script = "python3 -c 'import json; print(len(json.dumps(list(range(9999)))))' && expr 1 + 1";
    for recording in [Target::new(program("handover.c")).record(), Target::shell(script, &[]).record()] {
        let folder = scratch();
        let file = folder.path().join("app.speedscope.json");
        export(&recording.file, &file, &["--format", "speedscope"]);
        let found = reader("speedscope.py", &[file.to_str().unwrap()], folder.path());
        let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
        for (name, column, unit) in [
            ("allocations", "allocations", "none"),
            ("bytes", "bytes", "bytes"),
            ("live", "live_bytes", "bytes"),
            ("allocator", "allocator_ns", "nanoseconds"),
            ("faults", "faults", "none"),
        ] {
            assert_eq!(found["sums"][name], report["totals"][column], "{name}: {found}");
            assert_eq!(found["units"][name], unit, "{name}: {found}");
        }
    }
}

#[test]
fn pyarrow_and_clickhouse_read_the_sums() {
    let recording = Target::new(program("sizes.c")).record();
    let folder = scratch();
    let tables = folder.path().join("sizes.tables");
    export(&recording.file, &tables, &["--format", "parquet"]);
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let columns = ["allocations", "bytes", "live_bytes"];
    let expected = Value::from(columns.map(|column| report["totals"][column].clone()).to_vec());
    assert!(expected[0].as_u64() > Some(0), "{expected}");
    for table in ["sites.parquet", "stacks.parquet"] {
        let found = reader("parquet.py", &[&[table][..], &columns].concat(), &tables);
        assert_eq!((&found["pyarrow"], &found["clickhouse"]), (&expected, &expected), "{table}");
    }
}
