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
    /// The heap at its largest without them.
    most_without: u64,
    /// Most blocks that were live since nearly none was.
    most_of_lot: u64,
    /// Blocks of lots that went until nearly none was left.
    pub drained: u64,
}

/// The heap of an image.
///
/// Its largest extents are looked at each time that it has been asked for another page, not at each block, so they are less than
/// a page too small.
pub struct Heap {
    bytes: u64,
    /// What it was asked for since its extents were looked at.
    asked: u64,
    most: u64,
    pub sites: Vec<OfSite>,
}

impl Heap {
    /// With nothing in it.
    pub fn new(sites: usize) -> Heap {
        Heap { bytes: 0, asked: 0, most: 0, sites: vec![OfSite::default(); sites] }
    }

    /// A block is acquired. Its size may be beyond all sums in a damaged file.
    #[inline]
    pub fn add(&mut self, site: u32, size: u64) {
        let heap = if size < MAPPED { heap_bytes(size) } else { 0 };
        self.bytes += heap;
        if let Some(of) = self.sites.get_mut(site as usize) {
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
        for of in &mut self.sites {
            of.most_without = of.most_without.max(self.bytes - of.heap);
        }
    }

    /// A block is released.
    #[inline]
    pub fn remove(&mut self, site: u32, size: u64) {
        let heap = if size < MAPPED { heap_bytes(size) } else { 0 };
        self.bytes -= heap;
        if let Some(of) = self.sites.get_mut(site as usize) {
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
        self.most - self.sites[site].most_without
    }
}
