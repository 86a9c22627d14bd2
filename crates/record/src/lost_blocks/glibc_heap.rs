//! The memory that glibc's malloc divides into blocks: what lies there beside live blocks is free, or malloc's own. Pointers in
//! it are left over from blocks that were freed, so they keep nothing.

use crate::proc_files::MapLine;
use memtoll_trace::path::last_part;
use std::collections::BTreeSet;
use std::ops::Range;

/// A heap of an arena beside the first begins at a multiple of this (malloc/arena.c: HEAP_MAX_SIZE).
const HEAP: u64 = 64 << 20;
/// Where its head (struct heap_info) has its arena and its size in use, bytes.
const ARENA: u64 = 0;
const SIZE: u64 = 16;
/// An arena begins within its first heap, behind that one's head, and is no larger than this.
const ARENA_WITHIN: u64 = 4096;
/// Its chunks begin at multiples of this.
const CHUNK: u64 = 16;

/// Whether the function at this address is glibc's.
pub fn has(maps: &[MapLine], function: u64) -> bool {
    maps.iter().any(|line| (line.start..line.end).contains(&function) && is_glibc(line))
}

/// Whether a mapping is of glibc's own file.
fn is_glibc(line: &MapLine) -> bool {
    let file = last_part(&line.path);
    file.starts_with("libc.so.6") || file.starts_with("libc-2.")
}

/// Where malloc's blocks lie, by address, as far as `blocks` (where live ones begin) tell.
pub fn areas(
    maps: &[MapLine],
    word: impl Fn(u64) -> Option<u64>,
    blocks: impl Iterator<Item = u64>,
) -> Vec<Range<u64>> {
    let first = maps.iter().filter(|line| line.path == "[heap]").map(|line| line.start..line.end);
    let mut areas: Vec<Range<u64>> = first.collect();
    let is_beside = |block: &u64| !areas.iter().any(|area| area.contains(block));
    let heaps: BTreeSet<u64> = blocks.filter(is_beside).map(|block| block / HEAP * HEAP).collect();
    let is_arena_of = |heap: u64, arena: u64| arena / HEAP * HEAP == heap && arena % HEAP <= ARENA_WITHIN;
    for heap in heaps {
        // Memory of the program's own may look like that only by chance: it would have to point to itself.
        let Some(arena) = word(heap + ARENA).filter(|arena| *arena % CHUNK == 0) else { continue };
        let first = arena / HEAP * HEAP;
        let is_heap = is_arena_of(first, arena) && word(first + ARENA) == Some(arena);
        if let Some(size) = word(heap + SIZE).filter(|size| is_heap && *size <= HEAP) {
            areas.push(heap..heap + size);
        }
    }
    areas.sort_unstable_by_key(|area| area.start);
    areas
}

/// Whether a word of glibc's own variables is malloc's pointer to a chunk (`main_arena` has those of free ones and of the last
/// one): a chunk begins with the last word of the block before it.
pub fn is_pointer_to_chunk(word: u64, block: &Range<u64>, at: &MapLine) -> bool {
    is_glibc(at) && word != block.start && word.is_multiple_of(CHUNK) && word + CHUNK / 2 >= block.end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str) -> MapLine {
        MapLine {
            start: 0,
            end: 4096,
            executable: false,
            writable: true,
            shared: false,
            offset: 0,
            path: path.to_owned(),
        }
    }

    #[test]
    fn another_allocator_answers_in_the_place_of_glibcs() {
        let libc = line("/usr/lib/libc.so.6");
        let other = MapLine { start: 4096, end: 8192, ..line("/usr/lib/libjemalloc.so.2") };
        let maps = [libc, other];
        assert!(has(&maps, 16));
        assert!(!has(&maps, 4096));
        assert!(!has(&[line(memtoll_processor::HERE.musl_loader)], 16));
    }

    /// 24 bytes fill their chunk to the last: the next chunk's first word is the block's last one.
    #[test]
    fn mallocs_own_pointers_are_none_to_blocks() {
        let block = 0x5010..0x5028;
        assert!(is_pointer_to_chunk(0x5020, &block, &line("/usr/lib/libc.so.6")));
        assert!(!is_pointer_to_chunk(0x5020, &block, &line("/usr/bin/program")));
        assert!(!is_pointer_to_chunk(0x5010, &block, &line("/usr/lib/libc.so.6")), "the program's own pointer");
        assert!(!is_pointer_to_chunk(0x5020, &(0x5010..0x5040), &line("/usr/lib/libc.so.6")), "an inner one");
    }
}
