//! The program's own pools.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_model::Recording;
use rustc_hash::FxHashSet;
use serde::Serialize;

/// The pools with one name in one process image.
#[derive(Serialize)]
pub struct Pool<'a> {
    pub pid: u32,
    pub name: &'a str,
    pub begun: u64,
    pub most_chunk_bytes: u64,
    pub blocks: u64,
    pub bytes: u64,
    pub peak_bytes: u64,
    pub chunk_bytes_at_peak: u64,
    pub dropped: u64,
    pub call_sites: u64,
}

/// The pools of a whole recording, image by image.
pub(crate) fn pools(recording: &Recording) -> Vec<Pool<'_>> {
    let each = recording.images.iter().flat_map(|image| image.pools.iter().map(move |pool| (image, pool)));
    let pools = each.map(|(image, pool)| Pool {
        pid: image.about.pid,
        name: &pool.name,
        begun: pool.begun,
        most_chunk_bytes: pool.most_chunk_bytes,
        blocks: pool.blocks,
        bytes: pool.bytes,
        peak_bytes: pool.peak_bytes,
        chunk_bytes_at_peak: pool.chunk_bytes_at_peak,
        dropped: pool.dropped,
        call_sites: pool.nodes.iter().map(|node| image.node(Some(*node))).collect::<FxHashSet<_>>().len() as u64,
    });
    pools.collect()
}
