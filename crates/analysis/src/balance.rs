//! The balance of a recording, or of one process: where the CPU time and the page faults went. Parts, the
//! recorder's share and the unexplained rest add up to what the kernel counted. Each is an estimate with an interval; where
//! the parts are more than the whole, the rest is less than nothing, and its interval says whether that is chance.
//!
//! The kernel counts processes as a whole. Of a part of a recording, a span of time or blocks of some size, there is no
//! such count and no share of the recorder: only what is known of the part itself. Of a span, that is also the processor
//! time, from when threads had the processor.

use crate::calibration::{self, Figure};
use crate::costs::CostEstimates;
use crate::estimate::Estimate;
use crate::metric::Metric;
use crate::priced::Priced;
use crate::processor::{ImageOrThread, ProcessorTimes};
use crate::sums::Sums;
use crate::tariff::Tariff;
use crate::uncharged_faults::{HeapAndOtherFaults, UnchargedFaults};
use memtoll_model::Recording;
use memtoll_trace::costs::Uncharged;
use memtoll_trace::meta::{KernelStats, RecorderStats, Usage};
use memtoll_trace::metrics::Metrics;
use rustc_hash::{FxHashMap, FxHashSet};

/// For how long the program waits for what the recorder pushed out of its caches, as a share of the recorder's time, in the
/// programs where that was most; and as a share of the program's own work. Of 22 programs, some hardly waited.
const MOST_IN_CACHES: f64 = 1.25;
const MOST_OF_THE_REST: f64 = 0.42;
/// How much of the most programs waited, in the middle: with none of it, what a recording says the program takes was 8 % above
/// what a calibrated one of the same round says, and with half of it 10 % below (medians of these programs, on two days).
const USUALLY: f64 = 0.25;

/// How far the CPU time of one run is from what the program takes in the mean, as a share of it, in 95 of 100 runs. Plain
/// runs of 22 programs on a virtual machine had standard deviations of 1 to 28 %, 7 % in the middle. With this, 63 of 66
/// intervals of check-costs hold what plain runs take.
const RUNS_DIFFER: f64 = 0.15;

/// Page faults by what the pages were.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Faults {
    /// What the kernel counted, minor and major; `None` if it did not say, or of a part of a recording.
    pub counted: Option<u64>,
    /// Those that are charged to no site.
    pub uncharged: UnchargedFaults,
    /// Major faults that are charged to no call site: counted among the others, too.
    pub major: u64,
    /// Counted by the kernel, but not shown: inside system calls, or on its own account.
    pub unseen: u64,
    /// Counted by the kernel, but their records were lost, so their pages are unknown. An upper limit for one of several processes.
    pub lost: u64,
    /// Standard error of what was seen: not 0 where faults were sampled.
    pub error: f64,
}

impl Faults {
    /// Those that are charged to no site.
    pub fn other(&self) -> u64 {
        [self.uncharged.all(), self.unseen, self.lost].into_iter().fold(0, u64::saturating_add)
    }

    /// Those without a record: they may belong to any block.
    pub fn not_shown(&self) -> u64 {
        self.unseen.saturating_add(self.lost)
    }
}

/// Where CPU time went, ns.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Balance {
    /// What the kernel counted, with the recorder; of a span of time, what is known of its threads. `None` if the kernel did
    /// not say, or of blocks of some size, or of an instant. Users see shares of [`Balance::program`].
    pub processor: Option<f64>,
    /// CPU time without the recorder, measured by plain runs; `None` without them, and for a part of the recording. It replaces the
    /// recorded CPU time, and the recorder has no share in it.
    pub plain: Option<Estimate>,
    /// What call sites are charged with.
    pub charged: CostEstimates,
    /// Faults that are charged to no site, the recorder's aside, at the price of others. Those that were not seen may be part
    /// of calls whose time is counted already.
    pub other_faults: Estimate,
    /// The variance of that by chance, ns squared: of spans, it adds up.
    pub other_faults_variance: f64,
    /// What the recorder takes: its own work in the program, with its faults, and the program's waits for what it pushed out
    /// of the caches. `None` of a part of a recording.
    pub recorder: Option<Estimate>,
    pub faults: Faults,
}

