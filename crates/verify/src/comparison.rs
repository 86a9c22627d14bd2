//! `memtoll verify`: before against after.

use crate::Error;
use crate::interval::Interval;
use crate::metric::Metric;
use crate::prediction::{Prediction, Verdict};
use crate::trial::{Contestant, Manner, Trial};
use memtoll_text::Quantity;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// How well a saving has to be known.
#[derive(Clone, Debug)]
pub struct Aim {
    /// Measure at least this many rounds and at most.
    pub rounds: RangeInclusive<usize>,
    /// No new round begins after this time, once there are the least.
    pub time: Duration,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Enough is known when the error is at most this share of what the first side takes …
    pub share_of_run: f64,
    /// … or this share of the saving.
    pub share_of_saving: f64,
    /// The figure that decides.
    pub metric: Metric,
}

impl Default for Aim {
    fn default() -> Aim {
        Aim {
            rounds: 10..=100,
            time: Duration::from_secs(120),
            confidence: 0.95,
            share_of_run: 0.01,
            share_of_saving: 0.1,
            metric: Metric::Cpu,
        }
    }
}

impl Aim {
    /// Whether a saving, of a run that takes `whole`, is known well enough.
    pub(crate) fn is_reached(&self, saved: &Interval, whole: f64) -> bool {
        saved.error() <= self.share_of_run * whole || saved.error() <= self.share_of_saving * saved.median.abs()
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Rounds that are done.
    pub rounds: usize,
    /// The error of the saving, as a share of what the first side takes; `None` before it is known.
    pub error: Option<f64>,
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which.
    pub metric: Metric,
    /// What each side takes; `None` where that is not known.
    pub before: Option<Interval>,
    /// The same of the other side.
    pub after: Option<Interval>,
    /// The median of the rounds' differences.
    pub saved: Option<Interval>,
    /// What was promised, and whether it came true.
    pub predicted: Option<(Prediction, Verdict)>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What the sides ran.
    pub commands: [String; 2],
    /// The figures.
    pub rows: Vec<Row>,
    pub rounds: usize,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Why the saving is not known as well as it was to be; `None` if it is.
    pub noisy: Option<String>,
    /// Whether the outputs were compared, and were the same.
    pub same_output: bool,
}

impl Comparison {
    /// What became of all predictions that can be measured here; `None` without predictions.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdicts = || self.rows.iter().filter_map(|row| row.predicted.as_ref()).map(|(_, verdict)| *verdict);
        // What is found first counts for all.
        [Verdict::Outside, Verdict::CannotSay, Verdict::Inside, Verdict::NotMeasured]
            .into_iter()
            .find(|one| verdicts().any(|verdict| verdict == *one))
    }
}

/// Runs both sides until the saving is known.
pub fn compare(
    sides: &[Contestant; 2],
    manner: &Manner,
    aim: &Aim,
    warm_up: usize,
    predictions: &[Prediction],
    mut progress: impl FnMut(Progress),
) -> Result<Comparison, Error> {
    let mut trial = Trial::new(sides, manner)?;
    for _ in 0..warm_up {
        trial.warm_up(0)?;
        trial.warm_up(1)?;
    }
    let began = Instant::now();
    let mut look_at = *aim.rounds.start();
    let noisy = loop {
        trial.round(|_| true)?;
        let rounds = trial.rounds();
        let is_last = rounds >= *aim.rounds.end() || began.elapsed() >= aim.time;
        // Who looks after every round finds an interval that is narrow by chance: each look comes after half as many more.
        if rounds < look_at && !(is_last && rounds >= *aim.rounds.start()) {
            progress(Progress { rounds, error: None });
            continue;
        }
        look_at = rounds + rounds.div_ceil(2);
        let (Some(saved), Some(whole)) =
            (trial.saved(1, aim.metric, aim.confidence), trial.taken(0, aim.metric, aim.confidence))
        else {
            break Some(format!("{} is not known", aim.metric.title()));
        };
        progress(Progress { rounds, error: Some(saved.error() / whole.median) });
        if aim.is_reached(&saved, whole.median) {
            break None;
        }
        if is_last {
            break Some(format!(
                "after {rounds} rounds, the saving in {} is known to ± {}, {} of the run; more rounds or a quieter \
                 machine would tell more",
                aim.metric.title(),
                aim.metric.show(saved.error()),
                memtoll_text::format::Unit::Share.show(saved.error() / whole.median)
            ));
        }
    };
    let row = |metric: Metric| {
        let saved = trial.saved(1, metric, aim.confidence);
        let before = trial.taken(0, metric, aim.confidence);
        let prediction = predictions.iter().find(|prediction| prediction.metric == metric).copied();
        Row {
            metric,
            before,
            after: trial.taken(1, metric, aim.confidence),
            predicted: prediction.map(|prediction| (prediction, prediction.judge(saved.as_ref(), before.as_ref()))),
            saved,
        }
    };
    Ok(Comparison {
        commands: [&sides[0], &sides[1]].map(|side| side.command.shown().to_owned()),
        rows: Metric::ALL.map(row).into(),
        rounds: trial.rounds(),
        confidence: aim.confidence,
        noisy,
        same_output: manner.same_output,
    })
}
