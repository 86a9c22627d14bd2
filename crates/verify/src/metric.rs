//! What is compared: one table from which names, units and titles come.

use memtoll_analysis::metric::Unit;

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
    PeakRss,
}

impl Metric {
    /// All, in the order in which they are shown.
    pub const ALL: [Metric; 7] =
        [Metric::Cpu, Metric::Wall, Metric::User, Metric::System, Metric::Allocator, Metric::Faults, Metric::PeakRss];

    /// Key in JSON, title in text, unit, key in predictions.
    const fn row(self) -> (&'static str, &'static str, Unit, Option<&'static str>) {
        match self {
            Metric::Cpu => ("cpu_ns", "CPU time", Unit::Time, Some("cpu_ns")),
            Metric::Wall => ("wall_ns", "wall time", Unit::Time, Some("wall_ns")),
            Metric::User => ("user_ns", "user time", Unit::Time, None),
            Metric::System => ("system_ns", "system time", Unit::Time, None),
            Metric::Allocator => ("allocator_ns", "in the allocator", Unit::Time, None),
            Metric::Faults => ("page_faults", "page faults", Unit::Count, Some("page_faults")),
            Metric::PeakRss => ("peak_rss_bytes", "peak resident set", Unit::Bytes, Some("resident_bytes")),
        }
    }

    /// Key in JSON.
    pub fn key(self) -> &'static str {
        self.row().0
    }

    /// Title of a row.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    /// What it counts.
    pub fn unit(self) -> Unit {
        self.row().2
    }

    /// Key in predictions, if there are any of this.
    pub fn predicted_as(self) -> Option<&'static str> {
        self.row().3
    }

    /// A value as people read it.
    pub fn show(self, value: f64) -> String {
        self.unit().show(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_units() {
        assert_eq!(Metric::Cpu.show(1.5e9), "1.50 s");
        assert_eq!(Metric::System.show(-2.0e6), "-2.0 ms");
        assert_eq!(Metric::Faults.show(-1200.4), "-1,200");
        assert_eq!(Metric::PeakRss.show(1536.0), "1.5 KiB");
    }
}
