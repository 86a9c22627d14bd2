//! The memory that the search reads: of a process that waits, or a copy, for which the process need not wait.

use super::stacks::{self, Thread};
use super::{DISGUISE_POINTERS, WORD, epoll, unreadable};
use crate::arena::Arena;
use crate::backlog::Budget;
use crate::page_look::RECORDERS_FILES;
use crate::proc_files::{self, MapLine};
use crate::process_memory::ProcessMemory;
use memtoll_symbols::merged;
use memtoll_trace::meta::NotSearched;
use memtoll_trace::path::last_part;
use memtoll_trace::snapshot::Snapshot;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

/// The memory of a process at its end.
pub struct Memory {
    /// The mappings, by address.
    pub maps: Vec<MapLine>,
    /// Pages that can have pointers, by address: those that the process has written, and those that it shares with others.
    pub pieces: Vec<Piece>,
    /// By address: the recorder's memory, and what lies below the stack pointers of threads.
    pub left_out: Vec<Range<u64>>,
    /// All threads but the one that ends the process.
    pub other_threads: Vec<Thread>,
    /// Words that the kernel keeps for the process.
    pub in_kernel: Vec<u64>,
    /// Where the program's malloc is.
    pub malloc: u64,
    source: Source,
}

/// Pages of one mapping.
pub struct Piece {
    pub addresses: Range<u64>,
    /// Its number among the mappings.
    pub mapping: usize,
}

enum Source {
    Process(ProcessMemory),
    Copy(Copy),
}

impl Memory {
    /// Of a process that waits, whose pages `snapshot` tells.
    pub fn of(pid: u32, arena: &Arena, snapshot: &Snapshot) -> Result<Memory, NotSearched> {
        let maps = proc_files::maps(pid);
        if let Some(program) = maps.iter().find_map(disguises) {
            return Err(NotSearched::Disguised(program.to_owned()));
        }
        let source = Source::Process(ProcessMemory::open(pid).map_err(unreadable)?);
        let other_threads = stacks::others(pid, arena.header().ending_thread.load(Acquire));
        let own_stack = arena.header().ending_stack.load(Acquire);
        let stack_pointers = other_threads.iter().filter_map(|thread| thread.stack_pointer).chain([own_stack]);
        let recorder = snapshot.recorder.iter().map(|(start, bytes)| *start..start.saturating_add(*bytes));
        let unused = stack_pointers.filter_map(|pointer| stacks::unused(&maps, pointer));
        let left_out = recorder.chain(variables_of_recorder(&maps)).chain(unused).collect();
        let pieces = pieces(snapshot, &maps);
        let (left_out, in_kernel) = (merged(left_out), epoll::data(pid));
        Ok(Memory { pieces, left_out, other_threads, in_kernel, malloc: arena.header().malloc, maps, source })
    }

    /// Of this process, without threads or pages.
    #[cfg(test)]
    pub fn of_this_process() -> Memory {
        let pid = std::process::id();
        let source = Source::Process(ProcessMemory::open(pid).unwrap());
        Memory {
            maps: proc_files::maps(pid),
            pieces: Vec::new(),
            left_out: Vec::new(),
            other_threads: Vec::new(),
            in_kernel: Vec::new(),
            malloc: 0,
            source,
        }
    }

    /// A copy, if that takes no more than `most` bytes, and no more than the budget has.
    pub fn copy(self, most: u64, budget: &Arc<Budget>) -> Option<Memory> {
        let Source::Process(process) = &self.source else { return Some(self) };
        let parts = self.pieces.iter().flat_map(|piece| outside(piece.addresses.clone(), &self.left_out));
        let parts: Vec<Range<u64>> = parts.filter(|part| part.start < part.end).collect();
        let bytes = parts.iter().map(|part| part.end - part.start).sum();
        if bytes > most || !budget.take(bytes) {
            return None;
        }
        let parts = parts.into_iter().map(|part| {
            let mut read = vec![0; (part.end - part.start) as usize];
            let count = process.read_some(part.start, &mut read);
            read.truncate(count);
            (part.start, read)
        });
        let source = Source::Copy(Copy { parts: parts.collect(), bytes, budget: budget.clone() });
        Some(Memory { source, ..self })
    }

    /// As much as there is, from `address` on. Of what was not copied, zeros.
    pub fn read_some(&self, address: u64, bytes: &mut [u8]) -> usize {
        match &self.source {
            Source::Process(process) => process.read_some(address, bytes),
            Source::Copy(copy) => copy.read(address, bytes),
        }
    }

    pub fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; WORD as usize];
        self.mapping_at(address)?;
        (self.read_some(address, &mut bytes) == bytes.len()).then(|| u64::from_ne_bytes(bytes))
    }

    pub fn mapping_at(&self, address: u64) -> Option<&MapLine> {
        let at = self.maps.partition_point(|line| line.end <= address);
        self.maps.get(at).filter(|line| line.start <= address)
    }
}

