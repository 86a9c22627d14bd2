//! What allocators take beyond what was asked for, by line.

use super::chunks;
use super::units::Unit;
use crate::live_blocks::Block;
use memtoll_model::{FrameId, StackId};
use rustc_hash::FxHashMap;

/// Blocks of a line, and what they take.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Line {
    pub frame: Option<FrameId>,
    pub blocks: u64,
    /// What was asked for.
    pub bytes: u64,
    /// What they take beyond slots of a pool, whose sizes are multiples of 8.
    pub beyond_slots: u64,
    /// What they take beyond their bytes.
    pub beyond_bytes: u64,
}

/// The lines, in any order.
pub struct Rounding {
    pub lines: Vec<Line>,
}

/// Slots of a pool are as far from each other as pointers and doubles need.
const SLOT: u64 = 8;

impl Rounding {
    /// Of live blocks that share pages with others.
    pub fn new(blocks: &[Block], unit: &Unit, frame_of: &FxHashMap<StackId, Option<FrameId>>) -> Rounding {
        let mut lines: FxHashMap<Option<FrameId>, Line> = FxHashMap::default();
        for block in blocks.iter().filter(|block| !chunks::is_mapped_alone(block)) {
            let frame = frame_of.get(&block.node).copied().flatten();
            let span = unit.span(block);
            let takes = span.end - span.start;
            let line = lines.entry(frame).or_insert(Line { frame, ..Line::default() });
            line.blocks += 1;
            line.bytes += block.size;
            line.beyond_slots += takes.saturating_sub(block.size.next_multiple_of(SLOT));
            line.beyond_bytes += takes.saturating_sub(block.size);
        }
        Rounding { lines: lines.into_values().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::ThreadNo;

    #[test]
    fn chunks_are_larger_than_slots() {
        let block = |number: u64| {
            let address = 0x1010 + number * 48;
            Block { address, size: 33, time: 0, node: StackId::NONE, thread: ThreadNo::FIRST }
        };
        let blocks: Vec<Block> = (0..10).map(block).collect();
        let rounding = Rounding::new(&blocks, &Unit::Page, &FxHashMap::default());
        let line = Line { frame: None, blocks: 10, bytes: 330, beyond_slots: 80, beyond_bytes: 150 };
        assert_eq!(rounding.lines, [line]);
    }
}
