//! What threads waited for: the longest waits of a recording.

use memtoll_query::Answer;
use memtoll_trace::costs::CostKind;
use memtoll_trace::ids::ThreadNo;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most waits that are slices: viewers draw no more.
pub const MOST: usize = 200_000;

/// What a thread waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// The allocator, usually for its lock.
    Allocator,
    /// The disk, in a major fault.
    Disk,
    /// The processor, or something that is not memory's.
    Processor,
}

impl Why {
    /// What tracks and slices are called.
    pub fn name(self) -> &'static str {
        match self {
            Why::Allocator => "waiting in the allocator",
            Why::Disk => "waiting for the disk",
            Why::Processor => "off the CPU",
        }
    }

    fn of(kind: CostKind) -> Option<Why> {
        match kind {
            CostKind::Waiting | CostKind::Spinning => Some(Why::Allocator),
            CostKind::Reading => Some(Why::Disk),
            CostKind::OffProcessor | CostKind::Preempted => Some(Why::Processor),
            _ => None,
        }
    }
}

/// A wait, units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wait {
    /// How long.
    pub length: u64,
    /// When it ended.
    pub end: u64,
    /// Index of the process image in the recording.
    pub image: usize,
    /// The thread, if it is known.
    pub thread: Option<ThreadNo>,
    /// What for.
    pub why: Why,
}

/// All waits of what is selected.
fn each(answer: &Answer, mut take: impl FnMut(Wait)) {
    let Some(sums) = &answer.basis.sums else { return };
    let (recording, selection) = (answer.basis.recording, sums.selection);
    for (image, _) in sums.counted() {
        let Some(threads) = sums.thread_filter.of(image) else { continue };
        // The sums have reported damage.
        let _ = recording.for_each_cost_between(image, selection.from, selection.to, |cost| {
            let Some(why) = Why::of(cost.kind).filter(|_| threads.admit(cost.thread)) else { return };
            if let Some(cost) = cost.part_between(selection.from, selection.to) {
                take(Wait { length: cost.amount, end: cost.time.0, image, thread: cost.thread, why });
            }
        });
    }
}

/// The longest ones, by thread and time.
pub fn longest(answer: &Answer) -> Vec<Wait> {
    let mut longest: BinaryHeap<Reverse<Wait>> = BinaryHeap::new();
    each(answer, |wait| {
        longest.push(Reverse(wait));
        if longest.len() > MOST {
            longest.pop();
        }
    });
    let mut all: Vec<Wait> = longest.into_iter().map(|Reverse(wait)| wait).collect();
    all.sort_unstable_by_key(|wait| (wait.image, wait.thread, wait.why, wait.end, wait.length));
    all
}

/// How many others there are.
pub fn left_out(answer: &Answer) -> u64 {
    let mut count = 0u64;
    each(answer, |_| count += 1);
    count.saturating_sub(MOST as u64)
}
