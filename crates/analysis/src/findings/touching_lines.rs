//! Who touches the memory that another line asked for.

use super::Facts;
use crate::library::{Owner, owner};
use crate::sites::Row;
use crate::stacks::Texts;
use memtoll_model::{FrameId, StackId, TextId};
use memtoll_trace::costs::{CostKind, Place};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

const MOST: usize = 3;

/// A function that touched memory first.
#[derive(Clone, Debug, Serialize)]
pub struct Toucher {
    /// Its name.
    pub function: String,
    /// Its share of the faults, from 0 to 1.
    pub share: f64,
    #[serde(skip)]
    pub frame: FrameId,
}

/// The functions in which the memory of a site faulted, most faults first. Nothing if these are the site's own function
/// alone, or little is known. The C library's are left out: memcpy touches for its caller, which is unknown
/// here. Reads the costs of the selected time.
pub(super) fn touchers(facts: &mut Facts, site: &Row) -> Vec<Toucher> {
    let nodes: FxHashSet<StackId> = site.nodes.iter().copied().collect();
    let (recording, sums) = (facts.recording, facts.sums);
    let mut by_node: FxHashMap<StackId, u64> = FxHashMap::default();
    for (index, _) in sums.counted() {
        let image = &recording.images[index];
        // The reader of the costs for the sums says what is missing in the file.
        let _ = recording.for_each_cost_between(index, sums.selection.from, sums.selection.to, |cost| {
            let is_fault = matches!(cost.kind, CostKind::Fault | CostKind::HugeFault);
            let counts = || sums.thread_filter.admit(index, cost.thread);
            if is_fault && nodes.contains(&image.node(cost.node)) && sums.selection.admits(cost) && counts() {
                let place = if let Place::Call(node) = cost.place { image.node(Some(node)) } else { StackId::NONE };
                let pages = if cost.kind == CostKind::HugeFault { 512 } else { 1 };
                let sum = by_node.entry(place).or_default();
                *sum = sum.saturating_add(cost.amount.saturating_mul(pages));
            }
        });
    }
    let total: u64 = by_node.values().fold(0, |sum, faults| sum.saturating_add(*faults));
    let mut by_function: FxHashMap<TextId, (u64, FrameId)> = FxHashMap::default();
    for (node, faults) in by_node {
        let stack = facts.stacks.leading(node);
        let Some(frame) = facts.stacks.first(stack.leading) else { continue };
        by_function.entry(recording.frames.frame(frame).function).or_insert((0, frame)).0 += faults;
    }
    let own = site.frame.map(|frame| recording.frames.frame(frame).function);
    let is_asked = |frame: FrameId| {
        let texts = Texts::of(&recording.frames, frame);
        owner(texts.function, texts.file, texts.module) == Owner::MachineFacts
    };
    let mut found: Vec<(TextId, (u64, FrameId))> =
        by_function.into_iter().filter(|(_, (_, frame))| !is_asked(*frame)).collect();
    found.sort_by_key(|(function, (faults, _))| (std::cmp::Reverse(*faults), *function));
    if found.first().is_none_or(|(function, _)| Some(*function) == own) {
        return Vec::new();
    }
    // Less than a hundredth tells nothing.
    let told = found.into_iter().filter(|(_, (faults, _))| faults.saturating_mul(100) >= total).take(MOST);
    told.map(|(_, (faults, frame))| Toucher {
        function: Texts::of(&recording.frames, frame).function.to_owned(),
        share: faults as f64 / total.max(1) as f64,
        frame,
    })
    .collect()
}
