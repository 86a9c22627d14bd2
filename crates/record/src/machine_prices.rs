//! What single operations cost on this machine: measured a few times for many short runs.
//!
//! Measuring takes some 25 ms of processor time, more than most of the programs that a build or a shell script starts. So the
//! results are kept in a file for the runs of the next minutes. A moment in which something else ran on the machine must not
//! be taken for what all of these runs paid: a few runs measure, each at another time, and each price is the median.
//!
//! A long run measures again, as that is nothing beside it, and so does one whose own page faults took much longer or shorter
//! than the file says.
//!
//! The file is only used and written where it is the user's own: prices from others would be lies about this user's
//! programs. Whatever is wrong with it, the costs are measured.

use crate::cache_folder;
use memtoll_kernel::Look;
use memtoll_trace::meta::{Looking, Machine, Prices, TimedFaults};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a measurement is kept.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// Measurements, so that a disturbed one does not decide.
const ENOUGH: usize = 3;
/// No more are kept: of a machine that runs at another speed now, the older ones say nothing.
const MOST: usize = 5;
/// Beside a run with this processor time, measuring takes less than a hundredth, three times, too; after a shorter one, the
/// user waits for it.
const LONG_RUN: Duration = Duration::from_secs(10);
/// Timed faults that suffice to tell what a fault costs.
const ENOUGH_FAULTS: u64 = 12;
/// The largest factor between what the program's faults take and what the file says, in either direction.
const TOLERANCE: f64 = 2.0;
/// No such file is longer, bytes.
const LONGEST: u64 = 1 << 16;

/// What is known of this machine.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    pub prices: Option<Prices>,
    pub looking: Option<Looking>,
}

impl Costs {
    fn typical(measurements: &[Measurement]) -> Costs {
        fn all<T>(of: &[Measurement], part: fn(&Costs) -> Option<T>) -> Vec<T> {
            of.iter().filter_map(|measurement| part(&measurement.costs)).collect()
        }
        Costs {
            prices: Prices::typical(&all(measurements, |costs| costs.prices)),
            looking: Looking::typical(&all(measurements, |costs| costs.looking)),
        }
    }

    fn has_what_is(&self, asked: &Asked) -> bool {
        (self.prices.is_some() || !asked.prices) && (self.looking.is_some() || !asked.looking)
    }
}

/// What costs are wanted for.
pub struct Asked<'a> {
    pub machine: &'a Machine,
    /// Of this version of memtoll.
    pub version: &'a str,
    /// Prices are wanted.
    pub prices: bool,
    /// What looking at the program costs is wanted.
    pub looking: bool,
    /// The program's processor time.
    pub ran: Duration,
    /// The program's own page faults.
    pub faults: TimedFaults,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    build: Build,
    /// Another one after each boot.
    boot: String,
    kernel: String,
    processor: String,
    processors: u32,
    /// The oldest first, [`MOST`] at most.
    measurements: Vec<Measurement>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Measurement {
    /// Seconds since 1970.
    at: u64,
    costs: Costs,
}

/// The file of this program. Another build may measure in another way.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize, Deserialize)]
struct Build {
    bytes: u64,
    /// When it was written, seconds since 1970.
    written: i64,
}

impl Build {
    fn own() -> Build {
        let own = fs::metadata("/proc/self/exe");
        own.map_or(Build::default(), |file| Build { bytes: file.len(), written: file.mtime() })
    }
}

/// What is asked for, from the file or measured now.
pub fn find(asked: &Asked) -> Costs {
    Known::here().find(asked, measure)
}

/// What is kept for later runs on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeptCosts {
    Measured {
        /// Where it is kept.
        file: PathBuf,
        /// By a number of runs.
        times: usize,
        /// How long ago the last of them was, seconds.
        age: u64,
        /// For how long short runs need not measure, seconds. None: the next run does.
        left: Option<u64>,
    },
    /// Nothing that could be used: the next run measures.
    Nothing {
        /// Where it is going to be kept.
        file: PathBuf,
    },
    /// Nothing can be kept: each run measures.
    Nowhere,
}

/// What is kept, for a `version` of memtoll on a `machine`.
pub fn kept(machine: &Machine, version: &str) -> KeptCosts {
    Known::here().kept(machine, version)
}

