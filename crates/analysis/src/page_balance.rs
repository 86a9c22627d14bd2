//! Who holds the pages of a process's resident set: what lies on each page that was in memory at an instant.
//!
//! The total is the kernel's by construction; what may be wrong is the split. So pages are first taken out that are known for
//! certain (the recorder's, stacks, mappings of the program's own), and memory counts as the allocator's only where a block ever
//! lay. For an allocator whose units of giving memory back are unknown, pinned memory is not told apart.

mod address_space;
mod arenas;
mod cached_chunks;
mod callers;
mod chunks;
mod huge_pages;
mod last_use;
pub mod page_map;
mod pages_in_blocks;
mod pinning;
mod program_memory;
mod rounding;
mod units;
mod untouched;
mod wastes;

pub use callers::HeldBelow;
pub use huge_pages::HugePages;
pub use pinning::{OfBlock, Pin};
pub use units::Unit;
pub use wastes::{Kind, Waste};

use crate::global_variables::Written;
use crate::live_blocks::Block;
use crate::stacks::Stacks;
use crate::sums::Sums;
use address_space::{AddressSpace, Holder};
use memtoll_model::{Recording, StackId};
use memtoll_trace::event::Event;
use memtoll_trace::ids::Units;
use memtoll_trace::snapshot::{Cause, Snapshot};
use memtoll_trace::unreadable::Unreadable;
use page_map::{Owner, PageMap};
use pages_in_blocks::PagesInBlocks;
use pinning::Pinning;
use program_memory::{ProgramMemory, Reading};
use rounding::Rounding;
use rustc_hash::FxHashMap;
use std::ops::Range;
use wastes::Found;

/// What a byte of the resident set is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Of a live block, as it was asked for.
    Live,
    /// Beside a live block: the allocator's header, and what it rounds sizes up to.
    Slack,
    /// Free, on a page that a live block keeps.
    Pinned,
    /// Free, on pages that the allocator keeps. Where its units are not known, slack and pinned memory, too.
    FreePages,
    /// Of mappings that the program made.
    Mappings,
    Stacks,
    /// Of global variables.
    Globals,
    /// Of files: code, constants, and what else is mapped of them.
    Files,
    Recorder,
    Other,
}

impl Part {
    pub const ALL: [Part; 10] = [
        Part::Live,
        Part::Slack,
        Part::Pinned,
        Part::FreePages,
        Part::Mappings,
        Part::Stacks,
        Part::Globals,
        Part::Files,
        Part::Recorder,
        Part::Other,
    ];
}

/// The resident set at an instant.
#[derive(Debug)]
pub struct Balance {
    /// When, units.
    pub time: u64,
    pub cause: Cause,
    /// All pages in memory, bytes: the sum of all parts.
    pub resident: u64,
    /// By [`Part`], bytes.
    parts: [u64; Part::ALL.len()],
    /// The kernel's own figure before and after the look, bytes.
    pub kernel: (u64, u64),
    /// Bytes of live blocks, and how many blocks there are.
    pub live_bytes: u64,
    pub live_blocks: u64,
    /// Bytes of live blocks on pages that are not in memory, and were not swapped out.
    pub never_touched: u64,
    /// Bytes on pages that are swapped out.
    pub swapped: u64,
    /// Of glibc's malloc.
    pub huge: HugePages,
    /// The allocator, and in which units it gives memory back.
    pub unit: Unit,
    /// All live blocks, by address, and what each holds.
    pub blocks: Vec<(Block, OfBlock)>,
    /// By line, most first: who keeps free memory from being given back.
    pub pins: Vec<Pin>,
    /// The function whose blocks, with those of all that it calls, keep nearly all that is pinned.
    pub held_below: Option<HeldBelow>,
    /// What would make the resident set smaller, what saves most first.
    pub wastes: Vec<Waste>,
    /// How long ago half of what is free was live for the last time, units.
    pub free_for: u64,
    /// Bytes by what they hold, most first: mappings of the program by the node that made them.
    pub mappings: Vec<(StackId, u64)>,
    /// Where global variables are in memory.
    pub globals: Vec<Written>,
    /// Where all of it lies, if it was asked for.
    pub map: Option<PageMap>,
}

impl Balance {
    /// Bytes of a part.
    pub fn part(&self, part: Part) -> u64 {
        self.parts[part as usize]
    }
}

