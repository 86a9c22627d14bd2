//! Cuts events into chapters when they are read, as the supervisor does while it records: for recordings whose file lacks
//! chapters because it was cut off.

use super::timeline_builder::{Cells, TimelineBuilder};
use crate::block_table::BlockTable;
use crate::{Aggregator, Everything, LiveBlock, Tally};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::scanned::Scanned;
use memtoll_trace::{parts, timeline};

/// Events of a chapter at least.
const FEWEST_EVENTS: usize = 1 << 18;
/// Events that are added up in the time of one look at a site.
const EVENTS_PER_SITE: usize = 8;
/// As in a file.
const CELLS: Cells = Cells::UpTo(2048, 8192);

/// The chapters of an image whose events are being read.
pub struct Scan {
    recorder: Aggregator<Everything>,
    timeline: TimelineBuilder,
    fewest: usize,
    next_block: u64,
    events: usize,
    times: Option<(u64, u64)>,
    blocks: usize,
    ended: Vec<Scanned>,
}

impl Default for Scan {
    fn default() -> Self {
        Scan::with_chapters_of(FEWEST_EVENTS)
    }
}

impl Scan {
    /// Events of a chapter, at least.
    pub fn with_chapters_of(fewest: usize) -> Scan {
        let mut tally = Tally::new(Everything);
        tally.keep_chapters();
        tally.keep_patterns();
        Scan {
            recorder: Aggregator { tally, blocks: BlockTable::new(LiveBlock::NONE) },
            timeline: TimelineBuilder::new(CELLS),
            fewest,
            next_block: 0,
            events: 0,
            times: None,
            blocks: 0,
            ended: Vec::new(),
        }
    }

    /// Adds an events block.
    pub fn push(&mut self, events: &[Event]) {
        for event in events {
            self.recorder.push(event);
            self.timeline.push(event, event.op.effect(), self.recorder.live_bytes());
            if let Block::Number(number) = event.block {
                self.next_block = self.next_block.max(number.0.saturating_add(1));
            }
        }
        self.blocks += 1;
        self.events += events.len();
        if let (Some(first), Some(last)) = (events.first(), events.last()) {
            self.times = Some((self.times.map_or(first.time.0, |(first, _)| first), last.time.0));
        }
        if self.events >= self.fewest.max(self.recorder.tally.sites_so_far() * EVENTS_PER_SITE) {
            self.end_chapter();
        }
    }

    fn end_chapter(&mut self) {
        let Some(times) = self.times.take() else { return };
        let patterns = self.recorder.tally.pack_patterns().finish();
        let timeline = self.timeline.take();
        let Some(ended) = self.recorder.tally.end_chapter(self.next_block) else { return };
        self.ended.push(Scanned {
            blocks: std::mem::take(&mut self.blocks),
            times,
            chapter: ended.encode(),
            parts: ended.parts.as_ref().map(parts::encode),
            patterns,
            cells: timeline.extent(),
            timeline: timeline::encode(&timeline),
        });
        self.recorder.tally.give_back(ended);
        self.events = 0;
    }

    /// All chapters.
    pub fn finish(mut self) -> Vec<Scanned> {
        self.end_chapter();
        self.ended
    }
}
