//! The program's own mappings. With the live blocks they are what it has taken from the system, so there is a peak of both
//! together.
//!
//! Only calls for mappings and blocks of pools do work here: until live blocks are beyond a mark, there is no new peak,
//! with mappings or without.

use super::Tally;
use crate::aggregate::Select;
use memtoll_trace::chapter::Mapped;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::op::Op;
use memtoll_trace::summary::PeakWithMappings;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Calls give back whole pages. Bytes.
const PAGE: u64 = 4096;

/// Mappings of a program that has made some.
pub(super) struct OwnMappings {
    /// The address behind each, by its first address. They do not overlap.
    ends: BTreeMap<u64, u64>,
    /// All of them together.
    bytes: u64,
    /// Blocks of pools that lie in them, by number: so many bytes count as live blocks.
    handed_out: FxHashMap<u64, u64>,
    /// All of these together.
    handed_out_bytes: u64,
    /// Threads that are inside mremap of one of them.
    moving: FxHashSet<u32>,
    /// The highest sum so far.
    peak: PeakWithMappings,
}

impl OwnMappings {
    /// For a program of which only blocks have been seen; `peak` is theirs.
    fn new(peak: PeakWithMappings) -> OwnMappings {
        OwnMappings {
            ends: BTreeMap::new(),
            bytes: 0,
            handed_out: FxHashMap::default(),
            handed_out_bytes: 0,
            moving: FxHashSet::default(),
            peak,
        }
    }

    /// Mappings as they were when a chapter began.
    pub(super) fn resume(mapped: &Mapped) -> OwnMappings {
        let mut own = OwnMappings::new(PeakWithMappings::default());
        for &(start, length) in &mapped.ranges {
            own.remove(start, length);
            own.ends.insert(start, start.saturating_add(length));
        }
        own.bytes = own.ends.iter().map(|(start, end)| end - start).fold(0, u64::wrapping_add);
        own.moving = mapped.moving.iter().copied().collect();
        own
    }

    /// What a chapter that begins now must know.
    pub(super) fn mapped(&self) -> Mapped {
        let ranges = self.ends.iter().map(|(start, end)| (*start, end - start)).collect();
        let mut moving: Vec<u32> = self.moving.iter().copied().collect();
        moving.sort_unstable();
        Mapped { ranges, moving }
    }

    /// What counts beside the live blocks, bytes.
    pub(super) fn beside(&self) -> u64 {
        // Only in a damaged recording is more handed out than there is.
        self.bytes.saturating_sub(self.handed_out_bytes)
    }

    /// What is live is compared with the peak.
    fn look(&mut self, live: u64, time: u64) {
        let mapped = self.beside();
        if live.saturating_add(mapped) > self.peak.bytes() {
            self.peak = PeakWithMappings { block_bytes: live, mapped_bytes: mapped, time };
        }
    }

    fn changes(&mut self, event: &Event) {
        let Event { op, address, size, thread, .. } = *event;
        if op == Op::MREMAP.release_half() {
            if self.remove(address, size) {
                self.moving.insert(thread);
            }
            return;
        }
        // A file, or memory that nobody has seen, stays what it is when it moves.
        let is_own = match op {
            Op::MREMAP => self.moving.remove(&thread),
            Op::MMAP | Op::MMAP64 => op.maps_memory(event.detail),
            Op::MUNMAP => false,
            _ => return,
        };
        self.remove(address, size);
        let end = address.saturating_add(size);
        if is_own && address < end {
            self.ends.insert(address, end);
            self.bytes += end - address;
        }
    }

    /// What was there is gone. Returns whether any of it was the program's.
    fn remove(&mut self, start: u64, size: u64) -> bool {
        let end = start.saturating_add(size.checked_next_multiple_of(PAGE).unwrap_or(size));
        let before = self.bytes;
        while let Some((&from, &to)) = self.ends.range(..end).next_back()
            && to > start
        {
            self.ends.remove(&from);
            self.bytes -= to.min(end) - from.max(start);
            if from < start {
                self.ends.insert(from, start);
            }
            if to > end {
                self.ends.insert(end, to);
            }
        }
        self.bytes < before
    }

