//! How sums divide among threads and sizes of blocks, while a program is recorded. At most call sites, one thread handles
//! blocks of one size: that is the site's *usual* part, for which an event costs one comparison. Only other parts are
//! counted; what is not theirs is the usual one's.

use super::{LiveBlock, Tally};
use crate::aggregate::Select;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::parts::{self, Other, Parts};
use memtoll_trace::summary::Metrics;
use rustc_hash::FxHashMap;

const SIZE_BITS: u32 = 40;
const THREAD_BITS: u32 = 18;
/// The last ones that were looked for.
const LATEST: usize = 1 << 10;

/// The usual thread, size and operation of a site, packed; zero: it has none yet.
///
/// ```text
/// operation (6 bits) | thread + 1 (18 bits) | size (40 bits)
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::aggregate) struct Usual(u64);

impl Usual {
    /// Nothing is usual about a block so large, or a thread with such a number.
    const NEVER: Usual = Usual(u64::MAX);
    const WITHOUT_OPERATION: u64 = (1 << (SIZE_BITS + THREAD_BITS)) - 1;

    #[inline(always)]
    fn new(operation: u8, thread: u32, size: u64) -> Usual {
        if size >> SIZE_BITS != 0 || thread >= (1 << THREAD_BITS) - 2 {
            return Usual::NEVER;
        }
        Usual(u64::from(operation) << (SIZE_BITS + THREAD_BITS) | u64::from(thread + 1) << SIZE_BITS | size)
    }

    /// Of what becomes of a block: not of a call.
    #[inline(always)]
    fn of_block(block: &LiveBlock) -> Usual {
        Usual::new(0, block.thread, block.size())
    }

    #[inline(always)]
    fn is_of_block(self, block: &LiveBlock) -> bool {
        (self.0 ^ Usual::of_block(block).0) & Usual::WITHOUT_OPERATION == 0
    }

    fn operation(self) -> u8 {
        (self.0 >> (SIZE_BITS + THREAD_BITS)) as u8
    }

    /// What is usual if `other` is as well.
    fn and(self, other: Usual) -> Option<Usual> {
        match () {
            () if other == Usual::NEVER => None,
            () if self == Usual::default() => Some(other),
            () if (self.0 ^ other.0) & Usual::WITHOUT_OPERATION != 0 => None,
            () if self.operation() == 0 => Some(other),
            () => None,
        }
    }

    fn unpacked(self) -> parts::Usual {
        let thread = (self.0 >> SIZE_BITS & ((1 << THREAD_BITS) - 1)) as u32;
        let size = self.0 & ((1 << SIZE_BITS) - 1);
        parts::Usual { thread: thread.saturating_sub(1), size, operation: self.operation() }
    }
}

/// Site, thread, size.
type Key = (u32, u32, u64);

/// What is counted of a part.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    metrics: Metrics,
    /// Of the site's `Rare`.
    resized: u64,
    unknown_frees: u64,
}

/// The parts of the present chapter that are not usual.
pub(super) struct Apart {
    numbers: FxHashMap<Key, u32>,
    keys: Vec<Key>,
    counts: Vec<Counts>,
    latest: Box<[(Key, u32)]>,
    are_too_many: bool,
}

const NOTHING: (Key, u32) = ((u32::MAX, 0, 0), 0);

impl Default for Apart {
    fn default() -> Self {
        Apart {
            numbers: FxHashMap::default(),
            keys: Vec::new(),
            counts: Vec::new(),
            latest: vec![NOTHING; LATEST].into(),
            are_too_many: false,
        }
    }
}

impl Apart {
    fn find(&mut self, site: usize, thread: u32, size: u64) -> Option<&mut Counts> {
        let key = (site as u32, thread, size);
        let mixed = (site as u64) << 20 ^ u64::from(thread) << 44 ^ size;
        let place = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        let latest = &mut self.latest[place % LATEST];
        if latest.0 != key {
            let number = match self.numbers.get(&key) {
                Some(number) => *number,
                // With more, the chapter's events tell.
                None if self.counts.len() >= parts::MOST_OTHERS => {
                    self.are_too_many = true;
                    return None;
                }
                None => {
                    let number = self.counts.len() as u32;
                    self.numbers.insert(key, number);
                    self.keys.push(key);
                    self.counts.push(Counts::default());
                    number
                }
            };
            *latest = (key, number);
        }
        self.counts.get_mut(latest.1 as usize)
    }

    fn forget(&mut self) {
        self.numbers.clear();
        self.keys.clear();
        self.counts.clear();
        self.latest.fill(NOTHING);
        self.are_too_many = false;
    }

