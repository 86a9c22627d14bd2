//! How the call sites of an image used memory, as the supervisor counted it while it recorded.

use crate::{Image, Recording};
use memtoll_trace::ids::NodeId;
use memtoll_trace::pattern::{self, Pattern};
use memtoll_trace::reader::BlockRef;
use memtoll_trace::unreadable::{Fault, Unreadable};

/// The patterns of an image, in parts that add up.
pub struct Patterns<'a> {
    recording: &'a Recording,
    image: &'a Image,
}

impl Recording {
    /// The patterns of image number `index`; `None` if they are not of all of its events, as in a recording that was cut
    /// off.
    pub fn patterns(&self, index: usize) -> Option<Patterns<'_>> {
        let image = self.images.get(index).filter(|_| !self.is_read_plainly)?;
        let told = image.pattern_blocks.last().map_or(0, |(_, end)| *end);
        (told == image.event_blocks.len()).then_some(Patterns { recording: self, image })
    }

    pub(crate) fn read_patterns(
        &self,
        image: &Image,
        block: &BlockRef,
    ) -> Result<Vec<(Option<NodeId>, Pattern)>, Unreadable> {
        let mut payload = Vec::new();
        self.reader().payload(block, &mut payload)?;
        let patterns = pattern::decode(&payload).map_err(|damage| block.damaged(damage))?;
        let is_known = patterns.iter().all(|(node, _)| NodeId::index_of(*node) < image.nodes.len());
        if is_known { Ok(patterns) } else { Err(block.damaged(Fault::Stack)) }
    }
}

impl Patterns<'_> {
    /// In how many parts they come.
    pub fn parts(&self) -> usize {
        self.image.pattern_blocks.len()
    }

    /// A part: stack nodes of the image and their patterns.
    pub fn read(&self, part: usize) -> Result<Vec<(Option<NodeId>, Pattern)>, Unreadable> {
        let (block, _) = self.image.pattern_blocks.get(part).ok_or(Unreadable::Absent("there is no such part"))?;
        self.recording.read_patterns(self.image, block)
    }
}
