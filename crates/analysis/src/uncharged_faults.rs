//! Uncharged page faults and other kernel counts of a process image that belong to no call site.

use memtoll_tally::Selection;
use memtoll_trace::costs::{Cost, CostKind, Uncharged};
use memtoll_trace::meta::KernelStats;

/// Faults that are charged to no site, by what their memory is.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct UnchargedFaults([u64; Uncharged::COUNT]);

impl UnchargedFaults {
    /// Of one kind of memory.
    pub fn of(&self, memory: Uncharged) -> u64 {
        self.0[memory as usize]
    }

    /// Adds some. Numbers of a damaged file may be beyond all sums.
    pub fn add(&mut self, memory: Uncharged, more: u64) {
        let sum = &mut self.0[memory as usize];
        *sum = sum.saturating_add(more);
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.0.into_iter().fold(0, u64::saturating_add)
    }
}

impl From<&KernelStats> for UnchargedFaults {
    fn from(kernel: &KernelStats) -> Self {
        use Uncharged::*;
        let mut faults = UnchargedFaults::default();
        let mut kernel = kernel.clone();
        for memory in [Files, Globals, Stacks, Loader, Shared, Recorder, Unowned] {
            faults.add(memory, *kernel.uncharged(memory));
        }
        faults
    }
}

/// Faults that are charged to no site, and how the heap moved.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct HeapAndOtherFaults {
    pub uncharged: UnchargedFaults,
    /// Variance of the number of all faults that were seen, charged or not: not 0 where they were sampled.
    pub variance: f64,
    /// How often calls of the allocator took memory from the system.
    pub grown_calls: u64,
    pub grown_bytes: u64,
    /// How often they gave it back.
    pub shrunk_calls: u64,
    pub shrunk_bytes: u64,
}

impl HeapAndOtherFaults {
    /// Of a whole image.
    pub fn of(kernel: &KernelStats) -> HeapAndOtherFaults {
        HeapAndOtherFaults {
            uncharged: kernel.into(),
            variance: kernel.faults_error * kernel.faults_error,
            grown_calls: kernel.grown_calls,
            grown_bytes: kernel.grown_bytes,
            shrunk_calls: kernel.shrunk_calls,
            shrunk_bytes: kernel.shrunk_bytes,
        }
    }

    /// Adds a cost, if it is selected.
    pub fn cost(&mut self, cost: &Cost, selection: &Selection) {
        if !selection.admits(cost) {
            return;
        }
        if cost.kind.is_fault() {
            // The sample stands for this number of faults.
            self.variance += cost.amount as f64 * (cost.amount as f64 - 1.0);
        }
        if let Some(memory) = cost.kind.uncharged() {
            return self.uncharged.add(memory, cost.amount);
        }
        let (sum, calls) = match cost.kind {
            CostKind::Grown => (&mut self.grown_bytes, &mut self.grown_calls),
            CostKind::Shrunk => (&mut self.shrunk_bytes, &mut self.shrunk_calls),
            _ => return,
        };
        // Numbers of a damaged file may be beyond all sums.
        *sum = sum.saturating_add(cost.amount);
        *calls += 1;
    }

    /// Adds that of another image.
    pub fn add(&mut self, other: &HeapAndOtherFaults) {
        let HeapAndOtherFaults { uncharged, variance, grown_calls, grown_bytes, shrunk_calls, shrunk_bytes } = other;
        for (sum, more) in self.uncharged.0.iter_mut().zip(uncharged.0) {
            *sum = sum.saturating_add(more);
        }
        for (sum, more) in [
            (&mut self.grown_calls, grown_calls),
            (&mut self.grown_bytes, grown_bytes),
            (&mut self.shrunk_calls, shrunk_calls),
            (&mut self.shrunk_bytes, shrunk_bytes),
        ] {
            *sum = sum.saturating_add(*more);
        }
        self.variance += variance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use memtoll_trace::ids::Units;

    #[test]
    fn a_part_has_only_what_happened_in_it() {
        let cost = |time, kind, amount| Cost::of(kind, time, amount);
        let selection = Selection { from: Units(100), to: Units(200), ..Selection::default() };
        let mut beside = HeapAndOtherFaults::default();
        for (time, kind, amount) in [
            (99, CostKind::FileFault, 17),
            (100, CostKind::FileFault, 1),
            (200, CostKind::StackFault, 2),
            (150, CostKind::Grown, 4096),
            (201, CostKind::Grown, 8192),
            (160, CostKind::Fault, 3),
        ] {
            beside.cost(&cost(Units(time), kind, amount), &selection);
        }
        let mut expected =
            HeapAndOtherFaults { grown_calls: 1, grown_bytes: 4096, variance: 8.0, ..HeapAndOtherFaults::default() };
        expected.uncharged.add(Uncharged::Files, 1);
        expected.uncharged.add(Uncharged::Stacks, 2);
        assert_eq!(beside, expected);
        assert_eq!(beside.uncharged.all(), 3);
        beside.add(&expected);
        let files = beside.uncharged.of(Uncharged::Files);
        assert_eq!((files, beside.grown_bytes, beside.variance), (2, 8192, 16.0));
    }
}
