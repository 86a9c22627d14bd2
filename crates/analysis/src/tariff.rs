//! From what was counted to what it cost: nanoseconds.
//!
//! Times are measured. Page faults are counted, and each is charged with what faults of its kind took in the mean in this
//! recording, where enough of them were timed; else with the price that was measured on the machine right after it. What
//! was paid inside a call of the allocator for faults, mappings and waiting is taken out of the call's time, so that the
//! parts add up:
//!
//! ```text
//! cost = allocator + faults + mapping + waiting + reading
//! allocator = what samples and stamps together say: anchor.rs
//! ```
//!
//! What the stamps cost is measured on the machine, as what two readings of the clock add to a call of the allocator in a
//! loop of such calls.
//!
//! A mean price can be more than the faults of one site took, and a call that gets a block of its own from the system is
//! taken to be nothing but work on mappings. Faults and mappings inside calls cost at most what the calls leave beside the
//! time that fast calls take. This is settled for each site; rows and totals are sums of sites.

use crate::aggregate::operations;
use crate::anchor::{Anchor, Calls};
use crate::calibration::{self, Figure};
use crate::estimate::Estimate;
use crate::priced::Priced;
use memtoll_model::Recording;
use memtoll_trace::meta::{CallTimes, Clock, Found, Prices, RecorderStats, TimedFaults};
use memtoll_trace::op::Op;
use memtoll_trace::summary::Metrics;

/// With fewer faults timed, their mean says less than the price of a fault on a quiet machine.
const FEWEST_TIMED: u64 = 12;

/// The same for huge pages, of which there are few. Where the host of a virtual machine has to find their memory first, they
/// take ten times what they take on a quiet machine.
const FEWEST_HUGE_TIMED: u64 = 3;

/// With fewer pairs of calls compared, their mean difference says nothing.
const FEWEST_PAIRS: u64 = 64;

/// With fewer samples in the recorder (20 % standard error), its own estimate stands uncorrected.
const FEWEST_SAMPLES: u64 = 25;

/// How far the recorder's own estimate of its work may be off, as a share of it.
const OWN_ERR: f64 = 0.5;

/// How much too dear the price of a fault may be, as a share of it, and how much too cheap.
const FAULTS_TOO_DEAR: f64 = 0.25;
const FAULTS_TOO_CHEAP: f64 = 0.15;

/// How far the time of work on mappings may be off, as a share of it.
const MAPPING_ERR: f64 = 0.15;

/// Bytes of a huge page.
const HUGE_PAGE: u64 = 2 << 20;

/// What things cost in a recording.
#[derive(Clone, Copy, Debug)]
pub struct Tariff {
    clock: Clock,
    prices: Prices,
    faults: FaultPrices,
    page: u64,
    /// By how much calls look longer than they are, units.
    overlap: f64,
    /// The allocator's time.
    anchor: Anchor,
    /// What the recorder's work took by the kernel's samples, divided by what it took by its own estimate.
    own: Estimate,
    sees: Sees,
}

/// What the kernel let be seen. Where it is false, a count of 0 means that nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// Page faults.
    pub faults: bool,
    /// When threads lost the processor.
    pub switches: bool,
}

impl Sees {
    fn of(recording: &Recording) -> Sees {
        match &recording.end {
            Some(end) => Sees { faults: end.kernel.faults, switches: end.kernel.switches },
            // It was cut off before it said so.
            None => Sees { faults: true, switches: true },
        }
    }
}

/// What faults cost in a recording, ns each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultPrices {
    /// Of a page of a block or mapping.
    pub page: f64,
    /// Of a huge page.
    pub huge: f64,
    /// Of a page of a file or stack; of a major fault, without the wait for the disk.
    pub other: f64,
    /// What a sample adds to a fault.
    pub sample: f64,
    /// So many faults were timed. 0: these are the machine's prices.
    pub timed: u64,
}

