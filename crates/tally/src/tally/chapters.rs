//! While a program is recorded, its events are cut into chapters that can be read alone: this is what a tally remembers of
//! the present chapter, and how a tally goes on from the beginning of a chapter that was written.

use super::own_mappings::OwnMappings;
use super::patterns::Old;
use super::rows::counted_from_1;
use super::{LiveBlock, MAX_SIZE, NO_BLOCK, SiteIndex, Tally, Thread};
use crate::curve::CurveBuilder;
use crate::number_order::sort_by_number;
use crate::usual_call::Usual;
use crate::zeroed_memory::List;
use crate::{Everything, Select};
use memtoll_trace::chapter::{self, Carried, Chapter, Counts, GivenBack, Mapped, Reallocating, Replacement, Sites};
use memtoll_trace::ids::{BlockNo, Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::metrics::{COUNTS, Metrics, OF_CHAPTER};
use memtoll_trace::packed_sites::PackedSites;
use memtoll_trace::parts::Parts;
use memtoll_trace::summary::{LiveCurve, PeakWithMappings};

/// The present chapter.
pub(super) struct Writing {
    live_bytes: u64,
    pub highest: u64,
    highest_time: u64,
    pub with_mappings: PeakWithMappings,
    reallocating: Vec<Reallocating>,
    replacements: Vec<Replacement>,
    mapped: Option<Mapped>,
    /// Blocks from before, with their sites in the place of nodes.
    carried: Vec<Carried<SiteIndex>>,
    /// The live curve when it began.
    curve: LiveCurve,
    /// By site: how often anything had happened to it, and its sums, when the chapter began.
    before: List<(u64, Counts)>,
}

/// Programs that are so short have no chapters.
const FIRST_SITES: usize = 1;

impl Default for Writing {
    fn default() -> Self {
        Writing {
            live_bytes: 0,
            highest: 0,
            highest_time: 0,
            with_mappings: PeakWithMappings::default(),
            reallocating: Vec::new(),
            replacements: Vec::new(),
            mapped: None,
            carried: Vec::new(),
            curve: LiveCurve::default(),
            // SAFETY: 0 is a number.
            before: unsafe { List::new(FIRST_SITES) },
        }
    }
}

/// A chapter that has ended.
pub struct Ended {
    /// All but what it adds to the sums of call sites.
    chapter: Chapter,
    sites: Sites,
    /// Its parts, if it has not too many.
    pub parts: Option<Parts>,
}

impl Ended {
    /// As it stands in a file.
    pub fn encode(&self) -> Vec<u8> {
        chapter::encode(&self.chapter, &self.sites)
    }
}

/// What a chapter added.
struct Added {
    /// To the sums of sites.
    sites: Sites,
    /// What was usual at a site.
    usual: Vec<(SiteIndex, Usual)>,
}

impl Writing {
    /// What is live, and mapped beside it, is compared with the chapter's peaks.
    pub fn look(&mut self, now: PeakWithMappings) {
        if now.block_bytes > self.highest {
            (self.highest, self.highest_time) = (now.block_bytes, now.time);
        }
        if now.bytes() > self.with_mappings.bytes() {
            self.with_mappings = now;
        }
    }

    /// Adds what each chapter counts anew: the largest block of a site, and the operations that were called there.
    pub fn add_earlier(&self, site: usize, metrics: &mut Metrics) {
        let Some((_, counts)) = self.before.get(site) else { return };
        for (earlier, count) in counts.iter().zip(OF_CHAPTER.map(|index| COUNTS[index])) {
            if !count.adds.is_sum() {
                let now = (count.of)(metrics);
                *now = count.adds.together(*now, *earlier);
            }
        }
    }
}

impl Tally<Everything> {
    /// From now on, chapters can be written. To be said before the first event.
    pub fn keep_chapters(&mut self) {
        self.writing = Some(Box::default());
        self.apart = Some(Box::default());
    }

    /// There are no more chapters, so their parts are not needed.
    pub fn end_chapters(&mut self) {
        self.apart = None;
    }

    /// Number of call sites so far.
    pub fn sites_so_far(&self) -> usize {
        self.origins.len()
    }

    /// The chapter that ends after the last event; the next one begins. `next_block` is the number of the next block of
    /// memory. `None`: no chapters are kept.
    pub fn end_chapter(&mut self, next_block: u64) -> Option<Ended> {
        let mut writing = self.writing.take()?;
        let Added { sites, usual } = self.added(&mut writing.before);
        let parts = self.apart.as_mut().and_then(|apart| apart.take(&usual));
        let mut carried = std::mem::take(&mut writing.carried);
        // So that numbers and times differ by little from one to the next.
        sort_by_number(&mut carried, |block| block.number.0);
        let carried = carried.into_iter().map(|block| self.told(block)).collect();
        let curve = self.curve.so_far();
        let chapter = Chapter {
            live_bytes: Bytes(writing.live_bytes),
            highest: Bytes(writing.highest),
            highest_time: Units(writing.highest_time),
            with_mappings: writing.with_mappings,
            curve: chapter::CurvePart::between(&writing.curve, &curve),
            reallocating: std::mem::take(&mut writing.reallocating),
            replacements: std::mem::take(&mut writing.replacements),
            mapped: writing.mapped.take(),
            sites: PackedSites::default(),
            carried,
        };
        let live = self.live_bytes;
        let threads = self.threads.iter().enumerate().filter(|(_, thread)| thread.reallocates);
        let threads = threads.filter_map(|(number, _)| ThreadNo::new(number as u32));
        writing.reallocating = threads.map(|thread| self.reallocating(thread)).collect();
        writing.mapped = self.own.as_ref().map(|own| own.mapped());
        writing.curve = curve;
        (writing.live_bytes, writing.highest, writing.highest_time) = (live, live, 0);
        writing.with_mappings = self.now_with_mappings(0);
        self.writing = Some(writing);
        self.carried_below = next_block;
        // The mark is that of the new chapter.
        self.looks_at_mappings(0);
        Some(Ended { chapter, sites, parts })
    }

    /// An ended chapter was written: the next one uses its memory again, which it need not get page by page.
    pub fn give_back(&mut self, ended: Ended) {
        if let Some(writing) = self.writing.as_mut().filter(|writing| writing.carried.is_empty()) {
            // Both kinds are as long: collecting them keeps the memory.
            let empty = ended.chapter.carried.into_iter().take(0);
            writing.carried = empty.map(|block| Carried::of(block, SiteIndex::NONE)).collect();
        }
    }

    /// A block from before, as it is written.
    fn told(&self, block: Carried<SiteIndex>) -> Carried {
        Carried::of(block, self.origins[block.node.index()].node)
    }

    fn reallocating(&self, thread: ThreadNo) -> Reallocating {
        let old = self.patterns.as_ref().and_then(|patterns| patterns.in_hand(thread));
        let told = |old: Old| {
            let node = self.origins[old.site.index()].node;
            GivenBack { node, size: Bytes(old.size), steps: old.steps }
        };
        Reallocating { thread, given_back: old.map(told) }
    }

    /// What was added since `before`, which becomes what there is now.
    fn added(&mut self, before: &mut List<(u64, Counts)>) -> Added {
        before.reach(self.origins.len());
        let mut added = Added { sites: Sites::new(&OF_CHAPTER), usual: Vec::new() };
        let charge = self.selection().charge;
        let sites = self.origins.iter().zip(self.sites.iter_mut()).zip(before.iter_mut());
        for (index, ((origin, site), (activity, counts))) in sites.enumerate() {
            let rare = counted_from_1(&self.rare, origin.rare);
            let now = site.activity(&rare);
            if now == *activity {
                continue;
            }
            *activity = now;
            let costs = counted_from_1(&self.costs, origin.costs);
            let release_balance = site.release_balance;
            let metrics = Metrics { release_balance, ..site.metrics(&rare, costs, charge) };
            let (values, mut sums) = (metrics.values(), Counts::default());
            for ((sum, before), index) in sums.iter_mut().zip(&mut *counts).zip(OF_CHAPTER) {
                let (now, adds) = (values[index], COUNTS[index].adds);
                (*sum, *before) = match adds.is_sum() {
                    true => (now.wrapping_sub(*before), now),
                    false => (now, adds.together(now, *before)),
                };
            }
            (site.largest, site.operations) = (Bytes::ZERO, 0);
            added.sites.push(origin.node, &sums);
            added.usual.push((SiteIndex::at(index), std::mem::take(&mut site.usual)));
        }
        added
    }
}

impl<S: Select> Tally<S> {
    /// A block from before the chapter is released.
    #[cold]
    pub(super) fn carry(&mut self, number: u64, block: &LiveBlock, is_last: bool) {
        let LiveBlock { time, site, thread, .. } = *block;
        if let Some(writing) = &mut self.writing {
            let (size, steps) = (block.size(), block.steps());
            let number = BlockNo(number);
            writing.carried.push(Carried { number, size, time, node: site, thread, is_last, steps });
        }
    }

    /// The last block of a thread is from before the chapter, and has taken another one's place in it.
    #[cold]
    pub(super) fn carry_replacement(&mut self, thread: ThreadNo, last: Thread, site: SiteIndex) {
        if let Some(writing) = &mut self.writing {
            let node = self.origins[site.index()].node;
            writing.replacements.push(Replacement {
                thread,
                number: BlockNo(last.block),
                node,
                size: Bytes(last.size),
            });
        }
    }

    /// Goes on where a chapter begins: `live` are the live bytes and blocks of each site then, with its stack node and what
    /// it is split by; `curve` is the live curve. If a span has begun already, the chapter's first event was at `window`, units.
    pub(crate) fn resume(
        &mut self,
        chapter: &Chapter,
        live: impl Iterator<Item = (Option<NodeId>, u64, (Bytes, u64))>,
        curve: LiveCurve,
        window: Option<u64>,
    ) {
        for (node, extra, (bytes, blocks)) in live {
            // Threads or sizes: one of both is asked for.
            let index = self.site_of(node, ThreadNo::new(extra as u32), extra);
            let site = &mut self.sites[index];
            (site.live_bytes, site.live_blocks) = (bytes, blocks);
        }
        self.live_bytes = chapter.live_bytes.0;
        self.curve = CurveBuilder::resume(curve);
        self.begin_chapter(chapter);
        self.own = chapter.mapped.as_ref().map(|mapped| Box::new(OwnMappings::resume(mapped)));
        if let Some(time) = window {
            self.begin_window(time);
        }
    }

    /// What threads did last when a chapter begins.
    pub(crate) fn begin_chapter(&mut self, chapter: &Chapter) {
        for reallocating in &chapter.reallocating {
            self.thread(reallocating.thread).reallocates = true;
            if self.patterns.is_some() {
                let site = reallocating.given_back.map_or(0, |block| self.site_of(block.node, None, 0));
                self.patterns.iter_mut().for_each(|patterns| patterns.resume(reallocating, SiteIndex::at(site)));
            }
        }
        for block in chapter.carried.iter().filter(|block| block.is_last && block.number.0 != NO_BLOCK) {
            self.thread(block.thread).block = block.number.0;
        }
        for &Replacement { thread, number, node, size } in &chapter.replacements {
            if !self.selection.admits_part(thread, size) {
                continue;
            }
            let site = SiteIndex::at(self.site_of(node, Some(thread), size.0));
            let thread = self.thread(thread);
            (thread.block, thread.site, thread.size) = (number.0, site, size.0);
        }
    }

    /// A block from before the chapter, as [`Tally::acquire`] would have returned it.
    pub(crate) fn carried(&mut self, block: &Carried) -> LiveBlock {
        let Carried { size, time, node, thread, steps, .. } = *block;
        self.block(size.min(MAX_SIZE), time, node, thread, steps)
    }

    /// The highest number of live bytes since the span began.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }
}
