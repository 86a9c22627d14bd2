//! Which live blocks keep free memory from being given back.
//!
//! The least that an allocator can give back is a *unit*: of glibc, a page that lies wholly between two chunks. A unit is pinned by
//! the lines that have blocks in it. Of what is free there, each of them has an equal share (the Shapley value, so that shares add
//! up); alone, a line has the units that no other line pins. A node of the stack tree has alone what only blocks below it pin: the
//! units whose blocks have no common caller closer to them than it.

use super::chunks::{FREE_HEADER, chunk, is_mapped_alone, mapping};
use crate::memory_map::Block;
use crate::stacks::Stacks;
use memtoll_model::{FrameId, Image, Recording, StackId};
use memtoll_trace::path::last_part;
use memtoll_trace::snapshot::Snapshot;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// In which units the allocator of a process gives memory back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unit {
    /// glibc's: pages.
    Page,
    /// Those of an allocator whose units are not known here: its name.
    Unknown(String),
}

impl Unit {
    /// Which library a program is linked with decides which functions answer.
    pub(super) fn of(image: &Image, snapshot: &Snapshot) -> Unit {
        const OTHERS: [&str; 5] = ["jemalloc", "tcmalloc", "mimalloc", "snmalloc", "hoard"];
        let files = || snapshot.mappings.iter().map(|mapping| last_part(&mapping.path));
        let other = OTHERS.into_iter().find(|name| files().any(|file| file.starts_with("lib") && file.contains(name)));
        let own = image.own_allocators.allocators.first().map(|own| own.name.as_str());
        let musl = files().any(|file| file.starts_with("ld-musl")).then_some("musl");
        match other.or(own).or(musl) {
            Some(name) => Unit::Unknown(name.to_owned()),
            None => Unit::Page,
        }
    }
}

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
}

/// What blocks hold.
pub(super) struct Held {
    pub live: u64,
    pub slack: u64,
    pub pinned: u64,
    pub free: u64,
    pub swapped_live: u64,
    pub pins: Vec<Pin>,
    pub alone: FxHashMap<StackId, u64>,
}

/// A page with blocks and free memory: those of `blocks` that lie on it, and the free bytes.
struct PinnedPage {
    blocks: Range<u32>,
    free: u64,
}

pub(super) struct Pinning<'a> {
    blocks: &'a [Block],
    spans: Vec<Range<u64>>,
    unit: Unit,
    page: u64,
    /// The first block that may reach what comes next.
    next: usize,
    live: u64,
    slack: u64,
    free: u64,
    swapped_live: u64,
    pages: Vec<PinnedPage>,
}

