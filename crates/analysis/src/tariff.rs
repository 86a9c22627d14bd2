//! From what was counted to what it cost: nanoseconds.
//!
//! Times are measured. Page faults are counted, and each is charged with what faults of its kind took in the mean in this
//! recording, where enough of them were timed; else with the price that was measured on the machine right after it. What
//! was paid inside a call of the allocator for faults, mappings and waiting is taken out of the call's time, so that the
//! parts add up:
//!
//! ```text
//! cost = allocator + faults + mapping + waiting + reading
//! allocator = what samples and stamps together say: allocator_time.rs
//! ```
//!
//! What the stamps cost is measured on the machine, as what two readings of the clock add to a call of the allocator in a
//! loop of such calls.
//!
//! `tariff/site_prices.rs` says by it what single sites paid.

mod site_prices;

use crate::allocator_time::{AllocatorSamples, AllocatorTime, Calls};
use crate::calibration::{self, Figure};
use crate::costs::CostEstimates;
use crate::estimate::Estimate;
use crate::fault_prices::{FAULTS_TOO_CHEAP, FAULTS_TOO_DEAR, FaultPrices};
use crate::metric::{Metric, TABLE};
use crate::priced::Priced;
use crate::sampling_error::SamplingError;
use crate::sums::Sums;
use crate::visible_kernel_events::{Sees, sees};
use crate::zeroing_faults::touched_for_the_allocator;
use memtoll_model::Recording;
use memtoll_trace::ids::Bytes;
use memtoll_trace::meta::{CallTimes, Clock, Found, Prices, RecorderStats};
use memtoll_trace::metrics::Metrics;

pub(crate) use site_prices::{Overdraft, Remainders};

/// With fewer pairs of calls compared, their mean difference says nothing.
const FEWEST_PAIRS: u64 = 64;

/// With fewer samples in the recorder (20 % standard error), its own estimate stands uncorrected.
const FEWEST_SAMPLES: u64 = 25;

/// How far the recorder's own estimate of its work may be off, as a share of it.
const OWN_ERR: f64 = 0.5;

/// How far the price of zeroing may be off at least, as a share of it.
const LEAST_ZEROING_ERR: f64 = 0.25;

/// How far the price of a look at a thread may be off, as a share of it: it is measured with looks that follow each other
/// sooner, when more of the kernel's code is in the caches.
const LOOK_ERR: f64 = 0.4;

/// How far the time of work on mappings may be off, as a share of it.
const MAPPING_ERR: f64 = 0.15;

/// How many times as long a thread is without the processor as a call that works on mappings takes. Where it is not known that
/// a thread lost the processor inside such a call, that time counts as work.
const OFF_LONGER: f64 = 100.0;

/// How far waiting differs between recordings of one program, as a share of it: four threads that share a heap waited for
/// 3.7 to 9.7 s in five of them, while the machine did more or less of other things.
const WAITING_ERR: f64 = 0.5;

/// Bytes of a huge page.
const HUGE_PAGE: u64 = 2 << 20;

/// What things cost in a recording.
#[derive(Clone, Copy, Debug)]
pub struct Tariff {
    clock: Clock,
    prices: Prices,
    faults: FaultPrices,
    lost: Lost,
    chance: SamplingError,
    page: u64,
    /// By how much calls look longer than they are, units.
    overlap: f64,
    /// The allocator's time.
    allocator_time: AllocatorTime,
    /// What the recorder's work took by the kernel's samples, divided by what it took by its own estimate.
    own: Estimate,
    /// What it costs a thread when the kernel looks where it is, ns.
    look: f64,
    /// The CPU time for which a sample inside the kernel stands, ns, if there are any.
    kernel_period: Option<f64>,
    sees: Sees,
}

/// How much longer calls look on average than they are, units: [`RecorderStats::overlap_time`].
fn overlap(recorders: &RecorderStats) -> f64 {
    let (pairs, longer) = (recorders.overlap_pairs, recorders.overlap_time);
    if pairs < FEWEST_PAIRS { 0.0 } else { (longer as f64 / pairs as f64).max(0.0) }
}

/// What the recorders' `estimate` of their own work has to be multiplied with: it and the samples, one every `period`, units,
/// are about the same images.
fn own(samples: u64, lost: u64, estimate: u64, period: f64) -> Estimate {
    let known = samples >= FEWEST_SAMPLES && period > 0.0 && estimate > 0;
    match known {
        true => Estimate::of_samples(samples, period).may_lack(lost as f64 * period).scaled(1.0 / estimate as f64),
        false => Estimate::within(1.0, OWN_ERR, OWN_ERR),
    }
}

