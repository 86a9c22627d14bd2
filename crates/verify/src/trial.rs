//! Rounds in which contestants run in turn.

use crate::Error;
use crate::command::CommandLine;
use crate::interval::Interval;
use crate::metric::Metric;
use crate::run::{Expected, Usage, run};
use crate::sampled::Sampler;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// One that takes part. The first one of a trial is what the others are compared with.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// What it is called.
    pub name: String,
    /// What it runs.
    pub command: CommandLine,
}

/// What is watched of a run, beside what the kernel counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watching {
    Nothing,
    /// Whether its threads are in the allocator, by samples.
    Allocator,
}

/// How runs are made.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Runs before every run, unmeasured; none if empty.
    pub prepare: Option<CommandLine>,
    /// The exit code of every run.
    pub exit_code: i32,
    /// Whether all print the same on standard output.
    pub same_output: bool,
    /// Whether to measure the resident set when a run exits. A command that a shell starts is not measured.
    pub looks_at_exit: bool,
}

/// Contestants, and what their runs took.
pub struct Trial<'a> {
    contestants: &'a [Contestant],
    manner: &'a Manner,
    random: fastrand::Rng,
    /// For each contestant and round, unless it did not take part in it.
    taken: Vec<Vec<Option<Usage>>>,
    first_output: Option<(usize, File)>,
    output: Option<File>,
    sampler: Sampler,
}

/// Rounds for one with a further run of each contestant, in which the kernel samples where it is. Samples make a run longer,
/// by a tenth or more on a virtual machine, so nothing else is learnt from it.
const SAMPLED: usize = 3;

/// What is known of all runs, or, of samples, of those that were sampled.
fn known(metric: Metric, values: impl Iterator<Item = Option<f64>>) -> Option<Vec<f64>> {
    match metric {
        Metric::Allocator => Some(values.flatten().collect()),
        _ => values.collect(),
    }
}

impl<'a> Trial<'a> {
    /// A trial without rounds.
    pub fn new(contestants: &'a [Contestant], manner: &'a Manner) -> Result<Trial<'a>, Error> {
        Ok(Trial {
            contestants,
            manner,
            random: fastrand::Rng::new(),
            taken: vec![Vec::new(); contestants.len()],
            first_output: None,
            output: if manner.same_output { Some(tempfile::tempfile()?) } else { None },
            sampler: Sampler::default(),
        })
    }

    /// One unmeasured run of a contestant.
    pub fn warm_up(&mut self, contestant: usize) -> Result<(), Error> {
        self.run(contestant, Watching::Nothing).map(drop)
    }

    /// A round: those of whom `takes_part` says so run once, in random order.
    pub fn round(&mut self, takes_part: impl Fn(usize) -> bool) -> Result<(), Error> {
        let mut order: Vec<usize> = (0..self.contestants.len()).collect();
        self.random.shuffle(&mut order);
        let mut round = vec![None; order.len()];
        for contestant in order.into_iter().filter(|index| takes_part(*index)) {
            let plain = self.run(contestant, Watching::Nothing)?;
            let sampled = if self.rounds().is_multiple_of(SAMPLED) {
                Some(self.run(contestant, Watching::Allocator)?)
            } else {
                None
            };
            round[contestant] = Some(sampled.map_or(plain, |sampled| plain.with_allocator_of(&sampled)));
        }
        self.taken.iter_mut().zip(round).for_each(|(all, usage)| all.push(usage));
        Ok(())
    }

    fn run(&mut self, contestant: usize, watching: Watching) -> Result<Usage, Error> {
        let Contestant { name, command } = &self.contestants[contestant];
        if let Some(prepare) = &self.manner.prepare {
            run(prepare, &Expected { side: "--prepare", exit_code: 0, looks_at_exit: false }, None, None)?;
        }
        let looks_at_exit = self.manner.looks_at_exit && watching == Watching::Nothing;
        let expected = Expected { side: name, exit_code: self.manner.exit_code, looks_at_exit };
        let sampler = (watching == Watching::Allocator).then_some(&mut self.sampler);
        let usage = run(command, &expected, self.output.as_mut(), sampler)?;
        self.compare_output(contestant)?;
        Ok(usage)
    }

    fn compare_output(&mut self, contestant: usize) -> Result<(), Error> {
        let Some(output) = &mut self.output else { return Ok(()) };
        let Some((first, expected)) = &mut self.first_output else {
            let output = std::mem::replace(output, tempfile::tempfile()?);
            self.first_output = Some((contestant, output));
            return Ok(());
        };
        match difference(expected, output)? {
            None => Ok(()),
            Some(difference) => {
                let name = |index: usize| self.contestants[index].name.clone();
                // One that does not even agree with itself prints times, addresses or the like.
                let first = if *first == contestant { "in its first run".to_owned() } else { name(*first) };
                Err(Error::Output { side: name(contestant), first, difference })
            }
        }
    }

    /// What the runs of a contestant took, round by round; `None` if there are none, or it is not known.
    pub fn taken(&self, contestant: usize, metric: Metric, confidence: f64) -> Option<Interval> {
        let values = self.taken[contestant].iter().flatten().map(|usage| usage.of(metric));
        Interval::of(&known(metric, values)?, confidence)
    }

    /// What a contestant saves against the first one, of the rounds in which it took part.
    pub fn saved(&self, contestant: usize, metric: Metric, confidence: f64) -> Option<Interval> {
        let both = self.taken[0].iter().zip(&self.taken[contestant]).filter_map(|(first, other)| first.zip(*other));
        let values = both.map(|(first, other)| Some(first.of(metric)? - other.of(metric)?));
        Interval::of(&known(metric, values)?, confidence)
    }

    /// Rounds so far.
    pub fn rounds(&self) -> usize {
        self.taken[0].len()
    }

    /// Rounds in which a contestant took part.
    pub fn rounds_of(&self, contestant: usize) -> usize {
        self.taken[contestant].iter().flatten().count()
    }
}

