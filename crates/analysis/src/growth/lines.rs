//! Live bytes of each line of a process, in pieces of its time: from events, or from what chapters of them add up to.

use super::{LATEST, PIECES, WINDOWS};
use crate::stacks::Stacks;
use memtoll_model::{Chapters, FrameId, Image, Recording, StackId};
use memtoll_tally::{BlockTable, in_order};
use memtoll_trace::chapter::{Chapter, Wanted};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{NodeId, ThreadNo};
use memtoll_trace::op::Effect;
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::ControlFlow;

#[derive(Default)]
pub(super) struct Line {
    pub live: u64,
    pub blocks: u64,
    pub freed: u64,
    /// The longest lifetime of a block that was freed, units.
    longest: u64,
    /// The piece that it is in, and the first one.
    piece: usize,
    first: usize,
    /// The least that was live in each piece.
    least: Vec<u64>,
}

impl Line {
    /// With its first block in a piece of the time.
    fn new(first: usize) -> Line {
        Line { piece: first, first, least: vec![0; PIECES], ..Line::default() }
    }

    fn goes_to(&mut self, piece: usize) {
        while self.piece < piece {
            self.piece += 1;
            self.least[self.piece] = self.live;
        }
    }

    fn changes(&mut self, piece: usize, bytes: i64) {
        self.goes_to(piece);
        self.live = self.live.saturating_add_signed(bytes);
        self.least[piece] = self.least[piece].min(self.live);
    }

    /// At least `least` was live in these pieces, and in the end so much more as at their begin.
    fn changes_within(&mut self, first: usize, last: usize, least: u64, bytes: i64) {
        self.goes_to(first);
        self.least[first] = self.least[first].min(least);
        self.least[first + 1..=last].fill(least);
        self.piece = last;
        self.live = self.live.saturating_add_signed(bytes);
    }

    fn frees(&mut self, lifetime: u64) {
        self.blocks = self.blocks.saturating_sub(1);
        self.freed += 1;
        self.longest = self.longest.max(lifetime);
    }

    /// The least that was live in each window, and how many pieces a window has. `None`: it has just begun.
    pub fn windows(&self) -> Option<(Vec<u64>, usize)> {
        let is_new = self.first as f64 > LATEST * PIECES as f64;
        let pieces = (PIECES - self.first) / WINDOWS;
        let since = PIECES - pieces * WINDOWS;
        let least = |window: &[u64]| window.iter().min().copied().unwrap_or(0);
        (!is_new).then(|| (self.least[since..].chunks(pieces).map(least).collect(), pieces))
    }
}

/// To which side numbers err that chapters do not tell exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Older {
    /// At least as many blocks are older than any that was freed.
    Least,
    /// At most.
    Most,
}

/// A block of a line.
#[derive(Clone, Copy)]
struct Held {
    line: usize,
    size: u64,
    time: u64,
}

/// What a chapter did to a line.
#[derive(Default)]
struct Change {
    bytes: i64,
    blocks: i64,
    acquired: u64,
    reallocations: u64,
    /// The sizes of its blocks from before the chapter that were released in it.
    released: Vec<u64>,
}

impl Change {
    /// How many blocks were freed or resized in the chapter.
    fn released(&self) -> u64 {
        (self.acquired as i64).saturating_sub(self.blocks).max(0) as u64
    }

    /// The least that the line had live, if it had `before` when the chapter began. What a line resizes is taken to be its own, and to
    /// be live meanwhile; what was freed, to be the largest of the blocks that may have been.
    fn least(&mut self, before: u64) -> u64 {
        let freed = self.released().saturating_sub(self.reallocations).min(self.released.len() as u64) as usize;
        self.released.sort_unstable_by(|a, b| b.cmp(a));
        let stays = before.saturating_sub(self.released[..freed].iter().sum());
        stays.min(before.saturating_add_signed(self.bytes))
    }
}

