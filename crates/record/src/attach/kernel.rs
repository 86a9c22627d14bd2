//! What the kernel tells of a process that runs already: opened for each of its threads, which hand it on to those that they start.

use super::standstill::{self, Standstill};
use super::threads;
use crate::kernel_events::Kernel;
use crate::run::Run;
use crate::{FaultPeriod, refused, thread_spawning};
use memtoll_kernel::{Collector, Options};
use rustix::process::Pid;

/// Asks the kernel to tell of page faults and the like of all threads, from when that is switched on.
pub fn watch(run: &Run, pid: u32, period: FaultPeriod) {
    let wanted = Options { period, ..Options::default() };
    match collector(run, pid, &wanted) {
        Err(why) => refused(run, &why),
        Ok((collector, threads)) => {
            match Kernel::start(collector, run.around.ticks_per_microsecond, Some((pid, threads))) {
                Ok(kernel) => run.set_kernel(kernel),
                Err(error) => refused(run, &thread_spawning::refused(&error)),
            }
        }
    }
}

/// The collector, and how many threads it watches.
fn collector(run: &Run, pid: u32, wanted: &Options) -> Result<(Collector, u32), String> {
    const TRIES: u32 = 3;
    let clock = run.around.clock.for_kernel();
    let open = |tids: &[Pid]| Collector::attach(tids, clock, wanted).map_err(|why| why.to_string());
    for _ in 0..TRIES {
        let before = tids(pid);
        let collector = open(&before)?;
        // A thread that has begun since is watched only if one has started it that was watched by then.
        if tids(pid) == before {
            return Ok((collector, before.len() as u32));
        }
    }
    let stopped = standstill::urgently(|| {
        let still = Standstill::begin(pid).map_err(|error| format!("the process does not stand still: {error}"))?;
        let all = tids(pid);
        let collector = open(&all);
        drop(still);
        collector.map(|collector| (collector, all.len() as u32))
    });
    stopped.map_err(|error| error.to_string())?
}

/// The numbers of all threads, the main one's first: the rings are its own, which lives longest.
fn tids(pid: u32) -> Vec<Pid> {
    let mut all: Vec<i32> = threads::tasks(pid).iter().map(|task| task.tid).collect();
    all.sort_unstable_by_key(|tid| (*tid != pid as i32, *tid));
    all.into_iter().filter_map(Pid::from_raw).collect()
}
