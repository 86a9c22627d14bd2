//! What each thread did over time.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::lanes;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::tariff::{self, Tariff};
use memtoll_model::Recording;
use serde::{Serialize, Serializer};

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
    pub shares: Shares,
}

/// What a thread did: shares of the time in which it was there, from 0 to 1; `None`: the kernel did not show it.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Shares {
    #[serde(serialize_with = "with_ends")]
    pub running: Option<Estimate>,
    #[serde(serialize_with = "with_ends")]
    pub allocator: Option<Estimate>,
    #[serde(serialize_with = "with_ends")]
    pub faulting: Option<Estimate>,
    #[serde(serialize_with = "with_ends")]
    pub waiting: Option<Estimate>,
    #[serde(serialize_with = "with_ends")]
    pub off_processor: Option<Estimate>,
}

fn with_ends<S: Serializer>(share: &Option<Estimate>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Share {
        value: f64,
        low: f64,
        high: f64,
    }
    share.map(|Estimate { value, low, high }| Share { value, low, high }).serialize(serializer)
}

impl Shares {
    fn new(lane: &lanes::Lane, tariff: &Tariff) -> Self {
        let alive: f64 = lane.alive.iter().sum();
        let share = |values: &[f64]| values.iter().sum::<f64>() / alive.max(1e-9);
        // The time in calls and that without the CPU were measured; faults are priced, and waits are those of this run.
        let [allocator, off] = [&lane.allocator, &lane.off].map(|values| Estimate::exact(share(values)));
        let each_fault = tariff.price_errors(Metric::FaultTime).map(|errors| errors.each);
        let faulting = share(&lane.faulting);
        let faulting = each_fault.map_or(Estimate::exact(faulting), |each| each.scaled(faulting));
        let waiting = tariff::waits(share(&lane.waiting));
        let running = Estimate::exact(1.0 - allocator.value - off.value).minus(faulting).minus(waiting);
        let (faults, switches) = (tariff.times_faults(), tariff.sees().switches);
        Shares {
            running: switches.then_some(running),
            allocator: Some(allocator),
            faulting: faults.then_some(faulting),
            waiting: switches.then_some(waiting),
            off_processor: switches.then_some(off),
        }
    }
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
                shares: Shares::new(lane, tariff),
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
