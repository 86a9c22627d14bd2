//! The collector: events on, records in, events out in the order of time.

use crate::clock_conversion::{Clock, Timeline};
use crate::decode::Decoder;
use crate::event::{KernelEvent, What};
use crate::fault_durations::Beginnings;
use crate::fault_twins::FaultTwins;
use crate::opening::{Opened, Options, View, Watched, open};
use crate::perf::{Count, PerfEvent};
use crate::refusal_reason::Refused;
use crate::ring;
use crate::ring_reader::{RingReader, RingRecords};
use crate::sampling::{Allowance, COARSE};
use crate::wakeup::Wakeup;
use rustix::process::Pid;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A record usually becomes readable within this time after its stamp, in nanoseconds. Who waits for all events up to a
/// time holds back everything else meanwhile, so it is short; a processor that is held up in the middle of writing, by an
/// interrupt or by the host of a virtual machine, makes late events.
const SETTLED: u64 = 100_000;

/// How often it is decided how many faults are sampled.
const DECIDE: Duration = Duration::from_millis(10);

/// Collects what the kernel tells of a process and all that it starts.
pub struct Collector {
    ring_reader: Arc<RingReader>,
    /// Of further threads, what a ring's own event tells and counts.
    other_events: Vec<PerfEvent>,
    /// Major faults that were counted before all else was switched on.
    major_faults_before: u64,
    /// Read, but for the room that they take.
    taken: Vec<RingRecords>,
    decoder: Decoder,
    /// The beginnings of some faults; an event a ring and thread.
    beginning_events: Vec<PerfEvent>,
    /// Where threads run; an event a ring and thread.
    running_events: Vec<PerfEvent>,
    cpu_time: Vec<PerfEvent>,
    view: View,
    timeline: Timeline,
    /// Decoded, by the kernel's time, not yet passed on.
    pending: Vec<KernelEvent>,
    beginnings: Beginnings,
    /// Up to here all has been passed on, on the kernel's clock.
    passed: u64,
    /// None where the period is fixed.
    allowance: Option<Allowance>,
    decide_at: Instant,
    samples_at_decision: u64,
    /// Minor faults that both fault sets counted while one was switched on and the other off.
    counted_twice: u64,
    totals: Totals,
}

/// Sums over the process tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Minor faults as the kernel counted them, of those that the [`View`] comprises: exactly, but for up to 16 that a thread takes
    /// in the moment that the period changes.
    pub minor_faults: u64,
    /// Major faults as the kernel counted them.
    pub major_faults: u64,
    /// Minor faults that the samples stand for: the sum of their weights.
    pub sampled_faults: u64,
    /// Samples of faults: what was passed on, and beginnings.
    pub samples: u64,
    /// Processor time, in nanoseconds.
    pub cpu_time: u64,
    /// Records that did not fit into a ring.
    pub lost_records: u64,
    /// Minor faults that these stand for: they were counted, and no sample says whose they were.
    pub lost_faults: u64,
    /// Of the lost records, those that said where a thread ran. All that were lost where the kernel does not count each
    /// event's (before Linux 6.0).
    pub lost_running: u64,
    /// Of the lost records, those of switches, mappings, tasks and major faults; again all where that is not known.
    pub lost_others: u64,
    /// Events that were passed on later than the promised time.
    pub late_events: u64,
    /// Records that could not be read.
    pub damaged_records: u64,
    /// How often the period changed.
    pub period_changes: u64,
    /// Of the time that the count of processor time was wanted, the share it was off, in parts per million. 0 unless the
    /// kernel was short of counters, which it is not for those in software.
    pub off_ppm: u64,
}

impl Collector {
    /// Starts with process `pid`, which must not have exec'd yet: from its next exec on, everything it and its descendants
    /// do is collected.
    pub fn start(pid: Pid, clock: Clock, options: &Options) -> Result<Collector, Refused> {
        Collector::open(Watched::FromExec(pid), clock, options)
    }

    /// For a process that runs, with these threads, the main one first: what they and those that they start map, start and end is
    /// collected from now on, all else from [`Collector::switch_on`] on. Threads that begin meanwhile, by one that is not yet
    /// watched, are not.
    pub fn attach(threads: &[Pid], clock: Clock, options: &Options) -> Result<Collector, Refused> {
        Collector::open(Watched::Threads(threads), clock, options)
    }

