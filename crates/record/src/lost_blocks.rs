//! Which of the blocks that a program leaves at its end nothing points to any more.
//!
//! The process waits at its end (`recorder/src/hooks/process_exit.cpp`). All of its memory is read once: words that point to live
//! blocks are kept, with the block in which they lie; all others are roots. Any word may be a pointer, so a block is lost only if
//! no word says otherwise.
//!
//! Roots are global variables, mappings of the program's own, stacks from their stack pointers up, variables of threads, and
//! registers: those of the ending thread, and of others the arguments of the system calls that they wait in; and what epoll has.

mod block_map;
mod epoll;
mod glibc_heap;
mod inner_pointers;
mod memory;
mod reachability;
mod stacks;

use crate::proc_files::MapLine;
use crate::sink::live_blocks::NumberedBlock;
use block_map::{BlockMap, Pointer};
use inner_pointers::Words;
pub use memory::Memory;
use memory::outside;
use memtoll_symbols::merged;
use memtoll_trace::ids::{BlockNo, Bytes};
use memtoll_trace::meta::NotSearched;
use memtoll_trace::metrics::Metrics;
pub use reachability::Reach;
use reachability::{Graph, classify};
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The search takes no longer than this, and no more than a part of the time that the program ran.
const LONGEST: Duration = Duration::from_secs(2);
const SHORTEST_LIMIT: Duration = Duration::from_millis(100);
const PART_OF_RUN: u32 = 10;
/// Bytes that are read at a time.
const WINDOW: u64 = 256 << 10;
/// Pointers that are kept at most: half a gigabyte.
const MOST_POINTERS: usize = 64 << 20;
const WORD: u64 = 8;
/// Where glibc has the kernel's id of a thread, counted from its handle; 0 once it has ended (struct pthread: `tid`).
const TID: u64 = 0x2d0;
/// Programs, and files of programs, that keep pointers in forms of their own.
const DISGUISE_POINTERS: [(&str, &str); 8] = [
    ("node", "node"),
    ("libnode.so", "node"),
    ("deno", "deno"),
    ("bun", "bun"),
    ("chrome", "Chromium"),
    ("electron", "Electron"),
    ("libxul.so", "Firefox"),
    ("libjvm.so", "Java"),
];

/// A live block.
#[derive(Clone, Copy)]
pub struct Block {
    pub address: u64,
    pub size: u64,
    pub number: BlockNo,
}

/// What the search knows of the process beside its memory.
pub struct Process {
    /// Live blocks, in any order.
    pub blocks: Vec<Block>,
    /// Whether these are all blocks of its heap: it has none from before it was recorded.
    pub has_all_blocks: bool,
    /// Handles of threads that have ended.
    pub ended_threads: Vec<u64>,
    /// How long it has run.
    pub ran: Duration,
}

impl Block {
    pub fn of(address: u64, kept: &NumberedBlock) -> Block {
        Block { address, size: kept.block.size().0, number: kept.number }
    }
}

impl Reach {
    /// What a block of some bytes adds to the sums of its call site.
    pub fn counts(self, bytes: Bytes) -> Metrics {
        let none = Metrics::default();
        match self {
            Reach::Reachable => none,
            Reach::PossiblyLost => Metrics { possibly_lost_blocks: 1, possibly_lost_bytes: bytes, ..none },
            Reach::IndirectlyLost => Metrics { indirectly_lost_blocks: 1, indirectly_lost_bytes: bytes, ..none },
            Reach::Lost => Metrics { lost_blocks: 1, lost_bytes: bytes, ..none },
        }
    }
}

/// A block that is not reachable.
#[derive(Clone, Copy)]
pub struct Lost {
    pub block: Block,
    pub reach: Reach,
}

/// What was found.
#[derive(Default)]
pub struct Found {
    /// The blocks that are not reachable, by address.
    pub blocks: Vec<Lost>,
    /// Threads whose registers were not seen.
    pub other_threads: u32,
}