/// A time that threads waited, in the unit that it is given in. It is that of the recorded run: other runs have others.
pub fn waits(time: f64) -> Estimate {
    Estimate::within(time, WAITING_ERR, WAITING_ERR)
}

/// How far sums of prices of page faults are off, beside by chance.
pub struct PriceErrors {
    /// What is 1 ns by these prices.
    pub each: Estimate,
    /// The same of huge pages.
    pub huge: Estimate,
    /// What may be missing, ns.
    pub missing: f64,
}

/// What the kernel's records that were lost may have been about.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    /// What the timed faults took, ns.
    faults: f64,
    /// Samples of where threads ran.
    running: u64,
    /// The share of all switches of threads that is not known, at most.
    switches: f64,
}

impl Lost {
    fn of(recording: &Recording, page: f64) -> Lost {
        let Some(end) = &recording.end else { return Lost::default() };
        let usage = end.usage.unwrap_or_default();
        let switches = usage.voluntary_switches.saturating_add(usage.involuntary_switches) as f64;
        Lost {
            faults: end.kernel.lost_faults as f64 * page,
            running: end.kernel.lost_running,
            // A record for losing the processor, and one for getting it.
            switches: (end.kernel.lost_others as f64 / (2.0 * switches).max(1.0)).min(1.0),
        }
    }
}

impl Tariff {
    /// Builds the cost model of a recording. Truncated recordings have no prices: the time of their faults is not known, and sums count
    /// it as 0.
    pub fn of(recording: &Recording) -> Tariff {
        let clock = recording.about.clock;
        let overlap = overlap(&recording.recorder);
        let period = recording.end.as_ref().map_or(0, |end| end.kernel.running_period);
        let period = period as f64 / 1e9 * clock.units_per_second;
        let prices = recording.end.as_ref().and_then(|end| end.prices).unwrap_or_default();
        let page = u64::from(recording.about.machine.page).max(1);
        let (faults, sees) = (FaultPrices::in_recording(recording, &prices), sees(recording));
        let lost = Lost::of(recording, faults.page);
        let own = own(recording.kernel.running.recorder, lost.running, recording.recorder.own_time, period);
        let sees_kernel = recording.end.as_ref().is_some_and(|end| end.kernel.faults_in_system_calls);
        let kernel_period = (period > 0.0 && sees_kernel).then_some(period / clock.units_per_second * 1e9);
        let look =
            recording.end.as_ref().and_then(|end| end.kernel.looking).map_or(0.0, |looking| looking.running_sample);
        let new = Tariff::new(clock, prices, page);
        let tariff = Tariff { faults, lost, sees, overlap, own, look, kernel_period, ..new };
        let chance = SamplingError::new(&recording.kernel, |one| tariff.price_alone(one));
        let calls = recording.recorder.calls;
        let calls = Calls {
            calls: calls.timed_calls as f64,
            beyond: tariff.beyond(&calls),
            inside: tariff.faults_inside(&calls) * FAULTS_TOO_DEAR,
            overlap: tariff.ns(overlap * calls.timed_calls as f64),
            fastest: tariff.fastest(),
        };
        // Where the kernel does not tell, and in a run shorter than that, there are no samples.
        let running = &recording.kernel.running;
        let looked = period > 0.0 && running.all() > 0;
        let observed = looked.then(|| AllocatorSamples {
            allocator: running.allocator,
            program: running.program,
            lost: lost.running,
            period: tariff.ns(period),
        });
        // A recording that was cut off has no such sums: then stamps are all there is.
        let plain = recording.calibration.as_ref().map(calibration::plain);
        let known = plain.as_ref().and_then(|plain| plain.of(Figure::Part(Found::Allocator)));
        let allocator_time = match known {
            _ if calls.calls <= 0.0 => AllocatorTime::stamps(tariff.fastest()),
            Some(known) => AllocatorTime::dividing(&calls, known.estimate()),
            None => AllocatorTime::of(&calls, observed),
        };
        Tariff { allocator_time, chance, ..tariff }
    }

