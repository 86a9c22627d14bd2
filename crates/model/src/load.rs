//! Reads everything but the events.

use crate::frames::CodeOf;
use crate::{Frames, Image, Node, Recording};
use memtoll_symbols::AddressBook;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::meta::{self, Clock, End, ImageEnd, Machine, Mark, Module, Note, Thread};
use memtoll_trace::nodes::{self, FIRST_NODE, ROOT_PLACE};
use memtoll_trace::reader::{BlockRef, Error, Reader};
use memtoll_trace::summary;
use memtoll_trace::symbols::Symbols;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Nodes of one image at the most: as many as the recorder can make.
const MAX_NODES: u32 = 64 << 20;

impl Recording {
    /// Opens the recording at `path`. Whatever is readable before the first damage is there; [`Recording::damage`] says
    /// what is not.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        let mut reader = Reader::open(path)?;
        let blocks = std::mem::take(&mut reader.blocks);
        let damage = reader.damage.take().into_iter().collect();
        let mut loader = Loader {
            reader,
            images: Vec::new(),
            by_number: FxHashMap::default(),
            about: None,
            symbols: None,
            notes: Vec::new(),
            damage,
            end: None,
        };
        for block in &blocks {
            if let Err(why) = loader.block(block) {
                loader.damage.insert(0, format!("{why}; what follows is missing from this report"));
                break;
            }
        }
        Ok(loader.finish())
    }

    /// The recording's file.
    pub fn path(&self) -> &Path {
        self.reader.path()
    }

    /// Length of the file, bytes.
    pub fn file_bytes(&self) -> u64 {
        self.reader.bytes
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }
}

struct Loader {
    reader: Reader,
    images: Vec<Image>,
    by_number: FxHashMap<u32, usize>,
    about: Option<meta::Recording>,
    symbols: Option<Symbols>,
    notes: Vec<String>,
    damage: Vec<String>,
    end: Option<End>,
}

