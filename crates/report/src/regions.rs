//! What each run of a region costs, as a table.

use crate::section::title_within;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::regions::{RegionRun, Spread};
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_text::format::{self, Unit};
use memtoll_text::table::Table;
use memtoll_trace::meta::MarkKind;

/// What is shown of a region's runs beside their duration, and what it is called.
const SHOWN: [(Metric, &str); 6] = [
    (Metric::Cost, "cost of memory"),
    (Metric::Allocator, "allocator"),
    (Metric::Faults, "page faults"),
    (Metric::Waiting, "waiting"),
    (Metric::Allocations, "allocations"),
    (Metric::Bytes, "bytes"),
];

/// A table for each region.
pub fn render(recording: &Recording, regions: &[memtoll_query::regions::Region], width: Option<usize>) -> String {
    if regions.is_empty() {
        let has_some = recording.images.iter().flat_map(|image| &image.marks).any(|mark| mark.kind == MarkKind::End);
        let why = match has_some {
            true => "No run of a region is wholly in that time.",
            false => {
                "The recording has no regions; set them with memtoll_region_begin and memtoll_region_end of memtoll.h."
            }
        };
        return format::wrapped("", why, width);
    }
    let tariff = Tariff::of(recording);
    let mut text = String::new();
    for region in regions.iter().map(|region| &region.found) {
        let runs = format::counted(region.runs.len() as u64, "run");
        text += &title_within(&format!("{}: {runs}", region.name), width);
        let mut table = Table::new(&["median", "p99", "worst", "of a run"]);
        let duration = |run: &RegionRun| Estimate::exact(tariff.ns(run.end.saturating_sub(run.begin) as f64));
        add(&mut table, region.runs.iter().map(duration), Unit::Time, "duration");
        for (metric, name) in SHOWN {
            let values = region.runs.iter().map(|run| tariff.estimate(metric, &run.metrics));
            add(&mut table, values, metric.about().unit, name);
        }
        text += &table.render(width);
    }
    text
}

fn add(table: &mut Table, values: impl Iterator<Item = Estimate>, unit: Unit, name: &str) {
    let spread = Spread::of(values);
    if spread.worst.value > 0.0 {
        let cells = [spread.median, spread.p99, spread.worst].map(|value| value.known(unit));
        table.add(cells.into_iter().chain([name.to_owned()]));
    }
}
