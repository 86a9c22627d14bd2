//! What each run of a region cost.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_analysis::intervals::Intervals;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::regions;
use memtoll_analysis::tariff::Tariff;
use serde::Serialize;

/// All runs of the regions of one name.
#[derive(Serialize)]
pub struct Region {
    pub name: String,
    pub runs: Vec<RegionRun>,
    /// As the analysis has it, for printers.
    #[serde(skip)]
    pub found: regions::Region,
}

/// One run: what its thread did meanwhile, as far as it is known.
#[derive(Serialize)]
pub struct RegionRun {
    pub begin_ns: u64,
    pub duration_ns: u64,
    pub cost_ns: u64,
    pub allocator_ns: u64,
    pub waiting_ns: Option<u64>,
    pub faults: Option<u64>,
    pub allocations: u64,
    pub bytes: u64,
    pub intervals: Intervals,
}

impl Region {
    pub(crate) fn new(found: regions::Region, tariff: &Tariff) -> Region {
        let run = |run: &regions::RegionRun| RegionRun {
            begin_ns: tariff.ns(run.begin as f64) as u64,
            duration_ns: tariff.ns(run.end.saturating_sub(run.begin) as f64) as u64,
            cost_ns: run.metrics.cost_ns().0,
            allocator_ns: run.metrics.allocator_ns.0,
            waiting_ns: Metric::Waiting.known(&run.metrics, tariff.sees()),
            faults: Metric::Faults.known(&run.metrics, tariff.sees()),
            allocations: run.metrics.allocations(),
            bytes: run.metrics.bytes.0,
            intervals: Intervals::of(&run.metrics, tariff),
        };
        Region { name: found.name.clone(), runs: found.runs.iter().map(run).collect(), found }
    }
}
