//! The heap, with and without the blocks of each site.

use super::heap_bytes;

/// From here on, glibc gives a block a mapping of its own at first.
pub const MAPPED: u64 = 128 << 10;
/// Any site that is not watched.
pub const NO_SITE: u32 = u32::MAX;
/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Blocks that are a lot of their own.
const FEWEST_OF_LOT: u64 = 1000;

/// Blocks of a site that are live, and the most of them that ever were.
#[derive(Clone, Copy, Default)]
pub struct OfSite {
    heap: u64,
    live: u64,
    live_bytes: u64,
    /// Most blocks that were live.
    pub most_live: u64,
    pub most_live_bytes: u64,
    /// The heap at its largest without them, as far as it was looked at when `heap` was last about to change.
    most_without: u64,
    /// How often it had been looked at then.
    looks: u64,
    /// Most blocks that were live since nearly none was.
    most_of_lot: u64,
    /// Blocks of lots that went until nearly none was left.
    pub drained: u64,
}

/// The heap of an image.
///
/// Its largest extents are looked at each time that it has been asked for another page, not at each block, so they are less than
/// a page too small. A look takes no time for the sites, of which there may be thousands: each of them catches up with the looks
/// when its blocks are about to change.
pub struct Heap {
    bytes: u64,
    /// What it was asked for since its extents were looked at.
    asked: u64,
    most: u64,
    looks: u64,
    /// Looks since which it was smaller, by number, and its bytes then: each has fewer than the one before it.
    highest: Vec<(u64, u64)>,
    pub sites: Vec<OfSite>,
}

impl Heap {
    /// With nothing in it.
    pub fn new(sites: usize) -> Heap {
        Heap { bytes: 0, asked: 0, most: 0, looks: 0, highest: Vec::new(), sites: vec![OfSite::default(); sites] }
    }

    /// A block is acquired. Its size may be beyond all sums in a damaged file.
    #[inline]
    pub fn add(&mut self, site: u32, size: u64) {
        let heap = if size < MAPPED { heap_bytes(size) } else { 0 };
        self.bytes += heap;
        if let Some(of) = self.changing(site) {
            of.heap += heap;
            of.live += 1;
            of.live_bytes = of.live_bytes.wrapping_add(size);
            of.most_live = of.most_live.max(of.live);
            of.most_of_lot = of.most_of_lot.max(of.live);
            of.most_live_bytes = of.most_live_bytes.max(of.live_bytes);
        }
        self.asked += heap;
        if self.asked >= PAGE {
            self.look();
        }
    }

    /// The heap's extents are compared with the largest ones.
    pub fn look(&mut self) {
        self.asked = 0;
        self.most = self.most.max(self.bytes);
        self.looks += 1;
        while self.highest.last().is_some_and(|(_, bytes)| *bytes <= self.bytes) {
            self.highest.pop();
        }
        self.highest.push((self.looks, self.bytes));
    }

    /// A site whose blocks are about to change.
    #[inline]
    fn changing(&mut self, site: u32) -> Option<&mut OfSite> {
        let Heap { looks, highest, sites, .. } = self;
        let of = sites.get_mut(site as usize)?;
        if of.looks != *looks {
            (of.most_without, of.looks) = (most_without(of, highest), *looks);
        }
        Some(of)
    }

    /// A block is released.
    #[inline]
    pub fn remove(&mut self, site: u32, size: u64) {
        let heap = if size < MAPPED { heap_bytes(size) } else { 0 };
        self.bytes -= heap;
        if let Some(of) = self.changing(site) {
            of.heap -= heap;
            of.live -= 1;
            if of.live * 20 <= of.most_of_lot && of.most_of_lot >= FEWEST_OF_LOT {
                of.drained += of.most_of_lot;
                of.most_of_lot = of.live;
            }
            of.live_bytes = of.live_bytes.wrapping_sub(size);
        }
    }

    /// Bytes by which it would be smaller at its largest without the blocks of a site.
    pub fn alone(&self, site: usize) -> u64 {
        self.most - most_without(&self.sites[site], &self.highest)
    }
}

/// The heap at its largest without the blocks of a site, later looks included.
fn most_without(of: &OfSite, highest: &[(u64, u64)]) -> u64 {
    let later = highest.get(highest.partition_point(|(look, _)| *look <= of.looks));
    later.map_or(0, |(_, bytes)| bytes - of.heap).max(of.most_without)
}
