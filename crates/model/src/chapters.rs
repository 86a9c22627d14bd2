//! The chapters of an image: consecutive events blocks with their sums, which can be read without what lies before.

use crate::reading;
use crate::{Image, Recording};
use memtoll_trace::Damage;
use memtoll_trace::chapter::{self, Chapter, Wanted};
use memtoll_trace::event::Event;
use memtoll_trace::events::MAX_THREADS;
use memtoll_trace::ids::{NodeId, ThreadNo};
use memtoll_trace::parts::{self, Parts};
use memtoll_trace::pattern::{self, Pattern};
use memtoll_trace::reader::BlockRef;
use memtoll_trace::scanned::Scanned;
use memtoll_trace::unreadable::{Fault, Unreadable};
use std::ops::{ControlFlow, Range};

/// Fewer blocks of events are read as quickly as chapters of them.
const FEWEST_BLOCKS: usize = 8;

const NO_CHAPTER: Unreadable = Unreadable::Absent("there is no such chapter");

/// Where a chapter stands.
enum Source<'a> {
    File(BlockRef),
    Scanned(&'a Scanned),
}

/// The chapters of an image.
pub struct Chapters<'a> {
    recording: &'a Recording,
    image: &'a Image,
    /// Each chapter, and its events blocks.
    chapters: Vec<(Source<'a>, Range<usize>)>,
    times: Vec<(u64, u64)>,
}

impl Recording {
    /// The chapters of image number `index`; `None` if they do not hold all of its events: of short images, of those with
    /// pools of their own, and of recordings that were cut off, until they are scanned ([`Recording::scan_once`]).
    pub fn chapters(&self, index: usize) -> Option<Chapters<'_>> {
        let image = self.images.get(index).filter(|_| !self.is_read_plainly)?;
        if let Some(scanned) = image.scanned() {
            let (mut chapters, mut times) = (Vec::new(), Vec::new());
            let mut begin = 0;
            for scanned in scanned {
                chapters.push((Source::Scanned(scanned), begin..begin + scanned.blocks));
                times.push(scanned.times);
                begin += scanned.blocks;
            }
            return Some(Chapters { recording: self, image, chapters, times });
        }
        let (mut chapters, mut times) = (Vec::new(), Vec::new());
        let mut begin = 0;
        for &(block, end) in &image.chapter_blocks {
            let first = image.event_blocks.get(begin)?.extent?.first_time;
            let last = image.event_blocks.get(begin..end)?.last()?.extent?.last_time;
            chapters.push((Source::File(block), begin..end));
            times.push((first.0, last.0));
            begin = end;
        }
        let are_all = begin > 0 && begin == image.event_blocks.len() && image.pools.is_empty();
        are_all.then_some(Chapters { recording: self, image, chapters, times })
    }

    /// Where the file has no chapters of image number `index` and many events: takes those that `make` makes of its events, once,
    /// for all who ask. `None`: they cannot be made.
    pub fn scan_once(&self, index: usize, make: impl FnOnce() -> Option<Vec<Scanned>>) {
        let is_wanted = |image: &&Image| {
            !self.is_read_plainly && image.event_blocks.len() >= FEWEST_BLOCKS && image.pools.is_empty()
        };
        if let Some(image) = self.images.get(index).filter(is_wanted) {
            // Later questions use it, too, so it cannot be cancelled.
            image.scanned.get_or_init(|| reading::during(None, make).filter(|made| !made.is_empty()));
        }
    }

    /// From now on, all questions are answered from events and costs, as if the file had nothing else: for tests, which
    /// compare such answers with the usual ones.
    pub fn read_plainly(&mut self) {
        self.is_read_plainly = true;
    }
}

