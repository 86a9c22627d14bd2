//! On which small pages of huge ones blocks lay.

use super::chunks::FREE_HEADER;
use super::units::Unit;
use crate::live_blocks::Block;
use memtoll_trace::snapshot::Snapshot;
use std::ops::Range;

/// Small pages of huge ones, and on which of them a block ever lay.
#[derive(Clone, Debug)]
pub struct PagesInBlocks {
    page: u64,
    /// By address, each with the number of its first page.
    ranges: Vec<(Range<u64>, u64)>,
    /// By number, 64 in each.
    bits: Vec<u64>,
}

impl PagesInBlocks {
    pub fn of_huge_pages(snapshot: &Snapshot) -> PagesInBlocks {
        let huge = snapshot.runs.iter().filter(|run| run.is_huge && !run.is_files && !run.is_swapped);
        PagesInBlocks::new(huge.map(|run| run.start..run.start + run.pages * snapshot.page), snapshot.page)
    }

    fn new(ranges: impl Iterator<Item = Range<u64>>, page: u64) -> PagesInBlocks {
        let mut pages = 0;
        let numbered = ranges.map(|range| {
            let first = pages;
            pages += (range.end - range.start) / page;
            (range, first)
        });
        let ranges = numbered.collect();
        PagesInBlocks { page, ranges, bits: vec![0; pages.div_ceil(64) as usize] }
    }

    /// The numbers of the pages that a range touches.
    fn numbers(&self, range: Range<u64>) -> impl Iterator<Item = u64> + use<> {
        let first = self.ranges.partition_point(|(huge, _)| huge.end <= range.start);
        let touched = self.ranges[first..].iter().take_while(|(huge, _)| huge.start < range.end);
        let page = self.page;
        let numbers = touched.map(|(huge, number)| {
            let start = (range.start.max(huge.start) - huge.start) / page;
            let end = (range.end.min(huge.end) - huge.start).div_ceil(page);
            number + start..number + end
        });
        numbers.collect::<Vec<_>>().into_iter().flatten()
    }

    /// A block lies there, in memory that is glibc's.
    pub fn add(&mut self, block: &Block) {
        if self.ranges.is_empty() {
            return;
        }
        let span = Unit::Page.span(block);
        for number in self.numbers(span.start..span.end.saturating_add(FREE_HEADER)) {
            self.bits[(number / 64) as usize] |= 1 << (number % 64);
        }
    }

    /// On how many pages of a range no block ever lay.
    pub fn never(&self, range: &Range<u64>) -> u64 {
        let is_free = |number: &u64| self.bits[(number / 64) as usize] & (1 << (number % 64)) == 0;
        self.numbers(range.clone()).filter(is_free).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::StackId;
    use memtoll_trace::ids::ThreadNo;

    const PAGE: u64 = 4096;

    fn block(address: u64, size: u64) -> Block {
        Block { address, size, time: 0, node: StackId::NONE, thread: ThreadNo::FIRST }
    }

    #[test]
    fn pages_behind_all_blocks_were_never_used() {
        let huge = [0x20_0000..0x40_0000, 0x80_0000..0xa0_0000];
        let mut pages = PagesInBlocks::new(huge.iter().cloned(), PAGE);
        // Two pages and a part of the third; what lies beside huge pages does not count.
        pages.add(&block(0x20_0010, 2 * PAGE));
        pages.add(&block(0x60_0010, 64));
        assert_eq!([pages.never(&huge[0]), pages.never(&huge[1])], [512 - 3, 512]);
        // It begins before the huge page, and reaches three pages into it.
        pages.add(&block(0x80_0000 - PAGE, 3 * PAGE + 100));
        assert_eq!(pages.never(&huge[1]), 512 - 3);
        assert_eq!(pages.never(&(0x80_0000..0x80_4000)), 1);
        // The header of a free chunk behind a block lies on the next page.
        pages.add(&block(0x9f_0010, PAGE - 32));
        assert_eq!(pages.never(&huge[1]), 512 - 5);
        // Pages in which a block has been before count once.
        pages.add(&block(0x9f_0010, 64));
        assert_eq!(pages.never(&huge[1]), 512 - 5);
    }
}
