//! One event, as it is handed to the writer and comes back from the reader.

use crate::ids::{Address, BlockNo, Bytes, NodeId, ThreadNo, Units};
use crate::op::Op;

/// A call of a hooked function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When it counts, since the recording began (see [`crate::meta::Clock`]): when the call returned for
    /// an acquisition, when it began for a release. Events of a process image are sorted by it.
    pub time: Units,
    /// How long the call took.
    pub duration: Units,
    /// For an acquisition or a mapping: what was asked for. For a release, 0.
    pub size: Bytes,
    /// The block's or mapping's address; 0 for a failed acquisition, and as read from a file for the release of a block
    /// that was acquired in an earlier events block, whose acquisition says it.
    pub address: Address,
    /// Which block it is about.
    pub block: Block,
    /// The call stack.
    pub node: Option<NodeId>,
    /// The thread that calls.
    pub thread: ThreadNo,
    /// The log2 of the alignment asked for, or the flags of a mapping (format/FORMAT.md lists them).
    pub detail: u16,
    /// Which function.
    pub op: Op,
}

/// Blocks of a process image are numbered in the order of their acquisition events, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// Block number n is acquired or released.
    Number(BlockNo),
    /// A null pointer is released, or an acquisition failed.
    Null,
    /// A block is released that was never seen to be acquired: before the recording, before a fork, or by a function
    /// that is not hooked.
    Unknown,
    /// The event is not about a block.
    None,
}
