//! The blocks and mappings that a program has at an instant, and where blocks ever lay.

use crate::memory_map::Block;
use memtoll_model::{Recording, StackId};
use memtoll_trace::event::{Block as Which, Event};
use memtoll_trace::ids::{Address, ThreadNo, Units};
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};

/// Places are told apart by this many bytes when it is asked whether a block ever lay there. A power of two that divides all sizes
/// of pages.
const PLACE: u64 = 4096;

/// What a program has at an instant.
pub struct ProgramMemory {
    /// Live blocks of the heap, by address.
    pub blocks: Vec<Block>,
    /// Mappings of the program's own, files too: by first address, the address behind, and the node that made them.
    mappings: BTreeMap<u64, (u64, StackId)>,
    /// Numbers of the places where a small block ever began.
    places: BTreeSet<u64>,
}

/// The parent of a forked child, which began before it, and when the fork was.
pub fn parent(recording: &Recording, index: usize) -> Option<(usize, Units)> {
    let about = &recording.images[index].about;
    let number = about.forked_from.filter(|parent| *parent < about.image)?;
    let parent = recording.images.iter().position(|image| image.about.image == number)?;
    Some((parent, Units(about.forked_at?)))
}

impl ProgramMemory {
    /// What an image has at a time. A forked child begins with what its parent had.
    pub fn at(recording: &Recording, index: usize, at: Units) -> Result<ProgramMemory, Unreadable> {
        let image = &recording.images[index];
        let mut live: FxHashMap<u64, Block> = FxHashMap::default();
        let mut moving: FxHashMap<ThreadNo, Vec<(Range<u64>, StackId)>> = FxHashMap::default();
        let mut memory = match parent(recording, index) {
            Some((parent, forked_at)) => ProgramMemory::at(recording, parent, forked_at)?,
            None => ProgramMemory { blocks: Vec::new(), mappings: BTreeMap::new(), places: BTreeSet::new() },
        };
        // The child's events know no numbers of these.
        let inherited = std::mem::take(&mut memory.blocks).into_iter();
        let mut inherited: FxHashMap<Address, Block> = inherited.map(|block| (Address(block.address), block)).collect();
        recording.for_each_events_between(index, Units::ZERO, at, |events| {
            for event in events.iter().take_while(|event| event.time <= at) {
                let node = image.node(event.node);
                match (event.op.effect(), event.block) {
                    (Effect::Acquire, Which::Number(number)) if !event.op.is_pooled() => {
                        let Event { address, size, time, thread, .. } = *event;
                        let block = Block { address: address.0, size: size.0, time: time.0, node, thread };
                        if !super::chunks::is_mapped_alone(&block) {
                            memory.places.insert(address.0 / PLACE);
                        }
                        live.insert(number.0, block);
                        inherited.remove(&address);
                    }
                    (Effect::Release, Which::Unknown) => drop(inherited.remove(&event.address)),
                    (Effect::Release, Which::Number(number)) => drop(live.remove(&number.0)),
                    (Effect::Other, _) => memory.mapping_changes(event, node, &mut moving),
                    _ => {}
                }
            }
            match events.last() {
                Some(event) if event.time > at => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        })?;
        memory.blocks = live.into_values().chain(inherited.into_values()).collect();
        memory.blocks.sort_unstable_by_key(|block| (block.address, block.time));
        Ok(memory)
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
        self.places.range(range.start / PLACE..range.end.div_ceil(PLACE)).next().is_some()
    }
}
