//! Samples become a report.

use crate::about::About;
use crate::advice;
use crate::report::{
    Costs, Falls, PureTouch, Report, SCHEMA_VERSION, Spread, Unavailable, UseCosts, Uses, WayCosts, Write,
};
use crate::statistics::quantile;
use crate::ways::{Residency, Sample, Touch, Use, Way};

/// The second way to touch memory writes a byte in each of these. `kBlock` in `machine/ways`, bytes.
const BLOCK: f64 = 65536.0;
const MIB: f64 = 1048576.0;

/// To hundredths: the rest is noise, and makes the JSON long.
fn rounded(ns: f64) -> f64 {
    (ns * 100.0).round() / 100.0
}

fn spread(values: &[f64]) -> Spread {
    let at = |q| rounded(quantile(values, q).unwrap_or(0.0));
    Spread { median: at(0.5), min: at(0.0), p10: at(0.1), p90: at(0.9) }
}

/// All samples of a way.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    pub way: Way,
    /// By touch and threads: whole and sparse alone, whole and sparse in several threads.
    pub by_touch: [Vec<Sample>; 4],
    /// Why it could not be gone.
    pub refused: Option<String>,
}

impl Samples {
    pub fn of(way: Way) -> Samples {
        let refused = way.obstacle.clone();
        Samples { way, by_touch: Default::default(), refused }
    }

    pub fn place(touch: Touch, several: bool) -> usize {
        usize::from(touch == Touch::Sparse) + 2 * usize::from(several)
    }
}

pub(crate) struct Measured {
    pub machine: About,
    pub bytes: u64,
    /// Memory of all threads together: a little more than `bytes` if that cannot be shared out evenly.
    pub bytes_in_threads: u64,
    pub threads: usize,
    pub rounds: u32,
    pub seconds: f64,
    pub ways: Vec<Samples>,
}

/// The way whose second use is the pure touch.
const PURE_TOUCH: &str = "keep";

impl Measured {
    /// Sums it up. `None` if not even the pure touch could be measured.
    pub fn report(self) -> Option<Report> {
        let keep = self.ways.iter().find(|samples| samples.way.id == PURE_TOUCH && samples.refused.is_none())?;
        let pure = [0, 1, 2, 3].map(|place| {
            let scale = self.scale(place);
            let touches: Vec<f64> = keep.by_touch[place].iter().map(|sample| sample.again.touch * scale).collect();
            spread(&touches)
        });
        let (available, refused): (Vec<&Samples>, Vec<&Samples>) =
            self.ways.iter().partition(|samples| samples.refused.is_none());
        let mut ways: Vec<WayCosts> = available.iter().map(|samples| self.costs(samples, &pure)).collect();
        ways.sort_by(|a, b| {
            let key = |way: &WayCosts| way.one_thread.whole.again.above_touch_ns;
            key(a).total_cmp(&key(b))
        });
        let unavailable = refused
            .into_iter()
            .map(|samples| Unavailable {
                id: samples.way.id.clone(),
                name: samples.way.name.clone(),
                why: samples.refused.clone().unwrap_or_default(),
            })
            .collect();
        let [whole, sparse, whole_several, sparse_several] = pure;
        let mut report = Report {
            schema_version: SCHEMA_VERSION,
            machine: self.machine,
            size_bytes: self.bytes,
            threads: self.threads as u32,
            rounds: self.rounds,
            seconds: self.seconds,
            touch: PureTouch { whole, sparse, whole_several, sparse_several },
            ways,
            unavailable,
            advice: Vec::new(),
        };
        report.advice = advice::advice(&report);
        Some(report)
    }

    fn scale(&self, place: usize) -> f64 {
        if place < 2 { 1.0 } else { self.bytes as f64 / self.bytes_in_threads as f64 }
    }

    fn costs(&self, samples: &Samples, pure: &[Spread; 4]) -> WayCosts {
        let uses = |place: usize| {
            let costs = |which: fn(&Sample) -> &Use| {
                let uses: Vec<&Use> = samples.by_touch[place].iter().map(which).collect();
                let page = rustix::param::page_size() as f64;
                let touched = self.bytes as f64 / if place.is_multiple_of(2) { page } else { BLOCK };
                use_costs(&uses, self.scale(place), pure[place].median, self.bytes as f64, touched)
            };
            Uses { first: costs(|sample| &sample.first), again: costs(|sample| &sample.again) }
        };
        let resident: Vec<Residency> = samples.by_touch[0].iter().map(|sample| sample.resident).collect();
        let huge: Vec<f64> = resident.iter().map(|resident| resident.huge / self.bytes as f64).collect();
        WayCosts {
            id: samples.way.id.clone(),
            name: samples.way.name.clone(),
            resident_set_falls: falls(&resident, self.bytes as f64),
            huge_share: rounded(quantile(&huge, 0.5).unwrap_or(0.0).min(1.0)),
            one_thread: Costs { whole: uses(0), sparse: uses(1) },
            several_threads: (!samples.by_touch[2].is_empty()).then(|| Costs { whole: uses(2), sparse: uses(3) }),
        }
    }
}

