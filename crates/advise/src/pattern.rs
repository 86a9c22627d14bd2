//! How the blocks of some call sites live: read from the events, in one pass.
//!
//! Vocabulary: an *instance* is an object whose block is replaced by a larger one as it grows, such as a vector; its
//! *steps* are those blocks, the last of which has its final size. Blocks die *in bulk* if a thread releases many in a
//! row and acquires none in between.

use memtoll_model::Recording;
use memtoll_trace::costs::{CostKind, Place};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::op::Effect;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// Releases in a row that are a bulk.
const BULK: usize = 32;
/// Different sizes that are told apart; what comes later counts as the nearest larger one of them.
const MOST_SIZES: usize = 4096;
/// Parts of the run for which never-freed blocks are counted.
pub const PARTS: usize = 8;
/// From here on, glibc gives a block a mapping of its own at first.
const MAPPED: u64 = 128 << 10;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// What the heap takes for a block of `size` bytes: glibc's header, rounded up.
pub fn heap_bytes(size: u64) -> u64 {
    (size.saturating_add(8 + 15) & !15).max(32)
}

/// The blocks of one call site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern {
    /// Acquisitions that were read.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the heap takes for them.
    pub heap_bytes: u64,
    /// Instances: blocks, less those that another one replaced.
    pub instances: u64,
    /// Final sizes of instances, and how many have each.
    pub finals: FxHashMap<u64, u64>,
    /// Blocks that a larger one replaced.
    pub steps: u64,
    /// Bytes that were copied on the way.
    pub copied_bytes: u64,
    /// Reallocations that left the block where it was.
    pub in_place: u64,
    /// Released in bulk.
    pub in_bulk: u64,
    /// Never released.
    pub kept: u64,
    /// When those were acquired, by part of the run.
    pub kept_by_part: [u64; PARTS],
    /// Released by another thread than the one that acquired them.
    pub by_others: u64,
    /// Longest lifetime of a released block, units.
    pub longest_life: u64,
    /// Most blocks, and most bytes, live at one instant.
    pub most_live: u64,
    /// The same in bytes.
    pub most_live_bytes: u64,
    /// Bytes by which the heap would stay smaller at its largest if these blocks were not there.
    pub heap_alone: u64,
    /// Faults of their memory that were paid in functions that only fill memory.
    pub filled_faults: u64,
    /// The same of functions that only copy memory.
    pub copied_faults: u64,
    /// All faults whose place is known.
    pub placed_faults: u64,
}

impl Pattern {
    /// The size that at most this share of instances exceeds, from 0 to 1.
    pub fn quantile(&self, share: f64) -> u64 {
        let mut sizes: Vec<(u64, u64)> = self.finals.iter().map(|(size, number)| (*size, *number)).collect();
        sizes.sort_unstable();
        let all: u64 = sizes.iter().map(|(_, number)| number).sum();
        let rank = (all as f64 * share).ceil() as u64;
        let mut below = 0;
        for (size, number) in &sizes {
            below += number;
            if below >= rank {
                return *size;
            }
        }
        sizes.last().map_or(0, |(size, _)| *size)
    }

    /// Instances larger than `bytes`, and their bytes.
    pub fn larger(&self, bytes: u64) -> (u64, u64) {
        let larger = self.finals.iter().filter(|(size, _)| **size > bytes);
        larger.fold((0, 0), |(number, sum), (size, of)| (number + of, sum + size * of))
    }

    fn end(&mut self, size: u64) {
        self.instances += 1;
        let full = self.finals.len() >= MOST_SIZES && !self.finals.contains_key(&size);
        let size = if full { size.next_power_of_two() } else { size };
        *self.finals.entry(size).or_default() += 1;
    }
}

/// What a call site is, as far as its pattern depends on that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    /// Whether its type grows by making a larger block, moving what there is, and releasing the old one.
    pub grows: bool,
}

#[derive(Clone, Copy)]
struct Live {
    site: u32,
    size: u64,
    address: u64,
    time: u64,
    thread: u32,
    is_replacement: bool,
}

#[derive(Default)]
struct Thread {
    /// Releases since its last acquisition.
    in_a_row: usize,
    /// Their sites, until they are a bulk.
    waiting: Vec<u32>,
    /// The block that a reallocation has given back.
    given_back: Option<Live>,
}

