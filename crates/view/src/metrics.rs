//! The metrics that the viewer shows: the one table that its columns, names and explanations come from.

use memtoll_analysis::sites::released;
use memtoll_analysis::tariff::Tariff;
use memtoll_trace::summary::Metrics;
use serde_json::{Value, json};

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

/// What the kernel must have shown for a metric to be known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Page faults.
    Faults,
    /// When threads lost the processor.
    Switches,
}

/// How the numbers of neighboring spans of time become that of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// Their sum.
    Sum,
    /// That of the last one.
    Last,
    /// That of the one with the highest total.
    Highest,
}

/// A metric.
pub struct Metric {
    /// Its name in URLs and columns.
    pub name: &'static str,
    /// The heading of its column.
    pub title: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// A sentence for a beginner.
    pub help: &'static str,
    /// When it is known.
    pub needs: Needs,
    /// How spans are joined.
    pub join: Join,
    /// The kind of cost whose color it has; empty: none.
    pub color: &'static str,
    /// The metric that it is divided by, where it is a mean.
    pub over: Option<&'static str>,
    /// The number of some metrics; times may be in units of the clock, see [`Metric::is_in_units`].
    pub value: fn(&Metrics, &Tariff) -> u64,
    /// Whether `value` is in units of the clock: these add up without rounding.
    pub is_in_units: bool,
}

const NONE: Metric = Metric {
    name: "",
    title: "",
    unit: Unit::Count,
    help: "",
    needs: Needs::Nothing,
    join: Join::Sum,
    color: "",
    over: None,
    value: |_, _| 0,
    is_in_units: false,
};

/// All metrics, in the order of columns.
pub const METRICS: [Metric; 18] = [
    Metric {
        name: "cost",
        title: "cost",
        unit: Unit::Ns,
        help: "Time that the blocks and mappings of a line take: allocator, page faults, mappings and waiting together.",
        value: |m, _| m.cost,
        is_in_units: true,
        color: "cost",
        ..NONE
    },
    Metric {
        name: "allocator",
        title: "allocator",
        unit: Unit::Ns,
        help: "Time inside malloc, free and the like, without page faults, mappings and waiting.",
        value: |m, _| m.allocator_ns,
        color: "allocator",
        ..NONE
    },
    Metric {
        name: "faults",
        title: "faults",
        unit: Unit::Ns,
        help: "Time of page faults: the kernel provides a page when the program first touches it. Zeroing is part of it.",
        needs: Needs::Faults,
        value: |m, _| m.fault_ns,
        color: "faults",
        ..NONE
    },
    Metric {
        name: "zeroing",
        title: "zeroing",
        unit: Unit::Ns,
        help: "The part of the page faults' time that the kernel spends filling fresh pages with zeros.",
        needs: Needs::Faults,
        value: |m, _| m.zeroing_ns,
        color: "zeroing",
        ..NONE
    },
    Metric {
        name: "mapping",
        title: "mapping",
        unit: Unit::Ns,
        help: "Time in mmap, munmap, mremap, madvise and brk, called directly or by the allocator.",
        value: |m, _| m.mapping_time,
        is_in_units: true,
        color: "mapping",
        ..NONE
    },
    Metric {
        name: "waiting",
        title: "waiting",
        unit: Unit::Ns,
        help: "Time inside the allocator in which a thread waits for another one. It is not CPU time.",
        needs: Needs::Switches,
        value: |m, _| m.waiting_time,
        is_in_units: true,
        color: "waiting",
        ..NONE
    },
    Metric {
        name: "reading",
        title: "disk",
        unit: Unit::Ns,
        help: "Time in major faults in which a thread waits for the disk. It is not CPU time.",
        needs: Needs::Switches,
        value: |m, _| m.reading_time,
        is_in_units: true,
        color: "waiting",
        ..NONE
    },
    Metric {
        name: "allocations",
        title: "allocations",
        help: "Calls that allocate a block, and reallocations.",
        value: |m, _| m.allocations + m.reallocations,
        ..NONE
    },
    Metric {
        name: "bytes",
        title: "bytes",
        unit: Unit::Bytes,
        help: "Bytes that allocations and reallocations ask for, also when they are freed again.",
        value: |m, _| m.bytes_allocated,
        ..NONE
    },
    Metric {
        name: "peak",
        title: "at peak",
        unit: Unit::Bytes,
        help: "Bytes that are live when the process has most live bytes.",
        join: Join::Highest,
        value: |m, _| m.peak_bytes,
        ..NONE
    },
    Metric {
        name: "live",
        title: "live at end",
        unit: Unit::Bytes,
        help: "Bytes that are live at the end of the selection; of the whole run: never freed.",
        join: Join::Last,
        value: |m, _| m.live_bytes,
        ..NONE
    },
    Metric {
        name: "live_blocks",
        title: "live blocks",
        help: "Blocks that are live at the end of the selection; of the whole run: never freed.",
        join: Join::Last,
        value: |m, _| m.live_allocations,
        ..NONE
    },
    Metric {
        name: "temporary",
        title: "temporary",
        help: "Blocks that are freed before their thread's next allocation.",
        value: |m, _| m.temporary,
        ..NONE
    },
    Metric {
        name: "lifetime",
        title: "lifetime",
        unit: Unit::Ns,
        help: "Mean time from the allocation of a block until it is freed, over the blocks that are freed.",
        over: Some("released"),
        value: |m, _| m.lifetime,
        is_in_units: true,
        ..NONE
    },
    Metric {
        name: "released",
        title: "released",
        help: "Blocks that are freed, or moved by a reallocation, whoever frees them.",
        value: |m, _| released(m),
        ..NONE
    },
    Metric {
        name: "page_faults",
        title: "page faults",
        help: "Pages that the kernel provides when they are first touched; an estimate if memtoll samples faults.",
        needs: Needs::Faults,
        value: |m, _| m.faults + m.huge_faults + m.major_faults + m.file_faults,
        ..NONE
    },
    Metric {
        name: "touched",
        title: "touched",
        unit: Unit::Bytes,
        help: "Size of the pages that the kernel provides. It counts whole pages, with malloc's headers and gaps.",
        needs: Needs::Faults,
        value: |m, tariff| tariff.touched(m),
        ..NONE
    },
    Metric {
        name: "frees",
        title: "frees",
        help: "Blocks that this code frees, whoever allocates them.",
        value: |m, _| m.frees,
        ..NONE
    },
];