impl FaultPrices {
    fn of(recording: &Recording, prices: &Prices) -> FaultPrices {
        let on_average = FaultPrices::from(prices);
        let Some(end) = &recording.end else { return on_average };
        let Some(beyond) = end.kernel.fault_beyond else { return on_average };
        let kernel = &recording.kernel;
        let mut samples = 0;
        let mut mean = |all: TimedFaults, fewest: u64, otherwise: f64| {
            if all.samples < fewest {
                return otherwise;
            }
            samples += all.samples;
            (all.time as f64 / all.faults.max(1) as f64 + beyond).max(0.0)
        };
        let page = mean(kernel.timed_faults, FEWEST_TIMED, on_average.page);
        let huge = mean(kernel.timed_huge_faults, FEWEST_HUGE_TIMED, on_average.huge);
        let other = mean(kernel.timed_other_faults, FEWEST_TIMED, page);
        let prices = FaultPrices { page, huge, other, sample: end.kernel.fault_sample, timed: samples };
        prices.scaled(plain_share(recording, &prices).unwrap_or(1.0))
    }
}

/// What the plain program's faults took, divided by what these prices say of them. Only where samples inside the kernel tell
/// that, and no huge pages are among the faults: of those, their number is not known here.
fn plain_share(recording: &Recording, prices: &FaultPrices) -> Option<f64> {
    let plain = calibration::plain(recording.calibration.as_ref()?).of(Figure::Part(Found::Fault))?;
    let kernel = &recording.kernel;
    let others = kernel.file_faults + kernel.stack_faults + kernel.unowned_faults;
    let priced = kernel.faults_charged as f64 * prices.page + others as f64 * prices.other;
    // From a share of noise, no price can be told.
    let is_known = plain.low.is_some_and(|low| low > 0.0) && kernel.timed_huge_faults.samples == 0 && priced > 0.0;
    is_known.then(|| plain.mean / priced)
}

/// How much longer calls look on average than they are, units: [`RecorderStats::overlap_time`].
fn overlap(recorders: &RecorderStats) -> f64 {
    let (pairs, longer) = (recorders.overlap_pairs, recorders.overlap_time);
    if pairs < FEWEST_PAIRS { 0.0 } else { (longer as f64 / pairs as f64).max(0.0) }
}

/// What the recorders' `estimate` of their own work has to be multiplied with: it and the samples, one every `period`, units,
/// are about the same images.
fn own(samples: u64, estimate: u64, period: f64) -> Estimate {
    let known = samples >= FEWEST_SAMPLES && period > 0.0 && estimate > 0;
    match known {
        true => Estimate::of_samples(samples, period).scaled(1.0 / estimate as f64),
        false => Estimate::within(1.0, OWN_ERR, OWN_ERR),
    }
}

impl FaultPrices {
    /// So many times as dear.
    fn scaled(self, factor: f64) -> FaultPrices {
        FaultPrices { page: self.page * factor, huge: self.huge * factor, other: self.other * factor, ..self }
    }
}

/// On a quiet machine.
impl From<&Prices> for FaultPrices {
    fn from(prices: &Prices) -> FaultPrices {
        let page = prices.minor_fault.median;
        let huge = prices.huge_fault.unwrap_or_default().median;
        FaultPrices { page, huge, other: page, ..FaultPrices::default() }
    }
}

/// Time in a site's calls beyond what they take when they are fast, ns.
struct Beyond {
    mapping: f64,
    faults: f64,
    rest: f64,
}

/// What was paid, ns.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Costs {
    /// Inside malloc, free and the like, without what follows.
    pub allocator: f64,
    /// For page faults, zeroing included.
    pub faults: f64,
    /// The share of it that zeroed pages.
    pub zeroing: f64,
    /// For making, changing and taking away mappings.
    pub mapping: f64,
    /// Waiting inside malloc, free and the like.
    pub waiting: f64,
    /// Waiting for the disk, in major faults.
    pub reading: f64,
}

impl Costs {
    /// All together, ns. Zeroing is part of the faults.
    pub fn total(&self) -> f64 {
        self.processor() + self.waiting + self.reading
    }

    /// The processor time among it, ns: all but waiting and reading.
    pub fn processor(&self) -> f64 {
        self.allocator + self.faults + self.mapping
    }
}

