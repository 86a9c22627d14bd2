//! When blocks were acquired whose acquisitions came late.
//!
//! A thread that has no processor for long while it gets a block is overtaken by others: the event gets the time of the one before it,
//! which is later than it was. Which block a release is about follows from when blocks were acquired indeed.

use super::live_blocks::NumberedBlock;
use memtoll_trace::ids::{BlockNo, Units};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Blocks that are kept at a time. It matters for as long as other threads' events come late, too.
const MOST: usize = 1 << 16;

/// The blocks, the last one at the end.
#[derive(Default)]
pub struct LateAcquisitions {
    told: FxHashMap<BlockNo, Units>,
    in_order: VecDeque<BlockNo>,
}

impl LateAcquisitions {
    #[cold]
    pub fn push(&mut self, block: BlockNo, told: Units) {
        if self.in_order.len() == MOST
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.told.remove(&oldest);
        }
        self.in_order.push_back(block);
        self.told.insert(block, told);
    }

    /// When a block was acquired.
    pub fn acquired(&self, kept: &NumberedBlock) -> Units {
        self.told.get(&kept.number).copied().unwrap_or(kept.block.time())
    }
}
