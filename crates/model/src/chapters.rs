//! The chapters of an image: consecutive events blocks with their sums, which can be read without what lies before.

use crate::{Image, Recording};
use memtoll_trace::chapter::{self, Chapter};
use memtoll_trace::event::Event;
use memtoll_trace::parts::{self, Parts};
use memtoll_trace::pattern::Pattern;
use memtoll_trace::reader::BlockRef;
use std::ops::{ControlFlow, Range};

/// Numbers of threads are smaller, as the kernel has no more of them.
const MAX_THREADS: u32 = 1 << 22;

/// The chapters of an image.
pub struct Chapters<'a> {
    recording: &'a Recording,
    image: &'a Image,
    /// Each chapter's block, and its events blocks.
    chapters: Vec<(BlockRef, Range<usize>)>,
    times: Vec<(u64, u64)>,
}

impl Recording {
    /// The chapters of image number `index`; `None` if they do not hold all of its events: of short images, of those with
    /// pools of their own, and of recordings without an index.
    pub fn chapters(&self, index: usize) -> Option<Chapters<'_>> {
        let image = self.images.get(index)?;
        let (mut chapters, mut times) = (Vec::new(), Vec::new());
        let mut begin = 0;
        for &(block, end) in &image.chapter_blocks {
            let first = image.event_blocks.get(begin)?.extent?.first_time;
            let last = image.event_blocks.get(begin..end)?.last()?.extent?.last_time;
            chapters.push((block, begin..end));
            times.push((first, last));
            begin = end;
        }
        let are_all = begin > 0 && begin == image.event_blocks.len() && image.pools.is_empty();
        are_all.then_some(Chapters { recording: self, image, chapters, times })
    }
}

impl Chapters<'_> {
    /// Time of the first and of the last event of each chapter, units.
    pub fn times(&self) -> &[(u64, u64)] {
        &self.times
    }

    /// A chapter's sums. An error is a statement for the user.
    pub fn read(&self, number: usize) -> Result<Chapter, String> {
        let (block, _) = self.chapters.get(number).ok_or("there is no such chapter")?;
        let mut payload = Vec::new();
        self.recording.reader().payload(block, &mut payload)?;
        let damaged = |why: &dyn std::fmt::Display| format!("the file is damaged at byte {}: {why}", block.offset);
        let chapter = chapter::decode(&payload).map_err(|error| damaged(&error))?;
        let nodes = self.image.nodes.len() as u32;
        let is_known = chapter.sites.iter().all(|(node, _)| *node < nodes)
            && chapter.carried.iter().all(|block| block.node < nodes && block.thread < MAX_THREADS)
            && chapter
                .reallocating
                .iter()
                .all(|of| of.thread < MAX_THREADS && of.given_back.is_none_or(|block| block.node < nodes))
            && chapter.replacements.iter().all(|block| block.node < nodes && block.thread < MAX_THREADS);
        if is_known { Ok(chapter) } else { Err(damaged(&"a call stack or thread that never was")) }
    }

    /// How a chapter's sums divide among threads and sizes; `None`: there were too many parts. An error is a statement for
    /// the user.
    pub fn parts(&self, number: usize) -> Result<Option<Parts>, String> {
        let (_, events) = self.chapters.get(number).ok_or("there is no such chapter")?;
        let found = self.image.parts_blocks.binary_search_by_key(&events.end, |(_, end)| *end);
        let Some((block, _)) = found.ok().and_then(|at| self.image.parts_blocks.get(at)) else { return Ok(None) };
        let mut payload = Vec::new();
        self.recording.reader().payload(block, &mut payload)?;
        let damaged = |error| format!("the file is damaged at byte {}: {error}", block.offset);
        parts::decode(&payload).map(Some).map_err(damaged)
    }

    /// How call sites used memory in a chapter. An error is a statement for the user.
    pub fn patterns(&self, number: usize) -> Result<Vec<(u32, Pattern)>, String> {
        let (_, events) = self.chapters.get(number).ok_or("there is no such chapter")?;
        let block = self.image.pattern_blocks.iter().find(|(_, end)| *end == events.end);
        let (block, _) = block.ok_or("the chapter does not say how call sites used memory")?;
        self.recording.read_patterns(self.image, block)
    }

    /// Calls `take` with the events of a chapter, in the order of their times, until it breaks or there are no more.
    pub fn for_each_events(&self, number: usize, take: impl FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), String> {
        let (_, blocks) = self.chapters.get(number).ok_or("there is no such chapter")?;
        self.recording.for_each_events_of(&self.image.event_blocks[blocks.clone()], take)
    }
}
