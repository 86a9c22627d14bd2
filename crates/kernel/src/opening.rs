//! Opening the events of a collector: as much as the kernel allows.
//!
//! ```text
//! processor 0   major faults, switches, tasks --- ring 0
//!               minor faults, every one ----------^
//!               minor faults, one in 17 ----------^      (off at first)
//!               beginnings of faults, one in 47 --^
//!               where it runs, each millisecond --^
//! processor 1   ...
//! anywhere      count of processor time
//! ```

use crate::attributes::{self, Common, RUNNING};
use crate::clock_conversion::Clock;
use crate::decode::{Decoder, Meaning};
use crate::perf::PerfEvent;
use crate::refusal_reason::{Circumstances, Refused, errno};
use crate::ring::Ring;
use crate::sampling::COARSE;
use perf_event_open_sys::bindings::perf_event_attr;
use rustix::io::Errno;
use rustix::process::Pid;
use std::io;

/// What to collect.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many faults are sampled.
    pub period: Period,
    /// Also faults inside system calls, if that is allowed.
    pub system_calls: bool,
    /// Also context switches.
    pub switches: bool,
    /// Period of samples of where a thread is, in ns of its CPU time.
    pub running: u32,
    /// Bytes of the ring of each processor, rounded up to a power of two of pages. It gets smaller when the user's share
    /// of locked memory does not suffice.
    pub ring_bytes: usize,
}

/// How many faults are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// None.
    Never,
    /// Every fault as long as that costs the program at most 3 %, else one in 17.
    Adaptive,
    /// Faults for one sample, 1 for every fault.
    Every(u32),
}

/// Bytes of all rings together, where there are many processors.
const ALL_RINGS: usize = 64 << 20;

/// Bytes of the largest ring: 75,000 faults, which a processor that does nothing else takes in 75 ms. Where twelve programs share
/// two processors, a thread of the usual priority sometimes waits for one that long. It takes 0.5 ms of processor time to
/// make each of them, and users may lock this much for two processors.
const LARGEST_RING: usize = 4 << 20;

/// Rings smaller than this lose records whenever the reader sleeps.
const SMALLEST_RING: usize = 16 << 10;

/// The reader is woken when a ring is filled to 1/this. The rest is room for what is written until the reader runs.
const WATERMARK: usize = 8;

impl Default for Options {
    fn default() -> Options {
        let ring_bytes = (ALL_RINGS / online_cpus().len().max(1)).clamp(256 << 10, LARGEST_RING);
        Options { period: Period::Adaptive, system_calls: true, switches: true, running: RUNNING, ring_bytes }
    }
}

/// What the kernel let us see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Faults inside system calls are seen. It takes CAP_PERFMON, or perf_event_paranoid 1 or less.
    pub system_calls: bool,
    /// Context switches are seen.
    pub switches: bool,
    /// Bytes of each processor's ring.
    pub ring_bytes: usize,
}

/// All events of a collector. Nothing is counted before the process execs.
pub struct Opened {
    pub rings: Vec<Ring>,
    /// The exact one and, if sampling adapts, the coarse one; each with an event a ring.
    pub fault_sets: Vec<Vec<PerfEvent>>,
    /// The beginnings of some faults; an event a ring.
    pub beginnings: Vec<PerfEvent>,
    /// Where threads run; an event a ring.
    pub running: Vec<PerfEvent>,
    pub cpu_time: PerfEvent,
    pub decoder: Decoder,
    pub view: View,
}

/// What failed.
enum Failure {
    Event(io::Error),
    Ring(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Event(error)
    }
}

