//! How long the kernel handles a fault: of some faults, both ends are sampled.

use crate::event::{KernelEvent, What};
use rustc_hash::FxHashMap;

/// A fault that took longer was interrupted, or the host of a virtual machine had other work. Nanoseconds. A huge page is
/// zeroed in 100 µs, in 2 ms where the host has to find the memory first.
const INTERRUPTED: u64 = 100_000;
const INTERRUPTED_HUGE: u64 = 100 * INTERRUPTED;

/// Faults that have begun and of which the end is still to come: by thread, when, and the address.
#[derive(Debug, Default)]
pub struct Beginnings(FxHashMap<u32, (u64, u64)>);

impl Beginnings {
    /// Takes the events in the order of time, stamped by the kernel. Says of a fault how long it took, if its beginning
    /// was seen. False for the beginning itself, of which nobody else needs to know.
    pub fn complete(&mut self, event: &mut KernelEvent) -> bool {
        match &mut event.what {
            What::FaultBegins { address } => {
                self.0.insert(event.tid, (event.ticks, *address));
                return false;
            }
            What::Fault { address, handling, page, .. } => {
                if let Some((began, at)) = self.0.remove(&event.tid)
                    && at == *address
                {
                    let huge = page.is_some_and(|page| page > rustix::param::page_size() as u64);
                    let longest = if huge { INTERRUPTED_HUGE } else { INTERRUPTED };
                    let took = event.ticks.saturating_sub(began);
                    *handling = u32::try_from(took).ok().filter(|_| took <= longest);
                }
            }
            What::SwitchOut { .. } | What::Exit => _ = self.0.remove(&event.tid),
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
}
