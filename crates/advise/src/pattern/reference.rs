//! A naive reference for [`super::follow`], for its tests.

use super::follow::{BULK, replaces};
use super::heap::{MAPPED, NO_SITE, PAGE};
use super::{PARTS, Pattern, Watched, heap_bytes};
use crate::pattern::follow;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Address, BlockNo, Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::op::Effect;
use memtoll_trace::op::Op;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Copy)]
struct Live {
    site: u32,
    size: u64,
    address: u64,
    time: u64,
    thread: ThreadNo,
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
    live: BTreeMap<u64, Live>,
    threads: BTreeMap<ThreadNo, Thread>,
    /// By thread and site: the block acquired last.
    latest: BTreeMap<(ThreadNo, u32), u64>,
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
            // It failed: the old block is still there and has not grown.
            return;
        };
        self.heap.add(site, event.size.0, self.patterns);
        let mut live = Live {
            site,
            size: event.size.0,
            address: event.address.0,
            time: event.time.0,
            thread: event.thread,
            is_replacement: false,
        };
        if let Some(old) = replaced {
            live.is_replacement = true;
            // What grew began where it was first allocated, and belongs to who makes it grow.
            if let Some(pattern) = self.patterns.get_mut(site as usize) {
                pattern.steps += 1;
                match old.address == event.address.0 {
                    true => pattern.in_place += 1,
                    false => pattern.copied_bytes += old.size.min(event.size.0),
                }
            } else if let Some(pattern) = self.patterns.get_mut(old.site as usize) {
                pattern.end(old.size, 1);
            }
        }
        if let Some(pattern) = self.patterns.get_mut(site as usize) {
            pattern.blocks += 1;
            pattern.bytes += event.size.0;
            pattern.heap_bytes += heap_bytes(event.size.0);
            if self.watched[site as usize].grows {
                self.latest.insert((event.thread, site), number.0);
            }
        }
        self.live.insert(number.0, live);
    }

    fn release(&mut self, event: &Event) {
        let Block::Number(number) = event.block else { return };
        let Some(block) = self.live.remove(&number.0) else { return };
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
        pattern.longest_life = pattern.longest_life.max(event.time.saturating_sub(Units(block.time)).0);
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
        pattern.end(block.size, 1);
    }

    fn finish(mut self) {
        self.heap.look();
        let life = self.end.saturating_sub(self.start);
        let width = (life / PARTS as u64).max(1);
        for block in self.live.values() {
            let Some(pattern) = self.patterns.get_mut(block.site as usize) else { continue };
            pattern.end(block.size, 1);
            pattern.kept += 1;
            let part = (block.time.saturating_sub(self.start) / width) as usize;
            pattern.kept_by_part[part.min(PARTS - 1)] += 1;
            pattern.keeper_life = pattern.keeper_life.max(life);
        }
        for (pattern, without) in self.patterns.iter_mut().zip(&self.heap.most_without) {
            pattern.heap_alone += self.heap.most - without;
        }
    }
}

/// The patterns of sites 0 and on; a site's number is its node.
fn follow_plainly(watched: &[Watched], events: &[Event], end: u64) -> Vec<Pattern> {
    let mut patterns = vec![Pattern::default(); watched.len()];
    let mut follower = Follower {
        watched,
        patterns: &mut patterns,
        live: BTreeMap::default(),
        threads: BTreeMap::default(),
        latest: BTreeMap::default(),
        heap: Heap::new(watched.len()),
        start: 0,
        end,
    };
    events.iter().for_each(|event| follower.event(event, NodeId::or_zero(event.node)));
    follower.finish();
    patterns
}

fn follow_fast(watched: &[Watched], events: &[Event], end: u64) -> Vec<Pattern> {
    let mut patterns = vec![Pattern::default(); watched.len()];
    let mut follower = follow::Follower::new(watched, &mut patterns, 0..end);
    events.iter().for_each(|event| follower.event(event, NodeId::or_zero(event.node)));
    follower.finish(follow::Survivors::Kept);
    patterns
}

