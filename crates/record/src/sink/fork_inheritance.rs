//! What forked children inherit from an image: its blocks and mappings as they were at the fork.
//!
//! Most of them still are when a child asks. What has been released since is kept here as long as a child may
//! ask for it: a block costs nothing unless it was live at the fork of a child that lives.

use super::Sink;
use super::live_blocks::NumberedBlock;
use crate::fork_family::{Ancestor, Family, Inheritance, SilentChild};
use crate::join::{self, AddressSpace, Answer};
use memtoll_trace::ids::{Bytes, NodeId, Ticks, Units};
use memtoll_trace::inherited::Inherited;
use memtoll_trace::nodes::FIRST_INHERITED;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Released blocks that are looked through for the first time, and then each time that they are twice as many as were left.
const FIRST_SWEEP: usize = 1 << 12;

/// The most blocks that lived at other times which a search passes.
const MOST_STEPS: usize = 1 << 12;

/// A block that was released after a fork.
#[derive(Clone, Copy)]
struct ReleasedBlock {
    born: u64, // units
    size: u64, // bytes
    node: Option<NodeId>,
}

/// Released blocks by address and time of release, units. Those of one instant do not overlap.
#[derive(Default)]
struct ReleasedBlocks {
    blocks: BTreeMap<(u64, u64), ReleasedBlock>,
    /// Bytes of the largest one that was added.
    largest: u64,
    sweep_at: usize,
}

/// What forked children may ask for.
pub struct InheritableBlocks {
    family: Arc<Family>,
    /// Blocks that were acquired before this time may have been live at a fork, units; 0: there is no child.
    pub before: u64,
    spaces: BTreeMap<u64, Arc<AddressSpace>>, // as they were at forks, units
    released: ReleasedBlocks,
    released_pooled: ReleasedBlocks,
    /// What this image inherited itself and has released: when, units.
    disowned: FxHashMap<u64, u64>,
    inherited_nodes: InheritedNodes,
}

/// Nodes of ancestors that have ids in another image, in the order of these.
#[derive(Default)]
pub struct InheritedNodes {
    nodes: Vec<Inherited>,
    ids: FxHashMap<Inherited, NodeId>,
    written: usize,
}

impl Inheritance {
    /// For the join, with `node` as the id of the node.
    pub fn answer(&self, node: NodeId) -> Answer {
        Answer { node: Some(node), size: Bytes(self.size), of_file: self.of_file }
    }
}

impl ReleasedBlocks {
    fn add(&mut self, address: u64, until: u64, gone: ReleasedBlock, family: &Family) {
        self.largest = self.largest.max(gone.size);
        self.blocks.insert((address, until), gone);
        if self.blocks.len() >= self.sweep_at.max(FIRST_SWEEP) {
            let forks = family.forks();
            self.blocks.retain(|(_, until), gone| {
                let next = forks.partition_point(|fork| *fork < gone.born);
                forks.get(next).is_some_and(|fork| fork < until)
            });
            self.sweep_at = self.blocks.len() * 2;
        }
    }

    /// The block that held `address` at a time in units, and where it began.
    fn at(&self, address: u64, time: u64) -> Option<(u64, ReleasedBlock)> {
        let lived = |((_, until), gone): &(&(u64, u64), &ReleasedBlock)| gone.born <= time && time < *until;
        let may_hold = (address.saturating_sub(self.largest), 0)..=(address, u64::MAX);
        let mut before = self.blocks.range(may_hold).rev().take(MOST_STEPS);
        let ((start, _), gone) = before.find(lived)?;
        (address - start < gone.size).then_some((*start, *gone))
    }

    fn clear(&mut self) {
        *self = ReleasedBlocks::default();
    }
}

impl InheritableBlocks {
    pub fn new(family: Arc<Family>) -> InheritableBlocks {
        InheritableBlocks {
            family,
            before: 0,
            spaces: BTreeMap::new(),
            released: ReleasedBlocks::default(),
            released_pooled: ReleasedBlocks::default(),
            disowned: FxHashMap::default(),
            inherited_nodes: InheritedNodes::default(),
        }
    }