fn measure(asked: &Asked) -> Costs {
    let look = if asked.looking { Look::measure() } else { None };
    Costs {
        prices: if asked.prices { memtoll_machine::prices().ok() } else { None },
        looking: look.map(|look| Looking {
            fault_sample: look.sample,
            fault_counting: look.counting,
            fault_beyond: look.beyond,
            running_sample: look.running,
        }),
    }
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What earlier runs know.
struct Known {
    folder: Option<PathBuf>,
    boot: String,
    build: Build,
    now: u64,
}

impl Known {
    fn here() -> Known {
        Known {
            folder: cache_folder::path(|name| std::env::var_os(name)),
            boot: boot(),
            build: Build::own(),
            now: now(),
        }
    }

    fn kept(&self, machine: &Machine, version: &str) -> KeptCosts {
        let Some(file) = self.file() else { return KeptCosts::Nowhere };
        let measurements = self.read(machine, version);
        match measurements.last() {
            Some(last) => {
                let times = measurements.len();
                let decides = times.checked_sub(ENOUGH).map(|nth| measurements[nth]);
                let left = decides.map(|oldest| oldest.at + KEPT_FOR.as_secs() - self.now);
                KeptCosts::Measured { file, times, age: self.now - last.at, left }
            }
            None if file.parent().is_some_and(cache_folder::may_make) => KeptCosts::Nothing { file },
            None => KeptCosts::Nowhere,
        }
    }

    fn find(&self, asked: &Asked, measure: impl Fn(&Asked) -> Costs) -> Costs {
        let mut kept = self.read(asked.machine, asked.version);
        let known = Costs::typical(&kept);
        let is_long = asked.ran >= LONG_RUN;
        let times = kept.iter().filter(|measurement| measurement.costs.has_what_is(asked)).count();
        if times >= ENOUGH && !is_long && agrees(&known, &asked.faults) {
            return known;
        }
        // A long run can afford all that are missing.
        let missing = if is_long { ENOUGH.saturating_sub(times).max(1) } else { 1 };
        let fresh: Vec<_> = (0..missing).map(|_| Measurement { at: self.now, costs: measure(asked) }).collect();
        let now = Costs::typical(&fresh);
        if now == Costs::default() {
            return now;
        }
        if !agrees(&known, &asked.faults) && agrees(&now, &asked.faults) {
            // The machine runs at another speed.
            kept.clear();
        }
        let costs = Costs::typical(&[kept.as_slice(), &fresh].concat());
        // They are of one moment, so later runs get them as one.
        kept.push(Measurement { at: self.now, costs: now });
        kept.drain(..kept.len().saturating_sub(MOST));
        self.write(asked, kept);
        costs
    }

    fn file(&self) -> Option<PathBuf> {
        // Without it, the machine may be another one.
        (!self.boot.is_empty()).then_some(self.folder.as_ref()?.join("machine.json"))
    }

    /// The measurements that are about this machine as it is now.
    fn read(&self, machine: &Machine, version: &str) -> Vec<Measurement> {
        let Some(mut kept) = self.read_file() else { return Vec::new() };
        let Machine { kernel, processor, processors, .. } = machine;
        let is_of_here = (kept.version.as_str(), kept.build) == (version, self.build)
            && kept.boot == self.boot
            && (&kept.kernel, &kept.processor, &kept.processors) == (kernel, processor, processors);
        let is_recent = |at: u64| (at..at.saturating_add(KEPT_FOR.as_secs())).contains(&self.now);
        kept.measurements.retain(|measurement| is_of_here && is_recent(measurement.at));
        kept.measurements
    }

    fn read_file(&self) -> Option<Kept> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(self.file()?, flags, Mode::empty()).ok()?);
        let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && cache_folder::is_own(metadata))?;
        let mut text = String::new();
        file.take(LONGEST.min(metadata.len())).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Runs that end at the same time each replace the file as a whole. Where it cannot be written, the next run measures.
    fn write(&self, asked: &Asked, measurements: Vec<Measurement>) {
        let Machine { kernel, processor, processors, .. } = asked.machine.clone();
        let (version, build, boot) = (asked.version.to_owned(), self.build, self.boot.clone());
        let kept = Kept { version, build, boot, kernel, processor, processors, measurements };
        let replace = || {
            let path = self.file()?;
            let folder = path.parent()?;
            cache_folder::make(folder)?;
            let mut file = tempfile::Builder::new().prefix(".machine-").tempfile_in(folder).ok()?;
            file.write_all(&serde_json::to_vec(&kept).ok()?).ok()?;
            file.persist(&path).ok()
        };
        let _ = replace();
    }
}

/// Whether what is known of faults is about what those of the program took.
fn agrees(costs: &Costs, faults: &TimedFaults) -> bool {
    let (Some(prices), Some(looking)) = (costs.prices, costs.looking) else { return true };
    if faults.samples < ENOUGH_FAULTS || faults.faults == 0 {
        return true;
    }
    let took = faults.time as f64 / faults.faults as f64;
    let expected = prices.minor_fault.median - looking.fault_beyond;
    (expected / TOLERANCE..=expected * TOLERANCE).contains(&took)
}

#[cfg(test)]
mod tests;