impl Balance {
    /// Of the whole recording, or of the part of it that was added up.
    pub fn of_all(recording: &Recording, sums: &Sums) -> Balance {
        let mut beside = HeapAndOtherFaults::default();
        sums.images.iter().for_each(|image| beside.add(&image.beside));
        let some = (!sums.thread_filter.are_all()).then(|| of_some(recording, sums));
        let whole = match &some {
            None => Whole {
                recorder: &recording.recorder,
                kernel: &recording.kernel,
                usage: recording.end.as_ref().and_then(|end| end.usage),
            },
            Some((recorder, kernel)) => Whole { recorder, kernel, usage: kernel.usage },
        };
        let whole = (!sums.is_part()).then_some(whole);
        let is_all = whole.is_some() && some.is_none();
        let recorded = of(recording, &sums.total, &beside, whole, sums.processor.as_ref().map(ProcessorTimes::total));
        let plain = recording.calibration.as_ref().filter(|_| is_all);
        match plain.and_then(|calibration| calibration::plain(calibration).of(Figure::Processor)) {
            None => recorded,
            Some(plain) => Balance {
                processor: Some(plain.mean),
                plain: Some(plain.estimate()),
                recorder: Some(Estimate::default()),
                ..recorded
            },
        }
    }

    /// Of one process image, number `index` of the sums.
    pub fn of_image(recording: &Recording, sums: &Sums, index: usize) -> Option<Balance> {
        let (image_sums, image) = (sums.images.get(index)?, recording.images.get(index)?);
        // What the kernel counts is about the process, with all images that ran in it.
        let usage = image.end.as_ref().and_then(|end| end.kernel.usage).filter(|_| !image.shares_process);
        let nothing = (RecorderStats::default(), KernelStats::default());
        let (recorder, kernel) =
            image.end.as_ref().map_or((&nothing.0, &nothing.1), |end| (&end.recorder, &end.kernel));
        let whole = (!sums.is_part()).then_some(Whole { recorder, kernel, usage });
        let runner = ImageOrThread { image: index, thread: None };
        let span = sums.processor.as_ref().and_then(|times| times.of(runner));
        Some(of(recording, &image_sums.total, &image_sums.beside, whole, span))
    }

    /// CPU time of the program without the recorder, ns: what plain runs took or, of one recorded run, what the kernel
    /// counted less the recorder's own work. Of a part of a recording, nothing says how much that is, and this contains it.
    pub fn program(&self) -> Option<Estimate> {
        self.program_or_zero().filter(|program| program.value > 0.0)
    }

    /// The same, also where the program does not run.
    pub fn program_or_zero(&self) -> Option<Estimate> {
        let recorded = || Some(Estimate::exact(self.processor?).minus(self.recorder.unwrap_or_default()));
        self.plain.or_else(recorded)
    }

    /// What memory costs of the CPU time, ns.
    pub fn explained(&self) -> Estimate {
        self.charged.processor().plus(self.other_faults)
    }

    /// CPU time that is explained by nothing above: the program's own work. ns.
    ///
    /// Of one recorded run, it errs as much as runs differ.
    pub fn rest(&self) -> Option<Estimate> {
        let recorder = self.recorder?;
        let recorded = Estimate::exact(self.processor?);
        let processor =
            self.plain.unwrap_or(recorded.give_or_take((recorded.value - recorder.value).abs() * RUNS_DIFFER));
        Some(processor.minus(self.explained()).minus(recorder))
    }

