//! The kernel's side: page faults, switches and mappings, and whose they are.

use super::address_space::{self, HUGE_PAGE, Kind};
use super::fault_time::Observed;
use super::threads::{Call, Effect, Fault, Processor, Read, Stage};
use super::{Join, MOST_WAITING, Owner, Question};
use memtoll_kernel::{KernelEvent, Mapping, What};
use memtoll_trace::costs::{Cost, CostKind, Place};
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo, Ticks};

/// A page that was read from a disk is there so soon after the thread has got the processor back: the rest of a major fault
/// takes 2 to 10 us here. Microseconds.
const AFTER_READING_MICROSECONDS: u64 = 50;

/// Whether memory without an owner, whose fault is of this kind, may be an ancestor's.
fn may_be_inherited(kind: CostKind) -> bool {
    matches!(
        kind,
        CostKind::UnownedFault
            | CostKind::FileFault
            | CostKind::GlobalFault
            | CostKind::LoaderFault
            | CostKind::SharedFault
    )
}

impl Join {
    /// A fault is charged to the call that it happened in, or to the owner of the page.
    pub(super) fn fault_is(&mut self, thread: Option<ThreadNo>, fault: &Fault, inside: Option<&Call>) {
        if fault.inherited && inside.is_none() {
            return self.questions.push(Question { thread, fault: *fault });
        }
        let (node, size) = inside.map_or((fault.node, fault.size), |call| (call.charged, call.size));
        let kind = match fault.kind {
            CostKind::UnownedFault if node.is_some() && fault.observed.huge => CostKind::HugeFault,
            CostKind::UnownedFault if node.is_some() => CostKind::Fault,
            // It is known only now whose stack it is.
            CostKind::UnownedFault if self.is_stack(fault.address) => CostKind::StackFault,
            kind => kind,
        };
        let timed = match kind {
            CostKind::Fault => Some(&mut self.stats.timed_faults),
            CostKind::HugeFault => Some(&mut self.stats.timed_huge_faults),
            CostKind::MajorFault | CostKind::RecorderFault => None,
            _ => Some(&mut self.stats.timed_other_faults),
        };
        let Observed { weight, handling, span, .. } = fault.observed;
        if kind == CostKind::HugeFault {
            self.stats.spans_to_huge_faults.faults += u64::from(weight);
            if let Some(span) = span.filter(|_| weight == 1) {
                self.stats.spans_to_huge_faults.samples += 1;
                self.stats.spans_to_huge_faults.time += u64::from(span);
                if handling.is_some() {
                    self.stats.spans_to_timed_huge_faults.add(1, span.into());
                }
            }
        }
        if let (Some(timed), Some(handling)) = (timed, handling) {
            timed.add(weight.into(), handling.into());
        }
        // Code and data of programs have no owner, whatever code touches them first.
        use CostKind::{HugeFault, MajorFault, MappedFileFault};
        let node = node.filter(|_| matches!(kind, CostKind::Fault | HugeFault | MajorFault | MappedFileFault));
        if node.is_some() {
            let page = if fault.observed.huge { HUGE_PAGE.0 } else { rustix::param::page_size() as u64 };
            let stands_for = Bytes(page.saturating_mul(weight.into()));
            self.heap.touched(fault.address & !(page - 1), Owner { node, size }, stands_for);
        }
        let place = match inside {
            Some(call) => Place::call(call.node),
            None => self.place(node, fault.code),
        };
        let time = self.around.at(fault.at);
        let inside = inside.and(node).map(|_| time);
        self.push(Cost { inside, thread, node, size, place, ..Cost::of(kind, time, weight.into()) });
    }

    /// Where a cost of a node's memory was paid. Unknown for memory without an owner: most of what a short process
    /// touches, each time at other addresses.
    pub(super) fn place(&mut self, node: Option<NodeId>, code: Option<u64>) -> Place {
        node.and(code).map_or(Place::Unknown, |code| self.places.of(code, self.samples.mapped(code)))
    }

