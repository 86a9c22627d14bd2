//! Sums with a memory of the live blocks.

use crate::block_table::BlockTable;
use crate::{LiveBlock, Part, Select, Selection, Tally, Threads};
use memtoll_trace::chapter::Chapter;
use memtoll_trace::costs::Cost;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Bytes, NodeId};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::op::Effect;
use memtoll_trace::pattern::Pattern;
use memtoll_trace::summary::{LiveCurve, PeakWithMappings};

/// Adds up events, in the order of their times. It remembers the live blocks; who does so anyway uses a [`Tally`].
pub struct Aggregator<S = Part> {
    pub(crate) tally: Tally<S>,
    pub(crate) blocks: BlockTable<LiveBlock>,
}

impl Aggregator {
    /// Goes on where a chapter begins, see [`Tally::resume`].
    pub(crate) fn resume(
        &mut self,
        chapter: &Chapter,
        live: impl Iterator<Item = (Option<NodeId>, u64, (Bytes, u64))>,
        curve: LiveCurve,
        window: Option<u64>,
    ) {
        self.tally.resume(chapter, live, curve, window);
        for block in &chapter.carried {
            self.blocks.insert(block.number.0, self.tally.carried(block));
        }
    }

    /// Goes on with the chapter behind those that it was given: of what was live before these, the blocks are known now that are
    /// released in it.
    pub(crate) fn go_on(&mut self, chapter: &Chapter) {
        self.tally.begin_chapter(chapter);
        for block in &chapter.carried {
            if self.blocks.get(block.number.0).is_none() {
                self.blocks.insert(block.number.0, self.tally.carried(block));
            }
        }
    }

    /// Goes on where a chapter begins. Of what was live before, it knows the blocks that are released in the chapter, and
    /// how many bytes they all have.
    pub fn continuing(chapter: &Chapter) -> Self {
        let mut aggregator = Aggregator::new(Selection::default());
        aggregator.resume(chapter, std::iter::empty(), LiveCurve::default(), None);
        aggregator
    }

    /// For an image of which no event has been seen.
    pub fn new(selection: Selection) -> Self {
        Aggregator::of_part(Part::all(selection))
    }

    /// The same for some of the image's threads: for what they call and pay. A block is theirs if they allocated it,
    /// any thread frees it; a free and its time belong to the thread that called it, whichever thread's block it was.
    ///
    /// Of threads as of sizes, a peak is their share of the image's peak, as it is of call sites.
    pub fn of(selection: Selection, threads: Threads) -> Self {
        Aggregator::of_part(Part::of(selection, threads))
    }

    /// The same.
    pub fn of_part(part: Part) -> Self {
        Aggregator { tally: Tally::new(part), blocks: BlockTable::new(LiveBlock::NONE) }
    }
}

impl<S: Select> Aggregator<S> {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: &Event) {
        if !self.tally.admits(event) {
            return;
        }
        let pooled = event.op.is_pooled();
        match event.op.effect() {
            Effect::Acquire => {
                let block = if pooled { self.tally.acquire_pooled(event) } else { self.tally.acquire(event) };
                if let (Some(block), Block::Number(number)) = (block, event.block) {
                    self.blocks.insert(number.0, block);
                }
            }
            Effect::Release => {
                let block = match event.block {
                    Block::Number(number) => self.blocks.remove(number.0),
                    _ => None,
                };
                if pooled {
                    self.tally.release_pooled(event, block);
                } else if let Some(larger) = self.tally.release(event, block)
                    && let Some(block) = self.blocks.get_mut(larger.number)
                {
                    block.set_steps(larger.steps);
                }
            }
            Effect::Lend => {
                let block = match event.block {
                    Block::Number(number) => self.blocks.get(number.0),
                    _ => None,
                };
                self.tally.lend(event, block);
            }
            Effect::Other => self.tally.other(event),
        }
    }

    /// Adds a cost, in any order.
    pub fn cost(&mut self, cost: &Cost) {
        self.tally.cost(cost);
    }

    /// Each site's stack node, what it was split by, and its sums. `is_cut_off` says of a stack node whether its stack
    /// is not complete.
    pub fn sites(
        &mut self,
        is_cut_off: impl FnMut(Option<NodeId>) -> bool,
    ) -> impl ExactSizeIterator<Item = (Option<NodeId>, u64, Metrics)> {
        self.tally.sites(is_cut_off)
    }

    /// From now on, patterns can be taken. To be said before the first event.
    pub fn keep_patterns(&mut self) {
        self.tally.keep_patterns();
    }

    /// Whether the span has begun.
    pub fn has_begun(&self) -> bool {
        self.tally.has_begun()
    }

    /// How each stack node used memory since the last time that this was asked.
    pub fn take_patterns(&mut self) -> Vec<(Option<NodeId>, Pattern)> {
        self.tally.take_patterns()
    }

    /// Bytes live after the last event, of all threads and sizes.
    pub fn live_bytes(&self) -> u64 {
        self.tally.live_bytes()
    }

    /// Live bytes over time, of all threads and sizes.
    pub fn curve(&self) -> LiveCurve {
        self.tally.curve()
    }

    /// There are no more events. Where none was in the selected time, it has what was live when it began.
    pub fn settle(&mut self) {
        self.tally.settle();
    }

    /// When live bytes were at their peak, units.
    pub fn peak_time(&self) -> u64 {
        self.tally.peak_time()
    }

    /// The peak of live blocks and the program's own mappings together, if all threads and sizes count.
    pub fn peak_with_mappings(&self) -> Option<PeakWithMappings> {
        self.tally.counts_all_parts().then(|| self.tally.peak_with_mappings())
    }
}

#[cfg(test)]
mod tests;
