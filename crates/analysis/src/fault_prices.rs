//! What a page fault costs in a recording: the mean of those that were timed, or the price on the machine while it is quiet.

use crate::calibration::{self, Figure};
use crate::estimate::Estimate;
use crate::uncharged_faults::UnchargedFaults;
use memtoll_model::Recording;
use memtoll_trace::costs::CostKind;
use memtoll_trace::meta::{Found, KernelStats, Prices, TimedFaults, Usage};

/// How much too dear the price of a fault may be, as a share of it, and how much too cheap.
pub(crate) const FAULTS_TOO_DEAR: f64 = 0.17;
pub(crate) const FAULTS_TOO_CHEAP: f64 = 0.28;

/// With fewer faults timed, their mean says less than the price of a fault on a quiet machine.
const FEWEST_TIMED: u64 = 12;

/// The same for huge pages, of which there are few. Where the host of a virtual machine has to find their memory first, they
/// take ten times what they take on a quiet machine.
const FEWEST_HUGE_TIMED: u64 = 3;

/// By how much longer a fault takes while the kernel writes samples of faults, as a share of what it takes then: they push
/// data of the kernel out of the caches. By plain and recorded runs of programs that do little but fault, it is 5 to 17 %.
const SLOWED: f64 = 0.1;

/// What faults cost in a recording, ns each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultPrices {
    /// Of a page of a block or mapping.
    pub page: f64,
    /// Of a huge page.
    pub huge: Estimate,
    /// Of a page of a file or stack; of a major fault, without the wait for the disk.
    pub other: f64,
    /// What a sample adds to a fault.
    pub sample: f64,
    /// What counting adds to each fault.
    pub counting: f64,
    /// What recording adds to each fault beside that, as a share of its price.
    pub slowed: f64,
    /// Faults that were timed. 0: these are the machine's prices.
    pub timed: u64,
    /// Whether all of them together come out at what plain runs took for faults.
    pub are_plain: bool,
}

impl FaultPrices {
    pub(crate) fn in_recording(recording: &Recording, prices: &Prices) -> FaultPrices {
        let on_average = FaultPrices::from(prices);
        let Some(end) = &recording.end else { return on_average };
        let Some(looking) = end.kernel.looking else { return on_average };
        let kernel = &recording.kernel;
        let mean = |all: TimedFaults, fewest: u64| {
            let mean = all.time as f64 / all.faults.max(1) as f64 + looking.fault_beyond;
            (all.samples >= fewest).then_some(mean.max(0.0))
        };
        let mut samples = 0;
        let mut small = |all: TimedFaults, otherwise: f64| {
            let mean = mean(all, FEWEST_TIMED);
            samples += if mean.is_some() { all.samples } else { 0 };
            mean.map_or(otherwise, |mean| mean * (1.0 - SLOWED))
        };
        let page = small(kernel.timed_faults, on_average.page);
        let other = small(kernel.timed_other_faults, page);
        let huge = mean(kernel.timed_huge_faults, FEWEST_HUGE_TIMED).unwrap_or(on_average.huge.value);
        let uncharged = UnchargedFaults::from(kernel).all() as f64 * other;
        let huge_faults = kernel.spans_to_huge_faults.faults;
        let smaller = kernel.faults_charged.saturating_sub(huge_faults) as f64 * page + uncharged;
        let running = &kernel.running;
        let calls = running.system_calls + running.mapping + running.allocator_in_kernel + running.recorder_in_kernel;
        let sampled = end.kernel.faults_in_system_calls && running.all() > 0;
        let huge = HugeFaults {
            kernel,
            quiet: on_average.huge.value,
            mean: huge,
            smaller,
            usage: end.usage,
            system_calls: sampled.then(|| Estimate::of_samples(calls, end.kernel.running_period as f64).high),
        };
        let huge = huge.price();
        let (sample, counting) = (looking.fault_sample, looking.fault_counting);
        let slowed = if samples > 0 { SLOWED / (1.0 - SLOWED) } else { 0.0 };
        let prices = FaultPrices { page, huge, other, sample, counting, slowed, timed: samples, are_plain: false };
        match plain_share(recording, &prices) {
            Some(share) => FaultPrices { are_plain: true, slowed: 0.0, ..prices.scaled(share) },
            None => prices,
        }
    }
}

