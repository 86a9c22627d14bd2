//! What each test takes, and which limits it keeps: text, JSON, JUnit.

use crate::budget::{Budget, Entry};
use crate::json::JsonLimit;
use crate::measured::{Measured, fits};
use crate::text::{self, sentence};
use crate::verdict::{Judged, Verdict, judge, overall};
use comfy_table::{CellAlignment, Table, presets};
use memtoll_text::format;
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
use std::fmt::Write;

/// What a test takes, run alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Taken {
    /// Allocations and reallocations.
    pub allocations: u64,
    /// Bytes that they ask for.
    pub bytes: u64,
    /// Bytes live at the peak.
    pub peak_bytes: u64,
    /// Page faults.
    pub faults: u64,
    /// What memory costs, ns.
    pub cost_ns: u64,
}

/// A test that ran.
pub struct Tested {
    pub name: String,
    /// What it takes; nothing if there is no recording.
    pub taken: Option<Taken>,
    /// How it failed, if it did: its figures are those of the failure.
    pub failed: Option<String>,
    /// Whether it reported that it was skipped: then nothing is held against its limits.
    pub skipped: bool,
    pub limits: Vec<Judged>,
}

impl Tested {
    /// A test with its recording, held against the limits that its name fits.
    pub fn new(name: String, measured: &[Measured], failed: Option<String>, budget: &Budget) -> Tested {
        let is_meant = |entry: &&Entry| fits(&entry.scope.name, &name);
        let entries = budget.entries.iter().filter(is_meant).cloned().collect();
        let limits = judge(&Budget { baseline: Vec::new(), entries }, measured, &[]);
        let taken = measured.first().map(|measured| {
            let total = &measured.sums.total;
            Taken {
                allocations: total.allocations(),
                bytes: total.bytes.0,
                peak_bytes: total.peak_bytes.0,
                faults: total.faults(),
                cost_ns: total.cost_ns().0,
            }
        });
        Tested { name, taken, failed, skipped: false, limits }
    }

    pub fn skipped(name: String) -> Tested {
        Tested { name, taken: None, failed: None, skipped: true, limits: Vec::new() }
    }

    /// The verdict on it: that of its limits; of a test that failed, it is unknown.
    pub fn verdict(&self) -> Verdict {
        match (overall(&self.limits), &self.failed) {
            (Verdict::Kept, Some(_)) => Verdict::Unknown,
            (verdict, _) => verdict,
        }
    }
}

/// All tests.
pub struct Suite {
    /// The tests, in the order of the program.
    pub tests: Vec<Tested>,
    /// Limits whose pattern fits no test.
    pub unused: Vec<Entry>,
    /// What the budget is called.
    pub budget: String,
}

impl Suite {
    /// The verdict on all.
    pub fn verdict(&self) -> Verdict {
        let has = |verdict| self.tests.iter().any(|test| test.verdict() == verdict);
        match () {
            () if has(Verdict::Broken) => Verdict::Broken,
            () if has(Verdict::Unknown) || !self.unused.is_empty() => Verdict::Unknown,
            () => Verdict::Kept,
        }
    }

    /// The tests that allocate most, the worst first.
    fn worst(&self, most: usize) -> Vec<(&Tested, Taken)> {
        let mut all: Vec<(&Tested, Taken)> = self.tests.iter().filter_map(|test| Some((test, test.taken?))).collect();
        all.sort_by(|(a, of), (b, than)| than.allocations.cmp(&of.allocations).then_with(|| a.name.cmp(&b.name)));
        all.truncate(most);
        all
    }

