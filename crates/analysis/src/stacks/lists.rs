//! The frames that are shown of one stack, as a list: for stacks that are asked for once.

use super::{Path, Stacks};
use memtoll_model::{FrameId, StackId};

impl Stacks<'_> {
    /// The frames that are shown of a node's stack, from the allocation outwards: those of [`super::Stack::path`], which this does
    /// not make. `into` is replaced.
    pub fn list(&mut self, node: StackId, into: &mut Vec<FrameId>) {
        self.list_while(node, into, |_| true);
    }

    /// The same up to the first frame of which `goes_on` says no.
    pub fn list_while(&mut self, node: StackId, into: &mut Vec<FrameId>, mut goes_on: impl FnMut(FrameId) -> bool) {
        into.clear();
        self.each_frame(node, |frame, is_compiled| {
            let is_shown = self.is_shown(frame, is_compiled);
            if is_shown {
                into.push(frame);
            }
            !is_shown || goes_on(frame)
        });
        if into.is_empty() {
            let path = self.shown_once(node).stack(true).path;
            into.extend(self.paths.frames(path));
        }
    }

    /// The same frames, each with whether it is inlined into the one behind it.
    pub fn list_inlined(&mut self, node: StackId, into: &mut Vec<(FrameId, bool)>) {
        into.clear();
        let mut inner = 0;
        self.each_frame(node, |frame, is_compiled| {
            if self.is_shown(frame, is_compiled) {
                into.push((frame, true));
            }
            if is_compiled {
                end_chain(&mut into[inner..]);
                inner = into.len();
            }
            true
        });
        if into.is_empty() {
            for (_, chain) in self.calls(node) {
                let inner = into.len();
                into.extend(chain.into_iter().map(|frame| (frame, true)));
                end_chain(&mut into[inner..]);
            }
        }
    }

    /// [`super::Stack::path`], of a stack that is not remembered.
    pub(crate) fn path_once(&mut self, node: StackId) -> Path {
        let mut frames = Vec::new();
        self.list(node, &mut frames);
        frames.into_iter().rev().fold(Path::EMPTY, |callers, frame| self.paths.within(callers, frame))
    }
}

/// The last frame of an inline chain is inlined into none.
fn end_chain(chain: &mut [(FrameId, bool)]) {
    if let Some((_, is_inlined)) = chain.last_mut() {
        *is_inlined = false;
    }
}
