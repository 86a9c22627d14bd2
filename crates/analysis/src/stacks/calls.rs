//! Stacks before anything is shown of them: which of them count, and which of their calls are there.

use super::by_function::ByFunction;
use super::names::Names;
use super::{Texts, View};
use memtoll_model::{Frame, FrameId, Recording, StackId, TextId};
use regex::Regex;
use std::ops::Deref;
use std::sync::Arc;

/// What is cut out of stacks. Each expression names functions or loaded files.
#[derive(Clone, Default)]
pub struct Cuts {
    /// Stacks with such a function do not count.
    pub drop: Option<Names>,
    /// Only stacks with such a function count, and they begin with the outermost one.
    pub focus: Option<Names>,
    /// A function that calls itself, or is called again by what it calls, is there once, without what lies between. Where
    /// functions of a loaded file call each other, the first one is there.
    pub collapse: Option<Names>,
}

/// An inline chain, innermost first: one of the recording's, a part of it, or what collapsed functions leave.
#[derive(Clone, Debug)]
pub(super) enum Chain<'a> {
    Of(&'a [FrameId]),
    Left(Arc<[FrameId]>),
}

impl Deref for Chain<'_> {
    type Target = [FrameId];

    fn deref(&self) -> &[FrameId] {
        match self {
            Chain::Of(frames) => frames,
            Chain::Left(frames) => frames,
        }
    }
}

/// A node of the stack tree, as far as it is there.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    pub caller: StackId,
    pub chain: Chain<'a>,
    part: Part,
    /// Whether the filter lets the stack through.
    passes: bool,
}

/// Where a call stands in its stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// No function of the focus is met yet.
    Outside,
    Inside,
    Dropped,
}

/// What expressions say of a frame.
#[derive(Clone, Copy)]
struct Marks {
    passes: bool,
    is_dropped: bool,
    is_focus: bool,
    is_once: bool,
    is_of_collapsed_file: bool,
}

impl Marks {
    /// Of each frame.
    fn of(recording: &Recording, view: &View) -> Vec<Marks> {
        let View { filter, cuts: Cuts { drop, focus, collapse }, .. } = view;
        let passes = |texts: &Texts| {
            let is = |filter: &Regex| {
                filter.is_match(texts.function)
                    || filter.is_match(texts.module)
                    || filter.is_match(texts.shown_module)
                    || texts.file.is_some_and(|file| filter.is_match(file))
            };
            filter.as_ref().is_none_or(is)
        };
        let [mut drop, mut focus, mut collapse] = [drop, focus, collapse].map(ByFunction::new);
        let marks = |id| {
            let (frame, texts) = (recording.frames.frame(id), Texts::of(&recording.frames, id));
            let collapsed = collapse.of(&frame, &texts);
            Marks {
                passes: passes(&texts),
                is_dropped: drop.of(&frame, &texts).is_any(),
                is_focus: focus.of(&frame, &texts).is_any(),
                is_once: collapsed.function,
                is_of_collapsed_file: collapsed.module,
            }
        };
        recording.frames.ids().map(marks).collect()
    }
}

/// All calls of a recording.
#[derive(Clone)]
pub(super) struct Calls<'a> {
    recording: &'a Recording,
    /// By node; empty: all stacks count, and are whole.
    cut: Vec<Call<'a>>,
}

impl<'a> Calls<'a> {
    pub fn of(recording: &'a Recording, view: &View) -> Calls<'a> {
        let mut calls = Calls { recording, cut: Vec::new() };
        if view.selects() || view.cuts.collapse.is_some() {
            let marks = Marks::of(recording, view);
            let part = if view.cuts.focus.is_some() { Part::Outside } else { Part::Inside };
            let root = Call { caller: StackId::NONE, chain: Chain::Of(&[]), part, passes: view.filter.is_none() };
            calls.cut.reserve(recording.stacks.len());
            for node in recording.stacks.ids() {
                let call = if node.is_root() { root.clone() } else { calls.next(node, &marks, &root) };
                calls.cut.push(call);
            }
        }
        calls
    }

    pub fn call(&self, node: StackId) -> Call<'a> {
        self.cut.get(node.index()).cloned().unwrap_or_else(|| {
            let of = self.recording.stacks.node(node);
            let chain = Chain::Of(self.recording.frames.chain(&of));
            Call { caller: of.parent, chain, part: Part::Inside, passes: true }
        })
    }

