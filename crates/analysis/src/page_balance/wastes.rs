//! What would make the resident set smaller, and by how much: only where it is known in which units the allocator gives memory
//! back.
//!
//! Savings of different wastes may be of the same pages: trimming gives back what lies below the block on top of the heap, too.

use super::Part;
use super::arenas::heap;
use super::cached_chunks::CachedChunks;
use super::callers::HeldBelow;
use super::huge_pages::HugePages;
use super::pinning::{Held, Pin};
use super::program_memory::ProgramMemory;
use super::rounding::Rounding;
use super::units::Unit;
use super::untouched;
use memtoll_model::FrameId;
use std::ops::Range;

/// A part of the resident set below which nothing is proposed.
const WORTH: f64 = 0.05;
/// Addresses, as a part of the resident set, below which no line is named: they cost no memory.
const WORTH_OF_ADDRESSES: f64 = 0.5;

/// Why memory is in the resident set that need not be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Free pages that `malloc_trim(0)` gives back.
    FreePages,
    /// Free memory on the pages or slabs of these blocks: how many, and their bytes.
    Pinned { blocks: u64, bytes: u64 },
    /// Free memory below the blocks on top of glibc's main heap, which shrinks only from there.
    TopOfHeap { blocks: u64, bytes: u64 },
    /// Free memory in the heaps of threads, which never needed more than `needed` bytes at one instant.
    Arenas { heaps: u64, needed: u64 },
    /// What the allocator rounds the sizes of these blocks up to, with its headers.
    Rounding { blocks: u64, bytes: u64 },
    /// Free pages that jemalloc keeps for some time.
    KeptByAllocator,
    /// Huge pages, of which live blocks cover `live` bytes.
    HugePages { bytes: u64, live: u64 },
    /// Parts of these blocks that were never touched: addresses, and no memory.
    NeverTouched { blocks: u64, bytes: u64, untouched: u64 },
}

impl Kind {
    /// What JSON calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::FreePages => "free_pages",
            Kind::Pinned { .. } => "pinned",
            Kind::TopOfHeap { .. } => "top_of_heap",
            Kind::Arenas { .. } => "arenas",
            Kind::Rounding { .. } => "rounding",
            Kind::KeptByAllocator => "kept_by_allocator",
            Kind::HugePages { .. } => "huge_pages",
            Kind::NeverTouched { .. } => "never_touched",
        }
    }

    /// The part of the resident set that it is of.
    pub fn part(self) -> Part {
        match self {
            Kind::FreePages
            | Kind::TopOfHeap { .. }
            | Kind::Arenas { .. }
            | Kind::KeptByAllocator
            | Kind::HugePages { .. } => Part::FreePages,
            Kind::Pinned { .. } => Part::Pinned,
            Kind::Rounding { .. } => Part::Slack,
            Kind::NeverTouched { .. } => Part::Live,
        }
    }

    /// Whether the program has freed the memory.
    pub fn is_freed(self) -> bool {
        !matches!(self, Kind::Rounding { .. } | Kind::HugePages { .. } | Kind::NeverTouched { .. })
    }

    /// The blocks that it is about: how many, and their bytes.
    pub fn blocks(self) -> Option<(u64, u64)> {
        match self {
            Kind::Pinned { blocks, bytes }
            | Kind::TopOfHeap { blocks, bytes }
            | Kind::Rounding { blocks, bytes }
            | Kind::NeverTouched { blocks, bytes, .. } => Some((blocks, bytes)),
            Kind::FreePages | Kind::Arenas { .. } | Kind::KeptByAllocator | Kind::HugePages { .. } => None,
        }
    }

    /// What it saves of addresses, where it saves no memory, bytes.
    pub fn addresses(self) -> Option<u64> {
        match self {
            Kind::NeverTouched { untouched, .. } => Some(untouched),
            _ => None,
        }
    }
}

/// Memory that could be saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waste {
    pub kind: Kind,
    /// How much the resident set shrinks at least, and at most, bytes.
    pub low: u64,
    pub high: u64,
    /// The line or function whose blocks it is about.
    pub frame: Option<FrameId>,
}

impl Waste {
    /// What it most likely saves, bytes.
    pub fn likely(&self) -> u64 {
        match self.kind {
            // The blocks move to other memory.
            Kind::Pinned { .. } | Kind::Rounding { .. } => self.low,
            // What lies inside long blocks has mostly been touched.
            Kind::HugePages { .. } => self.low,
            _ => self.low.midpoint(self.high),
        }
    }
}

/// What is known of a process's memory.
pub(super) struct Found<'a> {
    pub held: &'a Held,
    pub memory: &'a ProgramMemory,
    pub rounding: &'a Rounding,
    pub huge: &'a HugePages,
    pub untouched: &'a [untouched::Line],
}

