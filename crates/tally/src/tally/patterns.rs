//! How call sites use memory: what a tally counts of them beside their sums, as far as that is worth a few nanoseconds of
//! each event.
//!
//! A histogram takes as much memory as its values are apart: a *window* of counts from the lowest bucket to the highest one,
//! in one memory for all.
//!
//! ```text
//! counts   | sizes of site 0 | lifetimes of site 0 | sizes of site 1 | ...
//! site 0     sizes: at, first bucket, length   lifetimes: at, first bucket, length   ...
//! ```
//!
//! How long blocks of which size lived follows from the lifetimes as long as a site releases blocks of one power of two only,
//! as most sites do. From the first other one on, there is a table of counts for both.

use super::{LiveBlock, SiteIndex, Tally};
use crate::Select;
use crate::live_block::MOST_STEPS;
use crate::zeroed_memory::List;
use memtoll_trace::cells::{Cells, POWERS, power};
use memtoll_trace::chapter::{GivenBack, Reallocating};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::histogram::{Histogram, bucket};
use memtoll_trace::ids::{BlockNo, NodeId, ThreadNo};
use memtoll_trace::pattern::{Growth, Packer, Pattern, ThreadSet};
use rustc_hash::FxHashMap;

/// A window that must be larger gets room for this many buckets more at least.
const ROOM: u16 = 4;
/// Short programs have fewer sites, and fewer counts for each.
const FIRST_SITES: usize = 64;
const FIRST_COUNTS: usize = FIRST_SITES * 16;

/// Where the counts of a histogram stand.
#[derive(Clone, Copy, Default)]
struct Window {
    at: u32,
    first: u16,
    length: u16,
}

/// The counts of all histograms.
struct Counts(List<u32>);

impl Counts {
    #[inline(always)]
    fn count(&mut self, window: &mut Window, value: u64) {
        let bucket = bucket(value);
        let index = bucket.wrapping_sub(window.first);
        if index < window.length
            && let Some(count) = self.0.get_mut(window.at as usize + index as usize)
        {
            *count = count.wrapping_add(1);
            return;
        }
        self.widen(window, bucket);
    }

    /// Counts in a bucket that the window does not hold.
    #[cold]
    fn widen(&mut self, window: &mut Window, bucket: u16) {
        let Window { at, first, length } = *window;
        let room = ROOM.max(length / 2);
        let (from, to) = match length {
            0 => (bucket, bucket),
            _ if bucket < first => (bucket.saturating_sub(room), first + length - 1),
            _ => (first, bucket + room),
        };
        let new = self.0.len();
        self.0.reach(new + usize::from(to - from + 1));
        let (old, shift) = (at as usize, usize::from(first.saturating_sub(from)));
        self.0.copy_within(old..old + usize::from(length), new + shift);
        self.0[new + usize::from(bucket - from)] += 1;
        *window = Window { at: new as u32, first: from, length: to - from + 1 };
    }

    fn histogram(&self, window: Window) -> Histogram {
        Histogram::of(self.buckets(window))
    }

    fn buckets(&self, window: Window) -> impl Iterator<Item = (u16, u64)> {
        let counts = &self.0[window.at as usize..][..usize::from(window.length)];
        (window.first..).zip(counts.iter().map(|count| u64::from(*count)))
    }
}

/// Where the counts by power of the size and power of the lifetime stand, a row for each size.
#[derive(Clone, Copy, Default)]
struct Table {
    at: u32,
    sizes: Powers,
    lifetimes: Powers,
}

/// Powers of two of which a table has counts.
#[derive(Clone, Copy, Default)]
struct Powers {
    first: u8,
    length: u8,
}

impl Powers {
    /// The number of a power among these; too large for a power that is not.
    #[inline(always)]
    fn index(self, power: u8) -> u8 {
        power.wrapping_sub(self.first)
    }

    #[inline(always)]
    fn has(self, power: u8) -> bool {
        self.index(power) < self.length
    }

    fn all(self) -> impl Iterator<Item = u8> {
        self.first..self.first + self.length
    }

    /// These and another one, with room for one more beyond it.
    fn with(self, power: u8) -> Powers {
        if self.has(power) {
            return self;
        }
        let (from, to) = match self.length {
            0 => (power, power),
            _ if power < self.first => (power.saturating_sub(1), self.first + self.length - 1),
            _ => (self.first, (power + 1).min(POWERS - 1)),
        };
        Powers { first: from, length: to - from + 1 }
    }
}

