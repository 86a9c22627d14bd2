//! How many page faults of a call site zeroed their pages.

use memtoll_trace::ids::Bytes;
use memtoll_trace::metrics::Metrics;
use memtoll_trace::op::Op;

/// Of a site's page faults, those that zeroed their pages. A page that is first read, then written, faults twice and is
/// zeroed once: so more pages than the site asked for are not zeroed, unless it gives pages back to get them again, or the
/// allocator touches its own inside of calls. `page`: bytes of a page.
pub(crate) fn zeroed(site: &Metrics, page: u64) -> u64 {
    // Numbers of a damaged file may be beyond all sums.
    let gives_back = site.operations & Op::MADVISE.bit() != 0;
    let maps_unknown = site.mappings == 0 && Op::of_bits(site.operations).any(Op::is_mapping);
    match asked_for(site, page).filter(|_| !gives_back && !maps_unknown) {
        Some(pages) => site.small_faults.min(pages.max(site.small_faults_inside)),
        None => site.small_faults,
    }
}

/// Bytes that calls touched beyond what was asked for: the allocator's own memory, such as the tables that it starts with.
pub(crate) fn touched_for_the_allocator(site: &Metrics, page: u64) -> Bytes {
    let pages = asked_for(site, page).map_or(0, |pages| site.small_faults_inside.saturating_sub(pages));
    Bytes(pages.saturating_mul(page))
}

/// Pages on which blocks and mappings lie; `None` where there are none.
fn asked_for(site: &Metrics, page: u64) -> Option<u64> {
    let acquired = site.new_blocks.saturating_add(site.reallocations);
    let blocks = acquired.saturating_add(site.mappings);
    let bytes = site.bytes.saturating_add(site.mapped_bytes).0;
    // A block may begin on one page and end on another; between blocks, there are headers.
    (blocks > 0).then(|| (bytes / page).saturating_add(blocks.saturating_mul(2)))
}