/// The lines of a process.
pub struct Lines<'r> {
    pub(super) image: &'r Image,
    began: u64,
    /// Units of a piece.
    pub(super) width: u64,
    lines: Vec<(Option<FrameId>, Line)>,
    by_frame: FxHashMap<Option<FrameId>, usize>,
    /// The lines that count; `None`: all.
    watched: Option<FxHashSet<Option<FrameId>>>,
    pub(super) older: Older,
    /// By node, [`NOT_KNOWN`], [`NOT_WATCHED`], or [`FIRST_LINE`] more than its line.
    of_node: Vec<u32>,
    /// Live blocks whose acquisition was read, by number.
    live: BlockTable<Held>,
    /// Blocks that threads are resizing.
    resized: FxHashMap<ThreadNo, Held>,
    /// The other live blocks, by line and by the chapter in which they were acquired.
    born: FxHashMap<(usize, usize), i64>,
    /// When each chapter began and ended, units.
    chapters: Vec<(u64, u64)>,
}

const NOT_KNOWN: u32 = 0;
const NOT_WATCHED: u32 = 1;
const FIRST_LINE: u32 = 2;

impl<'r> Lines<'r> {
    pub(super) fn new(recording: &'r Recording, index: usize, began: u64, width: u64) -> Self {
        let of_node = vec![NOT_KNOWN; recording.stacks.len()];
        Lines {
            image: &recording.images[index],
            began,
            width,
            lines: Vec::new(),
            by_frame: FxHashMap::default(),
            watched: None,
            older: Older::Least,
            of_node,
            live: BlockTable::new(Held { line: 0, size: 0, time: 0 }),
            resized: FxHashMap::default(),
            born: FxHashMap::default(),
            chapters: Vec::new(),
        }
    }

    /// Only those with these frames.
    pub(super) fn of(self, watched: FxHashSet<Option<FrameId>>) -> Self {
        Lines { watched: Some(watched), ..self }
    }

    /// Behind the last piece, units.
    pub fn ended(&self) -> u64 {
        self.began + self.width * PIECES as u64
    }

    fn piece(&self, time: u64) -> usize {
        ((time.saturating_sub(self.began) / self.width) as usize).min(PIECES - 1)
    }

    /// The line of a stack, which has a block now if it had none; `None`: it does not count.
    #[inline]
    fn line(&mut self, stacks: &mut Stacks, node: Option<NodeId>, time: u64) -> Option<usize> {
        let node = self.image.node(node);
        match self.of_node.get(node.index()) {
            Some(&NOT_WATCHED) => None,
            Some(&known @ FIRST_LINE..) => Some((known - FIRST_LINE) as usize),
            _ => self.new_line(stacks, node, time),
        }
    }

    #[cold]
    fn new_line(&mut self, stacks: &mut Stacks, node: StackId, time: u64) -> Option<usize> {
        let piece = self.piece(time);
        let leading = stacks.leading(node).leading;
        let frame = stacks.first(leading);
        let counts = self.watched.as_ref().is_none_or(|watched| watched.contains(&frame));
        let line = counts.then(|| {
            *self.by_frame.entry(frame).or_insert_with(|| {
                self.lines.push((frame, Line::new(piece)));
                self.lines.len() - 1
            })
        });
        if let Some(known) = self.of_node.get_mut(node.index()) {
            *known = line.map_or(NOT_WATCHED, |line| line as u32 + FIRST_LINE);
        }
        line
    }

