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
mod places;
mod threads;

pub use threads::{Call, Effect};

use crate::clock::UNIT_TICKS_LOG2;
use crate::process;
use crate::run::Run;
use address_space::{AddressSpace, HUGE_PAGE, Kind};
use memtoll_kernel::{KernelEvent, Mapping, What};
use memtoll_trace::costs::{Cost, CostKind, Place};
use memtoll_trace::meta::KernelStats;
use memtoll_trace::op::Op;
use places::Places;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use threads::{Fault, Off, Thread, Threads};

/// Blocks of this size and more are also known in the order of their addresses. Bytes.
pub const LARGE: u64 = 4096;
/// Faults or spans of one thread that wait for its next call.
const MOST_WAITING: usize = 1 << 16;
/// Calls with a fault from which it is learnt how long that takes: at most, and at least.
const MOST_SPANS: usize = 1 << 14;
const FEWEST_SPANS: usize = 32;
/// A call that takes longer without being accounted for may have waited with the processor busy. Microseconds.
const SPINNING_MICROSECONDS: u64 = 10;

/// The name of the shared memory in lists of mappings.
const ARENA: &str = "/memfd:memtoll";

const MADV_HUGEPAGE: u16 = 14;
const MADV_NOHUGEPAGE: u16 = 15;

/// A block or mapping that owns an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The stack node of its allocation.
    pub node: u32,
    /// Its size, bytes.
    pub size: u64,
}

/// What the join knows of one process image.
pub struct Join {
    run: Arc<Run>,
    threads: Threads,
    space: AddressSpace,
    began: u64,                // ticks
    large: BTreeMap<u64, u64>, // blocks: address, bytes
    mapped: BTreeSet<u64>,     // blocks with a mapping of their own
    huge_seen: BTreeSet<u64>,  // huge pages that faulted
    places: Places,
    long: u64, // ticks
    costs: Vec<Cost>,
    stats: KernelStats,
    variance: f64,
    fault_spans: Vec<u64>, // durations of calls with one fault, ticks
}

impl Join {
    /// For an image that has just begun in process `pid`.
    pub fn new(run: Arc<Run>, pid: u32) -> Join {
        let (began, long) = (run.clock.now(), run.ticks_per_microsecond);
        let mut join = Join {
            run,
            threads: Threads::default(),
            space: AddressSpace::default(),
            began,
            large: BTreeMap::new(),
            mapped: BTreeSet::new(),
            huge_seen: BTreeSet::new(),
            places: Places::default(),
            long,
            costs: Vec::new(),
            stats: KernelStats::default(),
            variance: 0.0,
            fault_spans: Vec::new(),
        };
        for line in process::maps(pid) {
            let kind = join.kind_of(&line.path);
            join.space.map(line.start, line.end - line.start, kind);
        }
        join
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
            self.space.is_stack(handle);
        }
        self.threads.begins(number, tid);
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

    /// A call of an allocation function. `size` and `address` are the block's.
    #[inline(always)]
    pub fn call(&mut self, thread: u32, call: Call, size: u64, address: u64) {
        let long = self.long;
        let Some(state) = self.threads.by_number(thread) else { return };
        if state.attention || call.end - call.begin >= long {
            self.call_with_costs(thread, call, size, address);
        } else {
            state.last = call;
        }
    }

    /// A call about which there is something to say, or may be.
    #[cold]
    pub fn call_with_costs(&mut self, number: u32, call: Call, size: u64, address: u64) {
        self.finish_release(number);
        let Some(thread) = self.threads.by_number(number) else { return };
        let faults = std::mem::take(&mut thread.faults);
        let off = std::mem::take(&mut thread.off);
        let mapped = std::mem::take(&mut thread.mapped);
        let moved = thread.heap_moved.take();
        let remaps = std::mem::take(&mut thread.remaps);
        let mut rest = call.end - call.begin;
        for fault in &faults {
            let inside = call.holds(fault.ticks) && call.effect != Effect::Mapping;
            if inside {
                rest = rest.saturating_sub(u64::from(fault.weight) * self.run.fault_ticks);
            }
            self.fault_is(number, fault, inside.then_some((&call, size)));
        }
        if let [fault] = faults[..]
            && call.holds(fault.ticks)
            && call.effect == Effect::Acquire
            && off.is_empty()
            && mapped.is_empty()
            && self.fault_spans.len() < MOST_SPANS
        {
            self.fault_spans.push(call.end - call.begin);
        }
        for off in off {
            rest = rest.saturating_sub(call.overlap(off.from, off.to));
            self.was_off(number, off, &call, size);
        }
        let mapped: u64 = mapped.iter().filter(|(ticks, _)| call.holds(*ticks)).map(|(_, bytes)| bytes).sum();
        // The kernel tells of a mapping together with those that it touches.
        let mapped = mapped.min(size + LARGE);

        let grown = mapped + moved.map_or(0, |(from, to): (u64, u64)| to.saturating_sub(from));
        let mut release = None;
        match call.effect {
            Effect::Mapping => self.mapping(number, &call, size, rest, false),
            Effect::Acquire if grown > 0 || remaps => {
                self.mapping(number, &call, size, rest, true);
                if grown > 0 {
                    self.push(Cost { amount: grown, size, ..self.cost(CostKind::Grown, call.end, number, &call) });
                }
                if (remaps || mapped >= size.max(LARGE)) && self.large_block_at(address) == Some(address) {
                    self.mapped.insert(address);
                }
            }
            Effect::Acquire => self.spinning(number, &call, size, rest),
            Effect::Release => {
                let shrunk = if self.mapped.remove(&address) { size } else { 0 };
                release = Some(shrunk + moved.map_or(0, |(from, to)| from.saturating_sub(to)));
            }
        }
        let Some(thread) = self.threads.by_number(number) else { return };
        thread.last = call;
        (thread.rest, thread.size, thread.open) = (rest, size, release);
        thread.attention = release.is_some();
    }

