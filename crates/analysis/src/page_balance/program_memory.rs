//! The blocks and mappings that a program has at an instant, and where blocks ever lay.

use super::arenas::Arenas;
use super::cached_chunks::CachedChunks;
use super::last_use::LastUse;
use super::pages_in_blocks::PagesInBlocks;
use crate::live_blocks::Block;
use memtoll_model::{Image, Recording, StackId};
use memtoll_tally::BlockTable;
use memtoll_trace::event::{Block as Which, Event};
use memtoll_trace::ids::{Address, ThreadNo, Units};
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

/// Places are told apart by this many bytes when it is asked whether a block ever lay there. A power of two that divides all sizes
/// of pages.
const PLACE: u64 = 4096;

/// Places that are remembered as the last ones.
const RECENT: usize = 1 << 8;

/// Numbers of the places where a small block ever began.
struct Places {
    all: FxHashSet<u64>,
    /// Most blocks begin where others did a moment ago.
    recent: [u64; RECENT],
}

impl Default for Places {
    fn default() -> Places {
        Places { all: FxHashSet::default(), recent: [u64::MAX; RECENT] }
    }
}

impl Places {
    fn insert(&mut self, place: u64) {
        let recent = &mut self.recent[place as usize % RECENT];
        if *recent != place {
            *recent = place;
            self.all.insert(place);
        }
    }
}

/// What a program has at an instant.
pub struct ProgramMemory {
    /// Live blocks of the heap, by address.
    pub blocks: Vec<Block>,
    /// Mappings of the program's own, files too: by first address, the address behind, and the node that made them.
    mappings: BTreeMap<u64, (u64, StackId)>,
    places: Places,
    /// The same, sorted.
    sorted_places: Vec<u64>,
    /// Chunks that threads keep after freeing them, by address, where malloc is glibc's.
    pub cached: Vec<Range<u64>>,
    pub arenas: Arenas,
    /// On which pages of huge pages a block ever lay.
    pub in_blocks: PagesInBlocks,
    /// When how much was live for the last time.
    pub last_use: LastUse,
}

/// The parent of a forked child, which began before it, and when the fork was.
pub fn parent(recording: &Recording, index: usize) -> Option<(usize, Units)> {
    let about = &recording.images[index].about;
    let number = about.forked_from.filter(|parent| *parent < about.image)?;
    let parent = recording.images.iter().position(|image| image.about.image == number)?;
    Some((parent, Units(about.forked_at?)))
}

/// A program's memory while its events are read.
pub struct Reading<'r> {
    image: &'r Image,
    at: Units,
    memory: ProgramMemory,
    live: BlockTable<Block>,
    moving: FxHashMap<ThreadNo, Vec<(Range<u64>, StackId)>>,
    caches: CachedChunks,
    /// Threads that end until then, the next one last.
    ends: Vec<(u64, ThreadNo)>,
    /// Blocks of the parent, by address: the child's events know no numbers of these.
    inherited: FxHashMap<Address, Block>,
}

impl<'r> Reading<'r> {
    /// What an image has before its first event, of what it will have at a time; see [`ProgramMemory::at`].
    pub fn new(
        recording: &'r Recording,
        index: usize,
        at: Units,
        main: Range<u64>,
        in_blocks: PagesInBlocks,
    ) -> Result<Reading<'r>, Unreadable> {
        let mut memory = match parent(recording, index) {
            Some((parent, forked_at)) => ProgramMemory::at(recording, parent, forked_at, main, in_blocks)?,
            None => ProgramMemory {
                blocks: Vec::new(),
                mappings: BTreeMap::new(),
                places: Places::default(),
                sorted_places: Vec::new(),
                cached: Vec::new(),
                arenas: Arenas::new(main),
                in_blocks,
                last_use: LastUse::default(),
            },
        };
        let inherited = std::mem::take(&mut memory.blocks).into_iter();
        let image = &recording.images[index];
        let ends = image.threads.iter().filter_map(|thread| Some((thread.ended?, thread.number)));
        let mut ends: Vec<_> = ends.filter(|(ended, _)| *ended <= at.0).collect();
        ends.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Reading {
            image,
            at,
            memory,
            live: BlockTable::new(Block::NONE),
            moving: FxHashMap::default(),
            caches: CachedChunks::default(),
            ends,
            inherited: inherited.map(|block| (Address(block.address), block)).collect(),
        })
    }

    /// Events in the order of their times.
    pub fn add(&mut self, events: &[Event]) {
        let Reading { image, at, memory, live, moving, caches, ends, inherited } = self;
        for event in events.iter().take_while(|event| event.time <= *at) {
            while let Some((_, thread)) = ends.pop_if(|(ended, _)| *ended < event.time.0) {
                caches.ended(thread);
            }
            let node = image.node(event.node);
            match (event.op.effect(), event.block) {
                (Effect::Acquire, Which::Number(number)) if !event.op.is_pooled() => {
                    let Event { address, size, time, thread, .. } = *event;
                    let block = Block { address: address.0, size: size.0, time: time.0, node, thread };
                    if !super::chunks::is_mapped_alone(&block) {
                        memory.places.insert(address.0 / PLACE);
                    }
                    caches.acquired(&block);
                    memory.arenas.acquired(&block);
                    memory.in_blocks.add(&block);
                    memory.last_use.acquired(block.size);
                    live.insert(number.0, block);
                    if !inherited.is_empty() {
                        inherited.remove(&address);
                    }
                }
                (Effect::Release, which @ (Which::Number(_) | Which::Unknown)) => {
                    let block = match which {
                        Which::Number(number) => live.remove(number.0),
                        _ => inherited.remove(&event.address),
                    };
                    if let Some(block) = block {
                        caches.released(&block, event.thread);
                        memory.arenas.released(&block);
                        memory.last_use.released(block.size, event.time.0);
                    }
                }
                (Effect::Other, _) => memory.mapping_changes(event, node, moving),
                _ => {}
            }
        }
    }

    /// All events until then.
    pub fn read(&mut self, recording: &Recording, index: usize) -> Result<(), Unreadable> {
        let at = self.at;
        recording.for_each_events_between(index, Units::ZERO, at, |events| {
            self.add(events);
            match events.last() {
                Some(event) if event.time > at => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        })
    }

    /// There are no more events until then.
    pub fn finish(self) -> ProgramMemory {
        let Reading { mut memory, live, mut caches, ends, inherited, .. } = self;
        ends.into_iter().for_each(|(_, thread)| caches.ended(thread));
        memory.cached = caches.chunks();
        memory.sorted_places = memory.places.all.iter().copied().collect();
        memory.sorted_places.sort_unstable();
        memory.blocks = live.into_blocks().chain(inherited.into_values()).collect();
        memory.blocks.sort_unstable_by_key(|block| (block.address, block.time));
        memory
    }
}

