//! What leads in stacks that were asked for before.

use super::Leading;
use memtoll_model::StackId;
use rustc_hash::FxHashMap;

/// What leads, of the nodes that were asked for. Few different things do: a node has a number only, as sites are looked at several
/// times in the order of their nodes, and there can be millions.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// By node: one more than the place in `all`; 0: not known.
    numbers: Vec<u32>,
    all: Vec<Leading>,
    by_leading: FxHashMap<Leading, u32>,
}

impl Known {
    pub fn of(&self, node: StackId) -> Option<Leading> {
        let number = self.numbers.get(node.index())?.checked_sub(1)?;
        Some(self.all[number as usize])
    }

    /// Forgets nodes that are led by something that `is_old`.
    pub fn forget(&mut self, is_old: impl Fn(&Leading) -> bool) {
        let old: Vec<bool> = self.all.iter().map(is_old).collect();
        for number in &mut self.numbers {
            if number.checked_sub(1).is_some_and(|at| old[at as usize]) {
                *number = 0;
            }
        }
    }

    pub fn is(&mut self, node: StackId, leading: Leading, nodes: usize) {
        if self.numbers.is_empty() {
            self.numbers = vec![0; nodes];
        }
        let number = *self.by_leading.entry(leading).or_insert_with(|| {
            self.all.push(leading);
            self.all.len() as u32
        });
        // A damaged file may have events of nodes that it does not have.
        if let Some(place) = self.numbers.get_mut(node.index()) {
            *place = number;
        }
    }
}