    /// Whether a node's stack counts.
    pub fn counts(&self, node: StackId) -> bool {
        let Call { part, passes, .. } = self.call(node);
        part == Part::Inside && passes
    }

    /// The nodes of a stack, from the allocation outwards.
    pub fn stack(&self, node: StackId) -> Vec<StackId> {
        let calls = std::iter::successors(Some(node), |node| Some(self.call(*node).caller));
        calls.take_while(|node| !node.is_root()).collect()
    }

    /// The call of a node whose callers are there already.
    fn next(&self, node: StackId, marks: &[Marks], root: &Call<'a>) -> Call<'a> {
        let of = self.recording.stacks.node(node);
        let chain = self.recording.frames.chain(&of);
        let caller = self.cut.get(of.parent.index()).unwrap_or(root);
        let last = |is: fn(&Marks) -> bool| chain.iter().rposition(|frame| is(&marks[frame.index()]));
        let passes = caller.passes || last(|marks| marks.passes).is_some();
        let focus = last(|marks| marks.is_focus).filter(|_| caller.part == Part::Outside);
        let part = match caller.part {
            _ if last(|marks| marks.is_dropped).is_some() => Part::Dropped,
            Part::Outside if focus.is_some() => Part::Inside,
            part => part,
        };
        let (parent, chain) = match focus {
            Some(outermost) => (StackId::NONE, &chain[..=outermost]),
            None if self.goes_on_in_file(chain, caller, marks) => return Call { part, passes, ..caller.clone() },
            None => (of.parent, chain),
        };
        let (caller, chain) = self.once(parent, chain, marks);
        Call { caller, chain, part, passes }
    }

    /// A function and its loaded file.
    fn function(&self, frame: FrameId) -> (TextId, TextId) {
        let Frame { function, module, .. } = self.recording.frames.frame(frame);
        (function, module)
    }

    /// Whether a call is of the collapsed file whose function called it.
    fn goes_on_in_file(&self, chain: &[FrameId], caller: &Call<'a>, marks: &[Marks]) -> bool {
        let module = |frame: FrameId| self.recording.frames.frame(frame).module;
        let pair = chain.last().zip(caller.chain.last());
        pair.is_some_and(|(&own, &outer)| marks[own.index()].is_of_collapsed_file && module(own) == module(outer))
    }

    /// The frames of a call and its caller, without what lies between calls of one function that is there once: of these, the
    /// innermost frame stays, as what the outermost one's caller calls.
    fn once(&self, caller: StackId, chain: &'a [FrameId], marks: &[Marks]) -> (StackId, Chain<'a>) {
        if !chain.iter().any(|frame| marks[frame.index()].is_once) {
            return (caller, Chain::Of(chain));
        }
        // All frames, outermost first, and how many of them each node and its callers have.
        let (mut path, mut nodes) = (Vec::new(), vec![(StackId::NONE, 0)]);
        for node in self.stack(caller).into_iter().rev() {
            path.extend(self.call(node).chain.iter().rev().copied());
            nodes.push((node, path.len()));
        }
        let mut kept = path.len();
        for &frame in chain.iter().rev() {
            let is_same = |other: &FrameId| self.function(*other) == self.function(frame);
            if let Some(first) = path.iter().position(is_same).filter(|_| marks[frame.index()].is_once) {
                path.truncate(first);
                kept = kept.min(first);
            }
            path.push(frame);
        }
        nodes.retain(|(_, frames)| *frames <= kept);
        let (caller, frames) = nodes.pop().unwrap_or((StackId::NONE, 0));
        (caller, Chain::Left(path[frames..].iter().rev().copied().collect()))
    }
}
