//! What is known of each thread: its last call and in which stage that is, whether it has the processor, and what happened
//! since.

use super::call_time::CallTime;
use super::fault_time::Observed;
use super::heap_pages::Share;
use super::sample::Sample;
use memtoll_trace::costs::CostKind;
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo, Ticks};
use rustc_hash::FxHashMap;

/// Faults, samples or spans of one thread that wait for its next call, at the most: then they are told as outside of all. A
/// program that computes for a minute between two calls has 60,000 samples.
pub const MOST_WAITING: usize = 1 << 16;

/// Number of an instant at which a thread fell asleep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct SleepNo(pub u64);

/// A call of a hooked function.
#[derive(Clone, Copy, Default, Debug)]
pub struct Call {
    /// When it began.
    pub begin: Ticks,
    /// When it returned.
    pub end: Ticks,
    /// Its stack.
    pub node: Option<NodeId>,
    /// The stack to which its costs are charged: that of the block's allocation.
    pub charged: Option<NodeId>,
    /// Of its block or mapping.
    pub size: Bytes,
    /// What it does.
    pub effect: Effect,
}

/// What a call does, as far as its costs are concerned.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// It acquires a block.
    #[default]
    Acquire,
    Release,
    /// It works on mappings.
    Mapping,
}

impl Call {
    /// How long it took.
    pub fn length(&self) -> Ticks {
        self.end - self.begin
    }

    /// When it counts, if it is one of the allocator's: as its event does.
    pub fn counts_at(&self) -> Option<Ticks> {
        match self.effect {
            Effect::Acquire => Some(self.end),
            Effect::Release => Some(self.begin),
            Effect::Mapping => None,
        }
    }

    /// How much of `from..to` lies in the call.
    pub fn overlap(&self, from: Ticks, to: Ticks) -> Ticks {
        self.end.min(to).saturating_sub(self.begin.max(from))
    }

    /// Whether an instant lies in the call.
    pub fn holds(&self, at: Ticks) -> bool {
        self.begin <= at && at <= self.end
    }
}

/// The stage in which a thread's last call is (see the table in `join`).
#[derive(PartialEq, Eq, Debug, Default)]
pub enum Stage {
    /// All of it is charged. What is told now waits for the next call.
    #[default]
    Settled,
    /// The same, and the moves of the heap's end that it made were told before it: the next ones are the next call's.
    MovedTheEnd,
    /// It was told of when it began, and releases a block: what is told of the time until its end is the call's.
    Releasing {
        /// What it gave back to the system, as far as that is known.
        shrunk: Bytes,
        /// Whose pages of the heap were among that. Where no owner is known, all is the call's.
        brought: Vec<Share>,
    },
    /// It was told of when it began, and works on mappings: spans off the processor are the call's.
    Mapping,
}

impl Stage {
    /// A call that releases a block, and the bytes that it gives back with its mapping.
    pub fn releasing(unmapped: Bytes) -> Stage {
        Stage::Releasing { shrunk: unmapped, brought: Vec::new() }
    }
}

/// The end of the heap moved.
pub struct HeapMove {
    pub from: u64,
    pub to: u64,
    /// Whose pages it gave back.
    pub brought: Vec<Share>,
}

impl HeapMove {
    /// By how much it moved up; nothing if it moved down.
    pub fn grown(&self) -> Bytes {
        Bytes(self.to.saturating_sub(self.from))
    }

    /// The end moves once more before its call is known.
    pub fn goes_on(&mut self, next: HeapMove) {
        self.to = next.to;
        self.brought.extend(next.brought);
    }

    /// By how much it moved down.
    pub fn shrunk(&self) -> Bytes {
        Bytes(self.from.saturating_sub(self.to))
    }
}

/// A fault of which it is not known yet whether it happened inside a call.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// When.
    pub at: Ticks,
    /// What it is if it was outside.
    pub kind: CostKind,
    /// The address that was touched.
    pub address: u64,
    /// The page had to be read from a disk.
    pub major: bool,
    /// The page has no owner here, but perhaps in an ancestor.
    pub inherited: bool,
    /// Who owns the page.
    pub node: Option<NodeId>,
    /// Of the block that owns it.
    pub size: Bytes,
    /// The address of the code in which it happened; `None`: in the kernel.
    pub code: Option<u64>,
    /// What says how long it took.
    pub observed: Observed,
}

/// A span without the processor.
#[derive(Clone, Copy, Debug)]
pub struct Off {
    /// When it was lost.
    pub from: Ticks,
    /// When it was got back.
    pub to: Ticks,
    /// Whether others took it away, or stopped the thread: then it was not waited for anything.
    pub preempted: bool,
    /// What was waited for, if that was the disk.
    pub read: Option<Read>,
    /// Which instant of falling asleep it begins with, if that is known.
    pub sleep: Option<SleepNo>,
}

/// A page that is read from a disk.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Who owns the page.
    pub node: Option<NodeId>,
    /// Of the block or mapping that owns it.
    pub size: Bytes,
    /// The address of the code that wanted it; `None`: the kernel did.
    pub code: Option<u64>,
}