    /// With the program's waits for what the recorder pushed out of the caches, which are no time in the recorder's code.
    /// Without calibrating runs, nothing says how long they were: as long as usual, and between nothing and the most that they
    /// were in programs that were measured.
    fn with_caches(self) -> Balance {
        let (Some(recorder), Some(rest)) = (self.recorder, self.rest()) else { return self };
        let most = (recorder.value * MOST_IN_CACHES).min(rest.value * MOST_OF_THE_REST).max(0.0);
        let in_caches = Estimate { value: most * USUALLY, low: 0.0, high: most };
        Balance { recorder: Some(recorder.plus(in_caches)), ..self }
    }
}

/// What was counted of the images that count, together. The kernel counts processes, with all images that ran in them:
/// where some of a process's images are left out, or something is not known, there is no usage.
fn of_some(recording: &Recording, sums: &Sums) -> (RecorderStats, KernelStats) {
    let (mut recorder, mut kernel) = (RecorderStats::default(), KernelStats::default());
    let mut processes: FxHashMap<usize, Option<Usage>> = FxHashMap::default();
    // In the order of their beginnings: a process's last image knows most.
    for (index, image) in recording.images.iter().enumerate() {
        let Some(end) = image.end.as_ref().filter(|_| sums.images[index].counts) else {
            if image.shares_process || sums.images[index].counts {
                processes.insert(image.process, None);
            }
            continue;
        };
        recorder.add(&end.recorder);
        kernel.add(&end.kernel);
        match processes.get_mut(&image.process) {
            Some(usage) => *usage = usage.and(end.kernel.usage),
            None => drop(processes.insert(image.process, end.kernel.usage)),
        }
    }
    let counted = sums.counted().map(|(index, _)| recording.images[index].process).collect::<FxHashSet<usize>>();
    let mut usage = Some(Usage::default());
    for process in counted {
        match (&mut usage, processes.get(&process).copied().flatten()) {
            (Some(sum), Some(of_process)) => sum.add(&of_process),
            _ => usage = None,
        }
    }
    kernel.usage = usage;
    (recorder, kernel)
}

/// What is known only of images from their beginnings to their ends.
struct Whole<'a> {
    recorder: &'a RecorderStats,
    kernel: &'a KernelStats,
    usage: Option<Usage>,
}