    /// Something that the kernel tells. `owner` says which block holds an address; only if it is asked to does it look
    /// for small blocks, which takes long, and which do not lie in mappings that the program made itself.
    pub fn event(&mut self, event: &KernelEvent, owner: impl FnOnce(&Join, u64, bool) -> Option<Owner>) {
        let at = Ticks(event.ticks);
        match &event.what {
            What::Fault { address, ip, weight, major, in_kernel, handling, page } => {
                let (kind, charged) = self.page(*address, *ip, *major, *page, owner);
                let huge = kind == CostKind::HugeFault || page.is_some_and(|page| Bytes(page) >= HUGE_PAGE);
                let thread = self.threads.by_tid(event.tid);
                let seen = thread.seen_before(at);
                thread.seen = at;
                let span = if huge { self.fault_time.nanoseconds(at - seen) } else { None };
                let fault = Fault {
                    at,
                    kind,
                    address: *address,
                    major: *major,
                    inherited: self.forked && may_be_inherited(kind),
                    node: charged.and_then(|owner| owner.node),
                    size: charged.map_or(Bytes::ZERO, |owner| owner.size),
                    code: (!in_kernel).then_some(*ip),
                    observed: Observed { huge, weight: *weight, handling: *handling, span },
                };
                self.stats.fault_samples += 1;
                self.stats.faults_seen += u64::from(*weight);
                self.variance += f64::from(*weight) * (f64::from(*weight) - 1.0);
                self.fault(event.tid, fault);
            }
            What::Runs { ip, mode, .. } => self.runs(event.tid, at, *ip, *mode),
            What::SwitchOut { preempted } => {
                let sleeper =
                    self.threads.by_tid(event.tid).number.filter(|_| !preempted && self.threads.are_several());
                let sleep = sleeper.map(|thread| self.lock_holders.falls_asleep(thread, at));
                self.threads.by_tid(event.tid).processor = Processor::Off { since: at, preempted: *preempted, sleep };
            }
            What::SwitchIn => self.switched_in(event.tid, at),
            What::Map(mapping) => self.map(event, mapping),
            What::Exit => self.thread_is_gone(event.tid, at),
            What::Name(_) | What::Exec(_) | What::Fork { .. } | What::FaultBegins { .. } | What::Lost { .. } => {}
        }
    }

    /// Whose the page at `address` is. `size` is what the kernel tells of it, bytes.
    fn page(
        &mut self,
        address: u64,
        ip: u64,
        major: bool,
        size: Option<u64>,
        owner: impl FnOnce(&Join, u64, bool) -> Option<Owner>,
    ) -> (CostKind, Option<Owner>) {
        if self.is_recorder(ip) || self.is_recorder(address) {
            return (CostKind::RecorderFault, None);
        }
        let mapping = self.space.find(address).map(|(start, mapping)| (start, *mapping));
        let of_mapping = |(start, mapping): (u64, address_space::Mapping)| {
            mapping.node.map(|node| Owner { node: Some(node), size: Bytes(mapping.end - start) })
        };
        let of_mapping = mapping.and_then(of_mapping);
        let block = owner(self, address, of_mapping.is_none());
        let owner = block.or(of_mapping);
        // Where a file was mapped, a block is one of the program's own.
        let in_file = mapping
            .is_some_and(|(_, mapping)| mapping.kind == Kind::File && (block.is_none() || mapping.node.is_some()));
        // Where the kernel does not tell, the first fault of a page that can be a huge one is taken to make it.
        let mut is_huge = || match size {
            Some(size) => Bytes(size) >= HUGE_PAGE,
            None => {
                let page = address & !(HUGE_PAGE.0 - 1);
                self.space.may_be_huge(address, self.around.always_huge) && self.huge_seen.insert(page)
            }
        };
        let kind = match (owner, mapping.map(|(_, mapping)| mapping.kind)) {
            (Some(_), _) if major => CostKind::MajorFault,
            (Some(_), _) if in_file => CostKind::MappedFileFault,
            (Some(_), _) if is_huge() => CostKind::HugeFault,
            (Some(_), _) => CostKind::Fault,
            (None, Some(Kind::Stack)) => CostKind::StackFault,
            (None, Some(Kind::Globals)) => CostKind::GlobalFault,
            (None, Some(Kind::Loader)) => CostKind::LoaderFault,
            (None, Some(Kind::Shared)) => CostKind::SharedFault,
            (None, Some(Kind::File)) => CostKind::FileFault,
            (None, Some(Kind::Anonymous | Kind::Recorder) | None) => CostKind::UnownedFault,
        };
        (kind, owner)
    }

