//! The sums themselves, without a memory of the live blocks: the caller that adds events keeps it.

mod chapters;
mod own_mappings;
mod parts;
mod patterns;
mod pooled;
mod rows;
mod touched;

use super::live_block::{AGELESS, LiveBlock, MAX_SIZE};
use super::{Select, Selection};
use crate::curve::CurveBuilder;
use crate::site::{Origin, Rare, Site};
use crate::site_index::SiteIndex;
use crate::sites_by_part::SitesByPart;
use crate::zeroed_memory::List;
use chapters::Writing;
use memtoll_trace::costs::Cost;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{BlockNo, Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::op::Op;
use memtoll_trace::summary::LiveCurve;
use own_mappings::OwnMappings;
use parts::{Apart, Call};
use patterns::Patterns;
use pooled::Lending;
use touched::Touched;

pub use patterns::Replaced;

/// A thread, and what it acquired last.
#[derive(Clone, Copy)]
struct Thread {
    block: u64,
    address: u64,
    size: u64,
    /// The block's site, as long as it is live and no other block was released in its favor.
    site: SiteIndex,
    reallocates: bool,
}

const NO_BLOCK: u64 = u64::MAX;
/// Short programs have fewer sites.
const FIRST_SITES: usize = 64;
/// Sites that stay in the caches by themselves.
const CACHED_SITES: usize = 512;

/// Adds up events, in the order of their times.
pub struct Tally<S> {
    selection: S,
    /// The sums of each of `origins`, in the same order.
    sites: List<Site>,
    origins: List<Origin>,
    /// Of the sites that have any (see [`Origin`]).
    rare: Vec<Rare>,
    /// Of the sites that have costs or calls that few have (`count` in `parts.rs`); only these fields are used.
    costs: Vec<Metrics>,
    by_node: Vec<u32>, // site + 1: the one that was asked for last, where a node has several
    by_part: SitesByPart,
    threads: Vec<Thread>,
    live_bytes: u64,
    /// There is no new peak until more is live. Without mappings of the program's own, that is `peak_bytes`.
    mark: u64,
    peak_bytes: u64,
    peak: u64, // number of the present peak
    peak_time: u64,
    in_window: bool,
    curve: CurveBuilder,
    lending: Lending,
    own: Option<Box<OwnMappings>>,
    /// Blocks with smaller numbers are from before the chapter that is written.
    carried_below: u64,
    writing: Option<Box<Writing>>,
    apart: Option<Box<Apart>>,
    patterns: Option<Box<Patterns>>,
    /// Of a window that is a slice.
    touched: Option<Touched>,
}

impl<S: Select> Tally<S> {
    /// For an image of which no event has been seen.
    pub fn new(selection: S) -> Self {
        let mut tally = Tally {
            selection,
            // SAFETY: a site that has not been seen is all zeros.
            sites: unsafe { List::looked_up(FIRST_SITES) },
            // SAFETY: so is this.
            origins: unsafe { List::new(FIRST_SITES) },
            rare: Vec::new(),
            costs: Vec::new(),
            by_node: Vec::new(),
            by_part: SitesByPart::default(),
            threads: Vec::new(),
            live_bytes: 0,
            mark: 0,
            peak_bytes: 0,
            peak: 0,
            peak_time: 0,
            in_window: false,
            curve: CurveBuilder::default(),
            lending: Lending::default(),
            own: None,
            carried_below: 0,
            writing: None,
            apart: None,
            patterns: None,
            touched: None,
        };
        if tally.selection().from == Units::ZERO {
            tally.begin_window(0);
        }
        tally
    }

    #[inline(always)]
    fn selection(&self) -> &Selection {
        self.selection.get()
    }

    #[inline(always)]
    fn in_window(&self) -> bool {
        self.selection().from == Units::ZERO || self.in_window
    }

    /// Whether events count that are added now.
    pub fn has_begun(&self) -> bool {
        self.in_window()
    }

    /// Whether all threads and sizes count.
    pub fn counts_all_parts(&self) -> bool {
        self.selection.admits_all_parts()
    }

    /// Bytes live after the last event, of all threads and sizes.
    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Whether an event counts at all. To be asked before it is added.
    #[inline(always)]
    pub fn admits(&mut self, event: &Event) -> bool {
        let Selection { from, to, .. } = *self.selection();
        if !self.in_window() && event.time >= from {
            self.begin_window(if event.time <= to { event.time.0 } else { from.0 });
        }
        event.time <= to
    }

    /// There are no more events. Where none was in the selected time, it has what was live when it began.
    pub fn settle(&mut self) {
        if !self.in_window() {
            self.begin_window(self.selection().from.0);
        }
    }

    #[cold]
    fn begin_window(&mut self, time: u64) {
        self.in_window = true;
        self.begin_peaks(time);
        self.forget_counts();
    }

    fn forget_counts(&mut self) {
        (0..self.origins.len()).for_each(|site| self.forget_counts_of(site));
        if let Some(patterns) = &mut self.patterns {
            patterns.forget();
        }
    }

    fn forget_counts_of(&mut self, index: usize) {
        let site = &mut self.sites[index];
        site.begin_window();
        let live_before = site.live_blocks;
        if live_before > 0 || self.origins[index].rare > 0 {
            *self.rare(index) = Rare { live_before, ..Rare::default() };
        }
    }

    /// The index of the event's site. `size` is that of the block it is about, bytes.
    #[inline(always)]
    fn site(&mut self, event: &Event, size: u64) -> usize {
        self.site_of(event.node, Some(event.thread), size)
    }

    /// The index of the site of a stack node.
    #[inline(always)]
    fn site_of(&mut self, node: Option<NodeId>, thread: Option<ThreadNo>, size: u64) -> usize {
        if let Some(&site) = self.by_node.get(NodeId::index_of(node))
            && site != 0
            && (self.selection().is_by_stack()
                || self.origins[site as usize - 1].extra == self.selection().extra(thread, size))
        {
            return site as usize - 1;
        }
        self.find_site(node, thread, size)
    }

    #[cold]
    fn find_site(&mut self, node: Option<NodeId>, thread: Option<ThreadNo>, size: u64) -> usize {
        let extra = self.selection().extra(thread, size);
        let is_inherited = node.is_some_and(NodeId::is_inherited);
        let latest = self.by_node.get(NodeId::index_of(node)).and_then(|site| site.checked_sub(1)).map(SiteIndex::new);
        let site = match latest {
            // Most nodes have one site only, which no other table knows.
            None if !is_inherited => self.add_site(node, extra),
            latest => match self.by_part.get(node, extra) {
                Some(site) => site.index(),
                None => {
                    let site = self.add_site(node, extra);
                    let latest = latest.map(|latest| (self.origins[latest.index()].extra, latest));
                    let unknown = latest.filter(|(extra, _)| self.by_part.get(node, *extra).is_none());
                    for (extra, site) in unknown.into_iter().chain([(extra, SiteIndex::at(site))]) {
                        self.by_part.insert(node, extra, site);
                    }
                    site
                }
            },
        };
        if !is_inherited {
            self.is_latest(node, site);
        }
        site
    }

    /// Whether there are too many sites for the caches.
    #[inline(always)]
    pub fn is_beyond_caches(&self) -> bool {
        self.sites.len() > CACHED_SITES
    }

    /// Where the sums stand of the site of a stack node, if it has one and there are too many of them for the caches: to be
    /// fetched before its next event is added.
    #[inline(always)]
    pub fn place_of_node(&self, node: Option<NodeId>) -> Option<[*const u8; 3]> {
        if !self.is_beyond_caches() {
            return None;
        }
        let site = self.by_node.get(NodeId::index_of(node))?.checked_sub(1)?;
        self.place_of_site(SiteIndex::new(site))
    }

    /// The same of the site that acquired a block.
    #[inline(always)]
    pub fn place_of_block(&self, block: &LiveBlock) -> Option<[*const u8; 3]> {
        if !self.is_beyond_caches() {
            return None;
        }
        self.place_of_site(block.site)
    }

    #[inline(always)]
    fn place_of_site(&self, site: SiteIndex) -> Option<[*const u8; 3]> {
        let sums = self.sites.as_ptr().wrapping_add(site.index()).cast::<u8>();
        let patterns = self.patterns.as_ref().map_or(sums, |patterns| patterns.place_of(site.index()));
        Some([sums, sums.wrapping_add(size_of::<Site>() / 2), patterns])
    }

    fn add_site(&mut self, node: Option<NodeId>, extra: u64) -> usize {
        let index = self.origins.len();
        self.sites.reach(index + 1);
        self.origins.push(Origin { node, extra, ..Origin::default() });
        index
    }

    /// The next event of a node is probably of the same site.
    fn is_latest(&mut self, node: Option<NodeId>, site: usize) {
        let index = NodeId::index_of(node);
        if self.by_node.len() <= index {
            self.by_node.resize((index + 1).next_power_of_two(), 0);
        }
        self.by_node[index] = site as u32 + 1;
    }

    #[inline(always)]
    fn thread(&mut self, thread: ThreadNo) -> &mut Thread {
        let index = thread.index();
        if index >= self.threads.len() {
            self.add_threads(index);
        }
        &mut self.threads[index]
    }

    #[cold]
    fn add_threads(&mut self, index: usize) {
        let nothing = Thread { block: NO_BLOCK, address: 0, size: 0, site: SiteIndex::NONE, reallocates: false };
        self.threads.resize(index + 1, nothing);
    }

    /// Adds an acquisition. If it is about a block that counts, returns what [`Tally::release`] will want to know.
    // Always inlined: handed over in memory, the result would be read by other steps than it was written, and wait.
    #[inline(always)]
    pub fn acquire(&mut self, event: &Event) -> Option<LiveBlock> {
        let Block::Number(number) = event.block else {
            self.acquire_nothing(event);
            return None;
        };
        if event.op == Op::BEFORE {
            return Some(self.was_there(event));
        }
        let reallocates = event.op.is_reallocation() && std::mem::take(&mut self.thread(event.thread).reallocates);
        let size = event.size.min(MAX_SIZE);
        let thread = self.thread(event.thread);
        (thread.block, thread.site) = (number.0, SiteIndex::NONE);
        if !self.selection.admits_part(event.thread, size) {
            self.adds(event.time.0, size.0);
            return Some(LiveBlock::uncounted(size, event.time, event.node, event.thread, 0));
        }
        let index = self.site(event, size.0);
        let mut steps = 0;
        if let Some(patterns) = &mut self.patterns {
            patterns.acquired(index, event, size.0);
            if reallocates {
                steps = patterns.reallocated(index, event.thread, size.0);
            }
            if let Some(thread) = self.threads.get_mut(event.thread.index()) {
                (thread.site, thread.size, thread.address) = (SiteIndex::at(index), size.0, event.address.0);
            }
        }
        let site = &mut self.sites[index];
        site.keep_peak(self.peak);
        // Numbers of a damaged file may be beyond all sums.
        site.live_bytes = site.live_bytes.wrapping_add(size);
        site.live_blocks = site.live_blocks.wrapping_add(1);
        site.bytes = site.bytes.wrapping_add(size);
        site.allocator_time += event.duration;
        site.operations |= event.op.bit();
        site.largest = site.largest.max(size);
        site.new_blocks += !reallocates as u64;
        if reallocates {
            site.reallocations += 1;
        }
        self.called(index, event, size.0, Call::Acquired { reallocates });
        self.adds(event.time.0, size.0);
        Some(LiveBlock::new(size, event.time, SiteIndex::at(index), event.thread, steps))
    }

    /// Adds a block that a process had when memtoll was attached to it: as if it had been live when a window began.
    #[cold]
    fn was_there(&mut self, event: &Event) -> LiveBlock {
        let size = event.size.min(MAX_SIZE);
        let block = self.block(size, event.time, event.node, event.thread, AGELESS);
        if self.counts(&block) {
            let site = &mut self.sites[block.site.index()];
            site.keep_peak(self.peak);
            site.live_bytes = site.live_bytes.wrapping_add(size);
            site.live_blocks = site.live_blocks.wrapping_add(1);
            self.rare(block.site.index()).live_before += 1;
            self.block_was_there(&block);
        }
        self.adds(event.time.0, size.0);
        block
    }

    /// Adds live bytes.
    #[inline(always)]
    fn adds(&mut self, time: u64, size: u64) {
        self.changes(time, self.live_bytes.wrapping_add(size));
        if self.live_bytes > self.mark && self.in_window() {
            self.rises(time);
        }
    }

    /// Sets the live bytes, which are no more than ever before.
    #[inline(always)]
    fn changes(&mut self, time: u64, now: u64) {
        self.curve.change(time, self.live_bytes, now);
        self.live_bytes = now;
    }

    /// An acquisition that failed, or a reallocation to nothing.
    #[cold]
    fn acquire_nothing(&mut self, event: &Event) {
        let reallocates = event.op.is_reallocation() && std::mem::take(&mut self.thread(event.thread).reallocates);
        if !self.selection.admits_part(event.thread, event.size) {
            return;
        }
        let index = self.site(event, event.size.0);
        let site = &mut self.sites[index];
        site.allocator_time += event.duration;
        site.operations |= event.op.bit();
        site.reallocations += reallocates as u64;
        let rare = self.rare(index);
        rare.other_events += !reallocates as u64;
        // realloc to size 0 gives no block and has not failed.
        let has_failed = !(reallocates && event.size == Bytes::ZERO);
        rare.resized += reallocates as u64;
        self.called(index, event, event.size.0, Call::Nothing { reallocates, has_failed });
    }

    /// Adds a release. `block` is what [`Tally::acquire`] returned for its block, if there is one. Returns another block if
    /// this one was released in its favor; its keeper must note how often it has grown.
    #[inline(always)]
    pub fn release(&mut self, event: &Event, block: Option<LiveBlock>) -> Option<Replaced> {
        let reallocates = event.op.is_release_half();
        let counted = block.filter(|block| self.counts(block));
        let mut replaced = None;
        if let Some(block) = counted {
            let mut temporary = false;
            let mut perhaps_replaced = false;
            if let Some(last) = self.threads.get_mut(block.thread.index()) {
                temporary = event.block == Block::Number(BlockNo(last.block));
                perhaps_replaced = last.site == block.site
                    && last.size > block.size().0
                    && event.thread == block.thread
                    && !temporary
                    && !reallocates;
                if temporary {
                    last.site = SiteIndex::NONE;
                }
            }
            if let Block::Number(number) = event.block
                && number.0 < self.carried_below
            {
                self.carry(number.0, &block, temporary);
            }
            let is_ageless = block.is_ageless();
            if is_ageless {
                self.rare(block.site.index()).freed_ageless += 1;
            } else if let Some(patterns) = &mut self.patterns {
                patterns.released(event, &block);
            }
            if perhaps_replaced {
                replaced = self.replaces(event, &block);
            }
            let site = &mut self.sites[block.site.index()];
            site.keep_peak(self.peak);
            site.live_bytes = site.live_bytes.wrapping_sub(block.size());
            site.live_blocks = site.live_blocks.wrapping_sub(1);
            if !is_ageless {
                site.lifetime += event.time.saturating_sub(block.time);
            }
            site.temporary += (temporary && !reallocates) as u64;
            if !reallocates && (S::EVERYTHING || event.thread == block.thread) {
                site.allocator_time += event.duration;
                site.release_balance = site.release_balance.wrapping_sub(event.duration);
            }
            self.block_released(event, &block, temporary && !reallocates);
        }
        if !S::EVERYTHING
            && let Some(block) = block.filter(|block| block.thread != event.thread && !reallocates)
        {
            self.released_by_other(event, &block);
        }
        if let Some(block) = &block {
            self.changes(event.time.0, self.live_bytes.wrapping_sub(block.size().0));
        }
        if reallocates {
            if let Some(block) = counted {
                self.rare(block.site.index()).resized += 1;
            }
            if let Some(patterns) = &mut self.patterns {
                patterns.given_back(event.thread, counted.filter(|block| !block.is_ageless()).as_ref());
            }
            self.thread(event.thread).reallocates = true;
            return None;
        }
        if block.is_none() && matches!(event.block, Block::Number(_)) {
            return None; // only in a damaged recording
        }
        let size = block.map_or(0, |block| block.size().0);
        if !self.selection.admits_part(event.thread, Bytes(size)) {
            return replaced;
        }
        let index = self.site(event, size);
        let site = &mut self.sites[index];
        match block {
            // The site that acquired it has been charged.
            Some(_) => site.release_balance = site.release_balance.wrapping_add(event.duration),
            None => site.allocator_time += event.duration,
        }
        site.operations |= event.op.bit();
        match event.block {
            Block::Null => self.rare(index).null_frees += 1,
            _ => site.frees += 1,
        }
        if event.block == Block::Unknown {
            self.rare(index).unknown_frees += 1;
        }
        self.called(index, event, size, Call::Released { is_charged: block.is_none() });
        replaced
    }

    /// A thread releases another one's block. It pays for that, at the site that acquired the block.
    #[cold]
    fn released_by_other(&mut self, event: &Event, block: &LiveBlock) {
        if event.op.is_pooled() {
            return;
        }
        if self.counts(block) {
            self.rare(block.site.index()).paid_by_others += 1;
        }
        if self.selection.admits_part(event.thread, block.size()) {
            let payer = self.site_of(self.node_of(block), Some(event.thread), block.size().0);
            self.rare(payer).paid_for_others += 1;
            let site = &mut self.sites[payer];
            site.allocator_time += event.duration;
            site.release_balance = site.release_balance.wrapping_sub(event.duration);
        }
    }

    /// Blocks from before memtoll was attached that were released.
    pub fn freed_ageless(&self) -> u64 {
        self.rare.iter().fold(0, |sum, rare| sum.saturating_add(rare.freed_ageless))
    }

    /// The stack node of the site that acquired a block.
    pub fn node_of(&self, block: &LiveBlock) -> Option<NodeId> {
        if self.counts(block) { self.origins[block.site.index()].node } else { block.uncounted_node() }
    }

    /// Adds what the search for lost blocks says of one that is live.
    pub fn is_lost(&mut self, block: &LiveBlock, counts: &Metrics) {
        if self.counts(block) {
            self.costs_of(block.site.index()).add(counts);
        }
    }

    /// Adds a cost.
    pub fn cost(&mut self, cost: &Cost) {
        let Some(node) = self.selection.charged(cost) else { return };
        let index = self.site_of(Some(node), cost.thread, cost.size.0);
        let Selection { from, to, .. } = *self.selection();
        cost.add_to(from, to, self.costs_of(index));
    }

    /// Whether a block counts, by its thread and its size. Blocks that do not count make the peak with the others.
    #[inline(always)]
    fn counts(&self, block: &LiveBlock) -> bool {
        self.selection.admits_part(block.thread, block.size())
    }

    /// A block, whether it counts or not.
    fn block(&mut self, size: Bytes, time: Units, node: Option<NodeId>, thread: ThreadNo, steps: u16) -> LiveBlock {
        if !self.selection.admits_part(thread, size) {
            return LiveBlock::uncounted(size, time, node, thread, steps);
        }
        let site = SiteIndex::at(self.site_of(node, Some(thread), size.0));
        LiveBlock::new(size, time, site, thread, steps)
    }

    /// What a site paid, beside its sums: few sites do.
    fn costs_of(&mut self, site: usize) -> &mut Metrics {
        let place = &mut self.origins[site].costs;
        if *place == 0 {
            self.costs.push(Metrics::default());
            *place = self.costs.len() as u32;
        }
        &mut self.costs[*place as usize - 1]
    }

    /// What few sites have.
    fn rare(&mut self, site: usize) -> &mut Rare {
        self.touch(site);
        let place = &mut self.origins[site].rare;
        if *place == 0 {
            self.rare.push(Rare::default());
            *place = self.rare.len() as u32;
        }
        &mut self.rare[*place as usize - 1]
    }

    /// Adds an event that neither acquires nor releases a block.
    pub fn other(&mut self, event: &Event) {
        let opened = if event.op.is_mapping() { self.mappings_change(event) } else { 0 };
        if event.op.is_release_half() || !self.selection.admits_part(event.thread, event.size) {
            return;
        }
        let index = self.site(event, event.size.0);
        self.rare(index).other_events += 1;
        self.sites[index].operations |= event.op.bit();
        let mapped = if event.op.maps_memory(event.detail) { event.size.0 } else { opened };
        self.called(index, event, event.size.0, Call::Other { mapped });
    }

    /// Live bytes over time, of all threads and sizes.
    pub fn curve(&self) -> LiveCurve {
        self.curve.so_far()
    }

    /// When live bytes, of all threads and sizes, were at their peak, units.
    pub fn peak_time(&self) -> u64 {
        self.peak_time
    }
}
