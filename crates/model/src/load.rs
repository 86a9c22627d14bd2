//! Reads everything but the events.

use crate::ids::StackId;
use crate::own_allocators;
use crate::stack_placement::{Placing, read_nodes};
use crate::suppressions::Suppressed;
use crate::{Frames, Image, LoadedFile, Recording};
use memtoll_symbols::{AddressBook, DebugFolders, Findings, Resolver, Search};
use memtoll_trace::by_module::ByModule;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::ImageNo;
use memtoll_trace::inherited::{self, Inherited};
use memtoll_trace::meta::{
    self, Attached, Calibration, Clock, End, Exit, ImageEnd, KernelStats, Machine, Mark, Module, Note, OwnAllocators,
    Pool, RecorderStats, Thread, Verified,
};
use memtoll_trace::reader::{BlockRef, Error, Reader};
use memtoll_trace::symbols::Symbols;
use memtoll_trace::unreadable::{Fault, Unreadable};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::sync::OnceLock;

impl Recording {
    /// Opens the recording at `path`, with the names that it has. Whatever is readable before the first damage is there;
    /// [`Recording::damage`] says what is not.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        Ok(Loader::read(path)?.finish(None))
    }

    /// As [`Recording::open`]; names that the recording lacks are searched for. The file stays as it is.
    pub fn open_and_search(path: &Path, search: &mut Search) -> Result<Recording, Error> {
        Ok(Loader::read(path)?.finish(Some(search)))
    }

    /// The recording's file.
    pub fn path(&self) -> &Path {
        self.reader.path()
    }

    /// Length of the file, bytes.
    pub fn file_bytes(&self) -> u64 {
        self.reader.bytes
    }

    /// Length of the file now, bytes, if it is less than when it was opened.
    pub fn cut_to(&self) -> Option<u64> {
        self.reader.bytes_now().ok().filter(|now| *now < self.reader.bytes)
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }
}

/// All that was read of a file.
pub(crate) struct Loader {
    pub(crate) reader: Reader,
    pub(crate) images: Vec<Image>,
    by_number: FxHashMap<ImageNo, usize>,
    about: Option<meta::Recording>,
    symbols: Option<Symbols>,
    pub(crate) variables: Option<BlockRef>,
    notes: Vec<String>,
    missing: Vec<String>,
    damage: Vec<String>,
    end: Option<End>,
    calibration: Option<Calibration>,
    /// What changes saved.
    pub verified: Vec<Verified>,
}

impl Loader {
    pub(crate) fn read(path: &Path) -> Result<Loader, Error> {
        let mut reader = Reader::open(path)?;
        let blocks = std::mem::take(&mut reader.blocks);
        let damage = reader.damage.take().into_iter().collect();
        let mut loader = Loader {
            reader,
            images: Vec::new(),
            by_number: FxHashMap::default(),
            about: None,
            symbols: None,
            variables: None,
            notes: Vec::new(),
            missing: Vec::new(),
            damage,
            end: None,
            calibration: None,
            verified: Vec::new(),
        };
        for block in &blocks {
            if let Err(why) = loader.block(block) {
                loader.damage.insert(0, format!("{why}; what follows is missing"));
                break;
            }
        }
        Ok(loader)
    }

    fn block(&mut self, block: &BlockRef) -> Result<(), Unreadable> {
        let damaged = |damage| block.damaged(damage);
        let reader = &self.reader;
        match block.header.kind {
            BlockKind::Recording => self.about = Some(reader.json(block)?),
            BlockKind::Image => {
                let about: meta::Image = reader.json(block)?;
                self.by_number.insert(about.image, self.images.len());
                self.images.push(new_image(about));
            }
            BlockKind::Note => {
                let note: Note = reader.json(block)?;
                if note.missing { self.missing.push(note.text) } else { self.notes.push(note.text) }
            }
            BlockKind::Calibration => self.calibration = Some(reader.json(block)?),
            BlockKind::Verified => self.verified = reader.json(block)?,
            BlockKind::End => self.end = Some(reader.json(block)?),
            BlockKind::Symbols => {
                let mut payload = Vec::new();
                reader.payload(block, &mut payload)?;
                self.symbols = Some(Symbols::decode(&payload).map_err(damaged)?);
            }
            BlockKind::Variables => self.variables = Some(*block),
            BlockKind::Index | BlockKind::Unknown(_) => {}
            kind => {
                let index = block.header.image.and_then(|image| self.by_number.get(&image)).copied();
                let image = index
                    .and_then(|index| self.images.get_mut(index))
                    .ok_or_else(|| block.damaged(Fault::NoProcess))?;
                match kind {
                    BlockKind::Events => image.event_blocks.push(*block),
                    BlockKind::Chapter => image.chapter_blocks.push((*block, image.event_blocks.len())),
                    BlockKind::Patterns => image.pattern_blocks.push((*block, image.event_blocks.len())),
                    BlockKind::Parts => image.parts_blocks.push((*block, image.event_blocks.len())),
                    BlockKind::Timeline => image.timeline_blocks.push((*block, image.event_blocks.len())),
                    BlockKind::Costs => image.cost_blocks.push(*block),
                    BlockKind::Modules => {
                        image.modules.extend(reader.json::<Vec<Module>>(block)?);
                        image.module_blocks.push(*block);
                    }
                    BlockKind::MappedFiles => image.module_blocks.push(*block),
                    BlockKind::Marks => image.marks.extend(reader.json::<Vec<Mark>>(block)?),
                    BlockKind::Pools => image.pools.extend(reader.json::<Vec<Pool>>(block)?),
                    BlockKind::Attached => image.attached = Some(reader.json::<Attached>(block)?),
                    BlockKind::OwnAllocators => image.own_allocators = reader.json(block)?,
                    BlockKind::Threads => image.threads = reader.json::<Vec<Thread>>(block)?,
                    BlockKind::ImageEnd => image.end = Some(reader.json::<ImageEnd>(block)?),
                    BlockKind::Snapshot => image.snapshot_blocks.push(*block),
                    BlockKind::Nodes => image.node_blocks.push(*block),
                    BlockKind::Places => image.place_blocks.push(*block),
                    BlockKind::Inherited => image.inherited_blocks.push(*block),
                    _ => image.summary = Some(*block),
                }
            }
        }
        Ok(())
    }

