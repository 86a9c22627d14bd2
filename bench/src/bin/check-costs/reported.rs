//! What reports say of a time, beside what is true of it.

use memtoll_bench::run::median;
use serde_json::Value;

/// A time in a report, with its interval. ms.
#[derive(Clone, Copy, Debug)]
pub struct ReportedTime {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// A time by another account, and how far that may be off itself in 95 of 100 cases. ms.
#[derive(Clone, Copy, Debug)]
pub struct TrueTime {
    pub value: f64,
    pub error: f64,
}

/// What several recordings say of one time.
#[derive(Debug)]
pub struct Compared {
    pub truth: TrueTime,
    pub reported: Vec<ReportedTime>,
}

/// Of a normal distribution, what holds 95 of 100 cases.
const SIGMAS: f64 = 1.96;

/// Sum of squares around the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

impl ReportedTime {
    /// `kind` of the totals has the interval of the time called `name`.
    pub fn of(report: &Value, name: &str, kind: &str) -> ReportedTime {
        let totals = &report["totals"];
        let ms = |of: &Value| of.as_f64().map_or(f64::NAN, |ns| ns / 1e6);
        let interval = &totals[kind][name];
        ReportedTime { value: ms(&totals[name]), low: ms(&interval["low"]), high: ms(&interval["high"]) }
    }

    /// Divided by a number.
    pub fn over(self, number: f64) -> ReportedTime {
        ReportedTime { value: self.value / number, low: self.low / number, high: self.high / number }
    }

    /// How far it is from the truth, in units of what both errors together allow: 1 at most in 95 of 100 cases.
    fn miss(&self, truth: TrueTime) -> f64 {
        let own = if truth.value < self.value { self.value - self.low } else { self.high - self.value };
        (truth.value - self.value).abs() / own.hypot(truth.error).max(1e-9)
    }
}

impl TrueTime {
    /// The median of all runs, for what one round says: so it errs like the mean of a round.
    pub fn of_rounds(runs: &[f64], in_a_round: usize) -> TrueTime {
        let rounds = || runs.chunks(in_a_round);
        let squares: f64 = rounds().map(squares).sum();
        let free = rounds().map(|round| round.len() - 1).sum::<usize>().max(1);
        let variance = squares / free as f64;
        TrueTime { value: median(runs.iter().copied()), error: SIGMAS * (variance / in_a_round as f64).sqrt() }
    }

    /// Of a part of it, by shares of `samples`: a few that agree by chance are not certain.
    pub fn sampled(&self, runs: &[f64], samples: u64) -> TrueTime {
        let value = median(runs.iter().copied());
        let variance = squares(runs) / (runs.len() - 1).max(1) as f64;
        let share =
            (SIGMAS * (variance / runs.len() as f64).sqrt()).max(SIGMAS * value / (samples.max(1) as f64).sqrt());
        TrueTime { value, error: share.hypot(value * self.error / self.value.max(1e-9)) }
    }
}

impl Compared {
    /// The median of what they say.
    pub fn value(&self) -> f64 {
        median(self.reported.iter().map(|reported| reported.value))
    }

    /// How far that is from the truth, as a share of it.
    pub fn apart(&self) -> f64 {
        (self.value() - self.truth.value) / self.truth.value.max(1e-9)
    }

    /// How many of the intervals hold the truth, within its own error.
    pub fn held(&self) -> usize {
        self.reported.iter().filter(|reported| reported.miss(self.truth) <= 1.0).count()
    }

    /// The same in words; nothing where there is too little to compare.
    fn percent(&self) -> String {
        const LITTLE: f64 = 0.5;
        if self.truth.value < LITTLE { String::new() } else { format!("{:+.0} %", self.apart() * 100.0) }
    }

    /// `17.7 ms (12.6, +41 %; held by 4 of 5)`
    pub fn text(&self) -> String {
        let percent = self.percent();
        format!(
            "{:.1} ms ({:.1}{}{percent}; held by {} of {})",
            self.value(),
            self.truth.value,
            if percent.is_empty() { "" } else { ", " },
            self.held(),
            self.reported.len()
        )
    }

    /// Cells of a Markdown table: what is reported, how far that is off, how many hold the truth.
    pub fn cells(&self) -> [String; 3] {
        [format!("{:.1}", self.value()), self.percent(), format!("{}/{}", self.held(), self.reported.len())]
    }
}
