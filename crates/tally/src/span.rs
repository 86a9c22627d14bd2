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
mod replays;
mod slices;
#[cfg(test)]
mod tests;

pub use by_group::{Groups, group_of};
use replays::Run;
use slices::{Before, Cutter};
pub use slices::{Slice, Slices, cut};

use super::{Aggregator, Charge, Part, Select, Selection, Split};
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
    /// A chapter.
    fn chapter(&self, number: usize) -> Result<Chapter, Unreadable>;
    /// The same without the blocks from before it.
    fn sums(&self, number: usize) -> Result<Chapter, Unreadable>;
    /// Its parts, if they were not too many.
    fn parts(&self, number: usize) -> Result<Option<Parts>, Unreadable>;
    /// Its events, until `take` breaks.
    fn events(&self, number: usize, take: &mut dyn FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), Unreadable>;
    /// How call sites used memory in it.
    fn patterns(&self, number: usize) -> Result<Vec<(Option<NodeId>, Pattern)>, Unreadable>;
    /// Its slices, if it was [`cut`].
    fn slices(&self, _number: usize) -> Option<Arc<Slices>> {
        None
    }
}

/// What a span of time adds up to.
pub struct Span {
    /// Stack node of each site, what it is split by, and its sums.
    pub sites: Vec<(Option<NodeId>, u64, Metrics)>,
    /// Live bytes of all threads and sizes over time, from the first event on.
    pub curve: LiveCurve,
    /// When these were at their peak, units.
    pub peak_time: u64,
    /// The peak of these and the program's own mappings together.
    pub peak_with_mappings: PeakWithMappings,
}

/// Chapters that are unpacked at a time.
const BATCH: usize = 32;

/// A site's stack node, what it is split by, and what a chapter adds to its sums.
pub type Row = (Option<NodeId>, u64, Metrics);

/// A chapter, and what it adds to each site; `None`: only its events tell.
type Unpacked = (Chapter, Option<Vec<Row>>);

/// Whether sums of sites, without their parts, answer what is asked for.
fn is_of_sites(asked: &Part) -> bool {
    asked.get().is_by_stack() && asked.admits_all_parts()
}

/// What is charged with calls that `charge` says.
fn charged(counts: &Metrics, charge: Charge) -> Metrics {
    let metrics = Metrics { release_balance: Units::ZERO, ..*counts };
    let Metrics { new_blocks, reallocations, frees, null_frees, allocator_time, release_balance, .. } = *counts;
    match charge {
        Charge::Allocation => metrics,
        Charge::Payment => Metrics {
            allocator_time: allocator_time.wrapping_add(release_balance),
            timed_calls: [reallocations, frees, null_frees].into_iter().fold(new_blocks, u64::wrapping_add),
            ..metrics
        },
    }
}

fn unpack(chapters: &impl Chapters, asked: &Part, number: usize) -> Result<Unpacked, Unreadable> {
    let mut chapter = chapters.sums(number)?;
    let charge = asked.get().charge;
    if is_of_sites(asked) {
        let sites = std::mem::take(&mut chapter.sites);
        let rows = sites.iter().map(|(node, metrics)| (*node, 0, charged(metrics, charge)));
        return Ok((chapter, Some(rows.collect())));
    }
    let Some(parts) = chapters.parts(number)? else { return Ok((chapter, None)) };
    let mut rows: Vec<Row> = Vec::new();
    let mut of_node = 0;
    // Of one site, what it is split by: perhaps thousands of sizes.
    let mut places: FxHashMap<u64, usize> = FxHashMap::default();
    for part in parts.of(&chapter)? {
        if !asked.admits_part(part.thread, Bytes(part.size)) {
            continue;
        }
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
            place if place < next => rows[place].2.add(&charged(&part.metrics, charge)),
            _ => rows.push((part.node, extra, charged(&part.metrics, charge))),
        }
    }
    Ok((chapter, Some(rows)))
}

