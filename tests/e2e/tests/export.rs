//! `memtoll export`: files that other programs read, with the sums of the report.

use memtoll_e2e::{Outcome, Recording, Target, memtoll, program, run, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// `sizes.c`: 300 blocks of 8 bytes, 100 of 500, 10 of 100,000; the last ones stay live.
static SIZES: LazyLock<Recording> = LazyLock::new(|| Target::new(program("sizes.c")).record());
const ALLOCATIONS: u64 = 410;
const BYTES: u64 = 300 * 8 + 100 * 500 + 10 * 100_000;

fn export(format: &str, out: &Path, options: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.arg("export").arg(&SIZES.file).args(["--to", format, "-o"]).arg(out).args(options);
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
    command.arg("export").arg(&file).args(["--to", "speedscope"]);
    let outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
    let text = std::fs::read_to_string(folder.path().join("my.speedscope.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["profiles"][0]["endValue"], ALLOCATIONS);
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

#[test]
fn the_selection_is_that_of_the_report() {
    let folder = scratch();
    let out = folder.path().join("large.collapsed");
    let outcome = export("collapsed", &out, &["--min-size", "501", "--metric", "bytes"]);
    assert!(outcome.status.success(), "{outcome:?}");
    let text = std::fs::read_to_string(&out).unwrap();
    let sum: u64 = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 10 * 100_000, "{text}");
    let nothing = export("pprof", &folder.path().join("nothing"), &["--until", "0s", "--filter", "no_such_function"]);
    assert_eq!(nothing.status.code(), Some(1), "{nothing:?}");
    assert!(!folder.path().join("nothing").exists());
    let lacks = export("pprof", &folder.path().join("lifetime"), &["--metric", "lifetime"]);
    assert!(lacks.status.success() && lacks.stderr.contains("pprof: \"lifetime\" is left out"), "{lacks:?}");
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let outcome = export("dhat", Path::new("/dev/null/nowhere"), &[]);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot write /dev/null/nowhere"), "{outcome:?}");
}
