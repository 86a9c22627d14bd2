//! Joins what the kernel tells with the calls of the program: which call or block caused a page fault, which calls
//! waited, which changed mappings. Everything comes in the order of time; a call that acquires comes when it returns, so
//! what happened inside it waits until then.
//!
//! ```text
//! thread      ---[ malloc ............ ]-----------[ free ........ ]----->
//!                   fault   off..on                    off..on
//! told here         1       2           3          4           5
//! ```
//!
//! The fault (1) and the span off the processor (2) wait until the call (3) says that they were inside it. A release is
//! told when it begins (4), so what follows (5) is compared with it at once.
//!
//! So the last call of a thread is in one of three stages ([`Stage`]), and what is told next is charged or waits:
//!
//! ```text
//! told next            last call: Settled       Releasing                        Mapping
//! -------------------  -----------------------  -------------------------------  ----------------------------
//! fault in its time    waits (*)                the call's; its time is less     waits
//! off in its time      waits                    the call's; its time is less     the same
//! the heap has moved   the call's if it was     what it gave back is more        the call's if the heap grew
//!                      long, else waits
//! the next call        takes what waits         charges its time to mappings     charges its time to mappings,
//!                                               if it gave back, else perhaps    then takes what waits
//!                                               to another thread; then takes
//!                                               what waits
//! end of the thread    what waits was outside   the same, first                  the same, first
//!
//! A span off the processor inside a call is waiting if another thread was in the allocator when it began
//! (`lock_holders`).
//!
//! (*) a release shorter than [`LONG_MICROSECONDS`] is settled at once, and pays all the same
//! ```
//!
//! and the next call's stage follows from what it does: `Settled` if it acquires or was short, `Releasing` if it releases,
//! `Mapping` if it works on mappings.

mod address_space;
mod call_time;
mod calls;
mod cpu_samples;
mod fault_time;
mod heap_pages;
mod kernel_events;
mod lock_holders;
mod places;
mod sample;
#[cfg(test)]
mod tests;
mod threads;

pub use address_space::{AddressSpace, Kind};
pub use places::{CodeMapped, CodePlace};
pub use threads::{Call, Effect};

use crate::machine_facts::{MachineFacts, span};
use crate::proc_files::MapLine;

use fault_time::FaultTime;
use heap_pages::HeapPages;
use lock_holders::LockHolders;
use memtoll_symbols::AllocatorCode;
use memtoll_trace::costs::{Cost, CostKind, Place};
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo, Ticks};
use memtoll_trace::meta::KernelStats;
use places::Places;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
#[cfg(doc)]
use threads::Stage;
use threads::{Fault, MOST_WAITING, Thread, Threads};

/// Blocks of this size and more are also known in the order of their addresses: finding the block around an address takes
/// 256 looks below this size (one for each place where a block can begin), and one above.
pub const LARGE: Bytes = Bytes(4096);

/// Shorter calls are settled by a few stores, if nothing waits for them: they have not entered the kernel to map or to wait,
/// which takes 1.5 us at least here.
const LONG_MICROSECONDS: u64 = 1;

/// The name of the shared memory in lists of mappings.
const ARENA: &str = "/memfd:memtoll";

/// A block or mapping that owns an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The stack of its allocation.
    pub node: Option<NodeId>,
    pub size: Bytes,
}

/// A fault of memory that a forked child may have inherited.
pub struct Question {
    thread: Option<ThreadNo>,
    fault: Fault,
}

impl Question {
    pub fn address(&self) -> u64 {
        self.fault.address
    }

    /// When.
    pub fn at(&self) -> Ticks {
        self.fault.at
    }
}

/// Whose inherited memory is.
pub struct Answer {
    /// The stack of its allocation or mapping.
    pub node: Option<NodeId>,
    /// Of the block or mapping.
    pub size: Bytes,
    /// Whether a file was mapped there.
    pub of_file: bool,
}

/// A mapping that a call of the program made, and that it can use.
pub struct OwnMapping {
    /// First address.
    pub start: u64,
    /// Address behind it.
    pub end: u64,
    /// The stack of the call.
    pub node: Option<NodeId>,
}

/// What the join knows of one process image.
pub struct Join {
    around: Arc<MachineFacts>,
    fault_time: FaultTime,
    /// A call of this length is looked at.
    long: Ticks,
    threads: Threads,
    /// What lies where; shared with who wants to know how it was at a fork.
    space: Arc<AddressSpace>,
    /// The image is a forked child.
    forked: bool,
    /// What a forked child has mapped or unmapped itself.
    replaced: AddressSpace,
    questions: Vec<Question>,
    began: Ticks,
    /// The kernel tells of the mappings before `began`, too.
    told_from_exec: bool,
    /// Large blocks, by address.
    large: BTreeMap<u64, Bytes>,
    /// Addresses of blocks with a mapping of their own.
    mapped: BTreeSet<u64>,
    /// Addresses of huge pages that faulted.
    huge_seen: BTreeSet<u64>,
    heap: HeapPages,
    lock_holders: LockHolders,
    places: Places,
    samples: cpu_samples::Samples,
    costs: Vec<Cost>,
    stats: KernelStats,
    variance: f64,
}

