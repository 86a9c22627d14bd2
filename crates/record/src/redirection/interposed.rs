//! Functions of a process that was running before the recorder came, each of which is to lead to the hook that a preloaded recorder
//! would have in its place. What is in memory is compared with the file: where another tool was at work, nothing is changed.

use super::mapped::{self, Mapped};
use super::{Seen, place_of};
use crate::proc_files::MapLine;
use crate::process_memory::ProcessMemory;
use crate::wire::Interposed;
use memtoll_trace::op::{Effect, Op};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Longest part of a function that is looked at, bytes.
const LONGEST: u64 = 4 << 10;
/// Of a function whose size is not known.
const SHORTEST: u64 = 32;
/// Bytes at its begin that must be those of the file.
const COMPARED: usize = 16;
/// Padding behind a function, at the most.
const PADDING: usize = 16;

/// A function, as it is in memory.
pub struct Found {
    /// For people.
    pub name: String,
    pub entry: u64,
    pub code: Vec<u8>,
    pub behind: Vec<u8>,
    pub hook: u64,
    /// Whether nothing can be recorded without it: a block whose release is seen, and not its allocation.
    pub is_needed: bool,
}

/// The list that the recorder has made, at an address of its process.
pub fn read_list(memory: &ProcessMemory, address: u64, count: u64) -> Vec<Interposed> {
    const MOST: u64 = 1024;
    let mut bytes = vec![0; (count.min(MOST) as usize) * size_of::<Interposed>()];
    if memory.read(address, &mut bytes).is_err() {
        return Vec::new();
    }
    let one = |chunk: &[u8]| {
        // SAFETY: Interposed consists of integers only; every pattern of bits is one.
        unsafe { std::ptr::read_unaligned(chunk.as_ptr().cast::<Interposed>()) }
    };
    bytes.chunks_exact(size_of::<Interposed>()).map(one).collect()
}

/// What is wanted of each file that defines some of these functions. `is_taken`: those that are redirected otherwise.
pub fn by_file(
    pid: u32,
    memory: &ProcessMemory,
    list: &[Interposed],
    maps: &[MapLine],
    is_taken: impl Fn(u64) -> bool,
) -> Result<Vec<Vec<Found>>, Seen> {
    let mut wanted = Vec::new();
    for file in mapped::files(maps) {
        let here: Vec<&Interposed> = list
            .iter()
            .filter(|one| (file.start..file.end).contains(&one.function) && !is_taken(one.function))
            .collect();
        if here.is_empty() {
            continue;
        }
        let content = place_of(pid, &file).and_then(|place| File::open(place).ok());
        let mut found = Vec::new();
        for one in here {
            let op = u8::try_from(one.kind).ok().filter(|kind| *kind > 0).map(Op);
            match function(one, op, memory, content.as_ref(), &file, maps) {
                Some(function) => found.push(function),
                None if op.is_some_and(is_needed) => return Err(Seen::OtherCode),
                None => {}
            }
        }
        if !found.is_empty() {
            wanted.push(found);
        }
    }
    Ok(wanted)
}

/// A block whose release is seen must have been seen before.
fn is_needed(op: Op) -> bool {
    matches!(op.effect(), Effect::Acquire | Effect::Release)
}

/// None: it is not what the file says.
fn function(
    one: &Interposed,
    op: Option<Op>,
    memory: &ProcessMemory,
    content: Option<&File>,
    file: &Mapped,
    maps: &[MapLine],
) -> Option<Found> {
    let size = if one.bytes == 0 { SHORTEST } else { one.bytes.min(LONGEST) } as usize;
    let line = maps.iter().find(|line| (line.start..line.end).contains(&one.function))?;
    let room = (line.end.min(file.end) - one.function) as usize;
    let mut code = vec![0; (size + PADDING).min(room)];
    memory.read(one.function, &mut code).ok()?;
    let mut expected = [0; COMPARED];
    let compared = COMPARED.min(code.len());
    content?.read_exact_at(&mut expected[..compared], line.offset + (one.function - line.start)).ok()?;
    if expected[..compared] != code[..compared] {
        return None;
    }
    let behind = if one.bytes == 0 { Vec::new() } else { code.split_off(size.min(code.len())) };
    code.truncate(size);
    let name = op.map(|op| op.name().to_owned()).unwrap_or_default();
    Some(Found { name, entry: one.function, code, behind, hook: one.hook, is_needed: op.is_some_and(is_needed) })
}
