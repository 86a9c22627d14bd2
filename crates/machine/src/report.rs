//! What the user gets to know, as data: `docs/machine.md` explains the JSON.

use crate::about::About;
use serde::{Deserialize, Serialize};

/// Version of the JSON: grows when a name disappears or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// What taking memory and giving it back costs on a machine. Times are in nanoseconds, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema_version: u32,
    /// Where it was measured.
    pub machine: About,
    /// Memory that is taken at a time.
    pub size_bytes: u64,
    /// How many threads "several" are.
    pub threads: u32,
    /// Samples of each figure.
    pub rounds: u32,
    /// How long it took, wall time.
    pub seconds: f64,
    /// The pure touch: writing to memory that is there.
    pub touch: PureTouch,
    /// What each way costs, the cheapest first: by the second use of the whole memory in one thread.
    pub ways: Vec<WayCosts>,
    /// Ways that cannot be gone here.
    pub unavailable: Vec<Unavailable>,
    /// What follows, in words.
    pub advice: Vec<String>,
}

/// CPU time of the pure touch, in one thread and in several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PureTouch {
    /// Every byte.
    pub whole: Spread,
    /// The first byte of each 64 KiB.
    pub sparse: Spread,
    /// Every byte, several threads together.
    pub whole_several: Spread,
    /// The first byte of each 64 KiB, several threads together.
    pub sparse_several: Spread,
}

/// A way that this machine does not offer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unavailable {
    /// Its name in the JSON.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// What becomes of the resident set when memory is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Falls {
    /// It falls, and the memory is free.
    Yes,
    /// It falls when the kernel needs memory.
    Lazily,
    /// The process's falls, but a file keeps the memory.
    MappingOnly,
    /// It stays.
    No,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WayCosts {
    /// Its name in the JSON.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What becomes of the resident set.
    pub resident_set_falls: Falls,
    /// Share of the memory that lay in huge pages, 0 to 1.
    pub huge_share: f64,
    pub one_thread: Costs,
    /// In several threads at once, each with its share of the memory; `None` where that is impossible.
    pub several_threads: Option<Costs>,
}

/// Costs by what is touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Every byte.
    pub whole: Uses,
    /// The first byte of each 64 KiB.
    pub sparse: Uses,
}

/// Costs by how often the memory was used before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uses {
    pub first: UseCosts,
    /// The second: lazy ways show only then what they cost.
    pub again: UseCosts,
}

/// What one use costs: taking, touching and giving back the whole memory. CPU time of all threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UseCosts {
    /// All of it.
    pub cpu_ns: Spread,
    /// The median without that of the pure touch. May be a little below zero.
    pub above_touch_ns: f64,
    /// The same for each MiB of the memory.
    pub above_touch_ns_per_mib: f64,
    /// The same for each page that is touched.
    pub above_touch_ns_per_page: f64,
    /// Median of taking.
    pub take_ns: f64,
    /// Median of touching.
    pub touch_ns: f64,
    /// Median of giving back.
    pub give_ns: f64,
    /// Wall time of the slowest thread.
    pub wall_ns: Spread,
    /// Wall time of single writes: of a page, or of a byte.
    pub write_ns: Write,
}

/// Samples summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Half of them are lower.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// A tenth of them are lower.
    pub p10: f64,
    /// Nine tenths of them are lower.
    pub p90: f64,
}

/// Single writes summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// Half of them are faster.
    pub p50: f64,
    /// 99 of 100 are faster.
    pub p99: f64,
}

impl Spread {
    /// Half of the distance from p10 to p90, as a share of the median.
    pub fn relative(&self) -> f64 {
        if self.median > 0.0 { (self.p90 - self.p10) / 2.0 / self.median } else { 0.0 }
    }
}

impl Report {
    /// The report as JSON, with a newline at its end. `docs/machine.md` explains it.
    pub fn json(&self) -> String {
        // Numbers and strings only: there is nothing that JSON cannot say.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