/// Runs of the same step: what is done, how often, at which site, on which thread, with what size.
fn steps() -> impl Strategy<Value = Vec<(u8, usize, u32, u32, u64)>> {
    let size = prop_oneof![0u64..300, 900u64..1100, 100_000u64..200_000];
    proptest::collection::vec((0u8..7, 1usize..80, 0u32..5, 1u32..4, size), 1..60)
}

/// What a program does that takes these steps. Sites from 3 on are not watched.
fn events(steps: &[(u8, usize, u32, u32, u64)]) -> Vec<Event> {
    let mut events = Vec::new();
    let (mut time, mut next) = (0, 0u64);
    let mut live: Vec<u64> = Vec::new();
    for &(kind, often, site, thread, size) in steps {
        for turn in 0..often {
            let mut push = |op: Op, block: Block, size: u64, address: u64| {
                time += 1;
                let node = NodeId::new(if site < 3 { site } else { NO_SITE });
                let thread = ThreadNo::new(thread).unwrap();
                events.push(Event {
                    time: Units(time),
                    duration: Units(1),
                    size: Bytes(size),
                    address: Address(address),
                    block,
                    node,
                    thread,
                    detail: 0,
                    op,
                });
            };
            match kind {
                // Blocks of one size, or of growing ones of which the old one is released.
                0..=2 => {
                    let size = if kind == 2 { size.saturating_mul(turn as u64 + 1) } else { size };
                    push(Op::MALLOC, Block::Number(BlockNo(next)), size, next * 16);
                    if kind == 2 && turn > 0 {
                        push(Op::FREE, Block::Number(BlockNo(next - 1)), 0, 0);
                        live.pop();
                    }
                    live.push(next);
                    next += 1;
                }
                // The newest, and the oldest.
                3 => live.pop().into_iter().for_each(|number| push(Op::FREE, Block::Number(BlockNo(number)), 0, 0)),
                4 if !live.is_empty() => push(Op::FREE, Block::Number(BlockNo(live.remove(0))), 0, 0),
                5 if !live.is_empty() => {
                    let old = live.pop().unwrap_or_default();
                    push(Op::REALLOC.release_half(), Block::Number(BlockNo(old)), 0, 0);
                    let address = if turn % 2 == 0 { old * 16 } else { next * 16 };
                    push(Op::REALLOC, Block::Number(BlockNo(next)), size + turn as u64, address);
                    live.push(next);
                    next += 1;
                }
                // Nothing, and unknown blocks.
                _ => push(Op::FREE, if turn % 2 == 0 { Block::Null } else { Block::Unknown }, 0, 0),
            }
        }
    }
    events
}

proptest! {
    #[test]
    fn blocks_are_followed_as_if_plainly(steps in steps(), first in 0u64..40_000) {
        let watched = [false, true, true].map(|grows| Watched { grows, may_creep: false });
        // Blocks with older numbers are live: the table of live blocks is full of them.
        let mut all: Vec<Event> = Vec::new();
        for number in 0..first {
            let block = Block::Number(BlockNo(number));
            let (node, thread, op) = (NodeId::new((number % 3) as u32), ThreadNo::FIRST, Op::MALLOC);
            all.push(Event { time: Units::ZERO, duration: Units(1), size: Bytes(24), address: Address(1), block, node, thread, detail: 0, op });
        }
        all.extend(events(&steps).into_iter().map(|mut event| {
            if let Block::Number(BlockNo(number)) = &mut event.block {
                // Some releases are of these.
                let is_old = event.op == Op::FREE && first > 0 && *number % 5 == 0;
                *number = if is_old { *number % first } else { *number + first };
            }
            event
        }));
        let end = all.last().map_or(0, |event| event.time.0) + 1;
        prop_assert_eq!(follow_fast(&watched, &all, end), follow_plainly(&watched, &all, end));
    }
}
