//! How sums divide among threads and sizes of blocks, while a program is recorded. At most call sites, one thread handles
//! blocks of one size: that is the site's *usual* part, for which an event costs one comparison. Only other parts are
//! counted; what is not theirs is the usual one's.

use super::{LiveBlock, SiteIndex, Tally};
use crate::Select;
use crate::usual_call::Usual;
use crate::zeroed_memory::Zeroed;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{Bytes, ThreadNo, Units};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::parts::{self, Other, Parts, SiteNo};
use rustc_hash::FxHashMap;

/// Most programs have fewer.
const FIRST_SLOTS: usize = 1 << 8;

/// A site, a thread, and a size of blocks. They are packed, so that comparing two keys takes two steps. Keys are in the order of
/// sites, then threads, then sizes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    /// ```text
    /// site (32 bits) | thread (32 bits)
    /// ```
    site_and_thread: u64,
    size: u64,
}

impl Key {
    /// Of a place that is free: no thread has the number 0.
    const EMPTY: Key = Key { site_and_thread: 0, size: 0 };

    #[inline(always)]
    fn new(site: SiteIndex, thread: ThreadNo, size: u64) -> Key {
        Key { site_and_thread: u64::from(site.get()) << 32 | u64::from(thread.get()), size }
    }

    #[inline(always)]
    fn site(self) -> SiteIndex {
        SiteIndex::new((self.site_and_thread >> 32) as u32)
    }

    fn thread(self) -> Option<ThreadNo> {
        ThreadNo::new(self.site_and_thread as u32)
    }

    /// A number whose upper half depends on all of it.
    #[inline(always)]
    fn mixed(self) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        (self.site_and_thread.wrapping_mul(GOLDEN) ^ self.size).wrapping_mul(GOLDEN)
    }
}

/// What is counted of a part, but for what is [`Rare`]. A chapter has too few events for larger numbers. It fills one line of
/// the caches.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Counts {
    allocator_time: Units,
    release_balance: Units,
    lifetime: Units,
    operations: u64,
    events: u32,
    new_blocks: u32,
    /// Those that gave a block.
    reallocations: u32,
    frees: u32,
    temporary: u32,
    /// Blocks that were released, by whichever thread.
    released: u32,
    /// Releases that the thread made and that took time, of whichever thread's blocks.
    timed_released: u32,
    /// Blocks from before memtoll was attached.
    before: u32,
}

/// What is counted of few parts.
#[derive(Clone, Copy, Default)]
struct Rare {
    /// Released blocks from before memtoll was attached.
    freed_ageless: u64,
    /// Reallocations that gave no block.
    to_nothing: u64,
    null_frees: u64,
    unknown_frees: u64,
    /// See [`count`].
    counts: Metrics,
}

/// The parts of the present chapter that are not usual: a table with open addressing. Keys stand apart, close together, so that
/// looking for one stays in the caches.
pub(super) struct Apart {
    /// A power of two of them. At least half are [`Key::EMPTY`].
    keys: Zeroed<Key>,
    /// By place of the key.
    counts: Zeroed<Counts>,
    used: usize,
    rare: FxHashMap<Key, Rare>,
    are_too_many: bool,
}

impl Default for Apart {
    fn default() -> Self {
        Apart {
            // SAFETY: the empty key is all zeros.
            keys: unsafe { Zeroed::new(FIRST_SLOTS) },
            // SAFETY: these are numbers.
            counts: unsafe { Zeroed::new(FIRST_SLOTS) },
            used: 0,
            rare: FxHashMap::default(),
            are_too_many: false,
        }
    }
}

impl Apart {
    #[inline(always)]
    fn find(&mut self, key: Key) -> Option<&mut Counts> {
        let at = self.place(key);
        if self.keys[at] == Key::EMPTY {
            return self.add(key);
        }
        Some(&mut self.counts[at])
    }

    /// Where a part is, or is to be.
    #[inline(always)]
    fn place(&self, key: Key) -> usize {
        let last = self.keys.len() - 1;
        let mut at = (key.mixed() >> 32) as usize & last;
        while self.keys[at] != key && self.keys[at] != Key::EMPTY {
            at = (at + 1) & last;
        }
        at
    }

