//! Follows the blocks of an image, event by event: as little as possible for each, since there are tens of millions.

use super::calls::Calls;
use super::heap::Heap;
use super::live::Live;
use super::{PARTS, Pattern, Watched, heap_bytes};
use memtoll_tally::BlockTable;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::op::Effect;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Releases in a row that are a bulk.
pub const BULK: usize = 32;
/// Final sizes up to this are counted in a row of counters, larger ones in a map. Bytes.
const SMALL: usize = 1024;
const NO_BLOCK: u64 = u64::MAX;
/// What may be appended to a short text, bytes.
const LEAST_CREEP: u64 = 64;

#[derive(Clone, Default)]
struct Thread {
    /// Releases since its last acquisition.
    in_a_row: usize,
    /// Their sites, until they are a bulk.
    waiting: [u32; BULK],
    /// The block that a reallocation has given back.
    given_back: Option<Live>,
    /// By site: the block acquired last, of sites that grow.
    latest: Vec<u64>,
    /// The line of its last call, and when that was, units.
    last_line: Option<(u32, u64)>,
}

/// Blocks of one stack that may hold text.
#[derive(Default)]
struct Texts {
    site: u32,
    /// Bytes of the last one.
    last: u64,
    begun_again: u64,
}

/// The threads of an image by their numbers, which may be any in a damaged file.
#[derive(Default)]
struct Threads {
    all: Vec<Thread>,
    places: FxHashMap<ThreadNo, usize>,
    /// The one that was asked for last, and its place.
    last: Option<(ThreadNo, usize)>,
}

impl Threads {
    #[inline]
    fn get(&mut self, number: ThreadNo) -> &mut Thread {
        let place = match self.last {
            Some((last, place)) if last == number => place,
            _ => self.find(number),
        };
        &mut self.all[place]
    }

    fn find(&mut self, number: ThreadNo) -> usize {
        let place = *self.places.entry(number).or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push(Thread::default());
        }
        self.last = Some((number, place));
        place
    }
}

/// What happens to the blocks that are live when an image ends.
#[derive(Clone, Copy)]
pub enum Survivors {
    Kept,
    /// It executes another program, which releases them all at once.
    Discarded,
}

/// Follows the blocks of an image.
pub struct Follower<'a> {
    watched: &'a [Watched],
    patterns: &'a mut [Pattern],
    live: BlockTable<Live>,
    threads: Threads,
    heap: Heap,
    /// By site: how many instances ended with each small size.
    small: Vec<Vec<u64>>,
    /// By site.
    calls: Vec<Calls>,
    /// Calls that take longer are long, units.
    longest: u64,
    /// Of the image's life, units.
    time: Range<u64>,
    /// By stack, of sites that may creep.
    texts: FxHashMap<Option<NodeId>, Texts>,
}

