//! Who usually calls a site, and for what: what is usual is counted without a look into a table.

use crate::live_block::LiveBlock;
use memtoll_trace::ids::ThreadNo;
use memtoll_trace::op::Op;
use memtoll_trace::parts;

const SIZE_BITS: u32 = 40;
const THREAD_BITS: u32 = 18;
const _: () = assert!(SIZE_BITS + THREAD_BITS + Op::BITS == u64::BITS);

/// The usual thread, size and operation of a site, packed; zero: it has none yet.
///
/// ```text
/// operation (6 bits) | thread (18 bits) | size (40 bits)
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usual(u64);

impl Usual {
    /// Blocks of this size and threads with such a number are rare.
    pub const NEVER: Usual = Usual(u64::MAX);
    const WITHOUT_OPERATION: u64 = (1 << (SIZE_BITS + THREAD_BITS)) - 1;

    #[inline(always)]
    pub fn new(operation: u8, thread: ThreadNo, size: u64) -> Usual {
        let thread = thread.get();
        if size >> SIZE_BITS != 0 || thread >= (1 << THREAD_BITS) - 1 {
            return Usual::NEVER;
        }
        Usual(u64::from(operation) << (SIZE_BITS + THREAD_BITS) | u64::from(thread) << SIZE_BITS | size)
    }

    /// Of what becomes of a block: not of a call.
    #[inline(always)]
    pub fn of_block(block: &LiveBlock) -> Usual {
        Usual::new(0, block.thread, block.size().0)
    }

    #[inline(always)]
    pub fn is_of_block(self, block: &LiveBlock) -> bool {
        (self.0 ^ Usual::of_block(block).0) & Usual::WITHOUT_OPERATION == 0
    }

    fn operation(self) -> u8 {
        (self.0 >> (SIZE_BITS + THREAD_BITS)) as u8
    }

    /// What is usual if `other` is as well.
    pub fn and(self, other: Usual) -> Option<Usual> {
        match () {
            () if other == Usual::NEVER => None,
            () if self == Usual::default() => Some(other),
            () if (self.0 ^ other.0) & Usual::WITHOUT_OPERATION != 0 => None,
            () if self.operation() == 0 => Some(other),
            () => None,
        }
    }

    pub fn unpacked(self) -> parts::Usual {
        let thread = ThreadNo::new((self.0 >> SIZE_BITS & ((1 << THREAD_BITS) - 1)) as u32);
        let size = self.0 & ((1 << SIZE_BITS) - 1);
        parts::Usual { thread, size, operation: self.operation() }
    }
}
