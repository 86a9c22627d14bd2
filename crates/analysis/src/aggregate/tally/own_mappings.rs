//! The program's own mappings. With the live blocks they are what it has taken from the system, so there is a peak of both
//! together.
//!
//! Only calls for mappings and blocks of pools do work here: until live blocks are beyond a mark, there is no new peak,
//! with mappings or without.

use super::Tally;
use crate::aggregate::Select;
use memtoll_trace::chapter::{Extents, Mapped};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::ThreadNo;
use memtoll_trace::op::Op;
use memtoll_trace::summary::PeakWithMappings;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Calls give back whole pages. Bytes.
const PAGE: u64 = 4096;

/// Mappings of one kind of a program.
#[derive(Default)]
struct Mappings {
    /// The address behind each, by its first address. They do not overlap.
    ends: BTreeMap<u64, u64>,
    /// All of them together.
    bytes: u64,
    /// Threads that are inside mremap of one of them.
    moving: FxHashSet<ThreadNo>,
}

impl Mappings {
    fn resume(extents: &Extents) -> Mappings {
        let mut mappings = Mappings::default();
        for &(start, length) in &extents.ranges {
            let end = start.saturating_add(length);
            mappings.take(start, end);
            mappings.put(start, end);
        }
        mappings.moving = extents.moving.iter().copied().collect();
        mappings
    }

    fn extents(&self) -> Extents {
        let ranges = self.ends.iter().map(|(start, end)| (*start, end - start)).collect();
        let mut moving: Vec<ThreadNo> = self.moving.iter().copied().collect();
        moving.sort_unstable();
        Extents { ranges, moving }
    }

    /// There is nothing of any kind.
    fn put(&mut self, start: u64, end: u64) {
        if start < end {
            self.ends.insert(start, end);
            self.bytes += end - start;
        }
    }

    /// What there was is gone. Returns its parts, the last one first.
    fn take(&mut self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut taken = Vec::new();
        while let Some((&from, &to)) = self.ends.range(..end).next_back()
            && to > start
        {
            self.ends.remove(&from);
            let part = (from.max(start), to.min(end));
            self.bytes -= part.1 - part.0;
            taken.push(part);
            if from < start {
                self.ends.insert(from, start);
            }
            if to > end {
                self.ends.insert(end, to);
            }
        }
        taken
    }

    /// How many of the bytes from `address` on lie in the mapping there.
    fn of(&self, address: u64, size: u64) -> u64 {
        let mapping = self.ends.range(..=address).next_back();
        mapping.map_or(0, |(_, end)| end.saturating_sub(address).min(size))
    }
}

/// Mappings of a program that has made some: files aside.
pub(super) struct OwnMappings {
    /// What the program can use.
    usable: Mappings,
    /// What it has reserved without access, or closed.
    reserved: Mappings,
    /// Blocks of pools that lie in usable ones, by number: so many bytes count as live blocks.
    handed_out: FxHashMap<u64, u64>,
    /// All of these together.
    handed_out_bytes: u64,
    /// The highest sum so far.
    peak: PeakWithMappings,
}

impl OwnMappings {
    /// For a program of which only blocks have been seen; `peak` is theirs.
    fn new(peak: PeakWithMappings) -> OwnMappings {
        OwnMappings {
            usable: Mappings::default(),
            reserved: Mappings::default(),
            handed_out: FxHashMap::default(),
            handed_out_bytes: 0,
            peak,
        }
    }

    /// Mappings as they were when a chapter began.
    pub(super) fn resume(mapped: &Mapped) -> OwnMappings {
        let (usable, reserved) = (Mappings::resume(&mapped.usable), Mappings::resume(&mapped.reserved));
        OwnMappings { usable, reserved, ..OwnMappings::new(PeakWithMappings::default()) }
    }

    /// What a chapter that begins now must know.
    pub(super) fn mapped(&self) -> Mapped {
        Mapped { usable: self.usable.extents(), reserved: self.reserved.extents() }
    }

    /// What counts beside the live blocks, bytes.
    pub(super) fn beside(&self) -> u64 {
        // Only in a damaged recording is more handed out than there is.
        self.usable.bytes.saturating_sub(self.handed_out_bytes)
    }

    /// What is live is compared with the peak.
    fn look(&mut self, live: u64, time: u64) {
        let mapped = self.beside();
        if live.saturating_add(mapped) > self.peak.bytes() {
            self.peak = PeakWithMappings { block_bytes: live, mapped_bytes: mapped, time };
        }
    }

    /// Returns how many bytes of what was only reserved can be used now.
    fn changes(&mut self, event: &Event) -> u64 {
        let Event { op, address, size, thread, detail, .. } = *event;
        // What is given back are whole pages. What is asked for may be less: it is shown as it was asked for.
        let (asked, end) = (address.saturating_add(size), address.saturating_add(whole_pages(size)));
        let OwnMappings { usable, reserved, .. } = self;
        if let Some(opens) = op.opens(detail) {
            let (from, to) = if opens { (reserved, usable) } else { (usable, reserved) };
            let parts = from.take(address, end);
            parts.iter().for_each(|(start, end)| to.put(*start, *end));
            return if opens { parts.iter().map(|(start, end)| end - start).sum() } else { 0 };
        }
        // A file, or memory that nobody has seen, stays what it is when it moves, and so does what is reserved.
        /// What there is at the addresses from now on.
        enum Becomes {
            Usable,
            Reserved,
            Nothing,
        }
        let becomes = match op {
            _ if op == Op::MREMAP.release_half() => {
                for kind in [usable, reserved] {
                    if !kind.take(address, end).is_empty() {
                        kind.moving.insert(thread);
                    }
                }
                return 0;
            }
            Op::MREMAP => match (usable.moving.remove(&thread), reserved.moving.remove(&thread)) {
                (true, _) => Becomes::Usable,
                (false, true) => Becomes::Reserved,
                (false, false) => Becomes::Nothing,
            },
            Op::MMAP | Op::MMAP64 if op.maps_memory(detail) => Becomes::Usable,
            Op::MMAP | Op::MMAP64 if op.reserves(detail) => Becomes::Reserved,
            Op::MMAP | Op::MMAP64 | Op::MUNMAP => Becomes::Nothing,
            _ => return 0,
        };
        usable.take(address, end);
        reserved.take(address, end);
        match becomes {
            Becomes::Usable => usable.put(address, asked),
            Becomes::Reserved => reserved.put(address, end),
            Becomes::Nothing => {}
        }
        0
    }
}

