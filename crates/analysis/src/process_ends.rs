//! When processes end: what one had then is gone from there on.

use crate::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_trace::ids::Units;

/// When an image ended, units.
pub fn ended(recording: &Recording, index: usize) -> u64 {
    recording.images[index].end.as_ref().map_or(recording.ended(), |end| end.ended)
}

/// Whether an image is there at an instant, units.
pub fn is_there(recording: &Recording, index: usize, at: u64) -> bool {
    recording.images[index].about.began <= at && at <= ended(recording, index)
}

/// The instant at which a selection ends, units: of one that goes on to the end of the recording, when the last of its images ended.
pub fn until(recording: &Recording, to: Units, thread_filter: &ThreadFilter) -> u64 {
    let counted = || (0..recording.images.len()).filter(|index| thread_filter.of(*index).is_some());
    match to < Units(recording.ended()) {
        true => to.0,
        false => counted().map(|index| ended(recording, index)).max().unwrap_or(recording.ended()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generations::generations;
    use crate::sums::{sums, sums_of};
    use crate::testing::golden;
    use crate::timeline::timeline;
    use memtoll_tally::Selection;

    /// Live bytes at an instant, and as the span until then has them.
    fn live(recording: &Recording, selection: Selection, filter: ThreadFilter) -> u64 {
        sums_of(recording, selection, filter).total.live_bytes.0
    }

    #[test]
    fn at_the_end_only_the_last_process_has_live_blocks() {
        let recording = golden("forks");
        let end = recording.ended();
        let all = sums(&recording, Selection::default());
        let left = |index: usize| all.images[index].total.live_bytes.0;
        let (last, gone): (Vec<usize>, Vec<usize>) =
            (0..recording.images.len()).partition(|index| ended(&recording, *index) == end);
        assert!(gone.iter().any(|index| left(*index) > 0) && !last.is_empty());
        let at = Selection { to: Units(end), instant: true, ..Selection::default() };
        let expected: u64 = last.iter().map(|index| left(*index)).sum();
        assert_eq!(live(&recording, at, ThreadFilter::default()), expected);
        // What the others left is gone, but was not freed.
        let sums_at = |selection| sums_of(&recording, selection, ThreadFilter::default());
        assert_eq!(sums_at(at).total.freed(), all.total.freed());
        // A span that goes on to the end has what each process left.
        let span = Selection { instant: false, ..at };
        assert_eq!(live(&recording, span, ThreadFilter::default()), all.total.live_bytes.0);
        let generations = generations(&recording, end, &[], &Selection::default(), &ThreadFilter::default());
        assert_eq!(generations.of_node.values().map(|live| live[0].bytes).sum::<u64>(), expected);
        let line = timeline(&recording, 0, end, 1 << 14, &ThreadFilter::default());
        assert_eq!(line.intervals.last().map(|last| last.live), Some(expected));
        // Of a process that ended before, the end is its own.
        for index in gone {
            let only = ThreadFilter::images(&recording, |image| image == index);
            assert_eq!(until(&recording, at.to, &only), ended(&recording, index));
            assert_eq!(live(&recording, at, only), left(index));
        }
    }
}