/// `span`: CPU time of a span, units.
fn of(
    recording: &Recording,
    total: &Priced,
    beside: &HeapAndOtherFaults,
    whole: Option<Whole>,
    span: Option<u64>,
) -> Balance {
    let tariff = Tariff::of(recording);
    let usage = whole.as_ref().and_then(|whole| whole.usage);
    let counted = usage.map(|usage| usage.minor_faults.saturating_add(usage.major_faults));
    let (seen, samples, filled) = whole
        .as_ref()
        .map_or((0, 0, 0), |Whole { kernel, .. }| (kernel.faults_seen, kernel.fault_samples, kernel.filled_faults));
    let unseen = counted.map_or(0, |counted| counted.saturating_sub(seen));
    // What the recorder fills at once, the kernel does not show either.
    let recorders = whole.as_ref().map_or(0, |whole| whole.recorder.filled_faults).min(unseen);
    let lost = recording.end.as_ref().map_or(0, |end| end.kernel.lost_faults).min(unseen - recorders);
    let own = whole.as_ref().map_or(0, |whole| whole.recorder.own_time);
    let mut uncharged = beside.uncharged;
    uncharged.add(Uncharged::Recorder, recorders);
    let faults = Faults {
        counted,
        uncharged,
        major: usage.map_or(0, |usage| usage.major_faults.saturating_sub(total.major_faults)),
        unseen: unseen - recorders - lost,
        lost,
        error: beside.variance.sqrt(),
    };
    let price = tariff.faults().other;
    let processor = usage.map(|usage| usage.user_ns as f64 + usage.system_ns as f64);
    let processor = processor.or(span.map(|units| tariff.ns(units as f64)));
    // Faults that the kernel did not show can be part of a call whose time is counted already: mmap with MAP_POPULATE, which
    // is known, or the like inside the allocator.
    let others =
        faults.other().saturating_sub(faults.uncharged.of(Uncharged::Recorder)).saturating_sub(faults.not_shown());
    let shown = others as f64 * price;
    // They cost what those of files do.
    let others = tariff.price(&Metrics { file_faults: others, ..Metrics::default() });
    let chance = tariff.by_chance(Metric::FaultTime, &others);
    let other_faults_variance = tariff.variance(Metric::FaultTime, &others);
    let unseen = Estimate::within(faults.unseen.saturating_sub(filled) as f64 * price, 1.0, 0.0);
    // The same faults are what the call sites may lack.
    let lost = Estimate::within(faults.lost as f64 * price, 1.0, 0.0);
    let other_faults = tariff.seen_faults(shown).with_error_of(chance).plus(unseen).plus(lost);
    let recorder = whole.map(|whole| {
        let sampled = samples as f64 * tariff.faults().sample;
        // What counting adds to the recorder's own faults is in the samples of these.
        let counted = seen.saturating_sub(beside.uncharged.of(Uncharged::Recorder)) as f64 * tariff.faults().counting;
        let priced = tariff.seen_faults(faults.uncharged.of(Uncharged::Recorder) as f64 * price);
        let in_kernel = tariff.recorder_in_kernel(whole.kernel.running.recorder_in_kernel, priced);
        let on_faults = tariff.seen_faults(
            sampled + counted + tariff.slowed(total.costs().faults - tariff.huge_faults(total).value + shown),
        );
        let recorder =
            tariff.recorder(own).plus(in_kernel).plus(on_faults).plus(tariff.looks(whole.kernel.running.all()));
        recorder.minus(tariff.hidden(total.counts.timed_calls))
    });
    let balance = Balance {
        processor,
        plain: None,
        charged: tariff.estimates(total),
        other_faults,
        other_faults_variance,
        recorder,
        faults,
    };
    balance.with_caches()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::sums_of;
    use crate::testing::golden;
    use crate::thread_filter::ThreadFilter;
    use memtoll_tally::Selection;

    /// 1,000 ns, of which the recorder took a part, and the program's own work is the rest.
    fn balance(recorder: f64) -> Balance {
        let recorder = Some(Estimate::exact(recorder));
        Balance { processor: Some(1000.0), recorder, ..Balance::default() }.with_caches()
    }

    #[test]
    fn what_the_recorder_pushed_out_of_the_caches_is_its_own() {
        let found = balance(100.0);
        assert_eq!(found.recorder, Some(Estimate { value: 131.25, low: 100.0, high: 225.0 }));
        let (program, rest) = (found.program().unwrap(), found.rest().unwrap());
        assert_eq!((program.value, rest.value), (868.75, 868.75));
        assert!(rest.low < 775.0 && rest.high > 900.0, "{rest:?}");
    }

    #[test]
    fn a_program_waits_for_no_more_than_a_part_of_its_own_work() {
        assert_eq!(balance(500.0).recorder.map(|time| time.value), Some(500.0 + 500.0 * MOST_OF_THE_REST * USUALLY));
        assert_eq!(balance(1100.0).recorder, Some(Estimate::exact(1100.0)), "nothing is left of its own");
        assert_eq!(Balance { recorder: None, ..balance(0.0) }.with_caches().recorder, None);
    }

    #[test]
    fn processes_with_one_id_are_added_up() {
        let mut recording = golden("forks");
        let processor = |recording: &Recording| {
            let filter = ThreadFilter::images(recording, |_| true);
            let sums = sums_of(recording, Selection::default(), filter);
            of_some(recording, &sums).1.usage.map(|usage| usage.user_ns + usage.system_ns)
        };
        let expected = processor(&recording);
        assert!(expected.is_some_and(|ns| ns > 0));
        recording.images.iter_mut().for_each(|image| image.about.pid = 7);
        assert_eq!(processor(&recording), expected);
    }
}
