//! Adds up a span of time from chapters: those that lie in it as a whole are not decoded, and of those before it only live
//! bytes are taken. What comes out is what an [`Aggregator`] finds that is given all events from the first one on.
//!
//! ```text
//! chapters   | before | before | begins in it | whole | whole | ends in it | not looked at
//!            live bytes add up  events replayed  sums add up    events replayed
//! ```
//!
//! The peak of a span is the first of the highest of its chapters' peaks. Who had which share of it is found by replaying
//! the events of that chapter.

use super::{Aggregator, Charge, Selection, Split};
use memtoll_trace::chapter::Chapter;
use memtoll_trace::event::Event;
use memtoll_trace::pattern::Pattern;
use memtoll_trace::summary::{LiveCurve, Metrics, PeakWithMappings};
use std::ops::{ControlFlow, Range};

/// An image's events, cut into chapters.
pub trait Chapters: Sync {
    /// First and last time of each chapter, units.
    fn times(&self) -> &[(u64, u64)];
    /// A chapter. An error is a statement for the user.
    fn chapter(&self, number: usize) -> Result<Chapter, String>;
    /// Its events, until `take` breaks.
    fn events(&self, number: usize, take: &mut dyn FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), String>;
    /// How call sites used memory in it.
    fn patterns(&self, number: usize) -> Result<Vec<(u32, Pattern)>, String>;
}

/// What a span of time adds up to.
pub struct Span {
    /// Stack node and sums of each site.
    pub sites: Vec<(u32, Metrics)>,
    /// Live bytes over time, from the first event on.
    pub curve: LiveCurve,
    /// When live bytes were at their peak, units.
    pub peak_time: u64,
    /// The peak of live blocks and the program's own mappings together.
    pub peak_with_mappings: PeakWithMappings,
}

/// Chapters that are unpacked at a time.
const BATCH: usize = 32;

impl Selection {
    /// Whether chapters can answer this for a whole image.
    pub fn is_of_chapters(&self) -> bool {
        let by_stack = matches!(self.split, Split::None | Split::Process);
        by_stack && self.is_of_all_sizes() && self.charge == Charge::Allocation
    }
}

/// Adds up what `selection` selects, which [`Selection::is_of_chapters`].
pub fn add_up(chapters: &impl Chapters, selection: Selection) -> Result<Span, String> {
    let times = chapters.times();
    let Selection { from, to, .. } = selection;
    let Some(last) = times.len().checked_sub(1) else {
        return Err("there are no chapters".to_owned());
    };
    // A span without events is told by the chapter before it or behind it.
    let begin = times.iter().position(|(_, last)| *last >= from).unwrap_or(last);
    let behind = times[begin..].iter().position(|(first, _)| *first > to).map_or(times.len(), |count| begin + count);
    let end = behind.max(begin + 1);
    let mut adding = Adding { chapters, selection, sums: Sums::default(), peak: None };
    adding.each(0..begin, |adding, _, chapter| {
        adding.sums.pass(&chapter);
        Ok(())
    })?;
    adding.sums.live_at_begin = adding.sums.live.clone();
    adding.each(begin..end, |adding, number, chapter| {
        let (first, last) = times[number];
        match from <= first && last <= to {
            true => adding.whole(number, first, chapter),
            false => adding.part(number, first, last <= to, &chapter)?,
        }
        Ok(())
    })?;
    adding.finish(begin)
}

/// How call sites used memory in what `selection`, which [`Selection::is_of_chapters`], selects of a chapter.
pub fn patterns(chapters: &impl Chapters, selection: Selection, number: usize) -> Result<Vec<(u32, Pattern)>, String> {
    let Some(&(first, last)) = chapters.times().get(number) else { return Ok(Vec::new()) };
    let Selection { from, to, .. } = selection;
    if to < first || last < from {
        return Ok(Vec::new());
    }
    if from <= first && last <= to {
        return chapters.patterns(number);
    }
    let chapter = chapters.chapter(number)?;
    let mut replay = Aggregator::new(selection);
    replay.keep_patterns();
    // Of what was live before, only blocks matter that are released here.
    replay.resume(&chapter, std::iter::empty(), LiveCurve::default(), None);
    push_until(chapters, number, to, &mut replay)?;
    Ok(replay.take_patterns())
}