    /// How many of the bytes from `address` on lie in the mapping there.
    fn of(&self, address: u64, size: u64) -> u64 {
        let mapping = self.ends.range(..=address).next_back();
        mapping.map_or(0, |(_, end)| end.saturating_sub(address).min(size))
    }
}

impl<S: Select> Tally<S> {
    /// More is live than the mark that tells of new peaks.
    #[inline(always)]
    pub(super) fn rises(&mut self, time: u64) {
        if self.live_bytes > self.peak_bytes {
            self.peak_bytes = self.live_bytes;
            self.peak_time = time;
            self.peak += 1;
        }
        if self.own.is_none() && self.writing.is_none() {
            self.mark = self.peak_bytes;
        } else {
            self.looks_at_mappings(time);
        }
    }

    /// The peak with mappings, if it is now, and the mark.
    #[cold]
    pub(super) fn looks_at_mappings(&mut self, time: u64) {
        let in_window = self.in_window();
        let mut beside = 0;
        self.mark = self.peak_bytes;
        if let Some(own) = &mut self.own {
            beside = own.beside();
            if in_window {
                own.look(self.live_bytes, time);
            }
            self.mark = self.mark.min(own.peak.bytes().saturating_sub(beside));
        }
        if let Some(writing) = &mut self.writing {
            writing.look(self.live_bytes, beside, time);
            let with_mappings = writing.with_mappings.bytes().saturating_sub(beside);
            self.mark = self.mark.min(writing.highest).min(with_mappings);
        }
    }

    /// What was live and mapped before does not count.
    pub(super) fn begin_peaks(&mut self, time: u64) {
        self.peak += 1;
        self.peak_bytes = self.live_bytes;
        self.peak_time = time;
        if let Some(own) = &mut self.own {
            own.peak = PeakWithMappings { block_bytes: self.live_bytes, mapped_bytes: own.beside(), time };
        }
        self.looks_at_mappings(time);
    }

    /// A call of the program for mappings.
    #[cold]
    pub(super) fn mappings_change(&mut self, event: &Event) {
        if self.own.is_none() && !event.op.maps_memory(event.detail) {
            return;
        }
        let peak = self.peak_with_mappings();
        self.own.get_or_insert_with(|| Box::new(OwnMappings::new(peak))).changes(event);
        self.looks_at_mappings(event.time);
    }

    /// A pool hands out a block that does not lie in a block of the heap.
    pub(super) fn handed_out(&mut self, event: &Event) {
        let (Some(own), Block::Number(number)) = (&mut self.own, event.block) else { return };
        let bytes = own.of(event.address, event.size);
        if bytes > 0 {
            own.handed_out.insert(number, bytes);
            own.handed_out_bytes += bytes;
            self.looks_at_mappings(event.time);
        }
    }

    /// A block of a pool is no longer live.
    pub(super) fn handed_back(&mut self, event: &Event) {
        let (Some(own), Block::Number(number)) = (&mut self.own, event.block) else { return };
        if let Some(bytes) = own.handed_out.remove(&number) {
            own.handed_out_bytes -= bytes;
            self.looks_at_mappings(event.time);
        }
    }

