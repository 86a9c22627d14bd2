//! The totals of a recording, or of a part of it: metrics, and what only processes and the whole have.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use crate::figures::{Figures, RunFigures};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::figures::Facts;
use memtoll_analysis::intervals::Interval;
use memtoll_analysis::reserved::{self, Reserved};
use memtoll_analysis::resident;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::titles::Titles;
use memtoll_analysis::uncharged_faults::HeapAndOtherFaults;
use memtoll_analysis::visible_kernel_events::Sees;
use memtoll_model::Recording;
use memtoll_trace::costs::Uncharged;
use memtoll_trace::meta::Resident;
use memtoll_trace::summary::PeakWithMappings;
use serde::Serialize;

/// Of the times with these names.
#[derive(Serialize)]
pub struct BalanceIntervals {
    pub program_ns: Option<Interval>,
    pub recorder_ns: Option<Interval>,
    pub other_fault_time_ns: Option<Interval>,
    pub rest_ns: Option<Interval>,
}

/// The highest sum of live blocks and the program's own mappings.
#[derive(Serialize)]
pub struct Peak {
    pub bytes: u64,
    pub block_bytes: u64,
    pub mapped_bytes: u64,
    pub reserved_bytes: u64,
    pub reserved_error_bytes: u64,
    pub at_ns: u64,
}

impl Peak {
    /// That of the image with this index.
    pub(crate) fn new(recording: &Recording, image: usize, peak: &PeakWithMappings, tariff: &Tariff) -> Self {
        let Reserved { bytes, error } = reserved::at(recording, image, peak);
        Peak {
            bytes: peak.bytes(),
            block_bytes: peak.block_bytes,
            mapped_bytes: peak.mapped_bytes,
            reserved_bytes: bytes,
            reserved_error_bytes: error,
            at_ns: tariff.ns(peak.time as f64) as u64,
        }
    }
}

/// What only processes and the whole have; null where it is not known.
#[derive(Serialize)]
pub struct BalanceFigures {
    pub cpu_ns: Option<u64>,
    pub recorder_ns: Option<u64>,
    pub other_faults: Option<u64>,
    pub other_fault_time_ns: Option<u64>,
    pub other_faults_by_kind: OtherFaults,
    pub faults_counted: Option<u64>,
    pub faults_standard_error: f64,
    pub rest_ns: Option<i64>,
    pub balance_intervals: BalanceIntervals,
}

#[derive(Serialize)]
pub struct OtherFaults {
    pub files: Option<u64>,
    pub globals: Option<u64>,
    pub stacks: Option<u64>,
    pub loader: Option<u64>,
    pub shared: Option<u64>,
    pub recorder: Option<u64>,
    pub unowned: Option<u64>,
    pub unseen: Option<u64>,
    pub lost: Option<u64>,
}

impl BalanceFigures {
    pub(crate) fn new(balance: &Balance, sees: Sees) -> Self {
        let faults = &balance.faults;
        let seen = |memory| sees.faults.then_some(faults.uncharged.of(memory));
        let others_known = sees.faults || faults.counted.is_some();
        let time_known = others_known && sees.fault_prices;
        BalanceFigures {
            cpu_ns: balance.processor.map(|ns| ns as u64),
            recorder_ns: balance.recorder.map(|time| time.value as u64),
            other_faults: others_known.then_some(faults.other()),
            other_fault_time_ns: time_known.then_some(balance.other_faults.value as u64),
            other_faults_by_kind: OtherFaults {
                files: seen(Uncharged::Files),
                globals: seen(Uncharged::Globals),
                stacks: seen(Uncharged::Stacks),
                loader: seen(Uncharged::Loader),
                shared: seen(Uncharged::Shared),
                recorder: seen(Uncharged::Recorder),
                unowned: seen(Uncharged::Unowned),
                unseen: faults.counted.map(|_| faults.unseen),
                lost: faults.counted.map(|_| faults.lost),
            },
            faults_counted: faults.counted,
            faults_standard_error: faults.error,
            rest_ns: balance.rest().map(|time| time.value.round() as i64),
            balance_intervals: BalanceIntervals {
                program_ns: balance.program().map(Interval::from),
                recorder_ns: balance.recorder.map(Interval::from),
                other_fault_time_ns: time_known.then(|| balance.other_faults.into()),
                rest_ns: balance.rest().map(Interval::from),
            },
        }
    }
}

/// The resident set, where it was largest (its error) and in the end; null where it is not known.
#[derive(Serialize)]
pub struct ResidentFigures {
    pub resident_peak_error_bytes: Option<u64>,
    pub recorder_resident_bytes: Option<u64>,
    pub resident_at_end_error_bytes: Option<u64>,
    pub resident_unseen_ns: Option<u64>,
}

impl ResidentFigures {
    pub(crate) fn new(resident: Option<Resident>, tariff: &Tariff) -> Self {
        let at_end = resident.and_then(|resident| resident.at_end);
        ResidentFigures {
            resident_peak_error_bytes: resident.map(|resident| resident.error),
            recorder_resident_bytes: resident.map(|resident| resident.recorder),
            resident_at_end_error_bytes: at_end.map(|of| of.error),
            resident_unseen_ns: resident
                .and_then(|resident| resident.unseen)
                .map(|units| tariff.ns(units as f64) as u64),
        }
    }
}

/// The totals of what was added up. All processes together, a filter does not change them.
#[derive(Serialize)]
pub struct Totals {
    #[serde(flatten)]
    pub figures: Figures,
    #[serde(flatten)]
    pub run: RunFigures,
    #[serde(flatten)]
    pub balance: BalanceFigures,
    #[serde(flatten)]
    pub resident: ResidentFigures,
    pub peak_is: &'static str,
    /// What metrics are called in the answer.
    #[serde(skip)]
    pub titles: Titles,
    pub peak_with_mappings: Option<Peak>,
    pub processes_that_hide_frees: usize,
    pub lost_records: u64,
    pub heap_grown_calls: u64,
    pub heap_grown_bytes: u64,
    pub heap_shrunk_calls: u64,
    pub heap_shrunk_bytes: u64,
}

impl Totals {
    pub(crate) fn new(recording: &Recording, sums: &Sums, tariff: &Tariff) -> Totals {
        let mut beside = HeapAndOtherFaults::default();
        sums.images.iter().for_each(|image| beside.add(&image.beside));
        Totals {
            figures: Figures::new(&sums.total, tariff),
            run: RunFigures::new(&Facts::of(recording, sums, tariff)),
            balance: BalanceFigures::new(&Balance::of_all(recording, sums), tariff.sees()),
            resident: ResidentFigures::new(resident::together(recording, sums), tariff),
            peak_is: sums.peak_is().words(),
            titles: sums.titles(),
            peak_with_mappings: sums.peak_with_mappings().and_then(|peak| {
                let (image, _) = sums.counted().next()?;
                Some(Peak::new(recording, image, &peak, tariff))
            }),
            processes_that_hide_frees: sums.hidden().1,
            lost_records: recording.end.as_ref().map_or(0, |end| end.kernel.lost_records),
            heap_grown_calls: beside.grown_calls,
            heap_grown_bytes: beside.grown_bytes,
            heap_shrunk_calls: beside.shrunk_calls,
            heap_shrunk_bytes: beside.shrunk_bytes,
        }
    }
}
