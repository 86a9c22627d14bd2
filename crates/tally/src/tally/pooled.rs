//! Blocks of the program's own allocators. They lie in blocks of the heap, which lend them their bytes: each byte is live
//! once, at the site of the innermost block.

use super::{LiveBlock, MAX_SIZE, SiteIndex, Tally};
use crate::Select;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Bytes, ThreadNo};
use rustc_hash::FxHashMap;

/// What is known of lending.
#[derive(Default)]
pub(super) struct Lending {
    /// By the number of a block that was lent its bytes: who did.
    lenders: FxHashMap<u64, Loan>,
    /// By site.
    lent: FxHashMap<SiteIndex, Lent>,
    /// All sites together.
    bytes: u64,
    /// The last peak that was seen here, and how much was lent then.
    peak: u64,
    bytes_at_peak: u64,
    /// By thread: the site of the block that lends its bytes to the next one.
    next: FxHashMap<ThreadNo, SiteIndex>,
}

#[derive(Clone, Copy)]
struct Loan {
    site: SiteIndex,
    bytes: u64,
}

/// What a site's blocks have lent.
#[derive(Clone, Copy, Default)]
struct Lent {
    bytes: u64,
    /// Which peak `at_peak` belongs to; if it is not the last one, nothing has changed since then.
    peak: u64,
    at_peak: u64,
}

impl Lent {
    fn keep_peak(&mut self, peak: u64) {
        if self.peak != peak {
            self.peak = peak;
            self.at_peak = self.bytes;
        }
    }
}

impl Lending {
    /// What a site had lent at peak number `peak`, and what it has lent now, bytes.
    pub fn of(&self, site: SiteIndex, peak: u64) -> (u64, u64) {
        match self.lent.get(&site) {
            Some(lent) if lent.peak == peak => (lent.at_peak, lent.bytes),
            Some(lent) => (lent.bytes, lent.bytes),
            None => (0, 0),
        }
    }

    fn keep_peak(&mut self, peak: u64) {
        if self.peak != peak {
            self.peak = peak;
            self.bytes_at_peak = self.bytes;
        }
    }

    fn at(&mut self, site: SiteIndex, peak: u64) -> &mut Lent {
        let lent = self.lent.entry(site).or_default();
        lent.keep_peak(peak);
        lent
    }
}

impl<S: Select> Tally<S> {
    /// Adds the event that `block`, if it counts, lends its bytes to the block that the same thread acquires next.
    #[cold]
    pub fn lend(&mut self, event: &Event, block: Option<LiveBlock>) {
        if let Some(block) = block {
            let site = if self.counts(&block) { block.site } else { SiteIndex::NONE };
            self.lending.next.insert(event.thread, site);
        }
    }

    /// [`Tally::acquire`] for an event of a pool.
    #[cold]
    pub fn acquire_pooled(&mut self, event: &Event) -> Option<LiveBlock> {
        self.lending.keep_peak(self.peak);
        let lender = self.lending.next.remove(&event.thread);
        let size = event.size.min(MAX_SIZE);
        let loan = match (lender, event.block) {
            (Some(site), Block::Number(number)) => Some((number, Loan { site, bytes: size.0 })),
            _ => None,
        };
        if let Some((number, loan)) = loan {
            self.lending.lenders.insert(number.0, loan);
            self.lending.at(loan.site, self.peak).bytes += loan.bytes;
            self.lending.bytes += loan.bytes;
            self.changes(event.time.0, self.live_bytes.wrapping_sub(loan.bytes));
        } else {
            self.handed_out(event);
        }
        let block = self.acquire(event);
        if self.selection.admits_part(event.thread, size) {
            let site = block.map_or_else(|| self.site(event, size.0), |block| block.site.index());
            let rare = self.rare(site);
            rare.untimed_charged += 1;
            rare.untimed_made += 1;
        }
        // Of all instants with the same live bytes, the one counts at which the most of it is handed out.
        if self.live_bytes == self.peak_bytes && self.lending.bytes > self.lending.bytes_at_peak && self.in_window() {
            self.peak += 1;
            self.peak_time = event.time.0;
            self.lending.keep_peak(self.peak);
        }
        block
    }

    /// [`Tally::release`] for an event of a pool.
    #[cold]
    pub fn release_pooled(&mut self, event: &Event, block: Option<LiveBlock>) {
        self.lending.keep_peak(self.peak);
        // What a pool hands out does not grow by hand.
        let _ = self.release(event, block);
        self.handed_back(event);
        if let Block::Number(number) = event.block
            && let Some(loan) = self.lending.lenders.remove(&number.0)
        {
            self.lending.at(loan.site, self.peak).bytes -= loan.bytes;
            self.lending.bytes -= loan.bytes;
            self.changes(event.time.0, self.live_bytes.wrapping_add(loan.bytes));
        }
        if event.op.is_release_half() || (block.is_none() && matches!(event.block, Block::Number(_))) {
            return;
        }
        let size = block.map_or(0, |block| block.size().0);
        if self.selection.admits_part(event.thread, Bytes(size)) {
            let index = self.site(event, size);
            let rare = self.rare(index);
            rare.untimed_made += 1;
            rare.untimed_charged += u64::from(block.is_none());
        }
        if let Some(block) = block.filter(|block| self.counts(block)) {
            self.rare(block.site.index()).untimed_charged += 1;
        }
    }
}
