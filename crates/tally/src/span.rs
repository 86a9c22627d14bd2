//! Adds up a span of time from chapters: those that lie in it as a whole are not decoded, and of those before it only live
//! bytes are taken. What comes out is what an [`Aggregator`] finds that is given all events from the first one on.
//!
//! ```text
//! chapters   | before | before | begins in it | whole | whole | ends in it | not looked at
//!            live bytes add up  events replayed  sums add up    events replayed
//! ```
//!
//! The peak of a span is the first of the highest of its chapters' peaks. Who had which share of it is found by replaying
//! the events of that chapter. Of some threads or sizes, the peak is their share of it; so their sums add up from the parts of
//! chapters, as those of sites do that are split by threads or sizes.

mod by_group;
mod counted;
mod replays;
mod slices;
mod sparse_rows;
mod sums;
#[cfg(test)]
mod tests;

pub use by_group::{Groups, group_of};
use counted::Counted;
use replays::Run;
use slices::Cutter;
pub use slices::{Slice, Slicer, Slices, Which};
pub use sparse_rows::{SparseRow, SparseRows};
pub use sums::{Live, Sites};
use sums::{Sums, plus};

use super::{Aggregator, Charge, Part, Select, Selection, Split, in_order};
use memtoll_trace::chapter::Chapter;
use memtoll_trace::event::Event;
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::parts::Parts;
use memtoll_trace::pattern::Pattern;
use memtoll_trace::summary::{LiveCurve, PeakWithMappings};
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

const NO_CHAPTERS: Unreadable = Unreadable::Absent("there are no chapters");

/// An image's events, cut into chapters.
pub trait Chapters: Sync {
    /// First and last time of each chapter, units.
    fn times(&self) -> &[(u64, u64)];
    /// What its events need to be read alone: a chapter without the sums of its sites.
    fn beginning(&self, number: usize) -> Result<Chapter, Unreadable>;
    /// A chapter with neither.
    fn outline(&self, number: usize) -> Result<Chapter, Unreadable>;
    /// A chapter without the blocks from before it.
    fn sums(&self, number: usize) -> Result<Chapter, Unreadable>;
    /// Its parts, if they were not too many.
    fn parts(&self, number: usize) -> Result<Option<Parts>, Unreadable>;
    /// Its events, until `take` breaks.
    fn events(&self, number: usize, take: &mut dyn FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), Unreadable>;
    /// How call sites used memory in it.
    fn patterns(&self, number: usize) -> Result<Vec<(Option<NodeId>, Pattern)>, Unreadable>;
    /// Its slices, if it was cut by a [`Slicer`].
    fn slices(&self, _number: usize) -> Option<Arc<Slices>> {
        None
    }
}

/// What a span of time adds up to.
pub struct Span {
    pub sites: Sites,
    /// Live bytes of all threads and sizes over time, from the first event on.
    pub curve: LiveCurve,
    /// When these were at their peak, units.
    pub peak_time: u64,
    /// The peak of these and the program's own mappings together.
    pub peak_with_mappings: PeakWithMappings,
}

/// A site's stack node, what it is split by, and what a chapter adds to its sums.
type Row = (Option<NodeId>, u64, Metrics);

/// What a chapter adds to each site.
pub struct Added(Kept);

enum Kept {
    /// Of whole sites.
    OfSites(OfSites),
    /// Of parts of sites.
    OfParts(Vec<Row>),
}

impl Added {
    /// Each site's stack node, what it is split by, and what is added.
    pub fn each(&self, mut take: impl FnMut(Option<NodeId>, u64, &Metrics)) {
        match &self.0 {
            Kept::OfSites(OfSites { nodes, counted }) => {
                counted.each(0..nodes.len(), |site, metrics| take(nodes[site], 0, &metrics.unwrap_or_default()))
            }
            Kept::OfParts(rows) => rows.iter().for_each(|(node, extra, metrics)| take(*node, *extra, metrics)),
        }
    }
}