    /// The parts of a chapter that ends, with the indices of its sites and what is usual at them.
    pub fn take(&mut self, sites: &[(u32, Usual)]) -> Option<Parts> {
        let are_all = !self.are_too_many;
        let mut others: Vec<Other> = Vec::with_capacity(self.keys.len());
        for (&(site, thread, size), counts) in self.keys.iter().zip(&self.counts) {
            others.push(Other { site, thread, size, metrics: counts.finished(size) });
        }
        others.sort_unstable_by_key(|other| (other.site, other.thread, other.size));
        let mut at = 0;
        for other in &mut others {
            // Something happened at the site, so it is one of these.
            while sites.get(at).is_some_and(|(index, _)| *index < other.site) {
                at += 1;
            }
            other.site = at as u32;
        }
        self.forget();
        are_all.then(|| Parts { usual: sites.iter().map(|(_, usual)| usual.unpacked()).collect(), others })
    }
}

impl Counts {
    fn finished(&self, size: u64) -> Metrics {
        let mut metrics = self.metrics;
        metrics.live_bytes = metrics.live_allocations.wrapping_mul(size);
        metrics.largest = if metrics.bytes_allocated > 0 { size } else { 0 };
        // As for a site.
        let acquired = metrics.allocations + metrics.reallocations;
        let released = acquired.wrapping_sub(metrics.live_allocations).wrapping_sub(self.resized);
        metrics.timed_calls =
            acquired.wrapping_add(released).wrapping_add(self.unknown_frees).wrapping_add(metrics.free_null_calls);
        metrics
    }
}

/// What else is known of a call, beside its time and its operation.
pub(super) enum Call {
    /// A block was acquired.
    Acquired { reallocates: bool },
    /// None was.
    Nothing { reallocates: bool, has_failed: bool },
    /// One was released. `is_charged`: its time is the caller's.
    Released { is_charged: bool },
    /// Another call, which mapped so many bytes.
    Other { mapped: u64 },
}

impl<S: Select> Tally<S> {
    /// A call at a site.
    #[inline(always)]
    pub(super) fn called(&mut self, site: usize, event: &Event, size: u64, call: Call) {
        if S::KEEPS_PARTS && self.sites[site].usual != Usual::new(event.op.0, event.thread, size) {
            self.called_apart(site, event, size, call);
        }
    }

    /// A block of a site is released.
    #[inline(always)]
    pub(super) fn block_released(&mut self, event: &Event, block: &LiveBlock, is_temporary: bool) {
        if S::KEEPS_PARTS && !self.sites[block.site as usize].usual.is_of_block(block) {
            self.block_released_apart(event, block, is_temporary);
        }
    }

    /// What is counted of a part, unless it is the usual one.
    fn apart(&mut self, site: usize, usual: Usual, thread: u32, size: u64) -> Option<&mut Counts> {
        let apart = self.apart.as_mut()?;
        let place = &mut self.sites[site].usual;
        if let Some(both) = place.and(usual) {
            *place = both;
            return None;
        }
        apart.find(site, thread, size)
    }

    #[inline(never)]
    fn called_apart(&mut self, site: usize, event: &Event, size: u64, call: Call) {
        let usual = Usual::new(event.op.0, event.thread, size);
        let Some(counts) = self.apart(site, usual, event.thread, size) else { return };
        let Counts { metrics, resized, unknown_frees } = counts;
        metrics.operations |= 1 << event.op.0;
        metrics.events += 1;
        match call {
            Call::Acquired { reallocates } => {
                metrics.allocator_time += event.duration;
                metrics.allocations += u64::from(!reallocates);
                metrics.reallocations += u64::from(reallocates);
                metrics.bytes_allocated = metrics.bytes_allocated.wrapping_add(size);
                metrics.live_allocations = metrics.live_allocations.wrapping_add(1);
            }
            Call::Nothing { reallocates, has_failed } => {
                metrics.allocator_time += event.duration;
                metrics.reallocations += u64::from(reallocates);
                *resized += u64::from(reallocates);
                metrics.failed += u64::from(has_failed);
            }
            Call::Released { is_charged } => {
                metrics.allocator_time += if is_charged { event.duration } else { 0 };
                match event.block {
                    Block::Null => metrics.free_null_calls += 1,
                    _ => metrics.frees += 1,
                }
                *unknown_frees += u64::from(event.block == Block::Unknown);
            }
            Call::Other { mapped } => {
                metrics.mappings += u64::from(mapped > 0);
                metrics.mapped_bytes = metrics.mapped_bytes.wrapping_add(mapped);
            }
        }
    }

    #[inline(never)]
    fn block_released_apart(&mut self, event: &Event, block: &LiveBlock, is_temporary: bool) {
        let (usual, site) = (Usual::of_block(block), block.site as usize);
        let is_half = event.op.is_release_half();
        let Some(Counts { metrics, resized, .. }) = self.apart(site, usual, block.thread, block.size()) else { return };
        metrics.live_allocations = metrics.live_allocations.wrapping_sub(1);
        metrics.lifetime += event.time.saturating_sub(block.time);
        metrics.temporary += u64::from(is_temporary);
        match is_half {
            true => *resized += 1,
            false => metrics.allocator_time += event.duration,
        }
    }
}
