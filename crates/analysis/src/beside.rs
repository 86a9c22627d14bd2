//! What the kernel told of a process image beside the costs of its call sites.

use crate::aggregate::Selection;
use memtoll_trace::costs::{Cost, CostKind};
use memtoll_trace::meta::KernelStats;

/// Faults that are charged to nobody, and how the heap moved.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Beside {
    /// Faults of pages of files: code, data of programs and libraries.
    pub files: u64,
    /// Faults of stacks.
    pub stacks: u64,
    /// Faults of the recorder's own memory and code.
    pub recorder: u64,
    /// Faults of anonymous memory that no known block or mapping owned.
    pub unowned: u64,
    /// Variance of the number of all faults that were seen, charged or not: not 0 where they were sampled.
    pub variance: f64,
    /// How often calls of the allocator took memory from the system.
    pub grown_calls: u64,
    /// How much, bytes.
    pub grown_bytes: u64,
    /// How often they gave it back.
    pub shrunk_calls: u64,
    /// How much, bytes.
    pub shrunk_bytes: u64,
}

impl Beside {
    /// Of a whole image.
    pub fn of(kernel: &KernelStats) -> Beside {
        Beside {
            files: kernel.file_faults,
            stacks: kernel.stack_faults,
            recorder: kernel.recorder_faults,
            unowned: kernel.unowned_faults,
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
            // Of a sample that stands for so many.
            self.variance += cost.amount as f64 * (cost.amount as f64 - 1.0);
        }
        let (sum, calls) = match cost.kind {
            CostKind::FileFault => (&mut self.files, None),
            CostKind::StackFault => (&mut self.stacks, None),
            CostKind::RecorderFault => (&mut self.recorder, None),
            CostKind::UnownedFault => (&mut self.unowned, None),
            CostKind::Grown => (&mut self.grown_bytes, Some(&mut self.grown_calls)),
            CostKind::Shrunk => (&mut self.shrunk_bytes, Some(&mut self.shrunk_calls)),
            _ => return,
        };
        // Numbers of a damaged file may be beyond all sums.
        *sum = sum.saturating_add(cost.amount);
        if let Some(calls) = calls {
            *calls += 1;
        }
    }

    /// Adds that of another image.
    pub fn add(&mut self, other: &Beside) {
        let Beside { files, stacks, recorder, unowned, variance, grown_calls, grown_bytes, shrunk_calls, shrunk_bytes } =
            other;
        for (sum, more) in [
            (&mut self.files, files),
            (&mut self.stacks, stacks),
            (&mut self.recorder, recorder),
            (&mut self.unowned, unowned),
            (&mut self.grown_calls, grown_calls),
            (&mut self.grown_bytes, grown_bytes),
            (&mut self.shrunk_calls, shrunk_calls),
            (&mut self.shrunk_bytes, shrunk_bytes),
        ] {
            *sum = sum.saturating_add(*more);
        }
        self.variance += variance;
    }

    /// All of these faults.
    pub fn faults(&self) -> u64 {
        [self.files, self.stacks, self.recorder, self.unowned].into_iter().fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::costs::Place;
    use memtoll_trace::ids::ThreadNo;

    #[test]
    fn a_part_has_only_what_happened_in_it() {
        let cost = |time, kind, amount| Cost {
            time,
            kind,
            inside: false,
            thread: Some(ThreadNo::FIRST),
            amount,
            node: None,
            size: 0,
            place: Place::Unknown,
            holder: None,
        };
        let selection = Selection { from: 100, to: 200, ..Selection::default() };
        let mut beside = Beside::default();
        for (time, kind, amount) in [
            (99, CostKind::FileFault, 17),
            (100, CostKind::FileFault, 1),
            (200, CostKind::StackFault, 2),
            (150, CostKind::Grown, 4096),
            (201, CostKind::Grown, 8192),
            (160, CostKind::Fault, 3),
        ] {
            beside.cost(&cost(time, kind, amount), &selection);
        }
        let expected =
            Beside { files: 1, stacks: 2, grown_calls: 1, grown_bytes: 4096, variance: 8.0, ..Beside::default() };
        assert_eq!(beside, expected);
        assert_eq!(beside.faults(), 3);
        beside.add(&expected);
        assert_eq!((beside.files, beside.grown_bytes, beside.variance), (2, 8192, 16.0));
    }
}
