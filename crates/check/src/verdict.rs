//! Whether limits are kept.
//!
//! Calls and bytes are counted to the last one, so one recording is enough and nothing is rounded in anybody's favour.
//! Times and page faults differ from run to run: a limit on them is broken only if the excess is more than runs of the
//! same program show. Several recordings tell how much that is; of one, [`single`] says what a single run resolves.

use crate::blame::{Line, blame};
use crate::budget::{Budget, Entry, What};
use crate::limit::Limit;
use crate::measured::Measured;
use crate::metric::Steadiness;
use crate::unknown::Unknown;
use memtoll_advise::RuleId;
use memtoll_analysis::diff::{CONFIDENCE, single};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::student_t;
use memtoll_text::format::Unit;

/// What became of a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Kept,
    /// The value is above the limit, but no more than runs of the same program differ: it counts as kept.
    WithinNoise,
    Broken,
    /// The limit could not be checked.
    Unknown,
}

/// A limit with its verdict.
pub struct Judged {
    /// The limit.
    pub entry: Entry,
    /// What became of it.
    pub verdict: Verdict,
    /// What was measured, with the interval that counts.
    pub measured: Option<Estimate>,
    /// What is allowed; uncertain where the baseline is.
    pub allowed: Option<Estimate>,
    pub baseline: Option<Estimate>,
    /// Why it could not be checked, or what a reader needs to judge it.
    pub note: Option<String>,
    /// Of a broken limit: the lines that have most of it, or that have more than in the baseline.
    pub lines: Vec<Line>,
}

impl Judged {
    /// Of which nothing is known yet.
    fn unknown(entry: &Entry) -> Judged {
        Judged {
            entry: entry.clone(),
            verdict: Verdict::Unknown,
            measured: None,
            allowed: None,
            baseline: None,
            note: None,
            lines: Vec::new(),
        }
    }
}

impl Entry {
    /// What its values are counted in.
    pub fn unit(&self) -> Unit {
        match self.what {
            What::Metric(metric) => metric.unit(),
            What::Findings => Unit::Count,
        }
    }

    /// What is limited, for people.
    pub fn name(&self) -> String {
        match (self.what, self.rule) {
            (What::Metric(metric), _) => metric.name().to_owned(),
            (What::Findings, Some(rule)) => format!("findings of {rule}"),
            (What::Findings, None) => "findings".to_owned(),
        }
    }

    /// What is limited, for machines: `run.peak`, `region.frame.allocations`.
    pub fn key(&self) -> String {
        let what = match (self.what, self.rule) {
            (What::Metric(metric), _) => metric.key().to_owned(),
            (What::Findings, Some(rule)) => format!("findings.{rule}"),
            (What::Findings, None) => "findings".to_owned(),
        };
        match self.scope.name.as_str() {
            "" => format!("{}.{what}", self.scope.kind.key()),
            name => format!("{}.{name}.{what}", self.scope.kind.key()),
        }
    }

    /// Whether it limits findings of this rule.
    pub fn is_about(&self, rule: RuleId) -> bool {
        self.rule.is_none_or(|meant| meant == rule)
    }

    fn steadiness(&self) -> Steadiness {
        match self.what {
            What::Metric(metric) => metric.steadiness(),
            What::Findings => Steadiness::Counted,
        }
    }
}

/// Holds recordings of a program against a budget. `baseline` may be empty; neither side's recordings differ in anything but
/// chance.
pub fn judge(budget: &Budget, measured: &[Measured], baseline: &[Measured]) -> Vec<Judged> {
    budget.entries.iter().map(|entry| judge_one(entry, measured, baseline)).collect()
}

fn judge_one(entry: &Entry, measured: &[Measured], baseline: &[Measured]) -> Judged {
    let mut judged = Judged::unknown(entry);
    if let Err(why) = compare(&mut judged, measured, baseline) {
        judged.verdict = Verdict::Unknown;
        judged.note = Some(why.to_string());
    }
    if judged.verdict == Verdict::Broken {
        judged.lines = blame(entry, measured, baseline);
    }
    judged
}

fn compare(judged: &mut Judged, measured: &[Measured], baseline: &[Measured]) -> Result<(), Unknown> {
    let entry = judged.entry.clone();
    let (now, note) = of_runs(&entry, measured)?;
    (judged.measured, judged.note) = (Some(now), note);
    if !baseline.is_empty() {
        match of_runs(&entry, baseline) {
            Ok((before, _)) => judged.baseline = Some(before),
            Err(why) if entry.limit.is_relative() => return Err(Unknown::Baseline(Box::new(why))),
            Err(_) => {}
        }
    }
    decide(judged, now)?;
    // What is missing may be anything; what is there and too much stays too much.
    let damaged = measured.iter().chain(baseline).find_map(Measured::damage);
    match damaged {
        Some(what) if judged.verdict != Verdict::Broken => Err(Unknown::Damaged(what.clone())),
        _ => Ok(()),
    }
}

