//! Blocks that nothing points to when the program ends, those of the runtime aside.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::loses_much;
use crate::sites::Row;
use serde::Serialize;

/// Blocks of a line are lost.
#[derive(Clone, Debug, Serialize)]
pub struct Lost {
    /// Blocks that nothing points to, or only lost blocks.
    pub blocks: u64,
    pub bytes: u64,
    /// Those of them that lost blocks point to.
    pub indirectly: u64,
    /// All blocks of the line that are live at the end.
    pub live_blocks: u64,
}

impl Lost {
    fn of(row: &Row) -> Lost {
        let metrics = &row.metrics;
        Lost {
            blocks: metrics.leaked_blocks(),
            bytes: metrics.leaked_bytes().0,
            indirectly: metrics.indirectly_lost_blocks,
            live_blocks: metrics.live_blocks,
        }
    }
}

pub(super) fn find(facts: &mut Facts) -> Vec<Finding> {
    /// Lines at most.
    const MOST: usize = 3;
    if facts.sums.total.leaked_blocks() == 0 {
        return Vec::new();
    }
    let all = facts.sums.total.live_bytes.saturating_sub(facts.runtime().total().1);
    let matters = |row: &Row| loses_much(row.metrics.leaked_blocks(), row.metrics.leaked_bytes());
    let mut lines: Vec<Row> = facts.own_lines().filter(matters).collect();
    lines.sort_by_key(|row| (std::cmp::Reverse(row.metrics.leaked_bytes()), row.frame));
    lines.truncate(MOST);
    let finding = |row: Row| {
        let lost = Lost::of(&row);
        let share = Share::new(lost.bytes as f64, all.0 as f64, Whole::NeverFreed);
        Finding::new(What::Lost(lost), Some(row), share)
    };
    lines.into_iter().map(finding).collect()
}
