//! What the fuzz targets share: limits, and recordings to damage.

mod damage;
mod seed;

pub use damage::{Change, damaged};
pub use seed::{Seed, seeds};

use memtoll_analysis::balance::Balance;
use memtoll_analysis::lanes::lanes;
use memtoll_analysis::regions::regions;
use memtoll_analysis::sums::sums;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_tally::{Charge, Selection};
use memtoll_trace::ids::{Bytes, Units};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// Address space of a target, bytes.
const MAX_MEMORY: u64 = 4 << 30;
/// Longest time for one input.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Intervals of the threads' lanes.
const INTERVALS: usize = 50;
/// Call sites whose stacks are looked at.
const STACKS: usize = 64;

/// How long a target runs.
pub fn duration() -> Duration {
    let seconds = std::env::var("MEMTOLL_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

/// From now on, this process ends if it wants more memory than an input may cost.
pub fn limit_memory() {
    let limit = Rlimit { current: Some(MAX_MEMORY), maximum: Some(MAX_MEMORY) };
    assert!(setrlimit(Resource::As, limit).is_ok(), "the limit of memory cannot be set");
}

/// Panics if `action` takes longer than one input may.
pub fn in_time<T>(action: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = action();
    assert!(began.elapsed() < MAX_TIME, "took {:?}", began.elapsed());
    result
}

/// Reads all that a report would read.
pub fn read(path: &Path) {
    let Ok(recording) = Recording::open(path) else { return };
    for index in 0..recording.images.len() {
        let mut count = 0;
        let _ = recording.for_each_events(index, |events| {
            count += events.len();
            ControlFlow::Continue(())
        });
    }
    let _ = lanes(&recording, 0, u64::MAX, INTERVALS, &ThreadFilter::default());
    let _ = regions(&recording, Units::ZERO, Units::MAX, &ThreadFilter::default());
    let all = Selection::default();
    let selections = [
        all,
        Selection { from: Units(1000), to: Units(1 << 40), min_size: Bytes(1), ..all },
        Selection { charge: Charge::Payment, ..all },
    ];
    for selection in selections {
        let sums = sums(&recording, selection);
        let _ = Balance::of_all(&recording, &sums).rest();
        for site in sums.sites.iter().take(STACKS) {
            let (stack, _) = recording.stacks.stack(site.node);
            for node in stack.into_iter().take(STACKS) {
                for &frame in recording.frames.chain(&recording.stacks.node(node)) {
                    let frame = recording.frames.frame(frame);
                    let _ = recording.frames.text(frame.function);
                }
            }
        }
    }
}