    #[cold]
    fn add(&mut self, key: Key) -> Option<&mut Counts> {
        // With more, the chapter's events tell.
        if self.used >= parts::MOST_OTHERS {
            self.are_too_many = true;
            return None;
        }
        self.used += 1;
        if self.used * 2 > self.keys.len() {
            let slots = self.keys.len() * 2;
            // SAFETY: as above.
            let keys = std::mem::replace(&mut self.keys, unsafe { Zeroed::new(slots) });
            // SAFETY: as above.
            let counts = std::mem::replace(&mut self.counts, unsafe { Zeroed::new(slots) });
            for (key, counts) in keys.iter().zip(counts.iter()).filter(|(key, _)| **key != Key::EMPTY) {
                let at = self.place(*key);
                (self.keys[at], self.counts[at]) = (*key, *counts);
            }
        }
        let at = self.place(key);
        self.keys[at] = key;
        Some(&mut self.counts[at])
    }

    /// The parts of a chapter that ends, with its sites and what is usual at them.
    pub fn take(&mut self, sites: &[(SiteIndex, Usual)]) -> Option<Parts> {
        let parts = self.keys.iter().enumerate();
        let mut used: Vec<(Key, ThreadNo, usize)> =
            parts.filter_map(|(at, key)| Some((*key, key.thread()?, at))).collect();
        used.sort_unstable();
        let mut others: Vec<Other> = Vec::with_capacity(used.len());
        let mut number = 0;
        for (key, thread, at) in used {
            // Something happened at the site, so it is one of these.
            while sites.get(number).is_some_and(|(index, _)| *index < key.site()) {
                number += 1;
            }
            self.keys[at] = Key::EMPTY;
            let counts = std::mem::take(&mut self.counts[at]);
            let rare = self.rare.get(&key).copied().unwrap_or_default();
            let metrics = counts.finished(&rare, key.size);
            others.push(Other { site: SiteNo::new(number as u32), thread, size: key.size, metrics });
        }
        let are_all = !std::mem::take(&mut self.are_too_many);
        self.used = 0;
        self.rare.clear();
        are_all.then(|| Parts { usual: sites.iter().map(|(_, usual)| usual.unpacked()).collect(), others })
    }
}

impl Counts {
    fn finished(&self, rare: &Rare, size: u64) -> Metrics {
        let [new_blocks, reallocations, frees, released, timed_released, live_before] =
            [self.new_blocks, self.reallocations, self.frees, self.released, self.timed_released, self.before]
                .map(u64::from);
        let acquired = new_blocks + reallocations;
        let live_blocks = (acquired + live_before).wrapping_sub(released);
        Metrics {
            new_blocks,
            reallocations: reallocations + rare.to_nothing,
            frees,
            null_frees: rare.null_frees,
            unknown_frees: rare.unknown_frees,
            bytes: Bytes(acquired.wrapping_mul(size)),
            temporary: u64::from(self.temporary),
            lifetime: self.lifetime,
            allocator_time: self.allocator_time,
            release_balance: self.release_balance,
            timed_calls: timed_released.wrapping_add(acquired + rare.to_nothing + rare.unknown_frees + rare.null_frees),
            events: u64::from(self.events),
            largest_bytes: if acquired > 0 { Bytes(size) } else { Bytes::ZERO },
            operations: self.operations,
            live_bytes: Bytes(live_blocks.wrapping_mul(size)),
            live_blocks,
            live_before,
            freed_ageless: rare.freed_ageless,
            ..rare.counts
        }
    }
}

/// What else is known of a call, beside its time and its operation.
#[derive(Clone, Copy)]
pub(super) enum Call {
    /// A block was acquired.
    Acquired { reallocates: bool },
    /// None was.
    Nothing { reallocates: bool, has_failed: bool },
    /// One was released. `is_charged`: its time is the caller's.
    Released { is_charged: bool },
    /// Another call, and the bytes that it mapped.
    Other { mapped: u64 },
}

/// What few calls count, of their site and of their part alike: a new count of calls is a line here. Ordinary calls ask for no
/// `counts`.
#[inline(always)]
fn count<'c>(call: Call, size: u64, counts: impl FnOnce() -> Option<&'c mut Metrics>) {
    let add = |count: fn(&mut Metrics, u64), by| counts().into_iter().for_each(|counts| count(counts, by));
    match (call, size) {
        (Call::Nothing { has_failed: true, .. }, _) => add(|counts, by| counts.failed += by, 1),
        (Call::Other { mapped: mapped @ 1.. }, _) => add(
            |counts, by| {
                counts.mappings += 1;
                counts.mapped_bytes = counts.mapped_bytes.wrapping_add(Bytes(by));
            },
            mapped,
        ),
        _ => {}
    }
}