/// What a whole chapter adds to each site; `None`: only its events tell.
pub fn sums_of_chapter(chapters: &impl Chapters, number: usize, asked: &Part) -> Result<Option<Vec<Row>>, Unreadable> {
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
    // Live bytes do not depend on whom costs are charged to.
    let known = chapters.slices(begin).filter(|_| is_of_sites(asked));
    if let Some(slices) = &known {
        adding.sums.go_on(&slices.before);
    }
    let passed = if known.is_some() { begin..begin } else { 0..begin };
    adding.each(passed, |adding, number, (chapter, rows)| {
        match rows {
            Some(rows) => {
                adding.end_passed();
                adding.sums.pass(&rows);
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
                adding.whole(number, first, &chapter, rows);
            }
            _ => adding.part(number, first, last <= to.0, &chapter)?,
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
    let chapter = chapters.chapter(number)?;
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

/// Live bytes and blocks.
pub type Live = (Bytes, u64);

/// By site; sites are numbered in the order in which they first appear.
#[derive(Default)]
struct Sums {
    /// Stack nodes, and what sites are split by.
    sites: Vec<(Option<NodeId>, u64)>,
    by_node: Vec<u32>, // site + 1, of those that are not split
    by_extra: FxHashMap<(Option<NodeId>, u64), usize>,
    counts: Vec<Metrics>,
    live: Vec<Live>,
    /// When the first chapter of the span began.
    live_at_begin: Vec<Live>,
    /// What each chapter of the span changed.
    changes: Vec<Vec<(u32, Live)>>,
    curve: LiveCurve,
}

impl Sums {
    fn site(&mut self, node: Option<NodeId>, extra: u64) -> usize {
        if extra != 0 {
            let next = self.sites.len();
            let site = *self.by_extra.entry((node, extra)).or_insert(next);
            if site == next {
                self.add(node, extra);
            }
            return site;
        }
        let index = NodeId::index_of(node);
        if self.by_node.len() <= index {
            self.by_node.resize((index + 1).next_power_of_two(), 0);
        }
        if self.by_node[index] == 0 {
            self.add(node, extra);
            self.by_node[index] = self.sites.len() as u32;
        }
        self.by_node[index] as usize - 1
    }

    fn add(&mut self, node: Option<NodeId>, extra: u64) {
        self.sites.push((node, extra));
        self.counts.push(Metrics::default());
        self.live.push(Live::default());
    }

    fn change(&mut self, node: Option<NodeId>, extra: u64, by: Live) -> usize {
        let site = self.site(node, extra);
        let live = &mut self.live[site];
        *live = (live.0.wrapping_add(by.0), live.1.wrapping_add(by.1));
        site
    }

    /// As if all chapters had been passed that are before one.
    fn go_on(&mut self, before: &Before) {
        self.sites.reserve(before.live.len());
        self.counts.reserve(before.live.len());
        self.live.reserve(before.live.len());
        before.live.iter().for_each(|(node, live)| _ = self.change(*node, 0, *live));
        self.curve = before.curve.clone();
    }

    /// The span begins: what is live was live before it.
    fn begin(&mut self) {
        for (metrics, (_, blocks)) in self.counts.iter_mut().zip(&self.live) {
            metrics.live_before = *blocks;
        }
    }

    /// A chapter that counts only for what is live behind it.
    fn pass(&mut self, rows: &[Row]) {
        for (node, extra, metrics) in rows {
            self.change(*node, *extra, (metrics.live_bytes, metrics.live_blocks));
        }
    }

    fn live(&self) -> Vec<(Option<NodeId>, u64, Live)> {
        self.with_sites(&self.live)
    }

    fn with_sites(&self, live: &[Live]) -> Vec<(Option<NodeId>, u64, Live)> {
        self.sites.iter().zip(live).map(|((node, extra), live)| (*node, *extra, *live)).collect()
    }

    /// Who had which share of a slice's peak, when that is next.
    fn shares(&self, slice: &[(Option<NodeId>, Metrics)]) -> Vec<(Option<NodeId>, u64, Live)> {
        let mut shares = self.live();
        let peak = slice.iter().map(|(node, of)| (*node, 0, (of.peak_bytes, of.peak_blocks)));
        shares.extend(peak); // the later one of a node counts
        shares
    }

    fn by_site(&mut self, shares: Vec<(Option<NodeId>, u64, Live)>) -> Vec<Live> {
        let mut values = vec![Live::default(); self.sites.len()];
        for (node, extra, value) in shares {
            let site = self.site(node, extra);
            values.resize(self.sites.len(), Live::default());
            values[site] = value;
        }
        values
    }

    /// What was live when a chapter of the span began.
    fn live_before(&self, chapter: usize) -> Vec<Live> {
        let mut live = self.live_at_begin.clone();
        live.resize(self.sites.len(), Live::default());
        for &(site, by) in self.changes[..chapter].iter().flatten() {
            let live = &mut live[site as usize];
            *live = (live.0.wrapping_add(by.0), live.1.wrapping_add(by.1));
        }
        live
    }
}

impl Sums {
    /// Who had which share of the peak of a chapter that was cut. `live` is what was live before it.
    fn shares_at(&mut self, mut live: Vec<Live>, slices: &Slices, highest: u64) -> Vec<Live> {
        for slice in &slices.all {
            let is_peak = slice.highest == highest;
            for (node, metrics) in &slice.sites {
                let site = self.site(*node, 0);
                live.resize(self.sites.len(), Live::default());
                let was = live[site];
                live[site] = match is_peak {
                    true => (metrics.peak_bytes, metrics.peak_blocks),
                    false => (was.0.wrapping_add(metrics.live_bytes), was.1.wrapping_add(metrics.live_blocks)),
                };
            }
            if is_peak {
                break;
            }
        }
        live
    }

    fn finish(self, mut shares: Vec<Live>, peak_time: u64, peak_with_mappings: PeakWithMappings) -> Span {
        shares.resize(self.sites.len(), Live::default());
        let sites = self.sites.into_iter().zip(self.counts).zip(self.live.into_iter().zip(shares));
        let sites = sites.map(|(((node, extra), metrics), (live, peak))| {
            let (live_bytes, live_blocks) = live;
            let (peak_bytes, peak_blocks) = peak;
            (node, extra, Metrics { live_bytes, live_blocks, peak_bytes, peak_blocks, ..metrics })
        });
        Span { sites: sites.collect(), curve: self.curve, peak_time, peak_with_mappings }
    }
}

/// Who had which share of the peak.
enum Shares {
    /// What was live when the span began.
    Begin,
    /// What was live at the peak of this chapter.
    Chapter(usize),
    /// By site: bytes and blocks.
    Known(Vec<(Option<NodeId>, u64, Live)>),
}

struct Peak {
    bytes: u64,
    time: u64,
    shares: Shares,
    with_mappings: PeakWithMappings,
}

impl Peak {
    fn look(&mut self, bytes: u64, time: u64, shares: impl FnOnce() -> Shares, with_mappings: PeakWithMappings) {
        if bytes > self.bytes {
            (self.bytes, self.time, self.shares) = (bytes, time, shares());
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
        let asked = self.asked;
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
        let all: Vec<usize> = numbers.collect();
        for batch in all.chunks(BATCH) {
            let chapters = self.chapters;
            let mut unpacked: Vec<Option<Result<Unpacked, Unreadable>>> = batch.iter().map(|_| None).collect();
            let share = batch.len().div_ceil(threads).max(1);
            let unpack_all = |numbers: &[usize], places: &mut [Option<Result<Unpacked, Unreadable>>]| {
                numbers.iter().zip(places).for_each(|(number, place)| *place = Some(unpack(chapters, asked, *number)));
            };
            std::thread::scope(|scope| {
                let mut shares = batch.chunks(share).zip(unpacked.chunks_mut(share));
                let own = shares.next();
                for (numbers, places) in shares {
                    // Where there is no thread, the place stays empty.
                    let _ = std::thread::Builder::new().spawn_scoped(scope, move || unpack_all(numbers, places));
                }
                if let Some((numbers, places)) = own {
                    unpack_all(numbers, places);
                }
            });
            for (number, chapter) in batch.iter().zip(unpacked) {
                let chapter = chapter.unwrap_or_else(|| unpack(self.chapters, asked, *number))?;
                take(self, *number, chapter)?;
            }
        }
        Ok(())
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
    fn whole(&mut self, number: usize, first: u64, chapter: &Chapter, rows: Vec<Row>) {
        let peak = self.peak.take().unwrap_or_else(|| self.begin(first, chapter));
        let sums = &mut self.sums;
        let peak = self.peak.insert(peak);
        peak.look(chapter.highest.0, chapter.highest_time.0, || Shares::Chapter(number), chapter.with_mappings);
        chapter.curve.extend(&mut sums.curve);
        let mut changes = Vec::with_capacity(rows.len());
        for (node, extra, mut metrics) in rows {
            let by = (std::mem::take(&mut metrics.live_bytes), std::mem::take(&mut metrics.live_blocks));
            let site = sums.change(node, extra, by);
            sums.counts[site].add(&metrics);
            changes.push((site as u32, by));
        }
        sums.changes.push(changes);
    }

    /// The slices of a chapter in which the span begins or ends, if it does so at cuts.
    fn slices(&self, number: usize, (first, last): (u64, u64)) -> Option<Arc<Slices>> {
        let Selection { from, to, .. } = *self.asked.get();
        // Neither of parts nor of who paid, slices tell.
        let are_told = is_of_sites(self.asked) && self.asked.get().charge == Charge::Allocation;
        let slices = self.chapters.slices(number).filter(|_| are_told)?;
        let crosses = |at: u64| slices.all.iter().any(|slice| slice.times.0 < at && at <= slice.times.1);
        let is_cut = !(from > Units(first) && crosses(from.0) || to < Units(last) && crosses((to + Units(1)).0));
        let has_events = slices.all.iter().any(|slice| from <= Units(slice.times.0) && slice.times.1 <= to.0);
        (is_cut && (has_events || from > Units::ZERO)).then_some(slices)
    }

    /// The same as [`Adding::part`], from slices.
    fn sliced(&mut self, slices: &Slices, goes_on: bool) {
        let Selection { from, to, .. } = *self.asked.get();
        let (mut changes, mut curve) = (Vec::new(), goes_on.then_some(&slices.curve));
        for slice in slices.all.iter().take_while(|slice| slice.times.1 <= to.0) {
            let counts = from <= Units(slice.times.0);
            if counts {
                let begins = self.peak.is_none();
                if begins {
                    self.sums.begin();
                }
                let is_higher = self.peak.as_ref().is_none_or(|peak| slice.highest > peak.bytes);
                let shares = is_higher.then(|| self.sums.shares(&slice.sites));
                let is_at_zero = from == Units::ZERO && slice.highest == slice.begins.block_bytes;
                let time = if begins && is_at_zero { 0 } else { slice.highest_time };
                let mut with_mappings = slice.with_mappings;
                if begins && from == Units::ZERO && with_mappings.bytes() == 0 {
                    with_mappings.time = 0;
                }
                let peak = self.peak.get_or_insert(Peak { bytes: 0, time, shares: Shares::Begin, with_mappings });
                if let Some(shares) = shares {
                    (peak.bytes, peak.time, peak.shares) = (slice.highest, time, Shares::Known(shares));
                }
                if slice.with_mappings.bytes() > peak.with_mappings.bytes() {
                    peak.with_mappings = slice.with_mappings;
                }
            }
            if !goes_on {
                curve = Some(&slice.curve);
            }
            for (node, metrics) in &slice.sites {
                let by = (metrics.live_bytes, metrics.live_blocks);
                let site = self.sums.change(*node, 0, by);
                changes.push((site as u32, by));
                if counts {
                    let happened = Metrics {
                        live_bytes: Bytes::ZERO,
                        live_blocks: 0,
                        peak_bytes: Bytes::ZERO,
                        peak_blocks: 0,
                        ..*metrics
                    };
                    self.sums.counts[site].add(&happened);
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
                shares: Shares::Known(self.sums.live()),
                with_mappings: PeakWithMappings { time: from.0, ..live },
            });
        }
    }

    /// `begin` is the first chapter of the span.
    fn finish(mut self, begin: usize) -> Result<Span, Unreadable> {
        let peak = self.peak.take().ok_or(NO_CHAPTERS)?;
        let shares: Vec<Live> = match peak.shares {
            Shares::Begin => self.sums.live_at_begin.clone(),
            Shares::Known(sites) => self.sums.by_site(sites),
            Shares::Chapter(number) => {
                let live = self.sums.live_before(number - begin);
                if let Some(slices) = self.chapters.slices(number).filter(|_| is_of_sites(self.asked)) {
                    let shares = self.sums.shares_at(live, &slices, peak.bytes);
                    return Ok(self.sums.finish(shares, peak.time, peak.with_mappings));
                }
                let live = self.sums.with_sites(&live);
                let highest_time = self.chapters.sums(number)?.highest_time;
                let mut replay = self.replay(number, live, Some(highest_time.0))?;
                replay.settle();
                let sites = replay.sites(|_| false);
                let share = |(node, extra, of): Row| (node, extra, (of.peak_bytes, of.peak_blocks));
                self.sums.by_site(sites.map(share).collect())
            }
        };
        Ok(self.sums.finish(shares, peak.time, peak.with_mappings))
    }
}
