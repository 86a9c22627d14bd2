//! Taking samples of every way, round by round.

use crate::about::{About, available_memory};
use crate::measured::{Measured, Samples};
use crate::program::Error;
use crate::report::Report;
use crate::ways::{Touch, Ways};
use std::time::{Duration, Instant};

/// Memory is handed out in huge pages' worth.
const GRAIN: u64 = 2 << 20;
/// With less, the program's own memory would show in the resident set.
const LEAST: u64 = 8 << 20;
/// More do not change a median.
const MOST_ROUNDS: u32 = 15;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Memory that is taken at a time, bytes.
    pub size: u64,
    /// Threads where several share it.
    pub threads: usize,
    /// How long it may take; the first round is always finished.
    pub time: Duration,
}

impl Settings {
    /// 300 MiB, under a minute; all processors, but at most 8 threads.
    pub fn thorough() -> Settings {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        Settings { size: 300 << 20, threads: processors.clamp(2, 8), time: Duration::from_secs(50) }
    }

    /// 16 MiB, in about 5 seconds.
    pub fn quick() -> Settings {
        Settings { size: 16 << 20, time: Duration::from_millis(4200), ..Settings::thorough() }
    }

    /// Whether there is enough memory for it, and whether it is enough memory to measure.
    pub fn check(&self) -> Result<(), Error> {
        let least = LEAST.max(GRAIN * self.threads as u64);
        if self.size < least {
            return Err(Error::TooSmall {
                least: memtoll_text::format::bytes(least),
                found: memtoll_text::format::bytes(self.size),
            });
        }
        // Some is needed for all the rest: bookkeeping, page tables, the user's other programs.
        let most = available_memory().map_or(u64::MAX, |bytes| bytes / 10 * 9 / GRAIN * GRAIN);
        if self.size > most {
            return Err(Error::TooLarge {
                most: memtoll_text::format::bytes(most),
                found: memtoll_text::format::bytes(self.size),
            });
        }
        Ok(())
    }
}

/// How far the measuring is.
pub struct Progress<'a> {
    /// Counted from 1.
    pub round: u32,
    /// The way whose turn it is.
    pub way: &'a str,
}

/// Measures every way of this machine: in each round, every way is gone once with each touch, in one thread and in
/// several, so that what disturbs the machine meanwhile meets all of them. Each sample is a process of its own.
pub fn measure(settings: &Settings, mut progress: impl FnMut(&Progress)) -> Result<Report, Error> {
    settings.check()?;
    let begin = Instant::now();
    let program = Ways::new()?;
    let bytes = settings.size / GRAIN * GRAIN;
    let share = bytes.div_ceil(settings.threads as u64).div_ceil(GRAIN) * GRAIN;
    let mut ways: Vec<Samples> = program.list(bytes)?.into_iter().map(Samples::of).collect();
    let mut rounds = 0;
    while rounds < MOST_ROUNDS {
        let round_began = Instant::now();
        for turn in 0..ways.len() {
            // Another order each time: a way has not always the same neighbour before it.
            let index = (turn + rounds as usize * 7) % ways.len();
            progress(&Progress { round: rounds + 1, way: &ways[index].way.name });
            sample_all(&program, &mut ways[index], bytes, share, settings.threads)?;
        }
        rounds += 1;
        if begin.elapsed() + round_began.elapsed() > settings.time {
            break;
        }
    }
    let measured = Measured {
        machine: About::this(),
        bytes,
        bytes_in_threads: share * settings.threads as u64,
        threads: settings.threads,
        rounds,
        seconds: begin.elapsed().as_secs_f64(),
        ways,
    };
    let refusal = measured.ways.iter().find_map(|samples| samples.refused.clone()).unwrap_or_default();
    measured.report().ok_or(Error::Nothing(refusal))
}

/// One sample with each touch, in one thread and in several.
fn sample_all(program: &Ways, samples: &mut Samples, bytes: u64, share: u64, threads: usize) -> Result<(), Error> {
    for (several, bytes, threads) in [(false, bytes, 1), (true, share, threads)] {
        for touch in [Touch::Whole, Touch::Sparse] {
            if samples.refused.is_some() || (several && !samples.way.in_threads) {
                continue;
            }
            match program.sample(&samples.way, touch, bytes, threads)? {
                Ok(sample) => samples.by_touch[Samples::place(touch, several)].push(sample),
                Err(reason) if several => samples.refused = Some(format!("in {threads} threads: {reason}")),
                Err(reason) => samples.refused = Some(reason),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let with = |size, threads| Settings { size, threads, ..Settings::quick() }.check();
        assert!(with(8 << 20, 4).is_ok());
        let error = |size, threads| with(size, threads).unwrap_err().to_string();
        assert_eq!(error(4 << 20, 2), "4.0 MiB is too little to measure: expected a size of at least 8.0 MiB");
        assert!(error(30 << 20, 16).contains("at least 32.0 MiB"));
        let too_large = error(1 << 60, 2);
        assert!(
            too_large.starts_with("there is not enough memory for 1,024 PiB: expected a size of at most "),
            "{too_large}"
        );
    }
}
