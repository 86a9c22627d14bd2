//! What is added up for one call site.

use super::Charge;
use crate::usual_call::Usual;
use memtoll_trace::ids::{Bytes, NodeId, Units};
use memtoll_trace::metrics::Metrics;

/// A call site's sums: two lines of the cache that the processor fetches together. What an ordinary acquisition changes
/// stands in the first.
#[repr(C, align(128))]
#[derive(Clone, Copy, Default)]
pub(super) struct Site {
    pub live_bytes: Bytes,
    pub live_blocks: u64,
    /// Which peak `peak_bytes` belongs to; if it is not the last one, the site has not changed since then and its live
    /// bytes are its share of the peak.
    pub peak: u64,
    pub new_blocks: u64,
    pub bytes: Bytes,
    pub allocator_time: Units,
    pub largest: Bytes,
    pub operations: u64,

    pub lifetime: Units,
    pub temporary: u64,
    pub frees: u64,
    pub peak_bytes: Bytes,
    pub peak_blocks: u64,
    /// See the tally's parts.
    pub usual: Usual,
    pub reallocations: u64,
    /// See [`Metrics::release_balance`].
    pub release_balance: Units,
}

/// What a site is, and where the rest of what is known of it stands.
#[derive(Clone, Copy, Default)]
pub(super) struct Origin {
    pub node: Option<NodeId>,
    /// Where its costs stand among those of all sites, counted from 1; 0: it has none.
    pub costs: u32,
    /// Where its [`Rare`] stands, in the same way.
    pub rare: u32,
    pub extra: u64,
}

/// What few sites have.
#[derive(Clone, Copy, Default)]
pub(super) struct Rare {
    pub null_frees: u64,
    /// Calls that are none of the others: they mapped memory, or failed.
    pub other_events: u64,
    /// Live blocks when the window began, or when memtoll was attached.
    pub live_before: u64,
    /// Blocks from before memtoll was attached that were released.
    pub freed_ageless: u64,
    /// Blocks that were released by reallocation, and reallocations that gave none: what was released has taken no time of
    /// its own.
    pub resized: u64,
    /// Releases of blocks that were never seen to be acquired.
    pub unknown_frees: u64,
    /// Releases of other threads' blocks that the site's threads paid for.
    pub paid_for_others: u64,
    /// Releases of the site's blocks for which other threads paid.
    pub paid_by_others: u64,
    /// Of the calls that are charged to the site, those without a time: of the program's own allocators.
    pub untimed_charged: u64,
    /// Of the calls that the site makes.
    pub untimed_made: u64,
}

impl Site {
    /// The site's live bytes are about to change: keeps its share of the present peak.
    #[inline(always)]
    pub(super) fn keep_peak(&mut self, peak: u64) {
        if self.peak != peak {
            self.peak = peak;
            self.peak_bytes = self.live_bytes;
            self.peak_blocks = self.live_blocks;
        }
    }

    /// Forgets all but the live blocks.
    pub(super) fn begin_window(&mut self) {
        *self = Site { live_bytes: self.live_bytes, live_blocks: self.live_blocks, ..Site::default() };
    }

    /// Grows with everything that happens to the site or its blocks.
    #[inline]
    pub(super) fn activity(&self, rare: &Rare) -> u64 {
        let came = rare.live_before.wrapping_add(self.new_blocks + self.reallocations);
        let went = came.wrapping_sub(self.live_blocks);
        self.events(rare).wrapping_add(rare.live_before).wrapping_add(went).wrapping_add(rare.paid_for_others)
    }

    fn events(&self, rare: &Rare) -> u64 {
        self.new_blocks + self.reallocations + self.frees + rare.null_frees + rare.other_events
    }

    /// Calls whose time the site is charged with.
    pub(super) fn timed_calls(&self, rare: &Rare, charge: Charge) -> u64 {
        let acquired = self.new_blocks + self.reallocations;
        // A release is timed where the block came from; only those of unknown blocks are timed where they happen.
        let gone = self.live_blocks.wrapping_add(rare.resized);
        let released = rare.live_before.wrapping_add(acquired).saturating_sub(gone);
        let released = (released + rare.paid_for_others).saturating_sub(rare.paid_by_others);
        let (calls, untimed) = match charge {
            Charge::Allocation => (acquired + released + rare.unknown_frees + rare.null_frees, rare.untimed_charged),
            Charge::Payment => (acquired + self.frees + rare.null_frees, rare.untimed_made),
        };
        calls.saturating_sub(untimed)
    }

    pub(super) fn metrics(&self, rare: &Rare, costs: Metrics, charge: Charge) -> Metrics {
        Metrics {
            new_blocks: self.new_blocks,
            reallocations: self.reallocations,
            frees: self.frees,
            null_frees: rare.null_frees,
            unknown_frees: rare.unknown_frees,
            bytes: self.bytes,
            peak_bytes: self.peak_bytes,
            peak_blocks: self.peak_blocks,
            live_bytes: self.live_bytes,
            live_blocks: self.live_blocks,
            temporary: self.temporary,
            live_before: rare.live_before,
            freed_ageless: rare.freed_ageless,
            lifetime: self.lifetime,
            allocator_time: costs.allocator_time.wrapping_add(match charge {
                Charge::Allocation => self.allocator_time,
                Charge::Payment => self.allocator_time.wrapping_add(self.release_balance),
            }),
            largest_bytes: self.largest,
            operations: self.operations,
            events: self.events(rare),
            timed_calls: self.timed_calls(rare, charge),
            ..costs
        }
    }
}
