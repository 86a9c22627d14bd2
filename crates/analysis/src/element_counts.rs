//! How many elements the blocks of a container have room for.

use crate::container_elements::{Element, Layout};
use crate::sites::Row;
use memtoll_trace::metrics::Metrics;

/// Size of each block, bytes, where all blocks are alike.
pub fn block_size(metrics: &Metrics) -> Option<u64> {
    let acquired = metrics.new_blocks + metrics.reallocations;
    let all_alike = acquired > 0 && metrics.largest_bytes.0.checked_mul(acquired) == Some(metrics.bytes.0);
    all_alike.then_some(metrics.largest_bytes.0)
}

/// Number of elements that each block has room for, where all blocks are alike and consist of elements of a known size and
/// what their layout says.
pub fn elements(row: &Row) -> Option<u64> {
    let (block, element) = (block_size(&row.metrics)?, row.element?);
    if element.size == 0 || block == 0 {
        return None;
    }
    match element.layout {
        Layout::Elements => whole(block, element.size),
        // The block ends where another counter could begin.
        Layout::BehindCounters if !element.size.is_multiple_of(8) => None,
        Layout::BehindCounters => whole(block.checked_sub(16)?, element.size),
        Layout::Buckets => {
            let bytes =
                |buckets: u64| Some(buckets.checked_mul(element.size)?.checked_next_multiple_of(16)? + buckets + 16);
            let buckets = (2..40).map(|log2| 1u64 << log2).find(|buckets| bytes(*buckets) == Some(block))?;
            // One in eight stays free, or one of fewer than eight.
            Some(buckets - (buckets / 8).max(1))
        }
    }
}

/// The same, to the next whole number, of a block of about `bytes`.
pub fn elements_of(bytes: u64, element: Element) -> Option<u64> {
    let size = element.size;
    match element.layout {
        _ if size == 0 => None,
        Layout::Elements => Some(bytes.saturating_add(size / 2) / size),
        Layout::BehindCounters => Some(bytes.checked_sub(16)?.saturating_add(size / 2) / size),
        Layout::Buckets => {
            let apart = |buckets: u64| Some(buckets.checked_mul(size)?.checked_add(buckets + 16)?.abs_diff(bytes));
            let closest = (2..40).map(|log2| 1u64 << log2).min_by_key(|buckets| apart(*buckets).unwrap_or(u64::MAX))?;
            Some(closest - (closest / 8).max(1))
        }
    }
}

fn whole(bytes: u64, element: u64) -> Option<u64> {
    bytes.is_multiple_of(element).then(|| bytes / element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::Bytes;

    fn row(size: Option<u64>, allocations: u64, bytes: u64, largest: u64) -> Row {
        Row {
            frame: None,
            inlined: Vec::new(),
            path: Vec::new(),
            type_name: None,
            element: size.map(|size| Element { size, layout: Layout::Elements }),
            label: String::new(),
            of: None,
            ran_in: None,
            images: None,
            nodes: Vec::new(),
            metrics: Metrics {
                new_blocks: allocations,
                bytes: Bytes(bytes),
                largest_bytes: Bytes(largest),
                ..Metrics::default()
            }
            .into(),
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

    #[test]
    fn elements_of_about_so_many_bytes() {
        let of = |layout, size, bytes| elements_of(bytes, Element { size, layout });
        assert_eq!([23, 24, 35, 36].map(|bytes| of(Layout::Elements, 24, bytes)), [1, 1, 1, 2].map(Some));
        assert_eq!(of(Layout::BehindCounters, 24, 16 + 50 * 24 - 5), Some(50));
        assert_eq!(of(Layout::Buckets, 32, 128 * 33 + 16 - 100), Some(112));
        assert_eq!(of(Layout::Elements, 0, 100), None);
    }

    #[test]
    fn blocks_are_more_than_elements() {
        let in_block = |layout, size, block| {
            let element = Some(Element { size, layout });
            elements(&Row { element, ..row(None, 10, 10 * block, block) })
        };
        assert_eq!(in_block(Layout::BehindCounters, 24, 16 + 50 * 24), Some(50));
        assert_eq!(in_block(Layout::BehindCounters, 24, 50 * 24), None);
        assert_eq!(in_block(Layout::BehindCounters, 24, 8), None);
        assert_eq!(in_block(Layout::BehindCounters, 1, 16 + 16), None, "nine to sixteen");
        // As `HashMap::with_capacity(3)`, `(100)` of 32 bytes and of 4, and `(1000)` of 12.
        assert_eq!(in_block(Layout::Buckets, 32, 4 * 32 + 4 + 16), Some(3));
        assert_eq!(in_block(Layout::Buckets, 32, 128 * 32 + 128 + 16), Some(112));
        assert_eq!(in_block(Layout::Buckets, 4, 128 * 4 + 128 + 16), Some(112));
        assert_eq!(in_block(Layout::Buckets, 12, 4 * 12 + 4 + 16), Some(3));
        assert_eq!(in_block(Layout::Buckets, 32, 100 * 32), None, "no table");
    }
}
