//! Plain runs beside recorded ones: how often the program runs, what is kept of it, and that the figures are those of the
//! program.

use memtoll_e2e::{Outcome, Target, memtoll, program, read_report, run, scratch, skipped, without_perf};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The program, with a file that counts its runs.
struct Counted {
    folder: TempDir,
}

impl Counted {
    fn new() -> Counted {
        Counted { folder: scratch() }
    }

    fn runs_file(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("run.memtoll")
    }

    /// How often the program ran.
    fn runs(&self) -> usize {
        fs::read(self.runs_file()).map_or(0, |bytes| bytes.len())
    }

    fn record(&self, options: &[&str], arguments: &[&str]) -> Command {
        let target = Target::new(program("plain_runs.c")).args(arguments);
        let target = options.iter().fold(target, |target, option| target.option(option));
        let mut command = target.env("RUNS", self.runs_file()).record_command(&self.file());
        command.current_dir(self.folder.path());
        command
    }

    fn calibrate(&self, options: &[&str], words: &[&str]) -> Outcome {
        let mut command = Command::new(memtoll());
        command.arg("calibrate").args(options).arg(self.file());
        if !words.is_empty() {
            command.arg("--").arg(program("plain_runs.c")).args(words);
        }
        command.env("RUNS", self.runs_file()).current_dir(self.folder.path());
        run(command)
    }

    /// What the report says of plain runs.
    fn calibration(&self) -> Value {
        calibration(&self.file())
    }
}

fn calibration(file: &Path) -> Value {
    let mut command = Command::new(memtoll());
    command.arg("report").arg(file).args(["--format", "json"]);
    let json: Value = serde_json::from_str(&run(command).stdout).unwrap();
    json["calibration"].clone()
}

fn mean(figures: &Value, key: &str) -> f64 {
    figures[key]["mean"].as_f64().unwrap_or_else(|| panic!("no {key}: {figures:#}"))
}

const PARTS: [&str; 5] = ["allocator_ns", "fault_time_ns", "mapping_ns", "kernel_ns", "program_ns"];

/// That the parts are the whole, and each interval is around its mean.
fn adds_up(side: &Value) {
    let cpu = mean(side, "cpu_ns");
    assert!((mean(side, "user_ns") + mean(side, "system_ns") - cpu).abs() < 1.0, "{side:#}");
    let parts: f64 = PARTS.iter().filter(|key| !side[**key].is_null()).map(|key| mean(side, key)).sum();
    assert!(without_perf() || (parts - cpu).abs() < 1e-6 * cpu, "{parts} of {cpu}: {side:#}");
    for figure in side.as_object().unwrap().values() {
        let number = |key: &str| figure[key].as_f64().unwrap();
        assert!(number("low") <= number("mean") && number("mean") <= number("high"), "{figure}");
    }
}

#[test]
fn faults_are_those_of_the_plain_program() {
    let counted = Counted::new();
    let outcome = run(counted.record(&["--calibrate=3"], &["pages", "20000"]));
    assert!(outcome.status.success(), "{outcome:?}");
    // Once to warm up, three times plain, twice sampled, three times recorded; only the last run's output is seen.
    assert_eq!(counted.runs(), 9);
    assert_eq!(outcome.stdout, "this is run 9\n");
    let found = counted.calibration();
    let [plain, recorded] = [&found["plain"], &found["recorded"]];
    assert_eq!(
        (plain["wall_ns"]["runs"].as_u64(), recorded["wall_ns"]["runs"].as_u64()),
        (Some(3), Some(3)),
        "{found:#}"
    );
    // What the program itself touches, and what every program does: its own code and libc's.
    let faults = mean(plain, "minor_faults");
    assert!((20_000.0..20_200.0).contains(&faults), "{found:#}");
    assert!(plain["minor_faults"]["standard_error"].as_f64().unwrap() < 10.0, "{found:#}");
    assert!(mean(recorded, "minor_faults") > faults, "{found:#}");
    let resident = mean(plain, "resident_peak_bytes");
    assert!((20_000.0 * 4096.0..20_600.0 * 4096.0).contains(&resident), "{found:#}");
    adds_up(plain);
    let report = read_report(&counted.file(), &[]).stdout;
    assert!(report.contains("The program without the recorder"), "{report}");
    assert!(!report.contains("--calibrate") && !outcome.stderr.contains("--calibrate"), "{report}");
}

