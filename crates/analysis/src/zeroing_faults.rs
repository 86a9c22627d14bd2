//! How many page faults of a call site zeroed their pages.

use memtoll_trace::metrics::Metrics;
use memtoll_trace::op::Op;

/// Of a site's page faults, those that zeroed their pages. A page that is first read, then written, faults twice and is
/// zeroed once: so more pages than the site asked for are not zeroed, unless it gives pages back to get them again.
/// `page`: bytes of a page.
pub(crate) fn zeroed(site: &Metrics, page: u64) -> u64 {
    // Numbers of a damaged file may be beyond all sums.
    let acquired = site.new_blocks.saturating_add(site.reallocations);
    let blocks = acquired.saturating_add(site.mappings);
    let asked_for = site.bytes.saturating_add(site.mapped_bytes).0;
    // A block may begin on one page and end on another; between blocks, there are headers.
    let most = (asked_for / page).saturating_add(blocks.saturating_mul(2));
    let gives_back = site.operations & Op::MADVISE.bit() != 0;
    let maps_unknown = site.mappings == 0 && Op::of_bits(site.operations).any(Op::is_mapping);
    if blocks == 0 || gives_back || maps_unknown { site.small_faults } else { site.small_faults.min(most) }
}
