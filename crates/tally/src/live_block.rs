//! What must be kept of a block while it lives.

use crate::site_index::SiteIndex;
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo, Units};

/// No block is larger: a program's addresses have 47 bits.
pub(super) const MAX_SIZE: Bytes = Bytes((1 << SIZE_BITS) - 1);
const SIZE_BITS: u32 = 48;
/// In the place of the number of steps: the block is from before memtoll was attached.
pub(super) const AGELESS: u16 = u16::MAX;
/// This many steps stand for more, too.
pub(super) const MOST_STEPS: u16 = AGELESS - 1;

/// A block that is live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiveBlock {
    /// In bits 47..0 its size, bytes; above, how often it has grown.
    size_and_steps: u64,
    /// When it was acquired.
    pub(crate) time: Units,
    /// The site that acquired it; of a block that does not count, the number of its stack node.
    pub(super) site: SiteIndex,
    /// Thread that acquired it.
    pub(super) thread: ThreadNo,
}

impl LiveBlock {
    /// No block of any site.
    pub(crate) const NONE: LiveBlock =
        LiveBlock { size_and_steps: 0, time: Units::ZERO, site: SiteIndex::NONE, thread: ThreadNo::FIRST };

    /// A block from before memtoll was attached: when it was acquired is not known.
    #[inline(always)]
    pub(crate) fn is_ageless(&self) -> bool {
        self.steps() == AGELESS
    }

    /// A block of up to [`MAX_SIZE`] bytes.
    #[inline(always)]
    pub(super) fn new(size: Bytes, time: Units, site: SiteIndex, thread: ThreadNo, steps: u16) -> Self {
        LiveBlock { size_and_steps: size.0 | u64::from(steps) << SIZE_BITS, time, site, thread }
    }

    /// A block that does not count: other threads, which do, may release it.
    #[inline(always)]
    pub(super) fn uncounted(size: Bytes, time: Units, node: Option<NodeId>, thread: ThreadNo, steps: u16) -> Self {
        LiveBlock::new(size, time, SiteIndex::new(NodeId::or_zero(node)), thread, steps)
    }

    /// The stack node of a block that does not count.
    pub(super) fn uncounted_node(&self) -> Option<NodeId> {
        NodeId::new(self.site.get())
    }

    /// Bytes asked for.
    #[inline(always)]
    pub fn size(&self) -> Bytes {
        Bytes(self.size_and_steps & MAX_SIZE.0)
    }

    /// When it was acquired.
    pub fn time(&self) -> Units {
        self.time
    }

    /// The thread that acquired it.
    pub fn thread(&self) -> ThreadNo {
        self.thread
    }

    /// How often it has grown: 65,534 stands for more, too, and [`AGELESS`] for a block from before.
    pub fn steps(&self) -> u16 {
        (self.size_and_steps >> SIZE_BITS) as u16
    }

    /// How often it has grown.
    pub fn set_steps(&mut self, steps: u16) {
        self.size_and_steps = self.size().0 | u64::from(steps) << SIZE_BITS;
    }
}
