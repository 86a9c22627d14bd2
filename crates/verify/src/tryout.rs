//! `memtoll try`: settings and allocators against the program as it is. Who cannot win any more drops out.

use crate::Error;
use crate::candidates::Candidate;
use crate::command::CommandLine;
use crate::comparison::{Aim, Progress};
use crate::interval::Interval;
use crate::metric::Metric;
use crate::trial::{Contestant, Manner, Trial};
use std::time::Instant;

/// The first look at who may still win, in rounds.
const FIRST_LOOK: usize = 5;

/// The name of the program as it is, beside the candidates'.
pub const PLAIN: &str = "as it is";

/// How a candidate did.
#[derive(Clone, Debug)]
pub struct Result {
    /// Which.
    pub candidate: Candidate,
    /// Rounds in which it took part.
    pub rounds: usize,
    /// What it saves, in the order of [`Metric::ALL`]; `None` where that is not known.
    pub saved: Vec<Option<Interval>>,
    /// Why it is not measured; `None` if it is.
    pub failed: Option<String>,
}

impl Result {
    fn saved(&self, metric: Metric) -> Option<&Interval> {
        self.saved[metric as usize].as_ref()
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Tryout {
    /// What was run.
    pub command: String,
    /// What the program takes as it is, in the order of [`Metric::ALL`].
    pub plain: Vec<Option<Interval>>,
    /// The candidates, the best first.
    pub results: Vec<Result>,
    /// The figure that decides.
    pub metric: Metric,
    /// Rounds of the program as it is.
    pub rounds: usize,
    /// Confidence of the intervals, of all candidates together.
    pub confidence: f64,
}

impl Tryout {
    /// The best candidate, if it is certain to save something.
    pub fn winner(&self) -> Option<&Result> {
        self.results.first().filter(|best| best.saved(self.metric).is_some_and(|saved| saved.low > 0.0))
    }
}

/// With many candidates, one seems to win by chance: each interval is wider, so that all hold together.
fn of_each(confidence: f64, candidates: usize) -> f64 {
    1.0 - (1.0 - confidence) / candidates.max(1) as f64
}

/// Runs a program as it is, and under each candidate.
pub fn try_out(
    command: &CommandLine,
    candidates: Vec<Candidate>,
    manner: &Manner,
    aim: &Aim,
    warm_up: usize,
    mut progress: impl FnMut(Progress),
) -> std::result::Result<Tryout, Error> {
    let plain = Contestant { name: PLAIN.to_owned(), command: command.clone() };
    let under = |candidate: &Candidate| Contestant { name: candidate.name.clone(), command: candidate.apply(command) };
    let contestants: Vec<Contestant> = std::iter::once(plain).chain(candidates.iter().map(under)).collect();
    let confidence = of_each(aim.confidence, candidates.len());
    let mut failed: Vec<Option<String>> = vec![None; contestants.len()];
    let mut trial = Trial::new(&contestants, manner)?;
    for _ in 0..warm_up.max(1) {
        trial.warm_up(0)?;
        for (index, failed) in failed.iter_mut().enumerate().skip(1).filter(|(_, failed)| failed.is_none()) {
            // A program need not work with another allocator.
            *failed = trial.warm_up(index).err().map(|error| error.to_string());
        }
    }
    let mut takes_part: Vec<bool> = failed.iter().map(Option::is_none).collect();
    let began = Instant::now();
    let mut look_at = FIRST_LOOK;
    loop {
        if !takes_part.iter().skip(1).any(|takes_part| *takes_part) {
            break; // no contestant can win
        }
        trial.round(|index| takes_part[index])?;
        let rounds = trial.rounds();
        let is_last = rounds >= *aim.rounds.end() || (began.elapsed() >= aim.time && rounds >= FIRST_LOOK);
        progress(Progress { rounds, error: None });
        if rounds >= look_at {
            look_at = rounds + rounds.div_ceil(2);
            drop_losers(&trial, &mut takes_part, aim.metric, confidence);
            if rounds >= *aim.rounds.start() && all_are_known(&trial, &takes_part, aim, confidence) {
                break;
            }
        }
        if is_last {
            break;
        }
    }
    let of = |index: usize| Metric::ALL.map(|metric| trial.saved(index, metric, confidence)).into();
    let mut results: Vec<Result> = candidates
        .into_iter()
        .enumerate()
        .map(|(index, candidate)| Result {
            candidate,
            rounds: trial.rounds_of(index + 1),
            saved: of(index + 1),
            failed: failed[index + 1].take(),
        })
        .collect();
    rank(&mut results, aim.metric);
    Ok(Tryout {
        command: command.shown().to_owned(),
        plain: Metric::ALL.map(|metric| trial.taken(0, metric, aim.confidence)).into(),
        results,
        metric: aim.metric,
        rounds: trial.rounds(),
        confidence: aim.confidence,
    })
}

/// Puts the best first: what is certain to save most. Of those that may be as good, the one that stands first among the
/// candidates, which is the simplest.
fn rank(results: &mut Vec<Result>, metric: Metric) {
    let certain = |result: &Result| result.saved(metric).map_or(f64::MIN, |saved| saved.low);
    let most = results.iter().map(certain).fold(f64::MIN, f64::max);
    let as_good = |result: &Result| result.saved(metric).is_some_and(|saved| saved.high >= most);
    let simplest = results.iter().position(|result| as_good(result) && certain(result) > 0.0);
    let simplest = simplest.map(|index| results.remove(index));
    results.sort_by(|a, b| certain(b).total_cmp(&certain(a)));
    results.splice(0..0, simplest);
}

/// Those who save nothing, or less than another one, drop out.
fn drop_losers(trial: &Trial, takes_part: &mut [bool], metric: Metric, confidence: f64) {
    let saved: Vec<Option<Interval>> = (0..takes_part.len())
        .map(|index| trial.saved(index, metric, confidence).filter(|_| index > 0 && takes_part[index]))
        .collect();
    let best = saved.iter().flatten().map(|saved| saved.low).fold(0.0, f64::max);
    for (takes_part, saved) in takes_part.iter_mut().zip(&saved).skip(1) {
        *takes_part &= saved.is_some_and(|saved| saved.high > best);
    }
}

/// Whether it is known well enough what those save who are left.
fn all_are_known(trial: &Trial, takes_part: &[bool], aim: &Aim, confidence: f64) -> bool {
    let Some(whole) = trial.taken(0, aim.metric, confidence) else { return true };
    let left = (1..takes_part.len()).filter(|index| takes_part[*index]);
    left.filter_map(|index| trial.saved(index, aim.metric, confidence))
        .all(|saved| aim.is_reached(&saved, whole.median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;

    fn result(name: &str, low: f64, high: f64) -> Result {
        let setting = Setting::Tunables(String::new());
        let candidate = Candidate { name: name.to_owned(), what: String::new(), setting, instead: None };
        let saved = vec![Some(Interval { median: (low + high) / 2.0, low, high }); Metric::ALL.len()];
        Result { candidate, rounds: 5, saved, failed: None }
    }

    fn ranked(mut results: Vec<Result>) -> Vec<String> {
        rank(&mut results, Metric::Cpu);
        results.into_iter().map(|result| result.candidate.name).collect()
    }

    #[test]
    fn the_simplest_of_the_best_comes_first() {
        let all = vec![result("same", -1.0, 2.0), result("good", 9.0, 11.0), result("best", 10.0, 12.0)];
        assert_eq!(ranked(all), ["good", "best", "same"]);
        let all = vec![result("good", 5.0, 9.0), result("worse", -3.0, -2.0), result("best", 10.0, 12.0)];
        assert_eq!(ranked(all), ["best", "good", "worse"]);
        assert_eq!(ranked(vec![result("worse", -3.0, -2.0), result("same", -1.0, 1.0)]), ["same", "worse"]);
    }
}