/// The program that keeps pointers in a form of its own, if one of its files is mapped.
fn disguises(line: &MapLine) -> Option<&'static str> {
    let file = last_part(&line.path);
    let is_it = |(name, _): &(&str, &str)| file == *name || name.contains(".so") && file.starts_with(name);
    DISGUISE_POINTERS.into_iter().find(is_it).map(|(_, program)| program)
}

fn pieces(snapshot: &Snapshot, maps: &[MapLine]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for run in &snapshot.runs {
        let mut start = run.start;
        let end = run.start + run.pages * snapshot.page;
        while start < end {
            let mapping = maps.partition_point(|line| line.end <= start);
            let Some(line) = maps.get(mapping).filter(|line| line.start < end) else { break };
            let addresses = start.max(line.start)..end.min(line.end);
            start = addresses.end;
            let is_device = line.path.starts_with("/dev/") && !line.path.starts_with("/dev/shm/");
            if (!run.is_files || line.shared && line.writable) && !is_device {
                pieces.push(Piece { addresses, mapping });
            }
        }
    }
    pieces
}

/// The variables of the recorder that have no place in its file: they lie behind those that have one.
fn variables_of_recorder(maps: &[MapLine]) -> impl Iterator<Item = Range<u64>> + '_ {
    let is_recorder = |line: &MapLine| line.path.starts_with(RECORDERS_FILES);
    maps.windows(2).filter_map(move |lines| {
        let [file, behind] = lines else { return None };
        let are_variables = is_recorder(file) && behind.path.is_empty() && behind.start == file.end && behind.writable;
        are_variables.then_some(behind.start..behind.end)
    })
}

/// The parts of `range` that are not left out. Some may be empty.
pub fn outside(Range { start, end }: Range<u64>, left_out: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> + '_ {
    let first = left_out.partition_point(|out| out.end <= start);
    let within = left_out[first..].iter().take_while(move |out| out.start < end);
    let starts = std::iter::once(start).chain(within.clone().map(move |out| out.end.min(end)));
    let ends = within.map(move |out| out.start.max(start)).chain([end]);
    starts.zip(ends).map(|(start, end)| start..end)
}

/// Memory of a process that may be over.
struct Copy {
    /// Begins and contents, by address.
    parts: Vec<(u64, Vec<u8>)>,
    /// What it takes of the budget.
    bytes: u64,
    budget: Arc<Budget>,
}

impl Copy {
    /// Zeros for what it does not have.
    fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        bytes.fill(0);
        let end = address + bytes.len() as u64;
        let end_of = |start: u64, part: &[u8]| start + part.len() as u64;
        let first = self.parts.partition_point(|(start, part)| end_of(*start, part) <= address);
        for (start, part) in self.parts[first..].iter().take_while(|(start, _)| *start < end) {
            let common = address.max(*start)..end.min(end_of(*start, part));
            let within = |from: u64| (common.start - from) as usize..(common.end - from) as usize;
            bytes[within(address)].copy_from_slice(&part[within(*start)]);
        }
        bytes.len()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [u64; 6] = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66];

    /// Memory with these words, of which the third is left out, and where they are.
    fn memory(words: &[u64]) -> (Memory, u64) {
        let start = words.as_ptr() as u64;
        let memory = Memory::of_this_process();
        let mapping = memory.maps.iter().position(|line| (line.start..line.end).contains(&start)).unwrap();
        let pieces = vec![Piece { addresses: start..start + size_of_val(words) as u64, mapping }];
        let third = start + 2 * WORD..start + 3 * WORD;
        (Memory { pieces, left_out: vec![third], ..memory }, start)
    }

    #[test]
    fn a_copy_is_what_there_was_but_for_what_is_left_out() {
        let mut words = WORDS.to_vec();
        let (memory, start) = memory(&words);
        let budget = Arc::new(Budget::default());
        let copy = memory.copy(5 * WORD, &budget).unwrap();
        assert_eq!(budget.taken(), 5 * WORD);
        std::hint::black_box(&mut words).fill(7);
        let at = |place: u64| copy.word(start + place * WORD);
        assert_eq!([0, 1, 2, 5].map(at), [Some(0x11), Some(0x22), Some(0), Some(0x66)]);
        assert_eq!(at(6), Some(0), "behind the piece");
        assert_eq!(copy.word(8), None, "in no mapping");
        let mut some = [9; 4 * WORD as usize];
        assert_eq!(copy.read_some(start + WORD, &mut some), some.len());
        assert_eq!(some.chunks(8).map(|word| word[0]).collect::<Vec<_>>(), [0x22, 0, 0x44, 0x55]);
        drop(copy);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn a_copy_is_as_large_as_it_may_be() {
        let words = WORDS.to_vec();
        let budget = Arc::new(Budget::default());
        assert!(memory(&words).0.copy(5 * WORD - 1, &budget).is_none());
        assert_eq!(budget.taken(), 0);
    }
}