    /// From a clock, the machine's prices, and the size of a page in bytes, where all is seen.
    pub fn new(clock: Clock, prices: Prices, page: u64) -> Tariff {
        let sees = Sees { faults: true, switches: true, frees: true, fault_prices: true, pages: false, units: false };
        Tariff {
            clock,
            prices,
            faults: FaultPrices::from(&prices),
            lost: Lost::default(),
            chance: SamplingError::default(),
            page,
            overlap: 0.0,
            allocator_time: AllocatorTime::stamps(prices.malloc_free.median / 2.0),
            own: Estimate::exact(1.0),
            look: 0.0,
            kernel_period: None,
            sees,
        }
    }

    /// The same for sums of some processes, of which frees may be hidden in all.
    #[must_use]
    pub fn of_sums(self, sums: &Sums) -> Tariff {
        let frees = self.sees.frees && sums.see_frees();
        Tariff { sees: Sees { frees, pages: sums.see_pages(), units: sums.see_units(), ..self.sees }, ..self }
    }

    /// What could be seen.
    pub fn sees(&self) -> Sees {
        self.sees
    }

    /// What is taken off the time of a call, ns: what stamps add to it, and the overlap with what came before it.
    pub fn taken_off(&self) -> (f64, f64) {
        (self.ns(self.clock.stamp), self.ns(self.overlap))
    }

    /// What the kernel did for the recorder, ns, in which `samples` met it, and which by the prices of its faults took
    /// `priced`. An ordinary user sees no samples there.
    pub fn recorder_in_kernel(&self, samples: u64, priced: Estimate) -> Estimate {
        match self.kernel_period {
            None => priced,
            Some(period) => {
                let found = Estimate::of_samples(samples, period).may_lack(self.lost.running as f64 * period);
                found.weighed_with(priced)
            }
        }
    }

    /// What the kernel's samples took the program, ns.
    pub fn looks(&self, looks: u64) -> Estimate {
        Estimate::within(looks as f64 * self.look, LOOK_ERR, LOOK_ERR)
    }

    /// The recording's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The machine's prices.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Whether it is known how long faults took: the kernel showed them, and they have a price.
    pub fn times_faults(&self) -> bool {
        self.sees.faults && self.faults.page > 0.0
    }

    /// What faults cost.
    pub fn faults(&self) -> &FaultPrices {
        &self.faults
    }

    /// What the recorder's work took, ns, of which its own estimate is `own_time`, units. The estimate times single events,
    /// and a timed event takes longer than others; where the kernel looked where the program is, that is put right.
    pub fn recorder(&self, own_time: u64) -> Estimate {
        self.own.scaled(self.ns(own_time as f64))
    }

    /// The part of the allocator's calls that lies in the recorder's time, ns.
    pub fn hidden(&self, calls: u64) -> Estimate {
        self.allocator_time.hidden.scaled(calls as f64)
    }

    pub fn ns(&self, units: f64) -> f64 {
        units / self.clock.units_per_second * 1e9
    }

    /// Units per ns.
    pub fn units(&self, ns: f64) -> f64 {
        ns * self.clock.units_per_second / 1e9
    }

    /// What sites paid, with intervals: what prices may be wrong by, and chance.
    pub fn estimates(&self, of: &Priced) -> CostEstimates {
        let costs = of.costs();
        let overdrawn = Estimate { value: 0.0, low: -(of.overdrawn_ns.0 as f64), high: 0.0 };
        CostEstimates {
            allocator: self.allocator(of),
            faults: self.faults_of(of).plus(overdrawn),
            zeroing: self.zeroing_of(costs.zeroing).with_error_of(self.by_chance(Metric::Zeroing, of)),
            mapping: self.mapping(of),
            waiting: self.waits(costs.waiting),
            reading: self.waits(costs.reading),
        }
    }

    /// What they have of a metric, in its unit: the only way from sums to a number that is shown. What the kernel did not show
    /// is 0.
    pub fn estimate(&self, metric: Metric, of: &Priced) -> Estimate {
        let costs = metric.is_estimated().then(|| self.estimates(of));
        costs.and_then(|costs| costs.of(metric)).unwrap_or_else(|| self.by_chance(metric, of))
    }

    /// What they have of a metric as far as chance lets it be known.
    pub fn by_chance(&self, metric: Metric, of: &Priced) -> Estimate {
        self.chance.of(metric, of)
    }

    /// The variance of a sum by chance alone, in the metric's unit squared. Those of rows add up as rows do.
    pub fn variance(&self, metric: Metric, of: &Priced) -> f64 {
        self.chance.variance(metric, of)
    }

