//! What each thread did over time.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_analysis::lanes;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use serde::Serialize;

/// A thread over time. Each number is the share of an interval, from 0 to 1, rounded to thousandths; what remains of
/// `alive` is the program's own work, and the recorder's.
#[derive(Serialize)]
pub struct Lane {
    pub pid: u32,
    pub tid: u32,
    pub name: Option<String>,
    pub alive: Vec<f64>,
    pub allocator: Vec<f64>,
    pub faulting: Option<Vec<f64>>,
    pub waiting: Option<Vec<f64>>,
    pub off_processor: Option<Vec<f64>>,
}

/// All threads over time.
#[derive(Serialize)]
pub struct Lanes {
    pub start_ns: u64,
    pub interval_ns: f64,
    pub lanes: Vec<Lane>,
    /// As the analysis has them, for printers.
    #[serde(skip)]
    pub found: lanes::Lanes,
}

impl Lanes {
    pub(crate) fn new(recording: &Recording, found: lanes::Lanes, tariff: &Tariff) -> Self {
        let ns = 1e9 / recording.about.clock.units_per_second;
        let (faults, switches) = (tariff.times_faults(), tariff.sees().switches);
        let round = |values: &[f64]| values.iter().map(|value| (value * 1000.0).round() / 1000.0).collect();
        let convert = |lane: &lanes::Lane| {
            let image = &recording.images[lane.image];
            let thread = image.thread(lane.thread);
            Lane {
                pid: image.about.pid,
                tid: thread.map_or(0, |thread| thread.tid),
                name: thread.and_then(|thread| thread.name.clone()),
                alive: round(&lane.alive),
                allocator: round(&lane.allocator),
                faulting: faults.then(|| round(&lane.faulting)),
                waiting: switches.then(|| round(&lane.waiting)),
                off_processor: switches.then(|| round(&lane.off)),
            }
        };
        Lanes {
            start_ns: (found.start as f64 * ns) as u64,
            interval_ns: found.width * ns,
            lanes: found.lanes.iter().map(convert).collect(),
            found,
        }
    }
}
