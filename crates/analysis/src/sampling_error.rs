//! How far sums are off by chance, where only a sample of what happened was recorded.
//!
//! A sampled event stands for several, so what its metrics are worth counts several times: sums of independent events, whose
//! variances add up. All events of a kind have the same weight in a recording, so the variance of a sum follows from its counts,
//! and call sites need not keep it.

use crate::estimate::Estimate;
use crate::metric::{Metric, TABLE};
use crate::priced::Priced;
use memtoll_metrics::{COUNTS, SAMPLED_COUNTS};
use memtoll_trace::meta::KernelStats;
use memtoll_trace::metrics::Metrics;

/// The variance that one of each sampled count adds to each metric's sum, in the metric's unit squared; nothing where all was
/// recorded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SamplingError(Option<[[f32; TABLE.len()]; SAMPLED_COUNTS.len()]>);

impl SamplingError {
    /// The error of a recording's sums. `price` is what counts are worth in it.
    pub fn new(kernel: &KernelStats, price: impl Fn(&Metrics) -> Priced) -> SamplingError {
        if kernel.faults_seen == 0 || kernel.faults_error == 0.0 {
            return SamplingError(None);
        }
        let of_fault = kernel.faults_error.powi(2) / kernel.faults_seen as f64;
        SamplingError(Some(SAMPLED_COUNTS.map(|index| {
            let mut one = Metrics::default();
            *(COUNTS[index].of)(&mut one) = 1;
            let one = price(&one);
            let mut variances = [0.0; TABLE.len()];
            for (variance, about) in variances.iter_mut().zip(TABLE) {
                *variance = ((about.metric.sum(&one) as f64).powi(2) * of_fault) as f32;
            }
            variances
        })))
    }

    /// The value of a metric as far as chance lets it be known.
    pub fn of(&self, metric: Metric, of: &Priced) -> Estimate {
        let sum = Estimate::by_chance(metric.sum(of) as f64, self.variance(metric, of));
        match metric.over() {
            // The value is cut to whole units.
            Some(over) => Estimate::exact(metric.value(of) as f64).with_error_of(sum.over(self.of(over, of))),
            None => sum,
        }
    }

    /// Variance of a metric's sum, in the metric's unit squared.
    pub fn variance(&self, metric: Metric, of: &Priced) -> f64 {
        let Some(variances) = &self.0 else { return 0.0 };
        let counts = of.counts.values();
        let each =
            |(&index, one): (&usize, &[f32; TABLE.len()])| counts[index] as f64 * f64::from(one[metric as usize]);
        SAMPLED_COUNTS.iter().zip(variances).map(each).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Unit;
    use memtoll_text::amounts::Nanoseconds;
    use memtoll_trace::ids::Bytes;

    /// Where one of 17 faults was seen, whose pages have 4096 bytes.
    fn sampled() -> SamplingError {
        let kernel =
            KernelStats { faults_seen: 1700, faults_error: (1700.0 * 16.0f64).sqrt(), ..KernelStats::default() };
        SamplingError::new(&kernel, |counts| Priced {
            counts: *counts,
            fault_time_ns: Nanoseconds(counts.small_faults * 500),
            touched_bytes: Bytes(counts.small_faults * 4096 + counts.huge_faults * (2 << 20)),
            ..Priced::default()
        })
    }

    fn found() -> Priced {
        let counts =
            Metrics { new_blocks: 400, bytes: Bytes(6400), small_faults: 340, file_faults: 17, ..Metrics::default() };
        Priced {
            counts,
            lifetime_ns: Nanoseconds(900),
            fault_time_ns: Nanoseconds(170_000),
            touched_bytes: Bytes(340 * 4096),
            ..Priced::default()
        }
    }

    #[test]
    fn what_is_sampled_has_a_width_and_what_is_counted_has_none() {
        let wide = |chance: SamplingError| -> Vec<Metric> {
            let all = TABLE.iter().map(|about| about.metric);
            all.filter(|metric| !chance.of(*metric, &found()).is_exact()).collect()
        };
        assert_eq!(
            wide(SamplingError::new(&KernelStats { faults_seen: 1700, ..KernelStats::default() }, |_| found())),
            []
        );
        let faults = [Metric::Faults, Metric::MinorFaults, Metric::FileFaults, Metric::Touched];
        assert_eq!(wide(sampled()), [&[Metric::Cost, Metric::FaultTime], &faults[..]].concat());
        assert_eq!(sampled().of(Metric::Faults, &found()).with_error(Unit::Count), "360 ± 180");
    }

    #[test]
    fn what_is_worth_more_has_more_of_it() {
        let of = |metric, counts| {
            let priced = Priced { touched_bytes: Bytes(17 << 21), ..Priced::from(counts) };
            sampled().of(metric, &priced).margin()
        };
        let small = Metrics { small_faults: 17 * 512, ..Metrics::default() };
        let huge = Metrics { huge_faults: 17, ..Metrics::default() };
        assert!(
            of(Metric::Touched, huge) > 20.0 * of(Metric::Touched, small),
            "the same bytes in 512 times fewer faults"
        );
        let (mut two, one) = (found(), sampled().of(Metric::Faults, &found()));
        two.add(&found());
        let both = sampled().of(Metric::Faults, &two);
        assert_eq!(both.value, 2.0 * one.value);
        assert!((both.margin() / one.margin() - 2f64.sqrt()).abs() < 0.1, "as squares: {one:?} {both:?}");
    }
}
