//! Which live blocks keep free memory from being given back.
//!
//! The least that an allocator can give back is a *unit*: of glibc, a page that lies wholly between two chunks; of jemalloc, a slab. A unit is pinned by
//! the lines that have blocks in it. Of what is free there, each of them has an equal share (the Shapley value, so that shares add
//! up); alone, a line has the units that no other line pins. A node of the stack tree has alone what only blocks below it pin: the
//! units whose blocks have no common caller closer to them than it.

use super::Part;
use super::arenas::heap;
use super::cached_chunks::CachedChunks;
use super::callers::{Callers, HeldBelow};
use super::chunks::{self, FREE_HEADER};
use super::page_map::{Owner, PageMap};
use super::program_memory::ProgramMemory;
use super::units::Unit;
use crate::live_blocks::Block;
use crate::stacks::Stacks;
use memtoll_model::{FrameId, StackId};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A line that pins free memory.
#[derive(Clone, Debug)]
pub struct Pin {
    /// The line's frame; `None`: its blocks have no stack.
    pub frame: Option<FrameId>,
    /// Its part of what is pinned, bytes.
    pub share: u64,
    /// Resident bytes of the units that it alone pins: what comes back when its blocks vanish.
    pub alone: u64,
    /// Its blocks in units with free memory, how many, their bytes, and the median of their ages, units of time.
    pub blocks: u64,
    pub bytes: u64,
    pub median_age: u64,
    /// The stack nodes of these blocks.
    pub nodes: Vec<StackId>,
    /// Of `alone`, units with free memory, what is free in them, and those that a chunk in a thread's cache keeps, too, bytes.
    pub alone_pinned: u64,
    pub alone_free: u64,
    pub cached: u64,
    /// How many sizes of chunks these blocks have that threads keep.
    pub sizes: u64,
}

/// What a block holds, bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct OfBlock {
    /// Its own that are in memory, and those that are swapped out.
    pub resident: u64,
    pub swapped: u64,
    /// In memory beside it, for its header and its rounding.
    pub slack: u64,
    /// Its part of the free memory in its units: lines have equal parts, and so have blocks of a line.
    pub pinned: u64,
}

/// What blocks hold.
pub(super) struct Held {
    pub live: u64,
    pub slack: u64,
    pub pinned: u64,
    pub free: u64,
    /// By block, in their order.
    pub blocks: Vec<OfBlock>,
    pub pins: Vec<Pin>,
    pub below: Option<HeldBelow>,
    /// Free pages, by address, without those on which a chunk lies that a thread keeps; these are `free_cached` bytes.
    pub free_ranges: Vec<Range<u64>>,
    pub free_cached: u64,
    /// Bytes of pinned units on which such chunks lie.
    pub cached: u64,
    /// Bytes of glibc's heaps of threads that are in memory, and what of them is free.
    pub in_arenas: u64,
    pub free_in_arenas: u64,
    /// What each block takes, by address.
    pub spans: Vec<Range<u64>>,
    /// The line of each node that has blocks.
    pub frame_of: FxHashMap<StackId, Option<FrameId>>,
    pub map: Option<PageMap>,
}

/// What is on a page.
struct Taken {
    live: u64,
    slack: u64,
    free: u64,
    /// The blocks on it.
    blocks: Range<usize>,
    /// The one with most bytes, and how many these are.
    largest: Option<(usize, u64)>,
}

/// A unit with blocks: which of `blocks` lie in it, its bytes in memory, and those of them that are free.
struct Pinned {
    blocks: Range<u32>,
    resident: u64,
    free: u64,
    /// Whether a chunk lies there that a thread keeps.
    is_cached: bool,
}

/// What comes back without the blocks of a line, bytes.
#[derive(Clone, Copy, Default)]
struct Alone {
    resident: u64,
    pinned: u64,
    free: u64,
    cached: u64,
}

impl Alone {
    fn add(&mut self, unit: &Pinned) {
        self.resident += unit.resident;
        if unit.free > 0 {
            self.pinned += unit.resident;
            self.free += unit.free;
            self.cached += if unit.is_cached { unit.resident } else { 0 };
        }
    }
}

