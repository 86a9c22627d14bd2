//! Finds the block that a word points into.
//!
//! Asked for every word of the memory that is searched, so nearly all words must be turned away at once, without a branch that depends
//! on the word: a bit for the word's page says whether a block lies in it ([`Pages`]). (Most pointers of a program with an allocator
//! of its own, such as a compiler, lead beside blocks.) For what is left, blocks lie in a few clusters (the heap, its arenas), each
//! divided into as many equal parts as it has blocks, with the first block of each part.

use std::ops::Range;

/// Where a word points: to a block, by its place in the map, and how far behind its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    pub block: u32,
    /// 0: the pointer that the program got. Distances that do not fit count as the largest one that does.
    pub offset: u32,
}

/// Blocks further apart are of different clusters, bytes.
const GAP: u64 = 1 << 28;
/// Words that are asked about together: their places stay in the nearest cache.
const PIECE: usize = 512;
/// Binary logarithms of the bytes that a page has at least, and of how many pages the blocks take at most.
const PAGE_LOG2: u32 = 12;
const MOST_PAGES_LOG2: u32 = 20;
/// Bits for each page with a block, so that 1 to 3 % of the other pages look like one, and the binary logarithm of the most: so that
/// they stay in a cache.
const BITS_A_PAGE: u64 = 64;
const MOST_BITS_LOG2: u32 = 20;
/// 2^64 divided by the golden ratio: spreads neighbouring pages.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

struct Cluster {
    addresses: Range<u64>,
    blocks: Range<usize>,
    /// Binary logarithm of a part's bytes.
    shift: u32,
    /// By part: how many of the map's blocks begin before it.
    parts: Vec<u32>,
}

/// Blocks, by address.
pub struct BlockMap {
    starts: Vec<u64>,
    ends: Vec<u64>,
    clusters: Vec<Cluster>,
    pages: Pages,
}

impl BlockMap {
    /// Of the addresses of blocks, sorted. One of no bytes can be pointed to like one of one byte.
    pub fn new(blocks: impl Iterator<Item = Range<u64>>) -> BlockMap {
        let (mut starts, mut ends): (Vec<u64>, Vec<u64>) =
            blocks.map(|block| (block.start, block.end.max(block.start + 1))).unzip();
        starts.truncate(u32::MAX as usize);
        ends.truncate(starts.len());
        let mut clusters = Vec::new();
        let mut first = 0;
        for index in 1..=starts.len() {
            if index == starts.len() || starts[index] - starts[index - 1] > GAP {
                clusters.push(Cluster::of(&starts, &ends, first..index));
                first = index;
            }
        }
        let pages = Pages::of(&starts, &ends);
        BlockMap { starts, ends, clusters, pages }
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// The addresses of a block.
    pub fn block(&self, index: usize) -> Range<u64> {
        self.starts[index]..self.ends[index]
    }

    /// The first block that ends behind `address`.
    pub fn first_behind(&self, address: u64) -> usize {
        self.ends.partition_point(|end| *end <= address)
    }

    /// The words in some memory that may point into a block, with their places: all that do, and few others.
    pub fn candidates(&self, memory: &[u8], found: &mut Vec<(u32, u64)>) {
        found.clear();
        let words = memory.as_chunks().0;
        let mut places = [0; PIECE];
        for (piece, words) in words.chunks(PIECE).enumerate() {
            let mut count = 0;
            for (place, word) in words.iter().enumerate() {
                places[count] = place;
                count += usize::from(self.pages.may_have_block(u64::from_ne_bytes(*word)));
            }
            let candidate = |place: &usize| ((piece * PIECE + place) as u32, u64::from_ne_bytes(words[*place]));
            found.extend(places[..count].iter().map(candidate));
        }
    }

    /// What a word points to.
    #[inline]
    pub fn find(&self, word: u64) -> Option<Pointer> {
        let cluster = self.clusters.iter().find(|cluster| cluster.addresses.contains(&word))?;
        let part = ((word - cluster.addresses.start) >> cluster.shift) as usize;
        let from = cluster.parts[part] as usize;
        let to = cluster.parts.get(part + 1).map_or(cluster.blocks.end, |next| *next as usize);
        let behind = from + self.starts[from..to].partition_point(|start| *start <= word);
        let index = behind.checked_sub(1)?;
        let is_inside = index >= cluster.blocks.start && word < self.ends[index];
        let offset = (word - self.starts[index]).min(u32::MAX.into()) as u32;
        is_inside.then_some(Pointer { block: index as u32, offset })
    }
}

impl Cluster {
    fn of(starts: &[u64], ends: &[u64], blocks: Range<usize>) -> Cluster {
        let addresses = starts[blocks.start]..ends[blocks.end - 1];
        let bytes = addresses.end - addresses.start;
        let shift = (bytes / blocks.len() as u64).max(16).ilog2();
        let parts = (bytes >> shift) + 1;
        let mut before = blocks.start;
        let of_part = |part: u64| {
            while before < blocks.end && starts[before] < addresses.start + (part << shift) {
                before += 1;
            }
            before as u32
        };
        let parts = (0..parts).map(of_part).collect();
        Cluster { addresses, blocks, shift, parts }
    }
}

/// In which pages blocks lie. Pages share bits by a hash, so a few others look as if they had one.
struct Pages {
    bits: Vec<u64>,
    page_log2: u32,
    /// How far a hash is shifted to be the number of a bit.
    hash_shift: u32,
}

impl Pages {
    fn of(starts: &[u64], ends: &[u64]) -> Pages {
        let bytes: u64 = starts.iter().zip(ends).map(|(start, end)| end - start).sum();
        let page_log2 = (bytes | 1).ilog2().saturating_sub(MOST_PAGES_LOG2).max(PAGE_LOG2);
        let of_block = |(start, end): (&u64, &u64)| start >> page_log2..=(end - 1) >> page_log2;
        let mut with_blocks: Vec<u64> = starts.iter().zip(ends).flat_map(of_block).collect();
        with_blocks.dedup();
        let bits_log2 =
            (with_blocks.len().max(1) as u64 * BITS_A_PAGE).ilog2().clamp(u64::BITS.ilog2(), MOST_BITS_LOG2);
        let bits = vec![0; 1 << (bits_log2 - u64::BITS.ilog2())];
        let mut pages = Pages { bits, page_log2, hash_shift: u64::BITS - bits_log2 };
        for page in with_blocks {
            let (at, bit) = pages.bit(page << page_log2);
            pages.bits[at] |= bit;
        }
        pages
    }

