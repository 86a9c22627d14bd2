//! What is known of each thread: the kernel's counts, and for whom it waited in the allocator.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use crate::processor::Processor;
use memtoll_analysis::intervals::Interval;
use memtoll_analysis::processor::ImageOrThread;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::waits::Wait;
use memtoll_model::Recording;
use memtoll_trace::ids::ThreadNo;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A thread in JSON. The kernel's counts are null where it was not asked: the thread did not end while it was
/// recorded; and beside a part of a recording. Its CPU time is known all the same where switches were seen.
#[derive(Serialize)]
pub struct Thread {
    pub pid: u32,
    pub tid: u32,
    pub name: Option<String>,
    pub cpu_ns: Option<u64>,
    pub minor_faults: Option<u64>,
    pub major_faults: Option<u64>,
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
    pub waits: Option<Vec<ThreadWait>>,
}

#[derive(Serialize)]
pub struct ThreadWait {
    /// The thread that was in the allocator meanwhile; null if none is known.
    pub holder_tid: Option<u32>,
    pub waiting_ns: u64,
    pub interval: Interval,
}

/// The threads of a recording, by image and number. `waits` are those of the part of it that was added up.
pub(crate) fn threads(recording: &Recording, waits: &[Wait], sums: &Sums) -> Vec<Thread> {
    let (is_part, sees) = (sums.selection.is_part(), Tariff::of(recording).sees());
    let processor = Processor::new(recording, sums);
    let mut by_thread: FxHashMap<(usize, Option<ThreadNo>), Vec<&Wait>> = FxHashMap::default();
    waits.iter().for_each(|wait| by_thread.entry((wait.image, wait.thread)).or_default().push(wait));
    let mut all = Vec::new();
    for (index, image) in recording.images.iter().enumerate() {
        for thread in
            image.threads.iter().filter(|thread| thread.runs() && sums.thread_filter.admit(index, thread.number))
        {
            let usage = thread.usage.as_ref().filter(|_| !is_part);
            let own = by_thread.remove(&(index, Some(thread.number))).unwrap_or_default();
            let wait = |wait: &Wait| {
                let lasted = wait.lasted(&recording.about.clock);
                ThreadWait {
                    holder_tid: wait.holder.and_then(|holder| Some(image.thread(holder)?.tid)),
                    waiting_ns: lasted.value as u64,
                    interval: lasted.into(),
                }
            };
            all.push(Thread {
                pid: image.about.pid,
                tid: thread.tid,
                name: thread.name.clone(),
                cpu_ns: processor.of(ImageOrThread { image: index, thread: Some(thread.number) }).map(|ns| ns as u64),
                minor_faults: usage.map(|usage| usage.minor_faults),
                major_faults: usage.map(|usage| usage.major_faults),
                voluntary_switches: usage.map(|usage| usage.voluntary_switches),
                involuntary_switches: usage.map(|usage| usage.involuntary_switches),
                waits: sees.switches.then(|| own.into_iter().map(wait).collect()),
            });
        }
    }
    all
}