impl Loader {
    fn block(&mut self, block: &BlockRef) -> Result<(), String> {
        let damaged = |error: memtoll_trace::Damage| format!("the file is damaged at byte {}: {error}", block.offset);
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
                if note.missing { self.damage.push(note.text) } else { self.notes.push(note.text) }
            }
            BlockKind::End => self.end = Some(reader.json(block)?),
            BlockKind::Symbols => {
                let mut payload = Vec::new();
                reader.payload(block, &mut payload)?;
                self.symbols = Some(Symbols::decode(&payload).map_err(damaged)?);
            }
            BlockKind::Unknown(_) => {}
            kind => {
                let index = self.by_number.get(&block.header.image).copied();
                let image = index
                    .and_then(|index| self.images.get_mut(index))
                    .ok_or_else(|| format!("the file is damaged at byte {}: it belongs to no process", block.offset))?;
                match kind {
                    BlockKind::Events => image.event_blocks.push(*block),
                    BlockKind::Costs => image.cost_blocks.push(*block),
                    BlockKind::Modules => image.modules.extend(reader.json::<Vec<Module>>(block)?),
                    BlockKind::Marks => image.marks.extend(reader.json::<Vec<Mark>>(block)?),
                    BlockKind::Threads => image.threads = reader.json::<Vec<Thread>>(block)?,
                    BlockKind::ImageEnd => image.end = Some(reader.json::<ImageEnd>(block)?),
                    _ => {
                        let mut payload = Vec::new();
                        reader.payload(block, &mut payload)?;
                        match kind {
                            BlockKind::Nodes => image.raw_nodes.extend(nodes::decode(&payload).map_err(damaged)?),
                            BlockKind::Places => image.raw_places.extend(nodes::decode(&payload).map_err(damaged)?),
                            _ => image.summary = Some(summary::decode(&payload).map_err(damaged)?),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Recording {
        let mut frames = Frames::default();
        let symbols = self.symbols.take().unwrap_or_else(|| self.resolve_here());
        frames.add_symbols(&symbols);
        for module in &symbols.modules {
            if let Some(problem) = &module.problem {
                self.notes.push(problem.clone());
            }
        }
        for image in &mut self.images {
            place_nodes(image, &mut frames);
            image.marks.sort_by_key(|mark| mark.time);
        }
        let mut about = self.about.unwrap_or_else(nothing_known);
        if let Some(clock) = self.end.as_ref().and_then(|end| end.clock) {
            about.clock = clock;
        }
        Recording {
            reader: self.reader,
            about,
            images: self.images,
            frames,
            notes: self.notes,
            damage: self.damage,
            end: self.end,
        }
    }

    /// A recording that was cut off has no names; perhaps the files are still here.
    fn resolve_here(&self) -> Symbols {
        let mut book = AddressBook::default();
        for image in &self.images {
            let modules = by_number(&image.modules);
            for node in image.raw_nodes.iter().chain(&image.raw_places) {
                if let Some(module) = modules.get(&node.module) {
                    book.add(module, [node.address]);
                }
            }
        }
        book.resolve()
    }
}

fn by_number(modules: &[Module]) -> FxHashMap<u16, &Module> {
    modules.iter().map(|module| (module.number, module)).collect()
}

/// What the code of an image belongs to.
struct Code {
    modules: FxHashMap<u16, CodeOf>,
    generated: CodeOf,
}

impl Code {
    fn of(&self, module: u16) -> &CodeOf {
        self.modules.get(&module).unwrap_or(&self.generated)
    }
}

fn place_nodes(image: &mut Image, frames: &mut Frames) {
    let code = Code {
        modules: by_number(&image.modules)
            .into_iter()
            .map(|(number, module)| (number, frames.code_of(module)))
            .collect(),
        generated: frames.generated_code(image.about.image),
    };
    let raw = std::mem::take(&mut image.raw_nodes);
    // Ids are handed out one by one, so they are hardly higher than there are nodes; a damaged file may say otherwise.
    let plausible = (raw.len() as u32).saturating_mul(4).saturating_add(1 << 16).min(MAX_NODES);
    let last = raw.iter().map(|node| node.id).filter(|id| *id <= plausible).max().unwrap_or(0);
    image.nodes = vec![Node { parent: 0, chain: u32::MAX }; last.max(FIRST_NODE) as usize + 1];
    for node in raw {
        if let Some(place) = image.nodes.get_mut(node.id as usize) {
            let chain = frames.find(code.of(node.module), node.address);
            *place = Node { parent: node.parent, chain };
        }
    }
    break_cycles(&mut image.nodes);
    place_places(image, &code, frames);
}

/// Code addresses at which costs were paid become nodes behind the others, without callers.
fn place_places(image: &mut Image, code: &Code, frames: &mut Frames) {
    image.first_place = image.nodes.len() as u32;
    let places = std::mem::take(&mut image.raw_places);
    // They are numbered one by one, too.
    let plausible = places.len().saturating_mul(4).saturating_add(1 << 16);
    for place in places {
        let number = place.id.saturating_sub(FIRST_NODE) as usize;
        if number > plausible {
            continue;
        }
        let index = image.first_place as usize + number;
        if image.nodes.len() <= index {
            image.nodes.resize(index + 1, Node { parent: ROOT_PLACE, chain: u32::MAX });
        }
        let chain = frames.find(code.of(place.module), place.address);
        image.nodes[index] = Node { parent: ROOT_PLACE, chain };
    }
}

/// No recorder writes a node that is its own caller's caller; in a damaged file, its stack is cut off there.
fn break_cycles(nodes: &mut [Node]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::New; nodes.len()];
    for start in FIRST_NODE as usize..nodes.len() {
        let mut path = Vec::new();
        let mut at = start;
        while at >= FIRST_NODE as usize && marks.get(at) == Some(&Mark::New) {
            marks[at] = Mark::OnPath;
            path.push(at);
            at = nodes[at].parent as usize;
        }
        if let (Some(Mark::OnPath), Some(&last)) = (marks.get(at), path.last()) {
            nodes[last].parent = 0;
        }
        path.into_iter().for_each(|node| marks[node] = Mark::Done);
    }
}

fn new_image(about: meta::Image) -> Image {
    Image {
        about,
        end: None,
        threads: Vec::new(),
        marks: Vec::new(),
        nodes: Vec::new(),
        summary: None,
        modules: Vec::new(),
        raw_nodes: Vec::new(),
        raw_places: Vec::new(),
        first_place: 0,
        event_blocks: Vec::new(),
        cost_blocks: Vec::new(),
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_broken() {
        let node = |parent| Node { parent, chain: 0 };
        let mut nodes = vec![node(0); 14];
        // 8 is complete; 9 below it; 10 and 11 call each other, 12 leads into them; 13 is its own caller.
        (nodes[8], nodes[9]) = (node(1), node(8));
        (nodes[10], nodes[11], nodes[12], nodes[13]) = (node(11), node(10), node(10), node(13));
        break_cycles(&mut nodes);
        let parents: Vec<u32> = nodes[8..].iter().map(|node| node.parent).collect();
        assert_eq!(parents, [1, 8, 11, 0, 10, 0]);
    }
}