impl ProgramMemory {
    /// What an image has at a time. A forked child begins with what its parent had. `main`: the addresses of glibc's main heap;
    /// `in_blocks`: pages to watch.
    pub fn at(
        recording: &Recording,
        index: usize,
        at: Units,
        main: Range<u64>,
        in_blocks: PagesInBlocks,
    ) -> Result<ProgramMemory, Unreadable> {
        let mut reading = Reading::new(recording, index, at, main, in_blocks)?;
        reading.read(recording, index)?;
        Ok(reading.finish())
    }

    fn mapping_changes(
        &mut self,
        event: &Event,
        node: StackId,
        moving: &mut FxHashMap<ThreadNo, Vec<(Range<u64>, StackId)>>,
    ) {
        let start = event.address.0;
        let end = start.saturating_add(event.size.0).next_multiple_of(PLACE);
        match event.op {
            Op::MMAP | Op::MMAP64 => {
                self.cut(start, end);
                self.mappings.insert(start, (end, node));
            }
            Op::MUNMAP => drop(self.cut(start, end)),
            op if op == Op::MREMAP.release_half() => {
                moving.insert(event.thread, self.cut(start, end));
            }
            // What moves keeps its line.
            Op::MREMAP => {
                let moved = moving.remove(&event.thread).unwrap_or_default();
                if let Some((_, node)) = moved.first() {
                    self.cut(start, end);
                    self.mappings.insert(start, (end, *node));
                }
            }
            _ => {}
        }
    }

    /// What was mapped there is gone; returns it.
    fn cut(&mut self, start: u64, end: u64) -> Vec<(Range<u64>, StackId)> {
        let mut gone = Vec::new();
        while let Some((&from, &(to, node))) = self.mappings.range(..end).next_back()
            && to > start
        {
            self.mappings.remove(&from);
            gone.push((from.max(start)..to.min(end), node));
            if from < start {
                self.mappings.insert(from, (start, node));
            }
            if to > end {
                self.mappings.insert(end, (to, node));
            }
        }
        gone
    }

    /// The program's mappings in which no block of an allocator ever lay.
    pub fn own_mappings(&self) -> impl Iterator<Item = (Range<u64>, StackId)> {
        let ranges = self.mappings.iter().map(|(start, (end, node))| (*start..*end, *node));
        ranges.filter(|(range, _)| !self.had_blocks(range))
    }

    /// Whether a block that shares its pages with others ever began there.
    pub fn had_blocks(&self, range: &Range<u64>) -> bool {
        self.pages_with_blocks(range) > 0
    }

    /// On how many pages of a range a block ever began.
    pub fn pages_with_blocks(&self, range: &Range<u64>) -> u64 {
        let Range { start, end } = places(range);
        let before = |at| self.sorted_places.partition_point(|place| *place < at);
        before(end).saturating_sub(before(start)) as u64
    }
}

fn places(range: &Range<u64>) -> Range<u64> {
    range.start / PLACE..range.end.div_ceil(PLACE)
}