    /// Forgets all that no child can ask for.
    fn forget(&mut self) {
        let forks = self.family.forks();
        self.spaces.retain(|fork, _| forks.binary_search(fork).is_ok());
        if forks.is_empty() {
            self.before = 0;
            self.released.clear();
            self.released_pooled.clear();
        }
    }

    /// What lay where at a fork, units.
    pub fn space_at(&self, fork: u64) -> AddressSpace {
        self.spaces.get(&fork).map(|space| AddressSpace::clone(space)).unwrap_or_default()
    }

    /// Nodes that have got an id since this was asked last.
    pub fn inherited_nodes(&mut self) -> &mut InheritedNodes {
        &mut self.inherited_nodes
    }
}

impl InheritedNodes {
    /// Whether no node has an id.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The id of an ancestor's node.
    pub fn id(&mut self, node: Inherited) -> NodeId {
        *self.ids.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            FIRST_INHERITED.later((self.nodes.len() - 1) as u32)
        })
    }

    /// Nodes that have got an id since this was asked last.
    pub fn fresh_nodes(&mut self) -> &[Inherited] {
        let from = std::mem::replace(&mut self.written, self.nodes.len());
        &self.nodes[from..]
    }
}

/// What is done where the ancestor does not know yet.
#[derive(Clone, Copy)]
pub enum Patience {
    /// The questions stay for later.
    OnlyAtOnce,
    /// Waits until all can be answered.
    Waits,
}

#[derive(Clone, Copy)]
pub(super) enum BlockFrom {
    Heap,
    /// The program's own.
    Pool,
}

impl Sink {
    /// The process has forked a child.
    pub(super) fn forked(&mut self, told: Ticks) {
        let at = self.time.at(told).0;
        self.inheritable.forget();
        if self.inheritable.family.forks().binary_search(&at).is_ok() {
            self.inheritable.before = at + 1;
            self.inheritable.spaces.insert(at, self.join.space());
        }
        self.inheritable.family.has_processed(told.0);
    }

    /// A block is gone. If it was live at a fork, its children may ask for it.
    #[inline(always)]
    pub(super) fn keep_if_inherited(&mut self, address: u64, kept: &NumberedBlock, until: Units, from: BlockFrom) {
        if kept.block.time() < Units(self.inheritable.before) {
            self.keep_for_children(address, kept, until.0, from);
        }
    }

    #[cold]
    fn keep_for_children(&mut self, address: u64, kept: &NumberedBlock, until: u64, from: BlockFrom) {
        if !self.inheritable.family.has_heirs() {
            return self.inheritable.forget();
        }
        let block = &kept.block;
        let gone = ReleasedBlock { born: block.time().0, size: block.size().0, node: self.ledger.tally.node_of(block) };
        let inheritable = &mut self.inheritable;
        let released = match from {
            BlockFrom::Pool => &mut inheritable.released_pooled,
            BlockFrom::Heap => &mut inheritable.released,
        };
        released.add(address, until, gone, &inheritable.family);
    }

    /// A block that is unknown here was released: if it was inherited, it is not any more.
    #[cold]
    pub(super) fn disowns(&mut self, address: u64, time: Units) {
        self.inheritable.disowned.entry(address).or_insert(time.0);
    }

