//! Who waited in the allocator for whom.

use crate::estimate::Estimate;
use crate::tariff;
use crate::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_trace::costs::CostKind;
use memtoll_trace::ids::{ThreadNo, Units};
use memtoll_trace::meta::Clock;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How long one thread waited inside the allocator while another one was in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Index of the process image in [`Recording::images`].
    pub image: usize,
    /// The thread that waited, if it is known.
    pub thread: Option<ThreadNo>,
    /// The thread that was in the allocator for the longest time meanwhile, if one is known.
    pub holder: Option<ThreadNo>,
    /// For how long, units.
    pub time: u64,
}

impl Wait {
    /// For how long, ns, with its error.
    pub fn lasted(&self, clock: &Clock) -> Estimate {
        tariff::waits(clock.seconds(self.time) * 1e9)
    }
}

/// How long threads, those of `thread_filter`, waited between two times (units), longest first, and statements about what is
/// missing. Reads the costs of that time.
pub fn waits(recording: &Recording, from: Units, to: Units, thread_filter: &ThreadFilter) -> (Vec<Wait>, Vec<String>) {
    let (mut all, mut damage) = (Vec::new(), Vec::new());
    for image in 0..recording.images.len() {
        let mut pairs: FxHashMap<(Option<ThreadNo>, Option<ThreadNo>), u64> = FxHashMap::default();
        let read = recording.for_each_cost_between(image, from, to, |cost| {
            let waited = matches!(cost.kind, CostKind::Waiting | CostKind::Spinning);
            let counts = || thread_filter.admit(image, cost.thread);
            if waited && cost.meets(from, to) && counts() {
                let sum = pairs.entry((cost.thread, cost.holder)).or_default();
                *sum = sum.wrapping_add(cost.amount_between(from, to));
            }
        });
        damage.extend(read.err().map(|why| why.to_string()));
        all.extend(pairs.into_iter().map(|((thread, holder), time)| Wait { image, thread, holder, time }));
    }
    all.sort_by_key(|wait| (Reverse(wait.time), wait.image, wait.thread, wait.holder));
    (all, damage)
}

/// A single wait inside the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Single {
    /// Index of the process image in [`Recording::images`].
    pub image: usize,
    /// The thread that waited, if it is known.
    pub thread: Option<ThreadNo>,
    /// The thread that was in the allocator for the longest time meanwhile, if one is known.
    pub holder: Option<ThreadNo>,
    /// When it began to wait, units.
    pub began: u64,
    /// When it went on, units.
    pub ended: u64,
}

/// The longest waits that overlap a span of time (units), of `thread_filter`: at most `most`, by when they ended. How many there
/// are in all, and statements about what is missing.
pub fn longest(
    recording: &Recording,
    from: u64,
    to: u64,
    thread_filter: &ThreadFilter,
    most: usize,
) -> (Vec<Single>, usize, Vec<String>) {
    let mut kept: BinaryHeap<Reverse<(u64, Single)>> = BinaryHeap::new();
    let (mut count, mut damage) = (0, Vec::new());
    for image in 0..recording.images.len() {
        if thread_filter.of(image).is_none() {
            continue;
        }
        let read = recording.for_each_cost_between(image, Units(from), Units(to), |cost| {
            let waited = matches!(cost.kind, CostKind::Waiting | CostKind::Spinning);
            let began = cost.began();
            let counts = || thread_filter.admit(image, cost.thread);
            if waited && cost.time >= Units(from) && began <= Units(to) && counts() {
                count += 1;
                let wait =
                    Single { image, thread: cost.thread, holder: cost.holder, began: began.0, ended: cost.time.0 };
                kept.push(Reverse((cost.amount, wait)));
                if kept.len() > most {
                    kept.pop();
                }
            }
        });
        damage.extend(read.err().map(|why| why.to_string()));
    }
    let mut all: Vec<Single> = kept.into_iter().map(|Reverse((_, wait))| wait).collect();
    all.sort_by_key(|wait| (wait.ended, wait.image, wait.thread));
    (all, count, damage)
}
