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

/// Whose events are opened.
#[derive(Debug, Clone, Copy)]
pub enum Watched<'a> {
    /// A process that has not exec'd yet: from its next exec on.
    FromExec(Pid),
    /// All threads of a running process. Mappings and new threads count at once; faults and switches from when the events are switched on.
    Threads(&'a [Pid]),
}

impl Watched<'_> {
    fn threads(&self) -> &[Pid] {
        match self {
            Watched::FromExec(process) => std::slice::from_ref(process),
            Watched::Threads(threads) => threads,
        }
    }

    fn are_running(&self) -> bool {
        matches!(self, Watched::Threads(_))
    }
}

/// Events of a processor and a thread, beside those of each period.
const EVENTS: usize = 3;

/// The most events for threads that run: each takes 1.3 KiB of the kernel's memory and 10 us to open.
const MOST_EVENTS: usize = 1 << 16;

/// Files that this process may need beside the events.
const OTHER_FILES: u64 = 256;

/// All events of a collector. Nothing is counted before the process execs, or before they are switched on.
pub struct Opened {
    pub rings: Vec<Ring>,
    /// Those of further threads that are like the rings' own ones.
    pub others: Vec<PerfEvent>,
    /// The exact one and, if sampling adapts, the coarse one; each with an event a ring and thread.
    pub fault_sets: Vec<Vec<PerfEvent>>,
    /// The beginnings of some faults; an event a ring and thread.
    pub beginnings: Vec<PerfEvent>,
    /// Where threads run; an event a ring and thread.
    pub running: Vec<PerfEvent>,
    /// An event a thread.
    pub cpu_time: Vec<PerfEvent>,
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
pub fn open(watched: Watched<'_>, clock: Clock, options: &Options) -> Result<Opened, Refused> {
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
    let needed = watched.threads().len() * (cpus.len() * (EVENTS + periods.len()) + 1);
    if watched.are_running() {
        let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        if allowed.is_some_and(|allowed| needed as u64 + OTHER_FILES > allowed) {
            let error = format!("only {} are allowed", allowed.unwrap_or_default());
            return Err(Refused::Files { needed, error });
        }
        if needed > MOST_EVENTS {
            return Err(Refused::Threads { threads: watched.threads().len(), needed, most: MOST_EVENTS });
        }
    }
    loop {
        let common = Common {
            clock,
            system_calls: view.system_calls,
            count_lost,
            page_sizes,
            watermark: (view.ring_bytes / WATERMARK) as u32,
        };
        match open_all(watched, &common, &view, options.running, &periods, &cpus) {
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
                    return Err(Refused::explain(&error, &Circumstances::look(needed)));
                }
            },
        }
    }
}

fn open_all(
    watched: Watched<'_>,
    common: &Common,
    view: &View,
    running_period: u32,
    periods: &[u32],
    cpus: &[u32],
) -> Result<Opened, Failure> {
    let base = attributes::major_faults_and_tasks(common, view.switches);
    let mut opened = Opened {
        rings: Vec::with_capacity(cpus.len()),
        others: Vec::new(),
        fault_sets: periods.iter().map(|_| Vec::new()).collect(),
        beginnings: Vec::new(),
        running: Vec::new(),
        cpu_time: Vec::new(),
        decoder: Decoder::new(&base, &attributes::running(common, running_period))?,
        view: *view,
    };
    // A thread that runs may have ended meanwhile.
    let has_ended = |error: &io::Error| watched.are_running() && errno(error) == Some(Errno::SRCH);
    let open = |mut attr: perf_event_attr, thread, cpu, is_on_at_exec: bool| {
        attr.set_enable_on_exec((is_on_at_exec && !watched.are_running()).into());
        PerfEvent::open(&mut attr, thread, cpu)
    };
    for &thread in watched.threads() {
        match open(attributes::count_of_cpu_time(common), thread, None, true) {
            Err(error) if has_ended(&error) => {}
            event => opened.cpu_time.push(event?),
        }
    }
    for &cpu in cpus {
        let mut ring: Option<Ring> = None;
        for &thread in watched.threads() {
            let mut attr = base;
            attr.set_disabled((!watched.are_running()).into());
            let event = match open(attr, thread, Some(cpu), true) {
                // It went offline just now.
                Err(error) if errno(&error) == Some(Errno::NODEV) => break,
                Err(error) if has_ended(&error) => continue,
                event => event?,
            };
            opened.decoder.learn(event.id()?, Meaning::Faults { weight: 1, major: true });
            let ring = match &ring {
                Some(ring) => {
                    event.write_to(ring.event())?;
                    opened.others.push(event);
                    ring
                }
                None => ring.insert(Ring::new(event, cpu, view.ring_bytes).map_err(Failure::Ring)?),
            };
            let mut add = |attr, is_on_at_exec, meaning| -> Result<Option<PerfEvent>, Failure> {
                let event = match open(attr, thread, Some(cpu), is_on_at_exec) {
                    Err(error) if has_ended(&error) => return Ok(None),
                    event => event?,
                };
                event.write_to(ring.event())?;
                opened.decoder.learn(event.id()?, meaning);
                Ok(Some(event))
            };
            for (set, &period) in opened.fault_sets.iter_mut().zip(periods) {
                let attr = attributes::minor_faults(common, period);
                let meaning = Meaning::Faults { weight: period, major: false };
                set.extend(add(attr, set_is_first(periods, period), meaning)?);
            }
            if !periods.is_empty() {
                let attr = attributes::beginnings_of_faults(common);
                opened.beginnings.extend(add(attr, true, Meaning::Beginning)?);
            }
            let attr = attributes::running(common, running_period);
            opened.running.extend(add(attr, true, Meaning::Running)?);
        }
        opened.rings.extend(ring);
    }
    Ok(opened)
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