    /// The highest sum of live blocks and the program's own mappings. It means something where all threads and sizes
    /// count.
    pub fn peak_with_mappings(&self) -> PeakWithMappings {
        let own = self.own.as_ref();
        if !self.in_window() {
            // Nothing has happened since the window began.
            let mapped_bytes = own.map_or(0, |own| own.beside());
            return PeakWithMappings { block_bytes: self.live_bytes, mapped_bytes, time: self.selection().from };
        }
        let of_blocks = PeakWithMappings { block_bytes: self.peak_bytes, mapped_bytes: 0, time: self.peak_time };
        own.map_or(of_blocks, |own| own.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Aggregator, Selection};
    use proptest::prelude::*;

    const MALLOC: Op = Op::MALLOC;
    const FREE: Op = Op::FREE;
    const ANONYMOUS: u16 = 1;
    /// Pages of the model's address space.
    const PAGES: usize = 16;

    fn event(op: Op, time: u64, block: Block, address: u64, size: u64, detail: u16) -> Event {
        Event { time, duration: 1, size, address, block, node: 10, thread: 1, detail, op }
    }

    fn sum(events: &[Event], selection: Selection) -> Aggregator {
        let mut aggregator = Aggregator::new(selection);
        events.iter().for_each(|event| aggregator.push(event));
        aggregator
    }

    fn peak(events: &[Event], from: u64) -> (u64, u64, u64) {
        let peak = sum(events, Selection { from, ..Selection::default() }).peak_with_mappings().unwrap();
        (peak.block_bytes, peak.mapped_bytes, peak.time)
    }

    #[test]
    fn of_a_page_that_is_not_asked_for_as_a_whole_all_is_given_back() {
        let events = [
            event(Op::MMAP, 1, Block::None, 0x10000, 0x1800, ANONYMOUS),
            event(Op::MUNMAP, 2, Block::None, 0x10000, 0x1001, 0),
            event(MALLOC, 3, Block::Number(0), 0x900000, 0x1700, 0),
        ];
        assert_eq!(peak(&events, 0), (0, 0x1800, 1));
        assert_eq!(peak(&events, 3), (0x1700, 0, 3));
    }

    #[test]
    fn some_sizes_have_no_sum_with_mappings() {
        assert!(sum(&[], Selection { min_size: 1, ..Selection::default() }).peak_with_mappings().is_none());
    }

    proptest! {
        /// Against a model that remembers every page and every block.
        #[test]
        fn the_peak_is_that_of_a_simple_model(
            steps in proptest::collection::vec((0u32..8, 0..PAGES, 1..PAGES, 0..PAGES), 1..200), from in 0u64..150,
        ) {
            let mut events = Vec::new();
            let mut own = [false; 2 * PAGES];
            let mut blocks: Vec<(u64, u64)> = Vec::new();
            let mut sums = vec![(0, 0, 0)]; // blocks, mapped, time
            let address = |page: usize| 0x10000 + page as u64 * PAGE;
            for (index, (kind, page, pages, to)) in steps.into_iter().enumerate() {
                let time = index as u64 + 1;
                let size = pages as u64 * PAGE;
                match kind {
                    0..3 => {
                        let detail = [ANONYMOUS, 0, ANONYMOUS | 1 << 7][kind as usize]; // memory, a file, no access
                        events.push(event(Op::MMAP, time, Block::None, address(page), size, detail));
                        own[page..page + pages].fill(kind == 0);
                    }
                    3 => {
                        events.push(event(Op::MUNMAP, time, Block::None, address(page), size, 0));
                        own[page..page + pages].fill(false);
                    }
                    4 => {
                        let any = own[page..page + pages].contains(&true);
                        own[page..page + pages].fill(false);
                        let half = Op::MREMAP.release_half();
                        events.push(event(half, time, Block::None, address(page), size, 0));
                        events.push(event(Op::MREMAP, time, Block::None, address(to), PAGE, 0));
                        own[to] = any;
                    }
                    5 if !blocks.is_empty() => {
                        let (number, _) = blocks.remove(page % blocks.len());
                        events.push(event(FREE, time, Block::Number(number), 0, 0, 0));
                    }
                    _ => {
                        let size = size / 3 + to as u64;
                        events.push(event(MALLOC, time, Block::Number(time), 0x900000, size, 0));
                        blocks.push((time, size));
                    }
                }
                let mapped = own.iter().filter(|own| **own).count() as u64 * PAGE;
                sums.push((blocks.iter().map(|block| block.1).sum(), mapped, time));
            }
            // A span begins with what was there, at its first event; the first of the highest sums counts.
            let last = sums.len() as u64 - 1;
            let begins = from.saturating_sub(1).min(last) as usize;
            let mut best = sums[begins];
            best.2 = if from > last { from } else { from.max(u64::from(from > 0)) };
            for &now in &sums[begins + 1..] {
                if now.0 + now.1 > best.0 + best.1 {
                    best = now;
                }
            }
            prop_assert_eq!(peak(&events, from), best);
        }
    }
}
