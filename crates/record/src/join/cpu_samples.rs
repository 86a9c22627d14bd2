//! Where threads run, by the kernel's samples of them.
//!
//! The processor charges a wait for memory to the instruction that waits. So samples tell the allocator's own time from
//! that of the program around it, which time stamps cannot. What ran is known by its code; the calls of the thread only
//! say whose work the kernel does, or a function of the C library that the allocator calls (memmove, waiting for a lock).

use super::address_space::Kind;
use super::places::CodeMapped;
use super::sample::{Sample, Spot};
use super::threads::{Call, Effect};
use super::{Join, MOST_WAITING};
use memtoll_kernel::{Mapping, Mode};
use memtoll_symbols::AllocatorCode;
use memtoll_trace::ids::Ticks;
use memtoll_trace::meta::Running;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Code of a file in memory.
struct Code {
    end: u64,
    /// Where in the file it begins, bytes.
    offset: u64,
    mapped: CodeMapped,
}

/// What samples met: code, who ran, and the effect of the call that the thread was in.
type Met = (Spot, Mode, Option<Effect>);

/// The samples of an image.
#[derive(Default)]
pub struct Samples {
    code: BTreeMap<u64, Code>,
    met: FxHashMap<Met, u64>,
}

impl Samples {
    /// Memory holds code of a file now.
    pub fn code_at(&mut self, start: u64, length: u64, offset: u64, mapped: CodeMapped) {
        let end = start.saturating_add(length);
        self.code.retain(|at, code| code.end <= start || end <= *at);
        self.code.insert(start, Code { end, offset, mapped });
    }

    fn at(&self, ip: u64) -> Option<(u64, &Code)> {
        let (start, code) = self.code.range(..=ip).next_back()?;
        (ip < code.end).then_some((*start, code))
    }

    /// Which file's code is at an address now.
    pub fn mapped(&self, ip: u64) -> Option<&CodeMapped> {
        self.at(ip).map(|(_, code)| &code.mapped)
    }

    fn spot(&self, ip: u64) -> Spot {
        let file = |(start, code): (u64, &Code)| Spot::File(code.mapped.path.clone(), code.offset + (ip - start));
        self.at(ip).map_or(Spot::Elsewhere, file)
    }

    /// By kinds. `allocator` knows which code of a file is the allocator's.
    pub fn sorted(&self, mut allocator: impl FnMut(&Arc<str>) -> Arc<AllocatorCode>) -> Running {
        let mut all = Running::default();
        for ((spot, mode, effect), count) in &self.met {
            let in_allocator = *effect == Some(Effect::Acquire) || *effect == Some(Effect::Release);
            let kind = match (mode, spot) {
                (Mode::Program, Spot::Recorder) => &mut all.recorder,
                (_, Spot::Recorder) => &mut all.recorder_in_kernel,
                (Mode::Program, Spot::File(path, offset)) => {
                    let code = allocator(path);
                    // In the file with the allocator, a call also gets to functions that it shares with the program.
                    let is_allocator = code.has_offset(*offset) || in_allocator && !code.is_empty();
                    if is_allocator { &mut all.allocator } else { &mut all.program }
                }
                (Mode::Program, Spot::Elsewhere) => &mut all.program,
                (Mode::Fault, _) if in_allocator => &mut all.faults_inside,
                (Mode::Fault, _) => &mut all.faults,
                (Mode::SystemCall, _) if in_allocator => &mut all.allocator_in_kernel,
                (Mode::SystemCall, _) if *effect == Some(Effect::Mapping) => &mut all.mapping,
                (Mode::SystemCall, _) => &mut all.system_calls,
            };
            *kind += count;
        }
        all
    }
}

impl Join {
    pub(super) fn code_is_mapped(&mut self, mapping: &Mapping, at: Ticks) {
        if mapping.is_executable() && mapping.path.starts_with('/') {
            let mapped = CodeMapped { path: mapping.path.clone(), at };
            self.samples.code_at(mapping.start, mapping.length, mapping.page_offset, mapped);
        }
    }

    /// A thread ran.
    pub(super) fn runs(&mut self, tid: u32, at: Ticks, ip: u64, mode: Mode) {
        let spot = match self.space.find(ip).map(|(_, mapping)| mapping.kind) {
            Some(Kind::Recorder) => Spot::Recorder,
            Some(Kind::File | Kind::Globals) => self.samples.spot(ip),
            _ => Spot::Elsewhere,
        };
        let sample = Sample { at, spot, mode };
        let thread = self.threads.by_tid(tid);
        if mode == Mode::Program {
            thread.seen = at;
        }
        if thread.last.holds(at) {
            let last = thread.last;
            return self.samples_met([sample], &last);
        }
        let samples = &mut thread.wait().samples;
        samples.push(sample);
        if samples.len() >= MOST_WAITING {
            let samples = std::mem::take(samples);
            self.samples_met(samples, &Call::default());
        }
    }

    /// Samples of the time before and in a call.
    pub(super) fn samples_met(&mut self, samples: impl IntoIterator<Item = Sample>, call: &Call) {
        for Sample { at, spot, mode } in samples {
            let effect = call.holds(at).then_some(call.effect);
            *self.samples.met.entry((spot, mode, effect)).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_says_what_ran_and_calls_say_for_whom_the_kernel_did() {
        let libc: Arc<str> = "/usr/lib/libc.so.6".into();
        let mut samples = Samples::default();
        let mapped = |path: &Arc<str>| CodeMapped { path: path.clone(), at: Ticks::ZERO };
        samples.code_at(0x1000, 0x1000, 0x500, mapped(&libc));
        samples.code_at(0x1800, 0x1000, 0, mapped(&"/opt/program".into()));
        assert_eq!(samples.spot(0x1400), Spot::Elsewhere, "another file lies over it");
        samples.code_at(0x4000, 0x1000, 0x28000, mapped(&libc));
        assert_eq!(samples.spot(0x4010), Spot::File(libc.clone(), 0x28010));
        let file = |offset| Spot::File(libc.clone(), offset);
        let mut met = |spot, mode, effect| *samples.met.entry((spot, mode, effect)).or_default() += 1;
        met(file(0x28010), Mode::Program, None);
        met(file(0x28010), Mode::Program, Some(Effect::Release));
        met(Spot::Recorder, Mode::Program, Some(Effect::Acquire));
        met(Spot::Recorder, Mode::Fault, None);
        met(Spot::Elsewhere, Mode::Program, Some(Effect::Acquire));
        met(Spot::Elsewhere, Mode::Fault, Some(Effect::Acquire));
        met(Spot::Elsewhere, Mode::Fault, None);
        met(file(1), Mode::SystemCall, Some(Effect::Release));
        met(file(1), Mode::SystemCall, Some(Effect::Mapping));
        met(file(1), Mode::SystemCall, None);
        let sorted = samples.sorted(|_| Arc::default());
        let nothing_known = Running {
            recorder: 1,
            recorder_in_kernel: 1,
            allocator: 0,
            allocator_in_kernel: 1,
            faults_inside: 1,
            faults: 1,
            mapping: 1,
            system_calls: 1,
            program: 3,
        };
        assert_eq!(sorted, nothing_known);
    }
}
