//! The blocks of an image that are live at an instant, with where they lie.
//!
//! Chapters say how many blocks they leave, and which older blocks they release. Counting these releases says which chapters still
//! have live blocks at the instant; only the events of those are read, by all processors.
//!
//! ```text
//! chapters   | none is left | some are left | none is left | the instant | not looked at
//!              not read       events read     not read       events read
//! ```

use crate::chapters::chapters_of;
use crate::parallel;
use memtoll_model::{Chapters, Image, Recording, StackId};
use memtoll_tally::BlockTable;
use memtoll_trace::chapter::Wanted;
use memtoll_trace::event::{Block as Which, Event};
use memtoll_trace::ids::{BlockNo, ThreadNo, Units};
use memtoll_trace::op::Effect;
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;

/// A block that is live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub address: u64,
    /// Bytes asked for.
    pub size: u64,
    /// When it was acquired, units.
    pub time: u64,
    /// The stack of the call: a node of [`Recording::stacks`].
    pub node: StackId,
    /// The thread that acquired it.
    pub thread: ThreadNo,
}

impl Block {
    pub(crate) const NONE: Block = Block { address: 0, size: 0, time: 0, node: StackId::NONE, thread: ThreadNo::FIRST };

    pub(crate) fn end(&self) -> u64 {
        self.address.saturating_add(self.size.max(1))
    }
}

/// The blocks of an image that are live at a time (units), by address, and why some are missing. Blocks that a pool of the
/// program's hands out are left out: the blocks that the pool is made of count.
pub fn live_blocks(recording: &Recording, index: usize, at: u64) -> (Vec<Block>, Option<Unreadable>) {
    let Some(image) = recording.images.get(index) else { return (Vec::new(), None) };
    // If chapters are damaged, read all events.
    let of_chapters = chapters_of(recording, index).and_then(|chapters| from_chapters(image, &chapters, at).ok());
    let (mut blocks, missing) = match of_chapters.flatten() {
        Some(blocks) => (blocks, None),
        None => from_events(recording, index, image, at),
    };
    blocks.sort_unstable_by_key(|block| (block.address, block.time));
    (blocks, missing)
}

/// Reads all events until then.
fn from_events(recording: &Recording, index: usize, image: &Image, at: u64) -> (Vec<Block>, Option<Unreadable>) {
    let mut live = Live::default();
    let read = recording.for_each_events_between(index, Units::ZERO, Units(at), |events| live.add(image, at, events));
    (live.acquired.into_blocks().map(|(_, block)| block).collect(), read.err())
}

/// What some events leave behind.
struct Live {
    acquired: BlockTable<(BlockNo, Block)>,
    /// Blocks from before these events.
    released: FxHashSet<BlockNo>,
}

impl Default for Live {
    fn default() -> Live {
        Live { acquired: BlockTable::new((BlockNo(0), Block::NONE)), released: FxHashSet::default() }
    }
}

