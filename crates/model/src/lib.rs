//! A recording in memory: its processes, their stack trees, and the names of all frames. Events stay in the file; they
//! are read as a stream ([`Recording::for_each_events`]).

mod addresses;
mod chapters;
mod events;
mod frames;
mod ids;
mod kept;
mod load;
mod own_allocators;
mod patterns;
pub mod reading;
mod settled;
mod snapshots;
mod stack_placement;
mod stack_tree;
mod stored_measurements;
mod suppressions;
mod symbolize;
mod timelines;
mod variables;

pub use addresses::{Addresses, Code};
pub use chapters::Chapters;
pub use frames::{Frame, Frames};
pub use ids::{ChainId, FrameId, StackId, TextId};
pub use kept::Kept;
pub use memtoll_symbols::layout;
pub use memtoll_symbols::{
    Asked, DebugFolders, Findings, Search, Servers, System, Wish, is_debug_file, is_of_distribution,
};
pub use memtoll_trace::reader::Error;
pub use own_allocators::{REMEDY, what_is_missing};
pub use patterns::Patterns;
pub use settled::SettledSites;
pub use stack_tree::{Node, StackTree};
pub use stored_measurements::{store_calibration, store_verified};
pub use suppressions::{NoSuppression, Suppressions};
pub use symbolize::{SymbolizeError, symbolize};
pub use timelines::Timelines;

use memtoll_trace::Damage;
use memtoll_trace::costs::Charge;
use memtoll_trace::ids::{NodeId, ThreadNo};
use memtoll_trace::meta::{self, KernelStats, RecorderStats};
use memtoll_trace::nodes::FIRST_INHERITED;
use memtoll_trace::reader::{BlockRef, Reader};
use memtoll_trace::scanned::Scanned;
use memtoll_trace::summary::{self, Summary};
use memtoll_trace::symbols::{ModuleSymbols, NameSource};
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use suppressions::Suppressed;

/// A process image.
pub struct Image {
    /// What it is.
    pub about: meta::Image,
    /// How it ended, if the recording says.
    pub end: Option<meta::ImageEnd>,
    pub threads: Vec<meta::Thread>,
    /// Marks, by time.
    pub marks: Vec<meta::Mark>,
    /// The program's own pools, by name.
    pub pools: Vec<meta::Pool>,
    /// What hides calls.
    pub own_allocators: meta::OwnAllocators,
    /// If the process was running before it was recorded: what it had then.
    pub attached: Option<meta::Attached>,
    /// Whether other images ran in its process, before or after it: what the kernel counts is about the process.
    pub shares_process: bool,
    /// The image that ran in its process before.
    pub previous: Option<usize>,
    /// Its process: the first image that ran in it. The system uses ids of processes again.
    pub process: usize,
    /// Whether another process of the run had its id.
    pub shares_id: bool,
    /// Nodes of [`Recording::stacks`], by the ids that events and costs have.
    nodes: Vec<StackId>,
    summary: Option<BlockRef>,
    modules: Vec<meta::Module>,
    files: Vec<(TextId, TextId)>,
    node_blocks: Vec<BlockRef>,
    place_blocks: Vec<BlockRef>,
    /// Id of the first code address at which costs were paid.
    first_place: u32,
    /// Id of the first node that is another image's.
    first_inherited: u32,
    inherited_blocks: Vec<BlockRef>,
    event_blocks: Vec<BlockRef>,
    cost_blocks: Vec<BlockRef>,
    /// Each with the number of events blocks before it.
    chapter_blocks: Vec<(BlockRef, usize)>,
    /// Each with the number of events blocks before it.
    pattern_blocks: Vec<(BlockRef, usize)>,
    /// Each with the number of events blocks before it.
    parts_blocks: Vec<(BlockRef, usize)>,
    /// Each with the number of events blocks before it.
    timeline_blocks: Vec<(BlockRef, usize)>,
    snapshot_blocks: Vec<BlockRef>,
    module_blocks: Vec<BlockRef>,
    /// Chapters that the file lacks; `None` if they cannot be made.
    scanned: OnceLock<Option<Vec<Scanned>>>,
    /// By [`Charge`].
    settled: [OnceLock<SettledSites>; Charge::COUNT],
}

