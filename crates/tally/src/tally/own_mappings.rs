//! The program's own mappings. What it has touched of them is, with the live blocks, what it has taken from the system, so there
//! is a peak of both together. What it has not touched is only reserved.
//!
//! Only calls for mappings and blocks of pools do work here: until live blocks are beyond a mark, there is no new peak,
//! with mappings or without.

use super::Tally;
use crate::Select;
use memtoll_trace::chapter::{Extents, Mapped};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Bytes, ThreadNo};
use memtoll_trace::op::Op;
use memtoll_trace::summary::PeakWithMappings;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Calls give back whole pages. Bytes.
const PAGE: u64 = 4096;

/// Samples of page faults say about how many pages were touched, not which: the rest is taken to be near. Bytes.
const NEAR: u64 = 64 << 20;

/// Mappings of one kind of a program.
#[derive(Default)]
struct Mappings {
    /// The address behind each, by its first address. They do not overlap or touch each other.
    ends: BTreeMap<u64, u64>,
    /// All of them together.
    bytes: u64,
    /// What threads that are inside mremap move: first byte and length of each part, from where the mapping begins.
    moving: FxHashMap<ThreadNo, Vec<(u64, u64)>>,
}

impl Mappings {
    fn resume(extents: &Extents) -> Mappings {
        let mut mappings = Mappings::default();
        for &(start, length) in &extents.ranges {
            let end = start.saturating_add(length);
            mappings.take(start, end);
            mappings.put(start, end);
        }
        mappings.moving = extents.moving.iter().cloned().collect();
        mappings
    }

    fn extents(&self) -> Extents {
        let ranges = self.ends.iter().map(|(start, end)| (*start, end - start)).collect();
        let mut moving: Vec<_> = self.moving.iter().map(|(thread, ranges)| (*thread, ranges.clone())).collect();
        moving.sort_unstable();
        Extents { ranges, moving }
    }

    /// There is nothing of any kind.
    fn put(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        self.bytes += end - start;
        if let Some((&before, &touches)) = self.ends.range(..start).next_back()
            && touches == start
        {
            start = before;
        }
        if let Some(behind) = self.ends.remove(&end) {
            end = behind;
        }
        self.ends.insert(start, end);
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

    /// How many bytes of `start..end` lie in them.
    fn within(&self, start: u64, end: u64) -> u64 {
        let before = self.ends.range(..=start).next_back().map(|(from, to)| (*from, *to));
        let behind = self.ends.range(start.saturating_add(1)..end.max(start.saturating_add(1)));
        let all = before.into_iter().chain(behind.map(|(from, to)| (*from, *to)));
        all.map(|(from, to)| to.min(end).saturating_sub(from.max(start))).sum()
    }
}

/// What a part of the program's own mappings is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The program uses it.
    Touched,
    /// It can use it, and has not touched it, or has given its pages back.
    Untouched,
    /// It used it, and has closed it.
    Closed,
    /// It has reserved it without access.
    Reserved,
}

use Kind::*;

/// Mappings of a program that has made some: files aside.
pub(super) struct OwnMappings {
    /// By [`Kind`].
    kinds: [Mappings; 4],
    /// Bytes of blocks of pools that lie in usable mappings, by number: they count as live blocks.
    handed_out: FxHashMap<u64, u64>,
    /// All of these together.
    handed_out_bytes: u64,
    /// The highest sum so far.
    peak: PeakWithMappings,
}

impl OwnMappings {
    /// For a program of which only blocks have been seen; `peak` is theirs.
    fn new(peak: PeakWithMappings) -> OwnMappings {
        OwnMappings { kinds: Default::default(), handed_out: FxHashMap::default(), handed_out_bytes: 0, peak }
    }

    /// Mappings as they were when a chapter began.
    pub(super) fn resume(mapped: &Mapped) -> OwnMappings {
        let Mapped { touched, untouched, closed, reserved } = mapped;
        let kinds = [touched, untouched, closed, reserved].map(Mappings::resume);
        OwnMappings { kinds, ..OwnMappings::new(PeakWithMappings::default()) }
    }

