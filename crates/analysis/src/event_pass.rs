//! One reading of all events for several readers. Unpacking an event takes as long as using it, so they are unpacked once.

use crate::page_balance::{self, AtEnd, Balance};
use crate::stacks::Stacks;
use crate::sums::Sums;
use memtoll_model::Recording;
use memtoll_trace::event::Event;
use memtoll_trace::unreadable::Unreadable;
use std::ops::ControlFlow;

/// Takes events in the order of their times.
pub type Take<'t> = dyn FnMut(&[Event]) + Send + 't;

/// Reads all events of each image for the caller, and for readers of its own. One of these finds what holds the pages at the end.
pub trait EventPass {
    /// Reads the events of an image. The error says what a damaged file lacks.
    fn read(&mut self, stacks: &mut Stacks, index: usize, take: &mut Take) -> Result<(), Unreadable>;

    /// What holds the pages at the end, of a recording of one process; after all images.
    fn pages(&mut self, stacks: &mut Stacks, sums: &Sums) -> Option<Balance>;
}

/// A pass without other readers.
pub struct SinglePass<'r> {
    at_end: Option<AtEnd<'r>>,
}

impl<'r> SinglePass<'r> {
    pub fn new(recording: &'r Recording, sums: &Sums) -> SinglePass<'r> {
        SinglePass { at_end: AtEnd::new(recording, sums, u64::MAX) }
    }
}

impl EventPass for SinglePass<'_> {
    fn read(&mut self, stacks: &mut Stacks, index: usize, take: &mut Take) -> Result<(), Unreadable> {
        let mut at_end = self.at_end.as_mut().filter(|at_end| at_end.index == index);
        let read = stacks.recording().for_each_events(index, |events| {
            match &mut at_end {
                Some(at_end) => side_by_side(&mut [&mut |_, events| at_end.add(events)], take, 0, events),
                None => take(events),
            }
            ControlFlow::Continue(())
        });
        if at_end.is_some() && read.is_err() {
            self.at_end = None;
        }
        read
    }

    fn pages(&mut self, stacks: &mut Stacks, sums: &Sums) -> Option<Balance> {
        match self.at_end.take() {
            Some(at_end) => at_end.finish(stacks),
            None => page_balance::at_end(stacks, sums),
        }
    }
}

/// Takes a block of events and its number in the image.
pub type Beside<'t> = dyn FnMut(usize, &[Event]) + Send + 't;

/// Gives a block of events to all readers, each on its own thread.
pub fn side_by_side(beside: &mut [&mut Beside], take: &mut Take, block: usize, events: &[Event]) {
    std::thread::scope(|scope| {
        for other in beside {
            scope.spawn(|| other(block, events));
        }
        take(events);
    });
}
