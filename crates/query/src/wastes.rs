//! What would make the resident set smaller, in words.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use crate::rows::Place;
use memtoll_analysis::page_balance::{Kind, Part, Waste};
use memtoll_model::Frames;
use memtoll_text::format;
use memtoll_trace::path::last_part;
use serde::Serialize;

/// Memory that could be saved, and how.
#[derive(Serialize)]
pub struct WasteRow<'r> {
    pub kind: &'static str,
    /// How much the resident set shrinks at least, and at most, bytes.
    pub low: u64,
    pub high: u64,
    /// What it saves of addresses, where it saves no memory, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_space: Option<u64>,
    #[serde(flatten)]
    pub place: Option<Place<'r>>,
    /// Of the blocks that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    pub remedy: String,
    /// The part of the balance that it is of.
    #[serde(skip)]
    pub part: Part,
    /// What it saves and how, in a few words.
    #[serde(skip)]
    pub brief: String,
}

impl<'r> WasteRow<'r> {
    pub fn new(frames: &'r Frames, waste: &Waste) -> WasteRow<'r> {
        let place = waste.frame.map(|frame| Place::of(frames, frame));
        let (blocks, bytes) = waste.kind.blocks().unzip();
        let Waste { kind, low, high, .. } = *waste;
        let at = place.as_ref().map_or("(no stack)".to_owned(), shown);
        let remedy = remedy(kind, &at);
        let brief = brief(kind, &at, &saves(low, high));
        let (name, part, address_space) = (kind.name(), kind.part(), kind.addresses());
        WasteRow { kind: name, low, high, address_space, place, blocks, bytes, remedy, part, brief }
    }

    /// What it saves.
    pub fn saves(&self) -> String {
        match self.address_space {
            Some(bytes) => format!("no memory; {} of addresses", format::bytes(bytes)),
            None => saves(self.low, self.high),
        }
    }
}

/// `1.5 MiB`, `1.5 MiB to 2.0 MiB`, `up to 2.0 MiB`.
pub(crate) fn saves(low: u64, high: u64) -> String {
    let [least, most] = [low, high].map(format::bytes);
    match low {
        0 => format!("up to {most}"),
        _ if least == most => least,
        _ => format!("{least} to {most}"),
    }
}

fn brief(kind: Kind, place: &str, saves: &str) -> String {
    match kind {
        Kind::FreePages => format!("malloc_trim(0) would give back {saves}"),
        Kind::Pinned { .. } => format!("without the blocks of {place}, {saves} would come back"),
        Kind::TopOfHeap { .. } => format!("{place} keeps {saves} of it, on top of the heap"),
        Kind::Arenas { .. } => format!("MALLOC_ARENA_MAX=1 would save {saves}"),
        Kind::Rounding { .. } => format!("a pool for the blocks of {place} would save {saves}"),
        Kind::KeptByAllocator => format!("jemalloc's decay times keep {saves}"),
        Kind::HugePages { .. } => format!("small pages instead of huge ones would save {saves}"),
        Kind::NeverTouched { .. } => format!("{place} asks for more than it touches"),
    }
}

/// A function with its file and line.
pub fn shown(place: &Place) -> String {
    match (place.file, place.line) {
        (Some(file), Some(line)) => format!("{} {}:{line}", place.function, last_part(file)),
        _ => place.function.to_owned(),
    }
}

/// What to do.
fn remedy(kind: Kind, place: &str) -> String {
    let of_blocks =
        |blocks: u64, bytes: u64| format!("{} ({})", format::counted(blocks, "block"), format::bytes(bytes));
    match kind {
        Kind::FreePages => {
            "call malloc_trim(0) after much has been freed: it gives back pages without live blocks".to_owned()
        }
        Kind::Pinned { blocks, bytes } => format!(
            "{place}: keep its {} in a pool or an arena of their own, apart from short-lived ones, or free them",
            of_blocks(blocks, bytes)
        ),
        Kind::TopOfHeap { blocks, bytes } => format!(
            "{place}: allocate its {} before blocks that are freed earlier: free() shrinks the heap only from the top, where these lie",
            of_blocks(blocks, bytes)
        ),
        Kind::Arenas { heaps, needed } => format!(
            "set MALLOC_ARENA_MAX=1 or 2, or share a pool: {} of threads keep free memory, and together never held more \
             than {} at once; memtoll try shows what that costs in time",
            format::counted(heaps, "heap"),
            format::bytes(needed)
        ),
        Kind::Rounding { blocks, bytes } => format!(
            "{place}: put its {} into a pool with slots of their size, or choose a size that fills the allocator's class",
            of_blocks(blocks, bytes)
        ),
        Kind::KeptByAllocator => {
            "set MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 or background_thread:true: jemalloc then gives freed pages back \
             sooner"
                .to_owned()
        }
        Kind::HugePages { bytes, live } => format!(
            "let malloc have small pages: no glibc.malloc.hugetlb in GLIBC_TUNABLES, or prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) \
             when the program starts; of {} in huge pages, live blocks take {}",
            format::bytes(bytes),
            format::bytes(live)
        ),
        Kind::NeverTouched { blocks, bytes, .. } => format!(
            "{place}: ask for less, and grow: parts of its {} were never touched. They cost addresses and, with \
             vm.overcommit_memory=2, what may be committed",
            of_blocks(blocks, bytes)
        ),
    }
}