    /// What a chapter that begins now must know.
    pub(super) fn mapped(&self) -> Mapped {
        let [touched, untouched, closed, reserved] = self.kinds.each_ref().map(Mappings::extents);
        Mapped { touched, untouched, closed, reserved }
    }

    fn of(&mut self, kind: Kind) -> &mut Mappings {
        &mut self.kinds[kind as usize]
    }

    fn bytes(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize].bytes
    }

    /// What counts beside the live blocks, bytes.
    pub(super) fn beside(&self) -> u64 {
        // Only in a damaged recording is more handed out than there is.
        self.bytes(Touched).saturating_sub(self.handed_out_bytes)
    }

    /// What is only reserved, bytes.
    pub(super) fn reserved(&self) -> u64 {
        self.bytes(Untouched) + self.bytes(Closed) + self.bytes(Reserved)
    }

    /// As a peak, now.
    fn now(&self, live: u64, time: u64) -> PeakWithMappings {
        PeakWithMappings { block_bytes: live, mapped_bytes: self.beside(), reserved_bytes: self.reserved(), time }
    }

    /// What is live is compared with the peak.
    fn look(&mut self, live: u64, time: u64) {
        let now = self.now(live, time);
        if now.bytes() > self.peak.bytes() {
            self.peak = now;
        }
    }

    /// What is of one kind becomes another one. Returns how many bytes that is.
    fn turn(&mut self, from: Kind, to: Kind, start: u64, end: u64) -> u64 {
        let parts = self.of(from).take(start, end);
        parts.iter().for_each(|(start, end)| self.of(to).put(*start, *end));
        parts.iter().map(|(start, end)| end - start).sum()
    }

    /// Pages are touched. Returns how many bytes of them were already, or are of no kind here.
    fn touch(&mut self, start: u64, end: u64) -> u64 {
        (end - start).saturating_sub(self.turn(Untouched, Touched, start, end))
    }

    /// As many pages are touched, but perhaps others near these.
    fn touch_about(&mut self, start: u64, end: u64) {
        let mut left = self.touch(start, end);
        while left > 0 {
            let free = &self.of(Untouched).ends;
            let above = free.range(end..end.saturating_add(NEAR)).next().map(|(from, to)| (*from, *to));
            let below = || free.range(..start).next_back().map(|(from, to)| (*from, *to));
            let part = match above {
                Some((from, to)) => (from, to.min(from.saturating_add(left))),
                None => match below().filter(|(_, to)| start.saturating_sub(*to) <= NEAR) {
                    Some((from, to)) => (from.max(to.saturating_sub(left)), to),
                    None => return,
                },
            };
            left -= self.turn(Untouched, Touched, part.0, part.1);
        }
    }

    /// A block of a pool lies in usable memory, which counts as touched. Returns how much of it does.
    fn lends(&mut self, start: u64, end: u64) -> u64 {
        self.touch(start, end);
        self.of(Touched).within(start, end)
    }

    /// Returns how many bytes of what was only reserved can be used now.
    fn changes(&mut self, event: &Event) -> u64 {
        let Event { op, address, size, thread, detail, .. } = *event;
        // What is given back are whole pages. What is asked for may be less: it is shown as it was asked for.
        let (asked, end) = (address.saturating_add(size), address.saturating_add(Bytes(whole_pages(size.0))));
        if let Some(opens) = op.opens(detail) {
            let turns = [(Closed, Touched), (Reserved, Untouched)];
            let turn = |own: &mut OwnMappings, (closed, open)| match opens {
                true => own.turn(closed, open, address.0, end.0),
                false => {
                    own.turn(open, closed, address.0, end.0);
                    0
                }
            };
            return turns.into_iter().map(|kinds| turn(self, kinds)).sum();
        }
        match op.fills(detail) {
            Some(true) if op == Op::TOUCHED && detail != 0 => self.touch_about(address.0, end.0),
            Some(true) => drop(self.touch(address.0, end.0)),
            Some(false) => {
                self.turn(Touched, Untouched, address.0, end.0);
                self.turn(Closed, Reserved, address.0, end.0);
            }
            None => {}
        }
        match op {
            _ if op == Op::MREMAP.release_half() => {
                for kind in &mut self.kinds {
                    let parts = kind.take(address.0, end.0);
                    if !parts.is_empty() {
                        let part = |(from, to): &(u64, u64)| (from - address.0, to - from);
                        kind.moving.insert(thread, parts.iter().map(part).collect());
                    }
                }
            }
            // A file, or memory that was not seen before, stays what it is when it moves, and so does what is reserved.
            Op::MREMAP => self.moves(thread, address.0, asked.0, end.0),
            Op::MMAP | Op::MMAP64 | Op::MUNMAP => {
                self.kinds.iter_mut().for_each(|kind| _ = kind.take(address.0, end.0));
                match op {
                    _ if op.populates(detail) => self.of(Touched).put(address.0, asked.0),
                    _ if op.maps_memory(detail) => self.of(Untouched).put(address.0, asked.0),
                    _ if op.reserves(detail) => self.of(Reserved).put(address.0, end.0),
                    _ => {}
                }
            }
            _ => {}
        }
        0
    }

    /// What a thread has begun to move is at `address` now, and perhaps has grown.
    fn moves(&mut self, thread: ThreadNo, address: u64, asked: u64, end: u64) {
        let moved = self.kinds.each_mut().map(|kind| kind.moving.remove(&thread).unwrap_or_default());
        self.kinds.iter_mut().for_each(|kind| _ = kind.take(address, end));
        let is_usable = !moved[Touched as usize].is_empty() || !moved[Untouched as usize].is_empty();
        let most = if is_usable { asked } else { end };
        let mut length = None;
        for (kind, parts) in self.kinds.iter_mut().zip(&moved) {
            for (offset, bytes) in parts {
                let (from, to) = (address.saturating_add(*offset), address.saturating_add(offset + bytes));
                kind.put(from, to.min(most));
                length = length.max(Some(offset + bytes));
            }
        }
        if let Some(length) = length {
            self.of(if is_usable { Untouched } else { Reserved }).put(address.saturating_add(length), most);
        }
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
        let (mut beside, mut reserved) = (0, 0);
        self.mark = self.peak_bytes;
        if let Some(own) = &mut self.own {
            (beside, reserved) = (own.beside(), own.reserved());
            if in_window {
                own.look(self.live_bytes, time);
            }
            self.mark = self.mark.min(own.peak.bytes().saturating_sub(beside));
        }
        if let Some(writing) = &mut self.writing {
            let (block_bytes, mapped_bytes, reserved_bytes) = (self.live_bytes, beside, reserved);
            writing.look(PeakWithMappings { block_bytes, mapped_bytes, reserved_bytes, time });
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
            own.peak = own.now(self.live_bytes, time);
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
        self.looks_at_mappings(event.time.0);
        opened
    }

    /// A pool hands out a block that does not lie in a block of the heap.
    pub(super) fn handed_out(&mut self, event: &Event) {
        let (Some(own), Block::Number(number)) = (&mut self.own, event.block) else { return };
        let bytes = own.lends(event.address.0, event.address.saturating_add(event.size).0);
        if bytes > 0 {
            own.handed_out.insert(number.0, bytes);
            own.handed_out_bytes += bytes;
            self.looks_at_mappings(event.time.0);
        }
    }

    /// A block of a pool is no longer live.
    pub(super) fn handed_back(&mut self, event: &Event) {
        let (Some(own), Block::Number(number)) = (&mut self.own, event.block) else { return };
        if let Some(bytes) = own.handed_out.remove(&number.0) {
            own.handed_out_bytes -= bytes;
            self.looks_at_mappings(event.time.0);
        }
    }

    /// What is live and mapped now, at a time in units.
    pub(crate) fn now_with_mappings(&self, time: u64) -> PeakWithMappings {
        match &self.own {
            Some(own) => own.now(self.live_bytes, time),
            None => PeakWithMappings { block_bytes: self.live_bytes, time, ..PeakWithMappings::default() },
        }
    }

    /// The highest sum of live blocks and the program's own mappings. It means something where all threads and sizes
    /// count.
    pub fn peak_with_mappings(&self) -> PeakWithMappings {
        if !self.in_window() {
            // Nothing has happened since the window began.
            return self.now_with_mappings(self.selection().from.0);
        }
        let of_blocks =
            || PeakWithMappings { block_bytes: self.peak_bytes, time: self.peak_time, ..PeakWithMappings::default() };
        self.own.as_ref().map_or_else(of_blocks, |own| own.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aggregator, Selection};
    use memtoll_trace::ids::{Address, BlockNo, NodeId, Units};
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
        Touched,
        Untouched,
        Closed,
        Reserved,
    }

    fn event(op: Op, time: u64, block: Block, address: u64, size: u64, detail: u16) -> Event {
        Event {
            time: Units(time),
            duration: Units(1),
            size: Bytes(size),
            address: Address(address),
            block,
            node: NodeId::new(10),
            thread: ThreadNo::FIRST,
            detail,
            op,
        }
    }

    fn sum(events: &[Event], selection: Selection) -> Aggregator {
        let mut aggregator = Aggregator::new(selection);
        events.iter().for_each(|event| aggregator.push(event));
        aggregator
    }

    fn whole_peak(events: &[Event], from: u64) -> PeakWithMappings {
        sum(events, Selection { from: Units(from), ..Selection::default() }).peak_with_mappings().unwrap()
    }

    fn peak(events: &[Event], from: u64) -> (u64, u64, u64) {
        let peak = whole_peak(events, from);
        (peak.block_bytes, peak.mapped_bytes, peak.time)
    }

    /// Memory that is touched or filled as a whole.
    const POPULATED: u16 = ANONYMOUS | 1 << 3;

    #[test]
    fn what_is_never_touched_is_only_reserved() {
        let map = event(Op::MMAP, 1, Block::None, 0x10000, 0x10000, ANONYMOUS);
        let touch = |time, page: u64, pages: u64, detail| {
            event(Op::TOUCHED, time, Block::None, 0x10000 + page * PAGE, pages * PAGE, detail)
        };
        let of = |events: &[Event]| {
            let peak = whole_peak(events, 0);
            (peak.mapped_bytes / PAGE, peak.reserved_bytes / PAGE, peak.time)
        };
        assert_eq!(of(&[map]), (0, 0, 0), "there is no peak of nothing");
        assert_eq!(of(&[map, touch(2, 0, 3, 0), touch(3, 2, 2, 0)]), (4, 12, 3));
        assert_eq!(of(&[map, touch(2, 14, 17, 0)]), (2, 14, 2), "not beyond its end");
        // Each sample stands for several faults, of pages that are not there yet.
        assert_eq!(of(&[map, touch(2, 4, 4, 1), touch(3, 5, 4, 1)]), (8, 8, 3));
        assert_eq!(of(&[map, touch(2, 12, 4, 1), touch(3, 13, 4, 1)]), (8, 8, 3), "below, at the end");
        assert_eq!(of(&[map, touch(2, 0, 17, 1), touch(3, 0, 17, 1)]), (16, 0, 2));
        let again =
            [map, touch(2, 0, 8, 0), event(Op::MADVISE, 3, Block::None, 0x10000, 6 * PAGE, 4), touch(4, 0, 7, 0)];
        assert_eq!(of(&again), (8, 8, 2), "given back, and touched again");
        let filled = [map, event(Op::MADVISE, 3, Block::None, 0x10000, 6 * PAGE, 23)];
        assert_eq!(of(&filled), (6, 10, 3));
        assert_eq!(of(&[event(Op::MMAP, 1, Block::None, 0x10000, 0x10000, POPULATED)]), (16, 0, 1));
    }

    #[test]
    fn pages_move_with_their_mapping() {
        let events = [
            event(Op::MMAP, 1, Block::None, 0x10000, 4 * PAGE, ANONYMOUS),
            event(Op::TOUCHED, 2, Block::None, 0x11000, PAGE, 0),
            event(Op::MREMAP.release_half(), 3, Block::None, 0x10000, 4 * PAGE, 0),
            event(Op::MREMAP, 4, Block::None, 0x80000, 8 * PAGE, 0),
            event(Op::TOUCHED, 5, Block::None, 0x81000, 2 * PAGE, 0),
        ];
        let peak = whole_peak(&events, 0);
        assert_eq!((peak.mapped_bytes / PAGE, peak.reserved_bytes / PAGE), (2, 6));
    }

    #[test]
    fn of_a_page_that_is_not_asked_for_as_a_whole_all_is_given_back() {
        let events = [
            event(Op::MMAP, 1, Block::None, 0x10000, 0x1800, POPULATED),
            event(Op::MUNMAP, 2, Block::None, 0x10000, 0x1001, 0),
            event(MALLOC, 3, Block::Number(BlockNo(0)), 0x900000, 0x1700, 0),
        ];
        assert_eq!(peak(&events, 0), (0, 0x1800, 1));
        assert_eq!(peak(&events, 3), (0x1700, 0, 3));
    }

    #[test]
    fn some_sizes_have_no_sum_with_mappings() {
        assert!(sum(&[], Selection { min_size: Bytes(1), ..Selection::default() }).peak_with_mappings().is_none());
    }

    proptest! {
        /// Against a model that remembers every page and every block.
        #[test]
        fn the_peak_is_that_of_a_simple_model(
            steps in proptest::collection::vec((0u32..13, 0..PAGES, 1..PAGES, 0..PAGES), 1..200), from in 0u64..150,
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
                    0..3 | 10 => {
                        let (detail, becomes) = match kind {
                            0 => (ANONYMOUS, Page::Untouched),
                            1 => (0, Page::NotOwn),
                            2 => (ANONYMOUS | CLOSED, Page::Reserved),
                            _ => (POPULATED, Page::Touched),
                        };
                        events.push(event(Op::MMAP, time, Block::None, address(page), size, detail));
                        own[page..page + pages].fill(becomes);
                    }
                    3 => {
                        events.push(event(Op::MUNMAP, time, Block::None, address(page), size, 0));
                        own[page..page + pages].fill(Page::NotOwn);
                    }
                    4 => {
                        let moved = own[page];
                        own[page] = Page::NotOwn;
                        let half = Op::MREMAP.release_half();
                        events.push(event(half, time, Block::None, address(page), PAGE, 0));
                        events.push(event(Op::MREMAP, time, Block::None, address(to), 2 * PAGE, 0));
                        own[to..to + 2].fill(Page::NotOwn);
                        if moved != Page::NotOwn {
                            let is_usable = matches!(moved, Page::Touched | Page::Untouched);
                            own[to] = moved;
                            own[to + 1] = if is_usable { Page::Untouched } else { Page::Reserved };
                        }
                    }
                    11 | 12 => {
                        let (op, detail) = if kind == 11 { (Op::TOUCHED, 0) } else { (Op::MADVISE, 4) };
                        events.push(event(op, time, Block::None, address(page), size, detail));
                        own[page..page + pages].iter_mut().for_each(|own| *own = match *own {
                            Page::Untouched if kind == 11 => Page::Touched,
                            Page::Touched if kind == 12 => Page::Untouched,
                            Page::Closed if kind == 12 => Page::Reserved,
                            page => page,
                        });
                    }
                    8 | 9 => {
                        let turns = [(Page::Closed, Page::Touched), (Page::Reserved, Page::Untouched)];
                        // Of its last page, it is enough to name the first byte.
                        let detail = if kind == 8 { 0 } else { CLOSED };
                        events.push(event(Op::MPROTECT, time, Block::None, address(page), size - PAGE + 1, detail));
                        for own in &mut own[page..page + pages] {
                            let turned = turns.into_iter().find_map(|(closed, open)| match *own {
                                page if kind == 8 && page == closed => Some(open),
                                page if kind == 9 && page == open => Some(closed),
                                _ => None,
                            });
                            *own = turned.unwrap_or(*own);
                        }
                    }
                    5 if !blocks.is_empty() => {
                        let (number, _) = blocks.remove(page % blocks.len());
                        events.push(event(FREE, time, Block::Number(BlockNo(number)), 0, 0, 0));
                    }
                    _ => {
                        let size = size / 3 + to as u64;
                        events.push(event(MALLOC, time, Block::Number(BlockNo(time)), 0x900000, size, 0));
                        blocks.push((time, size));
                    }
                }
                let mapped = own.iter().filter(|own| **own == Page::Touched).count() as u64 * PAGE;
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
