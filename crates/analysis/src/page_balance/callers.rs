//! What comes back if all blocks vanish that a function and all that it calls have allocated: the units whose blocks have no common
//! caller closer to them.

use crate::live_blocks::Block;
use crate::stacks::{PathFold, Stacks};
use memtoll_model::{FrameId, StackId, TextId};
use rustc_hash::FxHashMap;

/// A function below its callers.
struct Function {
    /// Index of its caller's.
    caller: Option<u32>,
    depth: usize,
    frame: FrameId,
    /// Bytes of the units of which it is the closest common caller; what is free in them.
    resident: u64,
    free: u64,
    /// Of these bytes, those of units with free memory.
    pinned: u64,
}

/// The functions below which blocks were allocated, as a tree: however often a function calls another one, it is there once.
pub struct Callers {
    functions: Vec<Function>,
    of_node: FxHashMap<StackId, Option<u32>>,
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
    /// Those of the blocks' stacks, as they are shown.
    pub fn new(stacks: &mut Stacks, blocks: &[Block]) -> Callers {
        let mut callers = Callers { functions: Vec::new(), of_node: FxHashMap::default() };
        let mut known: FxHashMap<(Option<u32>, TextId, TextId), u32> = FxHashMap::default();
        let mut innermost = PathFold::new(stacks, None);
        let frames = &stacks.recording().frames;
        for block in blocks {
            let Callers { functions, of_node } = &mut callers;
            of_node.entry(block.node).or_insert_with(|| {
                innermost.of(stacks, block.node, |caller: Option<u32>, frame| {
                    let about = frames.frame(frame);
                    let function = known.entry((caller, about.function, about.module)).or_insert_with(|| {
                        let depth = caller.map_or(0, |caller| functions[caller as usize].depth + 1);
                        functions.push(Function { caller, depth, frame, resident: 0, free: 0, pinned: 0 });
                        functions.len() as u32 - 1
                    });
                    Some(*function)
                })
            });
        }
        callers
    }

    /// The closest caller of both, of which one is the first: `None` before it.
    pub fn common(&self, known: Option<Option<u32>>, node: StackId) -> Option<Option<u32>> {
        let other = self.of_node.get(&node).copied().flatten();
        let Some(known) = known else { return Some(other) };
        let (mut a, mut b) = (known, other);
        while a != b {
            let (Some(x), Some(y)) = (a, b) else { return Some(None) };
            let [first, second] = [x, y].map(|at| &self.functions[at as usize]);
            match first.depth >= second.depth {
                true => a = first.caller,
                false => b = second.caller,
            }
        }
        Some(a)
    }

    /// Blocks with this closest caller keep a unit.
    pub fn holds(&mut self, caller: Option<Option<u32>>, resident: u64, free: u64) {
        if let Some(caller) = caller.flatten() {
            let function = &mut self.functions[caller as usize];
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
                let caller = &mut self.functions[caller as usize];
                caller.resident += resident;
                caller.free += free;
                caller.pinned += pinned;
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
