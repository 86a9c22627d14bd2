//! What is asked for: which process, what happens to which call sites, how much time passes between calls.

use memtoll_analysis::names;
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_model::{Recording, StackId};
use regex::Regex;

/// What becomes of a call site's blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// They are not allocated at all.
    LeftOut,
    /// An arena serves them, and gives its memory back once all of them are freed.
    Arena,
    /// Freed ones are kept, and serve the next allocations.
    Kept,
}

/// A treatment of the call sites that match.
pub struct Change {
    /// What happens.
    pub treatment: Treatment,
    /// To lines whose function, file and line, such as `parse (parser.cpp:120)`, match.
    pub site: Regex,
}

/// What is asked for.
#[derive(Default)]
pub struct Plan {
    /// Changes; the first one that matches a call site counts.
    pub changes: Vec<Change>,
    /// Time between calls, as a multiple of the recorded time; `None`: none.
    pub pace: Option<f64>,
}

/// For each stack of a recording, the number of the change that it meets.
pub struct Changes<'a> {
    plan: &'a Plan,
    stacks: Stacks<'a>,
    known: Vec<Option<Option<u8>>>,
    met: Vec<bool>,
}

impl<'a> Changes<'a> {
    pub fn new(recording: &'a Recording, plan: &'a Plan) -> Self {
        let stacks = Stacks::new(recording, &View::default());
        Changes { plan, stacks, known: Vec::new(), met: vec![false; plan.changes.len()] }
    }

    /// That of a node of [`Recording::stacks`].
    pub fn of(&mut self, node: StackId) -> Option<u8> {
        if self.plan.changes.is_empty() {
            return None;
        }
        let index = node.index();
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        if let Some(known) = self.known[index] {
            return known;
        }
        let stack = self.stacks.leading(node);
        let frames = &self.stacks.recording().frames;
        let found = self.stacks.first(stack.leading).and_then(|frame| {
            let text = names::function_and_place(frames, frame);
            self.plan.changes.iter().position(|change| change.site.is_match(&text))
        });
        if let Some(met) = found.and_then(|number| self.met.get_mut(number)) {
            *met = true;
        }
        let found = found.and_then(|number| u8::try_from(number).ok());
        self.known[index] = Some(found);
        found
    }

    /// The first change that no call site met.
    pub fn unmet(&self) -> Option<&Regex> {
        self.met.iter().position(|met| !met).map(|number| &self.plan.changes[number].site)
    }
}
