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

mod address_space;
mod calls;
mod places;
mod running;
#[cfg(test)]
mod tests;
mod threads;
mod told;

pub use address_space::{AddressSpace, Kind};
pub use threads::{Call, Effect};

use crate::clock::UNIT_TICKS_LOG2;
use crate::process::MapLine;
use crate::run::Run;

use memtoll_trace::costs::{Cost, CostKind, Place};
use memtoll_trace::meta::KernelStats;
use places::Places;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use threads::{Fault, Off, Thread, Threads};

/// Blocks of this size and more are also known in the order of their addresses. Bytes.
pub const LARGE: u64 = 4096;

/// The name of the shared memory in lists of mappings.
const ARENA: &str = "/memfd:memtoll";

/// Faults, samples or spans of one thread that wait for its next call.
const MOST_WAITING: usize = 1 << 16;

/// A block or mapping that owns an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The stack node of its allocation.
    pub node: u32,
    /// Its size, bytes.
    pub size: u64,
}

/// A fault of memory that a forked child may have inherited.
pub struct Question {
    thread: u32,
    fault: Fault,
}

impl Question {
    /// The address.
    pub fn address(&self) -> u64 {
        self.fault.address
    }

    /// When, ticks.
    pub fn ticks(&self) -> u64 {
        self.fault.ticks
    }
}

/// Whose inherited memory is.
pub struct Answer {
    /// The stack node of its allocation or mapping.
    pub node: u32,
    /// Bytes of the block or mapping.
    pub size: u64,
    /// Whether a file was mapped there.
    pub of_file: bool,
}

/// What the join knows of one process image.
pub struct Join {
    run: Arc<Run>,
    threads: Threads,
    space: Arc<AddressSpace>, // shared with who wants to know how it was at a fork
    forked: bool,
    replaced: AddressSpace, // what a forked child has mapped or unmapped itself
    questions: Vec<Question>,
    began: u64,                // ticks
    told_from_exec: bool,      // the kernel tells of the mappings before `began`, too
    large: BTreeMap<u64, u64>, // blocks: address, bytes
    mapped: BTreeSet<u64>,     // blocks with a mapping of their own
    huge_seen: BTreeSet<u64>,  // huge pages that faulted
    places: Places,
    samples: running::Samples,
    long: u64, // ticks
    costs: Vec<Cost>,
    stats: KernelStats,
    variance: f64,
}

impl Join {
    /// For an image that has just begun, at the time `began`, in ticks, with `mappings`; `None`: the kernel tells of all since
    /// its exec.
    pub fn new(run: Arc<Run>, began: u64, mappings: Option<&[MapLine]>) -> Join {
        let long = run.ticks_per_microsecond;
        let mut join = Join {
            run,
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
            places: Places::default(),
            samples: running::Samples::default(),
            long,
            costs: Vec::new(),
            stats: KernelStats::default(),
            variance: 0.0,
        };
        for line in mappings.unwrap_or_default() {
            let kind = join.kind_of(&line.path);
            join.space_mut().map(line.start, line.end - line.start, kind);
            if line.executable && line.path.starts_with('/') {
                join.samples.code_at(line.start, line.end - line.start, line.offset, &line.path.as_str().into());
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
                Fault { huge: true, .. } => CostKind::HugeFault,
                _ => CostKind::Fault,
            };
        }
        self.fault_is(thread, &fault, None);
    }

    fn kind_of(&self, path: &str) -> Kind {
        match path {
            "" | "//anon" | "[heap]" => Kind::Anonymous,
            "[stack]" => Kind::Stack,
            path if self.run.is_recorder(path) || path.starts_with(ARENA) => Kind::Recorder,
            _ => Kind::File,
        }
    }

    /// A thread begins to record. `handle` is the C library's, which lies at the end of the thread's stack.
    pub fn thread_begins(&mut self, number: u32, tid: u32, handle: u64) {
        // The first thread's lies elsewhere.
        if number > 1 {
            self.space_mut().is_stack(handle);
        }
        self.threads.begins(number, tid);
    }

    /// A thread was seen to be stopped at a time in ticks.
    pub fn is_stopped(&mut self, number: u32, ticks: u64) {
        if let Some(thread) = self.threads.by_number(number) {
            thread.stopped_at = Some(ticks);
        }
    }

