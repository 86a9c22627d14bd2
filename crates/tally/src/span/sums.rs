//! Sums of a span by site. At most sites, nothing happens in a span: these take no room for what would.

use super::Span;
use super::counted::Counted;
use super::slices::{Before, Slices};
use crate::span::sparse_rows::{SparseRow, SparseRows};
use crate::{Part, Select};
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::summary::{LiveCurve, PeakWithMappings};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Live bytes and blocks.
pub type Live = (Bytes, u64);

/// Both together; what is added may be less than 0, and wraps around.
pub(super) fn plus(live: Live, by: Live) -> Live {
    (live.0.wrapping_add(by.0), live.1.wrapping_add(by.1))
}

/// By how much one is more than the other.
pub(super) fn minus(live: Live, was: Live) -> Live {
    (live.0.wrapping_sub(was.0), live.1.wrapping_sub(was.1))
}

/// By site; sites are numbered in the order in which they first appear.
#[derive(Default)]
pub(super) struct Sums {
    /// Stack nodes, and what sites are split by.
    pub sites: Vec<(Option<NodeId>, u64)>,
    by_node: Vec<u32>, // site + 1, the first one of a node: most have no other
    by_extra: FxHashMap<(Option<NodeId>, u64), usize>, // the others
    pub live: Vec<Live>,
    /// What was live when the span began.
    before: Vec<Live>,
    /// What happened in the span. Live bytes and peaks of these mean nothing.
    happened: Counted,
    /// What was live when the first chapter of the span began.
    pub live_at_begin: Vec<Live>,
    /// What each chapter of the span changed.
    pub changes: Vec<Vec<(u32, Live)>>,
    pub curve: LiveCurve,
}

impl Sums {
    pub fn site(&mut self, node: Option<NodeId>, extra: u64) -> usize {
        let (index, next) = (NodeId::index_of(node), self.sites.len());
        if self.by_node.len() <= index {
            self.by_node.resize((index + 1).next_power_of_two(), 0);
        }
        let first = &mut self.by_node[index];
        if *first == 0 {
            *first = next as u32 + 1;
            self.add(node, extra);
            return next;
        }
        let first = *first as usize - 1;
        if self.sites[first].1 == extra {
            return first;
        }
        let site = *self.by_extra.entry((node, extra)).or_insert(next);
        if site == next {
            self.add(node, extra);
        }
        site
    }

    fn add(&mut self, node: Option<NodeId>, extra: u64) {
        self.sites.push((node, extra));
        self.live.push(Live::default());
    }

    pub fn change(&mut self, node: Option<NodeId>, extra: u64, by: Live) -> usize {
        let site = self.site(node, extra);
        self.live[site] = plus(self.live[site], by);
        site
    }

    /// Adds numbers to what happened at a site, each with the place of its count.
    pub fn add_numbers(&mut self, site: usize, numbers: impl Iterator<Item = (usize, u64)>) {
        self.happened.add(site, numbers);
    }

    /// As if all chapters had been passed that are before one.
    pub fn go_on(&mut self, before: &Before, asked: &Part) {
        self.sites.reserve(before.live.len());
        self.live.reserve(before.live.len());
        for (node, thread, live) in &before.live {
            let thread = ThreadNo::new(*thread as u32);
            if asked.admits_thread(thread) {
                self.change(*node, asked.get().extra(thread, 0), *live);
            }
        }
        self.curve = before.curve.clone();
    }

    /// The site of a slice's row.
    pub fn site_of(&mut self, row: &SparseRow, asked: &Part) -> usize {
        self.site(row.node, asked.get().extra(row.thread, 0))
    }

    /// The span begins: what is live was live before it.
    pub fn begin(&mut self) {
        self.before = self.live.clone();
    }

    pub fn live(&self) -> Vec<(Option<NodeId>, u64, Live)> {
        self.with_sites(&self.live)
    }

    pub fn with_sites(&self, live: &[Live]) -> Vec<(Option<NodeId>, u64, Live)> {
        self.sites.iter().zip(live).map(|((node, extra), live)| (*node, *extra, *live)).collect()
    }

    /// Shares of a peak by site.
    pub fn by_site(&mut self, shares: impl Iterator<Item = (Option<NodeId>, u64, Live)>) -> Vec<Live> {
        let mut values = vec![Live::default(); self.sites.len()];
        for (node, extra, value) in shares {
            let site = self.site(node, extra);
            values.resize(self.sites.len(), Live::default());
            values[site] = value;
        }
        values
    }

