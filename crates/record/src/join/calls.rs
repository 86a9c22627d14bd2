//! The program's side: calls of hooked functions, and what was paid inside them.

use super::address_space::{Access, HUGE_PAGE, Kind, Pages};
use super::call_time::CallTime;
use super::heap_pages::{self, Share};
use super::threads::{Call, Effect, Fault, HeapMove, Off, Read, Stage};
use super::{Join, LARGE, span};
use memtoll_trace::costs::{Cost, CostKind};
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo, Ticks};
use memtoll_trace::op::Op;

/// A call that takes longer without being accounted for may have waited with the processor busy. The slowest calls of glibc's
/// allocator that do neither (consolidating its bins) take 2 to 5 us here.
const SPINNING_MICROSECONDS: u64 = 10;

/// It has waited for another thread if that was in the allocator for this part of the time, in percent. (What is missing is
/// the way from one to the other: the holder's stamps are taken before it has the lock and after it has given it back.)
const HOLDS_PERCENT: u64 = 80;

const MADV_HUGEPAGE: u16 = 14;
const MADV_NOHUGEPAGE: u16 = 15;

impl Join {
    /// A call of an allocation function about the block at `address`.
    #[inline(always)]
    pub fn call(&mut self, thread: ThreadNo, call: Call, address: u64) {
        let (long, sleepers) = (self.long, self.lock_holders.next());
        let Some(state) = self.threads.by_number(thread) else { return };
        // Field by field: read again in other steps than it was written, the whole would wait for memory.
        let Call { begin, end, node, charged, size, effect } = call;
        if state.attention || end - begin >= long || state.compared != sleepers {
            self.call_with_costs(thread, Call { begin, end, node, charged, size, effect }, address);
            return;
        }
        let last = &mut state.last;
        (last.begin, last.end) = (begin, end);
        (last.node, last.charged) = (node, charged);
        last.size = size;
        last.effect = effect;
    }

    /// A call about which there is something to say, or may be.
    #[cold]
    pub fn call_with_costs(&mut self, number: ThreadNo, call: Call, address: u64) {
        self.compare_with_sleepers(number, &call);
        self.settle(number);
        let Some(thread) = self.threads.by_number(number) else { return };
        // Most calls that are looked at are only a little longer than the others.
        if thread.waiting.is_nothing() {
            let call_time = CallTime::of(call.length());
            thread.attention = call.effect != Effect::Acquire;
            (thread.last, thread.call_time) = (call, call_time);
            thread.stage = match call.effect {
                Effect::Mapping => Stage::Mapping,
                Effect::Acquire => Stage::Settled,
                Effect::Release if self.mapped.is_empty() || !self.mapped.remove(&address) => {
                    Stage::releasing(Bytes::ZERO)
                }
                Effect::Release => Stage::releasing(call.size),
            };
            if call.effect == Effect::Acquire {
                self.spinning(number, &call, call_time.rest);
            }
            return;
        }
        let mut waiting = std::mem::take(&mut thread.waiting);
        // A release that waited for its block comes late: what happened behind it may be the next call's.
        let (faults, off) = (&mut waiting.faults, &mut waiting.off);
        thread.waiting.faults = faults.split_off(faults.partition_point(|fault| fault.at <= call.end));
        thread.waiting.off = off.split_off(off.partition_point(|off| off.from <= call.end));
        self.samples_met(waiting.samples, &call);
        let mut call_time = CallTime::of(call.length());
        let without_processor = waiting.off.iter().map(|off| call.overlap(off.from, off.to)).sum();
        let in_faults = self.faults_in(number, &call, &mut waiting.faults, without_processor);
        for off in waiting.off {
            call_time.without_processor(call.overlap(off.from, off.to));
            self.was_off(Some(number), off, &call);
        }
        call_time.faults_took(in_faults);
        let mapped: Bytes = waiting.mapped.iter().filter(|(at, _)| call.holds(*at)).map(|(_, bytes)| *bytes).sum();
        // The kernel tells of a mapping together with those that it touches.
        let mapped = mapped.min(call.size + LARGE);
        let stage = match call.effect {
            Effect::Mapping => Stage::Mapping,
            Effect::Acquire => {
                let moved = waiting.heap_moved.is_some();
                let grown = mapped + waiting.heap_moved.map_or(Bytes::ZERO, |moved| moved.grown());
                if grown > Bytes::ZERO || waiting.remaps {
                    self.mapping_inside(number, &call, &mut call_time);
                    self.grown(number, &call, grown);
                    let has_own = waiting.remaps || mapped >= call.size.max(LARGE);
                    if has_own && self.large_block_at(address) == Some(address) {
                        self.mapped.insert(address);
                    }
                } else {
                    self.spinning(number, &call, call_time.rest);
                }
                if moved { Stage::MovedTheEnd } else { Stage::Settled }
            }
            Effect::Release => {
                let unmapped = if self.mapped.remove(&address) { call.size } else { Bytes::ZERO };
                match waiting.heap_moved {
                    Some(moved) => Stage::Releasing { shrunk: unmapped + moved.shrunk(), brought: moved.brought },
                    None => Stage::releasing(unmapped),
                }
            }
        };
        let Some(thread) = self.threads.by_number(number) else { return };
        let waits = !thread.waiting.faults.is_empty() || !thread.waiting.off.is_empty();
        thread.attention = stage != Stage::Settled || waits;
        (thread.last, thread.call_time, thread.stage) = (call, call_time, stage);
    }

