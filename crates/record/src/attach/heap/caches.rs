//! Freed blocks that look used, because malloc keeps them for the next call: in caches of threads, and in fast bins.

use super::arena::Arena;
use super::copy::Copy;
use super::layout::{FAST_BIN_COUNT, FAST_BINS};
use super::{ALIGNMENT, Block, HEADER};
use rustc_hash::FxHashSet;

/// Bytes below a thread pointer in which the C library's variable for the thread's cache is looked for.
pub const LOOKED_AT: u64 = 32 << 10;

/// Sizes of blocks that a cache has lists of.
const LISTS: u64 = 64;

/// How a cache is laid out: counts of the lists, and then their first blocks.
#[derive(Clone, Copy)]
struct Shape {
    count_bytes: u64,
    /// Usable bytes of the block that is the cache itself, or 16 more where too little was left for another chunk.
    block: u64,
}

impl Shape {
    fn fits(self, bytes: u64) -> bool {
        bytes == self.block || bytes == self.block + ALIGNMENT
    }
}

/// glibc 2.30 and later; before.
const SHAPES: [Shape; 2] = [Shape { count_bytes: 2, block: 0x288 }, Shape { count_bytes: 1, block: 0x248 }];

/// How a list's pointers stand in memory.
#[derive(Clone, Copy, PartialEq)]
enum Links {
    /// glibc 2.32 and later: the address of the pointer, shifted, is in it.
    Mixed,
    Plain,
}

impl Links {
    fn at(self, copy: &Copy, address: u64) -> Option<u64> {
        let word = copy.word(address)?;
        Some(match self {
            Links::Mixed => word ^ (address >> 12),
            Links::Plain => word,
        })
    }
}

const NOT_FOUND: &str = "the caches of its threads cannot be found";
const NOT_CONSISTENT: &str = "lists of freed blocks do not fit its heap";

/// Takes freed blocks out, and the caches themselves, which are no blocks of the program's.
pub fn take_out(copy: &Copy, arenas: &[Arena], threads: &[u64], blocks: &mut Vec<Block>) -> Result<(), String> {
    let (shape, caches) = find(copy, threads, blocks).ok_or(NOT_FOUND)?;
    let freed = [Links::Mixed, Links::Plain]
        .into_iter()
        .find_map(|links| freed(copy, arenas, shape, &caches, links, blocks))
        .ok_or(NOT_CONSISTENT)?;
    blocks.retain(|block| !freed.contains(&block.address) && !caches.contains(&block.address));
    Ok(())
}

fn bytes_of(blocks: &[Block], address: u64) -> Option<u64> {
    // Of what stands below a thread pointer, little is the address of a block.
    if !(blocks.first()?.address..=blocks.last()?.address).contains(&address) {
        return None;
    }
    let at = blocks.binary_search_by_key(&address, |block| block.address).ok()?;
    Some(blocks[at].bytes)
}

/// The caches of all threads: the variable has the same place in each thread's memory, and is null or the address of a block
/// of just this size. None, too, where another place has more of them, and something else besides.
fn find(copy: &Copy, threads: &[u64], blocks: &[Block]) -> Option<(Shape, Vec<u64>)> {
    for shape in SHAPES {
        let cache = |address: u64| is_cache(copy, shape, address, blocks);
        let mut best: Option<Vec<u64>> = None;
        let mut most = 0;
        for below in (8..LOOKED_AT).step_by(8) {
            let values = threads.iter().map(|pointer| copy.word(pointer.checked_sub(below)?));
            let Some(values) = values.collect::<Option<Vec<u64>>>() else { break };
            let mut found: Vec<u64> = values.iter().copied().filter(|value| *value != 0).collect();
            let caches = found.iter().filter(|value| cache(**value)).count();
            if caches <= most {
                continue;
            }
            found.sort_unstable();
            if found.windows(2).all(|two| two[0] != two[1]) {
                most = caches;
                best = Some(found).filter(|found| found.len() == caches);
            }
        }
        if most > 0 {
            return best.map(|best| (shape, best));
        }
    }
    None
}

/// Whether a block looks like a thread's cache: each list is empty or has a count.
fn is_cache(copy: &Copy, shape: Shape, address: u64, blocks: &[Block]) -> bool {
    const MOST: u64 = 1 << 12;
    bytes_of(blocks, address).is_some_and(|bytes| shape.fits(bytes))
        && (0..LISTS).all(|index| {
            let (count, first) = (count_of(copy, shape, address, index), first_of(copy, shape, address, index));
            count.is_some_and(|count| count <= MOST && (count == 0) == (first == Some(0)))
        })
}

fn count_of(copy: &Copy, shape: Shape, cache: u64, index: u64) -> Option<u64> {
    let bytes = copy.from(cache + index * shape.count_bytes)?;
    let (low, high) = (u64::from(*bytes.first()?), u64::from(*bytes.get(1)?));
    Some(if shape.count_bytes == 2 { low | high << 8 } else { low })
}

fn first_of(copy: &Copy, shape: Shape, cache: u64, index: u64) -> Option<u64> {
    copy.word(cache + LISTS * shape.count_bytes + index * 8)
}

/// All blocks in caches and fast bins. None: a list leads elsewhere.
fn freed(
    copy: &Copy,
    arenas: &[Arena],
    shape: Shape,
    caches: &[u64],
    links: Links,
    blocks: &[Block],
) -> Option<FxHashSet<u64>> {
    let mut freed = FxHashSet::default();
    for cache in caches {
        for index in 0..LISTS {
            let count = count_of(copy, shape, *cache, index)?;
            let mut block = first_of(copy, shape, *cache, index)?;
            for _ in 0..count {
                // A list has chunks of one size.
                if bytes_of(blocks, block)? != index * 16 + 24 || !freed.insert(block) {
                    return None;
                }
                block = links.at(copy, block)?;
            }
            if block != 0 {
                return None;
            }
        }
    }
    for arena in arenas {
        for index in 0..FAST_BIN_COUNT {
            let mut chunk = copy.word(arena.at + FAST_BINS + index * 8)?;
            while chunk != 0 {
                let block = chunk + HEADER;
                if bytes_of(blocks, block)? != index * 16 + 24 || !freed.insert(block) {
                    return None;
                }
                chunk = links.at(copy, block)?;
            }
        }
    }
    Some(freed)
}
