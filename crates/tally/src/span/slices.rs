//! Chapters, cut finer: a span of time that begins and ends at cuts is added up without reading an event.
//!
//! To cut a chapter, its events are read once. Each slice says what a window over its events finds, so that slices add up
//! as chapters do. Its rows are of a call stack and a thread: those of some threads add up to what these threads did.

use super::sparse_rows::{Rows, SparseRows};
use super::sums::{Sums, minus};
use super::{Aggregator, Chapters, Live, Part, Selection, Split, live_of, unpack};
use memtoll_trace::chapter::{Chapter, CurvePart};
use memtoll_trace::event::Event;
use memtoll_trace::ids::{Bytes, NodeId};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::summary::{LiveCurve, PeakWithMappings};
use memtoll_trace::unreadable::Unreadable;

/// The events of a chapter between two cuts.
pub struct Slice<Sites = Vec<(Option<NodeId>, Metrics)>> {
    /// Time of the first and of the last event, units.
    pub times: (u64, u64),
    /// What there is when it begins.
    pub begins: PeakWithMappings,
    /// The highest number of bytes live in it, its begin included.
    pub highest: u64,
    /// When that was, units.
    pub highest_time: u64,
    /// The highest sum of these and the program's own mappings.
    pub with_mappings: PeakWithMappings,
    /// How the live curve goes on from the chapter's begin to the slice's end.
    pub curve: CurvePart,
    /// What happened at each site. Peaks are the site's share of `highest`; live bytes and blocks are what is added to
    /// them, and wrap around. Sites to which nothing happened are not here.
    pub sites: Sites,
}

/// The slices of a chapter.
pub struct Slices {
    /// What chapters before this one add up to, for spans that begin in it.
    pub(super) before: Before,
    /// In the order of time.
    pub all: Vec<Slice<SparseRows>>,
    /// How the live curve goes on to the chapter's end.
    pub(super) curve: CurvePart,
    /// What there is when the chapter has ended.
    pub(super) end: PeakWithMappings,
}

/// What all chapters before one add up to.
#[derive(Default)]
pub(super) struct Before {
    /// What is live, by call stack and thread.
    pub live: Vec<(Option<NodeId>, u64, Live)>,
    /// Live bytes over time.
    pub curve: LiveCurve,
}

impl Before {
    /// Goes on behind a chapter, without its events. `false`: only these tell.
    fn pass(&mut self, chapters: &impl Chapters, number: usize) -> Result<bool, Unreadable> {
        let asked = by_thread();
        let (chapter, Some(rows)) = unpack(chapters, &asked, number)? else { return Ok(false) };
        let mut sums = Sums::default();
        sums.go_on(self, &asked);
        rows.each(|node, thread, metrics| _ = sums.change(node, thread, live_of(metrics)));
        chapter.curve.extend(&mut sums.curve);
        *self = Before { live: sums.live(), curve: sums.curve };
        Ok(true)
    }
}

/// What slices tell apart.
fn by_thread() -> Part {
    Part::all(Selection { split: Split::Thread, ..Selection::default() })
}

impl Slices {
    /// Memory that they take, bytes.
    pub fn bytes(&self) -> usize {
        let of = |slice: &Slice<SparseRows>| {
            size_of::<Slice<SparseRows>>() + slice.sites.bytes() + slice.curve.highest.len() * 8
        };
        let curves = size_of_val(&*self.before.curve.highest) + size_of_val(&*self.curve.highest);
        self.all.iter().map(of).sum::<usize>() + size_of_val(&*self.before.live) + curves
    }
}

/// The first time that is in another slice than `time`. Events at a cut are a slice of their own: they end one span and begin
/// another.
fn end_of(cuts: &[u64], time: u64) -> u64 {
    match cuts.get(cuts.partition_point(|cut| *cut < time)) {
        Some(&cut) if cut == time => time.saturating_add(1),
        next => next.copied().unwrap_or(u64::MAX),
    }
}

/// Which chapters are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    All,
    /// Those in which a span may begin or end: for sums of spans, which have others as they are.
    Crossed,
}

impl Which {
    fn admits(self, (first, last): (u64, u64), cuts: &[u64]) -> bool {
        let next = cuts.get(cuts.partition_point(|cut| *cut < first));
        self == Which::All || next.is_some_and(|cut| *cut <= last)
    }
}

/// Cuts the chapters of an image, one after the other: for a caller that reads events anyway.
pub struct Slicer<'a> {
    cuts: &'a [u64],
    which: Which,
    /// What the chapters that were passed add up to.
    before: Before,
    /// The chapter that is being cut.
    open: Option<(Chapter, Cutter<'a, SparseRows>)>,
}