    /// Charges the faults that waited for a call. Returns how long those that happened in it took.
    fn faults_in(&mut self, number: ThreadNo, call: &Call, faults: &mut [Fault], without_processor: Ticks) -> Ticks {
        // A huge page takes as long as all else in a thousand calls: that is how long it took.
        let huge = faults.iter().filter(|fault| fault.observed.huge && call.holds(fault.at)).count();
        let alone = huge == 1 && faults.len() == 1 && call.size < HUGE_PAGE;
        let mut took = Ticks::ZERO;
        for fault in faults {
            let inside = call.holds(fault.at) && call.effect != Effect::Mapping;
            if inside {
                if alone && fault.observed.handling.is_none() {
                    let rest = call.length().saturating_sub(without_processor);
                    fault.observed.handling = self.fault_time.nanoseconds(rest);
                }
                took += self.time_of(fault);
            }
            self.fault_is(Some(number), fault, inside.then_some(call));
        }
        took
    }

    /// What a fault takes of the call that it happens in.
    pub(super) fn time_of(&self, fault: &Fault) -> Ticks {
        let stats = &self.stats;
        let timed = if fault.observed.huge { &stats.timed_huge_faults } else { &stats.timed_faults };
        self.fault_time.of(fault.observed, timed)
    }

    /// The heap grew in a call.
    fn grown(&mut self, number: ThreadNo, call: &Call, by: Bytes) {
        if by > Bytes::ZERO {
            self.push(Cost { amount: by.0, ..self.cost(CostKind::Grown, call.end, Some(number), call) });
        }
    }

    /// A call of the allocator changed mappings.
    fn mapping_inside(&mut self, number: ThreadNo, call: &Call, call_time: &mut CallTime) {
        let Some(thread) = self.threads.by_number(number) else { return };
        let took = call_time.settle(&mut thread.owed);
        self.push(self.mapping(number, call, took));
    }

    /// A call released a block, and gave back pages of the heap that others had brought.
    fn shrinking(&mut self, number: ThreadNo, call: &Call, call_time: &mut CallTime, brought: &[Share]) {
        if brought.is_empty() {
            return self.mapping_inside(number, call, call_time);
        }
        let Some(thread) = self.threads.by_number(number) else { return };
        let took = span(call_time.settle(&mut thread.owed)).0;
        let mut of_others = 0;
        for (Share { node, size, .. }, amount) in heap_pages::divide(took, brought) {
            let is_own = (node, size) == (call.charged, call.size);
            let kind = if is_own { CostKind::Mapping } else { CostKind::GivenBack };
            of_others += if is_own { 0 } else { amount };
            let whose = Call { charged: node, size, ..*call };
            self.push(Cost { amount, ..self.cost(kind, call.end, Some(number), &whose) });
        }
        if of_others > 0 {
            let amount = of_others;
            self.push(Cost { amount, ..self.cost(CostKind::GivingBack, call.end, Some(number), call) });
        }
    }

    /// All that happened in the thread's last call is known now.
    pub(super) fn settle(&mut self, number: ThreadNo) {
        let Some(thread) = self.threads.by_number(number) else { return };
        let (call, mut call_time) = (thread.last, thread.call_time);
        match std::mem::take(&mut thread.stage) {
            Stage::Settled | Stage::MovedTheEnd => {}
            Stage::Mapping => {
                self.push(self.mapping(number, &call, call_time.rest));
            }
            Stage::Releasing { shrunk: Bytes::ZERO, .. } => self.spinning(number, &call, call_time.rest),
            Stage::Releasing { shrunk, brought } => {
                self.shrinking(number, &call, &mut call_time, &brought);
                self.push(Cost { amount: shrunk.0, ..self.cost(CostKind::Shrunk, call.end, Some(number), &call) });
            }
        }
    }

    /// The end of the heap moved, inside the thread's last call or the one that comes next.
    pub fn heap_moved(&mut self, number: ThreadNo, node: Option<NodeId>, from: u64, to: u64) {
        let moved = HeapMove { from, to, brought: self.heap.end_moves(from, to) };
        let long = self.long;
        let Some(thread) = self.threads.by_number(number) else { return };
        let (call, mut call_time) = (thread.last, thread.call_time);
        if call.node != node || call.length() < long || thread.stage == Stage::MovedTheEnd {
            match &mut thread.wait().heap_moved {
                Some(earlier) => earlier.goes_on(moved),
                none => *none = Some(moved),
            }
        } else if let Stage::Releasing { shrunk, brought } = &mut thread.stage {
            *shrunk += moved.shrunk();
            brought.extend(moved.brought);
        } else if to > from {
            self.mapping_inside(number, &call, &mut call_time);
            self.grown(number, &call, moved.grown());
            if let Some(thread) = self.threads.by_number(number) {
                thread.call_time = call_time;
            }
        }
    }