/// Searches the memory of a process.
pub fn search(mut process: Process, memory: &Memory) -> Result<Found, NotSearched> {
    let deadline = Instant::now() + (process.ran / PART_OF_RUN).clamp(SHORTEST_LIMIT, LONGEST);
    process.blocks.sort_unstable_by_key(|block| block.address);
    let blocks = BlockMap::new(process.blocks.iter().map(|block| block.address..block.address + block.size));

    let mut left_out = memory.left_out.clone();
    let has_ended = |handle: &u64| memory.word(handle + TID).is_some_and(|word| word as u32 == 0);
    let ended = process.ended_threads.iter().filter(|handle| has_ended(handle));
    left_out.extend(ended.filter_map(|handle| stacks::left_over(&memory.maps, *handle)));
    if process.has_all_blocks && glibc_heap::has(&memory.maps, memory.malloc) {
        let starts = process.blocks.iter().map(|block| block.address);
        left_out.extend(glibc_heap::areas(&memory.maps, |address| memory.word(address), starts));
    }
    let mut reading = Reading::new(memory, &blocks, deadline);
    let registers = memory.other_threads.iter().flat_map(|thread| &thread.arguments);
    reading.graph.roots.extend(registers.chain(&memory.in_kernel).filter_map(|word| blocks.find(*word)));
    reading.read_all(&merged(left_out))?;

    let is_whole = |pointer: Pointer| {
        let block = &process.blocks[pointer.block as usize];
        // Some lie in pages that were not read, or at no multiple of a word.
        let kept = reading.first_words[pointer.block as usize].map(NonZeroU64::get);
        let first = kept.or_else(|| memory.word(block.address));
        inner_pointers::is_whole(pointer, block.address, block.size, first, memory)
    };
    let reach = classify(blocks.len(), &reading.graph, is_whole);
    let all = process.blocks.into_iter().zip(reach).map(|(block, reach)| Lost { block, reach });
    let lost = all.filter(|lost| lost.reach != Reach::Reachable);
    Ok(Found { blocks: lost.collect(), other_threads: memory.other_threads.len() as u32 })
}

impl Found {
    /// Leaves out what `earlier` did not find: while threads run, a pointer may go from memory that is yet to be read to memory that
    /// was read already, but hardly twice.
    pub fn and_also_in(mut self, earlier: &Found) -> Found {
        self.blocks.retain(|lost| {
            let at = earlier.blocks.binary_search_by_key(&lost.block.address, |before| before.block.address);
            at.is_ok_and(|at| earlier.blocks[at].block.number == lost.block.number)
        });
        self
    }
}

fn unreadable(error: io::Error) -> NotSearched {
    NotSearched::Unreadable(error.to_string())
}

/// The memory of the process, as it is read.
struct Reading<'p> {
    memory: &'p Memory,
    blocks: &'p BlockMap,
    graph: Graph,
    /// By block, if it has been read and is not zero.
    first_words: Vec<Option<NonZeroU64>>,
    /// Words of what is read that may be pointers.
    near: Vec<(u32, u64)>,
    deadline: Instant,
}

impl<'p> Reading<'p> {
    fn new(memory: &'p Memory, blocks: &'p BlockMap, deadline: Instant) -> Reading<'p> {
        let first_words = vec![None; blocks.len()];
        Reading { memory, blocks, graph: Graph::default(), first_words, near: Vec::new(), deadline }
    }

    fn read_all(&mut self, left_out: &[Range<u64>]) -> Result<(), NotSearched> {
        let memory = self.memory;
        let mut buffer = Vec::new();
        let mut pieces = memory.pieces.iter();
        pieces.try_for_each(|piece| {
            self.read_piece(piece.addresses.clone(), &memory.maps[piece.mapping], left_out, &mut buffer)
        })
    }

    /// Reads pages of one mapping.
    fn read_piece(
        &mut self,
        piece: Range<u64>,
        line: &MapLine,
        left_out: &[Range<u64>],
        buffer: &mut Vec<u8>,
    ) -> Result<(), NotSearched> {
        let mut start = piece.start;
        while start < piece.end {
            let window = start..piece.end.min(start + WINDOW);
            start = window.end;
            let parts = self.parts(window.clone(), left_out);
            let (Some(first), Some(last)) = (parts.first(), parts.last()) else { continue };
            let read = first.addresses.start..last.addresses.end;
            buffer.resize((read.end - read.start) as usize, 0);
            // What cannot be read, such as a device's memory, the program cannot keep pointers in.
            let count = self.memory.read_some(read.start, buffer) as u64;
            let mut near = std::mem::take(&mut self.near);
            self.blocks.candidates(&buffer[..count as usize], &mut near);
            let mut words = near.iter().map(|&(place, word)| (u64::from(place) * WORD, word)).peekable();
            for part in &parts {
                let from = part.addresses.start - read.start;
                let to = (part.addresses.end - read.start).min(count);
                if from < to {
                    self.keep_first_word(part, &buffer[from as usize..to as usize]);
                    while words.next_if(|(at, _)| *at < from).is_some() {}
                    while let Some((_, word)) = words.next_if(|(at, _)| *at < to) {
                        self.keep_pointer(word, part.block, line);
                    }
                }
            }
            self.near = near;
            if Instant::now() > self.deadline || self.graph.len() > MOST_POINTERS {
                return Err(NotSearched::TooMuch);
            }
        }
        Ok(())
    }

    /// The parts of a window that are read: roots, and blocks.
    fn parts(&self, window: Range<u64>, left_out: &[Range<u64>]) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut at = window.start;
        let mut block = self.blocks.first_behind(at);
        while at < window.end {
            let next = if block < self.blocks.len() { self.blocks.block(block) } else { u64::MAX..u64::MAX };
            let end = next.start.clamp(at, window.end);
            let roots = outside(at..end, left_out).map(whole_words);
            parts.extend(roots.map(|addresses| Part { addresses, block: None }));
            at = next.end.clamp(end, window.end);
            if end < at {
                parts.push(Part { addresses: whole_words(end..at), block: Some(block) });
            }
            block += 1;
        }
        parts.retain(|part| part.addresses.start < part.addresses.end);
        parts
    }

    fn keep_first_word(&mut self, part: &Part, bytes: &[u8]) {
        let Some(block) = part.block.filter(|block| self.blocks.block(*block).start == part.addresses.start) else {
            return;
        };
        self.first_words[block] = bytes.first_chunk().and_then(|word| NonZeroU64::new(u64::from_ne_bytes(*word)));
    }

    /// A word that may be a pointer, inside a block or outside of all.
    fn keep_pointer(&mut self, word: u64, block: Option<usize>, line: &MapLine) {
        let Some(pointer) = self.blocks.find(word) else { return };
        match block {
            Some(block) => self.graph.add(block, pointer),
            None if glibc_heap::is_pointer_to_chunk(word, &self.blocks.block(pointer.block as usize), line) => {}
            None => self.graph.roots.push(pointer),
        }
    }
}

