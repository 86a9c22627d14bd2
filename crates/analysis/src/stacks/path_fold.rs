//! Something of each call stack that follows from its frames as reports show them, from the outermost one inwards. It goes on from
//! what the caller's stack has, so the frames of each node are looked at once.

use super::{FramePlace, Stacks};
use memtoll_model::{FrameId, StackId};

/// What follows from the frames that [`Stacks::list`] lists.
pub(crate) struct PathFold<T> {
    /// Of a path without frames.
    empty: T,
    /// By node.
    known: Vec<Option<T>>,
    path: Vec<FrameId>,
}

impl<T: Copy + PartialEq> PathFold<T> {
    pub fn new(stacks: &Stacks, empty: T) -> PathFold<T> {
        PathFold { empty, known: vec![None; stacks.recording().stacks.len()], path: Vec::new() }
    }

    /// Of the stack of a node. `call` says what follows from what the callers have, and a frame that they call; never that of a path
    /// without frames.
    pub fn of(&mut self, stacks: &mut Stacks, node: StackId, mut call: impl FnMut(T, FrameId) -> T) -> T {
        let found = self.of_shown(stacks, node, &mut call);
        if found != self.empty {
            return found;
        }
        stacks.list(node, &mut self.path);
        self.path.iter().rev().copied().fold(self.empty, call)
    }

    /// Of a stack that has frames of the program's own.
    fn of_shown(&mut self, stacks: &Stacks, node: StackId, mut call: impl FnMut(T, FrameId) -> T) -> T {
        let mut unknown = Vec::new();
        let (mut at, mut found) = (node, self.empty);
        while !at.is_root() {
            match self.known.get(at.index()).copied().flatten() {
                Some(known) => {
                    found = known;
                    break;
                }
                None => unknown.push(at),
            }
            at = stacks.caller(at);
        }
        while let Some(node) = unknown.pop() {
            found = stacks.shown_of_node(FramePlace::innermost(node)).rev().fold(found, &mut call);
            if let Some(known) = self.known.get_mut(node.index()) {
                *known = Some(found);
            }
        }
        found
    }
}
