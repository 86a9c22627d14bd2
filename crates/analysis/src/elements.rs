//! How many elements the blocks of a vector have.

use crate::sites::Row;
use memtoll_trace::summary::Metrics;

/// Size of each block, bytes, where all blocks are alike.
pub fn block_size(metrics: &Metrics) -> Option<u64> {
    let acquired = metrics.allocations + metrics.reallocations;
    let all_alike = acquired > 0 && metrics.largest.checked_mul(acquired) == Some(metrics.bytes_allocated);
    all_alike.then_some(metrics.largest)
}

/// Number of elements in each block, where all blocks are alike and hold elements of a known size and nothing else.
pub fn elements(row: &Row) -> Option<u64> {
    let (block, element) = (block_size(&row.metrics)?, row.element_size?);
    (element > 0 && block > 0 && block % element == 0).then(|| block / element)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(element_size: Option<u64>, allocations: u64, bytes_allocated: u64, largest: u64) -> Row {
        Row {
            frame: None,
            inlined: Vec::new(),
            path: Vec::new(),
            type_name: None,
            element_size,
            label: String::new(),
            of: None,
            metrics: Metrics { allocations, bytes_allocated, largest, ..Metrics::default() },
        }
    }

    #[test]
    fn elements_are_told_where_blocks_are_alike() {
        assert_eq!(elements(&row(Some(16), 9001, 9001 * 16, 16)), Some(1));
        assert_eq!(elements(&row(Some(16), 3, 3 * 64, 64)), Some(4));
        assert_eq!(elements(&row(Some(16), 3, 100, 64)), None, "blocks differ");
        assert_eq!(elements(&row(Some(24), 3, 3 * 64, 64)), None, "something else is in the block");
        assert_eq!(elements(&row(None, 3, 3 * 64, 64)), None);
        assert_eq!(elements(&row(Some(0), 3, 3 * 64, 64)), None, "an element without a size");
        assert_eq!(elements(&row(Some(16), 0, 0, 0)), None);
    }
}
