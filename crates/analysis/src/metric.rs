//! The one table of all that is counted and priced. Options, columns, JSON, CSV and `docs/metrics.md` come from it: a new
//! metric is a new entry here.

use crate::priced::Priced;
use crate::sees::Sees;
use serde::{Deserialize, Serialize};

use memtoll_text::format::Unit;

/// Who saw what a metric counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// The recorder: each call of an allocation function, or of mmap and the like. Exact.
    Calls,
    /// The recorder's time stamps around each call, and the kernel's samples of where threads are.
    Stamps,
    /// The kernel, where it shows page faults.
    Faults,
    /// The kernel, where it shows when threads lose the CPU.
    Switches,
}

/// How a metric comes from what is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Price {
    /// It is the count itself.
    None,
    /// It is a time that was measured.
    Measured,
    /// A count times what one takes in this recording.
    Each,
    /// The sum of what is priced.
    Sum,
}

/// How the values of several rows make one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Together {
    /// They add up: those of all rows to the total.
    Sum,
    /// They add up within a process; those of several processes are of different instants.
    Peak,
    /// The largest one counts.
    Largest,
    /// They have a mean.
    Mean,
}

/// What is known of a metric.
#[derive(Debug)]
pub struct About {
    /// Which one.
    pub metric: Metric,
    /// What options and budgets call it.
    pub name: &'static str,
    /// What JSON, CSV, Parquet and a store call it: its name with its unit (see [`Unit::in_keys`]).
    pub key: &'static str,
    /// What the column of a table is called.
    pub title: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Who saw it.
    pub seen: Seen,
    /// How it is priced.
    pub price: Price,
    /// How values of several rows make one.
    pub together: Together,
    /// A sentence for a reader who is new to it.
    pub help: &'static str,
    value: fn(&Priced) -> u64,
}

impl About {
    /// Where its numbers come from, and how those of several rows make one: sentences.
    pub fn origin(&self) -> String {
        let seen = match self.seen {
            Seen::Calls => "The recorder sees each call, so it is exact.",
            Seen::Stamps => {
                "It comes from time stamps around each call and from the kernel's samples of where threads are."
            }
            Seen::Faults => "It needs a kernel that shows page faults.",
            Seen::Switches => "It needs a kernel that shows when threads lose the CPU.",
        };
        let price = match self.price {
            Price::None => "",
            Price::Measured => " The time is measured.",
            Price::Each => " Faults are counted, and each one costs what a fault takes on average in this recording.",
            Price::Sum => " It is the sum of what is known.",
        };
        let together = match self.together {
            Together::Sum => "Rows add up to the total.",
            Together::Peak => {
                "Rows add up to the peak of their process; several processes reach theirs at different times."
            }
            Together::Largest => "The total is the largest row's.",
            Together::Mean => "The total is the mean over all blocks.",
        };
        format!("{seen}{price} {together}")
    }
}

/// What a key ends with beyond its name: nothing if the name is the unit itself, as `bytes` is.
const fn ending(name: &str, unit: Unit) -> &'static [u8] {
    let ending = unit.in_keys().as_bytes();
    let name = name.as_bytes();
    if ending.is_empty() || name.len() + 1 != ending.len() {
        return ending;
    }
    let mut at = 0;
    while at < name.len() {
        if name[at] != ending[at + 1] {
            return ending;
        }
        at += 1;
    }
    &[]
}

/// The one rule for names: a key is the name with `_` for `-`, and with its unit.
const fn key<const LENGTH: usize>(name: &str, unit: Unit) -> [u8; LENGTH] {
    let (name, ending) = (name.as_bytes(), ending(name, unit));
    let mut key = [0; LENGTH];
    let mut at = 0;
    while at < LENGTH {
        key[at] = match at < name.len() {
            true if name[at] == b'-' => b'_',
            true => name[at],
            false => ending[at - name.len()],
        };
        at += 1;
    }
    key
}

macro_rules! metrics {
    ($($name:ident = $option:literal, $title:literal, $unit:ident, $seen:ident, $price:ident, $together:ident,
       $value:expr, $help:literal;)*) => {
        /// Something that is counted or priced.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Metric {
            $(#[doc = $help] $name,)*
        }

        /// All metrics, in the order in which JSON and CSV have them.
        pub const TABLE: &[About] = &[$(About {
            metric: Metric::$name,
            name: $option,
            key: {
                const KEY: [u8; $option.len() + ending($option, Unit::$unit).len()] = key($option, Unit::$unit);
                match std::str::from_utf8(&KEY) {
                    Ok(key) => key,
                    Err(_) => panic!("a name is in ASCII"),
                }
            },
            title: $title,
            unit: Unit::$unit,
            seen: Seen::$seen,
            price: Price::$price,
            together: Together::$together,
            help: $help,
            value: $value,
        },)*];
    };
}

