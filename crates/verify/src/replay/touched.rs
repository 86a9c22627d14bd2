//! Which share of a block's pages the program touched. The recording knows page faults by call site and size: a page of a
//! block that the allocator had just taken from the system faults if it is touched, one of a block before it does not.

use memtoll_model::Recording;
use memtoll_trace::costs::CostKind;
use memtoll_trace::ids::NodeId;
use rustc_hash::{FxHashMap, FxHashSet};

const HUGE_PAGE: u64 = 2 << 20;
/// Pages of a block. Smaller ones are taken to be touched: their first byte decides about their page.
const LEAST_PAGES: u64 = 2;
/// glibc maps blocks of this size or more, at first; such a block begins 16 bytes into its mapping.
const MAPPED: u64 = 128 << 10;
/// It maps these always, however they are aligned.
const ALWAYS_MAPPED: u64 = 32 << 20;

/// A call site, and the order of magnitude of a size.
type Group = (Option<NodeId>, u32);

/// Counts the pages of blocks that are new to the process.
pub struct Touched {
    /// Bytes of a page.
    page: u64,
    seen: FxHashSet<u64>,
    fresh: FxHashMap<Group, u64>,
    shares: FxHashMap<Group, f32>,
}

fn group(node: Option<NodeId>, size: u64) -> Group {
    (node, size.max(1).ilog2())
}

impl Touched {
    /// Of a recording made where pages have this number of bytes.
    pub fn new(page: u64) -> Touched {
        Touched { page, seen: FxHashSet::default(), fresh: FxHashMap::default(), shares: FxHashMap::default() }
    }

    fn is_mapped(&self, address: u64, size: u64) -> bool {
        size > ALWAYS_MAPPED || size >= MAPPED && address % self.page == 16
    }

    fn is_large(&self, size: u64) -> bool {
        size >= LEAST_PAGES * self.page
    }

    /// A block is acquired.
    pub fn acquire(&mut self, node: Option<NodeId>, address: u64, size: u64) {
        let pages = address / self.page..=address.saturating_add(size.max(1) - 1) / self.page;
        let fresh = match self.is_mapped(address, size) {
            true => size.div_ceil(self.page),
            false => pages.filter(|page| self.seen.insert(*page)).count() as u64,
        };
        if self.is_large(size) {
            *self.fresh.entry(group(node, size)).or_default() += fresh;
        }
    }

    /// Holds the page faults of an image against the pages that could fault. Returns whether they are known.
    pub fn finish(&mut self, recording: &Recording, image: usize) -> bool {
        self.seen = FxHashSet::default();
        let mut faulted: FxHashMap<Group, u64> = FxHashMap::default();
        let mut any = false;
        let _ = recording.for_each_cost(image, |cost| {
            let pages = match cost.kind {
                CostKind::Fault => cost.amount,
                CostKind::HugeFault => cost.amount * (HUGE_PAGE / self.page),
                _ => return,
            };
            any = true;
            if self.is_large(cost.size.0) {
                *faulted.entry(group(cost.node, cost.size.0)).or_default() += pages;
            }
        });
        if any {
            for (group, fresh) in self.fresh.drain().filter(|(_, fresh)| *fresh > 0) {
                let faults = faulted.get(&group).copied().unwrap_or(0);
                self.shares.insert(group, (faults as f32 / fresh as f32).min(1.0));
            }
        }
        any
    }

    /// Of a block: 0 to 1. Where no page of its kind was ever fresh, all.
    pub fn share(&self, node: Option<NodeId>, size: u64) -> f32 {
        if !self.is_large(size) {
            return 1.0;
        }
        self.shares.get(&group(node, size)).copied().unwrap_or(1.0)
    }
}
