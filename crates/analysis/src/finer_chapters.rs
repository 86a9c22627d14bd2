//! A recording whose chapters are cut finer while a viewer shows it, so that spans of time are added up at once.

use crate::chapters::chapters_of;
use memtoll_model::{Chapters, Recording};
use memtoll_tally::span::{self, Slicer, Slices, Which};
use memtoll_trace::chapter::{Chapter, Wanted};
use memtoll_trace::event::Event;
use memtoll_trace::ids::NodeId;
use memtoll_trace::parts::Parts;
use memtoll_trace::pattern::Pattern;
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

/// Memory that slices may take, bytes. Beyond that, spans are added up from events where they begin and end.
const MOST_BYTES: usize = 512 << 20;

/// The slices of a recording's chapters, as far as they are known.
pub struct Sliced {
    cuts: Vec<u64>,
    known: RwLock<FxHashMap<(usize, usize), Arc<Slices>>>,
    /// Memory that they take, bytes.
    bytes: AtomicUsize,
}

impl Sliced {
    /// None yet. `cuts` are the times, in units and in ascending order, at which spans begin and end.
    pub fn new(cuts: Vec<u64>) -> Sliced {
        Sliced { cuts, known: RwLock::default(), bytes: AtomicUsize::new(0) }
    }

    /// Cuts all chapters. Other threads can ask meanwhile. A chapter that cannot be read stays whole, and a question that needs it
    /// fails with the reason.
    pub fn cut(&self, recording: &Recording) {
        for index in 0..recording.images.len() {
            let Some(mut cutting) = self.cutting(recording, index, Which::All) else { continue };
            let mut block = 0;
            let read = recording.for_each_events(index, |events| {
                let cut = cutting.add(block, events);
                block += 1;
                cut
            });
            if read.is_ok() {
                cutting.finish();
            }
        }
    }

    /// Cuts the chapters of an image for a caller that reads all of its events; `None`: it has none.
    pub fn cutting<'a>(&'a self, recording: &'a Recording, index: usize, which: Which) -> Option<Cutting<'a>> {
        let chapters = chapters_of(recording, index).filter(|_| !self.is_full())?;
        Some(Cutting { sliced: self, index, chapters, slicer: Some(Slicer::new(&self.cuts, which)), begun: 0 })
    }

    /// Memory that the slices take, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    fn is_full(&self) -> bool {
        self.bytes() > MOST_BYTES
    }

    /// Keeps the slices of a chapter; breaks if they are too many.
    fn keep(&self, of: (usize, usize), slices: Slices) -> ControlFlow<()> {
        self.bytes.fetch_add(slices.bytes(), Relaxed);
        if self.is_full() {
            return ControlFlow::Break(());
        }
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(of, Arc::new(slices));
        ControlFlow::Continue(())
    }

    /// Whether spans of a recording begin and end at these times; behind its end, nothing is cut.
    pub(crate) fn is_cut_at(&self, times: &[u64], ended: u64) -> bool {
        times.iter().all(|time| *time == 0 || *time > ended || self.cuts.binary_search(time).is_ok())
    }

    /// Whether columns with these borders are made of whole slices. Events at a cut are a slice of their own, so a column may end
    /// behind them, too.
    pub(crate) fn is_cut_between(&self, borders: &[u64], ended: u64) -> bool {
        let Some((end, others)) = borders.split_last() else { return false };
        self.is_cut_at(others, ended) && (*end > ended || self.is_cut_at(&[end - 1], ended))
    }

    /// The borders of its slices between two times, both included; `None`: it is not cut there.
    pub(crate) fn between(&self, from: u64, to: u64, ended: u64) -> Option<Vec<u64>> {
        let inside = self.cuts.iter().copied().filter(|cut| *cut > from && *cut < to);
        let borders: Vec<u64> = [from].into_iter().chain(inside).chain([to.saturating_add(1)]).collect();
        self.is_cut_between(&borders, ended).then_some(borders)
    }

    pub(crate) fn of(&self, image: usize, chapter: usize) -> Option<Arc<Slices>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&(image, chapter)).cloned()
    }
}

/// An image whose chapters are cut while its events are read.
pub struct Cutting<'a> {
    sliced: &'a Sliced,
    index: usize,
    chapters: Chapters<'a>,
    /// `None`: a chapter is damaged, which is reported when it is asked for, or there are slices enough.
    slicer: Option<Slicer<'a>>,
    /// How many chapters have begun.
    begun: usize,
}

impl Cutting<'_> {
    /// The next block of events, by its number among the image's. Breaks where further ones change nothing.
    pub fn add(&mut self, block: usize, events: &[Event]) -> ControlFlow<()> {
        if self.chapters.of_block(block) == self.begun {
            self.end_chapter();
            let chapters = OfImage::plain(&self.chapters);
            let begun = self.slicer.as_mut().map(|slicer| slicer.begin(&chapters, self.begun));
            if begun.is_some_and(|begun| begun.is_err()) {
                self.slicer = None;
            }
            self.begun += 1;
        }
        let Some(slicer) = &mut self.slicer else { return ControlFlow::Break(()) };
        slicer.push(events);
        ControlFlow::Continue(())
    }

    /// All events were read.
    pub fn finish(mut self) {
        self.end_chapter();
    }

    fn end_chapter(&mut self) {
        let slices = self.slicer.as_mut().and_then(Slicer::end);
        let is_over = slices.is_some_and(|slices| self.sliced.keep((self.index, self.begun - 1), slices).is_break());
        if is_over {
            self.slicer = None;
        }
    }
}

/// The chapters of an image, and their slices as far as there are some.
pub(crate) struct OfImage<'a> {
    chapters: &'a Chapters<'a>,
    slices: Option<(&'a Sliced, usize)>,
}

impl<'a> OfImage<'a> {
    /// Without slices.
    pub fn plain(chapters: &'a Chapters<'a>) -> OfImage<'a> {
        OfImage { chapters, slices: None }
    }

    /// With the slices of the image of this number, if there are some.
    pub fn sliced(chapters: &'a Chapters<'a>, slices: Option<(&'a Sliced, usize)>) -> OfImage<'a> {
        OfImage { chapters, slices }
    }
}

impl span::Chapters for OfImage<'_> {
    fn times(&self) -> &[(u64, u64)] {
        self.chapters.times()
    }

    fn beginning(&self, number: usize) -> Result<Chapter, Unreadable> {
        self.chapters.read(number, Wanted::Carried)
    }

    fn outline(&self, number: usize) -> Result<Chapter, Unreadable> {
        self.chapters.read(number, Wanted::Outline)
    }

    fn sums(&self, number: usize) -> Result<Chapter, Unreadable> {
        self.chapters.read(number, Wanted::Sites)
    }

    fn parts(&self, number: usize) -> Result<Option<Parts>, Unreadable> {
        self.chapters.parts(number)
    }

    fn events(&self, number: usize, take: &mut dyn FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), Unreadable> {
        self.chapters.for_each_events(number, take)
    }

    fn patterns(&self, number: usize) -> Result<Vec<(Option<NodeId>, Pattern)>, Unreadable> {
        self.chapters.patterns(number)
    }

    fn slices(&self, number: usize) -> Option<Arc<span::Slices>> {
        let (sliced, image) = self.slices?;
        sliced.of(image, number)
    }
}
