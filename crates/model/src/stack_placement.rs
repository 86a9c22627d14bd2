//! Gives the nodes of images their frames and their places in the tree of all stacks.
//!
//! Processes of one program that do the same leave the same payloads: a payload is unpacked once, whichever process left it.
//! Code outside all files is each process's own.

use crate::frames::CodeOf;
use crate::ids::{StackId, TextId};
use crate::stack_tree::{Link, StackTree};
use crate::{Frames, Image};
use memtoll_trace::meta::Module;
use memtoll_trace::nodes::{self, FIRST_NODE};
use memtoll_trace::reader::{BlockRef, Reader};
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashMap;
use std::sync::mpsc;
use std::thread;

/// Nodes of one image at the most: as many as the recorder can make.
const MAX_NODES: u32 = 64 << 20;
/// Longer payloads, bytes, are not remembered: a process with as many stacks has no double.
const LONGEST: usize = 64 << 10;
/// The most bytes of payloads that are remembered.
const MOST_BYTES: usize = 64 << 20;

/// What the code of an image belongs to.
struct Code {
    /// By number.
    modules: Vec<Option<CodeOf>>,
    generated: CodeOf,
    /// Whether no file was at several places, so that different addresses are different code.
    is_unambiguous: bool,
}

impl Code {
    /// `None`: it is the image's code that is in no file.
    fn file(&self, module: u16) -> Option<&CodeOf> {
        self.modules.get(usize::from(module)).and_then(Option::as_ref)
    }
}

/// What nodes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Calls,
    /// Code at which costs were paid: it has no callers.
    Places,
}

/// What was read of some blocks of nodes.
struct Read {
    /// By the image's own node ids.
    links: Vec<Link>,
    /// Whether every image with these files has the same links for these blocks.
    is_of_files: bool,
    /// Whether all of it can be read.
    damage: Result<(), Unreadable>,
}

/// Puts the nodes of one image after the other into the tree.
pub(crate) struct Placing<'a> {
    reader: &'a Reader,
    frames: &'a mut Frames,
    stacks: StackTree,
    /// Nodes of the tree, by the files of an image and the payloads of its nodes.
    known: FxHashMap<Vec<u8>, Box<[StackId]>>,
    known_bytes: usize,
}

impl<'a> Placing<'a> {
    pub fn new(reader: &'a Reader, frames: &'a mut Frames) -> Self {
        Placing { reader, frames, stacks: StackTree::default(), known: FxHashMap::default(), known_bytes: 0 }
    }

    pub fn finish(self) -> StackTree {
        self.stacks
    }

    /// Whatever is readable of an image's nodes is there, also if there is an error.
    pub fn image(&mut self, image: &mut Image) -> Result<(), Unreadable> {
        let modules = std::mem::take(&mut image.modules);
        let file = |module: &Module| (self.frames.intern(&module.path), self.frames.intern(&module.build_id));
        // A file is mapped in several pieces.
        image.files = modules.iter().map(file).collect();
        image.files.sort_unstable();
        image.files.dedup();
        image.files.shrink_to_fit();
        let generated = self.frames.generated_code(image.about.image);
        let mut code = Code { modules: Vec::new(), generated, is_unambiguous: true };
        let mut biases: FxHashMap<TextId, u64> = FxHashMap::default();
        for module in &modules {
            let number = usize::from(module.number);
            code.modules.resize_with(code.modules.len().max(number + 1), || None);
            let of = self.frames.code_of(module);
            code.is_unambiguous &= *biases.entry(of.key()).or_insert(module.bias) == module.bias;
            code.modules[number] = Some(of);
        }
        let (ids, nodes) = self.nodes(&code, What::Calls, &std::mem::take(&mut image.node_blocks));
        image.nodes = ids;
        // Code addresses at which costs were paid become nodes behind the others, without callers.
        image.first_place = image.nodes.len() as u32;
        let (ids, places) = self.nodes(&code, What::Places, &std::mem::take(&mut image.place_blocks));
        image.nodes.extend(ids);
        nodes.and(places)
    }