/// The balance is that of the plain program: its parts and the rest are its CPU time, and the allocator has its share of that.
#[test]
fn the_balance_is_the_plain_programs() {
    let counted = Counted::new();
    assert!(run(counted.record(&["--calibrate=2"], &["calls", "2000000"])).status.success());
    let mut command = Command::new(memtoll());
    command.arg("report").arg(counted.file()).args(["--format", "json"]);
    let json: Value = serde_json::from_str(&run(command).stdout).unwrap();
    let (totals, plain) = (&json["totals"], &json["calibration"]["plain"]);
    let number = |key: &str| totals[key].as_f64().unwrap_or_else(|| panic!("no {key}: {totals:#}"));
    let cpu = mean(plain, "cpu_ns");
    assert!((number("cpu_ns") - cpu).abs() <= 1.0 && number("recorder_ns") == 0.0, "{totals:#}");
    let parts = ["allocator_ns", "fault_time_ns", "mapping_ns", "other_fault_time_ns", "rest_ns"].map(number);
    assert!((parts.iter().sum::<f64>() - cpu).abs() < 10.0, "{parts:?} of {cpu}");
    if without_perf() {
        return skipped("the allocator's time is not checked, as announced by MEMTOLL_WITHOUT_PERF");
    }
    let allocator = mean(plain, "allocator_ns");
    assert!((number("allocator_ns") - allocator).abs() < 0.01 * allocator, "{allocator}: {totals:#}");
}

/// The allocator's share, by what the program does.
fn share(what: &str, number: &str) -> f64 {
    let counted = Counted::new();
    let outcome = run(counted.record(&["--calibrate=2"], &[what, number]));
    assert!(outcome.status.success(), "{outcome:?}");
    let found = counted.calibration();
    adds_up(&found["plain"]);
    mean(&found["plain"], "allocator_ns") / mean(&found["plain"], "cpu_ns")
}

#[test]
fn time_is_the_allocators_or_the_programs() {
    if without_perf() {
        let counted = Counted::new();
        run(counted.record(&["--calibrate=2"], &["calls", "1000"]));
        assert!(counted.calibration()["refused"].is_string(), "{:#}", counted.calibration());
        return skipped("shares are not checked, as announced by MEMTOLL_WITHOUT_PERF");
    }
    let (calls, compute) = (share("calls", "5000000"), share("compute", "50000000"));
    assert!(calls > 0.6 && compute < 0.05, "{calls}, {compute}");
}

#[test]
fn each_run_reads_the_same_input() {
    let counted = Counted::new();
    let input = counted.folder.path().join("input");
    fs::write(&input, "first line\n1234567890").unwrap();
    // The shell reads the first line; the program's input begins behind it.
    let mut command = Command::new("sh");
    command.args(["-c", "read -r line; exec \"$@\"", "sh"]).arg(memtoll()).args(["record", "--calibrate=2", "-o"]);
    command.arg(counted.file()).arg("--").arg(program("plain_runs.c")).arg("input").env("RUNS", counted.runs_file());
    let output = command.stdin(File::open(&input).unwrap()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "input 10\nthis is run 7\n", "{output:?}");
    assert!(counted.calibration().is_object());
}