/// With as many huge faults timed, their mean is the price.
const ENOUGH_HUGE_TIMED: u64 = 24;

/// A processor's time is divided between the program and the kernel by ticks of some milliseconds: what the share of one of
/// them may lack, as a share of it and ns.
const SHARE_LACKS: (f64, f64) = (0.1, 5e6);

/// What is known of the time of huge faults.
///
/// Only one fault in 47 is timed, and a program has few huge faults. Most take as long as zeroing 2 MiB does; where a virtual
/// machine's host has to find the memory first, some take a hundred times that, and a mean of three says nothing. So it is
/// known of each how long its thread had run since it did something else. That bounds all of them together, as the kernel's
/// share of the CPU time does; less the program's share and system calls, it is what they took at least. Which part of
/// these spans was the fault, the timed ones say.
struct HugeFaults<'k> {
    kernel: &'k KernelStats,
    /// What one takes on a quiet machine, ns.
    quiet: f64,
    /// Mean of those that were timed, ns, or the same.
    mean: f64,
    /// What all smaller faults took, ns.
    smaller: f64,
    /// What the kernel counted for the run.
    usage: Option<Usage>,
    /// What system calls took at most, ns, if they were sampled.
    system_calls: Option<f64>,
}

impl HugeFaults<'_> {
    fn price(&self) -> Estimate {
        let (timed, spans) = (&self.kernel.timed_huge_faults, &self.kernel.spans_to_huge_faults);
        let chance = 1.6 / (timed.samples.max(1) as f64).sqrt();
        let usual = Estimate::within(self.mean, FAULTS_TOO_DEAR, FAULTS_TOO_CHEAP);
        let usual = usual.give_or_take(self.mean * chance.min(1.0));
        if timed.samples >= ENOUGH_HUGE_TIMED || spans.samples == 0 {
            return usual;
        }
        let faults = spans.faults.max(spans.samples) as f64;
        let span = spans.time as f64 / spans.samples as f64;
        let most = self.in_kernel().map_or(span, |all| span.min((all - self.smaller).max(0.0) / faults));
        let of_timed = &self.kernel.spans_to_timed_huge_faults;
        let share = match of_timed.time {
            0 => 1.0,
            all => (timed.time as f64 / all as f64).min(1.0),
        };
        let others = self.system_calls.zip(self.in_program()).map(|(calls, program)| calls + program + self.smaller);
        let least = others.map_or(0.0, |others| span - others / spans.samples as f64);
        let least = least.max(self.quiet * 0.5).min(most);
        let value = (span * share).min(most).max(least);
        Estimate { value, low: least, high: most.max(value) }
    }

    /// The CPU time that may have been the kernel's, ns.
    fn in_kernel(&self) -> Option<f64> {
        self.usage.map(|usage| share(usage.system_ns, &usage))
    }

    /// That which may have been the program's.
    fn in_program(&self) -> Option<f64> {
        self.usage.map(|usage| share(usage.user_ns, &usage))
    }
}

/// The largest share of a run's CPU time that the kernel's count allows, ns.
fn share(counted: u64, of: &Usage) -> f64 {
    (counted as f64 * (1.0 + SHARE_LACKS.0) + SHARE_LACKS.1).min(of.user_ns as f64 + of.system_ns as f64)
}

/// What the plain program's faults took, divided by what these prices say of them. Only where samples inside the kernel tell
/// that, and no huge pages are among the faults: of those, their number is not known here.
fn plain_share(recording: &Recording, prices: &FaultPrices) -> Option<f64> {
    let plain = calibration::plain(recording.calibration.as_ref()?).of(Figure::Part(Found::Fault))?;
    let kernel = &recording.kernel;
    let others = UnchargedFaults::from(kernel).all().saturating_sub(kernel.recorder_faults);
    let priced = kernel.faults_charged as f64 * prices.page + others as f64 * prices.other;
    // A share within noise gives no price.
    let is_known = plain.low.is_some_and(|low| low > 0.0) && kernel.timed_huge_faults.samples == 0 && priced > 0.0;
    is_known.then(|| plain.mean / priced)
}