impl Table {
    /// Where the count of a cell that it has stands.
    #[inline(always)]
    fn place(&self, size: u8, lifetime: u8) -> usize {
        let row = usize::from(self.sizes.index(size)) * usize::from(self.lifetimes.length);
        self.at as usize + row + usize::from(self.lifetimes.index(lifetime))
    }
}

impl Counts {
    #[inline(always)]
    fn count_cell(&mut self, table: &mut Table, size: u8, lifetime: u8) {
        if !table.sizes.has(size) || !table.lifetimes.has(lifetime) {
            self.enlarge(table, size, lifetime);
        }
        if let Some(count) = self.0.get_mut(table.place(size, lifetime)) {
            *count = count.wrapping_add(1);
        }
    }

    /// Makes a table have a cell.
    #[cold]
    fn enlarge(&mut self, table: &mut Table, size: u8, lifetime: u8) {
        let old = *table;
        let at = self.0.len();
        *table = Table { at: at as u32, sizes: old.sizes.with(size), lifetimes: old.lifetimes.with(lifetime) };
        self.0.reach(at + usize::from(table.sizes.length) * usize::from(table.lifetimes.length));
        for size in old.sizes.all() {
            let row = old.place(size, old.lifetimes.first);
            let to = table.place(size, old.lifetimes.first);
            self.0.copy_within(row..row + usize::from(old.lifetimes.length), to);
        }
    }

    fn cells(&self, table: &Table) -> impl Iterator<Item = ((u8, u8), u64)> {
        let of_size = |size| table.lifetimes.all().map(move |lifetime| (size, lifetime));
        let cells = table.sizes.all().flat_map(of_size);
        cells.map(|(size, lifetime)| ((size, lifetime), u64::from(self.0[table.place(size, lifetime)])))
    }
}

/// No block was released yet.
const NONE_RELEASED: u32 = 0;
/// From here on, it is the number of a table; below, the power of all sizes so far, and 1.
const FIRST_TABLE: u32 = POWERS as u32 + 1;

/// What is counted of a site: a line of the cache.
#[repr(C, align(64))]
#[derive(Clone, Copy, Default)]
struct Site {
    sizes: Window,
    lifetimes: Window,
    /// When it acquired its first block, if it acquired any. Units.
    first: u64,
    last: u64,
    acquiring: ThreadSet,
    releasing: ThreadSet,
    released_elsewhere: u64,
    /// Where its blocks' growth by reallocation stands, counted from 1; 0: there is none.
    growth: u32,
    /// Of which sizes released blocks were: [`NONE_RELEASED`], a power, or a table.
    released: u32,
}

const _: () = assert!(size_of::<Site>() == 64);

/// How blocks grew.
#[derive(Clone, Copy, Default)]
struct Grown {
    steps: Window,
    grown_to: Window,
    outgrown: Window,
}

/// A block whose thread is inside its reallocation.
#[derive(Clone, Copy)]
pub(super) struct Old {
    pub site: SiteIndex,
    pub size: u64,
    pub steps: u16,
}

/// The last block of a thread is found to have taken another one's place: it has grown this often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// Its number.
    pub number: u64,
    /// Its address.
    pub address: u64,
    /// How often.
    pub steps: u16,
}

/// How call sites used memory.
pub(super) struct Patterns {
    sites: List<Site>,
    counts: Counts,
    tables: Vec<Table>,
    grown: Vec<Grown>,
    /// Growth without reallocation, by site and by the stack node of the release.
    replaced: FxHashMap<(SiteIndex, Option<NodeId>), u32>,
    /// By thread: what it has given back, while it is inside a reallocation.
    reallocating: Vec<Option<Old>>,
}

impl Default for Patterns {
    fn default() -> Self {
        Patterns {
            // SAFETY: a site of which nothing was counted is all zeros.
            sites: unsafe { List::new(FIRST_SITES) },
            // SAFETY: 0 is a number.
            counts: Counts(unsafe { List::new(FIRST_COUNTS) }),
            tables: Vec::new(),
            grown: Vec::new(),
            replaced: FxHashMap::default(),
            reallocating: Vec::new(),
        }
    }
}

impl Patterns {
    /// Where stands what is counted of a site, if anything is.
    #[inline(always)]
    pub fn place_of(&self, site: usize) -> *const u8 {
        self.sites.as_ptr().wrapping_add(site).cast()
    }

    #[inline(always)]
    pub fn acquired(&mut self, site: usize, event: &Event, size: u64) {
        self.sites.reach(site + 1);
        let site = &mut self.sites[site];
        if site.sizes.length == 0 {
            site.first = event.time.0;
        }
        site.last = event.time.0;
        site.acquiring.insert(event.thread);
        self.counts.count(&mut site.sizes, size);
    }

