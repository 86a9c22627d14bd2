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
        let mut lives: FxHashMap<(usize, ThreadNo), Life> = FxHashMap::default();
        let mut images = Vec::with_capacity(recording.images.len());
        for (index, image) in recording.images.iter().enumerate() {
            let image_end = image.end.as_ref().map_or(to, |end| end.ended);
            for thread in image.threads.iter().filter(|thread| thread_filter.admit(index, thread.number)) {
                let life = Life::within(thread.began, thread.ended.unwrap_or(image_end), from, to);
                lives.insert((index, thread.number), life);
            }
            // The reader of the costs themselves says what is missing in the file.
            let _ = recording.for_each_cost_between(index, Units(from), Units(to), |cost| {
                let life = cost.thread.and_then(|thread| lives.get_mut(&(index, thread)));
                life.into_iter().for_each(|life| life.loses(cost));
            });
            let of_image = image.threads.iter().filter_map(|thread| lives.get(&(index, thread.number)));
            images.push(sum(of_image.map(Life::on_processor)));
        }
        let threads = lives.iter().map(|(of, life)| (*of, life.on_processor())).collect();
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
        sum(self.images.iter().copied())
    }
}

/// Numbers of a damaged file may be beyond all sums.
fn sum(times: impl Iterator<Item = u64>) -> u64 {
    times.fold(0, u64::saturating_add)
}

/// The part of a thread's life that counts, units. It begins with the thread's first call of the allocator; the kernel tells of
/// earlier times, too, which are not part of it.
#[derive(Clone, Copy)]
struct Life {
    begin: u64,
    end: u64,
    off_processor: u64,
}

impl Life {
    fn within(began: u64, ended: u64, from: u64, to: u64) -> Life {
        Life { begin: began.max(from), end: ended.min(to), off_processor: 0 }
    }

    /// The thread does not have the processor. One that spins has it.
    fn loses(&mut self, cost: &Cost) {
        if let CostKind::Waiting | CostKind::OffProcessor | CostKind::Preempted | CostKind::Halted | CostKind::Reading =
            cost.kind
        {
            let lost = overlap(cost.began().0, cost.time.0, self.begin, self.end);
            self.off_processor = self.off_processor.saturating_add(lost);
        }
    }

    fn on_processor(&self) -> u64 {
        self.end.saturating_sub(self.begin).saturating_sub(self.off_processor)
    }
}

fn overlap(begin: u64, end: u64, from: u64, to: u64) -> u64 {
    end.min(to).saturating_sub(begin.max(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_span_counts() {
        let cost = |kind| Cost::of(kind, Units(1000), 400);
        let lost = |kind, life: (u64, u64), span: (u64, u64)| {
            let mut life = Life::within(life.0, life.1, span.0, span.1);
            life.loses(&cost(kind));
            life.off_processor
        };
        let spans = [(0, 2000), (700, 2000), (0, 900), (700, 900), (1000, 2000), (0, 600)];
        let off = |life| spans.map(|span| lost(CostKind::OffProcessor, life, span));
        assert_eq!(off((0, 2000)), [400, 300, 300, 200, 0, 0]);
        // Before the thread is known and after its end, it loses nothing.
        assert_eq!(off((800, 950)), [150, 150, 100, 100, 0, 0]);
        assert_eq!(lost(CostKind::Spinning, (0, 2000), (0, 2000)), 0);
        assert_eq!(lost(CostKind::Fault, (0, 2000), (0, 2000)), 0);
        let mut life = Life::within(900, 5000, 0, 2000);
        life.loses(&cost(CostKind::OffProcessor));
        assert_eq!(life.on_processor(), 1000);
    }
}