    /// Events in the order of their times. It breaks at the end of the last piece.
    pub fn add_events(&mut self, stacks: &mut Stacks, events: &[Event]) -> ControlFlow<()> {
        let ended = self.ended();
        for event in events {
            if event.time.0 >= ended {
                return ControlFlow::Break(());
            }
            let (time, piece) = (event.time.0, self.piece(event.time.0));
            // What a reallocation gives back is live until the block has its new size.
            let resized = self.resized.remove(&event.thread);
            if let Block::Number(number) = event.block {
                match event.op.effect() {
                    Effect::Acquire => {
                        if let Some(line) = self.line(stacks, event.node, time) {
                            let size = event.size.0;
                            let same = resized.filter(|held| held.line == line).map_or(0, |held| held.size);
                            self.lines[line].1.changes(piece, size as i64 - same as i64);
                            self.lines[line].1.blocks += 1;
                            self.live.insert(number.0, Held { line, size, time });
                            if same > 0 {
                                continue;
                            }
                        }
                    }
                    Effect::Release => {
                        if let Some(held) = self.live.remove(number.0) {
                            self.lines[held.line].1.frees(time.saturating_sub(held.time));
                            match event.op.is_release_half() {
                                true => drop(self.resized.insert(event.thread, held)),
                                false => self.lines[held.line].1.changes(piece, -(held.size as i64)),
                            }
                        }
                    }
                    _ => {}
                }
            }
            if let Some(held) = resized {
                self.lines[held.line].1.changes(piece, -(held.size as i64));
            }
        }
        ControlFlow::Continue(())
    }

    /// `longest`: how long a chapter may last without its events being read, units.
    pub(super) fn read_chapters(
        &mut self,
        stacks: &mut Stacks,
        chapters: &Chapters,
        longest: u64,
    ) -> Result<(), Unreadable> {
        self.chapters = chapters.times().to_vec();
        let ended = self.ended();
        let begun = self.chapters.partition_point(|(begin, _)| *begin < ended);
        let is_short = |(begin, end): (u64, u64)| end - begin <= longest && end < ended;
        let unpack = |(): &mut (), number: usize| {
            // Where events are read, they say what the chapter adds up to.
            let wanted = if is_short(chapters.times()[number]) { Wanted::All } else { Wanted::Carried };
            chapters.read(number, wanted)
        };
        in_order(
            0..begun,
            || (),
            unpack,
            |number, chapter| {
                let (chapter, times) = (chapter?, chapters.times()[number]);
                if is_short(times) {
                    self.add_chapter(stacks, &chapter, number, times);
                    return Ok(());
                }
                for block in &chapter.carried {
                    let Some(line) = self.line(stacks, block.node, block.time.0) else { continue };
                    if self.live.get(block.number.0).is_none() {
                        self.is_gone(line, block.time.0);
                        self.live.insert(block.number.0, Held { line, size: block.size.0, time: block.time.0 });
                    }
                }
                chapters.for_each_events(number, |events| self.add_events(stacks, events))
            },
        )
    }

    /// A block that was acquired in a chapter whose events were not read is not one of those that are only counted any more.
    fn is_gone(&mut self, line: usize, time: u64) {
        let chapter = self.chapters.partition_point(|(_, end)| *end < time);
        *self.born.entry((line, chapter)).or_default() -= 1;
    }

    fn add_chapter(&mut self, stacks: &mut Stacks, chapter: &Chapter, number: usize, (begin, end): (u64, u64)) {
        let mut changes: FxHashMap<usize, Change> = FxHashMap::default();
        // Blocks from before it are released at its begin at the earliest, and at its end at the latest.
        let (released, longest_inside) = match self.older {
            Older::Least => (end, end - begin),
            Older::Most => (begin, 0),
        };
        for block in &chapter.carried {
            let Some(line) = self.line(stacks, block.node, block.time.0) else { continue };
            let change = changes.entry(line).or_default();
            change.released.push(block.size.0);
            let longest = &mut self.lines[line].1.longest;
            *longest = (*longest).max(released.saturating_sub(block.time.0));
            if self.live.remove(block.number.0).is_none() {
                self.is_gone(line, block.time.0);
            }
        }
        for (node, sums) in chapter.sites.iter() {
            let acquired = sums.new_blocks + sums.reallocations;
            // A site that only frees is no line.
            if acquired == 0 && sums.live_blocks == 0 {
                continue;
            }
            let Some(line) = self.line(stacks, node, begin) else { continue };
            let change = changes.entry(line).or_default();
            change.bytes = change.bytes.wrapping_add(sums.live_bytes.0 as i64);
            change.blocks = change.blocks.wrapping_add(sums.live_blocks as i64);
            change.acquired += acquired;
            change.reallocations += sums.reallocations;
        }
        let (first, last) = (self.piece(begin), self.piece(end));
        for (index, mut change) in changes {
            let line = &mut self.lines[index].1;
            line.changes_within(first, last, change.least(line.live), change.bytes);
            line.blocks = line.blocks.saturating_add_signed(change.blocks);
            let (released, from_before) = (change.released(), change.released.len() as u64);
            line.freed += released;
            if released > from_before {
                line.longest = line.longest.max(longest_inside);
            }
            let born = change.blocks.saturating_add_unsigned(from_before);
            *self.born.entry((index, number)).or_default() += born;
        }
    }

