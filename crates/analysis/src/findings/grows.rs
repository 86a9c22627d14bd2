//! Blocks that pile up: of a line that frees some of them soon, others stay, more and more of them.

use super::{Facts, Finding, MOST_EVENTS, What};
use crate::chapters::chapters_of;
use crate::growth::{Growing, Kept, Reading, growing};
use crate::inclusive_lines::InclusiveLine;
use crate::sums::Sums;
use crate::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::ids::Units;
use serde::Serialize;

/// Live bytes of a line grow steadily, and what it frees, it frees sooner.
#[derive(Clone, Debug, Serialize)]
pub struct Grows {
    /// Live blocks when 98 % of the run is over, and their bytes: in the rest, programs free what they have.
    pub blocks: u64,
    pub bytes: u64,
    /// How fast that grows, bytes a second, and the two ends of its interval at 95 %.
    pub bytes_per_second: f64,
    pub interval: [f64; 2],
    /// At least as many of the live blocks are older than any that was freed.
    pub older: u64,
}

/// Whether a line has enough blocks that stay, and others that do not.
fn may_forget(blocks: u64, frees: u64) -> bool {
    /// Fewer blocks may be chance.
    const FEWEST: u64 = 64;
    blocks >= FEWEST && frees >= blocks / 10
}

/// Whether a line frees some of its blocks soon, and others stay.
pub(super) fn forgets(kept: Kept) -> bool {
    may_forget(kept.blocks, kept.freed) && kept.older * 2 > kept.blocks
}

/// A shorter process, seconds, only builds what it works with.
const SHORTEST: f64 = 1.0;

/// Whether an image is one of a process that has more to do than that.
fn lasts(recording: &Recording, index: usize, tariff: &Tariff) -> bool {
    let image = &recording.images[index];
    let ended = image.end.as_ref().map_or(recording.ended(), |end| end.ended);
    tariff.ns(ended.saturating_sub(image.about.began) as f64) / 1e9 >= SHORTEST
}

/// Whether it is worth while to look.
pub(super) fn may_be_found(recording: &Recording, sums: &Sums, lines: &[InclusiveLine], tariff: &Tariff) -> bool {
    let is_read_at_once = |index: usize| {
        let end = recording.images[index].end.as_ref();
        end.is_some_and(|end| end.recorder.events <= MOST_EVENTS) || chapters_of(recording, index).is_some()
    };
    let some_may = lines.iter().any(|line| {
        let metrics = &line.row.metrics;
        may_forget(metrics.live_blocks, metrics.allocations().saturating_sub(metrics.live_blocks))
    });
    let counted = sums.counted().map(|(index, _)| index);
    let mut lasting = counted.filter(|index| lasts(recording, *index, tariff)).peekable();
    !sums.is_part() && some_may && lasting.peek().is_some() && lasting.all(is_read_at_once)
}

pub(super) fn find(facts: &mut Facts) -> Vec<Finding> {
    let sums = facts.sums;
    let (recording, tariff) = (facts.recording, facts.tariff);
    if !may_be_found(recording, sums, facts.lines, tariff) {
        return Vec::new();
    }
    let found = facts.growing.take().map_or_else(
        || {
            let counts = |index| sums.thread_filter.of(index).is_some() && lasts(recording, index, tariff);
            growing(facts.stacks, counts, (Units::ZERO, Units::MAX), tariff, Reading::Chapters(&forgets))
        },
        Ok,
    );
    // The sums have reported unreadable events already.
    let found = found.unwrap_or_default();
    let kept = |one: &Growing| Kept { blocks: one.blocks, older: one.older, freed: one.freed };
    let lines = facts.lines;
    let finding = |one: Growing| {
        let row = &lines.iter().find(|line| line.row.frame == one.frame)?.row;
        let Growing { blocks, bytes, per_second, interval: (low, high), older, .. } = one;
        let what = Grows { blocks, bytes, bytes_per_second: per_second, interval: [low, high], older };
        Some(Finding::new(What::Grows(what), Some(row.clone()), None))
    };
    found.into_iter().filter(|one| forgets(kept(one))).filter_map(finding).collect()
}
