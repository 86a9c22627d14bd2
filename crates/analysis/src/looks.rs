//! What looks at the pages of processes found, for each of their live blocks: where metrics of call sites such as `resident` and `pinned`
//! come from.

use crate::live_blocks::Block;
use crate::page_balance::{Balance, OfBlock, balance, end_of};
use crate::priced::Priced;
use crate::stacks::Stacks;
use memtoll_model::Recording;
use memtoll_tally::{Charge, Selection};
use memtoll_trace::ids::{Bytes, Units};
use memtoll_trace::snapshot::Snapshot;

/// What was found in a process image.
pub struct Look {
    /// All live blocks, by address, and what each holds.
    pub blocks: Vec<(Block, OfBlock)>,
    /// Whether it is known in which units the allocator gives memory back: without, no block has slack or pins anything.
    pub knows_units: bool,
}

/// What was found, by image.
pub struct Looks {
    /// When that was; `None`: when each process ended.
    at: Option<Units>,
    found: Vec<Option<Look>>,
}

impl Looks {
    /// Reads all events of processes that were looked at when they ended. Free memory is shared by lines, as these stacks have them.
    pub fn at_end(stacks: &mut Stacks) -> Looks {
        let images = 0..stacks.recording().images.len();
        let at_end = |index| Look::of(stacks, index, &end_of(stacks.recording(), index)?);
        Looks::found_at_end(images.map(at_end).collect())
    }

    /// From looks at processes when they ended, by image.
    pub fn found_at_end(found: Vec<Option<Look>>) -> Looks {
        Looks { at: None, found }
    }

    /// Reads the events of image number `index` until a look at its pages. Of other images, nothing is known.
    pub fn at(stacks: &mut Stacks, index: usize, snapshot: &Snapshot) -> Looks {
        let mut found: Vec<Option<Look>> = stacks.recording().images.iter().map(|_| None).collect();
        found[index] = Look::of(stacks, index, snapshot);
        Looks { at: Some(snapshot.time), found }
    }

    /// When that was; `None`: when each process ended.
    pub fn time(&self) -> Option<Units> {
        self.at
    }

    /// Whether they tell whose blocks lie in memory at the end of a selection.
    pub fn are_of(&self, selection: &Selection) -> bool {
        let is_then = match self.at {
            None => selection.to == Units::MAX && !selection.instant,
            Some(time) => selection.instant && selection.to == time,
        };
        is_then && selection.charge == Charge::Allocation
    }

    /// What was found in an image; `None`: nothing is known.
    pub fn of(&self, image: usize) -> Option<&Look> {
        self.found.get(image)?.as_ref()
    }
}

impl Look {
    fn of(stacks: &mut Stacks, index: usize, snapshot: &Snapshot) -> Option<Look> {
        let recording = stacks.recording();
        if !Look::may_be_of(recording, index) {
            return None;
        }
        let found = balance(stacks, index, snapshot, None).ok()?;
        Some(Look { blocks: found.blocks, knows_units: found.unit.is_known() })
    }

    /// Whether live blocks are known of an image at all.
    pub fn may_be_of(recording: &Recording, index: usize) -> bool {
        recording.images[index].own_allocators.show_frees()
    }

    /// What the balance of an image found.
    pub fn from_balance(found: &Balance) -> Look {
        Look { blocks: found.blocks.clone(), knows_units: found.unit.is_known() }
    }

    /// What a block adds to the sums of its site.
    pub fn of_block(&self, block: &Block, held: &OfBlock) -> Priced {
        let of_units = |bytes: u64| Bytes(if self.knows_units { bytes } else { 0 });
        Priced {
            resident_bytes: Bytes(held.resident),
            never_touched_bytes: Bytes(held.never_touched(block)),
            slack_bytes: of_units(held.slack),
            pinned_bytes: of_units(held.pinned),
            ..Priced::default()
        }
    }
}
