//! Numbers of call sites.

use memtoll_trace::index;

index! {
    /// A call site of a tally, by the order in which it saw them.
    SiteIndex
}

impl SiteIndex {
    /// No site.
    pub const NONE: SiteIndex = SiteIndex::new(u32::MAX);

    /// The site at this place.
    #[inline(always)]
    pub fn at(place: usize) -> SiteIndex {
        SiteIndex::new(place as u32)
    }
}
