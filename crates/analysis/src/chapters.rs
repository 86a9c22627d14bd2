//! The chapters of an image: those of the file or, where it has none because it was cut off, those that are made when its
//! events are read for the first time.

use memtoll_model::{Chapters, Recording};
use memtoll_tally::Scan;
use std::ops::ControlFlow;

/// The chapters of image number `index`; `None` if its events are to be read: there are few of them, it has pools of its own, or
/// some are damaged.
pub(crate) fn chapters_of(recording: &Recording, index: usize) -> Option<Chapters<'_>> {
    if let Some(chapters) = recording.chapters(index) {
        return Some(chapters);
    }
    recording.scan_once(index, || {
        let mut scan = Scan::default();
        let mut has_pools = false;
        let read = recording.for_each_events(index, |events| {
            has_pools = events.iter().any(|event| event.op.is_pooled());
            if has_pools {
                return ControlFlow::Break(());
            }
            scan.push(events);
            ControlFlow::Continue(())
        });
        (read.is_ok() && !has_pools).then(|| scan.finish())
    });
    recording.chapters(index)
}