fn use_costs(uses: &[&Use], scale: f64, pure_touch: f64, bytes: f64, touched: f64) -> UseCosts {
    let spread_of = |value: fn(&Use) -> f64| {
        let values: Vec<f64> = uses.iter().map(|one| value(one) * scale).collect();
        spread(&values)
    };
    let writes: Vec<f64> = uses.iter().flat_map(|one| one.writes.iter().copied()).collect();
    let write_at = |q| rounded(quantile(&writes, q).unwrap_or(0.0));
    let cpu_ns = spread_of(Use::cpu);
    let above_touch_ns = rounded(cpu_ns.median - pure_touch);
    UseCosts {
        cpu_ns,
        above_touch_ns,
        above_touch_ns_per_mib: rounded(above_touch_ns / (bytes / MIB)),
        above_touch_ns_per_page: rounded(above_touch_ns / touched),
        take_ns: spread_of(|one| one.take).median,
        touch_ns: spread_of(|one| one.touch).median,
        give_ns: spread_of(|one| one.give).median,
        wall_ns: spread_of(|one| one.wall),
        write_ns: Write { p50: write_at(0.5), p99: write_at(0.99) },
    }
}

/// What happened to the resident set in most samples.
fn falls(samples: &[Residency], bytes: f64) -> Falls {
    let median =
        |value: fn(&Residency) -> f64| quantile(&samples.iter().map(value).collect::<Vec<_>>(), 0.5).unwrap_or(0.0);
    let most = 0.9 * bytes;
    if median(|r| r.touched - r.given) < most {
        return if median(|r| r.lazy) >= most { Falls::Lazily } else { Falls::No };
    }
    if median(|r| r.in_file) >= most { Falls::MappingOnly } else { Falls::Yes }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const MILLISECOND: f64 = 1e6;

    fn sample(first: f64, again: [f64; 3], resident: Residency) -> Sample {
        let writes: Vec<f64> = (1..=100).map(f64::from).collect();
        let [take, touch, give] = again.map(|ms| ms * MILLISECOND);
        Sample {
            first: Use {
                take: 0.0,
                touch: first * MILLISECOND,
                give: 0.0,
                wall: 2.0 * first * MILLISECOND,
                writes: writes.clone(),
            },
            again: Use { take, touch, give, wall: 0.0, writes },
            resident,
        }
    }

    /// Fixed figures of a few ways, as if measured with 256 MiB.
    pub(crate) fn measured() -> Measured {
        let bytes = 256.0 * MIB;
        let way = |id: &str, name: &str, first: f64, again: [f64; 3], given: f64, lazy: f64, in_file: f64| {
            let way = Way { id: id.into(), name: name.into(), in_threads: id != "brk", obstacle: None };
            let mut samples = Samples::of(way);
            let resident = Residency {
                before: 0.0,
                touched: bytes,
                given: given * bytes,
                lazy: lazy * bytes,
                in_file: in_file * bytes,
                huge: 0.0,
            };
            for place in 0..if id == "brk" { 2 } else { 4 } {
                let shrink: f64 = [1.0, 0.05, 1.25, 0.1][place];
                for noise in [1.0, 0.9, 1.1_f64] {
                    let scaled = again.map(|ms: f64| ms * shrink * noise);
                    samples.by_touch[place].push(sample(first * shrink * noise, scaled, resident));
                }
            }
            samples
        };
        let mut hugetlb = Samples::of(Way {
            id: "hugetlb".into(),
            name: "mmap MAP_HUGETLB, munmap".into(),
            in_threads: true,
            obstacle: Some("0 huge pages are reserved".into()),
        });
        hugetlb.refused = hugetlb.way.obstacle.clone();
        let mut huge = way("huge", "MADV_HUGEPAGE, munmap", 45.0, [0.1, 42.0, 0.9], 0.0, 0.0, 0.0);
        for sample in &mut huge.by_touch[1] {
            sample.again.touch = 40.0 * MILLISECOND;
        }
        huge.by_touch[0].iter_mut().for_each(|sample| sample.resident.huge = bytes);
        Measured {
            machine: About {
                processor: "A Processor".into(),
                processors: 2,
                kernel: "Linux 6.1".into(),
                memory: 8 << 30,
                swap: 0,
                transparent_huge_pages: "madvise".into(),
            },
            bytes: bytes as u64,
            bytes_in_threads: bytes as u64,
            threads: 2,
            rounds: 3,
            seconds: 12.5,
            ways: vec![
                way("keep", "keep it", 170.0, [0.0, 20.0, 0.0], 1.0, 0.0, 0.0),
                way("free", "MADV_FREE", 170.0, [0.0, 34.0, 6.0], 1.0, 1.0, 0.0),
                way("cold", "MADV_COLD", 170.0, [0.0, 25.0, 20.0], 1.0, 0.0, 0.0),
                way("dontneed", "MADV_DONTNEED", 170.0, [0.0, 165.0, 18.0], 0.0, 0.0, 0.0),
                way("mmap", "mmap, munmap", 170.0, [0.0, 162.0, 18.0], 0.0, 0.0, 0.0),
                way("madvise-populate", "MADV_POPULATE_WRITE, munmap", 140.0, [100.0, 20.0, 18.0], 0.0, 0.0, 0.0),
                huge,
                hugetlb,
                way("memfd", "new memfd, closed", 260.0, [0.0, 230.0, 30.0], 0.0, 0.0, 0.0),
                way("memfd-unmap", "kept memfd, mmap, munmap", 240.0, [0.0, 120.0, 10.0], 0.0, 0.0, 1.0),
                way("brk", "brk up and down", 160.0, [0.0, 150.0, 16.0], 0.0, 0.0, 0.0),
                way("malloc-small", "malloc, free: 64 KiB blocks", 160.0, [10.0, 140.0, 19.0], 0.0, 0.0, 0.0),
                way("malloc-untrimmed", "malloc, free: never trimmed", 160.0, [0.4, 20.0, 1.6], 1.0, 0.0, 0.0),
            ],
        }
    }

    pub(crate) fn report() -> Report {
        measured().report().unwrap()
    }

    pub(crate) fn find<'a>(report: &'a Report, id: &str) -> &'a WayCosts {
        report.ways.iter().find(|way| way.id == id).unwrap()
    }

    #[test]
    fn medians_less_the_pure_touch() {
        let report = report();
        assert_eq!(report.touch.whole.median, 20.0 * MILLISECOND);
        assert_eq!(report.touch.whole_several.median, 25.0 * MILLISECOND);
        let again = &find(&report, "mmap").one_thread.whole.again;
        assert_eq!(again.cpu_ns.median, 180.0 * MILLISECOND);
        assert_eq!(again.cpu_ns.min, 162.0 * MILLISECOND);
        assert_eq!(again.above_touch_ns, 160.0 * MILLISECOND);
        assert_eq!(again.above_touch_ns_per_mib, 0.625 * MILLISECOND);
        assert_eq!(again.above_touch_ns_per_page, 2441.41);
        assert_eq!(again.give_ns, 18.0 * MILLISECOND);
        assert_eq!(again.write_ns.p50, 50.5);
        assert_eq!(again.write_ns.p99, 99.01);
        assert!((again.cpu_ns.relative() - 0.08).abs() < 1e-9, "{}", again.cpu_ns.relative());
        let sparse = &find(&report, "mmap").one_thread.sparse.again;
        assert!((sparse.above_touch_ns - 8.0 * MILLISECOND).abs() < 1.0);
        assert!((sparse.above_touch_ns_per_page - 8.0 * MILLISECOND / 4096.0).abs() < 1.0, "one page in each 64 KiB");
        assert!(find(&report, "brk").several_threads.is_none());
    }

    #[test]
    fn memory_that_is_not_shared_out_evenly_is_scaled() {
        let mut uneven = measured();
        uneven.bytes_in_threads = 2 * uneven.bytes;
        let report = uneven.report().unwrap();
        assert_eq!(report.touch.whole_several.median, 12.5 * MILLISECOND);
        let again = &find(&report, "mmap").several_threads.as_ref().unwrap().whole.again;
        assert_eq!(again.cpu_ns.median, 180.0 * 1.25 / 2.0 * MILLISECOND);
    }

    #[test]
    fn what_becomes_of_the_resident_set() {
        let report = report();
        for (id, expected) in [
            ("keep", Falls::No),
            ("free", Falls::Lazily),
            ("cold", Falls::No),
            ("dontneed", Falls::Yes),
            ("memfd", Falls::Yes),
            ("memfd-unmap", Falls::MappingOnly),
        ] {
            assert_eq!(find(&report, id).resident_set_falls, expected, "{id}");
        }
        assert_eq!(find(&report, "huge").huge_share, 1.0);
    }

    #[test]
    fn the_cheapest_way_is_first_and_none_is_lost() {
        let report = report();
        assert_eq!(report.ways[0].id, "keep");
        assert!(report.ways.is_sorted_by(|a, b| {
            a.one_thread.whole.again.above_touch_ns <= b.one_thread.whole.again.above_touch_ns
        }));
        assert_eq!(report.unavailable.len(), 1);
        assert_eq!(report.unavailable[0].why, "0 huge pages are reserved");
        assert_eq!(report.ways.len() + report.unavailable.len(), measured().ways.len());
    }

    #[test]
    fn without_the_pure_touch_there_is_no_report() {
        let mut nothing = measured();
        nothing.ways[0].refused = Some("mmap: out of memory".into());
        assert!(nothing.report().is_none());
    }

    #[test]
    fn json_can_be_read_again() {
        let report = report();
        let json = report.json();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
        assert!(json.contains(r#""resident_set_falls": "mapping_only""#));
    }
}