/// Where two files differ: the first line that is not the same.
fn difference(expected: &mut File, found: &mut File) -> std::io::Result<Option<String>> {
    expected.seek(SeekFrom::Start(0))?;
    found.seek(SeekFrom::Start(0))?;
    let (mut line, mut at) = (1u64, 0u64);
    let mut bytes = BufReader::new(expected).bytes();
    let mut others = BufReader::new(found).bytes();
    loop {
        let (one, other) = (bytes.next().transpose()?, others.next().transpose()?);
        match (one, other) {
            (None, None) => return Ok(None),
            (Some(a), Some(b)) if a == b => line += u64::from(a == b'\n'),
            (Some(_), None) => return Ok(Some(format!("it ends in line {line}, after {at} bytes"))),
            (None, Some(_)) => return Ok(Some(format!("it goes on in line {line}, after {at} bytes"))),
            _ => return Ok(Some(format!("the first difference is in line {line}, at byte {at}"))),
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_taken_in_runs_of_their_own() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let shell = |name: &str| Contestant {
            name: name.to_owned(),
            command: CommandLine::typed(&format!("echo {name} >> {}", log.path().display())),
        };
        let contestants = [shell("before"), shell("after")];
        let manner = Manner { prepare: None, exit_code: 0, same_output: true, looks_at_exit: false };
        let mut trial = Trial::new(&contestants, &manner).unwrap();
        for round in 0..SAMPLED + 1 {
            trial.round(|contestant| contestant == 0 || round > 0).unwrap();
        }
        let log = std::fs::read_to_string(log.path()).unwrap();
        let runs = |name: &str| log.lines().filter(|line| *line == name).count();
        // The first round and the last one have a further run; `after` was not in the first one.
        assert_eq!((runs("before"), runs("after")), (SAMPLED + 1 + 2, SAMPLED + 1));
        assert_eq!((trial.rounds(), trial.rounds_of(0), trial.rounds_of(1)), (SAMPLED + 1, SAMPLED + 1, SAMPLED));
        assert!(trial.saved(1, Metric::Cpu, 0.95).is_some());
    }

    #[test]
    fn what_is_known_of_some_runs_only_is_known_of_samples_alone() {
        let some = || [Some(1.0), None, Some(3.0)].into_iter();
        assert_eq!(known(Metric::Allocator, some()), Some(vec![1.0, 3.0]));
        assert_eq!(known(Metric::ResidentPeak, some()), None);
    }
}
