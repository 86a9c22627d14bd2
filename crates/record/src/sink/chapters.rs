//! When the events of an image are cut into chapters: often enough that a chapter is read at once, and so seldom that what
//! chapters say is a small share of the file and of the supervisor's time.

use super::Sink;
use memtoll_tally::Cells;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::{BlockNo, Units};
use memtoll_trace::index::Extent;
use memtoll_trace::{parts, timeline};

/// Events of a chapter at least: four blocks.
const FEWEST_EVENTS: u64 = 1 << 18;
/// Events of the first chapter: as many are read at once, and a chapter's own cost is high beside fewer.
const FEWEST_EVENTS_OF_FIRST: u64 = 1 << 20;
/// Events of a chapter at the most, however much it has to say.
const MOST_EVENTS: u64 = 1 << 22;
/// Looking at a site, and keeping what it was, takes about as long as adding up half as many events.
const EVENTS_PER_SITE: u64 = 16;
/// Bytes of events for a byte of chapters.
const BYTES_PER_BYTE: usize = 16;

/// Cells of a chapter's timeline: more would be a larger share of the file.
pub(super) const CELLS: Cells = Cells::UpTo(2048, 8192);

/// The present chapter.
#[derive(Default)]
pub(super) struct Pace {
    events: u64,
    bytes: usize,
    /// Length of the chapter before, bytes.
    before: usize,
    is_first: bool,
    has_ended: bool,
}

impl Pace {
    pub fn new() -> Pace {
        Pace { is_first: true, ..Pace::default() }
    }

    fn is_due(&self, sites: usize) -> bool {
        let is_cheap = self.events >= sites as u64 * EVENTS_PER_SITE && self.bytes / BYTES_PER_BYTE >= self.before;
        let fewest = if self.is_first { FEWEST_EVENTS_OF_FIRST } else { FEWEST_EVENTS };
        self.events >= fewest && (is_cheap || self.events >= MOST_EVENTS)
    }
}

impl Sink {
    pub(super) fn block_is_written(&mut self, events: u64, bytes: usize) {
        self.pace.events += events;
        self.pace.bytes += bytes;
        // Of what pools lend, chapters do not tell; and what is not in the file cannot be told of.
        if !self.pace.has_ended && (!self.ledger.pools.is_empty() || self.run.output.stopped()) {
            self.pace.has_ended = true;
            self.ledger.tally.end_chapters();
        }
        if self.pace.is_due(self.ledger.tally.sites_so_far()) {
            self.end_chapter();
        }
    }

    /// The image is over. A single chapter would say what its summary says.
    pub(super) fn end_last_chapter(&mut self) {
        match self.pace.is_first {
            false if self.pace.events > 0 => self.end_chapter(),
            _ => {
                self.write_patterns();
                self.write_timeline();
            }
        }
    }

    fn end_chapter(&mut self) {
        let has_ended = self.pace.has_ended;
        let mut before = self.write_patterns() + self.write_timeline();
        if !has_ended && let Some(ended) = self.ledger.tally.end_chapter(self.ledger.next_block().0) {
            let payload = ended.encode();
            self.run.output.block(BlockKind::Chapter, self.facts.image, &payload);
            before += payload.len();
            if let Some(payload) = ended.parts.as_ref().map(parts::encode) {
                self.run.output.block(BlockKind::Parts, self.facts.image, &payload);
                before += payload.len();
            }
            self.ledger.tally.give_back(ended);
        }
        self.pace = Pace { before, has_ended, ..Pace::default() };
    }

    /// What happened when since the last time. Returns how many bytes that takes.
    fn write_timeline(&mut self) -> usize {
        let timeline = self.timeline.take();
        let extent = timeline.extent().map(|(first_time, last_time)| {
            let count = (timeline.live.len() + timeline.threads.len()) as u64;
            Extent { first_time: Units(first_time), last_time: Units(last_time), count, first_block: BlockNo(0) }
        });
        if extent.is_none() && self.pace.events == 0 {
            return 0;
        }
        let payload = timeline::encode(&timeline);
        self.run.output.block_of(BlockKind::Timeline, self.facts.image, &payload, extent);
        payload.len()
    }

    /// How call sites used memory since the last time. Returns how many bytes that takes.
    fn write_patterns(&mut self) -> usize {
        let patterns = self.ledger.tally.pack_patterns();
        if patterns.is_empty() && self.pace.events == 0 {
            return 0;
        }
        let payload = patterns.finish();
        self.run.output.block(BlockKind::Patterns, self.facts.image, &payload);
        payload.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_that_say_much_are_longer() {
        let pace = |events, bytes, before| Pace { events, bytes, before, ..Pace::default() };
        assert!(!pace(FEWEST_EVENTS - 1, 1 << 20, 0).is_due(1));
        assert!(!Pace { is_first: true, ..pace(FEWEST_EVENTS_OF_FIRST - 1, 1 << 22, 0) }.is_due(1));
        assert!(Pace { is_first: true, ..pace(FEWEST_EVENTS_OF_FIRST, 1 << 22, 0) }.is_due(1));
        assert!(pace(FEWEST_EVENTS, 1 << 20, 1 << 16).is_due(1));
        assert!(!pace(FEWEST_EVENTS, 1 << 20, (1 << 16) + 1).is_due(1), "it would be more than a sixteenth");
        assert!(!pace(FEWEST_EVENTS, 1 << 20, 0).is_due(1 << 16), "looking at the sites takes too long");
        assert!(pace(MOST_EVENTS, 0, 1).is_due(usize::MAX >> 8));
    }
}
