//! A digest for each call stack, of the frames that reports show. It extends the digest of the caller's stack, so each node is hashed
//! once.

use super::{FramePlace, Stacks};
use memtoll_model::{FrameId, StackId};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// The digest of a path without frames.
const EMPTY: u64 = 1;
/// The digest is yet to be computed.
const UNKNOWN: u64 = 0;

/// Digests of what [`Stacks::list`] lists.
pub(crate) struct PathDigests {
    /// By node.
    known: Vec<u64>,
    path: Vec<FrameId>,
}

impl PathDigests {
    pub fn new(stacks: &Stacks) -> PathDigests {
        PathDigests { known: vec![UNKNOWN; stacks.recording().stacks.len()], path: Vec::new() }
    }

    pub fn of(&mut self, stacks: &mut Stacks, node: StackId) -> u64 {
        match self.of_shown(stacks, node) {
            EMPTY => {
                stacks.list(node, &mut self.path);
                self.path.iter().rev().copied().fold(EMPTY, called)
            }
            digest => digest,
        }
    }

    /// The digest of a stack that has frames of the program's own; `EMPTY` for others.
    fn of_shown(&mut self, stacks: &Stacks, node: StackId) -> u64 {
        let mut unknown = Vec::new();
        let (mut at, mut digest) = (node, EMPTY);
        while !at.is_root() {
            match self.known.get(at.index()) {
                Some(&UNKNOWN) | None => unknown.push(at),
                Some(&known) => {
                    digest = known;
                    break;
                }
            }
            at = stacks.caller(at);
        }
        while let Some(node) = unknown.pop() {
            digest = stacks.shown_of_node(FramePlace::innermost(node)).rev().fold(digest, called);
            if let Some(known) = self.known.get_mut(node.index()) {
                *known = digest;
            }
        }
        digest
    }
}

/// Extends the digest of the callers by a frame.
fn called(callers: u64, frame: FrameId) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(callers);
    hasher.write_u32(frame.get());
    // Above the two numbers with a meaning of their own.
    hasher.finish().max(EMPTY + 1)
}