    /// Whether the file has names; one that was cut off has none.
    pub(crate) fn has_symbols(&self) -> bool {
        self.symbols.is_some()
    }

    /// The names that the file has, and those that a search leads to.
    pub(crate) fn symbols(&mut self, search: Option<&mut Search>) -> (Symbols, Findings) {
        // A recording that was cut off has no names; perhaps the files are still here.
        let here = Search::new(DebugFolders::of_system());
        let resolver = search.as_ref().map_or(here.resolver(), |search| search.resolver());
        let mut symbols = self.symbols.take().unwrap_or_else(|| self.resolve_here(resolver));
        let findings = search.map(|search| search.improve(&mut symbols)).unwrap_or_default();
        (symbols, findings)
    }

    fn finish(mut self, search: Option<&mut Search>) -> Recording {
        let mut frames = Frames::default();
        let (symbols, findings) = self.symbols(search);
        frames.call(self.images.iter().filter_map(|image| {
            let meta::Image { executable, command, .. } = &image.about;
            Some((executable.as_str(), command.first()?.as_str()))
        }));
        frames.add_symbols(&symbols);
        let problems = symbols.modules.iter().filter_map(|module| {
            let problem = module.problem.as_ref()?;
            Some(format!("{}: {problem}", module.path))
        });
        self.notes.extend(problems);
        let mut placing = Placing::new(&self.reader, &mut frames);
        for image in &mut self.images {
            if let Err(why) = placing.image(image) {
                self.damage.push(format!("{why}; call stacks of process {} are missing", image.about.pid));
            }
            image.marks.sort_by_key(|mark| mark.time);
            image.threads.sort_by_key(|thread| thread.number);
        }
        let stacks = placing.finish();
        for index in 0..self.images.len() {
            if let Err(why) = self.inherit(index) {
                self.damage.push(format!("{why}; costs of memory from before a fork are missing"));
            }
        }
        mark_shared_processes(&mut self.images);
        let own_allocators = own_allocators::statements(&self.images);
        self.missing.splice(0..0, own_allocators.missing);
        self.notes.splice(0..0, own_allocators.notes);
        let mut about = self.about.unwrap_or_else(nothing_known);
        if let Some(clock) = self.end.as_ref().and_then(|end| end.clock) {
            about.clock = clock;
        }
        let (mut recorder, mut kernel) = (RecorderStats::default(), KernelStats::default());
        for end in self.images.iter().filter_map(|image| image.end.as_ref()) {
            recorder.add(&end.recorder);
            kernel.add(&end.kernel);
        }
        let mut recording = Recording {
            reader: self.reader,
            about,
            images: self.images,
            frames,
            stacks,
            recorder,
            kernel,
            ended: 0,
            is_read_plainly: false,
            modules: symbols.modules.into_iter().map(LoadedFile::from).collect(),
            variables: self.variables,
            findings,
            notes: self.notes,
            missing: self.missing,
            damage: self.damage,
            end: self.end,
            calibration: self.calibration,
            verified: self.verified,
            suppressed: Suppressed::default(),
            suppressed_in: FxHashMap::default(),
        };
        recording.ended = recording.find_end();
        recording.suppress_by_programs();
        recording
    }

