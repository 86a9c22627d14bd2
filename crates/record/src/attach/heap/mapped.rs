//! Blocks that are mappings of their own: large ones.
//!
//! Such a chunk begins its mapping, and the kernel joins mappings that lie side by side. How many there are and how large they
//! are together, the C library knows: only what adds up to that is believed.

use super::arena::Arena;
use super::copy::{Copy, word_of};
use super::layout::Layout;
use super::{Block, FLAGS, HEADER, IS_MAPPED};
use crate::{page_look, proc_files};

const PAGE: u64 = 4096;
/// Pages that are looked at one by one, at the most.
const MOST_PAGES: usize = 1 << 18;
/// No block is aligned to more, bytes.
const MOST_ALIGNED: u64 = 4 << 20;

#[derive(Default)]
pub struct Mapped {
    pub blocks: Vec<Block>,
    /// Those that were not found.
    pub missing: u64,
    pub missing_bytes: u64,
}

/// Memory that may have such blocks.
struct Span {
    start: u64,
    end: u64,
}

pub fn read(copy: &mut Copy, layout: &Layout, arenas: &[Arena]) -> Result<Mapped, String> {
    let (count, bytes) = expected(copy, layout, arenas).ok_or("it is not known how many large blocks it has")?;
    if count == 0 {
        return Ok(Mapped::default());
    }
    let lines = proc_files::maps(copy.pid());
    let of_arena = |start: u64, end: u64| {
        arenas.iter().flat_map(|arena| &arena.spans).any(|(first, _)| (start..end).contains(first))
    };
    let spans: Vec<Span> = lines
        .iter()
        .filter(|line| line.writable && !line.shared && line.path.is_empty())
        .map(|line| Span { start: line.start, end: line.end })
        .collect();
    let mut found = Vec::new();
    let mut left = Vec::new();
    for span in &spans {
        let mut at = span.start;
        while at < span.end {
            match chunk(copy, at, span.end) {
                Some((block, next)) => {
                    found.push((block, next - at));
                    at = next;
                }
                None => break,
            }
        }
        if at < span.end && !of_arena(at, span.end) {
            left.push(Span { start: at, end: span.end });
        }
    }
    let sum = |found: &[(Block, u64)]| found.iter().map(|(_, bytes)| *bytes).sum::<u64>();
    if (found.len() as u64, sum(&found)) != (count, bytes) {
        // Behind other mappings, such as stacks. A header has been written, so untouched pages can be skipped.
        let ranges = left.iter().map(|span| span.start..span.end);
        let touched = page_look::there_are(copy.pid(), ranges.clone())
            .map(|runs| runs.into_iter().map(|run| run.start..run.start + run.pages * PAGE).collect());
        let pages: Vec<u64> = touched
            .unwrap_or_else(|_| ranges.collect::<Vec<_>>())
            .into_iter()
            .flat_map(|range| range.step_by(PAGE as usize))
            .take(MOST_PAGES)
            .map(|page| page + 8)
            .collect();
        let heads = copy.words_now(&pages);
        let mut passed = 0;
        for (address, head) in heads {
            let (at, is_head) = (address - 8, head & FLAGS == IS_MAPPED && head & !FLAGS >= PAGE);
            let end = left.iter().find(|span| (span.start..span.end).contains(&at)).map_or(0, |span| span.end);
            if let Some((block, next)) = (at >= passed && is_head).then(|| chunk(copy, at, end)).flatten() {
                found.push((block, next - at));
                passed = next;
            }
        }
    }
    let (are, have) = (found.len() as u64, sum(&found));
    if are > count || have > bytes || (are == count) != (have == bytes) {
        return Ok(Mapped { blocks: Vec::new(), missing: count, missing_bytes: bytes });
    }
    let blocks = found.into_iter().map(|(block, _)| block).collect();
    Ok(Mapped { blocks, missing: count - are, missing_bytes: bytes - have })
}

/// The chunk at the begin of a mapping, and where it ends. Its block may be aligned, and its header lie further behind.
fn chunk(copy: &Copy, start: u64, end: u64) -> Option<(Block, u64)> {
    let aligned = std::iter::successors(Some(32), |alignment| Some(alignment * 2))
        .take_while(|alignment| *alignment <= MOST_ALIGNED)
        .map(|alignment: u64| (start + HEADER).next_multiple_of(alignment) - HEADER);
    let mut places: Vec<u64> = [start].into_iter().chain(aligned).filter(|at| at + HEADER <= end).collect();
    places.dedup();
    let words = copy.words_now(&places.iter().flat_map(|at| [*at, at + 8]).collect::<Vec<u64>>());
    // The header of before the block was aligned is still at the begin.
    words.windows(2).rev().find_map(|two| {
        let [(at, before), (behind, head)] = *two else { return None };
        if behind != at + 8 || !places.contains(&at) {
            return None;
        }
        let size = head & !FLAGS;
        let next = at.checked_add(size)?;
        let is_chunk = head & FLAGS == IS_MAPPED && before == at - start && size > HEADER && next % PAGE == 0;
        (is_chunk && next <= end).then(|| (Block { address: at + HEADER, bytes: size - HEADER }, next))
    })
}

/// How many such blocks there are, and their bytes with headers and rounding.
fn expected(copy: &mut Copy, layout: &Layout, arenas: &[Arena]) -> Option<(u64, u64)> {
    const DEFAULT_LISTS: u64 = 64;
    const DEFAULT_LARGEST: u64 = 1032;
    /// Where the three numbers are, seen from the begin of the heap: in 2.35 and later; before.
    const COUNTS_AT: [isize; 2] = [-36, -32];
    let main = arenas.iter().find(|arena| arena.is_main)?;
    let start = main.spans.first().map_or(0, |span| span.0);
    for &(from, bytes) in &layout.data {
        copy.add(from, bytes);
        let data = copy.from(from)?;
        for at in (40..data.len().saturating_sub(24)).step_by(8) {
            let word = |offset: isize| word_of(data, at.checked_add_signed(offset)?);
            if word(0)? != start {
                continue;
            }
            let (bytes, highest) = (word(-16)?, word(-8)?);
            let has_caches = word(8)? == DEFAULT_LISTS && word(16)? == DEFAULT_LARGEST;
            if bytes % PAGE != 0 || bytes > highest || start == 0 && !has_caches {
                continue;
            }
            let half = |offset: isize| Some(word(offset & !7)? >> ((offset & 4) * 8) & 0xffff_ffff);
            for first in COUNTS_AT {
                let (count, allowed, most) = (half(first)?, half(first + 4)?, half(first + 8)?);
                if count <= most && most <= allowed && allowed > 0 && (count == 0) == (bytes == 0) {
                    return Some((count, bytes));
                }
            }
        }
    }
    None
}