    /// Each line, and how many of its live blocks are older than any block of it was when it was freed.
    pub(super) fn finish(mut self) -> impl Iterator<Item = (Option<FrameId>, Line, u64)> {
        let ended = self.ended();
        self.lines.iter_mut().for_each(|(_, line)| line.goes_to(PIECES - 1));
        let mut older = vec![0; self.lines.len()];
        for held in self.live.into_blocks() {
            older[held.line] += u64::from(ended - held.time > self.lines[held.line].1.longest);
        }
        for ((line, chapter), count) in self.born {
            let acquired = self.chapters.get(chapter).map(|(begin, end)| match self.older {
                Older::Least => *end,
                Older::Most => *begin,
            });
            let age = acquired.map_or(0, |acquired| ended.saturating_sub(acquired));
            older[line] += if age > self.lines[line].1.longest { count.max(0) as u64 } else { 0 };
        }
        self.lines.into_iter().zip(older).map(|((frame, line), older)| (frame, line, older))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rises;
    use super::*;

    #[test]
    fn windows_begin_with_the_first_block() {
        let mut line = Line::new(20);
        (20..PIECES).for_each(|piece| line.changes(piece, 10));
        let (least, pieces) = line.windows().unwrap();
        assert_eq!((least.len(), pieces), (WINDOWS, (PIECES - 20) / WINDOWS));
        assert!(rises(&least), "{least:?}");
        assert!(Line::new(PIECES - 10).windows().is_none());
    }

    #[test]
    fn minima_are_those_of_windows() {
        let mut line = Line::new(0);
        line.changes(0, 100);
        line.changes(2, 50);
        line.changes(2, -120);
        line.goes_to(4);
        assert_eq!(line.least[..5], [0, 100, 30, 30, 30]);
    }

    #[test]
    fn what_is_resized_stays_live() {
        let change = |acquired: u64, reallocations: u64| Change {
            bytes: 200,
            blocks: 0,
            acquired,
            reallocations,
            released: vec![10, 1_000, 30],
        };
        assert_eq!(change(3, 3).least(1_040), 1_040, "all were resized");
        assert_eq!(change(3, 2).least(1_040), 40, "one was freed: perhaps the largest");
        assert_eq!(change(9, 0).least(1_040), 0);
        assert_eq!(Change { bytes: -500, ..change(3, 3) }.least(1_040), 540);
    }

    #[test]
    fn what_a_chapter_does_not_release_was_live_all_the_time() {
        let mut line = Line::new(0);
        line.changes(0, 100);
        // 30 of the 100 bytes go, and 50 come.
        line.changes_within(2, 4, 70, 20);
        line.goes_to(6);
        assert_eq!((&line.least[..7], line.live), (&[0, 100, 70, 70, 70, 120, 120][..], 120));
        line.changes_within(6, 6, 110, -10);
        assert_eq!((line.least[6], line.live), (110, 110));
    }
}