    /// All of them, in the order of the table; `None` of what the kernel did not show.
    pub fn all_estimates(&self, of: &Priced) -> Vec<Option<Estimate>> {
        let costs = self.estimates(of);
        TABLE
            .iter()
            .map(|about| {
                about
                    .metric
                    .is_known_of(of, self.sees)
                    .then(|| costs.of(about.metric).unwrap_or_else(|| self.by_chance(about.metric, of)))
            })
            .collect()
    }

    /// All that they paid, waiting included, ns.
    pub fn cost(&self, of: &Priced) -> Estimate {
        self.estimates(of).total()
    }

    /// What sites paid for the allocator's own work, ns. Faults inside calls that cost less than others leave more for the
    /// allocator.
    pub fn allocator(&self, of: &Priced) -> Estimate {
        self.allocator_time.error(of.allocator_ns.0 as f64, self.allocator_inside(of))
    }

    /// How far a small part of the allocator's time may be off by what was paid inside its calls, ns. Sums of sites have the sums of theirs.
    pub fn allocator_inside(&self, of: &Priced) -> f64 {
        self.allocator_time.inside(self.faults_inside(&CallTimes::from(&of.counts)) * FAULTS_TOO_DEAR)
    }

    /// How the allocator's time was divided among sites: [`AllocatorTime::division`].
    pub fn allocator_division(&self) -> Option<(f64, f64)> {
        self.allocator_time.division()
    }

    /// How far a metric is off that is a sum of prices of page faults; `None`: it is none.
    pub fn price_errors(&self, metric: Metric) -> Option<PriceErrors> {
        match metric {
            Metric::FaultTime => {
                let huge = self.faults.huge.scaled(1.0 / self.faults.huge.value.max(1e-9));
                Some(PriceErrors { each: self.seen_faults(1.0), huge, missing: self.lost.faults })
            }
            Metric::Zeroing => {
                let each = self.zeroing_of(1.0);
                Some(PriceErrors { each, huge: each, missing: 0.0 })
            }
            _ => None,
        }
    }

    /// What they waited, ns. Spans of which a record was lost are missing, and as long as others.
    fn waits(&self, ns: f64) -> Estimate {
        let missing = self.lost.switches / (1.0 - self.lost.switches).max(0.01);
        waits(ns).may_lack(ns * missing)
    }

    /// What sites paid for page faults, ns.
    pub fn faults_of(&self, of: &Priced) -> Estimate {
        self.faults_within(of, of.costs().faults)
    }

    /// The same without those of mapped files and the major ones.
    pub fn faults_of_memory(&self, of: &Priced) -> Estimate {
        self.faults_within(of, of.costs().faults - self.file_faults(of))
    }

    /// `ns` is what the faults took, with those of huge pages. Those of which records were lost may have been any site's.
    fn faults_within(&self, of: &Priced, ns: f64) -> Estimate {
        let huge = self.huge_faults(of);
        let priced = self.seen_faults(ns - huge.value).plus(huge).may_lack(self.lost.faults);
        priced.with_error_of(self.by_chance(Metric::FaultTime, of))
    }

    /// What faults of huge pages took, ns.
    pub fn huge_faults(&self, of: &Priced) -> Estimate {
        self.faults.huge.scaled(of.huge_faults as f64)
    }

    /// What faults of mapped files and major ones took, ns.
    pub fn faults_of_files(&self, of: &Priced) -> Estimate {
        self.seen_faults(self.file_faults(of)).may_lack(self.lost.faults)
    }

    /// What faults took that were seen, ns. Prices are means of those that were timed, or of the machine's.
    pub fn seen_faults(&self, ns: f64) -> Estimate {
        let chance = if self.faults.timed > 0 { 1.6 / (self.faults.timed as f64).sqrt() } else { 0.5 };
        Estimate::within(ns, FAULTS_TOO_DEAR, FAULTS_TOO_CHEAP).give_or_take(ns * chance)
    }

    /// By how much recording made faults longer, given what they cost. Ns.
    pub fn slowed(&self, ns: f64) -> f64 {
        self.faults.slowed * ns
    }

    /// What they paid for zeroing, ns. The price is that of a page if half of them are in a cache: all may be, or none.
    fn zeroing_of(&self, ns: f64) -> Estimate {
        let Prices { minor_fault, minor_fault_unzeroed, zeroing, .. } = self.prices;
        let cached = (minor_fault.median - minor_fault_unzeroed.median) / zeroing.median.max(1e-9);
        let apart = (1.0 - cached).clamp(LEAST_ZEROING_ERR, 1.0);
        Estimate::within(ns, apart, apart)
    }