impl Follower<'_> {
    /// Of an image that lived for this time.
    pub fn new<'a>(watched: &'a [Watched], patterns: &'a mut [Pattern], time: Range<u64>) -> Follower<'a> {
        Follower {
            watched,
            patterns,
            live: BlockTable::new(Live::NONE),
            threads: Threads::default(),
            heap: Heap::new(watched.len()),
            small: vec![Vec::new(); watched.len()],
            calls: vec![Calls::default(); watched.len()],
            longest: u64::MAX,
            time,
            texts: FxHashMap::default(),
        }
    }

    /// Tells calls that take longer from others.
    pub fn with_longest(self, longest: u64) -> Self {
        Follower { longest, ..self }
    }

    /// The next event, with the site of its node.
    #[inline]
    pub fn event(&mut self, event: &Event, site: u32) {
        match event.op.effect() {
            Effect::Acquire => self.acquire(event, site),
            Effect::Release => self.release(event),
            Effect::Lend | Effect::Other => {}
        }
    }

    /// Adds up the time between calls of one line.
    #[inline]
    pub fn line(&mut self, event: &Event, line: u32, under_way: &mut [u64]) {
        let last = self.threads.get(event.thread).last_line.replace((line, event.time.0));
        if let (Some((last, time)), Some(sum)) = (last, under_way.get_mut(line as usize))
            && last == line
        {
            *sum = sum.saturating_add(event.time.saturating_sub(Units(time)).0);
        }
    }

    fn end(&mut self, site: u32, size: u64) {
        let Some(counters) = self.small.get_mut(site as usize) else { return };
        if size > SMALL as u64 {
            return self.patterns[site as usize].end(size, 1);
        }
        if counters.is_empty() {
            counters.resize(SMALL + 1, 0);
        }
        counters[size as usize] += 1;
    }

    #[inline]
    fn acquire(&mut self, event: &Event, site: u32) {
        let thread = self.threads.get(event.thread);
        thread.in_a_row = 0;
        let replaced = if event.op.is_reallocation() { thread.given_back.take() } else { None };
        // If it failed, the old block is still there and has not grown.
        let Block::Number(number) = event.block else { return };
        self.heap.add(site, event.size.0);
        let Event { size, address, time, thread, .. } = *event;
        self.live.insert(
            number.0,
            Live { size: size.0, address: address.0, time: time.0, site, thread, is_replacement: replaced.is_some() },
        );
        if let Some(old) = replaced {
            self.replaced(&old, event, site);
        }
        let Some(pattern) = self.patterns.get_mut(site as usize) else { return };
        self.calls[site as usize].add(event.duration.0, self.longest);
        pattern.blocks += 1;
        // Sizes of a damaged file may be beyond all sums.
        pattern.bytes = pattern.bytes.wrapping_add(size.0);
        pattern.heap_bytes = pattern.heap_bytes.wrapping_add(heap_bytes(size.0));
        if self.watched[site as usize].may_creep {
            let texts = self.texts.entry(event.node).or_insert(Texts { site, ..Texts::default() });
            let before = std::mem::replace(&mut texts.last, size.0);
            texts.begun_again += u64::from(size < Bytes(before));
            if size > Bytes(before) && before > 0 && size - Bytes(before) <= Bytes(before / 4 + LEAST_CREEP) {
                pattern.creeping += 1;
                pattern.crept_bytes = pattern.crept_bytes.wrapping_add(before);
            }
        }
        if self.watched[site as usize].grows {
            let sites = self.watched.len();
            let latest = &mut self.threads.get(thread).latest;
            if latest.is_empty() {
                latest.resize(sites, NO_BLOCK);
            }
            latest[site as usize] = number.0;
        }
    }

    /// What grew began where it was first allocated, and belongs to who makes it grow.
    fn replaced(&mut self, old: &Live, event: &Event, site: u32) {
        let Some(pattern) = self.patterns.get_mut(site as usize) else { return self.end(old.site, old.size) };
        pattern.steps += 1;
        match old.address == event.address.0 {
            true => pattern.in_place += 1,
            false => pattern.copied_bytes = pattern.copied_bytes.wrapping_add(old.size.min(event.size.0)),
        }
    }

    #[inline]
    fn release(&mut self, event: &Event) {
        let Block::Number(number) = event.block else { return };
        let Some(block) = self.live.remove(number.0) else { return };
        self.heap.remove(block.site, block.size);
        let thread = self.threads.get(event.thread);
        if event.op.is_release_half() {
            thread.given_back = Some(block);
            return;
        }
        if let Some(calls) = self.calls.get_mut(block.site as usize) {
            calls.add(event.duration.0, self.longest);
        }
        let in_a_row = thread.in_a_row;
        thread.in_a_row += 1;
        if in_a_row < BULK {
            thread.waiting[in_a_row] = block.site;
        }
        if in_a_row + 1 == BULK {
            for site in thread.waiting {
                self.patterns.get_mut(site as usize).into_iter().for_each(|pattern| pattern.in_bulk += 1);
            }
        }
        let Some(pattern) = self.patterns.get_mut(block.site as usize) else { return };
        pattern.in_bulk += u64::from(in_a_row >= BULK);
        pattern.by_others += u64::from(block.thread != event.thread);
        pattern.longest_life = pattern.longest_life.max(event.time.saturating_sub(Units(block.time)).0);
        if !self.watched[block.site as usize].grows || !self.has_successor(event.thread, &block) {
            self.end(block.site, block.size);
        }
    }

    /// Whether a thread releases a block because its contents went to the one that it acquired last at the same site.
    fn has_successor(&mut self, thread: ThreadNo, block: &Live) -> bool {
        let latest = self.threads.get(thread).latest.get(block.site as usize).copied();
        let Some(successor) = latest.and_then(|number| self.live.get_mut(number)) else { return false };
        let is_it = !successor.is_replacement && replaces(block.size, successor.size) && successor.time > block.time;
        if is_it {
            successor.is_replacement = true;
            let pattern = &mut self.patterns[block.site as usize];
            pattern.steps += 1;
            pattern.copied_bytes = pattern.copied_bytes.wrapping_add(block.size);
        }
        is_it
    }

    /// There are no more events. How long the calls of each site took.
    pub fn finish(mut self, survivors: Survivors) -> Vec<Calls> {
        self.heap.look();
        let life = self.time.end.saturating_sub(self.time.start);
        let width = (life / PARTS as u64).max(1);
        for block in self.live.into_blocks() {
            let Some(pattern) = self.patterns.get_mut(block.site as usize) else { continue };
            pattern.end(block.size, 1);
            match survivors {
                Survivors::Discarded => pattern.in_bulk += 1,
                Survivors::Kept => {
                    pattern.kept += 1;
                    let part = (block.time.saturating_sub(self.time.start) / width) as usize;
                    pattern.kept_by_part[part.min(PARTS - 1)] += 1;
                    pattern.keeper_life = pattern.keeper_life.max(life);
                }
            }
        }
        let mut begun_again = vec![0; self.patterns.len()];
        for texts in self.texts.values() {
            let most: &mut u64 = &mut begun_again[texts.site as usize];
            *most = (*most).max(texts.begun_again);
        }
        self.patterns.iter_mut().zip(begun_again).for_each(|(pattern, more)| pattern.begun_again += more);
        for (site, pattern) in self.patterns.iter_mut().enumerate() {
            let ended = self.small[site].iter().enumerate().filter(|(_, number)| **number > 0);
            ended.for_each(|(size, number)| pattern.end(size as u64, *number));
            pattern.heap_alone += self.heap.alone(site);
            let of = self.heap.sites[site];
            pattern.most_live = pattern.most_live.max(of.most_live);
            pattern.drained += of.drained;
            pattern.most_live_bytes = pattern.most_live_bytes.max(of.most_live_bytes);
        }
        self.calls
    }
}

/// Whether a block of one size is what a container takes in place of one of another size: libraries grow by a half, by
/// two, or to the next prime; the first steps are small.
pub fn replaces(old: u64, new: u64) -> bool {
    new > old && (new <= old.saturating_mul(3) || new <= 256)
}
