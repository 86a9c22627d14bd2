//! Finds the number of a site that was not guessed.

use super::MAX_EVENTS;
use super::guesses::Site;
use crate::ids::NodeId;

/// A hash table of site numbers, at most half full.
pub(super) struct SiteIndex {
    /// In bits 15..0 a site's number, above it the epoch in which it was put there; of another epoch: free.
    slots: Box<[u32]>,
    epoch: u32,
}

const SITE_BITS: u32 = MAX_EVENTS.trailing_zeros();
const SLOTS: usize = MAX_EVENTS * 2;

impl SiteIndex {
    pub fn new() -> Self {
        SiteIndex { slots: vec![0; SLOTS].into(), epoch: 0 }
    }

    /// Forgets all sites.
    pub fn restart(&mut self) {
        self.epoch += 1;
        if self.epoch >> (u32::BITS - SITE_BITS) != 0 {
            self.slots.fill(0);
            self.epoch = 1;
        }
    }

    /// The number of the site with this key; a new one gets the next number.
    #[inline]
    pub fn find_or_add(&mut self, sites: &mut Vec<Site>, key: u64) -> u32 {
        // The node as it is: sites that are met one after the other often have neighbouring nodes, and share lines of the
        // cache. (With thousands of sites, as in a compiler, this halves the time of a search against a scattering hash.)
        let mut slot = NodeId::index_of(Site::new(key).node());
        loop {
            let entry = &mut self.slots[slot % SLOTS];
            let site = *entry % MAX_EVENTS as u32;
            if *entry >> SITE_BITS != self.epoch {
                let new = sites.len() as u32;
                *entry = self.epoch << SITE_BITS | new;
                sites.push(Site::new(key));
                return new;
            }
            if sites[site as usize].key == key {
                return site;
            }
            slot += 1;
        }
    }
}