/// Whether a thread has a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Processor {
    /// It has one, or the kernel told of none.
    #[default]
    On,
    /// It has lost it.
    Off {
        since: Ticks,
        /// Whether others took it away.
        preempted: bool,
        /// Otherwise, which instant of falling asleep that was.
        sleep: Option<SleepNo>,
    },
}

/// What was told since the last call, and may lie in the next one.
#[derive(Default)]
pub struct Waiting {
    /// Spans without the processor.
    pub off: Vec<Off>,
    pub faults: Vec<Fault>,
    /// Where the thread ran.
    pub samples: Vec<Sample>,
    /// Anonymous memory that was mapped: when, and how much.
    pub mapped: Vec<(Ticks, Bytes)>,
    /// The heap's end moved.
    pub heap_moved: Option<HeapMove>,
    /// A block with a mapping of its own is being reallocated.
    pub remaps: bool,
}

impl Waiting {
    /// Whether nothing was told.
    pub fn is_nothing(&self) -> bool {
        let Waiting { off, faults, samples, mapped, heap_moved, remaps } = self;
        let told = !(off.is_empty() && faults.is_empty() && samples.is_empty() && mapped.is_empty());
        !told && heap_moved.is_none() && !remaps
    }
}

#[derive(Default)]
pub struct Thread {
    /// Its number, once it has recorded something.
    pub number: Option<ThreadNo>,
    /// Whether the next call must look at more than itself. Where this is false, the last call is settled and nothing waits:
    /// most calls then are over with a few stores.
    pub attention: bool,
    pub last: Call,
    pub stage: Stage,
    /// Of the last call that was more than a few stores: what is left of its time.
    pub call_time: CallTime,
    /// Its calls were compared with what threads fell asleep before this one.
    pub compared: SleepNo,
    /// It makes no call any more.
    pub is_gone: bool,
    /// What is still to be taken off calls that change mappings, because faults in earlier ones stood for theirs.
    pub owed: Ticks,
    /// Whether it runs.
    pub processor: Processor,
    /// When it was last seen to do something else than handle a fault, put off by the time without a processor since.
    pub seen: Ticks,
    /// When it was seen to be stopped, by a signal or a debugger: the span around that is no waiting.
    pub stopped_at: Option<Ticks>,
    /// What waits for the next call.
    pub waiting: Waiting,
}

impl Thread {
    /// Something waits for the next call.
    pub fn wait(&mut self) -> &mut Waiting {
        self.attention = true;
        &mut self.waiting
    }

    /// The last instant before `at` at which it was doing something else than handle the fault that is over then.
    pub fn seen_before(&self, at: Ticks) -> Ticks {
        let call = if self.last.end <= at { self.last.end } else { self.last.begin };
        self.seen.max(call).min(at)
    }

    /// The thread gets a processor, or ends. Returns the span without one.
    pub fn runs_again(&mut self, at: Ticks) -> Option<Off> {
        let Processor::Off { since: from, preempted, sleep } = std::mem::take(&mut self.processor) else { return None };
        self.seen = self.seen_before(from).saturating_add(at.saturating_sub(from));
        let was_stopped = self.stopped_at.is_some_and(|stopped| (from..at).contains(&stopped));
        (from < at).then_some(Off { from, to: at, preempted: preempted || was_stopped, read: None, sleep })
    }
}

/// The threads of a process image, by the kernel's ids and by the recorder's numbers.
#[derive(Default)]
pub struct Threads {
    all: Vec<Thread>,
    by_tid: FxHashMap<u32, usize>,
    by_number: Vec<usize>, // index + 1
}

impl Threads {
    /// Whether several threads have begun to record.
    pub fn are_several(&self) -> bool {
        self.by_number.len() > 2
    }

    /// A thread begins to record.
    pub fn begins(&mut self, number: ThreadNo, tid: u32) {
        let (index, place) = (self.index(tid), number.get() as usize);
        self.all[index].number = Some(number);
        if self.by_number.len() <= place {
            self.by_number.resize(place + 1, 0);
        }
        self.by_number[place] = index + 1;
    }

    fn index(&mut self, tid: u32) -> usize {
        *self.by_tid.entry(tid).or_insert_with(|| {
            self.all.push(Thread::default());
            self.all.len() - 1
        })
    }

    /// The thread with this id.
    pub fn by_tid(&mut self, tid: u32) -> &mut Thread {
        let index = self.index(tid);
        &mut self.all[index]
    }

    /// The thread with this number, if it has begun.
    #[inline(always)]
    pub fn by_number(&mut self, number: ThreadNo) -> Option<&mut Thread> {
        let index = *self.by_number.get(number.get() as usize)?;
        self.all.get_mut(index.wrapping_sub(1))
    }

    /// A thread is gone; another one may get its id.
    pub fn ends(&mut self, tid: u32) -> Option<&mut Thread> {
        let index = self.by_tid.remove(&tid)?;
        let thread = self.all.get_mut(index)?;
        thread.is_gone = true;
        Some(thread)
    }

    /// All threads.
    pub fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.all.iter()
    }

    /// All threads, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Thread> {
        self.all.iter_mut()
    }
}