    /// The thread's last call was a release, and all that happened in it is known now.
    fn finish_release(&mut self, number: u32) {
        let Some(thread) = self.threads.by_number(number) else { return };
        let Some(shrunk) = thread.open.take() else { return };
        let (call, size, rest) = (thread.last, thread.size, thread.rest);
        if shrunk > 0 {
            self.mapping(number, &call, size, rest, true);
            self.push(Cost { amount: shrunk, size, ..self.cost(CostKind::Shrunk, call.end, number, &call) });
        } else {
            self.spinning(number, &call, size, rest);
        }
    }

    /// The end of the heap moved, inside the thread's last call or the one that comes next.
    pub fn heap_moved(&mut self, number: u32, node: u32, from: u64, to: u64) {
        let Some(thread) = self.threads.by_number(number) else { return };
        let (call, size, rest) = (thread.last, thread.size, thread.rest);
        if call.node != node || call.end - call.begin < self.long {
            thread.heap_moved = Some((from, to));
            thread.attention = true;
        } else if let Some(shrunk) = &mut thread.open {
            *shrunk += from.saturating_sub(to);
        } else if to > from {
            self.mapping(number, &call, size, rest, true);
            self.push(Cost { amount: to - from, size, ..self.cost(CostKind::Grown, call.end, number, &call) });
        }
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
            Fault | HugeFault | MajorFault => stats.faults_charged += cost.amount,
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
            Mapping | Waiting | Spinning | Preempted | OffProcessor => {}
        }
        self.costs.push(cost);
    }

    fn mapping(&mut self, thread: u32, call: &Call, size: u64, ticks: u64, inside: bool) {
        let cost = self.cost(CostKind::Mapping, call.end, thread, call);
        self.push(Cost { amount: units(ticks), inside, size, ..cost });
    }

    /// A fault is charged to the call that it happened in, or to whoever owns the page.
    fn fault_is(&mut self, thread: u32, fault: &Fault, inside: Option<(&Call, u64)>) {
        let (node, size, place) = match inside {
            Some((call, size)) => (call.charged, size, Place::Call(call.node).packed()),
            None => (fault.node, fault.size, fault.place),
        };
        let kind = match fault.kind {
            CostKind::UnownedFault if node != 0 => CostKind::Fault,
            kind => kind,
        };
        // Code and data of programs are nobody's, whoever touches them first.
        let node = if matches!(kind, CostKind::Fault | CostKind::HugeFault | CostKind::MajorFault) { node } else { 0 };
        self.push(Cost {
            time: self.run.clock.units(fault.ticks),
            kind,
            inside: inside.is_some() && node != 0,
            thread,
            amount: u64::from(fault.weight),
            node,
            size,
            place,
            holder: 0,
        });
    }

    /// The thread did not have the processor for a while, perhaps inside its last call.
    fn was_off(&mut self, number: u32, off: Off, call: &Call, size: u64) {
        let Off { from, to, preempted } = off;
        let inside = if call.effect == Effect::Mapping { 0 } else { call.overlap(from, to) };
        if inside > 0 {
            let kind = if preempted { CostKind::Preempted } else { CostKind::Waiting };
            let holder = if preempted { 0 } else { self.holder(number, from, to) };
            let cost = self.cost(kind, to, number, call);
            self.push(Cost { amount: units(inside), size, holder, ..cost });
        }
        let outside = to - from - inside;
        if outside > 0 {
            let cost = self.cost(CostKind::OffProcessor, to, number, &Call::default());
            self.push(Cost { amount: units(outside), inside: false, ..cost });
        }
    }

    /// The thread that was in the allocator for the longest time meanwhile; 0: none is known.
    fn holder(&self, number: u32, from: u64, to: u64) -> u32 {
        let others = self.threads.iter().filter(|thread| thread.number != number && thread.number != 0);
        let busiest = others.map(|thread| (thread.last.overlap(from, to), thread.number)).max();
        busiest.map_or(0, |(ticks, thread)| if ticks > 0 { thread } else { 0 })
    }

    /// A long call that had the processor and changed no mapping: if another thread was in the allocator for most of
    /// that time, it waited for it.
    fn spinning(&mut self, number: u32, call: &Call, size: u64, rest: u64) {
        if rest < SPINNING_MICROSECONDS * self.run.ticks_per_microsecond {
            return;
        }
        let holder = self.holder(number, call.begin, call.end);
        let overlap = self.threads.by_number(holder).map_or(0, |thread| thread.last.overlap(call.begin, call.end));
        if overlap * 5 >= (call.end - call.begin) * 4 {
            let cost = self.cost(CostKind::Spinning, call.end, number, call);
            self.push(Cost { amount: units(rest.min(overlap)), size, holder, ..cost });
        }
    }

    /// A call that works on mappings succeeded: notes whose they are. Returns who is charged for it.
    pub fn remaps(&mut self, op: Op, node: u32, address: u64, size: u64, detail: u16) -> u32 {
        let owner = self.space.find(address).map_or(0, |(_, mapping)| mapping.node);
        let charged = if owner != 0 { owner } else { node };
        match op.symbol() {
            "mmap" | "mmap64" => {
                let kind = if detail & 1 != 0 { Kind::Anonymous } else { Kind::File };
                self.forget_huge(address, size);
                self.space.owned(address, size, node, kind);
                return node;
            }
            "mremap" if op.is_release_half() => self.space.unmap(address, size),
            "mremap" => {
                self.space.owned(address, size, node, Kind::Anonymous);
                return node;
            }
            "munmap" => {
                self.forget_huge(address, size);
                self.space.unmap(address, size);
            }
            "madvise" if detail == MADV_HUGEPAGE => self.space.advise_huge(address, true),
            "madvise" if detail == MADV_NOHUGEPAGE => self.space.advise_huge(address, false),
            "madvise" => self.forget_huge(address, size),
            _ => {}
        }
        charged
    }

    fn forget_huge(&mut self, start: u64, length: u64) {
        if !self.huge_seen.is_empty() {
            self.huge_seen.retain(|page| !(start..start.saturating_add(length)).contains(page));
        }
    }

    /// Something that the kernel tells. `owner` says which block holds an address; only if it is asked to does it look
    /// for small blocks, which takes long, and which do not lie in mappings that the program made itself.
    pub fn event(&mut self, event: &KernelEvent, owner: impl FnOnce(&Join, u64, bool) -> Option<Owner>) {
        match &event.what {
            What::Fault { address, ip, weight, major, in_kernel } => {
                let (kind, charged) = self.page(*address, *ip, *major, owner);
                let place = if *in_kernel { 0 } else { self.places.of(*ip).packed() };
                let fault = Fault {
                    ticks: event.ticks,
                    kind,
                    weight: *weight,
                    node: charged.map_or(0, |owner| owner.node),
                    size: charged.map_or(0, |owner| owner.size),
                    place,
                };
                self.stats.faults_seen += u64::from(*weight);
                self.variance += f64::from(*weight) * (f64::from(*weight) - 1.0);
                self.fault(event.tid, fault);
            }
            What::SwitchOut { preempted } => {
                self.threads.by_tid(event.tid).out_since = Some((event.ticks, *preempted));
            }
            What::SwitchIn => self.switched_in(event.tid, event.ticks),
            What::Map(mapping) => self.map(event, mapping),
            What::Exit => self.thread_is_gone(event.tid, event.ticks),
            What::Name(_) | What::Exec(_) | What::Fork { .. } | What::Lost { .. } => {}
        }
    }

    /// Whose the page at `address` is.
    fn page(
        &mut self,
        address: u64,
        ip: u64,
        major: bool,
        owner: impl FnOnce(&Join, u64, bool) -> Option<Owner>,
    ) -> (CostKind, Option<Owner>) {
        let is_recorder = |space: &AddressSpace, at| space.find(at).is_some_and(|(_, m)| m.kind == Kind::Recorder);
        if is_recorder(&self.space, ip) || is_recorder(&self.space, address) {
            return (CostKind::RecorderFault, None);
        }
        let mapping = self.space.find(address).map(|(start, mapping)| (start, *mapping));
        let of_mapping = |(start, mapping): (u64, address_space::Mapping)| {
            (mapping.node != 0).then(|| Owner { node: mapping.node, size: mapping.end - start })
        };
        let of_mapping = mapping.and_then(of_mapping);
        let owner = owner(self, address, of_mapping.is_none()).or(of_mapping);
        let page = address & !(HUGE_PAGE - 1);
        let kind = match (owner, mapping.map(|(_, mapping)| mapping.kind)) {
            (Some(_), _) if major => CostKind::MajorFault,
            (Some(_), _) if self.space.may_be_huge(address, self.run.always_huge) && self.huge_seen.insert(page) => {
                CostKind::HugeFault
            }
            (Some(_), _) => CostKind::Fault,
            (None, Some(Kind::Stack)) => CostKind::StackFault,
            (None, Some(Kind::Anonymous)) => CostKind::UnownedFault,
            (None, Some(Kind::File | Kind::Recorder) | None) => CostKind::FileFault,
        };
        (kind, owner)
    }

    fn fault(&mut self, tid: u32, fault: Fault) {
        let thread = self.threads.by_tid(tid);
        let number = thread.number;
        if fault.kind == CostKind::RecorderFault {
            return self.fault_is(number, &fault, None);
        }
        let last = thread.last;
        if last.effect == Effect::Release && last.holds(fault.ticks) {
            let size = thread.size;
            thread.rest = thread.rest.saturating_sub(u64::from(fault.weight) * self.run.fault_ticks);
            return self.fault_is(number, &fault, Some((&last, size)));
        }
        thread.faults.push(fault);
        thread.attention = true;
        if thread.faults.len() >= MOST_WAITING {
            let faults = std::mem::take(&mut thread.faults);
            faults.iter().for_each(|fault| self.fault_is(number, fault, None));
        }
    }

    fn switched_in(&mut self, tid: u32, ticks: u64) {
        let thread = self.threads.by_tid(tid);
        let Some((from, preempted)) = thread.out_since.take().filter(|(from, _)| *from < ticks) else { return };
        let off = Off { from, to: ticks, preempted };
        let (number, last, size) = (thread.number, thread.last, thread.size);
        if last.effect == Effect::Release && last.overlap(from, ticks) > 0 {
            thread.rest = thread.rest.saturating_sub(last.overlap(from, ticks));
            return self.was_off(number, off, &last, size);
        }
        thread.off.push(off);
        thread.attention = true;
        if thread.off.len() >= MOST_WAITING {
            let off = std::mem::take(&mut thread.off);
            off.into_iter().for_each(|off| self.was_off(number, off, &Call::default(), 0));
        }
    }

    fn map(&mut self, event: &KernelEvent, mapping: &Mapping) {
        if event.ticks < self.began {
            return; // it is known from the beginning
        }
        let kind = self.kind_of(&mapping.path);
        self.forget_huge(mapping.start, mapping.length);
        self.space.map(mapping.start, mapping.length, kind);
        if &*mapping.path == "//anon" && mapping.protection != 0 {
            let thread = self.threads.by_tid(event.tid);
            thread.mapped.push((event.ticks, mapping.length));
            // A thread that only maps makes no calls in which this could lie.
            thread.mapped.truncate(MOST_WAITING);
            thread.attention = true;
        }
    }

    fn thread_is_gone(&mut self, tid: u32, ticks: u64) {
        let Some(thread) = self.threads.ends(tid) else { return };
        let number = thread.number;
        self.nothing_follows(number, ticks);
    }

    /// The calls of a thread are over: what waited for the next one was outside of all.
    fn nothing_follows(&mut self, number: u32, ticks: u64) {
        self.finish_release(number);
        let Some(thread) = self.threads.by_number(number) else { return };
        let (faults, off) = (std::mem::take(&mut thread.faults), std::mem::take(&mut thread.off));
        let out = thread.out_since.take().filter(|(from, _)| *from < ticks);
        let out = out.map(|(from, preempted)| Off { from, to: ticks, preempted });
        let last = thread.last;
        let size = thread.size;
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
        let mut spans = self.fault_spans.clone();
        spans.sort_unstable();
        let median = if spans.len() >= FEWEST_SPANS { spans[spans.len() / 2] } else { 0 };
        KernelStats {
            faults_error: self.variance.sqrt(),
            fault_inside: units(median),
            fault_inside_samples: spans.len() as u64,
            ..self.stats.clone()
        }
    }
}

/// Ticks as units of the file, rounded.
fn units(ticks: u64) -> u64 {
    (ticks + (1 << (UNIT_TICKS_LOG2 - 1))) >> UNIT_TICKS_LOG2
}