impl Image {
    /// Whether the blocks that it left at its end were searched for lost ones.
    pub fn is_searched(&self) -> bool {
        self.end.as_ref().is_some_and(|end| matches!(end.leak_search, meta::LeakSearch::Done { .. }))
    }

    /// Whether it was replaced by another program, which discards its blocks.
    pub fn executed_another(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.exit == meta::Exit::Exec)
    }

    /// How many blocks its events are packed in.
    pub fn event_blocks(&self) -> usize {
        self.event_blocks.len()
    }

    /// The node of [`Recording::stacks`] that an id in one of the image's events or costs means.
    pub fn node(&self, id: Option<NodeId>) -> StackId {
        self.nodes.get(NodeId::index_of(id)).copied().unwrap_or(StackId::NONE)
    }

    /// The same for a node of a call of this image's.
    fn own_node(&self, id: Option<NodeId>) -> StackId {
        if NodeId::or_zero(id) < self.first_place { self.node(id) } else { StackId::NONE }
    }

    /// The id that stands in [`Image::nodes`] for one of the file: nodes of other images have ids of their own there.
    fn id(&self, node: NodeId) -> NodeId {
        match node.get().checked_sub(FIRST_INHERITED.get()) {
            Some(inherited) => NodeId::new(self.first_inherited.saturating_add(inherited)).unwrap_or(node),
            None => node,
        }
    }

    /// The chapters that were made of the events, if they were.
    fn scanned(&self) -> Option<&[Scanned]> {
        self.scanned.get()?.as_deref()
    }

    /// Loaded files, each once: path and build id (empty if it has none) as texts of [`Frames::text`].
    pub fn files(&self) -> &[(TextId, TextId)] {
        &self.files
    }

    pub fn thread(&self, number: ThreadNo) -> Option<&meta::Thread> {
        self.threads.binary_search_by_key(&number, |thread| thread.number).ok().map(|index| &self.threads[index])
    }
}

/// A program or library in which calls were recorded.
pub struct LoadedFile {
    pub path: String,
    /// Build id, in hexadecimal digits; empty if it had none.
    pub build_id: String,
    /// Where the names of its functions come from.
    pub source: NameSource,
    /// Why there are no better names, if so.
    pub problem: Option<String>,
}

impl From<ModuleSymbols> for LoadedFile {
    fn from(module: ModuleSymbols) -> Self {
        let ModuleSymbols { path, build_id, source, problem, .. } = module;
        LoadedFile { path, build_id, source, problem }
    }
}

/// An open recording.
pub struct Recording {
    reader: Reader,
    /// What was recorded, where and when.
    pub about: meta::Recording,
    /// Process images in the order of their beginnings.
    pub images: Vec<Image>,
    /// Functions, files and lines.
    pub frames: Frames,
    /// Call stacks.
    pub stacks: StackTree,
    /// What the recorder did in all images that ended, together.
    pub recorder: RecorderStats,
    /// The kernel's figures of all images that ended, together. Usage is not added up: processes may have several images.
    pub kernel: KernelStats,
    ended: u64,
    /// See [`Recording::read_plainly`].
    is_read_plainly: bool,
    /// The programs and libraries in which calls were recorded.
    pub modules: Vec<LoadedFile>,
    variables: Option<BlockRef>,
    /// What a search for names led to.
    pub findings: Findings,
    /// Statements of the recorder about what was not recorded.
    pub notes: Vec<String>,
    /// Statements of the recorder about events that are missing from the file.
    pub missing: Vec<String>,
    /// Statements about what cannot be read, because the file is damaged or was cut off.
    pub damage: Vec<String>,
    /// The end, if the file has one.
    pub end: Option<meta::End>,
    /// What the program takes without the recorder, if that was measured.
    pub calibration: Option<meta::Calibration>,
    /// What changes saved that were measured since, one for each finding of the advice.
    pub verified: Vec<meta::Verified>,
    /// Stacks whose lost blocks shall not be told.
    suppressed: Suppressed,
    /// The same of single images: by what their programs say of themselves.
    suppressed_in: FxHashMap<usize, Suppressed>,
}