impl Tariff {
    /// That of a recording. One that was cut off has no prices: its faults cost nothing.
    pub fn of(recording: &Recording) -> Tariff {
        let clock = recording.about.clock;
        let overlap = overlap(&recording.recorder);
        let period = recording.end.as_ref().map_or(0, |end| end.kernel.running_period);
        let period = period as f64 / 1e9 * clock.units_per_second;
        let own = own(recording.kernel.running.recorder, recording.recorder.own_time, period);
        let prices = recording.end.as_ref().and_then(|end| end.prices).unwrap_or_default();
        let page = u64::from(recording.about.machine.page).max(1);
        let (faults, sees) = (FaultPrices::of(recording, &prices), Sees::of(recording));
        let tariff = Tariff { faults, sees, overlap, own, ..Tariff::new(clock, prices, page) };
        let calls = recording.recorder.calls;
        let calls = Calls {
            calls: calls.timed_calls as f64,
            beyond: tariff.beyond(&calls).rest,
            overlap: tariff.ns(overlap * calls.timed_calls as f64),
            fastest: tariff.fastest(),
        };
        // Where the kernel does not tell, and in a run shorter than that, nobody looked.
        let looked = period > 0.0 && recording.kernel.running.all() > 0;
        let samples = looked.then(|| (recording.kernel.running.allocator, tariff.ns(period)));
        // A recording that was cut off has no such sums: then stamps are all there is.
        let plain = recording.calibration.as_ref().map(calibration::plain);
        let known = plain.as_ref().and_then(|plain| plain.of(Figure::Part(Found::Allocator)));
        let anchor = match known {
            _ if calls.calls <= 0.0 => Anchor::default(),
            Some(known) => Anchor::dividing(&calls, known.estimate()),
            None => Anchor::of(&calls, samples),
        };
        Tariff { anchor, ..tariff }
    }

    /// From a clock, the machine's prices, and the size of a page in bytes, where all is seen.
    pub fn new(clock: Clock, prices: Prices, page: u64) -> Tariff {
        let sees = Sees { faults: true, switches: true };
        Tariff {
            clock,
            prices,
            faults: FaultPrices::from(&prices),
            page,
            overlap: 0.0,
            anchor: Anchor::default(),
            own: Estimate::exact(1.0),
            sees,
        }
    }

    /// What the kernel let be seen.
    pub fn sees(&self) -> Sees {
        self.sees
    }

    /// What is taken off the time of a call, ns: what stamps add to it, and the overlap with what came before it.
    pub fn taken_off(&self) -> (f64, f64) {
        (self.ns(self.clock.stamp), self.ns(self.overlap))
    }

