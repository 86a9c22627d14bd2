//! Threads over time, as columns.

use crate::ask::Ask;
use crate::engine::Engine;
use crate::pack::Pack;
use memtoll_analysis::lanes::lanes;
use memtoll_analysis::waits::{Single, longest};
use memtoll_query::query;
use memtoll_trace::ids::ThreadNo;
use rustc_hash::FxHashMap;
use serde_json::json;

impl Engine<'_> {
    pub(crate) fn lanes(&mut self, ask: &Ask) -> Result<Pack, String> {
        const INTERVALS: usize = 500;
        /// More threads have no room on a screen.
        const MOST: usize = 2000;
        /// The most single waits that are shown, the longest.
        const MOST_WAITS: usize = 1000;
        let basis = self.ask(ask, query::View::List { of: query::List::Marks })?.basis;
        let found = lanes(self.recording(), basis.selection.from, basis.selection.to, INTERVALS, &basis.runners);
        let mut pack = Pack::new();
        let threads = found.lanes.iter().take(MOST).map(|lane| {
            let image = &self.recording().images[lane.image];
            let thread = image.thread(lane.thread);
            let name = thread.and_then(|thread| memtoll_analysis::runners::thread_name(image, thread));
            json!({ "pid": image.about.pid, "tid": thread.map(|thread| thread.tid), "name": name })
        });
        pack.set("lanes", threads.collect::<Vec<_>>());
        pack.set("count", found.lanes.len());
        pack.set("start_ns", self.tariff().ns(found.start as f64));
        pack.set("interval_ns", self.tariff().ns(found.width));
        pack.set("sees_switches", self.tariff().sees().switches);
        pack.set("times_faults", self.tariff().times_faults());
        let lane_of: FxHashMap<(usize, Option<ThreadNo>), usize> =
            found.lanes.iter().take(MOST).enumerate().map(|(at, lane)| ((lane.image, Some(lane.thread)), at)).collect();
        let (waits, count, missing) =
            longest(self.recording(), basis.selection.from, basis.selection.to, &basis.runners, MOST_WAITS);
        pack.set("waits", count);
        // Of a thread that has no lane here, nothing can be drawn; the one that it waited for may be unknown.
        let waits: Vec<(usize, &Single)> =
            waits.iter().filter_map(|wait| lane_of.get(&(wait.image, wait.thread)).map(|lane| (*lane, wait))).collect();
        let holder = |wait: &Single| lane_of.get(&(wait.image, wait.holder)).map_or(0.0, |lane| *lane as f64 + 1.0);
        pack.column("waits.lane", &waits.iter().map(|(lane, _)| *lane as f64).collect::<Vec<f64>>());
        pack.column("waits.holder", &waits.iter().map(|(_, wait)| holder(wait)).collect::<Vec<f64>>());
        let ns = |units: u64| self.tariff().ns(units as f64);
        pack.column("waits.began", &waits.iter().map(|(_, wait)| ns(wait.began)).collect::<Vec<f64>>());
        pack.column("waits.ended", &waits.iter().map(|(_, wait)| ns(wait.ended)).collect::<Vec<f64>>());
        let damage: Vec<&String> =
            found.damage.iter().chain(missing.iter().filter(|why| !found.damage.contains(why))).collect();
        pack.set("damage", json!(damage));
        // In thousandths: a screen shows no more.
        let mut column = |name: &str, of: fn(&memtoll_analysis::lanes::Lane) -> &Vec<f64>| {
            let values = found.lanes.iter().take(MOST).flat_map(of).map(|share| (share * 1000.0).round());
            pack.column(name, &values.collect::<Vec<f64>>());
        };
        column("lanes.alive", |lane| &lane.alive);
        column("lanes.allocator", |lane| &lane.allocator);
        column("lanes.faulting", |lane| &lane.faulting);
        column("lanes.waiting", |lane| &lane.waiting);
        column("lanes.off", |lane| &lane.off);
        Ok(pack)
    }
}