/// A piece of memory, inside a block or outside of all.
struct Part {
    addresses: Range<u64>,
    block: Option<usize>,
}

/// Pointers lie at multiples of their size.
fn whole_words(range: Range<u64>) -> Range<u64> {
    let start = range.start.next_multiple_of(WORD);
    start..(range.end / WORD * WORD).max(start)
}

impl Words for Memory {
    fn word(&self, address: u64) -> Option<u64> {
        Memory::word(self, address)
    }

    fn is_constant(&self, address: u64) -> bool {
        self.mapping_at(address).is_some_and(|line| line.path.starts_with('/') && !line.writable && !line.executable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of 0x1000..0x2000 as (start, end, block).
    fn parts(blocks: &[Range<u64>], left_out: &[Range<u64>]) -> Vec<(u64, u64, Option<usize>)> {
        let memory = Memory::of_this_process();
        let blocks = BlockMap::new(blocks.iter().cloned());
        let reading = Reading::new(&memory, &blocks, Instant::now());
        let parts = reading.parts(0x1000..0x2000, left_out);
        parts.into_iter().map(|part| (part.addresses.start, part.addresses.end, part.block)).collect()
    }

    #[test]
    fn first_words_of_blocks_are_kept_as_they_are_read() {
        let memory = Memory::of_this_process();
        let words: Vec<u64> = vec![0x11, 0x22, 0x33, 0, 0x55, 0x66];
        let start = words.as_ptr() as u64;
        let line = memory.mapping_at(start).unwrap();
        // A whole one, one that does not begin with a word, one whose first word is zero, and one that is not read.
        let blocks = [0..8, 12..24, 24..32, 32..48].map(|at: Range<u64>| start + at.start..start + at.end);
        let blocks = BlockMap::new(blocks.into_iter());
        let mut reading = Reading::new(&memory, &blocks, Instant::now() + Duration::from_secs(60));
        reading.read_piece(start..start + 32, line, &[], &mut Vec::new()).ok().unwrap();
        assert_eq!(reading.first_words, [NonZeroU64::new(0x11), None, None, None]);
    }

    #[test]
    fn memory_is_divided_into_blocks_and_roots() {
        // Before, across the beginning, of an odd length, across the end, behind.
        let blocks = [0x800..0x810, 0xff0..0x1010, 0x1100..0x1113, 0x1ff0..0x3000, 0x4000..0x4010];
        assert_eq!(
            parts(&blocks, &[]),
            [
                (0x1000, 0x1010, Some(1)),
                (0x1010, 0x1100, None),
                (0x1100, 0x1110, Some(2)),
                (0x1118, 0x1ff0, None),
                (0x1ff0, 0x2000, Some(3)),
            ]
        );
        let heap = [0x0..0x1080, 0x1108..0x1200, 0x1f00..0x5000];
        assert_eq!(
            parts(&blocks, &heap),
            [
                (0x1000, 0x1010, Some(1)),
                (0x1080, 0x1100, None),
                (0x1100, 0x1110, Some(2)),
                (0x1200, 0x1f00, None),
                (0x1ff0, 0x2000, Some(3)),
            ]
        );
        assert!(parts(&[], &heap[..0]).contains(&(0x1000, 0x2000, None)));
        let all = 0x0..0x9000;
        assert_eq!(parts(&[], std::slice::from_ref(&all)), []);
    }
}