    /// For a terminal: the worst tests, and the limits that are broken. `kept` shows those that are kept, too.
    pub fn text(&self, most: usize, kept: bool, width: Option<usize>) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["allocations", "bytes", "peak", "faults", "cost", "test"]);
        for (test, taken) in self.worst(most) {
            table.add_row([
                format::count(taken.allocations),
                format::bytes(taken.bytes),
                format::bytes(taken.peak_bytes),
                format::count(taken.faults),
                format::seconds(taken.cost_ns as f64 / 1e9),
                test.name.clone(),
            ]);
        }
        for column in table.column_iter_mut().take(5) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let number = self.tests.len();
        let mut shown = match number > most {
            true => format!("The {most} of {number} tests that allocate most, each run alone\n\n{table}\n\n"),
            false => format!("{}, each run alone\n\n{table}\n\n", format::counted(number as u64, "test")),
        };
        for test in &self.tests {
            if let Some(failed) = &test.failed {
                let _ = writeln!(shown, "{}: the test fails: {failed}", test.name);
            }
            if kept || !matches!(overall(&test.limits), Verdict::Kept) {
                let _ = writeln!(shown, "{}", test.name);
                shown += &text::verdicts(&test.limits, &self.budget, kept, width);
            }
        }
        let skipped: Vec<&str> = self.tests.iter().filter(|test| test.skipped).map(|test| test.name.as_str()).collect();
        if !skipped.is_empty() {
            let number = format::counted(skipped.len() as u64, "test");
            let _ = writeln!(shown, "{number} skipped: {}", skipped.join(", "));
        }
        for entry in &self.unused {
            let _ = writeln!(shown, "{}:{}: no test has a name like \"{}\"", self.budget, entry.line, entry.scope.name);
        }
        if self.tests.iter().any(|test| !test.limits.is_empty()) {
            let _ = writeln!(shown, "{}", text::summary(self.tests.iter().flat_map(|test| &test.limits)));
        }
        shown
    }

    /// For programs: docs/ci.md describes it.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let test = |test: &Tested| {
            serde_json::json!({
                "name": test.name,
                "verdict": test.verdict(),
                "failed": test.failed,
                "skipped": test.skipped,
                "taken": test.taken,
                "limits": test.limits.iter().map(JsonLimit::of).collect::<Vec<_>>(),
            })
        };
        let unused: Vec<&str> = self.unused.iter().map(|entry| entry.scope.name.as_str()).collect();
        let tests: Vec<serde_json::Value> = self.tests.iter().map(test).collect();
        let all = serde_json::json!({"verdict": self.verdict(), "tests": tests, "unused": unused});
        Ok(serde_json::to_string_pretty(&all)? + "\n")
    }

    /// For CI servers: a test case for each test.
    pub fn junit(&self) -> Result<String, SerializeError> {
        let mut suite = TestSuite::new(&self.budget);
        for test in &self.tests {
            let said: Vec<String> = test.limits.iter().map(sentence).collect();
            let broken = test.limits.iter().filter(|judged| judged.verdict == overall(&test.limits)).map(sentence);
            let mut status = match test.verdict() {
                _ if test.skipped => TestCaseStatus::skipped(),
                Verdict::Kept | Verdict::WithinNoise => TestCaseStatus::success(),
                Verdict::Broken => TestCaseStatus::non_success(NonSuccessKind::Failure),
                Verdict::Unknown => TestCaseStatus::non_success(NonSuccessKind::Error),
            };
            if !matches!(test.verdict(), Verdict::Kept | Verdict::WithinNoise) {
                let broken: Vec<String> = test.failed.iter().cloned().chain(broken).collect();
                status.set_message(broken.join("; ")).set_type("memory budget").set_description(said.join("\n"));
            }
            let mut case = TestCase::new(&test.name, status);
            if let Some(taken) = &test.taken {
                case.set_system_out(format!(
                    "{}, {}, {} at the peak",
                    format::counted(taken.allocations, "allocation"),
                    format::bytes(taken.bytes),
                    format::bytes(taken.peak_bytes)
                ));
            }
            suite.add_test_case(case);
        }
        let mut report = Report::new("memtoll check --each-test");
        report.add_test_suite(suite);
        report.to_string()
    }
}