#[test]
fn a_pipe_cannot_be_read_again() {
    let counted = Counted::new();
    for (arguments, code) in
        [(vec!["record", "--calibrate", "-o", "x.memtoll"], 125), (vec!["calibrate", "x.memtoll"], 1)]
    {
        if arguments[0] == "calibrate" {
            assert!(run(counted.record(&[], &[])).status.success());
            fs::rename(counted.file(), counted.folder.path().join("x.memtoll")).unwrap();
        }
        let before = counted.runs();
        let mut command = Command::new(memtoll());
        command.args(arguments).arg("--").arg(program("plain_runs.c")).env("RUNS", counted.runs_file());
        let child = command.current_dir(counted.folder.path()).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let output = child.unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("a pipe, which can be read only once") && said.contains("< FILE"), "{said}");
        assert_eq!(counted.runs(), before);
        assert!(said.lines().count() == 1, "{said}");
    }
}

#[test]
fn a_program_that_ends_otherwise_is_recorded_all_the_same() {
    let counted = Counted::new();
    let outcome = run(counted.record(&["--calibrate=2"], &["fail later"]));
    assert_eq!(outcome.status.code(), Some(3), "{outcome:?}");
    let said = &outcome.stderr;
    assert!(said.contains("not calibrated: ") && said.contains("one ended with exit code 0"), "{said}");
    assert!(counted.calibration().is_null());
}

#[test]
fn the_exit_code_is_the_programs() {
    let counted = Counted::new();
    let outcome = run(counted.record(&["--calibrate=2", "--quiet"], &["exit", "7"]));
    assert_eq!(outcome.status.code(), Some(7), "{outcome:?}");
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("this is run 7\n", ""));
    assert!(counted.calibration().is_object());
    let missing = run({
        let mut command = Command::new(memtoll());
        command.args(["record", "--calibrate", "--", "/no/such/program"]);
        command
    });
    assert_eq!(missing.status.code(), Some(127), "{missing:?}");
}

#[test]
fn a_recording_is_calibrated_later() {
    let counted = Counted::new();
    let outcome = run(counted.record(&[], &["pages", "100"]));
    assert!(outcome.status.success(), "{outcome:?}");
    let report = read_report(&counted.file(), &[]).stdout;
    assert_eq!(report.matches("--calibrate").count(), 1, "{report}");
    assert!(counted.calibration().is_null());
    let file_before = fs::read_dir(counted.folder.path()).unwrap().count();

    let outcome = counted.calibrate(&["--runs", "2"], &[]);
    assert!(outcome.status.success() && outcome.stdout.is_empty(), "{outcome:?}");
    assert_eq!(counted.runs(), 1 + 7);
    let first = mean(&counted.calibration()["plain"], "minor_faults");
    // Another command line takes the place of the first.
    let outcome = counted.calibrate(&["--runs", "3"], &["pages", "5100"]);
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(counted.runs(), 8 + 9);
    let found = counted.calibration();
    assert_eq!(found["plain"]["cpu_ns"]["runs"], 3);
    let more = mean(&found["plain"], "minor_faults") - first;
    assert!((4_990.0..5_010.0).contains(&more), "{more}");
    assert_eq!(fs::read_dir(counted.folder.path()).unwrap().count(), file_before, "files are left behind");

    let mut report = Command::new(memtoll());
    report.arg("report").arg(counted.file());
    let text = run(report).stdout;
    assert!(text.contains("The program without the recorder") && !text.contains("incomplete"), "{text}");
}

#[test]
fn what_cannot_be_calibrated_is_left_as_it_is() {
    let counted = Counted::new();
    let refused = |words: &[&str], code: i32, why: &str| {
        let before = fs::read(counted.file()).ok();
        let outcome = counted.calibrate(&["--runs", "2"], words);
        assert_eq!(outcome.status.code(), Some(code), "{outcome:?}");
        assert!(outcome.stderr.contains(why), "{why}: {}", outcome.stderr);
        assert_eq!(fs::read(counted.file()).ok(), before);
    };
    refused(&[], 2, "cannot read");
    assert!(run(counted.record(&[], &[])).status.success());
    fs::remove_file(counted.runs_file()).unwrap();
    refused(&["fail later"], 1, "it was there before");
}