    /// Whose `address` was, of what this image had made itself, at a time in units: that of a fork.
    fn owned(&self, address: u64, at: u64) -> Option<Inheritance> {
        let inheritable = &self.inheritable;
        let from = |node| Inherited { image: self.facts.image, node };
        let live = |start: u64, kept: NumberedBlock| {
            let block = kept.block;
            let holds = block.time() <= Units(at) && address.wrapping_sub(start) < block.size().0;
            let from = from(self.ledger.tally.node_of(&block));
            holds.then_some(Inheritance { from, start, size: block.size().0, of_file: false })
        };
        let gone = |(start, gone): (u64, ReleasedBlock)| Inheritance {
            from: from(gone.node),
            start,
            size: gone.size,
            of_file: false,
        };
        let mapping = inheritable.spaces.get(&at).and_then(|space| space.find(address));
        let of_mapping = mapping.and_then(|(start, mapping)| {
            let of_file = mapping.kind == join::Kind::File;
            Some(Inheritance { from: from(Some(mapping.node?)), start, size: mapping.end - start, of_file })
        });
        let of_file = of_mapping.is_some_and(|owned| owned.of_file);
        let block = None
            .or_else(|| self.ledger.pools.at(address).and_then(|handed| live(handed.address, handed.kept)))
            .or_else(|| inheritable.released_pooled.at(address, at).map(gone))
            .or_else(|| self.join.large_block_at(address).and_then(|start| live(start, self.ledger.live.get(start)?)))
            .or_else(|| self.ledger.live.below(address, join::LARGE.0).and_then(|(start, kept)| live(start, kept)))
            .or_else(|| inheritable.released.at(address, at).map(gone));
        block.map(|block| Inheritance { of_file, ..block }).or(of_mapping)
    }

    /// Whose inherited memory `address` is at a time in units. All that this image has made itself, the caller has looked at.
    fn inherits(&self, address: u64, time: u64) -> Option<Inheritance> {
        let fork = self.inheritable.family.ancestor()?;
        if self.join.has_replaced(address) {
            return None;
        }
        let owned = fork.owner_at_fork(address)?;
        let disowned = self.inheritable.disowned.get(&owned.start);
        disowned.is_none_or(|disowned| time < *disowned).then_some(owned)
    }

    /// Answers the questions that have come up whose inherited memory is.
    pub fn ask_ancestors(&mut self, patience: Patience) {
        if !self.join.has_questions() {
            return;
        }
        if let Some(fork) = self.inheritable.family.ancestor() {
            match patience {
                Patience::Waits => fork.settle(),
                Patience::OnlyAtOnce if !fork.is_settled() => return,
                Patience::OnlyAtOnce => {}
            }
        }
        for question in self.join.take_questions() {
            let owned = self.inherits(question.address(), self.time.at(question.at()).0);
            let answer = owned.map(|owned| owned.answer(self.inheritable.inherited_nodes.id(owned.from)));
            self.join.answered(question, answer);
        }
    }
}

impl Ancestor for Sink {
    fn owner_at_fork(&self, address: u64, at: u64) -> Option<Inheritance> {
        self.owned(address, at).or_else(|| self.inherits(address, at))
    }

    fn child_was_silent(&self, at: u64, silent: SilentChild) {
        self.write_silent_child(at, silent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_block_is_found_at_the_times_at_which_it_lived() {
        let (family, mut released) = (Family::default(), ReleasedBlocks::default());
        let gone = |born, size, node| ReleasedBlock { born, size, node: NodeId::new(node) };
        released.add(0x1000, 50, gone(10, 0x800, 1), &family); // from 10 to 50, then two smaller ones in its place
        released.add(0x1000, 90, gone(60, 0x100, 2), &family);
        released.add(0x1400, 70, gone(60, 0x100, 3), &family);
        let owner = |address, time| released.at(address, time).map(|(start, gone)| (start, NodeId::or_zero(gone.node)));
        assert_eq!(owner(0x1450, 10), Some((0x1000, 1)));
        assert_eq!(owner(0x1450, 49), Some((0x1000, 1)));
        assert_eq!(owner(0x1450, 50), None, "at its release it is gone");
        assert_eq!(owner(0x1450, 65), Some((0x1400, 3)));
        assert_eq!((owner(0x1450, 80), owner(0x1050, 80)), (None, Some((0x1000, 2))));
        assert_eq!((owner(0x1800, 20), owner(0xfff, 20)), (None, None));
    }

    #[test]
    fn what_nobody_can_ask_for_is_forgotten() {
        let (family, mut released) = (Family::default(), ReleasedBlocks::default());
        for number in 0..10 * FIRST_SWEEP as u64 {
            released.add(0x1000, number + 1, ReleasedBlock { born: number, size: 16, node: NodeId::new(1) }, &family);
        }
        assert!(released.blocks.len() < FIRST_SWEEP, "{}", released.blocks.len());
    }
}