impl Join {
    /// For an image that has just begun, at the time `began`, with `mappings`; `None`: the kernel tells of all since its exec.
    pub fn new(around: Arc<MachineFacts>, began: Ticks, mappings: Option<&[MapLine]>) -> Join {
        let mut join = Join {
            fault_time: FaultTime { quiet: around.fault, ticks_per_microsecond: around.ticks_per_microsecond },
            long: around.microseconds(LONG_MICROSECONDS),
            around,
            threads: Threads::default(),
            space: Arc::default(),
            forked: false,
            replaced: AddressSpace::default(),
            questions: Vec::new(),
            began,
            told_from_exec: mappings.is_none(),
            large: BTreeMap::new(),
            mapped: BTreeSet::new(),
            huge_seen: BTreeSet::new(),
            heap: HeapPages::default(),
            lock_holders: LockHolders::default(),
            places: Places::default(),
            samples: cpu_samples::Samples::default(),
            costs: Vec::new(),
            stats: KernelStats::default(),
            variance: 0.0,
        };
        for line in mappings.unwrap_or_default() {
            let kind = join.kind_of(&line.path, line.writable, line.shared);
            join.space_mut().map(line.start, Bytes(line.end - line.start), kind);
            if line.executable && line.path.starts_with('/') {
                let mapped = CodeMapped { path: line.path.as_str().into(), at: Ticks::ZERO };
                join.samples.code_at(line.start, line.end - line.start, line.offset, mapped);
            }
        }
        join
    }

    fn space_mut(&mut self) -> &mut AddressSpace {
        Arc::make_mut(&mut self.space)
    }

    /// What lies where now.
    pub fn space(&self) -> Arc<AddressSpace> {
        self.space.clone()
    }

    /// The image is a forked child: memory that it knows nothing of may be inherited.
    pub fn is_forked(&mut self) {
        self.forked = true;
    }

    /// The same of one that has made no call, and of which is known what lay where at the fork.
    pub fn is_forked_with(&mut self, mut space: AddressSpace) {
        space.forget_owners();
        self.space = Arc::new(space);
        self.forked = true;
    }

    /// Whether a forked child has mapped or unmapped what is at `address` itself.
    pub fn has_replaced(&self, address: u64) -> bool {
        self.replaced.find(address).is_some()
    }

    /// Whether there are faults of which it is not known whether their memory is inherited.
    pub fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    /// These faults, each of which is to be answered.
    pub fn take_questions(&mut self) -> Vec<Question> {
        std::mem::take(&mut self.questions)
    }

    /// Whose memory a question was about.
    pub fn answered(&mut self, question: Question, answer: Option<Answer>) {
        let Question { thread, mut fault } = question;
        fault.inherited = false;
        if let Some(Answer { node, size, of_file }) = answer {
            (fault.node, fault.size) = (node, size);
            fault.kind = match fault {
                Fault { major: true, .. } => CostKind::MajorFault,
                _ if of_file => CostKind::MappedFileFault,
                _ if fault.observed.huge => CostKind::HugeFault,
                _ => CostKind::Fault,
            };
        }
        self.fault_is(thread, &fault, None);
    }

    fn kind_of(&self, path: &str, writable: bool, shared: bool) -> Kind {
        match path {
            "" | "//anon" | "[heap]" => Kind::Anonymous,
            "[stack]" => Kind::Stack,
            path if self.around.is_recorder(path) || path.starts_with(ARENA) => Kind::Recorder,
            _ if shared && writable => Kind::Shared,
            _ if writable => Kind::Globals,
            _ => Kind::File,
        }
    }

    /// The mapping that holds `address`, if a call of the program made it and it is no file.
    pub fn own_mapping_at(&self, address: u64) -> Option<OwnMapping> {
        let (start, mapping) = self.space.find(address)?;
        let is_own = mapping.since.is_some() && mapping.kind == Kind::Anonymous && !mapping.reserved;
        is_own.then_some(OwnMapping { start, end: mapping.end, node: mapping.node })
    }

    /// A thread begins to record. `handle` is the C library's, which lies at the end of the thread's stack.
    pub fn thread_begins(&mut self, number: ThreadNo, tid: u32, handle: u64) {
        // The first thread's lies elsewhere.
        if number.get() > 1 {
            self.has_stack(handle);
        }
        self.threads.begins(number, tid);
    }

