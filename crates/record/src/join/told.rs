//! The kernel's side: page faults, switches and mappings, and whose they are.

use super::address_space::{self, HUGE_PAGE, Kind};
use super::threads::{Call, Effect, Fault, Off, Read};
use super::{Join, MOST_WAITING, Owner, Question};
use memtoll_kernel::{KernelEvent, Mapping, What};
use memtoll_trace::costs::{Cost, CostKind, Place};

/// A page that was read from a disk is there so soon after the thread has got the processor back. Microseconds.
const AFTER_READING_MICROSECONDS: u64 = 50;

/// Whether memory whose fault is of this kind, and nobody's, may be an ancestor's.
fn may_be_inherited(kind: CostKind) -> bool {
    matches!(kind, CostKind::UnownedFault | CostKind::FileFault)
}

impl Join {
    /// A fault is charged to the call that it happened in, or to whoever owns the page.
    pub(super) fn fault_is(&mut self, thread: u32, fault: &Fault, inside: Option<(&Call, u64)>) {
        if fault.inherited && inside.is_none() {
            return self.questions.push(Question { thread, fault: *fault });
        }
        let (node, size, place) = match inside {
            Some((call, size)) => (call.charged, size, Place::Call(call.node).packed()),
            None => (fault.node, fault.size, fault.place),
        };
        let kind = match fault.kind {
            CostKind::UnownedFault if node != 0 && fault.huge => CostKind::HugeFault,
            CostKind::UnownedFault if node != 0 => CostKind::Fault,
            kind => kind,
        };
        let timed = match kind {
            CostKind::Fault => Some(&mut self.stats.timed_faults),
            CostKind::HugeFault => Some(&mut self.stats.timed_huge_faults),
            CostKind::MajorFault | CostKind::RecorderFault => None,
            _ => Some(&mut self.stats.timed_other_faults),
        };
        if let (Some(timed), Some(handling)) = (timed, fault.handling) {
            timed.add(fault.weight.into(), handling.into());
        }
        // Code and data of programs are nobody's, whoever touches them first.
        use CostKind::{HugeFault, MajorFault, MappedFileFault};
        let node = if matches!(kind, CostKind::Fault | HugeFault | MajorFault | MappedFileFault) { node } else { 0 };
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

    /// Something that the kernel tells. `owner` says which block holds an address; only if it is asked to does it look
    /// for small blocks, which takes long, and which do not lie in mappings that the program made itself.
    pub fn event(&mut self, event: &KernelEvent, owner: impl FnOnce(&Join, u64, bool) -> Option<Owner>) {
        match &event.what {
            What::Fault { address, ip, weight, major, in_kernel, handling, page } => {
                let (kind, charged) = self.page(*address, *ip, *major, *page, owner);
                let place = if *in_kernel { 0 } else { self.places.of(*ip).packed() };
                let fault = Fault {
                    ticks: event.ticks,
                    kind,
                    address: *address,
                    major: *major,
                    inherited: self.forked && may_be_inherited(kind),
                    weight: *weight,
                    node: charged.map_or(0, |owner| owner.node),
                    size: charged.map_or(0, |owner| owner.size),
                    place,
                    huge: kind == CostKind::HugeFault || page.is_some_and(|page| page >= HUGE_PAGE),
                    handling: *handling,
                };
                self.stats.fault_samples += 1;
                self.stats.faults_seen += u64::from(*weight);
                self.variance += f64::from(*weight) * (f64::from(*weight) - 1.0);
                self.fault(event.tid, fault);
            }
            What::Runs { ip, mode } => self.runs(event.tid, event.ticks, *ip, *mode),
            What::SwitchOut { preempted } => {
                self.threads.by_tid(event.tid).out_since = Some((event.ticks, *preempted));
            }
            What::SwitchIn => self.switched_in(event.tid, event.ticks),
            What::Map(mapping) => self.map(event, mapping),
            What::Exit => self.thread_is_gone(event.tid, event.ticks),
            What::Name(_) | What::Exec(_) | What::Fork { .. } | What::FaultBegins { .. } | What::Lost { .. } => {}
        }
    }

    /// Whose the page at `address` is. `size` is what the kernel tells of it, bytes.
    pub(super) fn page(
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
            (mapping.node != 0).then(|| Owner { node: mapping.node, size: mapping.end - start })
        };
        let of_mapping = mapping.and_then(of_mapping);
        let block = owner(self, address, of_mapping.is_none());
        let owner = block.or(of_mapping);
        // Where a file was mapped, a block is one of the program's own.
        let in_file =
            mapping.is_some_and(|(_, mapping)| mapping.kind == Kind::File && (block.is_none() || mapping.node != 0));
        // Where the kernel does not tell, the first fault of a page that can be a huge one is taken to make it.
        let mut is_huge = || match size {
            Some(size) => size >= HUGE_PAGE,
            None => {
                let page = address & !(HUGE_PAGE - 1);
                self.space.may_be_huge(address, self.run.always_huge) && self.huge_seen.insert(page)
            }
        };
        let kind = match (owner, mapping.map(|(_, mapping)| mapping.kind)) {
            (Some(_), _) if major => CostKind::MajorFault,
            (Some(_), _) if in_file => CostKind::MappedFileFault,
            (Some(_), _) if is_huge() => CostKind::HugeFault,
            (Some(_), _) => CostKind::Fault,
            (None, Some(Kind::Stack)) => CostKind::StackFault,
            (None, Some(Kind::Anonymous)) => CostKind::UnownedFault,
            (None, Some(Kind::File | Kind::Recorder) | None) => CostKind::FileFault,
        };
        (kind, owner)
    }

