//! Which pages of an image were in memory, at the instants at which that was looked at.

use crate::Recording;
use memtoll_trace::meta::Module;
use memtoll_trace::snapshot::Snapshot;
use memtoll_trace::unreadable::Unreadable;

impl Recording {
    /// The snapshots of image number `index`, by time.
    pub fn snapshots(&self, index: usize) -> Result<Vec<Snapshot>, Unreadable> {
        let blocks = self.images.get(index).map_or(&[][..], |image| &image.snapshot_blocks);
        let read = |block| {
            let mut payload = Vec::new();
            self.reader().payload(block, &mut payload)?;
            Snapshot::decode(&payload).map_err(|damage| block.damaged(damage))
        };
        let mut all = blocks.iter().map(read).collect::<Result<Vec<Snapshot>, Unreadable>>()?;
        all.sort_by_key(|snapshot| snapshot.time);
        Ok(all)
    }

    /// What image number `index` had loaded, and where. There may be ten thousand images: so they are read when they are wanted.
    pub fn loaded(&self, index: usize) -> Result<Vec<Module>, Unreadable> {
        let blocks = self.images.get(index).map_or(&[][..], |image| &image.module_blocks);
        let read = blocks.iter().map(|block| self.reader().json::<Vec<Module>>(block));
        Ok(read.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}
