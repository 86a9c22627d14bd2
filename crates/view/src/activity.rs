//! What happens when: live bytes, allocations and page faults in intervals as narrow as a screen shows, and the marks and
//! regions of that time.

use crate::ask::Ask;
use crate::engine::Engine;
use crate::pack::Pack;
use memtoll_analysis::regions::runs;
use memtoll_analysis::runners::Runners;
use memtoll_query::{Shown, query};
use memtoll_trace::meta::MarkKind;
use serde_json::json;
use std::cmp::Reverse;

/// Intervals at the most. They are half as many at the least, and a screen shows half of them.
const INTERVALS: usize = 4096;

/// Marks and runs of regions at the most; there is no room for more.
const MOST_MARKS: usize = 2000;

impl Engine<'_> {
    /// What happens in the time that is selected.
    pub(crate) fn activity(&self, ask: &Ask) -> Result<Pack, String> {
        let answer = self.ask(ask, query::View::Activity { intervals: INTERVALS })?;
        let Shown::Activity(activity) = &answer.shown else { return Err("the answer is of something else".to_owned()) };
        let mut pack = Pack::new();
        pack.set("start_ns", activity.start_ns);
        pack.set("interval_ns", activity.interval_ns);
        pack.set("damage", json!(answer.missing));
        let mut column = |name: &str, values: &[u64]| {
            pack.column(name, &values.iter().map(|value| *value as f64).collect::<Vec<f64>>());
        };
        column("activity.live", &activity.live_bytes);
        column("activity.allocations", &activity.allocations);
        if let Some(faults) = &activity.faults {
            column("activity.faults", faults);
        }
        let selection = answer.basis.selection;
        self.marks(selection.from, selection.to, &answer.basis.runners, &mut pack);
        Ok(pack)
    }

    /// Marks and runs of regions between two times, units: of too many, the longest runs, and marks evenly thinned out.
    fn marks(&self, from: u64, to: u64, runners: &Runners, pack: &mut Pack) {
        let ns = |units: u64| self.tariff().ns(units as f64);
        let mut instants = Vec::new();
        let mut regions = Vec::new();
        for (index, image) in self.recording().images.iter().enumerate() {
            let Some(threads) = runners.of(index) else { continue };
            let marks = image.marks.iter().filter(|mark| mark.kind == MarkKind::Instant && threads.admit(mark.thread));
            instants.extend(marks.filter(|mark| (from..=to).contains(&mark.time)));
            let all = runs(image).into_iter().filter(|(begin, _)| threads.admit(begin.thread));
            regions.extend(all.filter(|(begin, end)| begin.time <= to && end.time >= from));
        }
        let region_count = regions.len();
        let left_out = instants.len().saturating_sub(MOST_MARKS) + regions.len().saturating_sub(MOST_MARKS);
        instants.sort_by_key(|mark| mark.time);
        let instants = thinned(&instants, MOST_MARKS);
        regions.sort_by_key(|(begin, end)| (Reverse(end.time.saturating_sub(begin.time)), begin.time));
        regions.truncate(MOST_MARKS);
        regions.sort_by_key(|(begin, end)| (begin.time, Reverse(end.time)));
        let mut column = |name: &str, values: Vec<f64>| pack.column(name, &values);
        column("marks.at", instants.iter().map(|mark| ns(mark.time)).collect());
        column("regions.begin", regions.iter().map(|(begin, _)| ns(begin.time)).collect());
        column("regions.end", regions.iter().map(|(_, end)| ns(end.time)).collect());
        pack.set("marks", json!(instants.iter().map(|mark| &mark.name).collect::<Vec<_>>()));
        pack.set("regions", json!(regions.iter().map(|(begin, _)| &begin.name).collect::<Vec<_>>()));
        pack.set("left_out", left_out);
        pack.set("region_count", region_count);
    }
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
    fn of_too_many_marks_some_from_all_over_are_left() {
        let all: Vec<usize> = (0..10).collect();
        assert_eq!(thinned(&all, 20), all);
        assert_eq!(thinned(&all, 4), [0, 2, 5, 7]);
        assert_eq!(thinned(&all, 0), [0; 0]);
    }
}
