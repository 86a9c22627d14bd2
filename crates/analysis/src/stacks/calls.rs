//! Stacks before anything is shown of them: which of them count, and which of their calls are there.

use super::by_function::ByFunction;
use super::{Texts, View};
use memtoll_model::{FrameId, Recording, StackId, TextId};
use regex::Regex;

/// What is cut out of stacks. Each expression names functions or loaded files.
#[derive(Clone, Default)]
pub struct Cuts {
    /// Stacks with such a function do not count.
    pub drop: Option<Regex>,
    /// Only stacks with such a function count, and they begin with the outermost one.
    pub focus: Option<Regex>,
    /// A function that calls itself, or is called again by what it calls, is there once, without what lies between. Where
    /// functions of a loaded file call each other, the first one is there.
    pub collapse: Option<Regex>,
}

/// A node of the stack tree, as far as it is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub caller: StackId,
    /// Its inline chain, innermost first.
    pub chain: &'a [FrameId],
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
            let root = Call { caller: StackId::NONE, chain: &[], part, passes: view.filter.is_none() };
            calls.cut.reserve(recording.stacks.len());
            for node in recording.stacks.ids() {
                let call = if node.is_root() { root } else { calls.next(node, &marks, root) };
                calls.cut.push(call);
            }
        }
        calls
    }

    pub fn call(&self, node: StackId) -> Call<'a> {
        self.cut.get(node.index()).copied().unwrap_or_else(|| {
            let of = self.recording.stacks.node(node);
            let chain = self.recording.frames.chain(&of);
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
    fn next(&self, node: StackId, marks: &[Marks], root: Call<'a>) -> Call<'a> {
        let of = self.recording.stacks.node(node);
        let mut chain = self.recording.frames.chain(&of);
        let caller = self.cut.get(of.parent.index()).copied().unwrap_or(root);
        let last = |is: fn(&Marks) -> bool| chain.iter().rposition(|frame| is(&marks[frame.index()]));
        let passes = caller.passes || last(|marks| marks.passes).is_some();
        let focus = last(|marks| marks.is_focus).filter(|_| caller.part == Part::Outside);
        let part = match caller.part {
            _ if last(|marks| marks.is_dropped).is_some() => Part::Dropped,
            Part::Outside if focus.is_some() => Part::Inside,
            part => part,
        };
        if let Some(outermost) = focus {
            chain = &chain[..=outermost];
            return Call { caller: StackId::NONE, chain, part, passes };
        }
        if self.goes_on_in_file(chain, &caller, marks) {
            return Call { part, passes, ..caller };
        }
        let again = last(|marks| marks.is_once).and_then(|at| self.caller_of(self.function(chain[at]), of.parent));
        Call { caller: again.unwrap_or(of.parent), chain, part, passes }
    }

    fn function(&self, frame: FrameId) -> TextId {
        self.recording.frames.frame(frame).function
    }

    /// Whether a call is of the collapsed file whose function called it.
    fn goes_on_in_file(&self, chain: &[FrameId], caller: &Call, marks: &[Marks]) -> bool {
        let module = |frame: FrameId| self.recording.frames.frame(frame).module;
        let pair = chain.last().zip(caller.chain.last());
        pair.is_some_and(|(&own, &outer)| marks[own.index()].is_of_collapsed_file && module(own) == module(outer))
    }

    /// Who called a function, if it stands in this stack.
    fn caller_of(&self, function: TextId, stack: StackId) -> Option<StackId> {
        let nodes = self.stack(stack);
        let of = nodes.iter().map(|node| self.call(*node));
        let found = of.into_iter().find(|call| call.chain.iter().any(|frame| self.function(*frame) == function));
        found.map(|call| call.caller)
    }
}
