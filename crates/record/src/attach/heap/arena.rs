//! The arenas of a heap, and the memory that each has.

use super::copy::Copy;
use super::layout::{ARENA_BYTES, FROM_SYSTEM, Layout, NEXT, TOP, is_arena};
use super::{ALIGNMENT, FLAGS, HEADER, MOST};

/// Heaps of arenas other than the first begin at multiples of this, bytes.
const HEAP_BYTES: u64 = 64 << 20;
/// Arena flags: its memory is in several pieces.
const IN_PIECES: u64 = 2;
/// Arenas in a process: glibc makes no more than eight for each processor.
const MOST_ARENAS: usize = 1 << 14;
/// Heaps of an arena.
const MOST_HEAPS: usize = 1 << 14;

/// An arena with its memory.
pub struct Arena {
    pub at: u64,
    pub is_main: bool,
    /// Chunks from here on, up to the second address: the top chunk, or the end of the memory.
    pub spans: Vec<(u64, u64)>,
    /// The chunk at the end that no block has been made from yet.
    pub top: u64,
}

const LOCKED: &str = "a thread was inside malloc all the time";

/// What is done with an arena that a thread works on.
#[derive(Clone, Copy, PartialEq)]
pub enum Locked {
    Read,
    Refuse,
}

/// Where all arenas are now.
pub fn all_now(copy: &Copy, layout: &Layout) -> Vec<u64> {
    let mut all = vec![layout.main_arena];
    while all.len() < MOST_ARENAS {
        let next = all.last().and_then(|last| now(copy, last + NEXT));
        match next {
            Some(next) if next != layout.main_arena && next != 0 => all.push(next),
            _ => break,
        }
    }
    all
}

/// Copies all arenas.
pub fn read(copy: &mut Copy, layout: &Layout, locked: Locked) -> Result<Vec<Arena>, String> {
    let mut arenas = Vec::new();
    let mut at = layout.main_arena;
    let mut total = 0;
    loop {
        if !copy.add(at, ARENA_BYTES) || !is_arena(copy.from(at).unwrap_or_default(), at) {
            return Err("its arenas cannot be followed".to_owned());
        }
        let field = |copy: &Copy, offset: u64| copy.word(at + offset).unwrap_or_default();
        // The lock, and flags.
        let state = field(copy, 0);
        if state & 0xffff_ffff != 0 && locked == Locked::Refuse {
            return Err(LOCKED.to_owned());
        }
        let (top, from_system) = (field(copy, TOP), field(copy, FROM_SYSTEM));
        let is_main = at == layout.main_arena;
        let next = field(copy, NEXT);
        let spans = if is_main {
            let is_in_pieces = state >> 32 & IN_PIECES != 0;
            main_spans(copy, (at, top, from_system), is_in_pieces, &mut total)?
        } else {
            other_spans(copy, at, top, &mut total)?
        };
        arenas.push(Arena { at, is_main, spans, top });
        at = next;
        if at == layout.main_arena {
            return Ok(arenas);
        }
        if arenas.len() > MOST_ARENAS {
            return Err("its arenas cannot be followed".to_owned());
        }
    }
}

fn count(total: &mut u64, bytes: u64) -> Result<(), String> {
    *total = total.saturating_add(bytes);
    if *total > MOST {
        let limit = MOST >> 30;
        return Err(format!("its heap is larger than {limit} GiB, and reading it would stop the process for too long"));
    }
    Ok(())
}

/// The main arena's memory ends with its top chunk.
fn main_spans(
    copy: &mut Copy,
    (at, top, from_system): (u64, u64, u64),
    is_in_pieces: bool,
    total: &mut u64,
) -> Result<Vec<(u64, u64)>, String> {
    const PIECES: &str = "its heap lies in several pieces";
    const TOP_AT_FIRST: u64 = 96;
    if top == at + TOP_AT_FIRST {
        // Nothing has been asked of it.
        return Ok(Vec::new());
    }
    if is_in_pieces {
        return Err(PIECES.to_owned());
    }
    let size = now(copy, top + 8).ok_or(PIECES)? & !FLAGS;
    let start = (top + size).checked_sub(from_system).filter(|start| *start <= top).ok_or(PIECES)?;
    let start = start.next_multiple_of(ALIGNMENT);
    count(total, top - start)?;
    if !copy.add(start, top + HEADER - start) {
        return Err(PIECES.to_owned());
    }
    Ok(vec![(start, top)])
}

/// Another arena has heaps, the last of which has the top chunk. Each says which was before.
///
/// ```text
/// heap   0 arena   8 heap before   16 bytes in use   24 bytes that may be used   32 bytes of a page (2.35 and later)
/// ```
fn other_spans(copy: &mut Copy, arena: u64, top: u64, total: &mut u64) -> Result<Vec<(u64, u64)>, String> {
    const UNKNOWN: &str = "an arena's heaps cannot be followed";
    let mut spans = Vec::new();
    let mut heap = top & !(HEAP_BYTES - 1);
    for _ in 0..MOST_HEAPS {
        let words: Vec<u64> = copy.words_now(&[0, 8, 16, 32, 40].map(|at| heap + at)).iter().map(|of| of.1).collect();
        let [owner, before, used, page, behind] = words[..] else { return Err(UNKNOWN.to_owned()) };
        if owner != arena || used > HEAP_BYTES {
            return Err(UNKNOWN.to_owned());
        }
        let is_first = before == 0;
        let first = match is_first {
            true if arena & !(HEAP_BYTES - 1) != heap => return Err(UNKNOWN.to_owned()),
            true => (arena + ARENA_BYTES).next_multiple_of(ALIGNMENT),
            false if page.is_power_of_two() && behind == 0 => heap + 48,
            false => heap + 32,
        };
        let is_last = spans.is_empty();
        let end = if is_last { top } else { heap + used };
        if first > end {
            return Err(UNKNOWN.to_owned());
        }
        count(total, end - first)?;
        let more = if is_last { HEADER } else { 0 };
        if !copy.add(first, end + more - first) {
            return Err(UNKNOWN.to_owned());
        }
        spans.push((first, end));
        if is_first {
            return Ok(spans);
        }
        heap = before;
    }
    Err(UNKNOWN.to_owned())
}

fn now(copy: &Copy, address: u64) -> Option<u64> {
    copy.words_now(&[address]).first().map(|(_, word)| *word)
}