    #[inline(always)]
    pub fn released(&mut self, event: &Event, block: &LiveBlock) {
        let index = block.site.index();
        self.sites.reach(index + 1);
        let site = &mut self.sites[index];
        site.releasing.insert(event.thread);
        site.released_elsewhere += u64::from(event.thread != block.thread);
        let lifetime = event.time.saturating_sub(block.time);
        let size = power(block.size().0);
        if site.released != u32::from(size) + 1 {
            if site.released < FIRST_TABLE {
                self.another_size(index, size);
            }
            let table = (self.sites[index].released).wrapping_sub(FIRST_TABLE) as usize;
            if let Some(table) = self.tables.get_mut(table) {
                self.counts.count_cell(table, size, power(lifetime.0));
            }
        }
        self.counts.count(&mut self.sites[index].lifetimes, lifetime.0);
    }

    /// A site releases a block whose size is of another power than those before, or its first one.
    #[cold]
    fn another_size(&mut self, site: usize, size: u8) {
        let site = &mut self.sites[site];
        if site.released == NONE_RELEASED {
            site.released = u32::from(size) + 1;
            return;
        }
        // Until now, all were of one size.
        let mut table = Table::default();
        let before = Cells::of_one_size((site.released - 1) as u8, &self.counts.histogram(site.lifetimes));
        for (size, lifetime, count) in before.iter() {
            self.counts.count_cell(&mut table, size, lifetime);
            self.counts.0[table.place(size, lifetime)] = count as u32;
        }
        site.released = FIRST_TABLE + self.tables.len() as u32;
        self.tables.push(table);
    }

    /// Fills in the released blocks of a site by size and lifetime.
    fn refill_cells(&self, cells: &mut Cells, site: &Site, lifetimes: &Histogram) {
        match (site.released, site.released.checked_sub(FIRST_TABLE)) {
            (_, Some(table)) => {
                cells.refill(self.tables.get(table as usize).into_iter().flat_map(|table| self.counts.cells(table)))
            }
            (NONE_RELEASED, None) => cells.refill(std::iter::empty()),
            (released, None) => cells.refill_one_size((released - 1) as u8, lifetimes),
        }
    }

    /// A thread is inside a reallocation of `block`, if that is known.
    pub fn given_back(&mut self, thread: ThreadNo, block: Option<&LiveBlock>) {
        let old = block.map(|block| Old { site: block.site, size: block.size().0, steps: block.steps() });
        self.holds(thread, old);
    }

    fn holds(&mut self, thread: ThreadNo, old: Option<Old>) {
        let thread = thread.index();
        if thread >= self.reallocating.len() {
            self.reallocating.resize(thread + 1, None);
        }
        self.reallocating[thread] = old;
    }

    /// A thread has got a block of `size` bytes for another one, by a reallocation at `site`. Returns how often the block
    /// has grown.
    pub fn reallocated(&mut self, site: usize, thread: ThreadNo, size: u64) -> u16 {
        let old = self.reallocating.get_mut(thread.index()).and_then(Option::take);
        let Some(old) = old.filter(|old| old.size < size) else { return 0 };
        let steps = old.steps.saturating_add(1).min(MOST_STEPS);
        let growth = self.growth(site);
        let grown = &mut self.grown[growth];
        self.counts.count(&mut grown.steps, u64::from(steps));
        self.counts.count(&mut grown.grown_to, size);
        if old.steps > 0 {
            let growth = self.growth(old.site.index());
            self.counts.count(&mut self.grown[growth].outgrown, old.size);
        }
        steps
    }

    fn growth(&mut self, site: usize) -> usize {
        self.sites.reach(site + 1);
        let place = &mut self.sites[site].growth;
        if *place == 0 {
            self.grown.push(Grown::default());
            *place = self.grown.len() as u32;
        }
        *place as usize - 1
    }

    /// A block of `size` bytes has taken the place of `block`, which was released with the stack `node`. Both are of one
    /// site. Returns how often the new one has grown.
    fn replaced(&mut self, block: &LiveBlock, node: Option<NodeId>, size: u64) -> u16 {
        let grown = &mut self.grown;
        let place = *self.replaced.entry((block.site, node)).or_insert_with(|| {
            grown.push(Grown::default());
            grown.len() as u32 - 1
        });
        let steps = block.steps().saturating_add(1).min(MOST_STEPS);
        let grown = &mut grown[place as usize];
        self.counts.count(&mut grown.steps, u64::from(steps));
        self.counts.count(&mut grown.grown_to, size);
        if block.steps() > 0 {
            self.counts.count(&mut grown.outgrown, block.size().0);
        }
        steps
    }

