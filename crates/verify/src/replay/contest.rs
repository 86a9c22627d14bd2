//! All contestants, in turn and in random order, each with and without an allocator: the difference is the allocator's.

use super::Error;
use super::player::{Calls, Player, Taken};
use crate::interval::Interval;
use crate::setting::Setting;
use memtoll_text::Quantity;
use memtoll_text::format::Unit;
use std::path::Path;

/// What is played against.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// A short name.
    pub name: String,
    /// The environment that chooses it.
    pub settings: Vec<Setting>,
    /// The number of the script that it plays.
    pub script: usize,
}

/// A figure of a playing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// User and system time: the kernel divides it between both by its ticks, too coarse for a replay.
    Cpu,
    /// From the first call to the last one.
    Wall,
    /// Page faults.
    Faults,
    /// Largest resident set.
    Peak,
    /// Waiting in the allocator, all threads together.
    Waiting,
}

impl Figure {
    /// All, in the order in which they are shown.
    pub const ALL: [Figure; 5] = [Figure::Cpu, Figure::Wall, Figure::Faults, Figure::Peak, Figure::Waiting];

    fn of(self, taken: &Taken) -> Option<f64> {
        Some(match self {
            Figure::Cpu => taken.user_ns + taken.system_ns,
            Figure::Wall => taken.wall_ns,
            Figure::Faults => taken.minor_faults + taken.major_faults,
            Figure::Peak => return (taken.peak_bytes >= 0.0).then_some(taken.peak_bytes),
            Figure::Waiting => taken.waiting_ns,
        })
    }
}

impl Quantity for Figure {
    fn row(self) -> (&'static str, &'static str, Unit) {
        match self {
            Figure::Cpu => ("cpu_ns", "CPU time", Unit::Time),
            Figure::Wall => ("wall_ns", "wall time", Unit::Time),
            Figure::Faults => ("faults", "page faults", Unit::Count),
            Figure::Peak => ("resident_peak_bytes", "peak resident set", Unit::Bytes),
            Figure::Waiting => ("waiting_ns", "waiting", Unit::Time),
        }
    }
}

/// What a contestant took.
pub struct Outcome {
    /// Who.
    pub contestant: Contestant,
    with: Vec<Taken>,
    without: Vec<Taken>,
}

/// Of intervals.
pub const CONFIDENCE: f64 = 0.95;

impl Outcome {
    /// What the allocator took: the player's own share is taken off, round by round.
    pub fn of(&self, figure: Figure) -> Option<Interval> {
        let pairs = self.with.iter().zip(&self.without);
        let values: Option<Vec<f64>> =
            pairs.map(|(with, without)| Some(figure.of(with)? - figure.of(without)?)).collect();
        Interval::of(&values?, CONFIDENCE)
    }

    /// What the player takes without an allocator.
    pub fn own(&self, figure: Figure) -> Option<Interval> {
        let values: Option<Vec<f64>> = self.without.iter().map(|taken| figure.of(taken)).collect();
        Interval::of(&values?, CONFIDENCE)
    }

    /// How much more than another one, round by round.
    pub fn beyond(&self, other: &Outcome, figure: Figure) -> Option<Interval> {
        let net = |outcome: &Outcome, round: usize| {
            Some(figure.of(outcome.with.get(round)?)? - figure.of(outcome.without.get(round)?)?)
        };
        let values: Option<Vec<f64>> =
            (0..self.with.len()).map(|round| Some(net(self, round)? - net(other, round)?)).collect();
        Interval::of(&values?, CONFIDENCE)
    }

    /// How much more than another one before the first call: an allocator that is a library has to be loaded. CPU time, ns,
    /// and page faults.
    pub fn start_beyond(&self, other: &Outcome) -> Option<(Interval, Interval)> {
        let beyond = |of: fn(&Taken) -> f64| {
            let values: Vec<f64> = self.with.iter().zip(&other.with).map(|(one, two)| of(one) - of(two)).collect();
            Interval::of(&values, CONFIDENCE)
        };
        Some((beyond(|taken| taken.start_ns)?, beyond(|taken| taken.start_faults)?))
    }

    /// Calls that the allocator refused, in the last round.
    pub fn refused(&self) -> u64 {
        self.with.last().map_or(0, |taken| taken.refused as u64)
    }

    /// Median time that threads waited for the recorded order, ns.
    pub fn order_ns(&self) -> f64 {
        let values: Vec<f64> = self.with.iter().map(|taken| taken.order_ns).collect();
        Interval::of(&values, CONFIDENCE).map_or(0.0, |found| found.median)
    }
}

/// Plays all, `rounds` times after one round that does not count. `progress` receives each round.
pub fn play(
    player: &Player,
    scripts: &[&Path],
    contestants: Vec<Contestant>,
    rounds: usize,
    mut progress: impl FnMut(usize),
) -> Result<Vec<Outcome>, Error> {
    let outcome = |contestant| Outcome { contestant, with: Vec::new(), without: Vec::new() };
    let mut all: Vec<Outcome> = contestants.into_iter().map(outcome).collect();
    let mut order: Vec<(usize, Calls)> =
        (0..all.len()).flat_map(|number| [(number, Calls::Real), (number, Calls::Stub)]).collect();
    let mut random = fastrand::Rng::new();
    for round in 0..=rounds {
        progress(round);
        random.shuffle(&mut order);
        for &(number, calls) in &order {
            let Outcome { contestant, with, without } = &mut all[number];
            let Contestant { name, settings, script } = contestant;
            let Some(script) = scripts.get(*script) else { continue };
            // The stub is the same under every allocator: none of them is loaded for it.
            let settings = if calls == Calls::Real { &settings[..] } else { &[] };
            let taken = player.play(script, calls, name, settings)?;
            if round > 0 {
                match calls {
                    Calls::Real => with.push(taken),
                    Calls::Stub => without.push(taken),
                }
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_units() {
        for figure in Figure::ALL {
            let units = [Unit::Time, Unit::Bytes].map(|unit| figure.key().ends_with(unit.in_keys()));
            assert_eq!(units, [figure.unit() == Unit::Time, figure.unit() == Unit::Bytes], "{}", figure.key());
        }
    }
}