/// Sets what is allowed, and whether `now` keeps to it.
fn decide(judged: &mut Judged, now: Estimate) -> Result<(), Unknown> {
    let before = || judged.baseline.ok_or(Unknown::NoBaseline);
    let allowed = match judged.entry.limit {
        Limit::AtMost(value) => Estimate::exact(value),
        Limit::ShareMore(share) => before()?.scaled(1.0 + share),
        Limit::More(more) => before()?.plus(Estimate::exact(more)),
    };
    judged.allowed = Some(allowed);
    let excess = now.minus(allowed);
    judged.verdict = match () {
        () if excess.low > 0.0 => Verdict::Broken,
        () if excess.value > 0.0 => Verdict::WithinNoise,
        () => Verdict::Kept,
    };
    Ok(())
}

/// Holds values against a limit that were added up elsewhere.
pub fn judge_values(
    entry: &Entry,
    now: Result<Estimate, Unknown>,
    baseline: Option<Result<Estimate, Unknown>>,
) -> Judged {
    let mut judged = Judged::unknown(entry);
    let decided = now.and_then(|now| {
        judged.measured = Some(now);
        match baseline {
            Some(Ok(before)) => judged.baseline = Some(before),
            Some(Err(why)) if entry.limit.is_relative() => return Err(Unknown::Baseline(Box::new(why))),
            _ => {}
        }
        decide(&mut judged, now)
    });
    if let Err(why) = decided {
        (judged.verdict, judged.note) = (Verdict::Unknown, Some(why.to_string()));
    }
    judged
}

/// What a single run's value resolves.
pub fn of_one_run(entry: &Entry, value: f64) -> Estimate {
    together(&[Estimate::exact(value)], entry.steadiness())
}

/// The value in some runs of the same program, with the interval in which its mean lies.
fn of_runs(entry: &Entry, runs: &[Measured]) -> Result<(Estimate, Option<String>), Unknown> {
    let mut values = Vec::with_capacity(runs.len());
    let mut note = None;
    for run in runs {
        let value = run.value(entry).map_err(|why| match runs {
            [_] => why,
            _ => Unknown::OfRun { run: run.name.clone(), why: Box::new(why) },
        })?;
        note = value.note.or(note);
        values.push(value.estimate);
    }
    Ok((together(&values, entry.steadiness()), note))
}

fn together(values: &[Estimate], steadiness: Steadiness) -> Estimate {
    if let [one] = values {
        return one.give_or_take(match steadiness {
            Steadiness::Counted => 0.0,
            Steadiness::Faults => (single::FAULTS.0 * one.value).max(single::FAULTS.1).min(one.value),
            Steadiness::Timed => single::COST.0 * one.value,
        });
    }
    let number = values.len().max(1) as f64;
    let mean = |of: fn(&Estimate) -> f64| values.iter().map(of).sum::<f64>() / number;
    let value = mean(|one| one.value);
    // Errors of one recorder are alike in all runs; that runs differ comes on top.
    let own = Estimate {
        value,
        low: value - mean(|one| one.value - one.low),
        high: value + mean(|one| one.high - one.value),
    };
    let variance = values.iter().map(|one| (one.value - value).powi(2)).sum::<f64>() / (number - 1.0) / number;
    own.give_or_take(
        student_t::errors(number - 1.0, CONFIDENCE).map_or(f64::INFINITY, |errors| errors * variance.sqrt()),
    )
}

/// The verdict on all limits: broken if one is, else unknown if one is.
pub fn overall(all: &[Judged]) -> Verdict {
    let has = |verdict| all.iter().any(|judged| judged.verdict == verdict);
    match () {
        () if has(Verdict::Broken) => Verdict::Broken,
        () if has(Verdict::Unknown) => Verdict::Unknown,
        () => Verdict::Kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_one_run_are_exact_and_times_are_not() {
        let one = [Estimate::exact(100.0)];
        assert_eq!(together(&one, Steadiness::Counted), one[0]);
        let time = together(&one, Steadiness::Timed);
        assert_eq!((time.low, time.high), (75.0, 125.0));
        // Ten faults come and go.
        assert_eq!(together(&one, Steadiness::Faults).low, 90.0);
        assert_eq!(together(&[Estimate::exact(0.0)], Steadiness::Faults).high, 0.0);
    }

    #[test]
    fn several_runs_tell_how_much_they_differ() {
        let runs: Vec<Estimate> = [98.0, 100.0, 102.0].map(Estimate::exact).to_vec();
        let mean = together(&runs, Steadiness::Timed);
        // Student's t of two degrees of freedom is 4.303, the standard error 2 / sqrt(3).
        assert!((mean.margin() - 4.303 * 2.0 / 3f64.sqrt()).abs() < 0.01, "{mean:?}");
        let same = together(&[Estimate::exact(5.0); 3], Steadiness::Counted);
        assert_eq!(same.margin(), 0.0);
    }
}
