//! What happened when in an image, as the supervisor sorted it into cells of time while it recorded.

use crate::{Image, Recording};
use memtoll_trace::reader::BlockRef;
use memtoll_trace::timeline::{self, Timeline};

/// The timelines of an image, one after the other.
pub struct Timelines<'a> {
    recording: &'a Recording,
    image: &'a Image,
}

impl Recording {
    /// The timelines of image number `index`; `None` if they are not of all of its events, as in a recording that was cut
    /// off, or if the file has no index.
    pub fn timelines(&self, index: usize) -> Option<Timelines<'_>> {
        let image = self.images.get(index)?;
        let told = image.timeline_blocks.last().map_or(0, |(_, end)| *end);
        let are_all = told == image.event_blocks.len() && image.event_blocks.iter().all(|block| block.extent.is_some());
        are_all.then_some(Timelines { recording: self, image })
    }
}

impl Timelines<'_> {
    /// In how many parts they come. Where the image has chapters, each part is of one of them.
    pub fn count(&self) -> usize {
        self.image.timeline_blocks.len()
    }

    /// The time of the first event of a part, units; 0 if it is not known.
    pub fn begin(&self, part: usize) -> u64 {
        let first = part.checked_sub(1).map_or(0, |before| self.image.timeline_blocks[before].1);
        let extent = self.image.event_blocks.get(first).and_then(|block| block.extent);
        extent.map_or(0, |extent| extent.first_time)
    }

    /// Whether a part has anything of the time between two instants, both included. Units.
    pub fn meets(&self, part: usize, from: u64, to: u64) -> bool {
        self.block(part).and_then(|block| block.extent).is_none_or(|extent| extent.meets(from, to))
    }

    fn block(&self, part: usize) -> Option<&BlockRef> {
        self.image.timeline_blocks.get(part).map(|(block, _)| block)
    }

    /// A part. An error is a statement for the user.
    pub fn read(&self, part: usize) -> Result<Timeline, String> {
        let block = self.block(part).ok_or("there is no such part")?;
        let mut payload = Vec::new();
        self.recording.reader().payload(block, &mut payload)?;
        timeline::decode(&payload).map_err(|error| format!("the file is damaged at byte {}: {error}", block.offset))
    }
}