impl OfBlock {
    /// Bytes of a block that are neither in memory nor swapped out.
    pub fn never_touched(&self, of: &Block) -> u64 {
        of.size.saturating_sub(self.resident + self.swapped)
    }
}

/// Why there is no balance.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unknown {
    /// A forked child has blocks of its parent's.
    #[error(
        "process {0} was forked by a system call of its own: memtoll does not know when, and which blocks of its parent it has"
    )]
    Forked(u32),
    #[error("{0}")]
    Unreadable(String),
}

/// The balance of a selection at its end, if that is one whole process.
pub fn at_end(stacks: &mut Stacks, sums: &Sums) -> Option<Balance> {
    let (index, snapshot) = end(stacks.recording(), sums, u64::MAX)?;
    balance(stacks, index, &snapshot, None).ok()
}

/// What was looked at when a selection ended that is one whole process with at most this many events.
fn end(recording: &Recording, sums: &Sums, most_events: u64) -> Option<(usize, Snapshot)> {
    if sums.is_part() || sums.are_of_several() {
        return None;
    }
    let (index, _) = sums.counted().next()?;
    recording.images[index].end.as_ref().filter(|end| end.recorder.events <= most_events)?;
    Some((index, end_of(recording, index)?))
}

/// What was looked at when a process ended.
pub(crate) fn end_of(recording: &Recording, index: usize) -> Option<Snapshot> {
    recording.snapshots(index).ok()?.into_iter().find(|snapshot| snapshot.cause == Cause::End)
}

/// What [`at_end`] finds, for who reads all events of the process for something else.
pub struct AtEnd<'r> {
    /// The process.
    pub index: usize,
    snapshot: Snapshot,
    reading: Reading<'r>,
}

