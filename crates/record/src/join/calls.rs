//! The program's side: calls of hooked functions, and what was paid inside them.

use super::address_space::{HUGE_PAGE, Kind};
use super::threads::{Call, Effect, Fault, Off, Open, Read};
use super::{Join, LARGE, units};
use memtoll_trace::costs::{Cost, CostKind};
use memtoll_trace::op::Op;

/// A call that takes longer without being accounted for may have waited with the processor busy. Microseconds.
const SPINNING_MICROSECONDS: u64 = 10;

/// A fault of a huge page takes about as long as so many others.
const HUGE_FAULT_PAGES: u64 = 80;

const MADV_HUGEPAGE: u16 = 14;
const MADV_NOHUGEPAGE: u16 = 15;

impl Join {
    /// A call of an allocation function. `size` and `address` are the block's.
    #[inline(always)]
    pub fn call(&mut self, thread: u32, call: Call, size: u64, address: u64) {
        let long = self.long;
        let Some(state) = self.threads.by_number(thread) else { return };
        // Field by field: read again in other steps than it was written, the whole would wait for memory.
        let Call { begin, end, node, charged, effect } = call;
        if state.attention || end - begin >= long {
            self.call_with_costs(thread, Call { begin, end, node, charged, effect }, size, address);
            return;
        }
        let last = &mut state.last;
        (last.begin, last.end) = (begin, end);
        (last.node, last.charged) = (node, charged);
        last.effect = effect;
    }

    /// A call about which there is something to say, or may be.
    #[cold]
    pub fn call_with_costs(&mut self, number: u32, call: Call, size: u64, address: u64) {
        self.finish_open(number);
        let Some(thread) = self.threads.by_number(number) else { return };
        let mut faults = std::mem::take(&mut thread.faults);
        let mut off = std::mem::take(&mut thread.off);
        // A release that waited for its block comes late: what happened behind it may be the next call's.
        thread.faults = faults.split_off(faults.partition_point(|fault| fault.ticks <= call.end));
        thread.off = off.split_off(off.partition_point(|off| off.from <= call.end));
        let mapped = std::mem::take(&mut thread.mapped);
        let moved = thread.heap_moved.take();
        let remaps = std::mem::take(&mut thread.remaps);
        let samples = std::mem::take(&mut thread.samples);
        self.samples_met(samples, &call);
        let mut rest = call.end - call.begin;
        let without_processor: u64 = off.iter().map(|off| call.overlap(off.from, off.to)).sum();
        // A huge page takes as long as all else in a thousand calls: that is how long it took.
        let huge = faults.iter().filter(|fault| fault.huge && call.holds(fault.ticks)).count();
        let alone = huge == 1 && faults.len() == 1 && size < HUGE_PAGE;
        let mut in_faults = 0;
        for fault in &mut faults {
            let inside = call.holds(fault.ticks) && call.effect != Effect::Mapping;
            if inside {
                if alone && fault.handling.is_none() {
                    fault.handling = self.nanoseconds(rest.saturating_sub(without_processor));
                }
                in_faults += self.fault_ticks(fault);
            }
            self.fault_is(number, fault, inside.then_some((&call, size)));
        }
        for off in off {
            rest = rest.saturating_sub(call.overlap(off.from, off.to));
            self.was_off(number, off, &call, size);
        }
        let beyond = in_faults.saturating_sub(rest);
        rest = rest.saturating_sub(in_faults);
        let mapped: u64 = mapped.iter().filter(|(ticks, _)| call.holds(*ticks)).map(|(_, bytes)| bytes).sum();
        // The kernel tells of a mapping together with those that it touches.
        let mapped = mapped.min(size + LARGE);

        let grown = mapped + moved.map_or(0, |(from, to): (u64, u64)| to.saturating_sub(from));
        let mut open = None;
        match call.effect {
            Effect::Mapping => open = Some(Open::Mapping),
            Effect::Acquire if grown > 0 || remaps => {
                self.mapping_inside(number, &call, size, rest, beyond);
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
                let shrunk = shrunk + moved.map_or(0, |(from, to)| from.saturating_sub(to));
                open = Some(Open::Release { shrunk });
            }
        }
        let Some(thread) = self.threads.by_number(number) else { return };
        thread.last = call;
        (thread.rest, thread.beyond, thread.size, thread.open) = (rest, beyond, size, open);
        thread.attention = open.is_some() || !thread.faults.is_empty() || !thread.off.is_empty();
    }

    fn nanoseconds(&self, ticks: u64) -> Option<u32> {
        u32::try_from(ticks.checked_mul(1000)?.checked_div(self.run.ticks_per_microsecond)?).ok()
    }

    /// What a fault takes of the call that it happens in, ticks.
    pub(super) fn fault_ticks(&self, fault: &Fault) -> u64 {
        let timed = if fault.huge { &self.stats.timed_huge_faults } else { &self.stats.timed_faults };
        let quiet = if fault.huge { HUGE_FAULT_PAGES } else { 1 } * self.run.fault_ticks;
        // Into the kernel and back it takes a third of what a fault takes when nothing else happens.
        let ticks = |ns: u64| ns.saturating_mul(self.run.ticks_per_microsecond) / 1000 + self.run.fault_ticks / 3;
        let each = match timed.time.checked_div(timed.faults) {
            Some(ns) => ticks(ns),
            None => quiet,
        };
        let this = fault.handling.map_or(each, |ns| ticks(ns.into()));
        this.saturating_add(u64::from(fault.weight.saturating_sub(1)).saturating_mul(each))
    }