/// What sites counted, by their places among `nodes`.
#[derive(Default)]
struct OfSites {
    nodes: Vec<Option<NodeId>>,
    counted: Counted,
}

impl OfSites {
    fn add(&mut self, node: Option<NodeId>, mut metrics: Metrics, charge: Charge) {
        charge_with(&mut metrics, charge);
        self.counted.add(self.nodes.len(), metrics.numbers());
        self.nodes.push(node);
    }
}

/// A chapter, and what it adds to each site; `None`: only its events tell.
type Unpacked = (Chapter, Option<Added>);

/// Whether sums of sites, without their parts, answer what is asked for.
fn is_of_sites(asked: &Part) -> bool {
    asked.get().is_by_stack() && asked.admits_all_parts()
}

/// Leaves what is charged with calls that `charge` says.
fn charge_with(metrics: &mut Metrics, charge: Charge) {
    if charge == Charge::Payment {
        let Metrics { new_blocks, reallocations, frees, null_frees, .. } = *metrics;
        metrics.allocator_time = metrics.allocator_time.wrapping_add(metrics.release_balance);
        metrics.timed_calls = [reallocations, frees, null_frees].into_iter().fold(new_blocks, u64::wrapping_add);
    }
    metrics.release_balance = Units::ZERO;
}

fn unpack(chapters: &impl Chapters, asked: &Part, number: usize) -> Result<Unpacked, Unreadable> {
    let charge = asked.get().charge;
    if is_of_sites(asked) {
        let mut chapter = chapters.sums(number)?;
        let mut sites = OfSites::default();
        let packed = std::mem::take(&mut chapter.sites);
        packed.iter().for_each(|(node, metrics)| sites.add(node, metrics, charge));
        return Ok((chapter, Some(Added(Kept::OfSites(sites)))));
    }
    let Some(parts) = chapters.parts(number)? else { return Ok((chapters.outline(number)?, None)) };
    let chapter = chapters.sums(number)?;
    let admits = |thread, size| asked.admits_part(thread, Bytes(size));
    let mut rows: Vec<Row> = Vec::new();
    if asked.get().is_by_stack() {
        let mut sites = OfSites::default();
        parts.together(&chapter, admits, |node, metrics| sites.add(node, metrics, charge))?;
        return Ok((chapter, Some(Added(Kept::OfSites(sites)))));
    }
    let mut of_node = 0;
    // Of one site, what it is split by: perhaps thousands of sizes.
    let mut places: FxHashMap<u64, usize> = FxHashMap::default();
    for mut part in parts.of(&chapter)?.into_iter().filter(|part| admits(part.thread, part.size)) {
        charge_with(&mut part.metrics, charge);
        let extra = match asked.get().split {
            Split::None | Split::Process => 0,
            Split::Thread => u64::from(ThreadNo::or_zero(part.thread)),
            Split::Size => part.size,
        };
        // Parts of one site follow each other.
        if rows.get(of_node).is_none_or(|(node, ..)| *node != part.node) {
            of_node = rows.len();
            places.clear();
        }
        let next = rows.len();
        match *places.entry(extra).or_insert(next) {
            place if place < next => rows[place].2.add(&part.metrics),
            _ => rows.push((part.node, extra, part.metrics)),
        }
    }
    Ok((chapter, Some(Added(Kept::OfParts(rows)))))
}

/// What a whole chapter adds to each site; `None`: only its events tell.
pub fn sums_of_chapter(chapters: &impl Chapters, number: usize, asked: &Part) -> Result<Option<Added>, Unreadable> {
    Ok(unpack(chapters, asked, number)?.1)
}

