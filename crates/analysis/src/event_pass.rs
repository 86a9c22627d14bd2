//! One reading of all events for several readers. Unpacking an event takes as long as using it, so they are unpacked once.

use crate::finer_chapters::{Cutting, Sliced};
use crate::looks::{Look, Looks};
use crate::page_balance::{self, AtEnd, Balance};
use crate::stacks::Stacks;
use crate::sums::Sums;
use memtoll_model::Recording;
use memtoll_tally::span::Which;
use memtoll_trace::event::Event;
use memtoll_trace::unreadable::Unreadable;
use std::ops::ControlFlow;

/// Takes events in the order of their times.
type Take<'t> = dyn FnMut(&[Event]) + Send + 't;

/// Takes what lies in memory when processes end.
type Looking<'a> = Box<dyn FnOnce(Looks) + Send + 'a>;

/// Reads all events of each image for the caller, and for readers of its own: what holds the pages at the end of a recording of
/// one process, slices, and what lies in memory when processes end.
pub struct EventPass<'a> {
    recording: &'a Recording,
    /// Of a recording of one process, until its events are read.
    at_end: Option<AtEnd<'a>>,
    /// What it found.
    balance: Option<Balance>,
    sliced: Option<(&'a Sliced, Which)>,
    looking: Option<Looking<'a>>,
    /// For `looking`, by image.
    found: Vec<Option<Look>>,
    /// Receives the share of events that are read.
    tell: Box<dyn FnMut(f64) + Send + 'a>,
    /// Blocks of events: how many are read, and of how many.
    blocks: (usize, usize),
}

impl<'a> EventPass<'a> {
    /// For the caller, who needs these sums.
    pub fn new(recording: &'a Recording, sums: &Sums) -> EventPass<'a> {
        EventPass {
            recording,
            at_end: AtEnd::new(recording, sums, u64::MAX),
            balance: None,
            sliced: None,
            looking: None,
            found: recording.images.iter().map(|_| None).collect(),
            tell: Box::new(|_| {}),
            blocks: (0, recording.images.iter().map(|image| image.event_blocks()).sum()),
        }
    }

    /// Cuts chapters, too.
    pub fn cutting(self, sliced: &'a Sliced, which: Which) -> EventPass<'a> {
        EventPass { sliced: Some((sliced, which)), ..self }
    }

    /// Finds what lies in memory when processes end, too.
    pub fn looking(self, take: impl FnOnce(Looks) + Send + 'a) -> EventPass<'a> {
        EventPass { looking: Some(Box::new(take)), ..self }
    }

    /// Tells the share of events that are read.
    pub fn telling(self, tell: impl FnMut(f64) + Send + 'a) -> EventPass<'a> {
        EventPass { tell: Box::new(tell), ..self }
    }

    /// Reads the events of an image. The error says what a damaged file lacks.
    pub fn read(&mut self, stacks: &mut Stacks, index: usize, take: &mut Take) -> Result<(), Unreadable> {
        let recording = self.recording;
        let is_looked_at = self.looking.is_some() && Look::may_be_of(recording, index);
        let of_all = self.at_end.take_if(|at_end| at_end.index == index);
        let is_of_all = of_all.is_some();
        let mut at_end = of_all.or_else(|| AtEnd::of(recording, index).filter(|_| is_looked_at));
        let mut cutting = self.sliced.and_then(|(sliced, which)| sliced.cutting(recording, index, which));
        let mut block = 0;
        recording.for_each_events(index, |events| {
            side_by_side(&mut at_end, &mut cutting, take, block, events);
            block += 1;
            self.blocks.0 += 1;
            (self.tell)(self.blocks.0 as f64 / self.blocks.1 as f64);
            ControlFlow::Continue(())
        })?;
        cutting.into_iter().for_each(Cutting::finish);
        let balance = at_end.and_then(|at_end| at_end.finish(stacks));
        self.found[index] = balance.as_ref().filter(|_| is_looked_at).map(Look::from_balance);
        self.balance = balance.filter(|_| is_of_all).or(self.balance.take());
        Ok(())
    }

    /// What holds the pages at the end, of a recording of one process; after all images.
    pub fn pages(&mut self, stacks: &mut Stacks, sums: &Sums) -> Option<Balance> {
        let looks = Looks::found_at_end(std::mem::take(&mut self.found));
        if let Some(take) = self.looking.take() {
            take(looks);
        }
        self.balance.take().or_else(|| page_balance::at_end(stacks, sums))
    }
}

/// Gives a block of events, with its number in the image, to all readers, each on its own thread.
fn side_by_side(
    at_end: &mut Option<AtEnd>,
    cutting: &mut Option<Cutting>,
    take: &mut Take,
    block: usize,
    events: &[Event],
) {
    std::thread::scope(|scope| {
        if let Some(at_end) = at_end {
            scope.spawn(|| at_end.add(events));
        }
        if let Some(cutting) = cutting {
            // Others read on.
            scope.spawn(move || _ = cutting.add(block, events));
        }
        take(events);
    });
}
