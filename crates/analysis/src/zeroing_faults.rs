//! How many page faults of a call site zeroed their pages.

use memtoll_trace::metrics::Metrics;
use memtoll_trace::op::Op;

/// What decides how many of a site's page faults zeroed their pages.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faulted {
    pub small_faults: u64,
    /// Acquisitions, and mappings.
    blocks: u64,
    mappings: u64,
    /// What they asked for, bytes.
    asked_for: u64,
    operations: u64,
}

impl From<&Metrics> for Faulted {
    fn from(site: &Metrics) -> Faulted {
        Faulted {
            small_faults: site.small_faults,
            blocks: site.new_blocks.saturating_add(site.reallocations),
            mappings: site.mappings,
            asked_for: site.bytes.saturating_add(site.mapped_bytes).0,
            operations: site.operations,
        }
    }
}

impl Faulted {
    /// Adds another part of the same site.
    pub fn add(&mut self, part: &Metrics) {
        let part = Faulted::from(part);
        // Numbers of a damaged file may be beyond all sums.
        self.small_faults = self.small_faults.saturating_add(part.small_faults);
        self.blocks = self.blocks.saturating_add(part.blocks);
        self.mappings = self.mappings.saturating_add(part.mappings);
        self.asked_for = self.asked_for.saturating_add(part.asked_for);
        self.operations |= part.operations;
    }

    /// Of its faults, those that zeroed their pages. A page that is first read, then written, faults twice and is
    /// zeroed once: so more pages than the site asked for are not zeroed, unless it gives pages back to get them again.
    /// `page`: bytes of a page.
    pub fn zeroed(&self, page: u64) -> u64 {
        if self.small_faults == 0 {
            return 0;
        }
        let blocks = self.blocks.saturating_add(self.mappings);
        // A block may begin on one page and end on another; between blocks, there are headers.
        let most = (self.asked_for / page).saturating_add(blocks.saturating_mul(2));
        let gives_back = self.operations & Op::MADVISE.bit() != 0;
        let maps_unknown = self.mappings == 0 && Op::of_bits(self.operations).any(Op::is_mapping);
        if blocks == 0 || gives_back || maps_unknown { self.small_faults } else { self.small_faults.min(most) }
    }
}