/// Adds up what is asked for.
pub fn add_up<C: Chapters>(chapters: &C, asked: &Part) -> Result<Span, Unreadable> {
    let times = chapters.times();
    let Selection { from, to, .. } = *asked.get();
    let Some(last) = times.len().checked_sub(1) else {
        return Err(NO_CHAPTERS);
    };
    // A span without events is told by the chapter before it or behind it.
    let begin = times.iter().position(|(_, last)| *last >= from.0).unwrap_or(last);
    let behind = times[begin..].iter().position(|(first, _)| *first > to.0).map_or(times.len(), |count| begin + count);
    let end = behind.max(begin + 1);
    let mut adding = Adding { chapters, asked, sums: Sums::default(), peak: None, run: None };
    let known = chapters.slices(begin).filter(|_| asked.is_of_slices());
    if let Some(slices) = &known {
        adding.sums.go_on(&slices.before, asked);
    }
    let passed = if known.is_some() { begin..begin } else { 0..begin };
    adding.each(passed, |adding, number, (chapter, rows)| {
        match rows {
            Some(rows) => {
                adding.end_passed();
                rows.each(|node, extra, metrics| _ = adding.sums.change(node, extra, live_of(metrics)));
            }
            None => adding.pass_events(number, times[number].0)?,
        }
        chapter.curve.extend(&mut adding.sums.curve);
        Ok(())
    })?;
    adding.end_passed();
    adding.sums.live_at_begin = adding.sums.live.clone();
    // Slices say all of the chapters in which the span begins and ends, if it does so at cuts.
    let is_sliced = |adding: &mut Adding<C>, number: usize| {
        let (first, last) = times[number];
        let is_whole = from <= Units(first) && last <= to.0;
        let slices = adding.slices(number, (first, last)).filter(|_| !is_whole);
        slices
            .inspect(|slices| {
                adding.end_run();
                adding.sliced(slices, last <= to.0);
            })
            .is_some()
    };
    let next = begin + usize::from(is_sliced(&mut adding, begin));
    let ends = next < end && adding.slices(end - 1, times[end - 1]).is_some() && Units(times[end - 1].1) > to;
    adding.each(next..end - usize::from(ends), |adding, number, (chapter, rows)| {
        let (first, last) = times[number];
        match rows {
            Some(rows) if from <= Units(first) && last <= to.0 => {
                adding.end_run();
                adding.whole(number, first, &chapter, &rows);
            }
            _ => match adding.slices(number, (first, last)) {
                Some(slices) => {
                    adding.end_run();
                    adding.sliced(&slices, last <= to.0);
                }
                None => adding.part(number, first, last <= to.0, &chapter)?,
            },
        }
        Ok(())
    })?;
    if ends {
        is_sliced(&mut adding, end - 1);
    }
    adding.end_run();
    adding.finish(begin)
}

/// How call sites used memory in what `selection`, which is of all sizes, selects of a chapter.
pub fn patterns(
    chapters: &impl Chapters,
    selection: Selection,
    number: usize,
) -> Result<Vec<(Option<NodeId>, Pattern)>, Unreadable> {
    let Some(&(first, last)) = chapters.times().get(number) else { return Ok(Vec::new()) };
    let Selection { from, to, .. } = selection;
    if to < Units(first) || last < from.0 {
        return Ok(Vec::new());
    }
    if from <= Units(first) && last <= to.0 {
        return chapters.patterns(number);
    }
    let chapter = chapters.beginning(number)?;
    let mut replay = Aggregator::new(selection);
    replay.keep_patterns();
    // Of what was live before, only blocks matter that are released here.
    replay.resume(&chapter, std::iter::empty(), LiveCurve::default(), None);
    push_until(chapters, number, to.0, &mut replay)?;
    Ok(replay.take_patterns())
}