    /// A thread was made, perhaps one that never records anything, with this handle.
    pub fn has_stack(&mut self, handle: u64) {
        self.space_mut().is_stack(handle);
    }

    /// A thread was seen to be stopped.
    pub fn is_stopped(&mut self, number: ThreadNo, at: Ticks) {
        if let Some(thread) = self.threads.by_number(number) {
            thread.stopped_at = Some(at);
        }
    }

    /// A large block is acquired.
    #[cold]
    pub fn large_block(&mut self, address: u64, size: Bytes) {
        self.large.insert(address, size);
    }

    /// A large block is released; `reallocates`: by this thread, for another one, to which its mapping may move.
    #[cold]
    pub fn large_block_gone(&mut self, address: u64, reallocates: Option<ThreadNo>) {
        self.large.remove(&address);
        if let Some(number) = reallocates
            && self.mapped.remove(&address)
            && let Some(thread) = self.threads.by_number(number)
        {
            thread.wait().remaps = true;
        }
    }

    /// Where the large block begins that holds `address`.
    pub fn large_block_at(&self, address: u64) -> Option<u64> {
        let (start, size) = self.large.range(..=address).next_back()?;
        (Bytes(address - start) < *size).then_some(*start)
    }

    /// A cost of a call, at an instant: how much is left open.
    fn cost(&self, kind: CostKind, at: Ticks, thread: Option<ThreadNo>, call: &Call) -> Cost {
        Cost {
            inside: call.counts_at().map(|at| self.around.at(at)),
            thread,
            node: call.charged,
            size: call.size,
            place: Place::call(call.node),
            ..Cost::of(kind, self.around.at(at), 0)
        }
    }

    fn push(&mut self, cost: Cost) {
        use CostKind::*;
        let stats = &mut self.stats;
        match cost.kind {
            Fault | HugeFault | MajorFault | MappedFileFault => stats.faults_charged += cost.amount,
            Grown => {
                stats.grown_calls += 1;
                stats.grown_bytes += cost.amount;
            }
            Shrunk => {
                stats.shrunk_calls += 1;
                stats.shrunk_bytes += cost.amount;
            }
            kind => kind.uncharged().into_iter().for_each(|of| *stats.uncharged(of) += cost.amount),
        }
        self.costs.push(cost);
    }

    fn forget_huge(&mut self, start: u64, length: Bytes) {
        if !self.huge_seen.is_empty() {
            self.huge_seen.retain(|page| !(start..start.saturating_add(length.0)).contains(page));
        }
    }

    /// The calls of a thread are over: what waited for the next one was outside of all.
    fn nothing_follows(&mut self, number: ThreadNo, at: Ticks) {
        self.settle(number);
        let Some(thread) = self.threads.by_number(number) else { return };
        let out = thread.runs_again(at);
        let waiting = &mut thread.waiting;
        let (faults, off) = (std::mem::take(&mut waiting.faults), std::mem::take(&mut waiting.off));
        let samples = std::mem::take(&mut waiting.samples);
        let last = thread.last;
        self.samples_met(samples, &last);
        faults.iter().for_each(|fault| self.fault_is(Some(number), fault, None));
        off.into_iter().chain(out).for_each(|off| self.was_off(Some(number), off, &last));
    }

    /// The image is over.
    pub fn finish(&mut self, at: Ticks) {
        let numbers: Vec<ThreadNo> = self.threads.iter().filter_map(|thread| thread.number).collect();
        for number in numbers {
            self.nothing_follows(number, at);
        }
        self.decide(Ticks(u64::MAX));
        // Threads that never recorded anything.
        let silent = |thread: &&mut Thread| thread.number.is_none();
        let silent: Vec<Thread> = self.threads.iter_mut().filter(silent).map(std::mem::take).collect();
        for Thread { waiting, .. } in silent {
            waiting.faults.iter().for_each(|fault| self.fault_is(None, fault, None));
            self.samples_met(waiting.samples, &Call::default());
        }
    }

    /// Costs that were not taken yet.
    pub fn costs(&mut self) -> &mut Vec<Cost> {
        &mut self.costs
    }

    /// Code at which costs were paid, in the order of the places' numbers.
    pub fn code_places(&self) -> &[CodePlace] {
        self.places.all()
    }

    /// What was counted. `allocator` knows which code of a file is the allocator's.
    pub fn stats(&self, allocator: impl FnMut(&Arc<str>) -> Arc<AllocatorCode>) -> KernelStats {
        let running = self.samples.sorted(allocator);
        KernelStats { faults_error: self.variance.sqrt(), running, ..self.stats.clone() }
    }
}
