//! Places of frames in the tree of stacks, and the way outwards from one to the next that is shown.

use super::Stacks;
use super::calls::Call;
use memtoll_model::{FrameId, StackId};

/// A frame of a node's inline chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FramePlace {
    node: StackId,
    /// Its place in the chain; behind the last one, the caller's node follows.
    at: u32,
}

impl FramePlace {
    /// Of no frame.
    pub const NONE: FramePlace = FramePlace::innermost(StackId::NONE);

    pub const fn innermost(node: StackId) -> FramePlace {
        FramePlace { node, at: 0 }
    }

    pub fn outer(self) -> FramePlace {
        FramePlace { at: self.at + 1, ..self }
    }

    /// The node of the caller.
    pub fn caller(self, stacks: &Stacks) -> StackId {
        stacks.caller(self.node)
    }
}

impl Stacks<'_> {
    /// The first frame that is shown in stacks with frames of the program's own, from a place outwards.
    pub(crate) fn next_shown(&self, from: FramePlace) -> Option<(FrameId, FramePlace)> {
        let FramePlace { mut node, mut at } = from;
        while !node.is_root() {
            let Call { caller, chain, .. } = self.calls.call(node);
            for (place, &frame) in chain.iter().enumerate().skip(at as usize) {
                if self.is_shown(frame, place + 1 == chain.len()) {
                    return Some((frame, FramePlace { node, at: place as u32 }));
                }
            }
            (node, at) = (caller, 0);
        }
        None
    }

    /// The frames of a node that are so, from a place on.
    pub(crate) fn shown_of_node(&self, from: FramePlace) -> impl DoubleEndedIterator<Item = FrameId> + '_ {
        let chain = self.calls.call(from.node).chain;
        (from.at as usize..chain.len()).filter_map(move |place| {
            let frame = chain[place];
            self.is_shown(frame, place + 1 == chain.len()).then_some(frame)
        })
    }
}