    /// What they paid for work on mappings, ns.
    pub fn mapping(&self, of: &Priced) -> Estimate {
        let too_large = (MAPPING_ERR + OFF_LONGER * self.lost.switches).min(1.0);
        Estimate::within(of.mapping_ns.0 as f64, too_large, MAPPING_ERR)
    }

    /// The share of [`Costs::faults`] that went into pages that were there already, in files or on a disk, ns.
    pub fn file_faults(&self, metrics: &Metrics) -> f64 {
        metrics.file_faults.wrapping_add(metrics.major_faults) as f64 * self.faults.other
    }

    /// The time in calls beyond what they take when they are fast, without what was paid inside, ns. Less than nothing where
    /// that comes out at more than they took.
    fn beyond(&self, calls: &CallTimes) -> f64 {
        let stamps = self.ns(calls.timed_calls as f64 * self.clock.stamp);
        let fastest = calls.timed_calls as f64 * self.fastest();
        self.measured(calls) - stamps - fastest - self.faults_inside(calls)
    }

    /// The time in calls without what was measured inside: waiting, being without the processor, and work on mappings, ns.
    fn measured(&self, calls: &CallTimes) -> f64 {
        let inside = [calls.preempted_time, calls.waiting_time, calls.mapping_inside];
        // Of a part, a call can be charged elsewhere than what was paid inside it.
        self.ns(calls.allocator_time.0 as i64 as f64) - inside.map(|time| self.ns(time.0 as f64)).iter().sum::<f64>()
    }

    /// What faults inside calls took in the recorded run, with what it takes to look at them, ns.
    fn faults_inside(&self, calls: &CallTimes) -> f64 {
        let faults = self.per_fault(calls.faults_inside, calls.huge_faults_inside);
        let slowed = self.slowed(self.per_fault(calls.faults_inside, 0));
        faults + slowed + calls.samples_inside as f64 * self.faults.sample
    }

    /// What was paid inside of calls for faults, mappings and waiting in the recorded run, and is no work of the allocator, ns.
    pub fn paid_inside(&self, of: &Metrics) -> Estimate {
        let calls = CallTimes::from(of);
        let exact = self.ns((calls.mapping_inside + calls.waiting_time + calls.preempted_time).0 as f64);
        let faults = Estimate::within(self.faults_inside(&calls), FAULTS_TOO_DEAR, FAULTS_TOO_CHEAP);
        Estimate::exact(exact).plus(faults)
    }

    /// What a call takes in a loop of such calls, ns.
    fn fastest(&self) -> f64 {
        self.prices.malloc_free.median / 2.0
    }

    /// What faults cost, ns.
    fn per_fault(&self, faults: u64, huge: u64) -> f64 {
        faults as f64 * self.faults.page + huge as f64 * self.faults.huge.value
    }

    /// What zeroing the pages of faults costs, ns. It is the same share of a fault as on a quiet machine, but takes no longer
    /// than there: where faults are dearer, most of that is in the kernel's other work.
    fn zeroing(&self, faults: f64, huge: u64) -> f64 {
        let share = |zeroing: f64, fault: f64| if fault > 0.0 { (zeroing / fault).min(1.0) } else { 0.0 };
        let page = self.prices.zeroing.median;
        let huge_page = page * (HUGE_PAGE / self.page) as f64;
        let page = page.min(self.faults.page * share(page, self.prices.minor_fault.median));
        let huge_price = self.prices.huge_fault.unwrap_or_default().median;
        let huge_page = huge_page.min(self.faults.huge.value * share(huge_page, huge_price));
        faults * page + huge as f64 * huge_page
    }

    /// Bytes of a page.
    pub fn page(&self) -> u64 {
        self.page
    }

    /// Bytes that calls touched beyond what was asked for: the allocator's own memory.
    pub fn touched_for_the_allocator(&self, metrics: &Metrics) -> Bytes {
        touched_for_the_allocator(metrics, self.page)
    }

    /// The pages that faulted, each as often as it did.
    pub fn faulted(&self, metrics: &Metrics) -> Bytes {
        // Numbers of a damaged file may be beyond all sums.
        Bytes(metrics.small_faults.wrapping_mul(self.page).wrapping_add(metrics.huge_faults.wrapping_mul(HUGE_PAGE)))
    }
}

#[cfg(test)]
mod tests;