    /// Nodes of other images become nodes behind the image's own ones, once all have their places.
    fn inherit(&mut self, index: usize) -> Result<(), Unreadable> {
        let mut inherited = Vec::new();
        let blocks = std::mem::take(&mut self.images[index].inherited_blocks);
        let read = blocks.iter().try_for_each(|block| {
            let mut payload = Vec::new();
            self.reader.payload(block, &mut payload)?;
            let damaged = |damage| block.damaged(damage);
            for Inherited { image, node } in inherited::decode(&payload).map_err(damaged)? {
                let owner = self.by_number.get(&image).map(|owner| &self.images[*owner]);
                inherited.push(owner.map_or(StackId::NONE, |owner| owner.own_node(node)));
            }
            Ok(())
        });
        let image = &mut self.images[index];
        image.first_inherited = image.nodes.len() as u32;
        image.nodes.append(&mut inherited);
        read
    }

    fn resolve_here(&self, resolver: &Resolver) -> Symbols {
        let mut book = AddressBook::default();
        for image in &self.images {
            let mut called: ByModule<FxHashSet<u64>> = ByModule::default();
            for block in image.node_blocks.iter().chain(&image.place_blocks) {
                // The code that places the nodes says what is damaged.
                let Ok(nodes) = read_nodes(&self.reader, block) else { continue };
                nodes.into_iter().for_each(|node| _ = called.of(node.module).insert(node.address));
            }
            for module in &image.modules {
                let addresses = called.get(module.number).filter(|addresses| !addresses.is_empty());
                if let Some(addresses) = addresses {
                    book.add(module, addresses.iter().map(|address| address.wrapping_add(module.bias)));
                }
            }
        }
        book.resolve(resolver)
    }
}

/// Marks the images that others shared a process with, before or after them.
fn mark_shared_processes(images: &mut [Image]) {
    let mut last: FxHashMap<u32, usize> = FxHashMap::default();
    let mut shared_ids: FxHashSet<u32> = FxHashSet::default();
    for index in 0..images.len() {
        let is_forked = images[index].about.forked_from.is_some();
        let earlier = last.insert(images[index].about.pid, index);
        let previous = earlier.filter(|earlier| !is_forked && !has_ended(&images[*earlier]));
        images[index].previous = previous;
        images[index].process = previous.map_or(index, |previous| images[previous].process);
        for shares in previous.into_iter().flat_map(|previous| [previous, index]) {
            images[shares].shares_process = true;
        }
        if earlier != previous {
            shared_ids.insert(images[index].about.pid);
        }
    }
    images.iter_mut().for_each(|image| image.shares_id = shared_ids.contains(&image.about.pid));
}

/// Whether its process ended, so that a later one of its id is another one.
fn has_ended(image: &Image) -> bool {
    image.end.as_ref().is_some_and(|end| matches!(end.exit, Exit::Code(_) | Exit::Signal(_)))
}

fn new_image(about: meta::Image) -> Image {
    Image {
        about,
        end: None,
        threads: Vec::new(),
        marks: Vec::new(),
        pools: Vec::new(),
        own_allocators: OwnAllocators::default(),
        attached: None,
        nodes: Vec::new(),
        summary: None,
        shares_process: false,
        previous: None,
        process: 0,
        shares_id: false,
        modules: Vec::new(),
        files: Vec::new(),
        node_blocks: Vec::new(),
        place_blocks: Vec::new(),
        first_place: 0,
        first_inherited: 0,
        inherited_blocks: Vec::new(),
        event_blocks: Vec::new(),
        cost_blocks: Vec::new(),
        chapter_blocks: Vec::new(),
        pattern_blocks: Vec::new(),
        parts_blocks: Vec::new(),
        timeline_blocks: Vec::new(),
        snapshot_blocks: Vec::new(),
        module_blocks: Vec::new(),
        scanned: OnceLock::new(),
        settled: Default::default(),
    }
}

fn nothing_known() -> meta::Recording {
    meta::Recording {
        memtoll: String::new(),
        started: 0,
        command: Vec::new(),
        directory: String::new(),
        machine: Machine::default(),
        clock: Clock { units_per_second: 1e9, stamp: 0.0 },
        stack_depth: 0,
        rank: None,
        malloc_settings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_the_system_uses_again_is_another_process() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/forks.memtoll");
        let mut images = Recording::open(golden.as_ref()).unwrap().images;
        images.truncate(2);
        images.iter_mut().for_each(|image| (image.about.pid, image.about.forked_from) = (7, None));
        for (exit, second) in [(Exit::Exec, (0, Some(0), true, false)), (Exit::Code(0), (1, None, false, true))] {
            images[0].end.as_mut().unwrap().exit = exit;
            images.iter_mut().for_each(|image| image.shares_process = false);
            mark_shared_processes(&mut images);
            let [first, found] = [0, 1].map(|at| {
                let image = &images[at];
                (image.process, image.previous, image.shares_process, image.shares_id)
            });
            assert_eq!((first, found), ((0, None, second.2, second.3), second));
        }
    }
}
