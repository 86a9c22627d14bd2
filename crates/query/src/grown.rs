//! Lines whose live bytes grow steadily.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use crate::rows::Place;
use memtoll_analysis::growth::Growing;
use memtoll_model::Recording;
use serde::Serialize;

/// A line that grows.
#[derive(Serialize)]
pub struct Grown<'r> {
    pub pid: u32,
    #[serde(flatten)]
    pub place: Option<Place<'r>>,
    pub bytes_per_second: f64,
    /// Its two ends, at 95 %.
    pub interval: [f64; 2],
    pub blocks: u64,
    pub bytes: u64,
    pub older_than_any_freed: u64,
    pub freed: u64,
    /// The least that was live in each of equally long windows, bytes.
    pub least: Vec<u64>,
}

impl<'r> Grown<'r> {
    pub(crate) fn new(recording: &'r Recording, found: Growing) -> Grown<'r> {
        Grown {
            pid: found.pid,
            place: found.frame.map(|frame| Place::of(&recording.frames, frame)),
            bytes_per_second: found.per_second,
            interval: [found.interval.0, found.interval.1],
            blocks: found.blocks,
            bytes: found.bytes,
            older_than_any_freed: found.older,
            freed: found.freed,
            least: found.least,
        }
    }
}
