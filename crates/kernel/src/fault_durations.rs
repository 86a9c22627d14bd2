//! How long the kernel handles a fault: of some faults, both ends are sampled.

use crate::event::{KernelEvent, What};
use rustc_hash::FxHashMap;

/// A fault that took longer was interrupted, or the host of a virtual machine had other work. Nanoseconds. A huge page is
/// zeroed in 100 µs, in 2 ms where the host has to find the memory first.
const INTERRUPTED: u64 = 100_000;
const INTERRUPTED_HUGE: u64 = 100 * INTERRUPTED;

/// Where not every fault is sampled, what looks like the end of one may be a later fault's at the same address: of a page
/// that was read before it was written, of a file that is mapped there again. Times that are this many times as long as those
/// that are certain do not count.
const TOO_LONG: u64 = 4;
/// Fewer certain times say nothing, and this is too long. Nanoseconds.
const FEWEST_CERTAIN: u64 = 16;
const UNCERTAIN: u64 = 10_000;

/// Times of faults whose end is certain.
#[derive(Debug, Default)]
struct Certain {
    faults: u64,
    /// All together, nanoseconds.
    time: u64,
}

impl Certain {
    /// The longest time that is believed where the end is uncertain, nanoseconds.
    fn longest(&self) -> u64 {
        if self.faults < FEWEST_CERTAIN { UNCERTAIN } else { self.time / self.faults * TOO_LONG }
    }
}

/// Faults that have begun and of which the end is still to come.
#[derive(Debug, Default)]
pub struct Beginnings {
    /// By thread, when, and the address.
    open: FxHashMap<u32, (u64, u64)>,
    certain: Certain,
}

impl Beginnings {
    /// Takes the events in the order of time, stamped by the kernel. Says of a fault how long it took, if its beginning
    /// was seen. False for the beginning itself, which no other reader needs.
    pub fn complete(&mut self, event: &mut KernelEvent) -> bool {
        match &mut event.what {
            What::FaultBegins { address } => {
                self.open.insert(event.tid, (event.ticks, *address));
                return false;
            }
            What::Fault { address, handling, page, weight, .. } => {
                if let Some((began, at)) = self.open.remove(&event.tid)
                    && at == *address
                {
                    let took = event.ticks.saturating_sub(began);
                    let huge = page.is_some_and(|page| page > rustix::param::page_size() as u64);
                    let longest = match (huge, *weight) {
                        (true, _) => INTERRUPTED_HUGE,
                        (false, 1) => INTERRUPTED,
                        (false, _) => self.certain.longest(),
                    };
                    *handling = u32::try_from(took).ok().filter(|_| took <= longest);
                    if handling.is_some() && !huge && *weight == 1 {
                        self.certain.faults += 1;
                        self.certain.time += took;
                    }
                }
            }
            What::SwitchOut { .. } | What::Exit => _ = self.open.remove(&event.tid),
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64, tid: u32, what: What) -> KernelEvent {
        KernelEvent { ticks, cpu: 0, pid: 1, tid, what }
    }

    fn begins(ticks: u64, tid: u32, address: u64) -> KernelEvent {
        at(ticks, tid, What::FaultBegins { address })
    }

    fn fault(ticks: u64, tid: u32, address: u64) -> KernelEvent {
        at(
            ticks,
            tid,
            What::Fault { address, ip: 0, weight: 1, major: false, in_kernel: false, handling: None, page: None },
        )
    }

    /// The times of the faults among the events.
    fn times(events: impl IntoIterator<Item = KernelEvent>) -> Vec<Option<u32>> {
        let mut beginnings = Beginnings::default();
        let complete = |mut event| beginnings.complete(&mut event).then_some(event);
        let time = |event: KernelEvent| match event.what {
            What::Fault { handling, .. } => Some(handling),
            _ => None,
        };
        events.into_iter().filter_map(complete).filter_map(time).collect()
    }

    #[test]
    fn a_fault_takes_from_its_beginning_to_its_end() {
        let events = [begins(100, 1, 7), begins(200, 2, 7), fault(1_200, 2, 7), fault(1_700, 1, 7), fault(9_000, 1, 7)];
        assert_eq!(times(events), [Some(1_000), Some(1_600), None]);
    }

    #[test]
    fn the_end_of_another_fault_says_nothing() {
        assert_eq!(times([begins(100, 1, 7), fault(1_000, 1, 8), fault(2_000, 1, 7)]), [None, None]);
    }

    #[test]
    fn what_was_interrupted_says_nothing() {
        assert_eq!(times([begins(0, 1, 7), fault(100_000, 1, 7)]), [Some(100_000)]);
        assert_eq!(times([begins(0, 1, 7), fault(100_001, 1, 7)]), [None]);
        let mut huge = fault(100_001, 1, 7);
        if let What::Fault { page, .. } = &mut huge.what {
            *page = Some(2 << 20);
        }
        assert_eq!(times([begins(0, 1, 7), huge]), [Some(100_001)]);
        let off = at(200, 1, What::SwitchOut { preempted: true });
        assert_eq!(times([begins(100, 1, 7), off, at(900, 1, What::SwitchIn), fault(1_000, 1, 7)]), [None]);
    }

    #[test]
    fn one_of_many_ends_is_believed_only_if_the_time_is_usual() {
        let sampled = |ticks| {
            let mut fault = fault(ticks, 1, 7);
            if let What::Fault { weight, .. } = &mut fault.what {
                *weight = 17;
            }
            fault
        };
        let unusual = [begins(0, 1, 7), sampled(10_000), begins(20_000, 1, 7), sampled(30_001)];
        assert_eq!(times(unusual.clone()), [Some(10_000), None]);
        let certain = (0..16).flat_map(|n| [begins(n * 100_000, 1, 7), fault(n * 100_000 + 20_000, 1, 7)]);
        let times =
            times(certain.chain(unusual).chain([begins(0, 1, 7), sampled(80_000), begins(0, 1, 7), sampled(80_001)]));
        assert_eq!(times[16..], [Some(10_000), Some(10_001), Some(80_000), None]);
    }
}