impl Metric {
    /// Nanoseconds, bytes or things for one of what the columns hold.
    pub fn scale(&self, tariff: &Tariff) -> f64 {
        if self.is_in_units { tariff.ns(1.0) } else { 1.0 }
    }

    /// Whether the kernel showed what this needs.
    pub fn is_known(&self, tariff: &Tariff) -> bool {
        match self.needs {
            Needs::Nothing => true,
            Needs::Faults => tariff.sees().faults,
            Needs::Switches => tariff.sees().switches,
        }
    }

    fn describe(&self, tariff: &Tariff) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "unit": match self.unit { Unit::Ns => "ns", Unit::Bytes => "bytes", Unit::Count => "count" },
            "help": self.help,
            "known": self.is_known(tariff),
            "join": match self.join { Join::Sum => "sum", Join::Last => "last", Join::Highest => "highest" },
            "color": self.color,
            "over": self.over,
            "scale": self.scale(tariff),
        })
    }
}

/// The table, for the front end.
pub fn describe(tariff: &Tariff) -> Value {
    METRICS.iter().map(|metric| metric.describe(tariff)).collect()
}

/// All numbers of some metrics, in the order of [`METRICS`].
pub fn values(metrics: &Metrics, tariff: &Tariff) -> [u64; METRICS.len()] {
    std::array::from_fn(|index| (METRICS[index].value)(metrics, tariff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_means_have_their_divisor() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(!METRICS[..index].iter().any(|other| other.name == metric.name), "{}", metric.name);
            assert!(metric.help.ends_with('.'), "{}", metric.name);
            let divisor = metric.over.map(|over| METRICS.iter().any(|other| other.name == over));
            assert_ne!(divisor, Some(false), "{}", metric.name);
        }
    }
}