fn whole_pages(size: u64) -> u64 {
    size.checked_next_multiple_of(PAGE).unwrap_or(size)
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

    /// A call of the program for mappings. Returns how many bytes of what was only reserved can be used now.
    #[cold]
    pub(super) fn mappings_change(&mut self, event: &Event) -> u64 {
        let Event { op, detail, .. } = *event;
        if self.own.is_none() && !op.maps_memory(detail) && !op.reserves(detail) {
            return 0;
        }
        let peak = self.peak_with_mappings();
        let opened = self.own.get_or_insert_with(|| Box::new(OwnMappings::new(peak))).changes(event);
        self.looks_at_mappings(event.time);
        opened
    }

    /// A pool hands out a block that does not lie in a block of the heap.
    pub(super) fn handed_out(&mut self, event: &Event) {
        let (Some(own), Block::Number(number)) = (&mut self.own, event.block) else { return };
        let bytes = own.usable.of(event.address, event.size);
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

    /// Bytes of the program's own mappings now, beside blocks.
    pub(in crate::aggregate) fn mapped_bytes(&self) -> u64 {
        self.own.as_ref().map_or(0, |own| own.beside())
    }

    /// The highest sum of live blocks and the program's own mappings. It means something where all threads and sizes
    /// count.
    pub fn peak_with_mappings(&self) -> PeakWithMappings {
        let own = self.own.as_ref();
        if !self.in_window() {
            // Nothing has happened since the window began.
            let mapped_bytes = self.mapped_bytes();
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
    use memtoll_trace::ids::NodeId;
    use proptest::prelude::*;

    const MALLOC: Op = Op::MALLOC;
    const FREE: Op = Op::FREE;
    const ANONYMOUS: u16 = 1;
    const CLOSED: u16 = 1 << 7;
    /// Pages of the model's address space.
    const PAGES: usize = 16;

    #[derive(Clone, Copy, PartialEq)]
    enum Page {
        NotOwn,
        Usable,
        Reserved,
    }

    fn event(op: Op, time: u64, block: Block, address: u64, size: u64, detail: u16) -> Event {
        Event { time, duration: 1, size, address, block, node: NodeId::new(10), thread: ThreadNo::FIRST, detail, op }
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
            steps in proptest::collection::vec((0u32..10, 0..PAGES, 1..PAGES, 0..PAGES), 1..200), from in 0u64..150,
        ) {
            let mut events = Vec::new();
            let mut own = [Page::NotOwn; 2 * PAGES];
            let mut blocks: Vec<(u64, u64)> = Vec::new();
            let mut sums = vec![(0, 0, 0)]; // blocks, mapped, time
            let address = |page: usize| 0x10000 + page as u64 * PAGE;
            for (index, (kind, page, pages, to)) in steps.into_iter().enumerate() {
                let time = index as u64 + 1;
                let size = pages as u64 * PAGE;
                match kind {
                    0..3 => {
                        let (detail, becomes) = [
                            (ANONYMOUS, Page::Usable), (0, Page::NotOwn), (ANONYMOUS | CLOSED, Page::Reserved)
                        ][kind as usize];
                        events.push(event(Op::MMAP, time, Block::None, address(page), size, detail));
                        own[page..page + pages].fill(becomes);
                    }
                    3 => {
                        events.push(event(Op::MUNMAP, time, Block::None, address(page), size, 0));
                        own[page..page + pages].fill(Page::NotOwn);
                    }
                    4 => {
                        let kinds = [Page::Usable, Page::Reserved];
                        let becomes = kinds.into_iter().find(|kind| own[page..page + pages].contains(kind));
                        own[page..page + pages].fill(Page::NotOwn);
                        let half = Op::MREMAP.release_half();
                        events.push(event(half, time, Block::None, address(page), size, 0));
                        events.push(event(Op::MREMAP, time, Block::None, address(to), PAGE, 0));
                        own[to] = becomes.unwrap_or(Page::NotOwn);
                    }
                    8 | 9 => {
                        let (detail, from, to) = match kind {
                            8 => (0, Page::Reserved, Page::Usable),
                            _ => (CLOSED, Page::Usable, Page::Reserved),
                        };
                        // Of its last page, it is enough to name the first byte.
                        events.push(event(Op::MPROTECT, time, Block::None, address(page), size - PAGE + 1, detail));
                        own[page..page + pages].iter_mut().filter(|own| **own == from).for_each(|own| *own = to);
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
                let mapped = own.iter().filter(|own| **own == Page::Usable).count() as u64 * PAGE;
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
