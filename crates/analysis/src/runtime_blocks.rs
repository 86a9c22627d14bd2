//! Blocks that the runtime of a language keeps to the end, whatever the program does. They are no leak of anybody's.

use crate::priced::Priced;
use crate::stacks::Texts;
use crate::sums::{Site, Sums};
use memtoll_model::{FrameId, Frames, Recording, StackId};
use memtoll_trace::ids::Bytes;
use memtoll_trace::path::last_part;
use rustc_hash::FxHashMap;

/// Blocks of one kind, and how their stacks are known: by the innermost functions in these files.
struct Known {
    what: &'static str,
    /// Beginnings of the names of loaded files.
    modules: &'static [&'static str],
    /// Beginnings of the names of functions. None: only the loader calls the file's code there.
    functions: &'static [&'static str],
}

/// musl is its own loader.
const LIBC: &[&str] = &["libc.so", "libc-2", "libc.musl", "ld-musl"];
const LOADER: &[&str] = &["ld-linux", "ld-2", "ld.so", "libc.musl", "ld-musl"];

/// Sizes of libstdc++'s pool, bytes: of GCC 5 to 12 and of later ones, with 64-bit pointers.
const POOL: [u64; 2] = [72_704, 73_728];
/// Frames at most between the pool and the first instruction of the program: initialization.
const FRAMES_OF_START: usize = 5;

const TABLE: [Known; 6] = [
    Known { what: "libstdc++'s pool for exceptions", modules: &["libstdc++.so", "libstdc++-"], functions: &[] },
    Known {
        what: "buffers of stdio",
        modules: LIBC,
        functions: &["_IO_file_doallocate", "_IO_wfile_doallocate", "__fopen_internal"],
    },
    Known {
        what: "locales",
        modules: LIBC,
        functions: &["setlocale", "newlocale", "_nl_", "__gconv", "bindtextdomain", "textdomain"],
    },
    Known { what: "the time zone", modules: LIBC, functions: &["tzset", "__tz", "tzfile"] },
    Known {
        what: "threads' own storage",
        modules: &["ld-linux", "ld-2", "ld.so", "libc.so", "libc-2", "libpthread", "ld-musl"],
        functions: &["_dl_allocate_tls", "__tls_get_addr", "allocate_dtv", "pthread_create"],
    },
    Known {
        what: "Rust's standard streams and thread names",
        modules: &[""],
        functions: &["std::io::stdio::", "std::rt::", "std::thread::current::", "std::sys::thread_local::"],
    },
];

/// Blocks of the runtime that were never freed.
#[derive(Default)]
pub struct RuntimeBlocks {
    /// By stack node: which row of the table.
    nodes: FxHashMap<StackId, usize>,
    /// What they are, with their blocks and bytes; largest first.
    pub kinds: Vec<(&'static str, u64, Bytes)>,
    /// What all their call sites counted.
    pub counts: Priced,
}

impl RuntimeBlocks {
    /// Whether the blocks of a stack are the runtime's.
    pub fn has(&self, node: StackId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// All their blocks, and bytes.
    pub fn total(&self) -> (u64, Bytes) {
        self.kinds.iter().fold((0, Bytes::ZERO), |(blocks, bytes), kind| (blocks + kind.1, bytes + Bytes(kind.2.0)))
    }
}

/// Those among the sums, which must be by stack.
pub fn runtime_blocks(recording: &Recording, sums: &Sums) -> RuntimeBlocks {
    let mut found = RuntimeBlocks::default();
    let mut kinds = [Priced::default(); TABLE.len()];
    let mut functions = Functions::new(&recording.frames);
    for site in sums.sites.iter().filter(|site| site.live_blocks() > 0) {
        if let Some(kind) = functions.kind_of(recording, site.node).or_else(|| linked_pool(recording, &site)) {
            found.nodes.insert(site.node, kind);
            kinds[kind].add(&site.metrics());
        }
    }
    kinds.iter().for_each(|kind| found.counts.add(kind));
    let kinds = TABLE.iter().zip(kinds).filter(|(_, metrics)| metrics.live_blocks > 0);
    found.kinds = kinds.map(|(known, of)| (known.what, of.live_blocks, of.live_bytes)).collect();
    found.kinds.sort_by_key(|(what, _, bytes)| (std::cmp::Reverse(*bytes), *what));
    found
}

/// libstdc++'s pool where that is linked into the program, which may have been stripped: one block of its size, from before `main`.
fn linked_pool(recording: &Recording, site: &Site) -> Option<usize> {
    const PLACE: usize = 0;
    let (blocks, metrics) = (site.allocations(), site.metrics());
    if POOL.iter().all(|size| size.checked_mul(blocks) != Some(metrics.live_bytes.0)) {
        return None;
    }
    let stack: Vec<StackId> = recording.stacks.callers(site.node).take(FRAMES_OF_START + 1).collect();
    let frames = stack.iter().flat_map(|id| recording.frames.chain(&recording.stacks.node(*id)).iter());
    let mut functions = frames.map(|frame| Texts::of(&recording.frames, *frame).function);
    (stack.len() <= FRAMES_OF_START && functions.all(|function| function != "main")).then_some(PLACE)
}

/// What a function says of a stack that goes through it.
#[derive(Clone, Copy)]
enum Says {
    /// Which row of the table tells.
    Kind(usize),
    /// It is the runtime's; its callers tell.
    Runtime,
    /// The stack is the program's.
    Nothing,
}

/// What functions say, each looked at once: there can be hundreds of thousands of stacks.
struct Functions<'f> {
    frames: &'f Frames,
    known: Vec<Option<Says>>,
}

impl Functions<'_> {
    fn new(frames: &Frames) -> Functions<'_> {
        Functions { frames, known: vec![None; frames.len()] }
    }

    fn module(&self, frame: FrameId) -> &str {
        last_part(Texts::of(self.frames, frame).module)
    }

    fn says(&mut self, frame: FrameId) -> Says {
        if let Some(known) = self.known[frame.index()] {
            return known;
        }
        let (function, module) = (Texts::of(self.frames, frame).function, self.module(frame));
        let is_in = |known: &Known| known.modules.iter().any(|with| module.starts_with(with));
        let is_named = |known: &Known| is_in(known) && known.functions.iter().any(|name| function.starts_with(name));
        let is_runtime = || TABLE.iter().any(|known| known.modules != [""] && is_in(known));
        let says = match TABLE.iter().position(is_named) {
            Some(kind) => Says::Kind(kind),
            None if is_runtime() => Says::Runtime,
            None => Says::Nothing,
        };
        self.known[frame.index()] = Some(says);
        says
    }

    /// Which row of the table tells of a stack.
    fn kind_of(&mut self, recording: &Recording, node: StackId) -> Option<usize> {
        /// Frames of the runtime between the allocation and the function that tells.
        const DEPTH: usize = 8;
        let mut all = recording.frames_of(node);
        let mut seen = Vec::new();
        for frame in all.by_ref().take(DEPTH) {
            match self.says(frame) {
                Says::Kind(kind) => return Some(kind),
                Says::Runtime => seen.push(frame),
                Says::Nothing => return None,
            }
        }
        // The loader starts a library, and nothing else is on the stack.
        let is = |frame: &FrameId, names: &[&str]| names.iter().any(|name| self.module(*frame).starts_with(name));
        TABLE.iter().position(|known| {
            let mut others = seen.iter().skip_while(|frame| is(frame, known.modules));
            known.functions.is_empty()
                && seen.first().is_some_and(|frame| is(frame, known.modules))
                && others.all(|frame| is(frame, LOADER))
                && all.next().is_none()
        })
    }
}
