//! What stacks are sorted by before they are sorted by frames: each group is one more frame at the end of its stacks at which
//! the tree begins, so trees grow as they do without.

use super::{By, Direction};
use crate::sites;
use crate::stacks::{Path, Stack, Stacks, TypeNo};
use memtoll_model::FrameId;
use rustc_hash::FxHashMap;

/// Groups, numbered as they are met.
pub(super) struct Groups {
    by: By,
    direction: Direction,
    numbers: FxHashMap<Option<u32>, u32>,
    /// What they are called, by number.
    pub labels: Vec<String>,
    /// Paths that are called from a group, by the group's frame and the path without it.
    called: FxHashMap<(FrameId, Path), Path>,
}

impl Groups {
    /// None yet.
    pub fn new(by: By, direction: Direction) -> Groups {
        let (numbers, called) = (FxHashMap::default(), FxHashMap::default());
        Groups { by, direction, numbers, labels: Vec::new(), called }
    }

    /// The path of a stack with its group, whose number follows those of the frames.
    pub fn path(&mut self, stacks: &mut Stacks, stack: &Stack) -> Path {
        let frames = &stacks.recording().frames;
        let first = stacks.first(stack.leading);
        let group = match self.by {
            By::Module => first.map(|frame| frames.frame(frame).module.get()),
            By::Type => stacks.type_of(stack).map(TypeNo::get),
        };
        let labels = &mut self.labels;
        let number = *self.numbers.entry(group).or_insert_with(|| {
            labels.push(match self.by {
                By::Module => sites::module_label(frames, first).to_owned(),
                By::Type => sites::type_label(stacks, stack).to_owned(),
            });
            labels.len() as u32 - 1
        });
        let frame = FrameId::new(frames.len() as u32 + number);
        match self.direction {
            Direction::Callers => stacks.path_within(stack.path, frame),
            Direction::Callees => self.called_from(stacks, frame, stack.path),
        }
    }

    /// A path whose outermost frame is called from a group.
    fn called_from(&mut self, stacks: &mut Stacks, group: FrameId, path: Path) -> Path {
        let mut open = Vec::new();
        let mut at = path;
        let mut made = loop {
            if let Some(known) = self.called.get(&(group, at)) {
                break *known;
            }
            let Some((callers, frame)) = stacks.split(at) else { break stacks.path_within(Path::EMPTY, group) };
            open.push((at, frame));
            at = callers;
        };
        while let Some((at, frame)) = open.pop() {
            made = stacks.path_within(made, frame);
            self.called.insert((group, at), made);
        }
        made
    }
}