    /// Who has which share of a slice's peak, when that is next.
    pub fn shares_of(&mut self, slice: &SparseRows, asked: &Part) -> Vec<Live> {
        let mut shares = self.live.clone();
        self.add_all(&mut shares, slice, asked, |row| minus(row.at_peak, row.before));
        shares
    }

    /// Adds what the rows of a slice change to what there was by site.
    fn add_all(&mut self, values: &mut Vec<Live>, slice: &SparseRows, asked: &Part, by: impl Fn(&SparseRow) -> Live) {
        for row in slice.of(asked) {
            let site = self.site_of(&row, asked);
            values.resize(self.sites.len(), Live::default());
            values[site] = plus(values[site], by(&row));
        }
    }

    /// What was live when a chapter of the span began.
    pub fn live_before(&self, chapter: usize) -> Vec<Live> {
        let mut live = self.live_at_begin.clone();
        live.resize(self.sites.len(), Live::default());
        for &(site, by) in self.changes[..chapter].iter().flatten() {
            let live = &mut live[site as usize];
            *live = plus(*live, by);
        }
        live
    }

    /// Who had which share of the peak of a chapter that was cut. `live` is what was live before it.
    pub fn shares_at(&mut self, mut live: Vec<Live>, slices: &Slices, asked: &Part, highest: u64) -> Vec<Live> {
        for slice in &slices.all {
            if slice.highest == highest {
                self.add_all(&mut live, &slice.sites, asked, |row| minus(row.at_peak, row.before));
                break;
            }
            self.add_all(&mut live, &slice.sites, asked, |row| row.change);
        }
        live
    }

    pub fn finish(mut self, shares: Vec<Live>, peak_time: u64, peak_with_mappings: PeakWithMappings) -> Span {
        let curve = std::mem::take(&mut self.curve);
        (self.live_at_begin, self.changes) = Default::default();
        Span { sites: Sites { sums: self, shares, order: Vec::new() }, curve, peak_time, peak_with_mappings }
    }
}

/// What a span adds up to, by site.
#[derive(Default)]
pub struct Sites {
    sums: Sums,
    shares: Vec<Live>,
    /// The order of sites; none: as they are numbered.
    order: Vec<usize>,
}

impl Sites {
    pub fn len(&self) -> usize {
        self.sums.sites.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sums.sites.is_empty()
    }

    /// The stack node of the site in a place.
    pub fn node(&self, place: usize) -> Option<NodeId> {
        self.sums.sites[self.number(place)].0
    }

    fn number(&self, place: usize) -> usize {
        self.order.get(place).copied().unwrap_or(place)
    }

    /// Puts them in the order of their stack nodes, and of what they are split by.
    pub fn sort(&mut self) {
        self.order = (0..self.len()).collect();
        self.order.sort_unstable_by_key(|number| self.sums.sites[*number]);
    }

    /// All of them are split by the same: a thread.
    pub fn are_of(&mut self, thread: ThreadNo) {
        self.sums.sites.iter_mut().for_each(|(_, extra)| *extra = u64::from(thread.get()));
    }

    /// Adds what a site counted beside: no live bytes or blocks.
    pub fn add(&mut self, node: Option<NodeId>, extra: u64, counts: &Metrics) {
        let site = self.sums.site(node, extra);
        self.sums.add_numbers(site, counts.numbers());
    }

    /// Calls `take` with the stack node of the site in each of these places, what it is split by, and its sums. Sites to which nothing
    /// happened, without live blocks, are left out.
    pub fn each(&self, some: Range<usize>, mut take: impl FnMut(Option<NodeId>, u64, &mut Metrics)) {
        let live_of = |all: &[Live], site: usize| all.get(site).copied().unwrap_or_default();
        self.sums.happened.each(some.map(|place| self.number(place)), |site, happened| {
            let [live, peak, before] = [&self.sums.live, &self.shares, &self.sums.before].map(|all| live_of(all, site));
            if happened.is_none() && (live, peak, before.1) == (Live::default(), Live::default(), 0) {
                return;
            }
            let mut metrics = happened.unwrap_or_default();
            (metrics.live_bytes, metrics.live_blocks) = live;
            (metrics.peak_bytes, metrics.peak_blocks) = peak;
            metrics.live_before = metrics.live_before.wrapping_add(before.1);
            let (node, extra) = self.sums.sites[site];
            take(node, extra, &mut metrics);
        });
    }
}