/// Adds the events of a chapter.
fn push_until(chapters: &impl Chapters, number: usize, to: u64, replay: &mut Aggregator) -> Result<(), Unreadable> {
    chapters.events(number, &mut |events| {
        events.iter().for_each(|event| replay.push(event));
        match events.last() {
            Some(event) if event.time > Units(to) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })
}

/// Its share of a peak.
fn share((node, extra, of): Row) -> (Option<NodeId>, u64, Live) {
    (node, extra, (of.peak_bytes, of.peak_blocks))
}

/// By how much a chapter changes what is live of a site.
fn live_of(metrics: &Metrics) -> Live {
    (metrics.live_bytes, metrics.live_blocks)
}

/// Who had which share of the peak.
enum Shares {
    /// What was live when the span began.
    Begin,
    /// What was live at the peak of this chapter.
    Chapter(usize),
    /// By site.
    Known(Vec<Live>),
}

struct Peak {
    bytes: u64,
    time: u64,
    shares: Shares,
    with_mappings: PeakWithMappings,
}

impl Peak {
    fn look(&mut self, bytes: u64, time: u64, shares: Shares, with_mappings: PeakWithMappings) {
        if bytes > self.bytes {
            (self.bytes, self.time, self.shares) = (bytes, time, shares);
        }
        if with_mappings.bytes() > self.with_mappings.bytes() {
            self.with_mappings = with_mappings;
        }
    }
}

struct Adding<'a, C> {
    chapters: &'a C,
    asked: &'a Part,
    sums: Sums,
    /// `None` until the span begins.
    peak: Option<Peak>,
    /// The last chapters, if their events are being replayed.
    run: Option<Run>,
}