/// Follows the blocks of an image.
struct Follower<'a> {
    watched: &'a [Watched],
    patterns: &'a mut [Pattern],
    live: FxHashMap<u64, Live>,
    threads: FxHashMap<u32, Thread>,
    /// By thread and site: the block acquired last.
    latest: FxHashMap<(u32, u32), u64>,
    heap: Heap,
    start: u64,
    end: u64,
}

/// The heap, with and without the blocks of each site.
///
/// Its largest extents are looked at each time that it has been asked for another page, not at each block, so they are less than
/// a page too small.
struct Heap {
    bytes: u64,
    /// What it was asked for since its extents were looked at.
    asked: u64,
    most: u64,
    of: Vec<u64>,
    live: Vec<u64>,
    live_bytes: Vec<u64>,
    most_without: Vec<u64>,
}

/// A site that nobody watches.
const NOBODY: u32 = u32::MAX;

impl Heap {
    fn new(sites: usize) -> Heap {
        let none = || vec![0; sites];
        Heap { bytes: 0, asked: 0, most: 0, of: none(), live: none(), live_bytes: none(), most_without: none() }
    }

    fn add(&mut self, site: u32, size: u64, patterns: &mut [Pattern]) {
        let heap = if size < MAPPED { heap_bytes(size) } else { 0 };
        self.bytes += heap;
        if let (Some(of), Some(pattern)) = (self.of.get_mut(site as usize), patterns.get_mut(site as usize)) {
            *of += heap;
            let (live, bytes) = (&mut self.live[site as usize], &mut self.live_bytes[site as usize]);
            (*live, *bytes) = (*live + 1, *bytes + size);
            pattern.most_live = pattern.most_live.max(*live);
            pattern.most_live_bytes = pattern.most_live_bytes.max(*bytes);
        }
        self.asked += heap;
        if self.asked >= PAGE {
            self.look();
        }
    }

    fn look(&mut self) {
        self.asked = 0;
        self.most = self.most.max(self.bytes);
        for (most, of) in self.most_without.iter_mut().zip(&self.of) {
            *most = (*most).max(self.bytes - of);
        }
    }

    fn remove(&mut self, site: u32, size: u64) {
        let heap = if size < MAPPED { heap_bytes(size) } else { 0 };
        self.bytes = self.bytes.saturating_sub(heap);
        if let Some(of) = self.of.get_mut(site as usize) {
            *of = of.saturating_sub(heap);
            self.live[site as usize] = self.live[site as usize].saturating_sub(1);
            self.live_bytes[site as usize] = self.live_bytes[site as usize].saturating_sub(size);
        }
    }
}

impl Follower<'_> {
    fn event(&mut self, event: &Event, site: u32) {
        match event.op.effect() {
            Effect::Acquire => self.acquire(event, site),
            Effect::Release => self.release(event),
            Effect::Lend | Effect::Other => {}
        }
    }

    fn acquire(&mut self, event: &Event, site: u32) {
        let thread = self.threads.entry(event.thread).or_default();
        thread.in_a_row = 0;
        thread.waiting.clear();
        let replaced = if event.op.is_reallocation() { thread.given_back.take() } else { None };
        let Block::Number(number) = event.block else {
            // It failed: the old block is still there, which is nobody's growth.
            return;
        };
        self.heap.add(site, event.size, self.patterns);
        let mut live = Live {
            site,
            size: event.size,
            address: event.address,
            time: event.time,
            thread: event.thread,
            is_replacement: false,
        };
        if let Some(old) = replaced {
            live.is_replacement = true;
            // What grew began where it was first allocated, and belongs to who makes it grow.
            if let Some(pattern) = self.patterns.get_mut(site as usize) {
                pattern.steps += 1;
                match old.address == event.address {
                    true => pattern.in_place += 1,
                    false => pattern.copied_bytes += old.size.min(event.size),
                }
            } else if let Some(pattern) = self.patterns.get_mut(old.site as usize) {
                pattern.end(old.size);
            }
        }
        if let Some(pattern) = self.patterns.get_mut(site as usize) {
            pattern.blocks += 1;
            pattern.bytes += event.size;
            pattern.heap_bytes += heap_bytes(event.size);
            if self.watched[site as usize].grows {
                self.latest.insert((event.thread, site), number);
            }
        }
        self.live.insert(number, live);
    }

    fn release(&mut self, event: &Event) {
        let Block::Number(number) = event.block else { return };
        let Some(block) = self.live.remove(&number) else { return };
        self.heap.remove(block.site, block.size);
        let thread = self.threads.entry(event.thread).or_default();
        if event.op.is_release_half() {
            thread.given_back = Some(block);
            return;
        }
        thread.in_a_row += 1;
        if thread.in_a_row < BULK {
            thread.waiting.push(block.site);
        } else {
            thread.waiting.push(block.site);
            for site in thread.waiting.drain(..) {
                if let Some(pattern) = self.patterns.get_mut(site as usize) {
                    pattern.in_bulk += 1;
                }
            }
        }
        let Some(pattern) = self.patterns.get_mut(block.site as usize) else { return };
        pattern.by_others += u64::from(block.thread != event.thread);
        pattern.longest_life = pattern.longest_life.max(event.time.saturating_sub(block.time));
        if self.watched[block.site as usize].grows
            && let Some(successor) = self.latest.get(&(event.thread, block.site)).and_then(|n| self.live.get_mut(n))
            && !successor.is_replacement
            && replaces(block.size, successor.size)
            && successor.time > block.time
        {
            successor.is_replacement = true;
            pattern.steps += 1;
            pattern.copied_bytes += block.size;
            return;
        }
        pattern.end(block.size);
    }

    fn finish(mut self) {
        self.heap.look();
        let width = (self.end.saturating_sub(self.start) / PARTS as u64).max(1);
        for block in self.live.values() {
            let Some(pattern) = self.patterns.get_mut(block.site as usize) else { continue };
            pattern.end(block.size);
            pattern.kept += 1;
            let part = (block.time.saturating_sub(self.start) / width) as usize;
            pattern.kept_by_part[part.min(PARTS - 1)] += 1;
        }
        for (pattern, without) in self.patterns.iter_mut().zip(&self.heap.most_without) {
            pattern.heap_alone += self.heap.most - without;
        }
    }
}

