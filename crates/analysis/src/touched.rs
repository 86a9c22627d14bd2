//! What a line's memory is, and how much of it is touched.

use crate::metric::Metric;
use crate::priced::Priced;
use crate::tariff::Tariff;
use memtoll_trace::ids::Bytes;
use memtoll_trace::op::Op;

/// By allocation functions, mmap and mremap.
pub fn asked_for(metrics: &Priced) -> Bytes {
    metrics.bytes.saturating_add(metrics.mapped_bytes)
}

/// Whether mappings were made there, and not only blocks.
pub fn maps(metrics: &Priced) -> bool {
    Op::of_bits(metrics.operations).any(Op::is_mapping)
}

/// Whether most of the memory is the program's own mappings. Of files, only what is touched is
/// known.
pub fn maps_itself(metrics: &Priced, tariff: &Tariff) -> bool {
    if metrics.mapped_bytes > metrics.bytes {
        return true;
    }
    let blocks = Metric::Allocations.value(metrics);
    // A block may begin on one page and end on another.
    let of_blocks = metrics.bytes.saturating_add(Bytes(2 * tariff.page()).times(blocks));
    metrics.touched_bytes > of_blocks && maps(metrics)
}

/// Whether pages of a line's large blocks faulted that had been touched before.
pub fn faults_again(metrics: &Priced, tariff: &Tariff) -> bool {
    let blocks = Metric::Allocations.value(metrics);
    let are_large = metrics.bytes / blocks.max(1) >= Bytes(tariff.page()).times(16);
    are_large && !maps(metrics) && (tariff.faulted(metrics) / 5).times(4) > metrics.touched_bytes
}

/// Whether a line's blocks touch more than they have: the headers of small blocks, and what lies between them.
pub fn is_more_than_asked_for(metrics: &Priced, tariff: &Tariff) -> bool {
    metrics.bytes > Bytes::ZERO
        && metrics.touched_bytes > asked_for(metrics)
        && !maps(metrics)
        && !faults_again(metrics, tariff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::meta::{Clock, Prices};
    use memtoll_trace::metrics::Metrics;

    #[test]
    fn small_blocks_may_touch_more_than_they_have() {
        let tariff = Tariff::new(Clock { units_per_second: 1e9, stamp: 0.0 }, Prices::default(), 4096);
        let counts = |faults| Metrics {
            new_blocks: 1000,
            bytes: Bytes(8000),
            largest_bytes: Bytes(8),
            small_faults: faults,
            ..Metrics::default()
        };
        let is_more = |counts: &Metrics| is_more_than_asked_for(&tariff.price(counts), &tariff);
        assert!(!is_more(&counts(1)) && is_more(&counts(8)));
        assert!(!is_more(&Metrics { operations: Op::MMAP.bit(), ..counts(8) }));
    }
}
