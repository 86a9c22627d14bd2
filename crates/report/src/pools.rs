//! The program's own pools: how much of their chunks is handed out, and by how many lines.

use crate::section::{Limits, title};
use memtoll_analysis::sums::Sums;
use memtoll_model::{Recording, StackId};
use memtoll_text::format;
use memtoll_text::table::Table;
use memtoll_trace::meta::Pool;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// What is known of the pools with one name in all processes.
#[derive(Default)]
struct OfName<'a> {
    about: Pool,
    /// The process whose pools were fullest.
    fullest: Option<&'a Pool>,
    stacks: FxHashSet<StackId>,
}

/// The pools with most blocks; nothing if there is none, or if the report is about a part of the recording.
pub(crate) fn section(recording: &Recording, sums: &Sums, limits: Limits) -> String {
    if sums.selection.is_part() || recording.images.iter().all(|image| image.pools.is_empty()) {
        return String::new();
    }
    let mut by_name: BTreeMap<&str, OfName> = BTreeMap::new();
    for image in &recording.images {
        for pool in &image.pools {
            let sum = by_name.entry(&pool.name).or_default();
            sum.about.begun += pool.begun;
            sum.about.blocks += pool.blocks;
            sum.about.bytes += pool.bytes;
            sum.about.dropped += pool.dropped;
            sum.fullest = sum.fullest.into_iter().chain([pool]).max_by_key(|pool| pool.peak_bytes);
            sum.stacks.extend(pool.nodes.iter().map(|node| image.node(Some(*node))));
        }
    }
    let mut pools: Vec<_> = by_name.into_iter().collect();
    pools.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.about.blocks));
    let mut rows = Table::new(&["blocks", "bytes", "at most", "of", "used", "chunks", "dropped", "pool"]);
    for (name, OfName { about, fullest, stacks }) in pools.iter().take(limits.rows) {
        let (most, of) = fullest.map_or((0, 0), |pool| (pool.peak_bytes, pool.chunk_bytes_at_peak));
        let in_pool = |text: String| if name.is_empty() { String::new() } else { text };
        let name = if name.is_empty() { "(handed out outside of all pools)" } else { name };
        rows.add([
            format::count(about.blocks),
            format::bytes(about.bytes),
            format::bytes(most),
            in_pool(format::bytes(of)),
            in_pool(format::percent(most, of)),
            in_pool(format::count(about.begun)),
            in_pool(format::count(about.dropped)),
            format!("{name}, from {}", format::counted(stacks.len() as u64, "call path")),
        ]);
    }
    let left = match pools.len() > limits.rows {
        true => format!("… and {} more\n", pools.len() - limits.rows),
        false => String::new(),
    };
    title("The program's own pools") + &rows.render(limits.width) + &left
}