impl<S: Select> Tally<S> {
    /// A call at a site.
    #[inline(always)]
    pub(super) fn called(&mut self, site: usize, event: &Event, size: u64, call: Call) {
        self.touch(site);
        count(call, size, || self.in_window().then(|| self.costs_of(site)));
        if S::KEEPS_PARTS && self.sites[site].usual != Usual::new(event.op.0, event.thread, size) {
            self.called_apart(site, event, size, call);
        }
    }

    /// A block of a site is released.
    #[inline(always)]
    pub(super) fn block_released(&mut self, event: &Event, block: &LiveBlock, is_temporary: bool) {
        self.touch(block.site.index());
        if S::KEEPS_PARTS && !(self.sites[block.site.index()].usual.is_of_block(block) && event.thread == block.thread)
        {
            self.block_released_apart(event, block, is_temporary);
        }
    }

    /// What is counted of a part, unless it is the usual one.
    #[inline(always)]
    fn apart(&mut self, usual: Usual, key: Key) -> Option<&mut Counts> {
        // Of a chapter with too many, nothing is told.
        let apart = self.apart.as_mut().filter(|apart| !apart.are_too_many)?;
        let place = &mut self.sites[key.site().index()].usual;
        if let Some(both) = place.and(usual) {
            *place = both;
            return None;
        }
        apart.find(key)
    }

    #[inline(never)]
    fn called_apart(&mut self, site: usize, event: &Event, size: u64, call: Call) {
        let key = Key::new(SiteIndex::at(site), event.thread, size);
        let usual = Usual::new(event.op.0, event.thread, size);
        let Some(counts) = self.apart(usual, key) else { return };
        counts.operations |= event.op.bit();
        counts.events += 1;
        match call {
            Call::Acquired { reallocates } => {
                counts.allocator_time += event.duration;
                counts.new_blocks += u32::from(!reallocates);
                counts.reallocations += u32::from(reallocates);
            }
            Call::Released { is_charged: false } => {
                counts.frees += 1;
                counts.release_balance = counts.release_balance.wrapping_add(event.duration);
            }
            Call::Released { is_charged: true } => {
                counts.allocator_time += event.duration;
                counts.frees += u32::from(event.block != Block::Null);
                self.called_rarely(key, event.block, call);
            }
            Call::Nothing { .. } => {
                counts.allocator_time += event.duration;
                self.called_rarely(key, event.block, call);
            }
            Call::Other { .. } => {}
        }
        count(call, size, || self.apart.as_mut().map(|apart| &mut apart.rare.entry(key).or_default().counts));
    }

    #[cold]
    fn called_rarely(&mut self, key: Key, block: Block, call: Call) {
        let Some(rare) = self.apart.as_mut().map(|apart| apart.rare.entry(key).or_default()) else { return };
        match call {
            Call::Nothing { reallocates, .. } => rare.to_nothing += u64::from(reallocates),
            Call::Released { .. } => match block {
                Block::Null => rare.null_frees += 1,
                _ => rare.unknown_frees += 1,
            },
            Call::Other { .. } | Call::Acquired { .. } => {}
        }
    }

    #[inline(never)]
    fn block_released_apart(&mut self, event: &Event, block: &LiveBlock, is_temporary: bool) {
        let size = block.size().0;
        let key = Key::new(block.site, block.thread, size);
        if let Some(counts) = self.apart(Usual::of_block(block), key) {
            counts.released += 1;
            if !block.is_ageless() {
                counts.lifetime += event.time.saturating_sub(block.time);
            }
            counts.temporary += u32::from(is_temporary);
            if block.is_ageless()
                && let Some(apart) = &mut self.apart
            {
                apart.rare.entry(key).or_default().freed_ageless += 1;
            }
        }
        if event.op.is_release_half() {
            return;
        }
        // The thread that releases a block pays; in the program's own allocators, nothing.
        let payer = if event.op.is_pooled() { block.thread } else { event.thread };
        if let Some(counts) = self.apart(Usual::new(0, payer, size), Key::new(block.site, payer, size)) {
            counts.timed_released += 1;
            counts.allocator_time += event.duration;
            counts.release_balance = counts.release_balance.wrapping_sub(event.duration);
        }
    }

    /// A block from before memtoll was attached.
    pub(super) fn block_was_there(&mut self, block: &LiveBlock) {
        if !S::KEEPS_PARTS {
            return;
        }
        let key = Key::new(block.site, block.thread, block.size().0);
        if let Some(counts) = self.apart(Usual::of_block(block), key) {
            counts.before += 1;
        }
    }
}
