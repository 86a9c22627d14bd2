//! `memtoll export`: files that other programs read, with the sums of the report.

use memtoll_e2e::{Outcome, Recording, Target, memtoll, program, run, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// `sizes.c`: 300 blocks of 8 bytes, 100 of 500, 10 of 100,000; the last ones stay live.
static SIZES: LazyLock<Recording> = LazyLock::new(|| Target::new(program("sizes.c")).record());
const ALLOCATIONS: u64 = 410;
const BYTES: u64 = 300 * 8 + 100 * 500 + 10 * 100_000;

fn export(format: &str, out: &Path, options: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.arg("export").arg(&SIZES.file).args(["--format", format, "-o"]).arg(out).args(options);
    run(command)
}

fn formats() -> Vec<String> {
    let mut command = Command::new(memtoll());
    command.args(["export", "--help"]);
    let help = run(command).stdout;
    let (_, list) = help.split_once("Possible values:").expect("no list of formats");
    let name = |line: &str| Some(line.trim().strip_prefix("- ")?.split_once(':')?.0.to_owned());
    list.lines().skip(1).take_while(|line| !line.trim().is_empty()).filter_map(name).collect()
}

#[test]
fn every_format_is_written_once_and_replaced_only_on_demand() {
    let all = formats();
    assert!(all.len() >= 7, "{all:?}");
    for format in all {
        let folder = scratch();
        let out = folder.path().join("out");
        let first = export(&format, &out, &[]);
        assert!(first.status.success() && first.stdout.is_empty(), "{format}: {first:?}");
        assert!(out.exists(), "{format}");
        if out.is_dir() {
            continue;
        }
        let bytes = std::fs::read(&out).unwrap();
        assert!(!bytes.is_empty(), "{format}");
        let again = export(&format, &out, &["--min-size", "500"]);
        assert_eq!(again.status.code(), Some(2), "{format}: {again:?}");
        assert!(again.stderr.contains("exists: expected a new name, or --force"), "{again:?}");
        assert_eq!(std::fs::read(&out).unwrap(), bytes, "{format}");
        let forced = export(&format, &out, &["--min-size", "500", "--force"]);
        assert!(forced.status.success(), "{forced:?}");
        assert_ne!(std::fs::read(&out).unwrap(), bytes, "{format}");
    }
}

#[test]
fn a_name_is_made_up_from_the_recordings() {
    let folder = scratch();
    let file = folder.path().join("my.memtoll");
    std::fs::copy(&SIZES.file, &file).unwrap();
    let mut command = Command::new(memtoll());
    command.arg("export").arg(&file).args(["--format", "speedscope"]);
    let outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
    let text = std::fs::read_to_string(folder.path().join("my.speedscope.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let profiles = json["profiles"].as_array().unwrap();
    let allocations = profiles.iter().find(|one| one["name"] == "allocations").unwrap();
    assert_eq!(allocations["endValue"], ALLOCATIONS);
}

#[test]
fn callgrind_annotate_reads_the_sums() {
    let folder = scratch();
    let out = folder.path().join("sizes.callgrind");
    let outcome = export("callgrind", &out, &["--metric", "bytes"]);
    assert!(outcome.status.success(), "{outcome:?}");
    let mut annotate = Command::new("callgrind_annotate");
    annotate.arg("--show-percs=no").arg("--auto=no").arg(&out);
    let text = run(annotate).stdout;
    let totals = text.lines().find(|line| line.contains("PROGRAM TOTALS")).unwrap_or_else(|| panic!("{text}"));
    let first: u64 = totals.split_whitespace().next().unwrap().replace(',', "").parse().unwrap();
    assert_eq!(first, BYTES, "{totals}");
    assert!(text.contains("large_ones"), "{text}");
}

/// What `go tool pprof` prints of an export. Debian's Go has the tool built in.
fn printed_by_pprof(out: &Path, options: &[&str]) -> String {
    let mut pprof = Command::new("/usr/lib/go/bin/go");
    pprof.args(["tool", "pprof", "-symbolize=none"]).args(options).arg(out);
    let outcome = run(pprof);
    assert!(outcome.status.success(), "{outcome:?}");
    outcome.stdout
}

#[test]
fn pprof_adds_up_what_the_report_says() {
    let script = "import json\nfor i in range(2000): json.loads(json.dumps({'a': [i, str(i)] * 10}))";
    let recording = Target::new("/usr/bin/python3").arg("-c").arg(script).record();
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let folder = scratch();
    let out = folder.path().join("python.pb.gz");
    let mut command = Command::new(memtoll());
    command.arg("export").arg(&recording.file).args(["--format", "pprof", "-o"]).arg(&out);
    let outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
    // Samples, their unit as pprof writes it, and the same sum in the report.
    let sums: [(&str, &str, &str); 8] = [
        ("alloc_objects", "", "allocations"),
        ("alloc_space", "B", "bytes"),
        ("inuse_objects", "", "live_blocks"),
        ("inuse_space", "B", "live_bytes"),
        ("faults", "", "faults"),
        ("cost", "ns", "cost_ns"),
        ("allocator", "ns", "allocator_ns"),
        ("fault", "ns", "fault_time_ns"),
    ];
    for (samples, unit, figure) in sums {
        let expected = report["totals"][figure].as_u64().unwrap();
        let in_unit = format!("-unit={}", if unit.is_empty() { "count" } else { unit });
        let text = printed_by_pprof(&out, &["-top", &in_unit, &format!("-sample_index={samples}")]);
        let (_, rest) = text.split_once("Total samples = ").unwrap_or_else(|| panic!("{samples}: {text}"));
        let total = rest.split_whitespace().next().unwrap();
        assert_eq!(total, format!("{expected}{unit}"), "{samples}: {text}");
    }
    // Who calls a function.
    let sizes = folder.path().join("sizes.pb.gz");
    assert!(export("pprof", &sizes, &[]).status.success());
    let callers = printed_by_pprof(&sizes, &["-peek", "large_ones"]);
    let (caller, function) = callers.split_once("| large_ones").unwrap_or_else(|| panic!("{callers}"));
    assert!(caller.ends_with(char::is_whitespace) && caller.contains("100% |   main"), "{callers}{function}");
}

/// What `heaptrack_print` says of an export behind some words, up to the next space.
fn printed_by_heaptrack(out: &Path, options: &[&str]) -> String {
    let mut print = Command::new("heaptrack_print");
    let outcome = run({
        print.args(options).arg(out);
        print
    });
    assert!(outcome.status.success() && outcome.stderr.is_empty(), "{outcome:?}");
    outcome.stdout
}

#[test]
fn heaptrack_adds_up_what_the_report_says() {
    let recording = Target::new(program("peak.c")).record();
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let folder = scratch();
    let out = folder.path().join("peak.heaptrack.zst");
    let mut command = Command::new(memtoll());
    command.arg("export").arg(&recording.file).args(["--format", "heaptrack", "-o"]).arg(&out);
    let outcome = run(command);
    assert!(outcome.status.success() && outcome.stderr.contains("heaptrack: it has blocks"), "{outcome:?}");
    // The sizes of all blocks: bytes, how often.
    let histogram = folder.path().join("sizes");
    let text = printed_by_heaptrack(&out, &["--print-histogram", histogram.to_str().unwrap()]);
    let of = |key: &str| report["totals"][key].as_u64().unwrap();
    let after = |words: &str| {
        let rest = text.split_once(words).unwrap_or_else(|| panic!("{words}: {text}")).1;
        rest.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(after("calls to allocation functions:"), of("allocations").to_string());
    let sizes = std::fs::read_to_string(&histogram).unwrap();
    let rows =
        sizes.lines().map(|line| line.split('\t').map(|number| number.parse::<u64>().unwrap()).collect::<Vec<u64>>());
    assert_eq!(rows.map(|row| row[0] * row[1]).sum::<u64>(), of("bytes"), "{sizes}");
    assert_eq!(after("peak heap memory consumption:"), shown_by_heaptrack(of("peak_bytes")), "{text}");
    assert_eq!(after("total memory leaked:"), shown_by_heaptrack(of("live_bytes")), "{text}");
    assert!(text.contains("peak.c:"), "source files and lines: {text}");
    // Stacks from the allocation outwards, without what is folded away.
    let flames = folder.path().join("flames");
    printed_by_heaptrack(&out, &["--flamegraph-cost-type", "allocations", "-F", flames.to_str().unwrap()]);
    let flames = std::fs::read_to_string(&flames).unwrap();
    let sum: u64 = flames.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, of("allocations"), "{flames}");
    assert!(flames.lines().all(|line| line.starts_with("main")), "{flames}");
}

/// As heaptrack writes bytes: with two digits behind the point of a unit of 1,000.
fn shown_by_heaptrack(bytes: u64) -> String {
    let (mut shown, mut unit) = (bytes as f64, 0);
    while shown > 1000.0 && unit < 4 {
        (shown, unit) = (shown / 1000.0, unit + 1);
    }
    match unit {
        0 => format!("{bytes}B"),
        unit => format!("{shown:.2}{}", ["B", "K", "M", "G", "T"][unit]),
    }
}

#[test]
fn heaptrack_has_one_process() {
    let recording = Target::shell("expr 1 + 1; expr 2 + 2", &[]).record();
    let export = |more: &[&str]| {
        let mut command = Command::new(memtoll());
        command.arg("export").arg(&recording.file).args(["--format", "heaptrack", "-o", "-"]).args(more);
        run(command)
    };
    let all = export(&[]);
    assert_eq!(all.status.code(), Some(3), "{all:?}");
    assert!(all.stderr.contains("one process, and 3 count") && all.stderr.contains("--process"), "{all:?}");
    let one = export(&["--process", "sh"]);
    assert!(one.status.success(), "{one:?}");
}

#[test]
fn the_selection_is_that_of_the_report() {
    let folder = scratch();
    let out = folder.path().join("large.collapsed");
    let outcome = export("collapsed", &out, &["--min-size", "501", "--metric", "bytes"]);
    assert!(outcome.status.success(), "{outcome:?}");
    let text = std::fs::read_to_string(&out).unwrap();
    let sum: u64 = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 10 * 100_000, "{text}");
    let until = |to: &str| {
        let out = folder.path().join(format!("{to}.collapsed"));
        assert!(export("collapsed", &out, &["--from", "0s", "--to", to]).status.success());
        let text = std::fs::read_to_string(&out).unwrap();
        text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>()
    };
    let all = SIZES.report().totals.metrics.new_blocks;
    assert_eq!((until("0s"), until("3600s")), (0, all));
    let nothing = export("pprof", &folder.path().join("nothing"), &["--to", "0s", "--filter", "no_such_function"]);
    assert_eq!(nothing.status.code(), Some(3), "{nothing:?}");
    assert!(!folder.path().join("nothing").exists());
    let lacks = export("pprof", &folder.path().join("lifetime"), &["--metric", "lifetime"]);
    assert!(lacks.status.success() && lacks.stderr.contains("pprof: \"lifetime\" is left out"), "{lacks:?}");
}

/// The most memory that an export had at a time, bytes.
#[expect(clippy::zombie_processes, reason = "wait4 waits for it")]
fn peak_of_export(recording: &Path, format: &str) -> u64 {
    let mut command = Command::new(memtoll());
    command.arg("export").arg(recording).args(["--format", format, "-o", "-"]);
    let exporting = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // SAFETY: plain data, filled in by wait4.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: both pointers are valid, and nobody else waits for this child.
    let waited = unsafe { libc::wait4(exporting.id() as i32, &raw mut status, 0, &raw mut usage) };
    assert_eq!((waited, status), (exporting.id() as i32, 0), "{format}");
    usage.ru_maxrss as u64 * 1024
}

#[test]
fn call_paths_are_written_one_by_one() {
    // Thousands of paths of Python's interpreter. Rows of a table of them took nearly three times the memory.
    let script = "import json\nfor i in range(2000): json.loads(json.dumps({'a': [i, str(i)] * 10}))";
    let recording = Target::new("/usr/bin/python3").arg("-c").arg(script).record();
    let [collapsed, callgrind] = ["collapsed", "callgrind"].map(|format| peak_of_export(&recording.file, format));
    assert!(collapsed < callgrind * 3 / 2, "{collapsed} bytes, and {callgrind} for callgrind");
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let outcome = export("dhat", Path::new("/dev/null/nowhere"), &[]);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot write /dev/null/nowhere"), "{outcome:?}");
}