impl<C: Chapters> Adding<'_, C> {
    /// Does something with each of some chapters, in their order. All processors unpack them.
    fn each(
        &mut self,
        numbers: Range<usize>,
        mut take: impl FnMut(&mut Self, usize, Unpacked) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        let (chapters, asked) = (self.chapters, self.asked);
        let unpack = |(): &mut (), number| unpack(chapters, asked, number);
        in_order(numbers, || (), unpack, |number, unpacked| take(self, number, unpacked?))
    }

    /// The span begins with a chapter, at `first`.
    fn begin(&mut self, first: u64, chapter: &Chapter) -> Peak {
        self.sums.begin();
        let mapped = chapter.mapped.as_ref();
        let mapped_bytes = mapped.map_or(0, |mapped| mapped.touched_bytes().0);
        let reserved_bytes = mapped.map_or(0, |mapped| mapped.reserved_bytes().0);
        let (bytes, time) = (chapter.live_bytes, if self.asked.get().from == Units::ZERO { 0 } else { first });
        let with_mappings = PeakWithMappings { block_bytes: bytes.0, mapped_bytes, reserved_bytes, time };
        Peak { bytes: bytes.0, time, shares: Shares::Begin, with_mappings }
    }

    /// A chapter that lies in the span.
    fn whole(&mut self, number: usize, first: u64, chapter: &Chapter, rows: &Added) {
        let peak = self.peak.take().unwrap_or_else(|| self.begin(first, chapter));
        let sums = &mut self.sums;
        let peak = self.peak.insert(peak);
        peak.look(chapter.highest.0, chapter.highest_time.0, Shares::Chapter(number), chapter.with_mappings);
        chapter.curve.extend(&mut sums.curve);
        let mut changes = Vec::new();
        rows.each(|node, extra, metrics| {
            let by = live_of(metrics);
            let site = sums.change(node, extra, by);
            sums.add_numbers(site, metrics.numbers());
            if by != Live::default() {
                changes.push((site as u32, by));
            }
        });
        sums.changes.push(changes);
    }

    /// The slices of a chapter in which the span begins or ends, if it does so at cuts.
    fn slices(&self, number: usize, (first, last): (u64, u64)) -> Option<Arc<Slices>> {
        let Selection { from, to, .. } = *self.asked.get();
        let slices = self.chapters.slices(number).filter(|_| self.asked.is_of_slices())?;
        let crosses = |at: u64| slices.all.iter().any(|slice| slice.times.0 < at && at <= slice.times.1);
        let is_cut = !(from > Units(first) && crosses(from.0) || to < Units(last) && crosses((to + Units(1)).0));
        let has_events = slices.all.iter().any(|slice| from <= Units(slice.times.0) && slice.times.1 <= to.0);
        (is_cut && (has_events || from > Units::ZERO)).then_some(slices)
    }

    /// The same as [`Adding::part`], from slices.
    fn sliced(&mut self, slices: &Slices, goes_on: bool) {
        let Selection { from, to, .. } = *self.asked.get();
        let (mut changes, mut curve) = (Vec::new(), goes_on.then_some(&slices.curve));
        let all = || slices.all.iter().take_while(|slice| slice.times.1 <= to.0);
        let counts = |slice: &&Slice<SparseRows>| from <= Units(slice.times.0);
        let highest = all().filter(counts).map(|slice| slice.highest).max();
        for slice in all() {
            let counts = counts(&slice);
            if counts {
                let begins = self.peak.is_none();
                if begins {
                    self.sums.begin();
                }
                let mut with_mappings = slice.with_mappings;
                if begins && from == Units::ZERO && with_mappings.bytes() == 0 {
                    with_mappings.time = 0;
                }
                let is_higher = self.peak.as_ref().is_none_or(|peak| slice.highest > peak.bytes);
                let peak = self.peak.get_or_insert(Peak { bytes: 0, time: 0, shares: Shares::Begin, with_mappings });
                // Who had which share of a lower one does not matter.
                if is_higher && Some(slice.highest) == highest {
                    let is_at_zero = from == Units::ZERO && slice.highest == slice.begins.block_bytes;
                    peak.time = if begins && is_at_zero { 0 } else { slice.highest_time };
                    let shares = self.sums.shares_of(&slice.sites, self.asked);
                    (peak.bytes, peak.shares) = (slice.highest, Shares::Known(shares));
                }
                if slice.with_mappings.bytes() > peak.with_mappings.bytes() {
                    peak.with_mappings = slice.with_mappings;
                }
            }
            if !goes_on {
                curve = Some(&slice.curve);
            }
            for row in slice.sites.of(self.asked) {
                let site = self.sums.site_of(&row, self.asked);
                self.sums.live[site] = plus(self.sums.live[site], row.change);
                if row.change != Live::default() {
                    changes.push((site as u32, row.change));
                }
                if counts {
                    self.sums.add_numbers(site, row.happened);
                }
            }
        }
        self.sums.changes.push(changes);
        curve.iter().for_each(|curve| curve.extend(&mut self.sums.curve));
        if self.peak.is_none() {
            // Nothing happens in the span: it has what is live when it begins.
            self.sums.begin();
            let next = slices.all.iter().find(|slice| slice.times.0 > to.0);
            let live = next.map_or(slices.end, |slice| slice.begins);
            self.peak = Some(Peak {
                bytes: live.block_bytes,
                time: from.0,
                shares: Shares::Known(self.sums.live.clone()),
                with_mappings: PeakWithMappings { time: from.0, ..live },
            });
        }
    }

    /// `begin` is the first chapter of the span.
    fn finish(mut self, begin: usize) -> Result<Span, Unreadable> {
        let peak = self.peak.take().ok_or(NO_CHAPTERS)?;
        let shares: Vec<Live> = match peak.shares {
            Shares::Begin => self.sums.live_at_begin.clone(),
            Shares::Known(shares) => shares,
            Shares::Chapter(number) => {
                let live = self.sums.live_before(number - begin);
                if let Some(slices) = self.chapters.slices(number).filter(|_| self.asked.is_of_slices()) {
                    let shares = self.sums.shares_at(live, &slices, self.asked, peak.bytes);
                    return Ok(self.sums.finish(shares, peak.time, peak.with_mappings));
                }
                let live = self.sums.with_sites(&live);
                let highest_time = self.chapters.sums(number)?.highest_time;
                let mut replay = self.replay(number, live, Some(highest_time.0))?;
                replay.settle();
                self.sums.by_site(replay.sites(|_| false).map(share))
            }
        };
        Ok(self.sums.finish(shares, peak.time, peak.with_mappings))
    }
}