    fn growth_of(&self, place: usize) -> Growth {
        let Some(grown) = self.grown.get(place) else { return Growth::default() };
        Growth {
            steps: self.counts.histogram(grown.steps),
            grown_to: self.counts.histogram(grown.grown_to),
            outgrown: self.counts.histogram(grown.outgrown),
        }
    }

    /// Tells what was counted of each site that did anything. It is forgotten.
    fn take(&mut self, mut tell: impl FnMut(SiteIndex, &Pattern)) {
        let mut pattern = Pattern::default();
        let mut replaced: Vec<((SiteIndex, Option<NodeId>), u32)> = self.replaced.drain().collect();
        replaced.sort_unstable();
        let mut replaced = replaced.into_iter().peekable();
        for (index, site) in self.sites.iter().enumerate() {
            let is_idle = site.sizes.length == 0 && site.lifetimes.length == 0 && site.growth == 0;
            if is_idle {
                continue;
            }
            // In the memory of the one before: there can be hundreds of thousands.
            pattern.sizes.refill(self.counts.buckets(site.sizes));
            pattern.lifetimes.refill(self.counts.buckets(site.lifetimes));
            self.refill_cells(&mut pattern.cells, site, &pattern.lifetimes);
            pattern.first = (site.sizes.length > 0).then_some(site.first);
            pattern.last = site.last;
            pattern.acquiring = site.acquiring;
            pattern.releasing = site.releasing;
            pattern.released_elsewhere = site.released_elsewhere;
            pattern.reallocated = self.growth_of((site.growth as usize).wrapping_sub(1));
            pattern.replaced.clear();
            while replaced.next_if(|((of, _), _)| of.index() < index).is_some() {}
            while let Some(((_, node), place)) = replaced.next_if(|((of, _), _)| of.index() == index) {
                pattern.replaced.push((node, self.growth_of(place as usize)));
            }
            tell(SiteIndex::at(index), &pattern);
        }
        self.forget();
    }

    /// Forgets all but what goes on.
    pub fn forget(&mut self) {
        self.sites.fill(Site::default());
        self.counts.0.clear();
        self.tables.clear();
        self.grown.clear();
        self.replaced.clear();
    }

    /// What a thread that reallocates has given back.
    pub fn in_hand(&self, thread: ThreadNo) -> Option<Old> {
        self.reallocating.get(thread.index()).copied().flatten()
    }

    /// Goes on where a thread was inside a reallocation of a block of `site`.
    pub fn resume(&mut self, of: &Reallocating, site: SiteIndex) {
        if let Some(GivenBack { size, steps, .. }) = of.given_back {
            self.holds(of.thread, Some(Old { site, size: size.0, steps }));
        }
    }
}

impl<S: Select> Tally<S> {
    /// From now on, patterns can be taken. To be said before the first event.
    pub fn keep_patterns(&mut self) {
        self.patterns = Some(Box::default());
    }

    /// How each stack node used memory since the last time that this was asked. Sums are to be split by stacks.
    pub fn take_patterns(&mut self) -> Vec<(Option<NodeId>, Pattern)> {
        if !self.in_window() {
            self.forget_counts();
        }
        let mut all = Vec::new();
        if let Some(patterns) = &mut self.patterns {
            patterns.take(|site, pattern| all.push((self.origins[site.index()].node, pattern.clone())));
        }
        all
    }

    /// The same, packed: all of them together can take more memory than the sums.
    pub fn pack_patterns(&mut self) -> Packer {
        let mut packer = Packer::default();
        if let Some(patterns) = &mut self.patterns {
            patterns.take(|site, pattern| packer.push(self.origins[site.index()].node, pattern));
        }
        packer
    }

    /// A thread releases a block of its own right after it has acquired a larger one at the same site.
    #[cold]
    pub(super) fn replaces(&mut self, event: &Event, block: &LiveBlock) -> Option<Replaced> {
        let patterns = self.patterns.as_mut().filter(|_| !event.op.is_pooled())?;
        let last = self.threads.get_mut(event.thread.index())?;
        // What it takes the place of, it does once.
        let site = std::mem::replace(&mut last.site, SiteIndex::NONE);
        let last = *last;
        let steps = patterns.replaced(block, event.node, last.size);
        if last.block < self.carried_below {
            self.carry_replacement(event.thread, last, site);
        }
        let is_about_another = event.block != Block::Number(BlockNo(last.block));
        is_about_another.then_some(Replaced { number: last.block, address: last.address, steps })
    }
}