pub(super) struct Pinning<'a> {
    blocks: &'a [Block],
    memory: &'a ProgramMemory,
    spans: Vec<Range<u64>>,
    unit: Unit,
    page: u64,
    /// The first block that may reach what comes next.
    next: usize,
    held: Vec<OfBlock>,
    free: u64,
    /// By address. Where blocks say which units there are, these are all of them.
    pinned: Vec<Pinned>,
    around: Vec<Range<u64>>,
    next_around: usize,
    next_cached: usize,
    free_ranges: Vec<Range<u64>>,
    free_cached: u64,
    in_arenas: u64,
    free_in_arenas: u64,
    /// Where all of it is drawn, if it is.
    pub map: Option<PageMap>,
}

impl<'a> Pinning<'a> {
    pub fn new(memory: &'a ProgramMemory, unit: Unit, page: u64, map: Option<PageMap>) -> Pinning<'a> {
        let blocks = &memory.blocks[..];
        let mut spans: Vec<Range<u64>> = blocks.iter().map(|block| unit.span(block)).collect();
        // No chunk reaches into the next one.
        for index in 1..spans.len() {
            let next = spans[index].start;
            let before = &mut spans[index - 1];
            before.end = before.end.min(next).max(before.start);
        }
        let mut around: Vec<Range<u64>> = Vec::new();
        let mut pinned: Vec<Pinned> = Vec::new();
        for (index, range) in blocks.iter().map(|block| unit.around(block)).enumerate() {
            let (Some(range), index) = (range, index as u32) else { break };
            match (around.last_mut(), pinned.last_mut()) {
                (Some(last), Some(unit)) if last.end > range.start => {
                    last.end = last.end.max(range.end);
                    unit.blocks.end = index + 1;
                }
                _ => {
                    around.push(range);
                    pinned.push(Pinned { blocks: index..index + 1, resident: 0, free: 0, is_cached: false });
                }
            }
        }
        Pinning {
            blocks,
            memory,
            spans,
            unit,
            page,
            next: 0,
            held: vec![OfBlock::default(); blocks.len()],
            free: 0,
            pinned,
            around,
            next_around: 0,
            next_cached: 0,
            free_ranges: Vec::new(),
            free_cached: 0,
            in_arenas: 0,
            free_in_arenas: 0,
            map,
        }
    }

    /// Pages of the allocator's, by address.
    pub fn allocators(&mut self, range: Range<u64>, swapped: bool) {
        match self.unit {
            Unit::Page => self.each_page(range, |pinning, page| pinning.page(&page, swapped)),
            Unit::Slab => self.slabs(range, swapped),
            Unit::Unknown(_) => self.each_page(range, |pinning, page| {
                let taken = pinning.taken(&page, swapped);
                pinning.free += taken.free;
                pinning.draw(&page, &taken, Part::FreePages, swapped);
            }),
        }
    }

    /// Cuts a range at the borders of pages.
    fn each_page(&mut self, range: Range<u64>, mut with: impl FnMut(&mut Self, Range<u64>)) {
        let mut start = range.start;
        while start < range.end {
            let page = start..range.end.min((start + 1).next_multiple_of(self.page));
            start = page.end;
            with(self, page);
        }
    }

    /// What is on a page, which is behind those before. What its blocks hold is counted.
    fn taken(&mut self, page: &Range<u64>, swapped: bool) -> Taken {
        while self.spans.get(self.next).is_some_and(|span| span.end <= page.start) {
            self.next += 1;
        }
        let within = |of: &Range<u64>| of.end.min(page.end).saturating_sub(of.start.max(page.start));
        let (mut live, mut slack, mut index) = (0, 0, self.next);
        let mut largest: Option<(usize, u64)> = None;
        while let Some(span) = self.spans.get(index).filter(|span| span.start < page.end) {
            // Without what the next block reaches over, in a file that is damaged.
            let block = &self.blocks[index];
            let own = block.address.max(span.start)..block.address.saturating_add(block.size).min(span.end);
            let (own, all) = (within(&own), within(span));
            let held = &mut self.held[index];
            if swapped {
                held.swapped += own;
            } else {
                held.resident += own;
                held.slack += all - own;
            }
            (live, slack) = (live + own, slack + all - own);
            if largest.is_none_or(|(_, bytes)| all > bytes) {
                largest = Some((index, all));
            }
            index += 1;
        }
        let free = if swapped { 0 } else { (page.end - page.start) - live - slack };
        Taken { live, slack, free, blocks: self.next..index, largest }
    }

    /// Draws a page of which what is free is this part.
    fn draw(&mut self, page: &Range<u64>, taken: &Taken, free: Part, swapped: bool) {
        let Some(map) = self.map.as_mut().filter(|_| !swapped) else { return };
        let parts = [(Part::Live, taken.live), (Part::Slack, taken.slack), (free, taken.free)];
        let owner = taken.largest.map(|(index, _)| Owner::Stack(self.blocks[index].node));
        map.page(page.start, &parts, owner.as_ref(), taken.largest.map_or(0, |(_, bytes)| bytes));
    }

    fn page(&mut self, page: &Range<u64>, swapped: bool) {
        let taken = self.taken(page, swapped);
        let (free, mut on_it) = (taken.free, taken.blocks.clone());
        // The begin of a free chunk stays where it is.
        if on_it.is_empty()
            && let Some(before) = on_it.start.checked_sub(1)
            && self.spans[before].end + FREE_HEADER > page.start
            && self.spans[before].end <= page.start
        {
            on_it = before..before + 1;
        }
        self.draw(page, &taken, if on_it.is_empty() { Part::FreePages } else { Part::Pinned }, swapped);
        if swapped {
            return;
        }
        let is_cached = self.is_cached(page);
        let is_mapped_alone = on_it.len() == 1 && chunks::is_mapped_alone(&self.blocks[on_it.start]);
        if !is_mapped_alone && heap(page.start, self.memory.arenas.main()).is_some() {
            self.in_arenas += page.end - page.start;
            self.free_in_arenas += free;
        }
        match (on_it.is_empty(), is_cached) {
            (true, false) => self.free_range(page),
            (true, true) => {
                self.free += free;
                self.free_cached += free;
            }
            (false, _) => {
                let blocks = on_it.start as u32..on_it.end as u32;
                self.pinned.push(Pinned { blocks, resident: page.end - page.start, free, is_cached });
            }
        }
    }

    fn free_range(&mut self, range: &Range<u64>) {
        self.free += range.end - range.start;
        match self.free_ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.free_ranges.push(range.clone()),
        }
    }