    /// A call that works on mappings filled memory at once, with `faults`.
    pub fn filled(&mut self, faults: u64) {
        self.stats.filled_faults += faults;
    }

    fn mapping(&self, thread: ThreadNo, call: &Call, took: Ticks) -> Cost {
        Cost { amount: span(took).0, ..self.cost(CostKind::Mapping, call.end, Some(thread), call) }
    }

    /// The thread did not have the processor for a while, perhaps inside its last call.
    pub(super) fn was_off(&mut self, number: Option<ThreadNo>, off: Off, call: &Call) {
        let Off { from, to, preempted, read, .. } = off;
        let inside = if call.effect == Effect::Mapping { Ticks::ZERO } else { call.overlap(from, to) };
        if inside > Ticks::ZERO {
            let cost = Cost { amount: span(inside).0, ..self.cost(CostKind::Preempted, to, number, call) };
            if preempted { self.push(cost) } else { self.slept_inside(cost, off) }
        }
        let outside = to - from - inside;
        if outside > Ticks::ZERO {
            let cost = self.cost(CostKind::OffProcessor, to, number, &Call::default());
            let cost = Cost { amount: span(outside).0, inside: None, ..cost };
            let cost = match read {
                Some(Read { node, size, code }) => {
                    let place = self.place(node, code);
                    Cost { kind: CostKind::Reading, node, size, place, ..cost }
                }
                None => cost,
            };
            self.push(cost);
        }
    }

    /// The thread that was in the allocator for the longest time meanwhile, if one is known.
    fn holder(&self, number: Option<ThreadNo>, from: Ticks, to: Ticks) -> Option<ThreadNo> {
        let others = self.threads.iter().filter(|thread| thread.number != number);
        let others = others.filter(|thread| thread.last.effect != Effect::Mapping);
        let held = |thread: &super::Thread| Some((thread.last.overlap(from, to), thread.number?));
        others.filter_map(held).max().filter(|(held, _)| *held > Ticks::ZERO).map(|(_, thread)| thread)
    }

    /// A long call that had the processor for `rest` and changed no mapping: if another thread was in the allocator for most
    /// of that time, it waited for it.
    fn spinning(&mut self, number: ThreadNo, call: &Call, rest: Ticks) {
        if rest < self.around.microseconds(SPINNING_MICROSECONDS) {
            return;
        }
        let Some(holder) = self.holder(Some(number), call.begin, call.end) else { return };
        let overlap = self.threads.by_number(holder).map_or(Ticks::ZERO, |t| t.last.overlap(call.begin, call.end));
        if overlap.times(100) >= call.length().times(HOLDS_PERCENT) {
            let cost = self.cost(CostKind::Spinning, call.end, Some(number), call);
            self.push(Cost { amount: span(rest.min(overlap)).0, holder: Some(holder), ..cost });
        }
    }

    /// A call that works on mappings succeeded: notes whose they are. Returns who is charged for it.
    pub fn remaps(&mut self, op: Op, call: &Call, address: u64, detail: u16) -> Option<NodeId> {
        let &Call { node, size, .. } = call;
        let owner = self.space.find(address).and_then(|(_, mapping)| mapping.node);
        if self.forked && matches!(op.whole(), Op::MMAP | Op::MMAP64 | Op::MREMAP | Op::MUNMAP) {
            self.replaced.owned(address, size, node, Kind::Anonymous, call.end);
        }
        match op.whole() {
            Op::MMAP | Op::MMAP64 => {
                let kind = if detail & 1 != 0 { Kind::Anonymous } else { Kind::File };
                self.forget_huge(address, size);
                self.space_mut().owned(address, size, node, kind, call.end);
                if op.reserves(detail) {
                    self.space_mut().protect(address, size, Access::None);
                }
                return node;
            }
            Op::MREMAP if op.is_release_half() => self.space_mut().given_back(address, size, call.begin),
            Op::MREMAP => {
                self.space_mut().owned(address, size, node, Kind::Anonymous, call.end);
                return node;
            }
            Op::MUNMAP => {
                self.forget_huge(address, size);
                self.space_mut().given_back(address, size, call.begin);
            }
            Op::MADVISE if detail == MADV_HUGEPAGE => self.space_mut().advise(address, Pages::Huge),
            Op::MADVISE if detail == MADV_NOHUGEPAGE => self.space_mut().advise(address, Pages::Usual),
            Op::MADVISE => self.forget_huge(address, size),
            _ => match op.opens(detail) {
                Some(true) => self.space_mut().protect(address, size, Access::OpenedBy(node)),
                Some(false) => self.space_mut().protect(address, size, Access::None),
                None => {}
            },
        }
        owner.or(node)
    }
}