impl<'r> AtEnd<'r> {
    /// Before the first event, of a process with at most `most_events`.
    pub fn new(recording: &'r Recording, sums: &Sums, most_events: u64) -> Option<AtEnd<'r>> {
        let (index, snapshot) = end(recording, sums, most_events)?;
        AtEnd::begin(recording, index, snapshot)
    }

    /// The same of any process.
    pub fn of(recording: &'r Recording, index: usize) -> Option<AtEnd<'r>> {
        AtEnd::begin(recording, index, end_of(recording, index)?)
    }

    fn begin(recording: &'r Recording, index: usize, snapshot: Snapshot) -> Option<AtEnd<'r>> {
        let reading = begin(recording, index, &snapshot).ok()?;
        Some(AtEnd { index, snapshot, reading })
    }

    /// When it was looked at, units.
    pub fn time(&self) -> Units {
        self.snapshot.time
    }

    /// Events in the order of their times.
    pub fn add(&mut self, events: &[Event]) {
        self.reading.add(events);
    }

    /// There are no more.
    pub fn finish(self, stacks: &mut Stacks) -> Option<Balance> {
        balance_of(stacks, self.index, &self.snapshot, self.reading.finish(), None).ok()
    }
}

fn unreadable(why: Unreadable) -> Unknown {
    Unknown::Unreadable(why.to_string())
}

/// Begins to read what lay in memory then.
fn begin<'r>(recording: &'r Recording, index: usize, snapshot: &Snapshot) -> Result<Reading<'r>, Unknown> {
    let image = &recording.images[index];
    if image.about.forked_from.is_some() && program_memory::parent(recording, index).is_none() {
        return Err(Unknown::Forked(image.about.pid));
    }
    let in_blocks = PagesInBlocks::of_huge_pages(snapshot);
    Reading::new(recording, index, snapshot.time, main_heap(snapshot), in_blocks).map_err(unreadable)
}

/// The balance of a snapshot of image number `index`. `cells`: also draw a map, with at most this many cells.
pub fn balance(
    stacks: &mut Stacks,
    index: usize,
    snapshot: &Snapshot,
    cells: Option<usize>,
) -> Result<Balance, Unknown> {
    let recording = stacks.recording();
    let mut reading = begin(recording, index, snapshot)?;
    reading.read(recording, index).map_err(unreadable)?;
    balance_of(stacks, index, snapshot, reading.finish(), cells)
}

fn balance_of(
    stacks: &mut Stacks,
    index: usize,
    snapshot: &Snapshot,
    memory: ProgramMemory,
    cells: Option<usize>,
) -> Result<Balance, Unknown> {
    let recording = stacks.recording();
    let image = &recording.images[index];
    let modules = recording.loaded(index).map_err(unreadable)?;
    let unit = Unit::of(image, snapshot);
    let space = AddressSpace::new(snapshot, &memory, &modules);
    let map = cells.map(|most| PageMap::new(snapshot, most));
    let mut pinning = Pinning::new(&memory, unit.clone(), snapshot.page, map);
    let mut parts = [0; Part::ALL.len()];
    let mut swapped = 0;
    let mut huge = HugePages::default();
    let mut mappings: FxHashMap<StackId, u64> = FxHashMap::default();
    let mut globals = Vec::new();
    let mut add = |part: Part, bytes: u64| parts[part as usize] += bytes;
    for run in &snapshot.runs {
        let end = run.start + run.pages * snapshot.page;
        if run.is_swapped {
            swapped += run.pages * snapshot.page;
        }
        for (piece, holder) in space.pieces(run.start..end) {
            if let Holder::Allocator = holder {
                if unit == Unit::Page && run.is_huge && !run.is_files && !run.is_swapped {
                    huge.add(&piece, &memory, snapshot.page);
                }
                pinning.allocators(piece, run.is_swapped);
                continue;
            }
            if run.is_swapped {
                continue;
            }
            let bytes = piece.end - piece.start;
            let (part, owner) = match holder {
                Holder::Recorder => (Part::Recorder, None),
                Holder::Stack => (Part::Stacks, None),
                Holder::Mapping(node) => {
                    *mappings.entry(*node).or_default() += bytes;
                    (Part::Mappings, Some(Owner::Stack(*node)))
                }
                Holder::File(path) if run.is_files => (Part::Files, Some(Owner::File(path.clone()))),
                Holder::File(path) => {
                    globals.push((piece.clone(), path.clone()));
                    (Part::Globals, Some(Owner::File(path.clone())))
                }
                _ => (Part::Other, None),
            };
            add(part, bytes);
            if let Some(map) = &mut pinning.map {
                map.paint(piece, part, owner.as_ref());
            }
        }
    }
    let held = pinning.finish(stacks, snapshot.time.0);
    let rounding = Rounding::new(&memory.blocks, &unit, &held.frame_of);
    let resident = snapshot.resident_bytes();
    let untouched = untouched::lines(&memory.blocks, &held);
    let found = Found { held: &held, memory: &memory, rounding: &rounding, huge: &huge, untouched: &untouched };
    let wastes = wastes::wastes(&found, &unit, resident, snapshot.page);
    for (part, bytes) in
        [(Part::Live, held.live), (Part::Slack, held.slack), (Part::Pinned, held.pinned), (Part::FreePages, held.free)]
    {
        add(part, bytes);
    }
    let live_bytes: u64 = memory.blocks.iter().map(|block| block.size).sum();
    let mut mappings: Vec<_> = mappings.into_iter().collect();
    mappings.sort_unstable_by_key(|(node, bytes)| (std::cmp::Reverse(*bytes), *node));
    Ok(Balance {
        time: snapshot.time.0,
        cause: snapshot.cause.clone(),
        resident,
        parts,
        kernel: snapshot.resident,
        live_bytes,
        live_blocks: memory.blocks.len() as u64,
        never_touched: memory.blocks.iter().zip(&held.blocks).map(|(block, held)| held.never_touched(block)).sum(),
        swapped,
        huge,
        unit,
        blocks: memory.blocks.into_iter().zip(held.blocks).collect(),
        pins: held.pins,
        held_below: held.below,
        wastes,
        free_for: snapshot.time.0.saturating_sub(memory.last_use.of_more((held.free + held.pinned) / 2)),
        mappings,
        globals,
        map: held.map,
    })
}

/// Where the heap lies that grows with `brk`, and where it may have lain.
fn main_heap(snapshot: &Snapshot) -> Range<u64> {
    let Some(index) = snapshot.mappings.iter().position(|mapping| mapping.path == "[heap]") else { return 0..0 };
    let behind = snapshot.mappings[index..].iter().find(|mapping| mapping.path != "[heap]");
    snapshot.mappings[index].start..behind.map_or(u64::MAX, |mapping| mapping.start)
}