    fn open(watched: Watched<'_>, clock: Clock, options: &Options) -> Result<Collector, Refused> {
        let Opened { rings, others, fault_sets, beginnings, running, cpu_time, decoder, view } =
            open(watched, clock, options)?;
        let adaptive = fault_sets.len() > 1;
        Ok(Collector {
            ring_reader: Arc::new(RingReader::new(rings, fault_sets, clock)),
            other_events: others,
            major_faults_before: 0,
            taken: Vec::new(),
            decoder,
            beginning_events: beginnings,
            running_events: running,
            cpu_time,
            view,
            timeline: Timeline::start(clock),
            pending: Vec::new(),
            beginnings: Beginnings::default(),
            passed: 0,
            allowance: adaptive.then(Allowance::new),
            decide_at: Instant::now(),
            samples_at_decision: 0,
            counted_twice: 0,
            totals: Totals::default(),
        })
    }

    /// Switches on what [`Collector::attach`] has opened. The process should stand still.
    pub fn switch_on(&mut self) -> io::Result<()> {
        self.ring_reader.switch_on()?;
        let all = self.beginning_events.iter().chain(&self.running_events).chain(&self.cpu_time);
        all.into_iter().try_for_each(PerfEvent::enable)?;
        self.major_faults_before = self.major_faults().value;
        Ok(())
    }

    /// And what they count beside.
    fn major_faults(&self) -> Count {
        let count = |event: &PerfEvent| event.count().unwrap_or_default();
        let of_rings = self
            .ring_reader
            .with(|rings, _| rings.iter().map(|ring| count(ring.event())).fold(Count::default(), Count::plus));
        self.other_events.iter().map(count).fold(of_rings, Count::plus)
    }

    /// What is seen and what is not.
    pub fn view(&self) -> View {
        self.view
    }

    /// Something to sleep on until [`Self::drain`] is due. Without it, drain every 10 ms.
    pub fn wakeup(&self) -> io::Result<Wakeup> {
        self.ring_reader.with(|rings, _| Wakeup::new(rings.iter().map(|ring| ring.event())))
    }

    /// What empties the rings between two calls of [`Self::drain`], from a thread that need not wait for the collector.
    pub fn ring_reader(&self) -> Arc<RingReader> {
        self.ring_reader.clone()
    }

    /// Passes on what has happened, in the order of time. Returns the time up to which that is all, on the caller's
    /// clock: later calls bring only later events. It stays some milliseconds behind.
    pub fn drain(&mut self, each: &mut dyn FnMut(KernelEvent)) -> u64 {
        let now = self.read();
        let settled = now.saturating_sub(SETTLED).max(self.passed);
        self.pass_on(settled, each);
        self.decide();
        self.timeline.ticks(settled)
    }

    /// Ends the collection, even if processes of the tree go on: passes on the rest, and tells the sums.
    pub fn finish(mut self, each: &mut dyn FnMut(KernelEvent)) -> Totals {
        self.ring_reader.with(|rings, sets| {
            let events = rings.iter().map(|ring| ring.event()).chain(sets.iter().flatten());
            let events = events.chain(&self.other_events).chain(&self.beginning_events);
            for event in events.chain(&self.running_events).chain(&self.cpu_time) {
                // What cannot be switched off goes on until it is closed below.
                let _ = event.disable();
            }
        });
        // Once more where very much waited to be decoded.
        for _ in 0..2 {
            self.read();
        }
        self.pass_on(u64::MAX, each);
        self.count();
        self.ring_reader.close();
        self.totals
    }