/// Whether a block of one size is what a container takes in place of one of another size: libraries grow by a half, by
/// two, or to the next prime; the first steps are small.
fn replaces(old: u64, new: u64) -> bool {
    new > old && (new <= old.saturating_mul(3) || new <= 256)
}

/// Functions that only fill memory, wherever they are called from.
fn fills(function: &str) -> bool {
    ["memset", "__memset", "bzero", "std::fill", "std::__fill", "std::uninitialized_fill", "std::__uninitialized_"]
        .iter()
        .any(|start| function.starts_with(start))
}

/// Functions that only copy memory.
fn copies(function: &str) -> bool {
    ["memcpy", "__memcpy", "memmove", "__memmove", "mempcpy", "__mempcpy"]
        .iter()
        .any(|start| function.starts_with(start))
}

/// The patterns of some sites, and statements about what cannot be read. `site_of` has the number of a site for each node
/// of [`Recording::stacks`] that is watched.
pub fn patterns(
    recording: &Recording,
    site_of: &FxHashMap<u32, u32>,
    watched: &[Watched],
) -> (Vec<Pattern>, Vec<String>) {
    let mut all = vec![Pattern::default(); watched.len()];
    let mut damage = Vec::new();
    for (index, image) in recording.images.iter().enumerate() {
        let site = |node: u32| site_of.get(&image.node(node)).copied().unwrap_or(NOBODY);
        let mut follower = Follower {
            watched,
            patterns: &mut all,
            live: FxHashMap::default(),
            threads: FxHashMap::default(),
            latest: FxHashMap::default(),
            heap: Heap::new(watched.len()),
            start: image.about.began,
            end: image.end.as_ref().map_or(recording.ended(), |end| end.ended),
        };
        let read = recording.for_each_events(index, |events| {
            events.iter().for_each(|event| follower.event(event, site(event.node)));
            ControlFlow::Continue(())
        });
        follower.finish();
        damage.extend(read.err());
        let read = recording.for_each_cost(index, |cost| {
            let Some(pattern) = all.get_mut(site(cost.node) as usize) else { return };
            let (CostKind::Fault, Place::Call(place)) = (cost.kind, cost.place()) else { return };
            pattern.placed_faults += cost.amount;
            let frames = &recording.frames;
            let node = recording.stacks.node(image.node(place));
            let innermost = frames.chain(&node).first().map(|frame| frames.text(frames.frame(*frame).function));
            pattern.filled_faults += if innermost.is_some_and(fills) { cost.amount } else { 0 };
            pattern.copied_faults += if innermost.is_some_and(copies) { cost.amount } else { 0 };
        });
        damage.extend(read.err());
    }
    (all, damage)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use memtoll_trace::op::Op;

    /// Follows events of one thread; a site's number is its node.
    pub fn follow(grows: &[bool], events: &[Event]) -> Vec<Pattern> {
        let watched: Vec<Watched> = grows.iter().map(|grows| Watched { grows: *grows }).collect();
        let mut patterns = vec![Pattern::default(); watched.len()];
        let mut follower = Follower {
            watched: &watched,
            patterns: &mut patterns,
            live: FxHashMap::default(),
            threads: FxHashMap::default(),
            latest: FxHashMap::default(),
            heap: Heap::new(grows.len()),
            start: 0,
            end: 800,
        };
        events.iter().for_each(|event| follower.event(event, event.node));
        follower.finish();
        patterns
    }

    pub fn event(op: Op, time: u64, node: u32, number: u64, size: u64) -> Event {
        let block = Block::Number(number);
        Event { time, duration: 1, size, address: 16 * number, block, node, thread: 1, detail: 0, op }
    }

    #[test]
    fn a_vector_that_grows_is_one_instance() {
        let mut events = Vec::new();
        let mut time = 0;
        let mut next = 0;
        for _ in 0..3 {
            for (step, size) in [8, 16, 32, 64].into_iter().enumerate() {
                time += 1;
                events.push(event(Op::MALLOC, time, 0, next, size));
                if step > 0 {
                    events.push(event(Op::FREE, time, 9, next - 1, 0));
                }
                next += 1;
            }
        }
        let of = &follow(&[true], &events)[0];
        assert_eq!((of.blocks, of.instances, of.steps, of.kept), (12, 3, 9, 3));
        assert_eq!((of.copied_bytes, of.quantile(0.5), of.most_live), (3 * 56, 64, 4));
        // The same blocks of something that does not grow.
        let of = &follow(&[false], &events)[0];
        assert_eq!((of.instances, of.steps, of.copied_bytes), (12, 0, 0));
    }

    #[test]
    fn a_reallocation_is_a_step_and_copies_only_if_it_moves() {
        let half = Op::REALLOC.release_half();
        let stays = Event { address: 0, ..event(Op::REALLOC, 4, 0, 1, 32) };
        let events = [
            event(Op::MALLOC, 1, 0, 0, 8),
            event(half, 2, 0, 0, 0),
            stays,
            event(half, 5, 0, 1, 0),
            event(Op::REALLOC, 6, 0, 2, 64),
            event(Op::FREE, 7, 9, 2, 0),
        ];
        let of = &follow(&[false], &events)[0];
        assert_eq!((of.instances, of.steps, of.in_place, of.copied_bytes), (1, 2, 1, 32));
        assert_eq!(of.quantile(1.0), 64);
    }

    #[test]
    fn many_releases_in_a_row_are_a_bulk() {
        let acquire = |number: u64| event(Op::MALLOC, number, 0, number, 24);
        let release = |number: u64| event(Op::FREE, 200 + number, 9, number, 0);
        let all: Vec<Event> = (0..100).map(acquire).chain((0..100).map(release)).collect();
        assert_eq!(follow(&[false], &all)[0].in_bulk, 100);
        let pairs: Vec<Event> = (0..100).flat_map(|n| [acquire(n), release(n)]).collect();
        assert_eq!(follow(&[false], &pairs)[0].in_bulk, 0);
    }

    #[test]
    fn the_heap_is_played_through_without_each_site() {
        // Site 1's blocks come when site 0's are gone: without site 0, the heap is as large.
        let mut events: Vec<Event> = (0..10).map(|n| event(Op::MALLOC, n, 0, n, 1000)).collect();
        events.extend((0..10).map(|n| event(Op::FREE, 10 + n, 9, n, 0)));
        events.extend((10..20).map(|n| event(Op::MALLOC, 10 + n, 1, n, 1000)));
        let of = follow(&[false, false], &events);
        assert_eq!((of[0].heap_alone, of[1].heap_alone), (0, 0), "what one leaves, the other takes");
        let of = follow(&[false, false], &events[..15]);
        assert_eq!(of[0].heap_alone, 10 * heap_bytes(1000));
    }

    #[test]
    fn kept_blocks_tell_when_they_came() {
        let events: Vec<Event> = (0..8).map(|n| event(Op::MALLOC, n * 100, 0, n, 8)).collect();
        let of = &follow(&[false], &events)[0];
        assert_eq!((of.kept, of.kept_by_part), (8, [1; PARTS]));
    }
}
