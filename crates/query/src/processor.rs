//! CPU time of threads and processes: as the kernel counts it or, of a span of time and of threads that did not end
//! while they were recorded, from when they had the processor.

use memtoll_analysis::balance::Balance;
use memtoll_analysis::processor::{ImageOrThread, ProcessorTimes};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::ids::ThreadNo;
use memtoll_trace::meta::Usage;

/// The times in a recording, or in a part of it.
pub struct Processor<'a> {
    recording: &'a Recording,
    sums: &'a Sums,
    tariff: Tariff,
    told: Option<ProcessorTimes>,
}

impl<'a> Processor<'a> {
    /// Reads all costs.
    pub fn new(recording: &'a Recording, sums: &'a Sums) -> Self {
        let told = ProcessorTimes::between(recording, sums.selection.from.0, sums.selection.to.0, &sums.thread_filter);
        Processor { recording, sums, tariff: Tariff::of(recording), told }
    }

    /// Of one thread or process, ns; `None` if it is not known.
    pub fn of(&self, runner: ImageOrThread) -> Option<f64> {
        let counted = match runner.thread {
            Some(thread) => self.counted(runner.image, thread),
            None => Balance::of_image(self.recording, self.sums, runner.image)?.processor,
        };
        counted.or_else(|| Some(self.tariff.ns(self.told.as_ref()?.of(runner)? as f64)))
    }

    /// Page faults of a whole thread as the kernel counts them, whatever the pages were.
    pub fn faults(&self, runner: ImageOrThread) -> Option<u64> {
        let usage = self.usage(runner.image, runner.thread?)?;
        Some(usage.minor_faults.saturating_add(usage.major_faults))
    }

    /// What the kernel counted for a whole thread, ns.
    fn counted(&self, image: usize, thread: ThreadNo) -> Option<f64> {
        let usage = self.usage(image, thread)?;
        Some(usage.user_ns as f64 + usage.system_ns as f64)
    }

    fn usage(&self, image: usize, thread: ThreadNo) -> Option<&Usage> {
        let usage = self.recording.images.get(image)?.thread(thread)?.usage.as_ref();
        usage.filter(|_| !self.sums.selection.is_part())
    }
}