    /// A call of the allocator changed mappings in `rest`, ticks. Its faults took `beyond` more than the whole call: one
    /// that was looked at stands for those of other calls, which this is taken off.
    fn mapping_inside(&mut self, number: u32, call: &Call, size: u64, rest: u64, beyond: u64) {
        let Some(thread) = self.threads.by_number(number) else { return };
        let owed = thread.owed.saturating_add(beyond);
        thread.owed = owed.saturating_sub(rest);
        self.mapping(number, call, size, rest.saturating_sub(owed), true);
    }

    /// All that happened in the thread's last call is known now.
    pub(super) fn finish_open(&mut self, number: u32) {
        let Some(thread) = self.threads.by_number(number) else { return };
        let Some(open) = thread.open.take() else { return };
        let (call, size, rest, beyond) = (thread.last, thread.size, thread.rest, thread.beyond);
        match open {
            Open::Mapping => self.mapping(number, &call, size, rest, false),
            Open::Release { shrunk: 0 } => self.spinning(number, &call, size, rest),
            Open::Release { shrunk } => {
                self.mapping_inside(number, &call, size, rest, beyond);
                self.push(Cost { amount: shrunk, size, ..self.cost(CostKind::Shrunk, call.end, number, &call) });
            }
        }
    }

    /// The end of the heap moved, inside the thread's last call or the one that comes next.
    pub fn heap_moved(&mut self, number: u32, node: u32, from: u64, to: u64) {
        let Some(thread) = self.threads.by_number(number) else { return };
        let (call, size, rest, beyond) = (thread.last, thread.size, thread.rest, thread.beyond);
        if call.node != node || call.end - call.begin < self.long {
            thread.heap_moved = Some((from, to));
            thread.attention = true;
        } else if let Some(Open::Release { shrunk }) = &mut thread.open {
            *shrunk += from.saturating_sub(to);
        } else if to > from {
            self.mapping_inside(number, &call, size, rest, beyond);
            self.push(Cost { amount: to - from, size, ..self.cost(CostKind::Grown, call.end, number, &call) });
        }
    }

    /// A call that works on mappings filled memory at once, with so many faults.
    pub fn filled(&mut self, faults: u64) {
        self.stats.filled_faults += faults;
    }

    pub(super) fn mapping(&mut self, thread: u32, call: &Call, size: u64, ticks: u64, inside: bool) {
        let cost = self.cost(CostKind::Mapping, call.end, thread, call);
        self.push(Cost { amount: units(ticks), inside, size, ..cost });
    }

    /// The thread did not have the processor for a while, perhaps inside its last call.
    pub(super) fn was_off(&mut self, number: u32, off: Off, call: &Call, size: u64) {
        let Off { from, to, preempted, read } = off;
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
            let cost = Cost { amount: units(outside), inside: false, ..cost };
            self.push(match read {
                Some(Read { node, size, place }) => Cost { kind: CostKind::Reading, node, size, place, ..cost },
                None => cost,
            });
        }
    }

    /// The thread that was in the allocator for the longest time meanwhile; 0: none is known.
    pub(super) fn holder(&self, number: u32, from: u64, to: u64) -> u32 {
        let others = self.threads.iter().filter(|thread| thread.number != number && thread.number != 0);
        let busiest = others.map(|thread| (thread.last.overlap(from, to), thread.number)).max();
        busiest.map_or(0, |(ticks, thread)| if ticks > 0 { thread } else { 0 })
    }

    /// A long call that had the processor and changed no mapping: if another thread was in the allocator for most of
    /// that time, it waited for it.
    pub(super) fn spinning(&mut self, number: u32, call: &Call, size: u64, rest: u64) {
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
    pub fn remaps(&mut self, op: Op, call: &Call, address: u64, size: u64, detail: u16) -> u32 {
        let node = call.node;
        let owner = self.space.find(address).map_or(0, |(_, mapping)| mapping.node);
        let charged = if owner != 0 { owner } else { node };
        if self.forked && matches!(op.symbol(), "mmap" | "mmap64" | "mremap" | "munmap") {
            self.replaced.owned(address, size, node, Kind::Anonymous, call.end);
        }
        match op.symbol() {
            "mmap" | "mmap64" => {
                let kind = if detail & 1 != 0 { Kind::Anonymous } else { Kind::File };
                self.forget_huge(address, size);
                self.space_mut().owned(address, size, node, kind, call.end);
                if op.reserves(detail) {
                    self.space_mut().protect(address, size, None);
                }
                return node;
            }
            "mremap" if op.is_release_half() => self.space_mut().given_back(address, size, call.begin),
            "mremap" => {
                self.space_mut().owned(address, size, node, Kind::Anonymous, call.end);
                return node;
            }
            "munmap" => {
                self.forget_huge(address, size);
                self.space_mut().given_back(address, size, call.begin);
            }
            "madvise" if detail == MADV_HUGEPAGE => self.space_mut().advise_huge(address, true),
            "madvise" if detail == MADV_NOHUGEPAGE => self.space_mut().advise_huge(address, false),
            "madvise" => self.forget_huge(address, size),
            _ => match op.opens(detail) {
                Some(true) => self.space_mut().protect(address, size, Some(node)),
                Some(false) => self.space_mut().protect(address, size, None),
                None => {}
            },
        }
        charged
    }
}
