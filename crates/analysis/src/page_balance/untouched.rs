//! Blocks that were asked for in vain: parts of them were never touched.

use super::pinning::Held;
use crate::live_blocks::Block;
use memtoll_model::FrameId;
use rustc_hash::FxHashMap;

/// Live blocks of a line of which parts are neither in memory nor swapped out: how many, their bytes, and those of the parts.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Line {
    pub frame: Option<FrameId>,
    pub blocks: u64,
    pub bytes: u64,
    pub untouched: u64,
}

/// The lines, in any order.
pub(super) fn lines(blocks: &[Block], held: &Held) -> Vec<Line> {
    let mut lines: FxHashMap<Option<FrameId>, Line> = FxHashMap::default();
    for (block, of_block) in blocks.iter().zip(&held.blocks) {
        let untouched = of_block.never_touched(block);
        if untouched == 0 {
            continue;
        }
        let frame = held.frame_of.get(&block.node).copied().flatten();
        let line = lines.entry(frame).or_insert(Line { frame, ..Line::default() });
        line.blocks += 1;
        line.bytes += block.size;
        line.untouched += untouched;
    }
    lines.into_values().collect()
}