    fn is_recorder(&self, address: u64) -> bool {
        self.space.find(address).is_some_and(|(_, mapping)| mapping.kind == Kind::Recorder)
    }

    pub(super) fn fault(&mut self, tid: u32, fault: Fault) {
        let thread = self.threads.by_tid(tid);
        let number = thread.number;
        if fault.kind == CostKind::RecorderFault {
            return self.fault_is(number, &fault, None);
        }
        if fault.kind == CostKind::MajorFault
            && let Some(off) = thread.off.last_mut().filter(|off| !off.preempted && off.to <= fault.ticks)
            && fault.ticks - off.to <= AFTER_READING_MICROSECONDS * self.run.ticks_per_microsecond
        {
            off.read = Some(Read { node: fault.node, size: fault.size, place: fault.place });
        }
        let last = thread.last;
        if last.effect == Effect::Release && last.holds(fault.ticks) {
            let size = thread.size;
            let took = self.fault_ticks(&fault);
            let thread = self.threads.by_tid(tid);
            thread.beyond += took.saturating_sub(thread.rest);
            thread.rest = thread.rest.saturating_sub(took);
            return self.fault_is(number, &fault, Some((&last, size)));
        }
        thread.faults.push(fault);
        thread.attention = true;
        if thread.faults.len() >= MOST_WAITING {
            let faults = std::mem::take(&mut thread.faults);
            faults.iter().for_each(|fault| self.fault_is(number, fault, None));
        }
    }

    pub(super) fn switched_in(&mut self, tid: u32, ticks: u64) {
        let thread = self.threads.by_tid(tid);
        let Some((from, preempted)) = thread.out_since.take().filter(|(from, _)| *from < ticks) else { return };
        let preempted = preempted || thread.was_stopped(from, ticks);
        let off = Off { from, to: ticks, preempted, read: None };
        let (number, last, size) = (thread.number, thread.last, thread.size);
        if thread.open.is_some() && last.overlap(from, ticks) > 0 {
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

    pub(super) fn map(&mut self, event: &KernelEvent, mapping: &Mapping) {
        let before = event.ticks < self.began;
        if before && !self.told_from_exec {
            return; // it is known from the beginning
        }
        let kind = self.kind_of(&mapping.path);
        self.forget_huge(mapping.start, mapping.length);
        self.space_mut().map(mapping.start, mapping.length, kind);
        self.code_is_mapped(mapping);
        if !before && &*mapping.path == "//anon" && mapping.protection != 0 {
            let thread = self.threads.by_tid(event.tid);
            thread.mapped.push((event.ticks, mapping.length));
            // A thread that only maps makes no calls in which this could lie.
            thread.mapped.truncate(MOST_WAITING);
            thread.attention = true;
        }
    }

    pub(super) fn thread_is_gone(&mut self, tid: u32, ticks: u64) {
        let Some(thread) = self.threads.ends(tid) else { return };
        let number = thread.number;
        self.nothing_follows(number, ticks);
    }
}
