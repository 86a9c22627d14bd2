//! Emptying the rings before they are full.
//!
//! Decoding takes ten times as long as copying. So a thread that does nothing else copies the records out of the rings, and
//! the collector decodes the copies later. Where that thread still comes late, because other programs keep all
//! processors busy, a ring is found half full: then only one fault in [`crate::sampling::COARSE`] is sampled from there on.

use crate::clock_conversion::Clock;
use crate::perf::PerfEvent;
use crate::ring::Ring;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of records that wait to be decoded, at most: 5 million faults. Beyond, records stay in the rings, and those that do
/// not fit there are lost.
const MOST_WAITING: usize = 256 << 20;

/// The rings, and the faults that are sampled into them.
pub struct RingReader {
    state: Mutex<State>,
    clock: Clock,
}

/// Records of one ring that were taken from it and are not decoded yet.
pub struct RingRecords {
    pub cpu: u32,
    pub records: Vec<u8>,
}

struct State {
    rings: Vec<Ring>,
    taken: Vec<RingRecords>,
    /// All records of before this time of the kernel's clock have been taken.
    until: u64,
    /// The exact one and, if sampling adapts, the coarse one; each with an event a ring and thread.
    fault_sets: Vec<Vec<PerfEvent>>,
    /// The fault set that is on.
    set: usize,
    set_changes: u64,
    pressed: bool,
}

impl RingReader {
    pub(crate) fn new(rings: Vec<Ring>, fault_sets: Vec<Vec<PerfEvent>>, clock: Clock) -> RingReader {
        let taken = nothing_taken(&rings);
        let state = State { rings, taken, until: 0, fault_sets, set: 0, set_changes: 0, pressed: false };
        RingReader { state: Mutex::new(state), clock }
    }

    /// Takes the records out of the rings. Returns whether it came late: a ring was half full.
    pub fn empty(&self) -> bool {
        self.locked().take(self.clock)
    }

    /// Samples every fault (0) or, if sampling adapts, one in 17 (1), from now on.
    pub fn choose(&self, set: usize) {
        self.locked().choose(set);
    }
}

/// For the collector.
impl RingReader {
    /// Empties the rings, too, and exchanges `taken`, which must have been read, for what was taken since. Returns the time
    /// of the kernel's clock up to which that is all.
    pub(crate) fn fetch(&self, taken: &mut Vec<RingRecords>) -> u64 {
        let mut state = self.locked();
        if taken.is_empty() {
            *taken = nothing_taken(&state.rings);
        }
        taken.iter_mut().for_each(RingRecords::clear);
        if state.waits() >= MOST_WAITING {
            // There is room again only without these.
            std::mem::swap(&mut state.taken, taken);
            return state.until;
        }
        state.take(self.clock);
        std::mem::swap(&mut state.taken, taken);
        state.until
    }

    /// Whether rings were found half full since the last time.
    pub(crate) fn was_pressed(&self) -> bool {
        std::mem::take(&mut self.locked().pressed)
    }

    /// Samples the faults of the set that is on.
    pub(crate) fn switch_on(&self) -> std::io::Result<()> {
        let state = self.locked();
        state.fault_sets.get(state.set).into_iter().flatten().try_for_each(PerfEvent::enable)
    }

    /// How often the set changed.
    pub(crate) fn set_changes(&self) -> u64 {
        self.locked().set_changes
    }

    /// Does something with the rings and the fault sets.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&[Ring], &[Vec<PerfEvent>]) -> T) -> T {
        let state = self.locked();
        act(&state.rings, &state.fault_sets)
    }

    pub(crate) fn close(&self) {
        let mut state = self.locked();
        state.rings.clear();
        state.fault_sets.clear();
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, clock: Clock) -> bool {
        let heads: Vec<u64> = self.rings.iter().map(Ring::head).collect();
        let now = clock.kernel_time();
        let late = self.rings.iter().zip(&heads).any(|(ring, head)| ring.filled(*head) >= ring.capacity() / 2);
        let waits = self.waits();
        if late || waits >= MOST_WAITING / 2 {
            self.pressed = true;
            let coarsest = self.fault_sets.len().saturating_sub(1);
            self.choose(coarsest);
        }
        if waits < MOST_WAITING {
            for ((ring, head), taken) in self.rings.iter_mut().zip(heads).zip(&mut self.taken) {
                ring.take(head, &mut taken.records);
            }
            self.until = now;
        }
        late
    }

    /// Bytes that wait to be decoded.
    fn waits(&self) -> usize {
        self.taken.iter().map(|taken| taken.records.len()).sum()
    }

    fn choose(&mut self, set: usize) {
        if set == self.set {
            return;
        }
        let (Some(next), Some(last)) = (self.fault_sets.get(set), self.fault_sets.get(self.set)) else { return };
        for (on, off) in next.iter().zip(last) {
            // The reader may lose the processor between the two calls: in this order, one of the events sees each fault all the time.
            // `fault_twins` merges the samples of faults that both see.
            let _ = on.enable();
            let _ = off.disable();
        }
        self.set = set;
        self.set_changes += 1;
    }
}

impl RingRecords {
    /// Empty again. What a storm took is not kept.
    fn clear(&mut self) {
        const KEPT: usize = 1 << 20;
        self.records.clear();
        self.records.shrink_to(KEPT);
    }
}

fn nothing_taken(rings: &[Ring]) -> Vec<RingRecords> {
    rings.iter().map(|ring| RingRecords { cpu: ring.cpu(), records: Vec::new() }).collect()
}