metrics! {
    Allocations = "allocations", "allocations", Count, Calls, None, Sum, Priced::allocations,
        "Blocks that the program got: calls of malloc, calloc, operator new and the like, and of realloc.";
    NewBlocks = "new-blocks", "allocations", Count, Calls, None, Sum, |m| m.new_blocks,
        "Blocks that the program got from malloc, calloc, the aligned forms, operator new, and realloc of a null pointer.";
    Reallocations = "reallocations", "reallocs", Count, Calls, None, Sum, |m| m.reallocations,
        "Calls of realloc and reallocarray that resize a block.";
    Frees = "frees", "frees here", Count, Calls, None, Sum, |m| m.frees,
        "Blocks that this line frees, no matter who allocated them.";
    Freed = "freed", "freed", Count, Calls, None, Sum, Priced::freed,
        "Blocks of this line that were freed or resized, no matter by whom.";
    NullFrees = "null-frees", "null frees", Count, Calls, None, Sum, |m| m.null_frees,
        "Calls of free with a null pointer, which do nothing but take time.";
    Failed = "failed", "failed", Count, Calls, None, Sum, |m| m.failed,
        "Calls that asked for memory and got a null pointer.";
    Bytes = "bytes", "bytes", Bytes, Calls, None, Sum, |m| m.bytes,
        "Bytes that the program asked for in all, including the new sizes of reallocations.";
    Largest = "largest", "largest", Bytes, Calls, None, Largest, |m| m.largest,
        "The size of the largest block.";
    Peak = "peak", "peak", Bytes, Calls, None, Peak, |m| m.peak_bytes,
        "Bytes that were live when the process had the most live bytes.";
    Live = "live", "live at end", Bytes, Calls, None, Sum, |m| m.live_bytes,
        "Bytes that were not freed: at the end, or at the time that you choose.";
    LiveBlocks = "live-blocks", "live blocks", Count, Calls, None, Sum, |m| m.live_blocks,
        "Blocks that were not freed: at the end, or at the time that you choose.";
    Temporary = "temporary", "temporary", Count, Calls, None, Sum, |m| m.temporary,
        "Blocks that were freed before the thread that allocated them allocated again.";
    Lifetime = "lifetime", "lifetime", Time, Calls, Measured, Mean, Priced::mean_lifetime_ns,
        "How long blocks live on average, from allocation to free, over the blocks that were freed.";
    Cost = "cost", "cost", Time, Stamps, Sum, Sum, Priced::cost_ns,
        "All that the memory costs: allocator, page faults, mappings, and waiting.";
    Allocator = "allocator", "allocator", Time, Stamps, Measured, Sum, |m| m.allocator_ns,
        "Time inside malloc, free and the like, without page faults, mappings and waiting.";
    Faults = "faults", "page faults", Count, Faults, None, Sum, Priced::faults,
        "Page faults of all kinds. Each one stops the program until the kernel provides the page.";
    MinorFaults = "minor-faults", "minor faults", Count, Faults, None, Sum, |m| m.small_faults.wrapping_add(m.huge_faults),
        "Page faults on memory of blocks and mappings that is touched for the first time. A huge page is one fault.";
    HugeFaults = "huge-faults", "huge faults", Count, Faults, None, Sum, |m| m.huge_faults,
        "Minor faults that provide a huge page (2 MiB).";
    MajorFaults = "major-faults", "major faults", Count, Faults, None, Sum, |m| m.major_faults,
        "Page faults that read the page from a disk.";
    FileFaults = "file-faults", "file faults", Count, Faults, None, Sum, |m| m.file_faults,
        "Page faults on a mapped file whose page is already in memory.";
    FaultTime = "fault-time", "faults", Time, Faults, Each, Sum, |m| m.fault_time_ns,
        "Time of all page faults: their number times what a fault takes in this recording.";
    Zeroing = "zeroing", "zeroing", Time, Faults, Each, Sum, |m| m.zeroing_ns,
        "The part of the page faults' time that the kernel spends on clearing fresh pages.";
    Mapping = "mapping", "mapping", Time, Calls, Measured, Sum, |m| m.mapping_ns,
        "Time in mmap, munmap, mremap, madvise, mprotect and brk, called by the program or by the allocator.";
    Waiting = "waiting", "waiting", Time, Switches, Measured, Sum, |m| m.waiting_ns,
        "Time that threads wait inside the allocator, usually for a lock that another thread holds. Not CPU time.";
    Reading = "reading", "reading", Time, Switches, Measured, Sum, |m| m.reading_ns,
        "Time that threads wait for the disk in major faults. Not CPU time.";
    Mappings = "mappings", "mappings", Count, Calls, None, Sum, |m| m.mappings,
        "Calls of mmap and mremap that take memory, and of mprotect that open reserved memory. Files do not count.";
    Mapped = "mapped", "mapped", Bytes, Calls, None, Sum, |m| m.mapped_bytes,
        "Bytes that these calls ask for, including the new sizes of mremap.";
    Touched = "touched", "touched", Bytes, Faults, None, Sum, |m| m.touched_bytes,
        "Bytes of the pages that the program touched for the first time, in whole pages.";
    Events = "events", "events", Count, Calls, None, Sum, |m| m.events,
        "Recorded calls of allocation functions; a reallocation is one.";
    CutOff = "cut-off", "cut off", Count, Calls, None, Sum, |m| m.cut_off,
        "Recorded calls whose call stack does not reach the entry of the thread.";
}