    /// The recording's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The machine's prices.
    pub fn prices(&self) -> &Prices {
        &self.prices
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

    /// Units as ns.
    pub fn ns(&self, units: f64) -> f64 {
        units / self.clock.units_per_second * 1e9
    }

    /// Units per ns.
    pub fn units(&self, ns: f64) -> f64 {
        ns * self.clock.units_per_second / 1e9
    }

    /// What sites paid for the allocator's own work, ns.
    pub fn allocator(&self, of: &Priced) -> Estimate {
        self.anchor.error(of.allocator_ns as f64)
    }

    /// What they paid for page faults, ns. Prices are means of those that were timed, or of the machine's; writing samples
    /// makes a fault dearer than it is without.
    pub fn faults_of(&self, ns: f64) -> Estimate {
        let chance = if self.faults.timed > 0 { 1.6 / (self.faults.timed as f64).sqrt() } else { 0.5 };
        Estimate::within(ns, FAULTS_TOO_DEAR, FAULTS_TOO_CHEAP).give_or_take(ns * chance)
    }

    /// What they paid for work on mappings, ns.
    pub fn mapping(&self, of: &Priced) -> Estimate {
        Estimate::within(of.mapping_ns as f64, MAPPING_ERR, MAPPING_ERR)
    }

    /// All that they paid, waiting included, ns.
    pub fn cost(&self, of: &Priced) -> Estimate {
        let costs = of.costs();
        let waiting = Estimate::exact(costs.waiting + costs.reading);
        self.allocator(of).plus(self.faults_of(costs.faults)).plus(self.mapping(of)).plus(waiting)
    }

    /// The share of [`Costs::faults`] that went into pages that were there already, in files or on a disk, ns.
    pub fn file_faults(&self, metrics: &Metrics) -> f64 {
        metrics.file_faults.wrapping_add(metrics.major_faults) as f64 * self.faults.other
    }

    /// Of a site: the time in its calls beyond what they take when they are fast, without what was paid inside, ns; and of
    /// what was paid inside, what fits into that time: mappings and faults.
    fn beyond(&self, calls: &CallTimes) -> Beyond {
        let without_the_processor = self.ns(calls.preempted_time as f64) + self.ns(calls.waiting_time as f64);
        let stamps = self.ns(calls.timed_calls as f64 * self.clock.stamp);
        let busy = self.ns(calls.allocator_time as f64) - stamps - without_the_processor;
        // Stamps scatter: calls of a site with few of them may seem to take less than any call does. No time is lost by
        // that, because the total is the anchor's.
        let all = (busy - calls.timed_calls as f64 * self.fastest()).max(0.0);
        let mapping = self.ns(calls.mapping_inside as f64).min(all);
        let faults = self.per_fault(calls.faults_inside, calls.huge_faults_inside)
            + calls.samples_inside as f64 * self.faults.sample;
        let faults = faults.min(all - mapping);
        Beyond { mapping, faults, rest: all - mapping - faults }
    }

    /// What a call takes in a loop of such calls, ns.
    fn fastest(&self) -> f64 {
        self.prices.malloc_free.median / 2.0
    }

    /// Of so many faults, ns.
    fn per_fault(&self, faults: u64, huge: u64) -> f64 {
        faults as f64 * self.faults.page + huge as f64 * self.faults.huge
    }

    /// Of so many faults that zero their pages, ns. Of a fault, zeroing is taken to be the same share as on a quiet machine.
    fn zeroing(&self, faults: f64, huge: u64) -> f64 {
        let share = |zeroing: f64, fault: f64| if fault > 0.0 { (zeroing / fault).min(1.0) } else { 0.0 };
        let page = self.prices.zeroing.median;
        let huge_page = page * (HUGE_PAGE / self.page) as f64;
        let page = self.faults.page * share(page, self.prices.minor_fault.median);
        let huge_page = self.faults.huge * share(huge_page, self.prices.huge_fault.unwrap_or_default().median);
        faults * page + huge as f64 * huge_page
    }

    /// Of the faults of a site, those that zeroed their pages. A page that is first read, then written, faults twice and is
    /// zeroed once: so more pages than the site asked for are not zeroed, unless it gives pages back to get them again.
    fn zeroed(&self, site: &Metrics) -> f64 {
        let blocks = site.allocations.saturating_add(site.reallocations).saturating_add(site.mappings);
        let asked_for = site.bytes_allocated.saturating_add(site.mapped_bytes);
        // A block may begin on one page and end on another; between blocks, there are headers.
        let most = (asked_for / self.page).saturating_add(blocks.saturating_mul(2));
        let gives_back = operations(site.operations).any(|op| op.symbol() == "madvise");
        let maps_unknown = site.mappings == 0 && operations(site.operations).any(Op::is_mapping);
        if blocks == 0 || gives_back || maps_unknown { site.faults as f64 } else { site.faults.min(most) as f64 }
    }

    /// What a single site paid. Prices are settled for each site: those of several are sums, not priced again.
    pub fn price(&self, site: &Metrics) -> Priced {
        let calls = CallTimes::from(site);
        let beyond = self.beyond(&calls);
        // A mean price can be more than the faults of one site took.
        let too_long = self.ns(site.mapping_inside as f64) - beyond.mapping;
        let inside = self.per_fault(site.faults_inside, site.huge_faults_inside);
        let with_samples = inside + site.samples_inside as f64 * self.faults.sample;
        let too_dear = if with_samples > 0.0 { 1.0 - beyond.faults / with_samples } else { 0.0 };
        let faults = self.per_fault(site.faults, site.huge_faults) + self.file_faults(site) - too_dear * inside;
        let zeroing = self.zeroing(self.zeroed(site), site.huge_faults)
            - too_dear * self.zeroing(site.faults_inside as f64, site.huge_faults_inside);
        let each = self.anchor.each.min(self.fastest()) * site.timed_calls as f64;
        let time = |units: u64| self.ns(units as f64).round() as u64;
        Priced {
            counts: *site,
            allocator_ns: (each + self.anchor.beyond * beyond.rest).round() as u64,
            fault_ns: faults.round() as u64,
            zeroing_ns: zeroing.max(0.0).round() as u64,
            mapping_ns: (self.ns(site.mapping_time as f64) - too_long).max(0.0).round() as u64,
            waiting_ns: time(site.waiting_time),
            reading_ns: time(site.reading_time),
            lifetime_ns: time(site.lifetime),
            touched_bytes: self.touched(site),
        }
    }

    /// Bytes of a page.
    pub fn page(&self) -> u64 {
        self.page
    }

    /// Bytes of the pages that were touched for the first time.
    fn touched(&self, metrics: &Metrics) -> u64 {
        // Numbers of a damaged file may be beyond all sums.
        metrics.faults.wrapping_mul(self.page).wrapping_add(metrics.huge_faults.wrapping_mul(HUGE_PAGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::meta::Price;

    fn tariff() -> Tariff {
        let price = |median| Price { median, p10: median, p90: median };
        let prices = Prices {
            minor_fault: price(1000.0),
            zeroing: price(400.0),
            huge_fault: Some(price(100_000.0)),
            malloc_free: price(40.0),
            ..Prices::default()
        };
        let clock = Clock { units_per_second: 2e8, stamp: 2.0 }; // a unit is 5 ns, two stamps take 10 ns
        let mut tariff = Tariff::new(clock, prices, 4096);
        tariff.faults.sample = 100.0;
        tariff
    }

    fn costs(metrics: Metrics) -> Costs {
        tariff().price(&metrics).costs()
    }

    #[test]
    fn faults_inside_a_call_cost_no_more_than_it_took() {
        // 10 calls of 5,000 ns together without the stamps, in which 20 faults happened: on average, these cost 20,000.
        let many =
            Metrics { timed_calls: 10, allocator_time: 1020, faults: 30, faults_inside: 20, ..Metrics::default() };
        let found = costs(many);
        // 10 calls x 20 ns are the least; 10 faults outside cost what they cost on average.
        assert_eq!((found.allocator, found.faults), (200.0, 4800.0 + 10_000.0));
        assert_eq!(found.zeroing, 10.0 * 400.0 + 4800.0 * 0.4);
        // Calls that took less than the least, by the scatter of stamps, have the least.
        let short = costs(Metrics { timed_calls: 10, allocator_time: 30, faults: 1, faults_inside: 1, ..many });
        assert_eq!((short.allocator, short.faults), (200.0, 0.0));
    }

    #[test]
    fn a_call_that_maps_its_block_has_some_time_of_the_allocators() {
        // 4 calls of 10,000 ns without the stamps, all of it taken to be work on mappings, and 500 ns of other mappings.
        let block = Metrics {
            timed_calls: 4,
            allocator_time: 8008,
            mapping_time: 8100,
            mapping_inside: 8000,
            ..Metrics::default()
        };
        let found = costs(block);
        assert_eq!((found.allocator, found.mapping), (4.0 * 20.0, 40_000.0 - 80.0 + 500.0));
    }

    #[test]
    fn calls_look_longer_by_what_came_before_them() {
        let overlap_of = |images: &[(u64, i64)]| {
            let mut all = RecorderStats::default();
            for &(overlap_pairs, overlap_time) in images {
                all.add(&RecorderStats { overlap_pairs, overlap_time, ..Default::default() });
            }
            overlap(&all)
        };
        assert_eq!(overlap_of(&[(100, 150), (300, 250)]), 1.0);
        assert_eq!(overlap_of(&[(100, -3)]), 0.0, "none do");
        assert_eq!(overlap_of(&[(60, 600)]), 0.0, "too few to tell");
        assert_eq!(overlap_of(&[(u64::MAX, i64::MAX), (u64::MAX, i64::MAX)]), 0.5, "a damaged file");
    }

    #[test]
    fn the_anchor_says_what_of_the_stamps_is_true() {
        let anchor = Anchor { total: Estimate::exact(0.0), each: 20.0, beyond: 0.25 };
        let allocator = |anchor, allocator_time| {
            let site = Metrics { timed_calls: 10, allocator_time, ..Metrics::default() };
            Tariff { anchor, ..tariff() }.price(&site).allocator_ns
        };
        // 1,000 ns beyond the stamps, of which 200 are the least.
        assert_eq!(allocator(anchor, 220), 200 + 800 / 4);
        assert_eq!(allocator(anchor, 40), 200, "by chance, the stamps are nearer than any call is short");
        assert_eq!(allocator(Anchor { each: 5.0, beyond: 0.0, ..anchor }, 220), 50);
    }

    #[test]
    fn the_recorders_estimate_is_put_right_by_samples() {
        // 40 samples, one every 100 units, say 4,000; by the estimate, it were 5,000.
        assert_eq!(own(40, 5000, 100.0).value, 0.8);
        assert_eq!(own(10, 3000, 100.0).value, 1.0, "too few to tell");
        assert_eq!(own(40, 5000, 0.0).value, 1.0, "nobody looked");
        assert_eq!(own(30, 0, 100.0).value, 1.0);
        let tariff = Tariff { own: Estimate::exact(0.8), ..tariff() };
        assert_eq!(tariff.recorder(1000), Estimate::exact(4000.0), "a unit is 5 ns");
    }

    #[test]
    fn totals_are_the_sums_of_the_sites() {
        let sites = [(1020, 20), (4000, 3), (77, 0), (2, 1)].map(|(allocator_time, faults)| {
            let faults_inside = faults;
            let counts = Metrics {
                timed_calls: 10,
                allocator_time,
                faults,
                faults_inside,
                mapping_time: 7,
                ..Metrics::default()
            };
            tariff().price(&counts)
        });
        let mut total = Priced::default();
        sites.iter().for_each(|site| total.add(site));
        let sum = |of: fn(&Costs) -> f64| sites.iter().map(|site| of(&site.costs())).sum::<f64>();
        let whole = total.costs();
        assert_eq!((whole.allocator, whole.faults), (sum(|costs| costs.allocator), sum(|costs| costs.faults)));
        assert_eq!(total.cost_ns(), sites.iter().map(Priced::cost_ns).sum::<u64>());
    }

    #[test]
    fn the_parts_add_up() {
        let metrics = Metrics {
            timed_calls: 10,
            allocator_time: 2000, // 10,000 ns
            faults: 5,
            faults_inside: 2,
            samples_inside: 1,
            mapping_time: 300,
            mapping_inside: 200,
            waiting_time: 400,
            ..Metrics::default()
        };
        let costs = costs(metrics);
        assert_eq!((costs.faults, costs.zeroing), (5000.0, 2000.0));
        assert_eq!((costs.mapping, costs.waiting), (1500.0, 2000.0));
        // 10,000 - 10 calls x 10 - 2 faults x 1,000 - 100 for looking at one - 1,000 of mapping - 2,000 of waiting
        assert_eq!(costs.allocator, 4800.0);
        assert_eq!(costs.total(), 4800.0 + 5000.0 + 1500.0 + 2000.0);
        assert_eq!(tariff().touched(&metrics), 5 * 4096);
    }

    #[test]
    fn where_faults_take_longer_zeroing_does_too() {
        let mut tariff = tariff();
        tariff.faults.page = 2500.0;
        let costs = tariff.price(&Metrics { faults: 10, ..Metrics::default() }).costs();
        assert_eq!((costs.faults, costs.zeroing), (25_000.0, 10_000.0));
    }

    #[test]
    fn a_page_that_is_read_and_then_written_is_zeroed_once() {
        let block = Metrics { allocations: 1, bytes_allocated: 100 << 12, faults: 200, ..Metrics::default() };
        // A block of 100 pages may touch 101.
        assert_eq!(costs(block).zeroing, 102.0 * 400.0);
        assert_eq!(costs(Metrics { allocations: 0, ..block }).zeroing, 200.0 * 400.0, "nobody asked: nothing is known");
    }

    #[test]
    fn pages_of_files_are_neither_zeroed_nor_fresh() {
        let mut tariff = tariff();
        tariff.faults.other = 700.0;
        let metrics = Metrics { major_faults: 2, file_faults: 8, reading_time: 10_000, ..Metrics::default() };
        let costs = tariff.price(&metrics).costs();
        assert_eq!((costs.faults, costs.zeroing, costs.reading), (7000.0, 0.0, 50_000.0));
        assert_eq!((costs.processor(), costs.total(), tariff.touched(&metrics)), (7000.0, 57_000.0, 0));
    }

    #[test]
    fn a_huge_page_has_its_own_price() {
        let metrics = Metrics { huge_faults: 3, faults: 1, ..Metrics::default() };
        let costs = costs(metrics);
        assert_eq!(costs.faults, 301_000.0);
        assert_eq!(costs.zeroing, 300_000.0 + 400.0, "nearly all of it is zeroing");
        assert_eq!(tariff().touched(&metrics), 3 * (2 << 20) + 4096);
        assert_eq!(costs.allocator, 0.0);
    }
}
