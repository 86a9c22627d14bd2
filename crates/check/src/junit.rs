//! Verdicts as JUnit's XML: a test case for each limit.

use crate::text::{line, sentence, summary, unit_of_lines};
use crate::verdict::{Judged, Verdict};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// A suite with the name of the budget.
pub fn render(all: &[Judged], budget: &str) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(budget);
    for judged in all {
        let what = sentence(judged);
        let mut status = match judged.verdict {
            Verdict::Kept | Verdict::WithinNoise => TestCaseStatus::success(),
            Verdict::Broken => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Verdict::Unknown => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        let lines: Vec<String> = judged.lines.iter().map(|one| line(unit_of_lines(judged), one)).collect();
        if judged.verdict != Verdict::Kept && judged.verdict != Verdict::WithinNoise {
            status.set_message(what.clone()).set_type("memory budget").set_description(format!(
                "{budget}:{}: {what}\n{}",
                judged.entry.line,
                lines.join("\n")
            ));
        }
        let mut case = TestCase::new(judged.entry.key(), status);
        case.set_classname(judged.entry.scope.shown());
        if matches!(judged.verdict, Verdict::Kept | Verdict::WithinNoise) {
            case.set_system_out(what);
        }
        suite.add_test_case(case);
    }
    suite.set_system_out(summary(all));
    let mut report = Report::new("memtoll check");
    report.add_test_suite(suite);
    report.to_string()
}