impl Chapters<'_> {
    /// Time of the first and of the last event of each chapter, units.
    pub fn times(&self) -> &[(u64, u64)] {
        &self.times
    }

    pub fn read(&self, number: usize, wanted: Wanted) -> Result<Chapter, Unreadable> {
        let decode = |payload: &[u8]| chapter::decode(payload, wanted);
        let (source, _) = self.chapters.get(number).ok_or(NO_CHAPTER)?;
        let chapter = match source {
            Source::File(block) => self.recording.unpack(block, decode)?,
            Source::Scanned(scanned) => unpack_scanned(&scanned.chapter, decode)?,
        };
        let nodes = self.image.nodes.len();
        let is_node = |node: Option<NodeId>| NodeId::index_of(node) < nodes;
        let is_thread = |thread: ThreadNo| thread.get() < MAX_THREADS;
        let is_known = chapter.sites.nodes().iter().all(|node| is_node(*node))
            && chapter.carried.iter().all(|block| is_node(block.node) && is_thread(block.thread))
            && chapter
                .reallocating
                .iter()
                .all(|of| is_thread(of.thread) && of.given_back.is_none_or(|block| is_node(block.node)))
            && chapter.replacements.iter().all(|block| is_node(block.node) && is_thread(block.thread));
        match source {
            _ if is_known => Ok(chapter),
            Source::File(block) => Err(block.damaged(Fault::StackOrThread)),
            Source::Scanned(_) => Err(Damage::Value("a call stack or thread that never was").into()),
        }
    }

    /// How a chapter's sums divide among threads and sizes; `None`: there were too many parts. An error is a statement for
    /// the user.
    pub fn parts(&self, number: usize) -> Result<Option<Parts>, Unreadable> {
        let (source, events) = self.chapters.get(number).ok_or(NO_CHAPTER)?;
        if let Source::Scanned(scanned) = source {
            return scanned.parts.as_ref().map(|payload| unpack_scanned(payload, parts::decode)).transpose();
        }
        let found = self.image.parts_blocks.binary_search_by_key(&events.end, |(_, end)| *end);
        let Some((block, _)) = found.ok().and_then(|at| self.image.parts_blocks.get(at)) else { return Ok(None) };
        self.recording.unpack(block, parts::decode).map(Some)
    }

    /// How call sites used memory in a chapter.
    pub fn patterns(&self, number: usize) -> Result<Vec<(Option<NodeId>, Pattern)>, Unreadable> {
        let (source, events) = self.chapters.get(number).ok_or(NO_CHAPTER)?;
        if let Source::Scanned(scanned) = source {
            return unpack_scanned(&scanned.patterns, pattern::decode);
        }
        let block = self.image.pattern_blocks.iter().find(|(_, end)| *end == events.end);
        let (block, _) = block.ok_or(Unreadable::Absent("the chapter does not say how call sites used memory"))?;
        self.recording.read_patterns(self.image, block)
    }

    /// In how many blocks the events of all chapters are that meet a span, units. That says how long it takes to read them: a chapter
    /// may have few events or millions.
    pub fn blocks_between(&self, from: u64, to: u64) -> usize {
        let met = self.times.iter().zip(&self.chapters).filter(|((first, last), _)| *last >= from && *first <= to);
        met.map(|(_, (_, blocks))| blocks.len()).sum()
    }

    /// The chapter of a block of events, by the block's number among the image's.
    pub fn of_block(&self, block: usize) -> usize {
        self.chapters.partition_point(|(_, blocks)| blocks.end <= block)
    }

    /// Calls `take` with the events of a chapter, in the order of their times, until it breaks or there are no more.
    pub fn for_each_events(
        &self,
        number: usize,
        take: impl FnMut(&[Event]) -> ControlFlow<()>,
    ) -> Result<(), Unreadable> {
        let (_, blocks) = self.chapters.get(number).ok_or(NO_CHAPTER)?;
        self.recording.for_each_events_of(&self.image.event_blocks[blocks.clone()], take)
    }
}

/// What was packed here comes back.
fn unpack_scanned<T>(payload: &[u8], decode: impl Fn(&[u8]) -> Result<T, Damage>) -> Result<T, Unreadable> {
    Ok(decode(payload)?)
}