/// Opens what `options` wish for, or less where the kernel refuses a part.
pub fn open(pid: Pid, clock: Clock, options: &Options) -> Result<Opened, Refused> {
    let cpus = online_cpus();
    let page = rustix::param::page_size();
    let smallest = SMALLEST_RING.max(page);
    let mut view = View {
        system_calls: options.system_calls,
        switches: options.switches,
        ring_bytes: options.ring_bytes.next_power_of_two().max(page),
    };
    let (mut count_lost, mut page_sizes) = (true, true);
    let periods = match options.period {
        Period::Never => Vec::new(),
        Period::Adaptive => vec![1, COARSE],
        Period::Every(period) => vec![period.max(1)],
    };
    loop {
        let common = Common {
            clock,
            system_calls: view.system_calls,
            count_lost,
            page_sizes,
            watermark: (view.ring_bytes / WATERMARK) as u32,
        };
        match open_all(pid, &common, &view, options.running, &periods, &cpus) {
            Ok(opened) => return Ok(opened),
            Err(Failure::Ring(error)) if view.ring_bytes <= smallest => {
                return Err(Refused::Memory { needed: cpus.len() * (smallest + page), error: error.to_string() });
            }
            Err(Failure::Ring(_)) => view.ring_bytes /= 2,
            Err(Failure::Event(error)) => match errno(&error) {
                Some(Errno::ACCESS | Errno::PERM) if view.system_calls => view.system_calls = false,
                // Linux before 6.0 does not count what is lost, before 5.11 does not tell how large a page is.
                Some(Errno::INVAL) if count_lost => count_lost = false,
                Some(Errno::INVAL) if page_sizes => page_sizes = false,
                Some(Errno::INVAL) if view.switches => view.switches = false,
                _ => {
                    let files_needed = cpus.len() * (3 + periods.len()) + 1;
                    return Err(Refused::explain(&error, &Circumstances::look(files_needed)));
                }
            },
        }
    }
}

fn open_all(
    pid: Pid,
    common: &Common,
    view: &View,
    running_period: u32,
    periods: &[u32],
    cpus: &[u32],
) -> Result<Opened, Failure> {
    let on_exec = |mut attr: perf_event_attr, cpu| {
        attr.set_enable_on_exec(1);
        PerfEvent::open(&mut attr, pid, cpu)
    };
    let cpu_time = on_exec(attributes::count_of_cpu_time(common), None)?;
    let base = attributes::major_faults_and_tasks(common, view.switches);
    let mut decoder = Decoder::new(&base, &attributes::running(common, running_period))?;
    let mut rings = Vec::with_capacity(cpus.len());
    let mut beginnings = Vec::with_capacity(cpus.len());
    let mut running = Vec::with_capacity(cpus.len());
    let mut fault_sets: Vec<Vec<PerfEvent>> = periods.iter().map(|_| Vec::with_capacity(cpus.len())).collect();
    for &cpu in cpus {
        let event = match on_exec(base, Some(cpu)) {
            // It went offline just now.
            Err(error) if errno(&error) == Some(Errno::NODEV) => continue,
            event => event?,
        };
        decoder.learn(event.id()?, Meaning::Faults { weight: 1, major: true });
        let ring = Ring::new(event, cpu, view.ring_bytes).map_err(Failure::Ring)?;
        for (set, &period) in fault_sets.iter_mut().zip(periods) {
            let mut attr = attributes::minor_faults(common, period);
            attr.set_enable_on_exec(set_is_first(periods, period).into());
            let event = PerfEvent::open(&mut attr, pid, Some(cpu))?;
            event.write_to(ring.event())?;
            decoder.learn(event.id()?, Meaning::Faults { weight: period, major: false });
            set.push(event);
        }
        if !periods.is_empty() {
            let event = on_exec(attributes::beginnings_of_faults(common), Some(cpu))?;
            event.write_to(ring.event())?;
            decoder.learn(event.id()?, Meaning::Beginning);
            beginnings.push(event);
        }
        let event = on_exec(attributes::running(common, running_period), Some(cpu))?;
        event.write_to(ring.event())?;
        decoder.learn(event.id()?, Meaning::Running);
        running.push(event);
        rings.push(ring);
    }
    Ok(Opened { rings, fault_sets, beginnings, running, cpu_time, decoder, view: *view })
}

fn set_is_first(periods: &[u32], period: u32) -> bool {
    periods.first() == Some(&period)
}

/// Numbers of the processors that are on. One that is switched on later is not watched: its faults are counted, but not
/// sampled.
fn online_cpus() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = parse_list(list.trim());
    if cpus.is_empty() {
        (0..std::thread::available_parallelism().map_or(1, |count| count.get() as u32)).collect()
    } else {
        cpus
    }
}

/// Numbers like `0-3,5`.
fn parse_list(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(parse_list("0"), [0]);
        assert_eq!(parse_list("0-2,5,7-8"), [0, 1, 2, 5, 7, 8]);
        assert!(parse_list("").is_empty());
    }
}
