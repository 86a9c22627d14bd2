//! CPU time of threads between two times, from when they lost the processor and got it back. The kernel itself
//! counts whole threads and processes only, and only those that ended.

use crate::tariff::Tariff;
use crate::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_trace::costs::{Cost, CostKind};
use memtoll_trace::ids::{ThreadNo, Units};
use rustc_hash::FxHashMap;

/// What runs: a process image, or one thread of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageOrThread {
    /// Index in [`Recording::images`].
    pub image: usize,
    /// The thread; `None`: all threads.
    pub thread: Option<ThreadNo>,
}

/// CPU time by thread. Threads that never called the allocator are not known.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct ProcessorTimes {
    /// By image (index in [`Recording::images`]) and thread, units.
    threads: FxHashMap<(usize, ThreadNo), u64>,
    /// By image: of all its threads, units.
    images: Vec<u64>,
}

impl ProcessorTimes {
    /// Of those of `thread_filter` between two times, in units; `None` where the kernel did not show who had the processor. Reads all costs.
    pub fn between(recording: &Recording, from: u64, to: u64, thread_filter: &ThreadFilter) -> Option<ProcessorTimes> {
        if !Tariff::of(recording).sees().switches {
            return None;
        }
        let to = to.min(recording.ended());
        let mut threads = FxHashMap::default();
        let mut images = Vec::with_capacity(recording.images.len());
        for (index, image) in recording.images.iter().enumerate() {
            let image_end = image.end.as_ref().map_or(to, |end| end.ended);
            for thread in image.threads.iter().filter(|thread| thread_filter.admit(index, thread.number)) {
                let alive = overlap(thread.began, thread.ended.unwrap_or(image_end), from, to);
                threads.insert((index, thread.number), alive);
            }
            // The reader of the costs themselves says what is missing in the file.
            let _ = recording.for_each_cost_between(index, Units(from), Units::MAX, |cost| {
                let thread = cost.thread.and_then(|thread| threads.get_mut(&(index, thread)));
                if let Some(time) = thread {
                    *time = time.saturating_sub(off_processor(cost, from, to));
                }
            });
            let of_image = image.threads.iter().filter_map(|thread| threads.get(&(index, thread.number)));
            images.push(sum(of_image));
        }
        Some(ProcessorTimes { threads, images })
    }

    /// Of a thread, or of the threads of an image, units; `None` if it is not known.
    pub fn of(&self, runner: ImageOrThread) -> Option<u64> {
        match runner.thread {
            Some(thread) => self.threads.get(&(runner.image, thread)).copied(),
            None => self.images.get(runner.image).copied(),
        }
    }

    /// Of all threads, units.
    pub fn total(&self) -> u64 {
        sum(self.images.iter())
    }
}

/// Numbers of a damaged file may be beyond all sums.
fn sum<'a>(times: impl Iterator<Item = &'a u64>) -> u64 {
    times.fold(0, |sum, time| sum.saturating_add(*time))
}

/// For how long the thread did not have the processor, units. A thread that spins has it.
fn off_processor(cost: &Cost, from: u64, to: u64) -> u64 {
    match cost.kind {
        CostKind::Waiting | CostKind::OffProcessor | CostKind::Preempted | CostKind::Halted | CostKind::Reading => {
            overlap(cost.time.saturating_sub(Units(cost.amount)).0, cost.time.0, from, to)
        }
        _ => 0,
    }
}

fn overlap(begin: u64, end: u64, from: u64, to: u64) -> u64 {
    end.min(to).saturating_sub(begin.max(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::costs::Place;
    use memtoll_trace::ids::Bytes;

    #[test]
    fn only_what_lies_in_the_span_counts() {
        let cost = |kind| Cost {
            time: Units(1000),
            kind,
            inside: false,
            thread: Some(ThreadNo::FIRST),
            amount: 400,
            node: None,
            size: Bytes::ZERO,
            place: Place::Unknown,
            holder: None,
        };
        let off = cost(CostKind::OffProcessor);
        let found = [(0, 2000), (700, 2000), (0, 900), (700, 900), (1000, 2000), (0, 600)];
        assert_eq!(found.map(|(from, to)| off_processor(&off, from, to)), [400, 300, 300, 200, 0, 0]);
        assert_eq!(off_processor(&cost(CostKind::Spinning), 0, 2000), 0);
        assert_eq!(off_processor(&cost(CostKind::Fault), 0, 2000), 0);
    }
}