    /// What the kernel counted in all.
    fn count(&mut self) {
        let count = |event: &PerfEvent| event.count().unwrap_or_default();
        let sum = |events: &[PerfEvent]| events.iter().map(count).fold(Count::default(), Count::plus);
        let (running, beginnings, cpu) = (sum(&self.running_events), sum(&self.beginning_events), sum(&self.cpu_time));
        let others = self.major_faults();
        let sets = self.ring_reader.with(|_, sets| sets.iter().map(|set| sum(set)).collect::<Vec<Count>>());
        let totals = &mut self.totals;
        // At least one of the sets is on at any time.
        let by_sets: u64 = sets.iter().map(|set| set.value).sum();
        totals.minor_faults = by_sets - self.counted_twice.min(by_sets);
        totals.major_faults = others.value - self.major_faults_before.min(others.value);
        let off = u128::from(cpu.enabled.saturating_sub(cpu.running)) * 1_000_000;
        totals.off_ppm = (off / u128::from(cpu.enabled.max(1))) as u64;
        totals.cpu_time = cpu.value;
        totals.period_changes = self.ring_reader.set_changes();
        // The ring tells of lost records only with the next one that fits; the counts know them all.
        let by_event = sets.iter().chain([&others, &running, &beginnings]).filter_map(|count| count.lost).sum();
        totals.lost_records = totals.lost_records.max(by_event);
        if totals.lost_records > 0 {
            totals.lost_faults = totals.minor_faults.saturating_sub(totals.sampled_faults);
            totals.lost_running = running.lost.unwrap_or(totals.lost_records);
            totals.lost_others = others.lost.unwrap_or(totals.lost_records);
        }
    }

    /// Takes what is in the rings. Returns the kernel's time before which that is all.
    fn read(&mut self) -> u64 {
        let now = self.ring_reader.fetch(&mut self.taken);
        self.timeline.mark();
        for RingRecords { cpu, records } in &self.taken {
            let mut twins = FaultTwins::default();
            let whole = ring::read(records, |record| match self.decoder.decode(*cpu, record) {
                Ok(Some(event)) => {
                    if let Some(weight) = twins.merge(&event, &mut self.pending) {
                        self.totals.samples += 1;
                        self.totals.sampled_faults -= u64::from(weight - 1);
                        self.counted_twice += u64::from(COARSE);
                        return;
                    }
                    match event.what {
                        What::Fault { weight, major, .. } => {
                            self.totals.samples += 1;
                            self.totals.sampled_faults += if major { 0 } else { u64::from(weight) };
                        }
                        // It costs the target as much as any sample.
                        What::FaultBegins { .. } => self.totals.samples += 1,
                        What::Lost { records } => self.totals.lost_records += records,
                        _ => {}
                    }
                    self.totals.late_events += u64::from(event.ticks < self.passed);
                    self.pending.push(event);
                }
                Ok(None) => {}
                Err(_) => self.totals.damaged_records += 1,
            });
            self.totals.damaged_records += u64::from(!whole);
        }
        now
    }

    /// Passes on what happened up to a time of the kernel's clock.
    fn pass_on(&mut self, until: u64, each: &mut dyn FnMut(KernelEvent)) {
        // Each ring is in order already, nearly; the sort finds such runs and merges them.
        self.pending.sort_by_key(|event| event.ticks);
        let settled = self.pending.partition_point(|event| event.ticks <= until);
        for mut event in self.pending.drain(..settled) {
            if !self.beginnings.complete(&mut event) {
                continue;
            }
            event.ticks = self.timeline.ticks(event.ticks);
            each(event);
        }
        self.timeline.forget_before(self.passed);
        self.passed = until;
    }

    /// Switches between the fault sets, so that samples stay cheap and rings do not overflow.
    fn decide(&mut self) {
        let Some(allowance) = &mut self.allowance else { return };
        if self.ring_reader.was_pressed() {
            allowance.exhaust();
        }
        let now = Instant::now();
        if now < self.decide_at {
            return;
        }
        let each = self.cpu_time.iter().map(PerfEvent::count);
        let Ok(cpu) = each.sum::<io::Result<Count>>() else { return };
        // Counting asks every thread of the tree: where there are very many, do it less often.
        self.decide_at = now + DECIDE.max(now.elapsed() * 100);
        let set = usize::from(allowance.update(cpu.value, self.totals.samples - self.samples_at_decision));
        self.samples_at_decision = self.totals.samples;
        self.ring_reader.choose(set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_may_move_between_threads() {
        fn check<T: Send>() {}
        check::<Collector>();
        check::<Wakeup>();
        check::<Arc<RingReader>>();
    }
}
