//! Which views of a recording are worth looking at next, told from its findings.

use memtoll_analysis::findings::{Finding, What};
use memtoll_analysis::sums::Sums;
use memtoll_model::Recording;
use memtoll_trace::meta::MarkKind;

/// Options of `memtoll report`, the most useful first; one or two.
pub fn options(recording: &Recording, sums: &Sums, findings: &[Finding]) -> Vec<&'static str> {
    const MOST: usize = 2;
    let of_finding = |finding: &Finding| match &finding.what {
        What::CostlyLine(line) if !line.touched_by.is_empty() => "--paid",
        What::CostlyLine(_) => "--callers --sort cost",
        What::CheapMemory(_) => "--tree",
        What::Waiting(_) => "--lanes",
        What::TakenAgain(_) => "--sort mapping",
        What::HardlyTouched(_) => "--sort peak",
        What::Churn(_) => "--sort temporary",
        What::HoldsPeak(_) => "--callers --sort peak",
        What::NeverFreed(_) => "--sort live",
        What::NullFrees(_) => "--tree",
    };
    let has_regions = recording.images.iter().flat_map(|image| &image.marks).any(|mark| mark.kind == MarkKind::End);
    let several = sums.are_of_several().then_some("--group process --sort cost");
    let first = findings.first().map(of_finding);
    let others = findings.iter().skip(1).map(of_finding);
    let all =
        first.into_iter().chain(has_regions.then_some("--regions")).chain(several).chain(others).chain(["--tree"]);
    let mut options: Vec<&str> = Vec::new();
    for option in all {
        if options.len() < MOST && !options.contains(&option) {
            options.push(option);
        }
    }
    options
}