impl FaultPrices {
    /// Of a fault of this kind, ns; 0 for the recorder's, and for what is no fault.
    pub fn of(&self, kind: CostKind) -> f64 {
        match kind {
            CostKind::Fault => self.page,
            CostKind::HugeFault => self.huge.value,
            CostKind::RecorderFault => 0.0,
            kind if kind.is_fault() => self.other,
            _ => 0.0,
        }
    }

    /// Multiplied by a factor.
    fn scaled(self, factor: f64) -> FaultPrices {
        FaultPrices { page: self.page * factor, huge: self.huge.scaled(factor), other: self.other * factor, ..self }
    }
}

/// On a quiet machine.
impl From<&Prices> for FaultPrices {
    fn from(prices: &Prices) -> FaultPrices {
        let page = prices.minor_fault.median;
        let huge = Estimate::within(prices.huge_fault.unwrap_or_default().median, 0.5, 0.5);
        FaultPrices { page, huge, other: page, ..FaultPrices::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn faults(samples: u64, faults: u64, time: u64) -> TimedFaults {
        TimedFaults { samples, faults, time }
    }

    /// Of 128 huge faults, three were timed, `timed_ns` together, and that is this part of what their threads ran before them.
    fn huge(spans_ms: u64, timed_ns: u64, spans_of_timed_ns: u64) -> KernelStats {
        KernelStats {
            timed_huge_faults: faults(3, 3, timed_ns),
            spans_to_huge_faults: faults(128, 128, spans_ms * MS),
            spans_to_timed_huge_faults: faults(3, 3, spans_of_timed_ns),
            ..KernelStats::default()
        }
    }

    fn all(kernel: &KernelStats, user_ms: u64, system_ms: u64, calls_ms: Option<f64>) -> Estimate {
        let usage = Usage { user_ns: user_ms * MS, system_ns: system_ms * MS, ..Usage::default() };
        let system_calls = calls_ms.map(|ms| ms * 1e6);
        let mean = kernel.timed_huge_faults.time as f64 / 3.0;
        let known = HugeFaults { kernel, quiet: 50e3, mean, smaller: 1e6, usage: Some(usage), system_calls };
        known.price().scaled(128.0 / 1e6) // ms, all together
    }

    /// Where the host has to find the memory, three of them say nothing of the others.
    #[test]
    fn few_timed_huge_faults_are_no_price() {
        let kernel = huge(250, 500_000, 510_000);
        let found = all(&kernel, 2, 255, Some(4.0));
        assert!(found.low > 220.0 && found.value > 230.0 && found.high <= 250.0, "{found:?}");
        // Without permission to look into the kernel, less is known, and the width says so.
        let found = all(&kernel, 2, 255, None);
        assert!(found.low < 10.0 && found.value > 230.0 && found.high <= 250.0, "{found:?}");
    }

    #[test]
    fn what_the_program_does_between_huge_faults_is_its_own() {
        // It writes all of each page: 100 us, after the 50 us of the fault.
        let found = all(&huge(20, 150_000, 450_000), 13, 8, Some(4.0));
        assert!(found.low <= 6.4 && found.high >= 6.4 && (5.0..9.0).contains(&found.value), "{found:?}");
        // It computes for a second in one place: the kernel's share of its time bounds the faults.
        let found = all(&huge(1_020, 150_000, 450_000), 1_013, 8, Some(4.0));
        assert!(found.low <= 6.4 && found.high >= 6.4 && found.high < 15.0, "{found:?}");
    }

    #[test]
    fn many_timed_huge_faults_are_a_price() {
        let kernel = KernelStats { timed_huge_faults: faults(100, 100, 8 * MS), ..huge(250, 0, 0) };
        let known =
            HugeFaults { kernel: &kernel, quiet: 50e3, mean: 80e3, smaller: 0.0, usage: None, system_calls: None };
        let found = known.price();
        assert_eq!(found.value, 80e3);
        assert!(found.low > 60e3 && found.high < 110e3, "{found:?}");
    }
}