/// All wastes that are worth a change, by what they save for certain, then by what they may save.
pub(super) fn wastes(found: &Found, unit: &Unit, resident: u64, page: u64) -> Vec<Waste> {
    let Found { held, memory, rounding, huge, untouched } = *found;
    let is_much = |bytes: u64| bytes as f64 >= WORTH * resident as f64;
    let addresses = untouched.iter().filter(|line| line.untouched as f64 >= WORTH_OF_ADDRESSES * resident as f64);
    let mut addresses: Vec<Waste> = addresses.map(untouched_part).collect();
    addresses.sort_by_key(|waste| (std::cmp::Reverse(waste.kind.addresses()), waste.frame));
    let mut all: Vec<Waste> = Vec::new();
    match unit {
        Unit::Unknown(_) => return addresses,
        Unit::Page => {
            all.push(free_pages(held, memory));
            all.extend(top_of_heap(held, memory));
            all.extend(arenas(held, memory));
            let kind = Kind::HugePages { bytes: huge.bytes, live: huge.live };
            all.push(Waste { kind, low: huge.low, high: huge.high, frame: None });
        }
        Unit::Slab => {
            let low = held.free_ranges.iter().map(|range| memory.pages_with_blocks(range) * page).sum();
            all.push(Waste { kind: Kind::KeptByAllocator, low, high: held.free, frame: None });
        }
    }
    let pinned: Vec<Waste> = held.pins.iter().map(|pin| of_line(pin, unit, page)).collect();
    let by_lines = pinned.iter().any(|waste| is_much(waste.low));
    all.extend(pinned);
    all.extend(held.below.filter(|_| !by_lines).map(|below| of_function(&below, held)));
    all.extend(rounding.lines.iter().map(|line| Waste {
        kind: Kind::Rounding { blocks: line.blocks, bytes: line.bytes },
        low: line.beyond_slots,
        high: line.beyond_bytes,
        frame: line.frame,
    }));
    all.retain(|waste| {
        is_much(match waste.kind {
            Kind::TopOfHeap { .. } | Kind::Rounding { .. } | Kind::KeptByAllocator => waste.high,
            _ => waste.low,
        })
    });
    all.sort_by_key(|waste| (std::cmp::Reverse((waste.low, waste.high)), waste.frame));
    all.extend(addresses);
    all
}

/// Less would be asked for: that is no memory, because nothing is there.
fn untouched_part(line: &untouched::Line) -> Waste {
    let kind = Kind::NeverTouched { blocks: line.blocks, bytes: line.bytes, untouched: line.untouched };
    Waste { kind, low: 0, high: 0, frame: line.frame }
}

/// `malloc_trim` gives back pages between chunks, in the heaps of threads not those behind the last one. What lies on a page of
/// a chunk that a thread keeps comes back only if that chunk has been used again meanwhile.
fn free_pages(held: &Held, memory: &ProgramMemory) -> Waste {
    let main = memory.arenas.main();
    let is_behind_all = |range: &Range<u64>| {
        let Some(own) = heap(range.start, main) else { return false };
        let next = |all: &[Range<u64>]| {
            let index = all.partition_point(|one| one.start < range.end);
            all.get(index).is_some_and(|one| heap(one.start, main) == Some(own))
        };
        !next(&held.spans) && !next(&memory.cached)
    };
    let low = held.free_ranges.iter().filter(|range| !is_behind_all(range)).map(|range| range.end - range.start).sum();
    Waste { kind: Kind::FreePages, low, high: low + held.free_cached, frame: None }
}

/// The blocks on top of the main heap, as long as what they take is little beside the free memory below them.
fn top_of_heap(held: &Held, memory: &ProgramMemory) -> Option<Waste> {
    /// Blocks whose places in the program one can change.
    const MOST_BLOCKS: usize = 8;
    /// What they may take of what is free below them.
    const LITTLE: f64 = 0.02;
    let main = memory.arenas.main();
    let spans = &held.spans;
    let end = spans.partition_point(|span| span.start < main.end);
    let mut below = 0;
    let mut found = None;
    let ranges = held.free_ranges.iter().filter(|range| main.contains(&range.start));
    for range in ranges.rev() {
        let first = spans.partition_point(|span| span.start < range.end);
        let above = first..end.max(first);
        below += range.end - range.start;
        let taken: u64 = spans[above.clone()].iter().map(|span| span.end - span.start).sum();
        if above.len() > MOST_BLOCKS {
            break;
        }
        if !above.is_empty() && taken as f64 <= LITTLE * below as f64 {
            found = Some((above, below));
        }
    }
    let (above, below) = found?;
    let lowest = memory.blocks.get(above.start)?;
    let bytes = memory.blocks[above.clone()].iter().map(|block| block.size).sum();
    let kind = Kind::TopOfHeap { blocks: above.len() as u64, bytes };
    Some(Waste { kind, low: 0, high: below, frame: held.frame_of.get(&lowest.node).copied().flatten() })
}

/// In one heap, what threads have at different instants lies in the same place: it needs what they have together at most, and is
/// as much larger than that as the heaps that there are.
fn arenas(held: &Held, memory: &ProgramMemory) -> Option<Waste> {
    let arenas = &memory.arenas;
    let (each, together) = (arenas.most_of_each(), arenas.most_together());
    if arenas.heaps() < 2 || each == 0 {
        return None;
    }
    let larger = (held.in_arenas as f64 / each as f64).max(1.0);
    let needs = (together as f64 * larger) as u64;
    let kind = Kind::Arenas { heaps: arenas.heaps(), needed: together };
    Some(Waste { kind, low: held.in_arenas.saturating_sub(needs), high: held.free_in_arenas, frame: None })
}

/// Without these blocks all their pages come back; if they lie side by side elsewhere, what is free there.
fn of_line(pin: &Pin, unit: &Unit, page: u64) -> Waste {
    let residue = match unit {
        Unit::Page => pin.cached + pin.sizes * CachedChunks::most() * page,
        _ => 0,
    };
    let kind = Kind::Pinned { blocks: pin.blocks, bytes: pin.bytes };
    Waste { kind, low: pin.alone_free.saturating_sub(residue), high: pin.alone_pinned, frame: pin.frame }
}

fn of_function(below: &HeldBelow, held: &Held) -> Waste {
    let blocks = held.pins.iter().map(|pin| pin.blocks).sum();
    let bytes = held.pins.iter().map(|pin| pin.bytes).sum();
    let kind = Kind::Pinned { blocks, bytes };
    Waste { kind, low: below.free.saturating_sub(held.cached), high: below.pinned, frame: Some(below.frame) }
}
