//! What each run of a region costs, as a table.

use crate::section::title_within;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::regions::{RegionRun, Spread};
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_text::format;
use memtoll_text::table::Table;
use memtoll_trace::meta::MarkKind;

/// Something that is shown of a region's runs.
struct Quantity {
    name: &'static str,
    show: fn(Estimate) -> String,
    of: fn(&RegionRun, &Tariff) -> Estimate,
}

fn exact(number: u64) -> Estimate {
    Estimate::exact(number as f64)
}

fn quantities() -> [Quantity; 7] {
    let seconds: fn(Estimate) -> String = Estimate::known_time;
    let count: fn(Estimate) -> String = |count| format::count(count.value as u64);
    let bytes: fn(Estimate) -> String = |bytes| format::bytes(bytes.value as u64);
    [
        Quantity {
            name: "duration",
            show: seconds,
            of: |run, tariff| Estimate::exact(tariff.ns(run.end.saturating_sub(run.begin) as f64)),
        },
        Quantity { name: "cost of memory", show: seconds, of: |run, tariff| tariff.estimates(&run.metrics).total() },
        Quantity { name: "allocator", show: seconds, of: |run, tariff| tariff.estimates(&run.metrics).allocator },
        Quantity { name: "page faults", show: count, of: |run, _| exact(run.metrics.faults()) },
        Quantity { name: "waiting", show: seconds, of: |run, tariff| tariff.estimates(&run.metrics).waiting },
        Quantity { name: "allocations", show: count, of: |run, _| exact(run.metrics.allocations()) },
        Quantity { name: "bytes", show: bytes, of: |run, _| exact(run.metrics.bytes) },
    ]
}

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
        for Quantity { name, show, of } in quantities() {
            let spread = Spread::of(region.runs.iter().map(|run| of(run, &tariff)));
            if spread.worst.value > 0.0 {
                let cells = [spread.median, spread.p99, spread.worst].map(show);
                table.add(cells.into_iter().chain([name.to_owned()]));
            }
        }
        text += &table.render(width);
    }
    text
}