impl<'a> Slicer<'a> {
    /// Before the first chapter. `cuts` are in ascending order.
    pub fn new(cuts: &'a [u64], which: Which) -> Slicer<'a> {
        Slicer { cuts, which, before: Before::default(), open: None }
    }

    /// Goes on to the next chapter.
    pub fn begin(&mut self, chapters: &impl Chapters, number: usize) -> Result<(), Unreadable> {
        let is_passed = chapters.times().get(number).is_some_and(|times| !self.which.admits(*times, self.cuts));
        if is_passed && self.before.pass(chapters, number)? {
            return Ok(());
        }
        let chapter = chapters.beginning(number)?;
        let (live, curve) = (self.before.live.clone(), Some(self.before.curve.clone()));
        let cutter = Cutter::resume(&by_thread(), self.cuts, &chapter, live, curve);
        self.open = Some((chapter, cutter));
        Ok(())
    }

    /// Events of the chapter, in the order of their times. A chapter that is not cut ignores them.
    pub fn push(&mut self, events: &[Event]) {
        if let Some((_, cutter)) = &mut self.open {
            events.iter().for_each(|event| cutter.push(event));
        }
    }

    /// The chapter has no more events. Its slices, if it is cut.
    pub fn end(&mut self) -> Option<Slices> {
        let (chapter, cutter) = self.open.take()?;
        let Cut { slices: all, end, live } = cutter.finish();
        let mut curve = self.before.curve.clone();
        chapter.curve.extend(&mut curve);
        let before = std::mem::replace(&mut self.before, Before { live, curve });
        Some(Slices { before, all, curve: chapter.curve, end })
    }
}

/// What a [`Cutter`] makes of events.
pub struct Cut<Sites> {
    pub slices: Vec<Slice<Sites>>,
    /// What there is behind the last one.
    end: PeakWithMappings,
    /// What is live then of each site.
    live: Vec<(Option<NodeId>, u64, Live)>,
}

/// Cuts events, which come in the order of their times.
pub struct Cutter<'a, R> {
    replay: Aggregator,
    cuts: &'a [u64],
    /// Live bytes and blocks at the last cut, by site.
    live: Vec<Live>,
    /// The live curve when the chapter began; `None`: slices have none.
    curve: Option<LiveCurve>,
    open: Option<Open>,
    slices: Vec<Slice<R>>,
}

/// A slice that has begun.
struct Open {
    /// The first time that is not in it, units.
    until: u64,
    times: (u64, u64),
    begins: PeakWithMappings,
}

impl<'a, R: Rows> Cutter<'a, R> {
    /// For an image of which no event has been seen.
    pub fn new(asked: &Part, cuts: &'a [u64]) -> Cutter<'a, R> {
        let replay = Aggregator::of_part(asked.since_the_start());
        Cutter { replay, cuts, live: Vec::new(), curve: None, open: None, slices: Vec::new() }
    }

    /// Goes on where a chapter begins, with what is live then of each site.
    pub fn resume(
        asked: &Part,
        cuts: &'a [u64],
        chapter: &Chapter,
        live: Vec<(Option<NodeId>, u64, Live)>,
        curve: Option<LiveCurve>,
    ) -> Cutter<'a, R> {
        let mut cutter = Cutter { curve: curve.clone(), ..Cutter::new(asked, cuts) };
        cutter.live = live.iter().map(|(_, _, live)| *live).collect();
        cutter.replay.resume(chapter, live.into_iter(), curve.unwrap_or_default(), None);
        cutter
    }

    #[inline]
    pub fn push(&mut self, event: &Event) {
        let time = event.time.0;
        match &mut self.open {
            Some(open) if time < open.until => open.times.1 = time,
            _ => {
                self.end();
                self.replay.tally.begin_slice(time);
                let until = end_of(self.cuts, time);
                self.open = Some(Open { until, times: (time, time), begins: self.now() });
            }
        }
        self.replay.push(event);
    }

    /// There are no more events.
    pub fn finish(mut self) -> Cut<R> {
        self.end();
        Cut { end: self.now(), live: self.replay.tally.live().collect(), slices: self.slices }
    }

    fn now(&self) -> PeakWithMappings {
        self.replay.tally.now_with_mappings(0)
    }

    fn end(&mut self) {
        let Some(Open { times, begins, .. }) = self.open.take() else { return };
        let tally = &self.replay.tally;
        let (highest, highest_time) = (tally.peak_bytes(), tally.peak_time());
        let with_mappings = tally.peak_with_mappings();
        let curve = self.curve.as_ref().map(|curve| CurvePart::between(curve, &tally.curve())).unwrap_or_default();
        let (mut sites, mut changed) = (R::default(), Vec::new());
        for (index, site, mut metrics) in self.replay.tally.sites_of_slice(&self.live) {
            let now = live_of(&metrics);
            let was = self.live.get(index).copied().unwrap_or_default();
            changed.push((index, now));
            (metrics.live_bytes, metrics.live_blocks) = minus(now, was);
            metrics.live_before = 0;
            let happened = Metrics { peak_bytes: Bytes::ZERO, peak_blocks: 0, ..metrics };
            if happened != Metrics::default() {
                sites.put(site, was, metrics);
            }
        }
        sites.finish();
        for (index, now) in changed {
            // New sites are the last ones.
            self.live.resize(self.live.len().max(index + 1), Live::default());
            self.live[index] = now;
        }
        self.slices.push(Slice { times, begins, highest, highest_time, with_mappings, curve, sites });
    }
}