    /// Whether a chunk that a thread keeps lies on a page, or reaches so close that the free chunk behind it begins there.
    fn is_cached(&mut self, page: &Range<u64>) -> bool {
        let cached = &self.memory.cached;
        while cached.get(self.next_cached).is_some_and(|chunk| chunk.end + FREE_HEADER <= page.start) {
            self.next_cached += 1;
        }
        cached.get(self.next_cached).is_some_and(|chunk| chunk.start < page.end)
    }

    fn slabs(&mut self, range: Range<u64>, swapped: bool) {
        let mut start = range.start;
        while start < range.end {
            while self.around.get(self.next_around).is_some_and(|unit| unit.end <= start) {
                self.next_around += 1;
            }
            let unit = self.around.get(self.next_around).cloned().unwrap_or(range.end..range.end);
            let is_inside = unit.start <= start;
            let end = if is_inside { unit.end.min(range.end) } else { unit.start.min(range.end) };
            let number = self.next_around;
            let is_pinned = is_inside && self.pinned.get(number).is_some();
            self.each_page(start..end, |pinning, page| {
                let taken = pinning.taken(&page, swapped);
                pinning.draw(&page, &taken, if is_pinned { Part::Pinned } else { Part::FreePages }, swapped);
                match pinning.pinned.get_mut(number).filter(|_| is_pinned && !swapped) {
                    Some(pinned) => {
                        pinned.free += taken.free;
                        pinned.resident += page.end - page.start;
                    }
                    None if swapped => {}
                    None => pinning.free_range(&page),
                }
            });
            start = end;
        }
    }

