//! Live blocks, as the supervisor knows them.

use memtoll_tally::LiveBlock;
use memtoll_trace::ids::BlockNo;

/// What is kept of a block while it lives.
#[derive(Clone, Copy)]
pub struct Kept {
    pub number: BlockNo,
    pub block: LiveBlock,
}
