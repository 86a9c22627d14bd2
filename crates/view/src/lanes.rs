//! Threads over time, as columns.

use crate::ask::Ask;
use crate::engine::Engine;
use crate::pack::Pack;
use memtoll_analysis::lanes::lanes;
use memtoll_query::query;
use serde_json::json;

impl Engine<'_> {
    pub(crate) fn lanes(&mut self, ask: &Ask) -> Result<Pack, String> {
        const INTERVALS: usize = 500;
        /// More threads have no room on a screen.
        const MOST: usize = 2000;
        let basis = self.ask(ask, false, query::View::List { of: query::List::Marks })?.basis;
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
        pack.set("damage", json!(found.damage));
        // In thousandths: a screen shows no more.
        let mut column = |name: &str, of: fn(&memtoll_analysis::lanes::Lane) -> &Vec<f64>| {
            let values = found.lanes.iter().take(MOST).flat_map(of).map(|share| (share * 1000.0).round());
            pack.column(name, &values.collect::<Vec<f64>>());
        };
        column("lanes.alive", |lane| &lane.alive);
        column("lanes.allocator", |lane| &lane.allocator);
        column("lanes.waiting", |lane| &lane.waiting);
        column("lanes.off", |lane| &lane.off);
        Ok(pack)
    }
}
