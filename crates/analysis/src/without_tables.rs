//! Which loaded files have code without unwind tables, and how many stacks go through it or end in it.

use crate::sums::Sums;
use memtoll_model::{FrameId, Recording, StackId, TextId};
use memtoll_trace::nodes::ROOT_NO_RULE;
use rustc_hash::FxHashMap;

/// Stacks, and what was allocated with them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    pub stacks: u64,
    pub allocations: u64,
}

impl Count {
    fn add(&mut self, allocations: u64) {
        self.stacks += 1;
        self.allocations += allocations;
    }
}

/// A loaded file, or generated code, that stacks meet without unwind tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithoutTables {
    /// Its path.
    pub module: TextId,
    /// Such frames, each function at a line once.
    pub frames: u64,
    /// Stacks that go on to the caller, which was found by reading the code or with the frame pointer.
    pub passing: Count,
    /// Stacks that are cut off there.
    pub ending: Count,
}

/// What stacks meet on their way.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Met {
    /// A place in the list of all sets of files.
    files: usize,
    /// Where it is cut off.
    end: Option<TextId>,
}

/// The files, those first that most allocations went through.
pub fn without_tables(recording: &Recording, sums: &Sums) -> Vec<WithoutTables> {
    if sums.total.cut_off == 0 && !recording.frames.are_some_without_tables() {
        return Vec::new(); // most programs
    }
    let mut found: FxHashMap<TextId, WithoutTables> = FxHashMap::default();
    let nothing = |module| WithoutTables { module, frames: 0, passing: Count::default(), ending: Count::default() };
    let (sets, met) = all_met(recording);
    let mut seen: FxHashMap<StackId, u64> = FxHashMap::default();
    for site in &sums.sites {
        let of = met.get(site.node.index()).copied().unwrap_or_default();
        if of != Met::default() {
            *seen.entry(site.node).or_default() += site.allocations();
        }
    }
    for (node, allocations) in seen {
        let of = met[node.index()];
        for &module in &sets[of.files] {
            found.entry(module).or_insert_with(|| nothing(module)).passing.add(allocations);
        }
        if let Some(module) = of.end {
            found.entry(module).or_insert_with(|| nothing(module)).ending.add(allocations);
        }
    }
    let frames = &recording.frames;
    for frame in frames.ids().filter(|frame| frames.is_without_tables(*frame)) {
        if let Some(module) = found.get_mut(&frames.frame(frame).module) {
            module.frames += 1;
        }
    }
    let mut found: Vec<WithoutTables> = found.into_values().collect();
    let key =
        |of: &WithoutTables| (of.passing.allocations + of.ending.allocations, of.passing.stacks + of.ending.stacks);
    found.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| frames.text(a.module).cmp(frames.text(b.module))));
    found
}

/// By node. A caller's number is lower than those of the functions that it calls, so one pass over all nodes is enough.
fn all_met(recording: &Recording) -> (Vec<Vec<TextId>>, Vec<Met>) {
    let (frames, stacks) = (&recording.frames, &recording.stacks);
    let mut sets: Vec<Vec<TextId>> = vec![Vec::new()];
    let mut with: FxHashMap<(usize, TextId), usize> = FxHashMap::default();
    let mut met: Vec<Met> = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let node = stacks.node(id);
        let mut of = met.get(node.parent.index()).copied().unwrap_or_default();
        // Inlined functions have no frames of their own.
        let outermost: Option<FrameId> = frames.chain(&node).last().copied();
        if let Some(frame) = outermost.filter(|_| !id.is_root()) {
            let module = frames.frame(frame).module;
            if node.parent.is_root() && node.root() == Some(ROOT_NO_RULE) {
                of.end = Some(module);
            }
            if frames.is_without_tables(frame) && !sets[of.files].contains(&module) {
                of.files = *with.entry((of.files, module)).or_insert_with(|| {
                    sets.push([&sets[of.files][..], &[module]].concat());
                    sets.len() - 1
                });
            }
        }
        met.push(of);
    }
    (sets, met)
}
