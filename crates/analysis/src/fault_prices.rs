//! What a page fault costs in a recording: the mean of those that were timed, or the price on the machine while it is quiet.

use crate::beside::UnchargedFaults;
use crate::calibration::{self, Figure};
use memtoll_model::Recording;
use memtoll_trace::costs::CostKind;
use memtoll_trace::meta::{Found, Prices, TimedFaults};

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
    pub huge: f64,
    /// Of a page of a file or stack; of a major fault, without the wait for the disk.
    pub other: f64,
    /// What a sample adds to a fault.
    pub sample: f64,
    /// What counting adds to each fault.
    pub counting: f64,
    /// What recording adds to each fault beside that, as a share of its price.
    pub slowed: f64,
    /// So many faults were timed. 0: these are the machine's prices.
    pub timed: u64,
    /// Whether all of them together come out at what plain runs took for faults.
    pub are_plain: bool,
}

impl FaultPrices {
    /// Those of a recording.
    pub(crate) fn in_recording(recording: &Recording, prices: &Prices) -> FaultPrices {
        let on_average = FaultPrices::from(prices);
        let Some(end) = &recording.end else { return on_average };
        let Some(looking) = end.kernel.looking else { return on_average };
        let kernel = &recording.kernel;
        let mut samples = 0;
        let mut mean = |all: TimedFaults, fewest: u64, otherwise: f64| {
            if all.samples < fewest {
                return otherwise;
            }
            samples += all.samples;
            (all.time as f64 / all.faults.max(1) as f64 + looking.fault_beyond).max(0.0) * (1.0 - SLOWED)
        };
        let page = mean(kernel.timed_faults, FEWEST_TIMED, on_average.page);
        let huge = mean(kernel.timed_huge_faults, FEWEST_HUGE_TIMED, on_average.huge);
        let other = mean(kernel.timed_other_faults, FEWEST_TIMED, page);
        let (sample, counting) = (looking.fault_sample, looking.fault_counting);
        let slowed = if samples > 0 { SLOWED / (1.0 - SLOWED) } else { 0.0 };
        let prices = FaultPrices { page, huge, other, sample, counting, slowed, timed: samples, are_plain: false };
        match plain_share(recording, &prices) {
            Some(share) => FaultPrices { are_plain: true, slowed: 0.0, ..prices.scaled(share) },
            None => prices,
        }
    }
}

/// What the plain program's faults took, divided by what these prices say of them. Only where samples inside the kernel tell
/// that, and no huge pages are among the faults: of those, their number is not known here.
fn plain_share(recording: &Recording, prices: &FaultPrices) -> Option<f64> {
    let plain = calibration::plain(recording.calibration.as_ref()?).of(Figure::Part(Found::Fault))?;
    let kernel = &recording.kernel;
    let others = UnchargedFaults::from(kernel).all().saturating_sub(kernel.recorder_faults);
    let priced = kernel.faults_charged as f64 * prices.page + others as f64 * prices.other;
    // From a share of noise, no price can be told.
    let is_known = plain.low.is_some_and(|low| low > 0.0) && kernel.timed_huge_faults.samples == 0 && priced > 0.0;
    is_known.then(|| plain.mean / priced)
}

impl FaultPrices {
    /// Of a fault of this kind, ns; 0 for the recorder's, and for what is no fault.
    pub fn of(&self, kind: CostKind) -> f64 {
        match kind {
            CostKind::Fault => self.page,
            CostKind::HugeFault => self.huge,
            CostKind::RecorderFault => 0.0,
            kind if kind.is_fault() => self.other,
            _ => 0.0,
        }
    }

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
