//! What comes back if all blocks vanish that a function and all that it calls have allocated: the units whose blocks have no common
//! caller closer to them.

use crate::stacks::Stacks;
use memtoll_model::{FrameId, StackId, TextId};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A function below its callers.
struct Function {
    /// Index of its caller's.
    caller: Option<usize>,
    depth: usize,
    frame: FrameId,
    /// Bytes of the units of which it is the closest common caller; what is free in them.
    resident: u64,
    free: u64,
    /// Of these bytes, those of units with free memory.
    pinned: u64,
}

/// The functions below which units are kept, as a tree: however often a function calls another one, it is there once.
#[derive(Default)]
pub struct Callers {
    functions: Vec<Function>,
    known: FxHashMap<(Option<usize>, TextId, TextId), usize>,
    paths: Paths,
}

/// The paths of nodes, as they are shown, from the outermost frame inwards.
#[derive(Default)]
struct Paths {
    all: Vec<FrameId>,
    of_node: FxHashMap<StackId, Range<usize>>,
    last: Vec<FrameId>,
}

impl Paths {
    /// Frames that are remembered, 4 bytes each.
    const MOST: usize = 1 << 20;

    fn of(&mut self, stacks: &mut Stacks, node: StackId) -> &[FrameId] {
        if let Some(known) = self.of_node.get(&node) {
            return &self.all[known.clone()];
        }
        stacks.list(node, &mut self.last);
        self.last.reverse();
        let begin = self.all.len();
        if begin < Paths::MOST {
            self.all.extend_from_slice(&self.last);
            self.of_node.insert(node, begin..self.all.len());
        }
        &self.last
    }
}

/// A function whose blocks, with those of all that it calls, keep memory.
#[derive(Clone, Copy, Debug)]
pub struct HeldBelow {
    pub frame: FrameId,
    /// What comes back without them, bytes.
    pub alone: u64,
    /// Of that, units with free memory, and what is free in them.
    pub pinned: u64,
    pub free: u64,
}

impl Callers {
    /// Blocks of these nodes keep a unit.
    pub fn keep(&mut self, stacks: &mut Stacks, nodes: impl Iterator<Item = StackId>, resident: u64, free: u64) {
        let frames = &stacks.recording().frames;
        let function = |frame: FrameId| (frames.frame(frame).function, frames.frame(frame).module);
        let (mut common, mut last): (Vec<FrameId>, Option<StackId>) = (Vec::new(), None);
        for node in nodes {
            if last == Some(node) {
                continue;
            }
            let path = self.paths.of(stacks, node);
            match last {
                None => common.extend_from_slice(path),
                Some(_) => {
                    let is_same = |(a, b): &(&FrameId, &FrameId)| a == b || function(**a) == function(**b);
                    common.truncate(common.iter().zip(path).take_while(is_same).count());
                }
            }
            last = Some(node);
            if common.is_empty() {
                return;
            }
        }
        let mut closest = None;
        for frame in common {
            let (name, module) = function(frame);
            let functions = &mut self.functions;
            closest = Some(*self.known.entry((closest, name, module)).or_insert_with(|| {
                let depth = closest.map_or(0, |caller: usize| functions[caller].depth + 1);
                functions.push(Function { caller: closest, depth, frame, resident: 0, free: 0, pinned: 0 });
                functions.len() - 1
            }));
        }
        if let Some(closest) = closest {
            let function = &mut self.functions[closest];
            function.resident += resident;
            function.free += free;
            function.pinned += if free > 0 { resident } else { 0 };
        }
    }

    /// The innermost function below which nearly all of what is `pinned` is kept, bytes; none if no function keeps much.
    pub fn innermost(mut self, pinned: u64) -> Option<HeldBelow> {
        const MUCH: f64 = 0.5;
        const NEARLY_ALL: f64 = 0.9;
        // Callers stand before what they call.
        for index in (0..self.functions.len()).rev() {
            let Function { caller, resident, free, pinned, .. } = self.functions[index];
            if let Some(caller) = caller {
                self.functions[caller].resident += resident;
                self.functions[caller].free += free;
                self.functions[caller].pinned += pinned;
            }
        }
        let most = self.functions.iter().map(|function| function.free).max()?;
        let is_much = pinned > 0 && most as f64 >= MUCH * pinned as f64;
        let nearly_all = |function: &&Function| function.free as f64 >= NEARLY_ALL * most as f64;
        let found =
            self.functions.iter().filter(nearly_all).max_by_key(|function| function.depth).filter(|_| is_much)?;
        Some(HeldBelow { frame: found.frame, alone: found.resident, pinned: found.pinned, free: found.free })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::View;
    use crate::sums::sums;
    use crate::testing::golden;
    use memtoll_tally::Selection;

    #[test]
    fn a_unit_is_kept_by_the_closest_common_caller_of_its_blocks() {
        let recording = golden("costs");
        let mut stacks = Stacks::new(&recording, &View::default());
        let function = |frame: FrameId| (recording.frames.frame(frame).function, recording.frames.frame(frame).module);
        let mut path = |node: StackId| -> Vec<(TextId, TextId)> {
            let mut frames = Vec::new();
            stacks.list(node, &mut frames);
            frames.into_iter().rev().map(function).collect()
        };
        let sums = sums(&recording, Selection::default());
        let nodes: Vec<StackId> = sums.sites.iter().map(|site| site.node).collect();
        let mut seen = [0; 2];
        for (a, b) in nodes.iter().flat_map(|a| nodes.iter().map(move |b| (*a, *b))) {
            let paths = [a, b].map(&mut path);
            let common = paths[0].iter().zip(&paths[1]).take_while(|(a, b)| a == b).count();
            let mut callers = Callers::default();
            callers.keep(&mut Stacks::new(&recording, &View::default()), [a, b].into_iter(), 4096, 1000);
            let found = callers.innermost(1000);
            let found = found.map(|held| (function(held.frame), held.alone, held.pinned, held.free));
            assert_eq!(found, common.checked_sub(1).map(|last| (paths[0][last], 4096, 4096, 1000)));
            seen[usize::from(common > 0)] += usize::from(a != b);
        }
        assert!(seen[1] > 0, "{seen:?}");
    }
}
