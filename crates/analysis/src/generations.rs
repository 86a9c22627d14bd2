//! Which of the blocks that are live at an instant were acquired when: leaks are what every generation leaves behind.

use crate::live_blocks::live_blocks;
use crate::process_ends::is_there;
use crate::thread_filter::ThreadFilter;
use memtoll_model::{Recording, StackId};
use memtoll_tally::Selection;
use memtoll_trace::ids::Bytes;
use rustc_hash::FxHashMap;

/// Live blocks.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Live {
    pub bytes: u64,
    /// Their number.
    pub blocks: u64,
}

/// The blocks that are live at an instant, by the node of their stack and by generation.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Generations {
    /// One more than there are borders.
    pub of_node: FxHashMap<StackId, Vec<Live>>,
    /// Statements about what is missing.
    pub damage: Vec<String>,
}

/// The blocks that are live at `at`, each in the generation in which it was acquired: one before the first of `borders`, which
/// are in ascending order, and one from each of them on. Units. Of the selection, sizes count.
pub fn generations(
    recording: &Recording,
    at: u64,
    borders: &[u64],
    selection: &Selection,
    thread_filter: &ThreadFilter,
) -> Generations {
    let mut all = Generations::default();
    for (image, of) in recording.images.iter().enumerate() {
        if !is_there(recording, image, at) || thread_filter.of(image).is_none() || !of.own_allocators.show_frees() {
            continue;
        }
        let (blocks, missing) = live_blocks(recording, image, at);
        all.damage.extend(missing.map(|why| why.to_string()));
        for block in blocks {
            if !thread_filter.admit(image, block.thread) || !selection.admits_size(Bytes(block.size)) {
                continue;
            }
            let of_node = all.of_node.entry(block.node).or_insert_with(|| vec![Live::default(); borders.len() + 1]);
            let live = &mut of_node[generation(borders, block.time)];
            live.bytes = live.bytes.saturating_add(block.size);
            live.blocks += 1;
        }
    }
    all
}

/// The generation of a block that was acquired then.
fn generation(borders: &[u64], time: u64) -> usize {
    borders.partition_point(|border| *border <= time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_begins_with_its_border() {
        let times = [0, 9, 10, 19, 20, 21];
        assert_eq!(times.map(|time| generation(&[10, 20], time)), [0, 0, 1, 1, 2, 2]);
        assert_eq!(generation(&[], 7), 0);
    }
}