    /// At a time, units.
    pub fn finish(self, stacks: &mut Stacks, at: u64) -> Held {
        let Pinning { blocks, spans, mut held, free, pinned: units, map, .. } = self;
        let (free_ranges, free_cached) = (self.free_ranges, self.free_cached);
        let mut callers = Callers::default();
        let mut by_frame: FxHashMap<Option<FrameId>, usize> = FxHashMap::default();
        let mut line_of_node: FxHashMap<StackId, usize> = FxHashMap::default();
        let mut frames: Vec<Option<FrameId>> = Vec::new();
        let mut line_of = |node: StackId| {
            *line_of_node.entry(node).or_insert_with(|| {
                let leading = stacks.leading(node).leading;
                let frame = stacks.first(leading);
                *by_frame.entry(frame).or_insert_with(|| {
                    frames.push(frame);
                    frames.len() - 1
                })
            })
        };
        let line_of_blocks: Vec<usize> = blocks.iter().map(|block| line_of(block.node)).collect();
        let mut shares = vec![0; frames.len()];
        let mut alone = vec![Alone::default(); frames.len()];
        let mut counted: Vec<Vec<u32>> = vec![Vec::new(); frames.len()];
        let mut last = None;
        for (number, pinned) in units.iter().enumerate().filter(|(_, unit)| unit.resident > 0) {
            let on_it = || pinned.blocks.clone().filter_map(|index| blocks.get(index as usize));
            let line_of_block = &line_of_blocks[pinned.blocks.start as usize..pinned.blocks.end as usize];
            for (line, index) in line_of_block.iter().zip(pinned.blocks.clone()) {
                if pinned.free > 0 && last < Some(index) {
                    counted[*line].push(index);
                    last = Some(index);
                }
            }
            let mut lines = line_of_block.to_vec();
            lines.sort_unstable();
            lines.dedup();
            for (line, share) in lines.iter().zip(equal_parts(pinned.free, lines.len(), number)) {
                shares[*line] += share;
                let own = || line_of_block.iter().zip(pinned.blocks.clone()).filter(|(of, _)| *of == line);
                for ((_, index), part) in own().zip(equal_parts(share, own().count(), number)) {
                    held[index as usize].pinned += part;
                }
            }
            if let [line] = lines[..] {
                alone[line].add(pinned);
            }
            callers.keep(stacks, on_it().map(|block| block.node), pinned.resident, pinned.free);
        }
        let pinned = units.iter().map(|unit| unit.free).sum();
        let mut pins: Vec<Pin> = Vec::new();
        for (line, frame) in frames.iter().enumerate() {
            let mut ages: Vec<u64> =
                counted[line].iter().map(|index| at.saturating_sub(blocks[*index as usize].time)).collect();
            ages.sort_unstable();
            let mut nodes: Vec<StackId> = counted[line].iter().map(|index| blocks[*index as usize].node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let mut sizes: Vec<u64> = counted[line]
                .iter()
                .map(|index| chunks::chunk(&blocks[*index as usize]))
                .map(|chunk| chunk.end - chunk.start)
                .filter(|size| CachedChunks::has_size(*size))
                .collect();
            sizes.sort_unstable();
            sizes.dedup();
            let Alone { resident, pinned, free, cached } = alone[line];
            pins.push(Pin {
                frame: *frame,
                share: shares[line],
                alone: resident,
                alone_pinned: pinned,
                alone_free: free,
                cached,
                sizes: sizes.len() as u64,
                blocks: ages.len() as u64,
                bytes: counted[line].iter().map(|index| blocks[*index as usize].size).sum(),
                median_age: ages.get(ages.len() / 2).copied().unwrap_or(0),
                nodes,
            });
        }
        pins.retain(|pin| pin.share > 0);
        pins.sort_by_key(|pin| (std::cmp::Reverse(pin.share), pin.frame));
        let frame_of = line_of_node.into_iter().map(|(node, line)| (node, frames[line])).collect();
        let (live, slack) =
            held.iter().fold((0, 0), |(live, slack), block| (live + block.resident, slack + block.slack));
        Held {
            live,
            slack,
            pinned,
            free,
            blocks: held,
            pins,
            below: callers.innermost(pinned),
            map,
            free_ranges,
            free_cached,
            cached: units.iter().filter(|unit| unit.is_cached).map(|unit| unit.resident).sum(),
            in_arenas: self.in_arenas,
            free_in_arenas: self.free_in_arenas,
            spans,
            frame_of,
        }
    }
}

/// Cuts bytes into equal parts. Those that are left over go to one part after the other, beginning with another one for each `turn`:
/// so no part gets all of them, and the sum of the parts is exact.
fn equal_parts(bytes: u64, parts: usize, turn: usize) -> impl Iterator<Item = u64> {
    let (each, over) = (bytes / parts.max(1) as u64, bytes as usize % parts.max(1));
    (0..parts).map(move |part| each + u64::from((part + turn) % parts < over))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_add_up() {
        assert_eq!(equal_parts(11, 4, 0).collect::<Vec<u64>>(), [3, 3, 3, 2]);
        assert_eq!(equal_parts(11, 4, 1).collect::<Vec<u64>>(), [3, 3, 2, 3]);
        assert_eq!(equal_parts(2, 3, 5).sum::<u64>(), 2);
        assert_eq!(equal_parts(7, 0, 1).count(), 0);
    }
}