impl<'a> Pinning<'a> {
    /// For blocks by address.
    pub fn new(blocks: &'a [Block], unit: Unit, page: u64) -> Pinning<'a> {
        let span = |block: &Block| match unit {
            Unit::Page if is_mapped_alone(block) => mapping(block),
            Unit::Page => chunk(block),
            Unit::Unknown(_) => block.address..block.address.saturating_add(block.size),
        };
        let mut spans: Vec<Range<u64>> = blocks.iter().map(span).collect();
        // No chunk reaches into the next one; and a large block in the heap is no mapping.
        for index in 1..spans.len() {
            let next = spans[index].start;
            let before = &mut spans[index - 1];
            before.end = before.end.min(next).max(before.start);
        }
        Pinning { blocks, spans, unit, page, next: 0, live: 0, slack: 0, free: 0, swapped_live: 0, pages: Vec::new() }
    }

    /// Live bytes in a range, which is behind those before; and all that chunks take of it, and which chunks these are.
    fn overlap(&mut self, range: &Range<u64>) -> (u64, u64, Range<usize>) {
        while self.spans.get(self.next).is_some_and(|span| span.end <= range.start) {
            self.next += 1;
        }
        let (mut live, mut taken) = (0, 0);
        let mut index = self.next;
        let within = |of: Range<u64>| of.end.min(range.end).saturating_sub(of.start.max(range.start));
        while let Some(span) = self.spans.get(index).filter(|span| span.start < range.end) {
            let block = &self.blocks[index];
            taken += within(span.clone());
            live += within(block.address..block.address.saturating_add(block.size));
            index += 1;
        }
        (live, taken.max(live), self.next..index)
    }

    /// Pages of the allocator's, by address.
    pub fn allocators(&mut self, range: Range<u64>, swapped: bool) {
        let mut start = range.start;
        while start < range.end {
            let page = start..range.end.min((start + 1).next_multiple_of(self.page));
            self.page(&page, swapped);
            start = page.end;
        }
    }

    fn page(&mut self, page: &Range<u64>, swapped: bool) {
        let (live, taken, mut on_it) = self.overlap(page);
        if swapped {
            self.swapped_live += live;
            return;
        }
        let free = (page.end - page.start) - taken;
        self.live += live;
        self.slack += taken - live;
        // The begin of a free chunk stays where it is.
        if on_it.is_empty()
            && let Some(before) = on_it.start.checked_sub(1)
            && self.spans[before].end + FREE_HEADER > page.start
            && self.spans[before].end <= page.start
        {
            on_it = before..before + 1;
        }
        if on_it.is_empty() || self.unit != Unit::Page {
            self.free += free;
        } else {
            self.pages.push(PinnedPage { blocks: on_it.start as u32..on_it.end as u32, free });
        }
    }

    /// At a time, units.
    pub fn finish(self, stacks: &mut Stacks, at: u64) -> Held {
        let Pinning { blocks, page, live, slack, free, swapped_live, pages, .. } = self;
        let recording = stacks.recording();
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
        let mut shares: Vec<f64> = Vec::new();
        let mut alone: Vec<u64> = Vec::new();
        let mut counted: Vec<Vec<u32>> = Vec::new();
        let mut of_node: FxHashMap<StackId, u64> = FxHashMap::default();
        let mut callers: FxHashMap<Vec<StackId>, Option<StackId>> = FxHashMap::default();
        let mut last = None;
        for pinned in &pages {
            let on_it = || pinned.blocks.clone().filter_map(|index| blocks.get(index as usize));
            let mut lines: Vec<usize> = on_it().map(|block| line_of(block.node)).collect();
            for (line, index) in lines.iter().zip(pinned.blocks.clone()) {
                if counted.len() <= *line {
                    counted.resize(*line + 1, Vec::new());
                    shares.resize(*line + 1, 0.0);
                    alone.resize(*line + 1, 0);
                }
                if pinned.free > 0 && last < Some(index) {
                    counted[*line].push(index);
                    last = Some(index);
                }
            }
            lines.sort_unstable();
            lines.dedup();
            for line in &lines {
                shares[*line] += pinned.free as f64 / lines.len() as f64;
            }
            if let [line] = lines[..] {
                alone[line] += page;
            }
            let mut nodes: Vec<StackId> = on_it().map(|block| block.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let caller = *callers.entry(nodes).or_insert_with_key(|nodes| common_caller(recording, nodes));
            if let Some(node) = caller {
                *of_node.entry(node).or_default() += page;
            }
        }
        let pinned = pages.iter().map(|page| page.free).sum();
        let mut pins: Vec<Pin> = Vec::new();
        for (line, frame) in frames.iter().enumerate() {
            let mut ages: Vec<u64> =
                counted[line].iter().map(|index| at.saturating_sub(blocks[*index as usize].time)).collect();
            ages.sort_unstable();
            let mut nodes: Vec<StackId> = counted[line].iter().map(|index| blocks[*index as usize].node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            pins.push(Pin {
                frame: *frame,
                share: shares[line].round() as u64,
                alone: alone[line],
                blocks: ages.len() as u64,
                bytes: counted[line].iter().map(|index| blocks[*index as usize].size).sum(),
                median_age: ages.get(ages.len() / 2).copied().unwrap_or(0),
                nodes,
            });
        }
        pins.retain(|pin| pin.share > 0);
        pins.sort_by_key(|pin| (std::cmp::Reverse(pin.share), pin.frame));
        Held { live, slack, pinned, free, swapped_live, pins, alone: below(recording, of_node) }
    }
}

/// The node that all these stacks pass through, closest to them. `None`: they have none in common.
fn common_caller(recording: &Recording, nodes: &[StackId]) -> Option<StackId> {
    let mut common: Option<Vec<StackId>> = None;
    for node in nodes {
        // From the thread's entry to the call.
        let mut path = recording.stacks.stack(*node).0;
        path.reverse();
        match &mut common {
            None => common = Some(path),
            Some(common) => common.truncate(common.iter().zip(&path).take_while(|(a, b)| a == b).count()),
        }
    }
    common?.last().copied()
}

/// Each node's own bytes and those of all nodes below it.
fn below(recording: &Recording, of_node: FxHashMap<StackId, u64>) -> FxHashMap<StackId, u64> {
    let mut sums: FxHashMap<StackId, u64> = FxHashMap::default();
    for (node, bytes) in of_node {
        for caller in recording.stacks.stack(node).0 {
            *sums.entry(caller).or_default() += bytes;
        }
    }
    sums
}
