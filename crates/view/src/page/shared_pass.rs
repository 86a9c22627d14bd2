//! The only pass over the events that a page needs: for the advice, for slices of the time, and for what lies in memory when
//! processes end.

use memtoll_analysis::event_pass::{Beside, EventPass, Take, side_by_side};
use memtoll_analysis::finer_chapters::Sliced;
use memtoll_analysis::looks::{Look, Looks};
use memtoll_analysis::page_balance::{self, AtEnd, Balance};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::Sums;
use memtoll_model::Recording;
use memtoll_tally::span::Which;
use memtoll_trace::unreadable::Unreadable;
use std::ops::ControlFlow;
use std::sync::mpsc::Sender;

/// How far the pass is.
pub(super) enum News {
    /// The share of events that are read.
    Read(f64),
    /// All are read: what lies in memory, by the lines of a view.
    AtEnd(Box<(View, Looks)>),
}

pub(super) struct SharedPass<'a> {
    sliced: &'a Sliced,
    /// Whose lines share free memory.
    view: View,
    /// What lies in memory, by image.
    found: Vec<Option<Look>>,
    /// The balance of the last image.
    balance: Option<Balance>,
    /// Blocks of events: how many are read, and of how many.
    blocks: (usize, usize),
    news: Sender<News>,
}

impl<'a> SharedPass<'a> {
    pub fn new(recording: &Recording, sliced: &'a Sliced, view: &View, news: Sender<News>) -> SharedPass<'a> {
        let all = recording.images.iter().map(|image| image.event_blocks()).sum();
        let found = recording.images.iter().map(|_| None).collect();
        SharedPass { sliced, view: view.clone(), found, balance: None, blocks: (0, all), news }
    }
}

impl EventPass for SharedPass<'_> {
    fn read(&mut self, stacks: &mut Stacks, index: usize, take: &mut Take) -> Result<(), Unreadable> {
        let recording = stacks.recording();
        let mut at_end = AtEnd::of(recording, index).filter(|_| Look::may_be_of(recording, index));
        let mut cutting = self.sliced.cutting(recording, index, Which::Crossed);
        let mut block = 0;
        recording.for_each_events(index, |events| {
            let mut at_end = at_end.as_mut().map(|at_end| |_: usize, events: &[_]| at_end.add(events));
            let mut cutting = cutting.as_mut().map(|cutting| |block: usize, events: &[_]| cutting.add(block, events));
            let at_end = at_end.as_mut().map(|add| add as &mut Beside);
            let cutting = cutting.as_mut().map(|add| add as &mut Beside);
            let mut beside: Vec<&mut Beside> = at_end.into_iter().chain(cutting).collect();
            side_by_side(&mut beside, take, block, events);
            block += 1;
            self.blocks.0 += 1;
            // The other side may be gone.
            let _ = self.news.send(News::Read(self.blocks.0 as f64 / self.blocks.1 as f64));
            ControlFlow::Continue(())
        })?;
        cutting.into_iter().for_each(|cutting| cutting.finish());
        self.balance = at_end.and_then(|at_end| at_end.finish(stacks));
        self.found[index] = self.balance.as_ref().map(Look::from_balance);
        Ok(())
    }

    fn pages(&mut self, stacks: &mut Stacks, sums: &Sums) -> Option<Balance> {
        let looks = Looks::found_at_end(std::mem::take(&mut self.found));
        let _ = self.news.send(News::AtEnd(Box::new((self.view.clone(), looks))));
        match self.balance.take() {
            Some(balance) => Some(balance).filter(|_| !sums.are_of_several()),
            None => page_balance::at_end(stacks, sums),
        }
    }
}