    fn is_stack(&self, address: u64) -> bool {
        self.space.find(address).is_some_and(|(_, mapping)| mapping.kind == Kind::Stack)
    }

    fn is_recorder(&self, address: u64) -> bool {
        self.space.find(address).is_some_and(|(_, mapping)| mapping.kind == Kind::Recorder)
    }

    fn fault(&mut self, tid: u32, fault: Fault) {
        let took = self.time_of(&fault);
        let thread = self.threads.by_tid(tid);
        let number = thread.number;
        if fault.kind == CostKind::RecorderFault {
            return self.fault_is(number, &fault, None);
        }
        let soon = self.around.microseconds(AFTER_READING_MICROSECONDS);
        if fault.kind == CostKind::MajorFault
            && let Some(off) = thread.waiting.off.last_mut().filter(|off| !off.preempted && off.to <= fault.at)
            && fault.at - off.to <= soon
        {
            off.read = Some(Read { node: fault.node, size: fault.size, code: fault.code });
        }
        let last = thread.last;
        if last.effect == Effect::Release && last.holds(fault.at) {
            thread.call_time.faults_took(took);
            return self.fault_is(number, &fault, Some(&last));
        }
        let faults = &mut thread.wait().faults;
        faults.push(fault);
        if faults.len() >= MOST_WAITING {
            let faults = std::mem::take(faults);
            faults.iter().for_each(|fault| self.fault_is(number, fault, None));
        }
    }

    fn switched_in(&mut self, tid: u32, at: Ticks) {
        let thread = self.threads.by_tid(tid);
        let Some(off) = thread.runs_again(at) else { return };
        let (number, last) = (thread.number, thread.last);
        let inside = last.overlap(off.from, off.to);
        if thread.stage != Stage::Settled && inside > Ticks::ZERO {
            thread.call_time.without_processor(inside);
            return self.was_off(number, off, &last);
        }
        let waiting = &mut thread.wait().off;
        waiting.push(off);
        if waiting.len() >= MOST_WAITING {
            let off = std::mem::take(waiting);
            off.into_iter().for_each(|off| self.was_off(number, off, &Call::default()));
        }
    }

    fn map(&mut self, event: &KernelEvent, mapping: &Mapping) {
        let (at, length) = (Ticks(event.ticks), Bytes(mapping.length));
        let before = at < self.began;
        if before && !self.told_from_exec {
            return; // it is known from the beginning
        }
        let kind = match self.kind_of(&mapping.path, mapping.is_writable(), mapping.is_shared()) {
            Kind::Anonymous if before => Kind::Loader,
            kind => kind,
        };
        self.forget_huge(mapping.start, length);
        self.space_mut().map(mapping.start, length, kind);
        self.code_is_mapped(mapping, at);
        if !before && &*mapping.path == "//anon" && mapping.protection != 0 {
            let mapped = &mut self.threads.by_tid(event.tid).wait().mapped;
            mapped.push((at, length));
            // A thread that only maps makes no calls in which this could lie.
            mapped.truncate(MOST_WAITING);
        }
    }

    fn thread_is_gone(&mut self, tid: u32, at: Ticks) {
        if let Some(number) = self.threads.ends(tid).and_then(|thread| thread.number) {
            self.nothing_follows(number, at);
        }
    }
}