impl Recording {
    /// All frames of a node's stack, from the allocation outwards.
    pub fn frames_of(&self, node: StackId) -> impl Iterator<Item = FrameId> + '_ {
        self.stacks.callers(node).flat_map(|id| self.frames.chain(&self.stacks.node(id)).iter().copied())
    }

    /// Tells no lost blocks any more of what is suppressed.
    pub fn suppress(&mut self, suppressions: &Suppressions) {
        self.suppressed = suppressions.suppressed(&self.stacks, &self.frames);
    }

    /// Whether lost blocks of a stack of image number `index` are suppressed.
    pub fn is_suppressed(&self, index: usize, stack: StackId) -> bool {
        self.suppressed.has(stack) || self.suppressed_in.get(&index).is_some_and(|own| own.has(stack))
    }

    /// Does what the programs say themselves. What cannot be understood suppresses nothing.
    fn suppress_by_programs(&mut self) {
        let texts = self.images.iter().enumerate().filter_map(|(index, image)| {
            let text = image.end.as_ref()?.leak_suppressions.as_ref()?;
            Some((index, Suppressions::parse(text).ok()?))
        });
        let of = |(index, own): (usize, Suppressions)| (index, own.suppressed(&self.stacks, &self.frames));
        self.suppressed_in = texts.map(of).collect();
    }

    /// The statements about events that are missing, without those about images that do not count.
    pub fn missing_in(&self, counts: impl Fn(usize) -> bool) -> impl Iterator<Item = &String> {
        let [counted, others] = self.statements(counts);
        self.missing.iter().filter(move |text| counted.missing.contains(text) || !others.missing.contains(text))
    }

    /// The notes, without those about images that do not count.
    pub fn notes_in(&self, counts: impl Fn(usize) -> bool) -> impl Iterator<Item = &String> {
        let [counted, others] = self.statements(counts);
        self.notes.iter().filter(move |text| counted.notes.contains(text) || !others.notes.contains(text))
    }

    /// The statements about images that count, and about the others.
    fn statements(&self, counts: impl Fn(usize) -> bool) -> [own_allocators::Statements; 2] {
        [true, false].map(|counted| {
            let images = self.images.iter().enumerate().filter(|(index, _)| counts(*index) == counted);
            own_allocators::statements(images.map(|(_, image)| image))
        })
    }

    /// Whether each program's own calls of its allocator are recorded: else what memory costs it is not known.
    pub fn sees_programs_calls(&self) -> bool {
        self.images.iter().all(|image| {
            let mut own = image.own_allocators.allocators.iter().filter(|own| own.file == image.about.executable);
            own.all(|own| own.recorded == meta::RecordedCalls::All)
        })
    }

    /// Whether each free of a block was recorded whose allocation was, in one process at least.
    pub fn sees_frees(&self) -> bool {
        self.images.is_empty() || self.images.iter().any(|image| image.own_allocators.show_frees())
    }

    /// The sums over all events of image number `index`, by the image's own node ids; `None` if the recording was cut off
    /// before they were written.
    pub fn summary(&self, index: usize) -> Result<Option<Summary>, Unreadable> {
        let image = self.images.get(index).filter(|_| !self.is_read_plainly);
        let Some(block) = image.and_then(|image| image.summary.as_ref()) else { return Ok(None) };
        let mut summary = self.unpack(block, summary::decode)?;
        summary.sites.rename(|node| self.images[index].id(node));
        Ok(Some(summary))
    }

    /// What a block holds.
    fn unpack<T>(&self, block: &BlockRef, decode: impl Fn(&[u8]) -> Result<T, Damage>) -> Result<T, Unreadable> {
        let mut payload = Vec::new();
        self.reader.payload(block, &mut payload)?;
        decode(&payload).map_err(|damage| block.damaged(damage))
    }
}
