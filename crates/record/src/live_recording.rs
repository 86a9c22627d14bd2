//! A recording while it is being made, for its viewers.

use crate::process_polling::Wish;
use crate::run::Run;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::Units;
use memtoll_trace::meta::{Mark, MarkKind};
use memtoll_trace::snapshot::Cause;
use std::path::Path;
use std::sync::Arc;

/// A recording that is being made.
pub struct Live(pub(crate) Arc<Run>);

impl Live {
    /// The file. It can be read at any time as one that was cut off.
    pub fn path(&self) -> &Path {
        self.0.output.path()
    }

    /// Sets a mark at this instant, in the oldest process that is being recorded, and has its pages looked at. Returns when that was,
    /// seconds; `None`: there is no process, or the mark is not in the file.
    pub fn mark(&self, name: &str) -> Option<f64> {
        let clock = &self.0.around.clock;
        let time = clock.units(clock.now());
        let image = self.0.roster.with_active(|active| active.iter().map(|active| active.image).min())?;
        // It comes from outside: no thread of the program sets it.
        let mark = Mark { time, thread: None, kind: MarkKind::Instant, name: name.to_owned(), work: None };
        let is_set =
            serde_json::to_vec(&[mark]).is_ok_and(|marks| self.0.output.block(BlockKind::Marks, image, &marks));
        if is_set {
            let cause = Cause::Mark { name: name.to_owned(), time: Units(time) };
            self.0.looks.wish(Wish { image, cause, answer: None });
        }
        is_set.then(|| clock.describe(0, None).seconds(time))
    }
}