    /// A large block is acquired.
    #[cold]
    pub fn large_block(&mut self, address: u64, size: u64) {
        self.large.insert(address, size);
    }

    /// A large block is released; `reallocates`: by this thread, for another one, to which its mapping may move.
    #[cold]
    pub fn large_block_gone(&mut self, address: u64, reallocates: Option<u32>) {
        self.large.remove(&address);
        if let Some(number) = reallocates
            && self.mapped.remove(&address)
            && let Some(thread) = self.threads.by_number(number)
        {
            thread.remaps = true;
            thread.attention = true;
        }
    }

    /// Where the large block begins that holds `address`.
    pub fn large_block_at(&self, address: u64) -> Option<u64> {
        let (start, size) = self.large.range(..=address).next_back()?;
        (address - start < *size).then_some(*start)
    }

    fn cost(&self, kind: CostKind, ticks: u64, thread: u32, call: &Call) -> Cost {
        Cost {
            time: self.run.clock.units(ticks),
            kind,
            inside: call.effect != Effect::Mapping,
            thread,
            amount: 0,
            node: call.charged,
            size: 0,
            place: Place::Call(call.node).packed(),
            holder: 0,
        }
    }

    fn push(&mut self, cost: Cost) {
        use CostKind::*;
        let stats = &mut self.stats;
        match cost.kind {
            Fault | HugeFault | MajorFault | MappedFileFault => stats.faults_charged += cost.amount,
            FileFault => stats.file_faults += cost.amount,
            StackFault => stats.stack_faults += cost.amount,
            RecorderFault => stats.recorder_faults += cost.amount,
            UnownedFault => stats.unowned_faults += cost.amount,
            Grown => {
                stats.grown_calls += 1;
                stats.grown_bytes += cost.amount;
            }
            Shrunk => {
                stats.shrunk_calls += 1;
                stats.shrunk_bytes += cost.amount;
            }
            Mapping | Waiting | Spinning | Preempted | OffProcessor | Reading => {}
        }
        self.costs.push(cost);
    }

    fn forget_huge(&mut self, start: u64, length: u64) {
        if !self.huge_seen.is_empty() {
            self.huge_seen.retain(|page| !(start..start.saturating_add(length)).contains(page));
        }
    }

    /// The calls of a thread are over: what waited for the next one was outside of all.
    fn nothing_follows(&mut self, number: u32, ticks: u64) {
        self.finish_open(number);
        let Some(thread) = self.threads.by_number(number) else { return };
        let (faults, off) = (std::mem::take(&mut thread.faults), std::mem::take(&mut thread.off));
        let out = thread.out_since.take().filter(|(from, _)| *from < ticks);
        let out = out.map(|(from, preempted)| {
            let preempted = preempted || thread.was_stopped(from, ticks);
            Off { from, to: ticks, preempted, read: None }
        });
        let samples = std::mem::take(&mut thread.samples);
        let last = thread.last;
        let size = thread.size;
        self.samples_met(samples, &last);
        faults.iter().for_each(|fault| self.fault_is(number, fault, None));
        off.into_iter().chain(out).for_each(|off| self.was_off(number, off, &last, size));
    }

    /// The image is over. Ticks.
    pub fn finish(&mut self, ticks: u64) {
        let numbers: Vec<u32> = self.threads.iter().map(|thread| thread.number).collect();
        for number in numbers {
            self.nothing_follows(number, ticks);
        }
        // Threads that never recorded anything.
        let silent: Vec<Thread> = self.threads.iter_mut().filter(|t| t.number == 0).map(std::mem::take).collect();
        for thread in silent {
            thread.faults.iter().for_each(|fault| self.fault_is(0, fault, None));
            self.samples_met(thread.samples, &Call::default());
        }
    }

    /// Costs that were not taken yet.
    pub fn costs(&mut self) -> &mut Vec<Cost> {
        &mut self.costs
    }

    /// Code addresses at which costs were paid, in the order of their numbers.
    pub fn code_addresses(&self) -> &[u64] {
        self.places.addresses()
    }

    pub fn stats(&self) -> KernelStats {
        KernelStats { faults_error: self.variance.sqrt(), running: self.running(), ..self.stats.clone() }
    }
}

/// Ticks as units of the file, rounded.
fn units(ticks: u64) -> u64 {
    (ticks + (1 << (UNIT_TICKS_LOG2 - 1))) >> UNIT_TICKS_LOG2
}
