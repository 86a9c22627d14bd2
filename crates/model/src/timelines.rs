//! What happened when in an image, as the supervisor sorted it into cells of time while it recorded.

use crate::{Image, Recording};
use memtoll_trace::ids::Units;
use memtoll_trace::reader::BlockRef;
use memtoll_trace::scanned::Scanned;
use memtoll_trace::timeline::{self, Timeline};
use memtoll_trace::unreadable::Unreadable;

const NO_PART: Unreadable = Unreadable::Absent("there is no such part");

/// The timelines of an image, one after the other.
pub struct Timelines<'a> {
    recording: &'a Recording,
    image: &'a Image,
    /// Those that were made of the events, if the file's are not of all of them.
    scanned: Option<&'a [Scanned]>,
}

impl Recording {
    /// The timelines of image number `index`; `None` if they are not of all of its events, as in a recording that was cut
    /// off, until it is scanned ([`Recording::scan_once`]).
    pub fn timelines(&self, index: usize) -> Option<Timelines<'_>> {
        let image = self.images.get(index).filter(|_| !self.is_read_plainly)?;
        let scanned = image.scanned();
        let told = image.timeline_blocks.last().map_or(0, |(_, end)| *end);
        let are_all = told == image.event_blocks.len() && image.event_blocks.iter().all(|block| block.extent.is_some());
        (scanned.is_some() || are_all).then_some(Timelines { recording: self, image, scanned })
    }
}

impl Timelines<'_> {
    /// In how many parts they come. Where the image has chapters, each part is of one of them.
    pub fn count(&self) -> usize {
        self.scanned.map_or(self.image.timeline_blocks.len(), <[Scanned]>::len)
    }

    /// The time of the first event of a part, units; 0 if it is not known.
    pub fn begin(&self, part: usize) -> u64 {
        if let Some(scanned) = self.scanned {
            return scanned.get(part).map_or(0, |scanned| scanned.times.0);
        }
        let first = part.checked_sub(1).map_or(0, |before| self.image.timeline_blocks[before].1);
        let extent = self.image.event_blocks.get(first).and_then(|block| block.extent);
        extent.map_or(0, |extent| extent.first_time.0)
    }

    /// Whether a part has anything of the time between two instants, both included. Units.
    pub fn meets(&self, part: usize, from: u64, to: u64) -> bool {
        if let Some(scanned) = self.scanned {
            let cells = scanned.get(part).and_then(|scanned| scanned.cells);
            return cells.is_some_and(|(first, last)| first <= to && from <= last);
        }
        self.block(part).and_then(|block| block.extent).is_none_or(|extent| extent.meets(Units(from), Units(to)))
    }

    fn block(&self, part: usize) -> Option<&BlockRef> {
        self.image.timeline_blocks.get(part).map(|(block, _)| block)
    }

    pub fn read(&self, part: usize) -> Result<Timeline, Unreadable> {
        if let Some(scanned) = self.scanned {
            let scanned = scanned.get(part).ok_or(NO_PART)?;
            return Ok(timeline::decode(&scanned.timeline)?);
        }
        self.recording.unpack(self.block(part).ok_or(NO_PART)?, timeline::decode)
    }
}
