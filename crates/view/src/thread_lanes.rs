//! Threads over time, as columns.

use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{LaneColumns, LanesPack, WaitColumns};
use crate::recordings::Recordings;
use memtoll_analysis::lanes::Lane;
use memtoll_analysis::processor::ImageOrThread;
use memtoll_analysis::waits::{Single, longest};
use memtoll_query::lanes::Lanes;
use memtoll_query::{Query, Shown};
use memtoll_trace::ids::ThreadNo;
use rustc_hash::FxHashMap;

impl Recordings<'_> {
    pub(crate) fn lanes(&self, query: &Query) -> Result<Pack, NoAnswer> {
        /// More threads have no room on a screen.
        const MOST: usize = 2000;
        /// The most single waits that are shown, the longest.
        const MOST_WAITS: usize = 1000;
        let answer = self.ask(query)?;
        let Shown::Lanes(Lanes { found, .. }) = answer.shown else {
            return Err(NoAnswer::Lacks("lanes"));
        };
        let basis = answer.basis;
        let of = |lane: &Lane| ImageOrThread { image: lane.image, thread: Some(lane.thread) };
        let threads = found.lanes.iter().take(MOST).map(|lane| self.thread(of(lane)));
        let threads = threads.collect();
        let lane_of: FxHashMap<(usize, Option<ThreadNo>), usize> =
            found.lanes.iter().take(MOST).enumerate().map(|(at, lane)| ((lane.image, Some(lane.thread)), at)).collect();
        let (waits, count, missing) =
            longest(self.recording(), basis.selection.from.0, basis.selection.to.0, &basis.thread_filter, MOST_WAITS);
        // Of a thread that has no lane here, nothing can be drawn; the one that it waited for may be unknown.
        let waits: Vec<(usize, &Single)> =
            waits.iter().filter_map(|wait| lane_of.get(&(wait.image, wait.thread)).map(|lane| (*lane, wait))).collect();
        let holder = |wait: &Single| lane_of.get(&(wait.image, wait.holder)).map_or(0.0, |lane| *lane as f64 + 1.0);
        let ns = |units: u64| self.tariff.ns(units as f64);
        let damage = found.damage.iter().chain(missing.iter().filter(|why| !found.damage.contains(why)));
        let mut pack = Pack::new(&LanesPack {
            lanes: threads,
            count: found.lanes.len(),
            start_ns: self.tariff.ns(found.start as f64),
            interval_ns: self.tariff.ns(found.width),
            sees_switches: self.tariff.sees().switches,
            times_faults: self.tariff.times_faults(),
            waits: count,
            damage: damage.cloned().collect(),
        });
        pack.columns(
            "waits",
            &WaitColumns {
                lane: waits.iter().map(|(lane, _)| *lane as f64).collect(),
                holder: waits.iter().map(|(_, wait)| holder(wait)).collect(),
                began: waits.iter().map(|(_, wait)| ns(wait.began)).collect(),
                ended: waits.iter().map(|(_, wait)| ns(wait.ended)).collect(),
            },
        );
        // In thousandths: a screen shows no more.
        let column = |of: fn(&Lane) -> &Vec<f64>| {
            found.lanes.iter().take(MOST).flat_map(of).map(|share| (share * 1000.0).round()).collect()
        };
        pack.columns(
            "lanes",
            &LaneColumns {
                alive: column(|lane| &lane.alive),
                allocator: column(|lane| &lane.allocator),
                faulting: column(|lane| &lane.faulting),
                waiting: column(|lane| &lane.waiting),
                off: column(|lane| &lane.off),
            },
        );
        Ok(pack)
    }
}