impl Live {
    /// Adds events up to a time, units.
    fn add(&mut self, image: &Image, at: u64, events: &[Event]) -> ControlFlow<()> {
        for event in events.iter().take_while(|event| event.time <= Units(at)) {
            let Which::Number(number) = event.block else { continue };
            match event.op.effect() {
                Effect::Acquire if !event.op.is_pooled() => {
                    let Event { address, size, time, thread, .. } = *event;
                    let node = image.node(event.node);
                    let block = Block { address: address.0, size: size.0, time: time.0, node, thread };
                    self.acquired.insert(number.0, (number, block));
                }
                Effect::Release if self.acquired.remove(number.0).is_none() => _ = self.released.insert(number),
                _ => {}
            }
        }
        match events.last() {
            Some(event) if event.time > Units(at) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// What the chapters say of blocks that are live at a time.
#[derive(Default)]
struct Counted {
    /// By chapter: how many blocks are live at its end that were acquired in it, less those that later chapters release.
    left: Vec<(usize, i64)>,
    /// Blocks that chapters release which acquired them earlier, and when that was.
    released: Vec<(BlockNo, u64)>,
}

/// The blocks as the chapters tell; `None`: they contradict each other.
fn from_chapters(image: &Image, chapters: &Chapters, at: u64) -> Result<Option<Vec<Block>>, Unreadable> {
    let times = chapters.times();
    let whole = times.partition_point(|(_, last)| *last <= at);
    let mut cut = Live::default();
    if whole < times.len() && times[whole].0 <= at {
        chapters.for_each_events(whole, |events| cut.add(image, at, events))?;
    }
    let count = |counted: &mut Counted, number: usize| {
        let chapter = chapters.read(number, Wanted::All)?;
        let more = chapter.sites.iter().fold(0u64, |sum, (_, of)| sum.wrapping_add(of.live_blocks)) as i64;
        counted.left.push((number, more.wrapping_add(chapter.carried.len() as i64)));
        counted.released.extend(chapter.carried.iter().map(|block| (block.number, block.time.0)));
        Ok(())
    };
    let mut counted = parallel::fold(whole, count, |sum: &mut Counted, other| {
        sum.left.extend(other.left);
        sum.released.extend(other.released);
    })?;
    counted.left.sort_unstable();
    let mut left: Vec<i64> = counted.left.into_iter().map(|(_, left)| left).collect();
    if !cut.released.is_empty() {
        let carried = chapters.read(whole, Wanted::Carried)?.carried;
        let released = carried.iter().filter(|block| cut.released.contains(&block.number));
        counted.released.extend(released.map(|block| (block.number, block.time.0)));
    }
    // Blocks of one instant may be those of two chapters.
    let mut may_have_more = vec![false; whole];
    for (_, time) in &counted.released {
        let number = times[..whole].partition_point(|(_, last)| last < time);
        let Some(of_chapter) = left.get_mut(number) else { return Ok(None) };
        *of_chapter = of_chapter.wrapping_sub(1);
        let is_shared = |next: usize| next < whole && times[next].0 <= *time;
        (number..whole).take_while(|other| *other == number || is_shared(*other)).skip(1).for_each(|other| {
            may_have_more[number] = true;
            may_have_more[other] = true;
        });
    }
    let released: FxHashSet<BlockNo> = counted.released.into_iter().map(|(number, _)| number).collect();
    let read: Vec<usize> = (0..whole).filter(|number| left[*number] != 0 || may_have_more[*number]).collect();
    let blocks = parallel::fold(
        read.len(),
        |found: &mut Vec<Block>, place| {
            let mut live = Live::default();
            chapters.for_each_events(read[place], |events| live.add(image, at, events))?;
            let left = live.acquired.into_blocks().filter(|(number, _)| !released.contains(number));
            found.extend(left.map(|(_, block)| block));
            Ok(())
        },
        |sum: &mut Vec<Block>, other| sum.extend(other),
    )?;
    let expected = left.iter().fold(0i64, |sum, left| sum.wrapping_add(*left));
    let is_as_counted = blocks.len() as i64 == expected;
    let cut = cut.acquired.into_blocks().map(|(_, block)| block);
    Ok(is_as_counted.then(|| blocks.into_iter().chain(cut).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;

    /// Of a short recording, events tell; the end-to-end test of spans has chapters.
    #[test]
    fn live_blocks_are_those_of_the_sums() {
        let recording = golden("costs");
        let ended = recording.ended();
        let mut seen = 0;
        for at in [0, ended / 3, ended / 2, ended] {
            let (blocks, missing) = live_blocks(&recording, 0, at);
            assert!(missing.is_none(), "{missing:?}");
            let selection = memtoll_tally::Selection { to: Units(at), ..Default::default() };
            let sums = crate::sums::sums(&recording, selection);
            assert_eq!(blocks.iter().map(|block| block.size).sum::<u64>(), sums.total.live_bytes.0);
            assert_eq!(blocks.len() as u64, sums.total.live_blocks);
            assert!(blocks.windows(2).all(|pair| pair[0].end() <= pair[1].address), "blocks do not overlap");
            seen += blocks.len();
        }
        assert!(seen > 0);
    }
}
