//! What happens when: live bytes, allocations and page faults in intervals as narrow as a screen shows, and the marks and
//! regions of that time.

use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{
    ActivityColumns, ActivityPack, FaultColumns, MarkColumns, RegionColumns, RegionSpread, ResidentColumns,
};
use crate::recordings::Recordings;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::regions::{Spread, runs};
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_query::{Query, Shown};
use memtoll_trace::meta::MarkKind;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Marks and runs of regions at the most; there is no room for more.
const MOST_MARKS: usize = 2000;

/// Marks and runs of regions.
struct Marked {
    mark_names: Vec<String>,
    region_names: Vec<String>,
    marks: MarkColumns,
    regions: RegionColumns,
    left_out: usize,
    region_count: usize,
    spreads: Vec<RegionSpread>,
}

impl Recordings<'_> {
    /// What happens in the time that is selected.
    pub(crate) fn activity(&self, query: &Query) -> Result<Pack, NoAnswer> {
        let answer = self.ask(query)?;
        let Shown::Activity(activity) = &answer.shown else { return Err(NoAnswer::Lacks("activity")) };
        let selection = answer.basis.selection;
        let marked = self.marks(selection.from.0, selection.to.0, &answer.basis.thread_filter);
        let mut pack = Pack::new(&ActivityPack {
            start_ns: activity.start_ns,
            interval_ns: activity.interval_ns,
            sees_live: activity.live_bytes.is_some(),
            damage: answer.missing.clone(),
            marks: marked.mark_names,
            regions: marked.region_names,
            left_out: marked.left_out,
            region_count: marked.region_count,
            spreads: marked.spreads,
        });
        let column = |values: &[u64]| values.iter().map(|value| *value as f64).collect::<Vec<f64>>();
        let none = vec![0; activity.allocations.len()];
        let (live, allocations) =
            (column(activity.live_bytes.as_deref().unwrap_or(&none)), column(&activity.allocations));
        pack.columns("activity", &ActivityColumns { live, allocations });
        if let Some(faults) = &activity.faults {
            pack.columns("activity", &FaultColumns { faults: column(faults) });
        }
        if let Some(resident) = &activity.resident_bytes {
            let resident = resident.iter().map(|bytes| bytes.map_or(f64::NAN, |bytes| bytes as f64)).collect();
            pack.columns("activity", &ResidentColumns { resident });
        }
        pack.columns("marks", &marked.marks);
        pack.columns("regions", &marked.regions);
        Ok(pack)
    }

    /// Marks and runs of regions between two times, units: of too many, the longest runs, and marks evenly thinned out.
    fn marks(&self, from: u64, to: u64, thread_filter: &ThreadFilter) -> Marked {
        let ns = |units: u64| self.tariff.ns(units as f64);
        let mut instants = Vec::new();
        let mut regions = Vec::new();
        for (index, image) in self.recording().images.iter().enumerate() {
            let Some(threads) = thread_filter.of(index) else { continue };
            let marks = image.marks.iter().filter(|mark| mark.kind == MarkKind::Instant && threads.admit(mark.thread));
            instants.extend(marks.filter(|mark| (from..=to).contains(&mark.time)));
            let all = runs(image).into_iter().filter(|(begin, _)| threads.admit(begin.thread));
            regions.extend(all.filter(|(begin, end)| begin.time <= to && end.time >= from));
        }
        let region_count = regions.len();
        let spreads = spreads(regions.iter().map(|(begin, end)| (begin.name.as_str(), ns(end.time) - ns(begin.time))));
        let left_out = instants.len().saturating_sub(MOST_MARKS) + regions.len().saturating_sub(MOST_MARKS);
        instants.sort_by_key(|mark| mark.time);
        let instants = thinned(&instants, MOST_MARKS);
        regions.sort_by_key(|(begin, end)| (Reverse(end.time.saturating_sub(begin.time)), begin.time));
        regions.truncate(MOST_MARKS);
        regions.sort_by_key(|(begin, end)| (begin.time, Reverse(end.time)));
        Marked {
            mark_names: instants.iter().map(|mark| mark.name.clone()).collect(),
            region_names: regions.iter().map(|(begin, _)| begin.name.clone()).collect(),
            marks: MarkColumns { at: instants.iter().map(|mark| ns(mark.time)).collect() },
            regions: RegionColumns {
                begin: regions.iter().map(|(begin, _)| ns(begin.time)).collect(),
                end: regions.iter().map(|(_, end)| ns(end.time)).collect(),
            },
            left_out,
            region_count,
            spreads,
        }
    }
}

/// How long runs of regions took, by name.
fn spreads<'a>(runs: impl Iterator<Item = (&'a str, f64)>) -> Vec<RegionSpread> {
    let mut lengths: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    runs.for_each(|(name, ns)| lengths.entry(name).or_default().push(ns));
    let spread = |(name, lengths): (&str, Vec<f64>)| {
        let Spread { median, p99, worst } = Spread::of(lengths.iter().map(|ns| Estimate::exact(*ns)));
        RegionSpread {
            name: name.to_owned(),
            count: lengths.len(),
            median_ns: median.value,
            p99_ns: p99.value,
            worst_ns: worst.value,
            total_ns: lengths.iter().sum(),
        }
    };
    lengths.into_iter().map(spread).collect()
}

/// At most `most`, evenly chosen.
fn thinned<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    if all.len() <= most {
        return all.to_vec();
    }
    (0..most).map(|number| all[number * all.len() / most]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_a_region_is_that_of_all_its_runs() {
        let runs = (1..=200).map(|ns| ("frame", f64::from(ns))).chain([("load", 7.0)]);
        let found = spreads(runs);
        let of = |of: &RegionSpread| (of.name.clone(), of.count, of.median_ns, of.p99_ns, of.worst_ns, of.total_ns);
        assert_eq!(of(&found[0]), ("frame".to_owned(), 200, 100.0, 198.0, 200.0, 20_100.0));
        assert_eq!(of(&found[1]), ("load".to_owned(), 1, 7.0, 7.0, 7.0, 7.0));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn of_too_many_marks_some_from_all_over_are_left() {
        let all: Vec<usize> = (0..10).collect();
        assert_eq!(thinned(&all, 20), all);
        assert_eq!(thinned(&all, 4), [0, 2, 5, 7]);
        assert_eq!(thinned(&all, 0), [0; 0]);
    }
}
