//! Which events count, whom a cost is charged to, and what tells two sites apart.

use memtoll_trace::costs::{Charge, Cost, Place};
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::nodes::ROOT_PLACE;
use std::collections::BTreeSet;

/// What else tells two sites apart, beside the call stack.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Split {
    /// Nothing.
    #[default]
    None,
    /// The process.
    Process,
    /// The thread that calls.
    Thread,
    /// The size of the block, bytes.
    Size,
}

/// Which events count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Events before this time only tell which blocks are live.
    pub from: Units,
    /// Events after this time do not count at all.
    pub to: Units,
    /// Smaller blocks are left out.
    pub min_size: Bytes,
    /// Larger blocks are left out.
    pub max_size: Bytes,
    /// How sites are split.
    pub split: Split,
    /// Who is charged.
    pub charge: Charge,
    /// What matters is what was live at `to`; all else is only told of what came before.
    pub instant: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Selection::EVERYTHING
    }
}

impl Selection {
    const EVERYTHING: Selection = Selection {
        from: Units::ZERO,
        to: Units::MAX,
        min_size: Bytes::ZERO,
        max_size: Bytes::MAX,
        split: Split::None,
        charge: Charge::Allocation,
        instant: false,
    };

    /// Whether some times or sizes are left out: what is known only of the whole recording has no place beside what is
    /// selected.
    pub fn is_part(&self) -> bool {
        Selection { split: Split::None, charge: Charge::Allocation, ..*self } != Selection::default()
    }

    /// Whether blocks of all sizes count.
    pub fn is_of_all_sizes(&self) -> bool {
        (self.min_size, self.max_size) == (Bytes::ZERO, Bytes::MAX)
    }

    /// Whether blocks of a size count. What is about no block has the size that was asked for, or 0.
    pub fn admits_size(&self, size: Bytes) -> bool {
        (self.min_size..=self.max_size).contains(&size)
    }

    /// Whether sums of stacks are not split within an image.
    pub fn is_by_stack(&self) -> bool {
        matches!(self.split, Split::None | Split::Process)
    }

    /// What tells a site from others of its stack: what a thread does with blocks of a size.
    #[inline(always)]
    pub(crate) fn extra(&self, thread: Option<ThreadNo>, size: u64) -> u64 {
        match self.split {
            Split::None | Split::Process => 0,
            Split::Thread => u64::from(ThreadNo::or_zero(thread)),
            Split::Size => size,
        }
    }

    /// Whether it is a span of time, with all that happened in it.
    pub fn is_span(&self) -> bool {
        let of_time = Selection { from: self.from, to: self.to, ..Selection::default() };
        self.is_part() && Selection { split: Split::None, charge: Charge::Allocation, ..*self } == of_time
    }

    /// Whether any of a cost counts.
    pub fn admits(&self, cost: &Cost) -> bool {
        cost.meets(self.from, self.to) && self.admits_size(cost.size)
    }

    /// The part of a cost that counts.
    pub fn part_of(&self, cost: &Cost) -> Option<Cost> {
        cost.part_between(self.from, self.to).filter(|cost| self.admits_size(cost.size))
    }

    /// Whether the summaries in the file, of each image by stack, answer this.
    pub fn is_stored(&self) -> bool {
        self.is_by_stack() && Selection { split: Split::None, ..*self } == Selection::default()
    }
}

/// What a [`Tally`] asks for each event.
pub trait Select {
    /// Whether all events count: known when the code is compiled.
    const EVERYTHING: bool;
    /// Whether parts of sums are counted, see [`Tally::end_chapter`].
    const KEEPS_PARTS: bool = false;
    /// Which events count.
    fn get(&self) -> &Selection;
    /// Whether those of a thread count; `None`: of an unknown one.
    fn admits_thread(&self, _thread: Option<ThreadNo>) -> bool {
        true
    }
    /// Whether what a thread does with blocks of a size counts: all times aside.
    fn admits_part(&self, thread: impl Into<Option<ThreadNo>>, size: Bytes) -> bool {
        Self::EVERYTHING || self.get().admits_size(size) && self.admits_thread(thread.into())
    }
    /// The stack that a cost is charged to, if any of it counts: what is charged to none stands beside them.
    fn charged(&self, cost: &Cost) -> Option<NodeId> {
        let counts = self.get().admits(cost) && self.admits_thread(cost.thread);
        let node = cost.node.filter(|_| counts)?;
        match (self.get().charge, cost.place) {
            (Charge::Allocation, _) => Some(node),
            (Charge::Payment, Place::Call(paid)) => Some(paid),
            (Charge::Payment, _) => Some(ROOT_PLACE),
        }
    }
    /// Whether that is so for all threads and sizes.
    fn admits_all_parts(&self) -> bool {
        Self::EVERYTHING
    }
}

/// The threads of an image that count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Threads {
    /// All: the image as a whole.
    All,
    /// These.
    Only(BTreeSet<ThreadNo>),
}

impl Threads {
    /// Whether a thread counts; `None`: an unknown one.
    pub fn admit(&self, thread: impl Into<Option<ThreadNo>>) -> bool {
        match self {
            Threads::All => true,
            Threads::Only(some) => thread.into().is_some_and(|thread| some.contains(&thread)),
        }
    }
}

/// Some events of an image, perhaps only those of some threads.
#[derive(Clone, Debug)]
pub struct Part {
    selection: Selection,
    pub(super) threads: Threads,
}

impl Part {
    /// What `selection` selects of all threads.
    pub fn all(selection: Selection) -> Part {
        Part::of(selection, Threads::All)
    }

    /// What `selection` selects of some threads.
    pub fn of(selection: Selection, threads: Threads) -> Part {
        Part { selection, threads }
    }

    /// Events after this time do not count.
    pub fn to(&self) -> Units {
        self.selection.to
    }

    /// Whether slices tell what is asked for: they know threads, but neither sizes nor who paid.
    pub fn is_of_slices(&self) -> bool {
        let Selection { split, charge, .. } = self.selection;
        self.selection.is_of_all_sizes() && split != Split::Size && charge == Charge::Allocation
    }

    /// The same from the first event on.
    pub(super) fn since_the_start(&self) -> Part {
        Part::of(Selection { from: Units::ZERO, ..self.selection }, self.threads.clone())
    }
}

impl Select for Part {
    const EVERYTHING: bool = false;

    fn get(&self) -> &Selection {
        &self.selection
    }

    fn admits_thread(&self, thread: Option<ThreadNo>) -> bool {
        self.threads.admit(thread)
    }

    fn admits_all_parts(&self) -> bool {
        self.threads == Threads::All && self.selection.is_of_all_sizes()
    }
}

/// All events count: known when the code is compiled, so that nothing is asked while a program is recorded.
pub struct Everything;

impl Select for Everything {
    const EVERYTHING: bool = true;
    const KEEPS_PARTS: bool = true;

    #[inline(always)]
    fn get(&self) -> &Selection {
        const { &Selection::EVERYTHING }
    }
}