    /// The nodes of the tree, by ids of the file, and whether all can be read.
    fn nodes(&mut self, code: &Code, what: What, blocks: &[BlockRef]) -> (Vec<StackId>, Result<(), Unreadable>) {
        let key = self.key(code, what, blocks);
        if let Some(ids) = key.as_ref().and_then(|key| self.known.get(key)) {
            return (ids.to_vec(), Ok(()));
        }
        let Read { links, is_of_files, damage } = self.links(code, blocks);
        let ids = match what {
            What::Calls => self.stacks.graft(&links, code.is_unambiguous),
            What::Places => {
                let places = links.iter().skip(FIRST_NODE.index());
                places.map(|link| self.stacks.place(link.chain)).collect()
            }
        };
        if let Some(key) = key.filter(|key| is_of_files && damage.is_ok() && self.known_bytes + key.len() <= MOST_BYTES)
        {
            self.known_bytes += key.len();
            self.known.insert(key, ids.as_slice().into());
        }
        (ids, damage)
    }

    /// The files of an image and the payloads of its nodes; `None` if that is too much, or cannot be read.
    fn key(&self, code: &Code, what: What, blocks: &[BlockRef]) -> Option<Vec<u8>> {
        let bytes: usize = blocks.iter().map(|block| block.header.length as usize).sum();
        if bytes > LONGEST {
            return None;
        }
        let mut key = vec![what as u8];
        let mut add = |part: &[u8]| {
            key.extend_from_slice(&(part.len() as u32).to_le_bytes());
            key.extend_from_slice(part);
        };
        for module in &code.modules {
            add(&module.as_ref().map_or(u32::MAX, |code| code.key().get()).to_le_bytes());
        }
        let mut payload = Vec::new();
        for block in blocks {
            self.reader.payload(block, &mut payload).ok()?;
            add(&payload);
        }
        Some(key)
    }

    /// What some blocks say of nodes.
    fn links(&mut self, code: &Code, blocks: &[BlockRef]) -> Read {
        let mut read = Read { links: vec![Link::MISSING; FIRST_NODE.index()], is_of_files: true, damage: Ok(()) };
        let frames = &mut *self.frames;
        let mut seen = 0u32;
        read.damage = each_nodes(self.reader, blocks, |nodes| {
            seen = seen.saturating_add(nodes.len() as u32);
            // Ids are handed out one by one, so they are hardly higher than there are nodes; a damaged file may say
            // otherwise.
            let plausible = seen.saturating_mul(4).saturating_add(1 << 16).min(MAX_NODES);
            for node in nodes.iter().filter(|node| node.id.get() <= plausible) {
                let id = node.id.index();
                if read.links.len() <= id {
                    read.links.resize(id + 1, Link::MISSING);
                }
                let file = code.file(node.module);
                read.is_of_files &= file.is_some();
                let code = file.unwrap_or(&code.generated);
                let chain = frames.find(code, node.address);
                if node.without_tables {
                    frames.mark_without_tables(chain);
                }
                read.links[id] = Link { parent: node.parent, chain };
            }
        });
        read
    }
}

/// Calls `take` with the nodes of each block, in their order, up to the first that cannot be read. Where there are several, they
/// are unpacked by a thread of its own, as long as there is one to be had.
fn each_nodes(reader: &Reader, blocks: &[BlockRef], mut take: impl FnMut(Vec<nodes::Node>)) -> Result<(), Unreadable> {
    let (to, from) = mpsc::sync_channel(1);
    let unpack = || blocks.iter().map(|block| read_nodes(reader, block));
    thread::scope(|scope| {
        // It ends when the receiver is gone.
        let unpack_all = move || unpack().all(|nodes| to.send(nodes).is_ok());
        let helper = (blocks.len() > 1).then(|| thread::Builder::new().spawn_scoped(scope, unpack_all));
        match helper {
            Some(Ok(_)) => from.into_iter().try_for_each(|nodes| nodes.map(&mut take)),
            _ => unpack().try_for_each(|nodes| nodes.map(&mut take)),
        }
    })
}

pub(crate) fn read_nodes(reader: &Reader, block: &BlockRef) -> Result<Vec<nodes::Node>, Unreadable> {
    let mut payload = Vec::new();
    reader.payload(block, &mut payload)?;
    nodes::decode(&payload).map_err(|damage| block.damaged(damage))
}
