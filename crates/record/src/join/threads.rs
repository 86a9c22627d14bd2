//! What is known of each thread: its last call, and what happened to it since.

use super::running::Sample;
use memtoll_trace::costs::CostKind;
use rustc_hash::FxHashMap;

/// A call of a hooked function. Times are ticks.
#[derive(Clone, Copy, Default, Debug)]
pub struct Call {
    /// When it began.
    pub begin: u64,
    /// When it returned.
    pub end: u64,
    /// Its stack node.
    pub node: u32,
    /// The stack node to which its costs are charged: that of the block's allocation.
    pub charged: u32,
    /// What it does.
    pub effect: Effect,
}

/// What a call does, as far as its costs are concerned.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// It acquires a block.
    #[default]
    Acquire,
    /// It releases one.
    Release,
    /// It works on mappings.
    Mapping,
}

impl Call {
    /// Ticks of `from..to` that lie in the call.
    pub fn overlap(&self, from: u64, to: u64) -> u64 {
        self.end.min(to).saturating_sub(self.begin.max(from))
    }

    /// Whether an instant lies in the call.
    pub fn holds(&self, ticks: u64) -> bool {
        self.begin <= ticks && ticks <= self.end
    }
}

/// A fault of which it is not known yet whether it happened inside a call.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// When, ticks.
    pub ticks: u64,
    /// What it is if it was outside.
    pub kind: CostKind,
    /// Faults it stands for.
    pub weight: u32,
    /// The address that was touched.
    pub address: u64,
    /// The page had to be read from a disk.
    pub major: bool,
    /// Nobody here owns the page, but an ancestor may.
    pub inherited: bool,
    /// The stack node that owns the page; 0: nobody.
    pub node: u32,
    /// Bytes of the block that owns it.
    pub size: u64,
    /// Where it happened, packed.
    pub place: u64,
    /// The kernel made a huge page.
    pub huge: bool,
    /// How long the kernel handled it, ns, if that is known.
    pub handling: Option<u32>,
}

/// A span without the processor. Ticks.
#[derive(Clone, Copy, Debug)]
pub struct Off {
    /// When it was lost.
    pub from: u64,
    /// When it was got back.
    pub to: u64,
    /// Whether others took it away, or stopped the thread: then it was not waited for anything.
    pub preempted: bool,
    /// What was waited for, if that was the disk.
    pub read: Option<Read>,
}

/// A page that is read from a disk.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The stack node that owns the page.
    pub node: u32,
    /// Bytes of the block or mapping that owns it.
    pub size: u64,
    /// Where it was wanted, packed.
    pub place: u64,
}

/// A thread.
#[derive(Default)]
pub struct Thread {
    /// Its number within the image; 0 until it has recorded something.
    pub number: u32,
    /// Whether anything of what follows must be looked at when the next call comes.
    pub attention: bool,
    /// The last call.
    pub last: Call,
    /// Ticks of the last call that are not accounted for otherwise: without waiting and faults.
    pub rest: u64,
    /// Ticks that the faults of the last call took beyond the whole call.
    pub beyond: u64,
    /// Ticks of faults that are still to be taken off calls that change mappings.
    pub owed: u64,
    /// Bytes of the last call's block.
    pub size: u64,
    /// Since when it does not have the processor, ticks, and whether others took it away.
    pub out_since: Option<(u64, bool)>,
    /// When it was seen to be stopped, by a signal or a debugger, ticks: the span around that is no waiting.
    pub stopped_at: Option<u64>,
    /// Spans without the processor since the last call.
    pub off: Vec<Off>,
    /// Faults since the last call.
    pub faults: Vec<Fault>,
    /// Where it ran since the last call.
    pub samples: Vec<Sample>,
    /// Anonymous memory that was mapped since the last call: when (ticks) and how much (bytes).
    pub mapped: Vec<(u64, u64)>,
    /// The heap's end moved since the last call: from, to.
    pub heap_moved: Option<(u64, u64)>,
    /// A block with a mapping of its own is being reallocated.
    pub remaps: bool,
    /// What the last call does, as long as more may be told of what happened in it.
    pub open: Option<Open>,
}

/// A call that was told of when it began: what happened in it is told later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// It releases a block, and may have given memory back to the system.
    Release {
        /// Bytes given back, as far as they are known.
        shrunk: u64,
    },
    /// It works on mappings.
    Mapping,
}

impl Thread {
    /// Whether the thread was stopped in a span without the processor, ticks.
    pub fn was_stopped(&self, from: u64, to: u64) -> bool {
        self.stopped_at.is_some_and(|at| (from..to).contains(&at))
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
    /// A thread begins to record.
    pub fn begins(&mut self, number: u32, tid: u32) {
        let index = self.index(tid);
        self.all[index].number = number;
        if self.by_number.len() <= number as usize {
            self.by_number.resize(number as usize + 1, 0);
        }
        self.by_number[number as usize] = index + 1;
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
    pub fn by_number(&mut self, number: u32) -> Option<&mut Thread> {
        let index = *self.by_number.get(number as usize)?;
        self.all.get_mut(index.wrapping_sub(1))
    }

    /// A thread is gone; another one may get its id.
    pub fn ends(&mut self, tid: u32) -> Option<&mut Thread> {
        let index = self.by_tid.remove(&tid)?;
        self.all.get_mut(index)
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