/// Adds the events of a chapter.
fn push_until(chapters: &impl Chapters, number: usize, to: u64, replay: &mut Aggregator) -> Result<(), String> {
    chapters.events(number, &mut |events| {
        events.iter().for_each(|event| replay.push(event));
        match events.last() {
            Some(event) if event.time > to => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })
}

/// Live bytes and blocks.
type Live = (u64, u64);

/// By site; sites are numbered in the order in which they first appear.
#[derive(Default)]
struct Sums {
    nodes: Vec<u32>,
    by_node: Vec<u32>, // site + 1
    counts: Vec<Metrics>,
    live: Vec<Live>,
    /// When the first chapter of the span began.
    live_at_begin: Vec<Live>,
    /// What each chapter of the span changed.
    changes: Vec<Vec<(u32, Live)>>,
    curve: LiveCurve,
    live_bytes: u64,
}

impl Sums {
    fn site(&mut self, node: u32) -> usize {
        let index = node as usize;
        if self.by_node.len() <= index {
            self.by_node.resize((index + 1).next_power_of_two(), 0);
        }
        if self.by_node[index] == 0 {
            self.nodes.push(node);
            self.counts.push(Metrics::default());
            self.live.push((0, 0));
            self.by_node[index] = self.nodes.len() as u32;
        }
        self.by_node[index] as usize - 1
    }

    fn change(&mut self, node: u32, by: Live) -> usize {
        let site = self.site(node);
        let live = &mut self.live[site];
        *live = (live.0.wrapping_add(by.0), live.1.wrapping_add(by.1));
        site
    }

    /// A chapter that counts only for what is live behind it.
    fn pass(&mut self, chapter: &Chapter) {
        chapter.curve.extend(&mut self.curve);
        self.live_bytes = chapter.live_bytes;
        for (node, metrics) in &chapter.sites {
            self.change(*node, (metrics.live_bytes, metrics.live_allocations));
            self.live_bytes = self.live_bytes.wrapping_add(metrics.live_bytes);
        }
    }

    fn live(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        self.nodes.iter().zip(&self.live).map(|(node, live)| (*node, live.0, live.1))
    }

    fn by_site(&mut self, nodes: Vec<(u32, Live)>) -> Vec<Live> {
        let mut values = vec![(0, 0); self.nodes.len()];
        for (node, value) in nodes {
            let site = self.site(node);
            values.resize(self.nodes.len(), (0, 0));
            values[site] = value;
        }
        values
    }

    /// What was live when a chapter of the span began.
    fn live_before(&self, chapter: usize) -> Vec<Live> {
        let mut live = self.live_at_begin.clone();
        live.resize(self.nodes.len(), (0, 0));
        for &(site, by) in self.changes[..chapter].iter().flatten() {
            let live = &mut live[site as usize];
            *live = (live.0.wrapping_add(by.0), live.1.wrapping_add(by.1));
        }
        live
    }
}

/// Who had which share of the peak.
enum Shares {
    /// What was live when the span began.
    Begin,
    /// What was live at the peak of this chapter.
    Chapter(usize),
    /// By site: bytes and blocks.
    Known(Vec<(u32, Live)>),
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
    selection: Selection,
    sums: Sums,
    /// `None` until the span begins.
    peak: Option<Peak>,
}

impl<C: Chapters> Adding<'_, C> {
    /// Does something with each of some chapters, in their order. All processors unpack them.
    fn each(
        &mut self,
        numbers: Range<usize>,
        mut take: impl FnMut(&mut Self, usize, Chapter) -> Result<(), String>,
    ) -> Result<(), String> {
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
        let all: Vec<usize> = numbers.collect();
        for batch in all.chunks(BATCH) {
            let chapters = self.chapters;
            let mut unpacked: Vec<Option<Result<Chapter, String>>> = batch.iter().map(|_| None).collect();
            let share = batch.len().div_ceil(threads).max(1);
            let unpack = |numbers: &[usize], places: &mut [Option<Result<Chapter, String>>]| {
                numbers.iter().zip(places).for_each(|(number, place)| *place = Some(chapters.chapter(*number)));
            };
            std::thread::scope(|scope| {
                let mut shares = batch.chunks(share).zip(unpacked.chunks_mut(share));
                let own = shares.next();
                for (numbers, places) in shares {
                    // Where there is no thread, the place stays empty.
                    let _ = std::thread::Builder::new().spawn_scoped(scope, move || unpack(numbers, places));
                }
                if let Some((numbers, places)) = own {
                    unpack(numbers, places);
                }
            });
            for (number, chapter) in batch.iter().zip(unpacked) {
                let chapter = chapter.unwrap_or_else(|| self.chapters.chapter(*number))?;
                take(self, *number, chapter)?;
            }
        }
        Ok(())
    }

    /// The span begins with a chapter, at `first`.
    fn begin(&mut self, first: u64, chapter: &Chapter) -> Peak {
        for (metrics, (_, blocks)) in self.sums.counts.iter_mut().zip(&self.sums.live) {
            metrics.live_before = *blocks;
        }
        let mapped = chapter.mapped.iter().flat_map(|mapped| &mapped.usable.ranges);
        let mapped_bytes = mapped.fold(0u64, |sum, (_, length)| sum.wrapping_add(*length));
        let (bytes, time) = (chapter.live_bytes, if self.selection.from == 0 { 0 } else { first });
        let with_mappings = PeakWithMappings { block_bytes: bytes, mapped_bytes, time };
        Peak { bytes, time, shares: Shares::Begin, with_mappings }
    }

    /// A chapter that lies in the span.
    fn whole(&mut self, number: usize, first: u64, chapter: Chapter) {
        let live = chapter.live_bytes;
        let peak = self.peak.take().unwrap_or_else(|| self.begin(first, &chapter));
        let sums = &mut self.sums;
        let peak = self.peak.insert(peak);
        peak.look(chapter.highest, chapter.highest_time, || Shares::Chapter(number), chapter.with_mappings);
        chapter.curve.extend(&mut sums.curve);
        let mut changes = Vec::with_capacity(chapter.sites.len());
        sums.live_bytes = live;
        for (node, mut metrics) in chapter.sites {
            let by = (std::mem::take(&mut metrics.live_bytes), std::mem::take(&mut metrics.live_allocations));
            let site = sums.change(node, by);
            sums.counts[site].add(&metrics);
            sums.live_bytes = sums.live_bytes.wrapping_add(by.0);
            changes.push((site as u32, by));
        }
        sums.changes.push(changes);
    }

    /// A chapter in which the span begins or ends. `goes_on`: the span does not end in it.
    fn part(&mut self, number: usize, first: u64, goes_on: bool, chapter: &Chapter) -> Result<(), String> {
        let before = self.sums.live.clone();
        let live: Vec<(u32, u64, u64)> = self.sums.live().collect();
        let window = self.peak.is_some().then_some(first);
        let mut replay = self.replay(number, chapter, &live, window)?;
        let (bytes, time) = (replay.tally.peak_bytes(), replay.peak_time());
        let with_mappings = replay.tally.peak_with_mappings();
        let sites: Vec<(u32, Metrics)> = replay.sites(|_| false).map(|(node, _, metrics)| (node, metrics)).collect();
        let shares =
            || Shares::Known(sites.iter().map(|(node, of)| (*node, (of.peak_bytes, of.peak_allocations))).collect());
        match &mut self.peak {
            None => self.peak = Some(Peak { bytes, time, shares: shares(), with_mappings }),
            Some(peak) => peak.look(bytes, time, shares, with_mappings),
        }
        match goes_on {
            true => chapter.curve.extend(&mut self.sums.curve),
            false => self.sums.curve = replay.curve(),
        }
        let mut changes = Vec::with_capacity(chapter.sites.len());
        for (node, mut metrics) in sites {
            let now = (metrics.live_bytes, metrics.live_allocations);
            (metrics.live_bytes, metrics.live_allocations, metrics.peak_bytes, metrics.peak_allocations) = (0, 0, 0, 0);
            if window.is_some() {
                // What was live when the chapter began is no news.
                metrics.live_before = 0;
            }
            let site = self.sums.site(node);
            let was = before.get(site).copied().unwrap_or_default();
            self.sums.live[site] = now;
            self.sums.counts[site].add(&metrics);
            changes.push((site as u32, (now.0.wrapping_sub(was.0), now.1.wrapping_sub(was.1))));
        }
        self.sums.changes.push(changes);
        Ok(())
    }

    /// A chapter's events, added up.
    fn replay(
        &self,
        number: usize,
        chapter: &Chapter,
        live: &[(u32, u64, u64)],
        window: Option<u64>,
    ) -> Result<Aggregator, String> {
        let from = if window.is_some() { 0 } else { self.selection.from };
        let mut replay = Aggregator::new(Selection { from, ..self.selection });
        replay.resume(chapter, live.iter().copied(), self.sums.curve.clone(), window);
        push_until(self.chapters, number, self.selection.to, &mut replay)?;
        Ok(replay)
    }

    /// `begin` is the first chapter of the span.
    fn finish(mut self, begin: usize) -> Result<Span, String> {
        let peak = self.peak.take().ok_or("there are no chapters")?;
        let mut shares: Vec<Live> = match peak.shares {
            Shares::Begin => self.sums.live_at_begin.clone(),
            Shares::Known(sites) => self.sums.by_site(sites),
            Shares::Chapter(number) => {
                let live = self.sums.live_before(number - begin);
                let live = self.sums.nodes.iter().zip(live).map(|(node, live)| (*node, live.0, live.1));
                let live: Vec<_> = live.collect();
                let chapter = self.chapters.chapter(number)?;
                let mut replay = self.replay(number, &chapter, &live, Some(chapter.highest_time))?;
                let sites = replay.sites(|_| false);
                self.sums.by_site(sites.map(|(node, _, of)| (node, (of.peak_bytes, of.peak_allocations))).collect())
            }
        };
        let sums = self.sums;
        shares.resize(sums.nodes.len(), (0, 0));
        let sites = sums.nodes.into_iter().zip(sums.counts).zip(sums.live.into_iter().zip(shares));
        let sites = sites.map(|((node, metrics), (live, peak))| {
            let (live_bytes, live_allocations) = live;
            let (peak_bytes, peak_allocations) = peak;
            (node, Metrics { live_bytes, live_allocations, peak_bytes, peak_allocations, ..metrics })
        });
        let Peak { time: peak_time, with_mappings: peak_with_mappings, .. } = peak;
        Ok(Span { sites: sites.collect(), curve: sums.curve, peak_time, peak_with_mappings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{BlockTable, Everything, Tally};
    use memtoll_trace::event::Block;
    use memtoll_trace::op::Op;
    use memtoll_trace::{chapter, pattern};
    use proptest::prelude::*;

    const MALLOC: Op = Op(1);
    const FREE: Op = Op(10);

    /// A recording in memory.
    #[derive(Default)]
    struct Recorded {
        times: Vec<(u64, u64)>,
        chapters: Vec<Vec<u8>>,
        events: Vec<Vec<Event>>,
        patterns: Vec<Vec<u8>>,
    }

    impl Chapters for Recorded {
        fn times(&self) -> &[(u64, u64)] {
            &self.times
        }

        fn chapter(&self, number: usize) -> Result<Chapter, String> {
            chapter::decode(&self.chapters[number]).map_err(|error| error.to_string())
        }

        fn events(&self, number: usize, take: &mut dyn FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), String> {
            for events in self.events[number].chunks(5) {
                if take(events).is_break() {
                    break;
                }
            }
            Ok(())
        }

        fn patterns(&self, number: usize) -> Result<Vec<(u32, Pattern)>, String> {
            pattern::decode(&self.patterns[number]).map_err(|error| error.to_string())
        }
    }

    /// A program that does what random numbers say.
    #[derive(Default)]
    struct Program {
        events: Vec<Event>,
        blocks: u64,
        live: Vec<u64>,
        time: u64,
        /// Threads inside of a reallocation: the node of the call.
        reallocating: Vec<(u32, u32)>,
        moving: Option<u32>,
    }

    type Step = (u32, u32, u32, u64, usize);

    /// Details of mappings.
    const ANONYMOUS: u16 = 1;
    const CLOSED: u16 = 1 << 7;

    impl Program {
        fn event(&mut self, op: Op, thread: u32, node: u32, block: Block, size: u64, address: u64) {
            self.detailed(op, thread, node, block, size, address, ANONYMOUS);
        }

        #[allow(clippy::too_many_arguments, reason = "the fields of an event")]
        fn detailed(&mut self, op: Op, thread: u32, node: u32, block: Block, size: u64, address: u64, detail: u16) {
            let time = self.time;
            self.events.push(Event { time, duration: size % 7, size, address, block, node, thread, detail, op });
        }

        fn acquire(&mut self, op: Op, thread: u32, node: u32, size: u64) {
            let block = Block::Number(self.blocks);
            self.live.push(self.blocks);
            self.blocks += 1;
            self.event(op, thread, node, block, size, 0x1000);
        }

        fn step(&mut self, (kind, thread, node, size, which): Step) {
            self.time += size % 3;
            let address = 0x10_0000 + which as u64 * 4096;
            let live = (!self.live.is_empty()).then(|| which % self.live.len());
            match (kind, live) {
                (0..=5, _) => self.acquire(MALLOC, thread, node, size),
                (6..=10, Some(live)) => {
                    let number = self.live.swap_remove(live);
                    self.event(FREE, thread, node, Block::Number(number), 0, 0);
                }
                (11, Some(live)) if self.reallocating.iter().all(|(of, _)| *of != thread) => {
                    let number = self.live.swap_remove(live);
                    self.event(Op::REALLOC.release_half(), thread, node, Block::Number(number), 0, 0);
                    self.reallocating.push((thread, node));
                }
                (12, _) if !self.reallocating.is_empty() => {
                    let (thread, node) = self.reallocating.remove(which % self.reallocating.len());
                    match size {
                        0..=3 => self.event(Op::REALLOC, thread, node, Block::Null, size, 0),
                        _ => self.acquire(Op::REALLOC, thread, node, size),
                    }
                }
                (13, _) => self.event(FREE, thread, node, Block::Null, 0, 0),
                (14, _) => self.event(FREE, thread, node, Block::Unknown, 0, 16),
                (15, _) => self.event(MALLOC, thread, node, Block::Null, size, 0),
                (16, _) => self.event(Op::MMAP, thread, node, Block::None, size * 512, address),
                (17, _) => self.event(Op::MUNMAP, thread, node, Block::None, 4096 * (size % 4), address),
                (18, _) if self.moving.is_none() => {
                    self.event(Op::MREMAP.release_half(), thread, node, Block::None, 4096, address);
                    self.moving = Some(thread);
                }
                (19, _) if self.moving.is_some() => {
                    let thread = self.moving.take().unwrap_or_default();
                    self.event(Op::MREMAP, thread, node, Block::None, size * 1024, address);
                }
                (20, _) => self.detailed(Op::MMAP, thread, node, Block::None, size * 512, address, ANONYMOUS | CLOSED),
                (21 | 22, _) => {
                    let detail = if kind == 21 { 0 } else { CLOSED };
                    self.detailed(Op::MPROTECT, thread, node, Block::None, 4096 * (size % 4), address, detail);
                }
                _ => {}
            }
        }
    }

    /// What the supervisor does: adds up, and ends chapters behind some events.
    fn record(events: &[Event], ends: &[usize]) -> (Recorded, Vec<(u32, Metrics)>) {
        let mut tally = Tally::new(Everything);
        tally.keep_chapters();
        tally.keep_patterns();
        let mut recorder = Aggregator { tally, blocks: BlockTable::new() };
        let mut recorded = Recorded::default();
        let mut ends: Vec<usize> = ends.iter().map(|end| end % events.len() + 1).chain([events.len()]).collect();
        ends.sort_unstable();
        ends.dedup();
        let (mut begin, mut blocks) = (0, 0);
        for end in ends {
            for event in &events[begin..end] {
                recorder.push(event);
                if let Block::Number(number) = event.block {
                    blocks = blocks.max(number + 1);
                }
            }
            let part = &events[begin..end];
            recorded.times.push((part[0].time, part[part.len() - 1].time));
            recorded.chapters.push(chapter::encode(&recorder.tally.end_chapter(blocks).unwrap()));
            recorded.patterns.push(pattern::encode(&recorder.take_patterns()));
            recorded.events.push(part.to_vec());
            begin = end;
        }
        let sites = recorder.sites(|node| node == 9).map(|(node, _, metrics)| (node, metrics)).collect();
        (recorded, sites)
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // Mappings only now and then: most programs have none.
        let kinds = prop_oneof![0u32..16, 0u32..16, 0u32..23];
        proptest::collection::vec((kinds, 0u32..4, 8u32..14, 0u64..40, 0usize..1000), 1..300)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]
        /// Against a plain reading from the first event on.
        #[test]
        fn chapters_say_what_all_events_say(
            steps in steps(), ends in proptest::collection::vec(0usize..1000, 0..12),
            from in prop_oneof![Just(0u64), 0u64..330], length in prop_oneof![Just(u64::MAX), 0u64..200],
        ) {
            let mut program = Program::default();
            steps.into_iter().for_each(|step| program.step(step));
            program.acquire(MALLOC, 1, 9, 1);
            let selection = Selection { from, to: from.saturating_add(length), ..Selection::default() };
            let mut plain = Aggregator::new(selection);
            program.events.iter().for_each(|event| plain.push(event));
            let (recorded, whole) = record(&program.events, &ends);
            let span = add_up(&recorded, selection).unwrap();
            let sites: Vec<_> = plain.sites(|_| false).map(|(node, _, metrics)| (node, metrics)).collect();
            prop_assert_eq!(&span.sites, &sites);
            prop_assert_eq!(span.curve, plain.curve());
            prop_assert_eq!(span.peak_time, plain.peak_time());
            prop_assert_eq!(Some(span.peak_with_mappings), plain.peak_with_mappings());
            let mut by_node = std::collections::BTreeMap::<u32, Pattern>::new();
            for number in 0..recorded.times.len() {
                for (node, pattern) in patterns(&recorded, selection, number).unwrap() {
                    by_node.entry(node).or_default().add(&pattern);
                }
            }
            let mut plain = Aggregator::new(selection);
            plain.keep_patterns();
            program.events.iter().for_each(|event| plain.push(event));
            let mut plain = plain.take_patterns();
            plain.sort_by_key(|(node, _)| *node);
            prop_assert_eq!(by_node.into_iter().collect::<Vec<_>>(), plain);
            // And keeping chapters changes nothing of the sums of the whole.
            let mut plain = Aggregator::new(Selection::default());
            program.events.iter().for_each(|event| plain.push(event));
            let sites: Vec<_> = plain.sites(|node| node == 9).map(|(node, _, metrics)| (node, metrics)).collect();
            prop_assert_eq!(whole, sites);
        }
    }
}
