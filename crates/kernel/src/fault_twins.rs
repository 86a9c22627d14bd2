//! Two samples of one fault: while the period changes, the events of both periods are on for a moment, and either may sample it.

use crate::event::{KernelEvent, What};

/// Finds them among the events of one ring: the kernel writes both samples of a fault one after the other.
#[derive(Default)]
pub struct FaultTwins {
    /// Where the last minor fault of the ring is among all events.
    last: Option<usize>,
}

impl FaultTwins {
    /// Compares the ring's next event with the ring's last fault, one of `events`. If both sample the same fault, the last one becomes
    /// a sample of one fault, and the next one is to be dropped. Returns the weight that the last one had.
    pub fn merge(&mut self, next: &KernelEvent, events: &mut [KernelEvent]) -> Option<u32> {
        let What::Fault { address, weight, major: false, .. } = next.what else { return None };
        let (next_weight, last) = (weight, self.last.replace(events.len()));
        let index = last?;
        let last = events.get_mut(index)?;
        let What::Fault { address: at, weight, .. } = &mut last.what else { return None };
        // Linux 6.2 and later write what the first sample says into both.
        let are_of_both = *weight != next_weight || last.ticks == next.ticks;
        if (last.tid, *at) != (next.tid, address) || !are_of_both {
            return None;
        }
        self.last = Some(index);
        Some(std::mem::replace(weight, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64, tid: u32, address: u64, weight: u32) -> KernelEvent {
        let what = What::Fault { address, ip: 0, weight, major: false, in_kernel: false, handling: None, page: None };
        KernelEvent { ticks, cpu: 0, pid: 1, tid, what }
    }

    /// The faults of a ring without second samples, as thread, address and weight, and what the first of two samples stood for.
    fn merged(ring: &[KernelEvent]) -> (Vec<(u32, u64, u32)>, Vec<u32>) {
        let (mut twins, mut events, mut found) = (FaultTwins::default(), Vec::new(), Vec::new());
        for event in ring {
            match twins.merge(event, &mut events) {
                Some(weight) => found.push(weight),
                None => events.push(event.clone()),
            }
        }
        let fault = |event: &KernelEvent| match event.what {
            What::Fault { address, weight, .. } => Some((event.tid, address, weight)),
            _ => None,
        };
        (events.iter().filter_map(fault).collect(), found)
    }

    #[test]
    fn a_fault_that_both_periods_sample_is_one() {
        for (first, second) in [(1, 17), (17, 1)] {
            let ring = [at(5, 1, 7, first), at(6, 1, 7, second)];
            assert_eq!(merged(&ring), (vec![(1, 7, 1)], vec![first]), "each of its own");
        }
        for weight in [1, 17] {
            let ring = [at(5, 1, 7, weight), at(5, 1, 7, weight)];
            assert_eq!(merged(&ring), (vec![(1, 7, 1)], vec![weight]), "what the first says, twice");
        }
        let runs = KernelEvent { what: What::SwitchIn, ..at(5, 1, 0, 1) };
        assert_eq!(merged(&[at(5, 1, 7, 17), runs, at(5, 1, 7, 17)]).1, [17], "another event in between");
    }

    #[test]
    fn other_faults_are_their_own() {
        for ring in [
            [at(5, 1, 7, 17), at(6, 1, 8, 1)],
            [at(5, 1, 7, 17), at(6, 2, 7, 1)],
            [at(5, 1, 7, 1), at(6, 1, 7, 1)],
            [at(5, 1, 7, 17), at(6, 1, 7, 17)],
            [at(5, 1, 7, 1), at(5, 1, 8, 1)],
        ] {
            assert_eq!((merged(&ring).0.len(), merged(&ring).1), (2, vec![]), "{ring:?}");
        }
    }
}
