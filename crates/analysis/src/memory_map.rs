//! Where the live blocks of a process lie at an instant: areas of its address space, cut into cells of equal size.

use crate::live_blocks::Block;
use std::ops::Range;

/// What lies in a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Its number: cells of all areas are numbered in the order of their addresses, empty ones, too.
    pub number: usize,
    /// Bytes of it that are blocks'.
    pub live: u64,
    /// Index of the block that has most of it.
    pub block: usize,
}

/// Addresses without large gaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Area {
    /// From the first address of a cell to the last one of another.
    pub addresses: Range<u64>,
    /// Bytes of live blocks.
    pub live: u64,
    /// Indices of its blocks.
    pub blocks: Range<usize>,
}

/// Areas, and the cells in them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Map {
    /// Bytes of a cell: a power of two.
    pub cell: u64,
    /// By address.
    pub areas: Vec<Area>,
    /// Those that are not empty.
    pub cells: Vec<Cell>,
}

/// A gap that is larger than this begins another area, bytes.
const GAP: u64 = 1 << 20;

/// The smallest cell, bytes: blocks begin at multiples of it.
const SMALLEST: u64 = 16;

/// The map of blocks, which are in the order of their addresses, in at most `most` cells; it has more only if there are
/// more areas.
pub fn map(blocks: &[Block], most: usize) -> Map {
    let mut cell = SMALLEST;
    loop {
        let areas = areas(blocks, cell);
        let cells: u64 = areas.iter().map(|area| (area.addresses.end - area.addresses.start) / cell).sum();
        if cells <= most.max(areas.len()) as u64 || cell >= 1 << 46 {
            return Map { cell, cells: cells_of(blocks, &areas, cell), areas };
        }
        cell *= 2;
    }
}

fn areas(blocks: &[Block], cell: u64) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let start = block.address - block.address % cell;
        let end = block.end().div_ceil(cell).saturating_mul(cell);
        match areas.last_mut() {
            Some(area) if start <= area.addresses.end.saturating_add(GAP) => {
                area.addresses.end = area.addresses.end.max(end);
                area.live = area.live.saturating_add(block.size);
                area.blocks.end = index + 1;
            }
            _ => areas.push(Area { addresses: start..end, live: block.size, blocks: index..index + 1 }),
        }
    }
    areas
}

fn cells_of(blocks: &[Block], areas: &[Area], cell: u64) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    let (mut first, mut covered) = (0, 0);
    for area in areas {
        // Of the block in the last cell that has most of it.
        let mut most = 0;
        for index in area.blocks.clone() {
            let block = blocks[index];
            // Blocks of a damaged file may overlap: a byte is the first one's.
            let mut at = block.address.max(covered);
            covered = covered.max(block.end());
            while at < block.end() {
                let end = (at - at % cell).saturating_add(cell).min(block.end());
                let number = first + ((at - area.addresses.start) / cell) as usize;
                let bytes = (end - at).min(block.size);
                match cells.last_mut() {
                    Some(last) if last.number == number => {
                        last.live += bytes;
                        if bytes > most {
                            (most, last.block) = (bytes, index);
                        }
                    }
                    _ => {
                        cells.push(Cell { number, live: bytes, block: index });
                        most = bytes;
                    }
                }
                at = end;
            }
        }
        first += ((area.addresses.end - area.addresses.start) / cell) as usize;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::StackId;
    use memtoll_trace::ids::ThreadNo;
    use proptest::prelude::*;

    fn block(address: u64, size: u64) -> Block {
        Block { address, size, time: 0, node: StackId::NONE, thread: ThreadNo::FIRST }
    }

    #[test]
    fn cells_say_how_full_they_are_and_of_what() {
        let far = 0x1000 + 3 * GAP;
        let blocks = [block(0x1010, 16), block(0x1030, 8), block(0x1040, 100), block(far, 0)];
        let map = map(&blocks, 100);
        assert_eq!(map.cell, 16);
        let area = |addresses, live, blocks| Area { addresses, live, blocks };
        assert_eq!(map.areas, [area(0x1010..0x10b0, 124, 0..3), area(far..far + 16, 0, 3..4)]);
        let cells: Vec<_> = map.cells.iter().map(|cell| (cell.number, cell.live, cell.block)).collect();
        let inner = (3..9).map(|number| (number, 16, 2));
        let expected: Vec<_> =
            [(0, 16, 0), (2, 8, 1)].into_iter().chain(inner).chain([(9, 4, 2), (10, 0, 3)]).collect();
        assert_eq!(cells, expected);
        let coarse = super::map(&blocks, 2);
        assert_eq!((coarse.cell, coarse.cells.len()), (256, 2));
        assert_eq!((coarse.cells[0].live, coarse.cells[0].block), (124, 2));
    }

    #[test]
    fn blocks_that_overlap_share_cells() {
        // In a damaged file, and where a mapping takes the place of another one.
        let blocks: Vec<Block> = (0..50_000).map(|number| block(0x1000 + number * 16, 1 << 50)).collect();
        let map = map(&blocks, 512);
        assert!(map.cells.len() <= 512, "{}", map.cells.len());
        assert!(map.cells.iter().all(|cell| cell.live <= map.cell) && map.cells.is_sorted_by_key(|cell| cell.number));
    }

    proptest! {
        #[test]
        fn all_bytes_are_in_the_map(gaps in proptest::collection::vec((0u64..100_000, 0u64..3, 0u64..9_000), 0..60)) {
            let mut at = 0x4000;
            let mut blocks = Vec::new();
            for (size, far, gap) in gaps {
                at += gap * 16 + far * GAP;
                blocks.push(block(at, size));
                at = (at + size.max(1)).next_multiple_of(16);
            }
            let map = map(&blocks, 512);
            let all: u64 = blocks.iter().map(|block| block.size).sum();
            prop_assert_eq!(map.areas.iter().map(|area| area.live).sum::<u64>(), all);
            prop_assert_eq!(map.cells.iter().map(|cell| cell.live).sum::<u64>(), all);
            prop_assert!(map.cells.iter().all(|cell| cell.live <= map.cell));
            prop_assert!(map.cells.is_sorted_by(|a, b| a.number < b.number));
            let count: u64 = map.areas.iter().map(|area| (area.addresses.end - area.addresses.start) / map.cell).sum();
            prop_assert!(count <= 512.max(map.areas.len() as u64));
            prop_assert!(map.cells.last().is_none_or(|cell| (cell.number as u64) < count));
        }
    }
}