/// What memory costs, in the order in which tables have it: all, its parts, and the faults themselves.
pub const COSTS: [Metric; 8] = [
    Metric::Cost,
    Metric::Allocator,
    Metric::FaultTime,
    Metric::Zeroing,
    Metric::Mapping,
    Metric::Waiting,
    Metric::Reading,
    Metric::Faults,
];

impl Metric {
    /// What is known of it.
    pub const fn about(self) -> &'static About {
        &TABLE[self as usize]
    }

    /// The one that an option calls so.
    pub fn named(name: &str) -> Option<Metric> {
        TABLE.iter().find(|about| about.name == name).map(|about| about.metric)
    }

    /// A value as text, in its unit.
    pub fn show(self, value: u64) -> String {
        self.about().unit.show(value as f64)
    }

    /// Its value, in its unit. What the kernel did not show is 0; see [`Metric::is_known`].
    pub fn value(self, of: &Priced) -> u64 {
        (self.about().value)(of)
    }

    /// Whether what was seen tells it. The cost is then the sum of what is known.
    pub fn is_known(self, sees: Sees) -> bool {
        match self.about().seen {
            Seen::Calls | Seen::Stamps => true,
            Seen::Faults => sees.faults,
            Seen::Switches => sees.switches,
        }
    }

    /// Its value; nothing if it was not observed.
    pub fn known(self, of: &Priced, sees: Sees) -> Option<u64> {
        self.is_known(sees).then(|| self.value(of))
    }

    /// Whether it says what things cost, and not how many or how large they are.
    pub fn is_cost(self) -> bool {
        self.about().price != Price::None && self != Metric::Lifetime || self.about().seen == Seen::Faults
    }

    /// Whether the values of rows add up to the total.
    pub fn adds_up(self) -> bool {
        matches!(self.about().together, Together::Sum | Together::Peak)
    }
}

/// By the name that options have.
impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.about().name)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Metric::named(&name).ok_or_else(|| {
            let names: Vec<&str> = TABLE.iter().map(|about| about.name).collect();
            serde::de::Error::custom(format!("no metric is called \"{name}\"; there are {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_metric_is_where_its_number_says_and_has_names_of_its_own() {
        for (index, about) in TABLE.iter().enumerate() {
            assert_eq!(about.metric as usize, index);
            assert_eq!(Metric::named(about.name), Some(about.metric));
            assert!(about.help.ends_with('.') && about.help.len() > 20, "{}: {}", about.name, about.help);
            let key = match about.name {
                "bytes" => "bytes".to_owned(),
                name => name.replace('-', "_") + about.unit.in_keys(),
            };
            assert_eq!(about.key, key);
        }
        let all = |of: fn(&About) -> &str| TABLE.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!([all(|about| about.name), all(|about| about.key)], [TABLE.len(); 2]);
    }
}
