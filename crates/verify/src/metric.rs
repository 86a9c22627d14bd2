//! What is compared: one table from which names, units and titles come.

use memtoll_text::Quantity;
use memtoll_text::format::Unit;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Time on processors, user and kernel, with children that were waited for.
    Cpu,
    /// Time from start to end.
    Wall,
    /// Of [`Metric::Cpu`], in the program.
    User,
    /// Of [`Metric::Cpu`], in the kernel.
    System,
    /// Of [`Metric::Cpu`], in the allocator's code, by samples.
    Allocator,
    /// Minor and major page faults.
    Faults,
    /// Largest resident set of a process among them.
    ResidentPeak,
    /// Resident set of the process that is started, when it exits.
    ResidentEnd,
}

impl Metric {
    /// All, in the order in which they are shown.
    pub const ALL: [Metric; 8] = [
        Metric::Cpu,
        Metric::Wall,
        Metric::User,
        Metric::System,
        Metric::Allocator,
        Metric::Faults,
        Metric::ResidentPeak,
        Metric::ResidentEnd,
    ];

    /// Whether advice predicts it.
    pub fn is_predicted(self) -> bool {
        matches!(self, Metric::Cpu | Metric::Wall | Metric::Faults | Metric::ResidentPeak | Metric::ResidentEnd)
    }

    /// Whether memtoll must stop the process at its exit to measure it in every case.
    pub fn needs_exit_look(self) -> bool {
        matches!(self, Metric::ResidentPeak | Metric::ResidentEnd)
    }

    /// A value as people read it.
    pub fn show(self, value: f64) -> String {
        self.unit().show(value)
    }
}

impl Quantity for Metric {
    fn row(self) -> (&'static str, &'static str, Unit) {
        match self {
            Metric::Cpu => ("cpu_ns", "CPU time", Unit::Time),
            Metric::Wall => ("wall_ns", "wall time", Unit::Time),
            Metric::User => ("user_ns", "user time", Unit::Time),
            Metric::System => ("system_ns", "system time", Unit::Time),
            Metric::Allocator => ("allocator_ns", "in the allocator", Unit::Time),
            Metric::Faults => ("faults", "page faults", Unit::Count),
            Metric::ResidentPeak => ("resident_peak_bytes", "peak resident set", Unit::Bytes),
            Metric::ResidentEnd => ("resident_end_bytes", "resident set at the end", Unit::Bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_units() {
        for metric in Metric::ALL {
            let units = [Unit::Time, Unit::Bytes].map(|unit| metric.key().ends_with(unit.in_keys()));
            assert_eq!(units, [metric.unit() == Unit::Time, metric.unit() == Unit::Bytes], "{}", metric.key());
        }
    }

    #[test]
    fn values_have_their_units() {
        assert_eq!(Metric::Cpu.show(1.5e9), "1.50 s");
        assert_eq!(Metric::System.show(-2.0e6), "-2.0 ms");
        assert_eq!(Metric::Faults.show(-1200.4), "-1,200");
        assert_eq!(Metric::ResidentPeak.show(1536.0), "1.5 KiB");
    }
}
