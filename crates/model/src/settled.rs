//! What is settled once for the call sites of an image; what that is, the analysis says.

use crate::{Recording, reading};
use memtoll_metrics::Settled;
use memtoll_trace::ids::NodeId;
use rustc_hash::FxHashMap;

/// By the image's own node ids.
pub type SettledSites = FxHashMap<Option<NodeId>, Settled>;

impl Recording {
    /// What `settle` says of the call sites of image number `index`, once for all who ask.
    pub fn settled(&self, index: usize, settle: impl FnOnce() -> SettledSites) -> Option<&SettledSites> {
        let image = self.images.get(index)?;
        // Later questions use it, too, so it cannot be cancelled.
        Some(image.settled.get_or_init(|| reading::during(None, settle)))
    }
}