    #[inline]
    fn may_have_block(&self, word: u64) -> bool {
        let (at, bit) = self.bit(word);
        self.bits[at] & bit != 0
    }

    /// Where the bit of a word's page is, and which bit it is there.
    #[inline]
    fn bit(&self, word: u64) -> (usize, u64) {
        let hash = (word >> self.page_log2).wrapping_mul(GOLDEN_RATIO) >> self.hash_shift;
        ((hash / 64) as usize, 1 << (hash % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of `map`'s candidates.
    fn candidates(map: &BlockMap, words: &[u64]) -> Vec<u64> {
        let (memory, mut found) = (words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>(), Vec::new());
        map.candidates(&memory, &mut found);
        assert!(found.iter().all(|(place, word)| words[*place as usize] == *word));
        found.into_iter().map(|(_, word)| word).collect()
    }

    #[test]
    fn a_word_is_found_in_its_block_only() {
        let far = 0x7f00_0000_0000;
        // A block of no bytes, neighbours, a large one, and one far away.
        let blocks = [0x1000..0x1000, 0x1020..0x1038, 0x1040..0x1041, 0x2000..0x22000, far..far + 8];
        let map = BlockMap::new(blocks.iter().cloned());
        let found = |word| map.find(word).map(|found| (found.block, found.offset));
        let expected = [
            (0xfff, None),
            (0x1000, Some((0, 0))),
            (0x1001, None),
            (0x1020, Some((1, 0))),
            (0x1037, Some((1, 0x17))),
            (0x1038, None),
            (0x1040, Some((2, 0))),
            (0x1041, None),
            (0x21fff, Some((3, 0x1ffff))),
            (0x22000, None),
            (far, Some((4, 0))),
            (far + 7, Some((4, 7))),
            (far + 8, None),
        ];
        for (word, expected) in expected {
            assert_eq!(found(word), expected, "{word:#x}");
            assert!(expected.is_none() || candidates(&map, &[word]) == [word], "{word:#x}");
        }
        // Between clusters, and in pages without blocks.
        assert_eq!(candidates(&map, &[0, 0x40000, far / 2, far + 0x1000, u64::MAX]), [0; 0]);
        assert_eq!([0, 0x1001, 0x22000, far + 8].map(|address| map.first_behind(address)), [0, 1, 4, 5]);
        assert_eq!(BlockMap::new(std::iter::empty()).find(0x1000), None);
    }

    #[test]
    fn of_pages_without_blocks_few_look_as_if_they_had_one() {
        // A page in ten has a block, over many pieces.
        let map = BlockMap::new((0..10_000).map(|block| 0x10_0000 + block * 0xa000..0x10_0010 + block * 0xa000));
        let words: Vec<u64> = (0..100_000).map(|page| 0x10_0000 + page * 0x1000).collect();
        let near = candidates(&map, &words);
        assert!((10_000..13_000).contains(&near.len()), "{}", near.len());
    }

    /// Against a look at all blocks, with parts that have none, one and many.
    #[test]
    fn finds_what_a_look_at_all_finds() {
        let mut random = 1u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        let mut at = 0x10000;
        let blocks: Vec<Range<u64>> = (0..1000)
            .map(|_| {
                let large = next(50) == 0;
                let size = next(if large { 10_000 } else { 40 });
                let block = at..at + size;
                at += (size + 1).next_multiple_of(16) + if large { next(100) * 1600 } else { 0 };
                block
            })
            .collect();
        let map = BlockMap::new(blocks.iter().cloned());
        let words: Vec<u64> = (0..20_000).map(|_| 0xff00 + next(at - 0xff00 + 0x100)).collect();
        let near = candidates(&map, &words);
        assert!(near.len() < words.len() && words.iter().all(|word| map.find(*word).is_none() || near.contains(word)));
        for word in words {
            let is_it = |block: &Range<u64>| word >= block.start && word < block.end.max(block.start + 1);
            assert_eq!(map.find(word).map(|found| found.block as usize), blocks.iter().position(is_it), "{word:#x}");
        }
    }
}
