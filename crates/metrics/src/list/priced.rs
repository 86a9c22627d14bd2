//! What a call site, a process or a recording counted, with what it cost.
//!
//! Counts are stored; costs are derived from them by the prices of a recording (`Tariff::price` of the analysis). Both have
//! types of their own, so that no code can store a price, or show a count without one.

use crate::list::{COUNTS, Metrics};
use memtoll_text::amounts::{Bytes, Nanoseconds, Units};
use std::ops::Deref;

/// Counts and their costs. Prices are settled for each call site; those of several are sums of both.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Priced {
    /// What was counted, as it is stored.
    pub counts: Metrics,
    /// The allocator's own work, ns.
    pub allocator_ns: Nanoseconds,
    /// By how much the faults and mappings inside calls come out at more than the calls took, ns: these are as much too dear
    /// here. No part of the cost.
    pub overdrawn_ns: Nanoseconds,
    /// Page faults, zeroing included, ns.
    pub fault_time_ns: Nanoseconds,
    /// The part of it that zeroed pages, ns.
    pub zeroing_ns: Nanoseconds,
    /// Making, changing and removing mappings, ns.
    pub mapping_ns: Nanoseconds,
    /// Waiting inside the allocator, ns.
    pub waiting_ns: Nanoseconds,
    /// Waiting for the disk in major faults, ns.
    pub reading_ns: Nanoseconds,
    /// Sum of the lifetimes of freed blocks, ns.
    pub lifetime_ns: Nanoseconds,
    /// Bytes of the pages that were touched for the first time, each counted once.
    pub touched_bytes: Bytes,
    /// Blocks, those from before a span included, of processes in which an allocator hides frees: no count that needs frees
    /// has a part of them.
    pub unknown_fates: u64,
    /// Blocks that a process had when it ended, before the selection does, or when it executed another program: they are neither
    /// live nor freed.
    pub ended_blocks: u64,
    /// What a look at the pages found when processes ended, in memory: bytes of live blocks.
    pub resident_bytes: Bytes,
    /// Bytes of live blocks that were not in memory, and not swapped out.
    pub never_touched_bytes: Bytes,
    /// Bytes beside live blocks.
    pub slack_bytes: Bytes,
    /// The site's share of the free memory that live blocks keep.
    pub pinned_bytes: Bytes,
    /// Blocks, as in `unknown_fates`, of processes whose pages were not looked at.
    pub without_pages: u64,
    /// The same, and those of processes whose allocator gives memory back in unknown units.
    pub without_units: u64,
    /// Live blocks of processes whose memory was not searched at their end: no count of lost blocks has a part of them.
    pub unsearched: u64,
    /// Lost blocks of all kinds that are suppressed: no other count of lost blocks has a part of them.
    pub suppressed_blocks: u64,
    /// Their bytes.
    pub suppressed_bytes: Bytes,
}

macro_rules! sums {
    ($($field:ident $(.$number:tt)?;)*) => {
        impl Priced {
            /// How many numbers there are.
            pub const NUMBERS: usize = COUNTS.len() + Priced::SUMS.len();

            /// All that adds up beside the counts.
            pub const SUMS: &[fn(&mut Priced) -> &mut u64] = &[$(|priced| &mut priced.$field$(.$number)?),*];

            /// Adds what another site or process counted and paid. Numbers of a damaged file may be beyond all sums.
            pub fn add(&mut self, other: &Priced) {
                self.counts.add(&other.counts);
                $(self.$field$(.$number)? = self.$field$(.$number)?.wrapping_add(other.$field$(.$number)?);)*
            }

            /// All numbers: the counts, and what adds up beside them.
            #[inline]
            pub fn values(&self) -> [u64; Priced::NUMBERS] {
                let mut values = [0; Priced::NUMBERS];
                let (counts, sums) = values.split_at_mut(COUNTS.len());
                counts.copy_from_slice(&self.counts.values());
                sums.copy_from_slice(&[$(self.$field$(.$number)?),*]);
                values
            }

            /// The inverse.
            #[inline]
            pub fn of_values(values: &[u64; Priced::NUMBERS]) -> Priced {
                let counts = std::array::from_fn(|place| values[place]);
                let sums: [u64; Priced::SUMS.len()] = std::array::from_fn(|place| values[COUNTS.len() + place]);
                let mut priced = Priced::from(Metrics::of_values(counts));
                let [$($field),*] = sums;
                $(priced.$field$(.$number)? = $field;)*
                priced
            }
        }
    };
}

sums! {
    allocator_ns.0;
    overdrawn_ns.0;
    fault_time_ns.0;
    zeroing_ns.0;
    mapping_ns.0;
    waiting_ns.0;
    reading_ns.0;
    lifetime_ns.0;
    touched_bytes.0;
    unknown_fates;
    ended_blocks;
    resident_bytes.0;
    never_touched_bytes.0;
    slack_bytes.0;
    pinned_bytes.0;
    without_pages;
    without_units;
    unsearched;
    suppressed_blocks;
    suppressed_bytes.0;
}

/// Counts are read as if they were the priced ones' own.
impl Deref for Priced {
    type Target = Metrics;

    fn deref(&self) -> &Metrics {
        &self.counts
    }
}

impl Priced {
    /// What is left of it without a part.
    #[must_use]
    pub fn without(mut self, part: &Priced) -> Priced {
        self.counts.subtract(&part.counts);
        let mut part = *part;
        for field in Priced::SUMS {
            let left = field(&mut self);
            *left = left.saturating_sub(*field(&mut part));
        }
        self
    }

    /// Adds to the number in a place what another one has there.
    #[inline]
    pub fn add_number(&mut self, place: usize, more: u64) {
        match place.checked_sub(COUNTS.len()) {
            None => self.counts.add_number(place, more),
            Some(place) => {
                let number = Priced::SUMS[place](self);
                *number = number.wrapping_add(more);
            }
        }
    }

    /// All that it cost, ns. Zeroing is part of the faults.
    pub fn cost_ns(&self) -> Nanoseconds {
        let parts = [self.allocator_ns, self.fault_time_ns, self.mapping_ns, self.waiting_ns, self.reading_ns];
        parts.into_iter().fold(Nanoseconds::ZERO, Nanoseconds::wrapping_add)
    }

    /// Allocations and reallocations: how many blocks the site got.
    pub fn allocations(&self) -> u64 {
        self.new_blocks.wrapping_add(self.reallocations)
    }

    /// How many of the site's blocks were freed, by whomever; a reallocation frees a block, too.
    pub fn freed(&self) -> u64 {
        let known = self.blocks().saturating_sub(self.unknown_fates);
        known.saturating_sub(self.live_blocks).saturating_sub(self.ended_blocks)
    }

    /// Blocks, those from before a span included.
    pub fn blocks(&self) -> u64 {
        self.allocations().wrapping_add(self.live_before)
    }

    /// Whether frees are hidden in all processes that got blocks here.
    pub fn hides_frees(&self) -> bool {
        self.are_all(self.unknown_fates)
    }

    /// Whether the pages of none of the processes that got blocks here were looked at.
    pub fn lacks_pages(&self) -> bool {
        self.are_all(self.without_pages)
    }

    /// Whether the allocator's units are known of none of the processes that got blocks here and whose pages were looked at.
    pub fn lacks_units(&self) -> bool {
        self.are_all(self.without_units)
    }

    /// Whether these are all blocks, and there are some.
    fn are_all(&self, blocks: u64) -> bool {
        blocks > 0 && blocks >= self.blocks()
    }

    /// Whether processes that have live blocks here should have been searched, and none was.
    pub fn is_unsearched(&self) -> bool {
        self.unsearched > 0 && self.unsearched >= self.live_blocks
    }

    /// The process was not searched.
    pub fn forget_search(&mut self) {
        self.unsearched = self.live_blocks;
        self.forget_lost();
    }

    /// What is lost shall not be told.
    pub fn suppress_lost(&mut self) {
        self.suppressed_blocks = self.leaked_blocks().wrapping_add(self.possibly_lost_blocks);
        self.suppressed_bytes = self.leaked_bytes().saturating_add(self.possibly_lost_bytes);
        self.forget_lost();
    }

    fn forget_lost(&mut self) {
        let counts = &mut self.counts;
        (counts.lost_blocks, counts.lost_bytes) = (0, Bytes::ZERO);
        (counts.indirectly_lost_blocks, counts.indirectly_lost_bytes) = (0, Bytes::ZERO);
        (counts.possibly_lost_blocks, counts.possibly_lost_bytes) = (0, Bytes::ZERO);
    }

    /// Bytes leaked: of lost and indirectly lost blocks.
    pub fn leaked_bytes(&self) -> Bytes {
        self.lost_bytes.saturating_add(self.indirectly_lost_bytes)
    }

    /// The same, in blocks.
    pub fn leaked_blocks(&self) -> u64 {
        self.lost_blocks.wrapping_add(self.indirectly_lost_blocks)
    }

    /// The process has ended: nothing is live any more.
    pub fn end(&mut self) {
        self.ended_blocks = self.live_blocks;
        let counts = &mut self.counts;
        (counts.live_bytes, counts.live_blocks) = (Bytes::ZERO, 0);
    }

    /// Forgets what needs frees: an allocator hides those of these blocks.
    pub fn forget_fates(&mut self) {
        self.unknown_fates = self.blocks();
        self.lifetime_ns = Nanoseconds::ZERO;
        let counts = &mut self.counts;
        (counts.live_bytes, counts.live_blocks) = (Bytes::ZERO, 0);
        (counts.peak_bytes, counts.peak_blocks) = (Bytes::ZERO, 0);
        (counts.temporary, counts.lifetime) = (0, Units::ZERO);
        self.forget_search();
    }

    /// How many of the site's blocks were freed that had been allocated while memtoll watched.
    pub fn freed_with_age(&self) -> u64 {
        self.freed().saturating_sub(self.freed_ageless)
    }

    /// Mean lifetime of the blocks that were freed and whose lifetime is known, ns; 0 if there is none.
    pub fn mean_lifetime_ns(&self) -> u64 {
        self.lifetime_ns.0.checked_div(self.freed_with_age()).unwrap_or(0)
    }

    /// Page faults of all kinds; a huge page is one.
    pub fn faults(&self) -> u64 {
        let kinds = [self.small_faults, self.huge_faults, self.major_faults, self.file_faults];
        kinds.into_iter().fold(0, u64::wrapping_add)
    }

    /// The costs as parts of a time.
    pub fn costs(&self) -> Costs {
        Costs {
            allocator: self.allocator_ns.0 as f64,
            faults: self.fault_time_ns.0 as f64,
            zeroing: self.zeroing_ns.0 as f64,
            mapping: self.mapping_ns.0 as f64,
            waiting: self.waiting_ns.0 as f64,
            reading: self.reading_ns.0 as f64,
        }
    }
}

/// What was paid, ns.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Costs {
    /// Inside malloc, free and the like, without what follows.
    pub allocator: f64,
    /// For page faults, zeroing included.
    pub faults: f64,
    /// The share of it that zeroed pages.
    pub zeroing: f64,
    /// For making, changing and taking away mappings.
    pub mapping: f64,
    /// Waiting inside malloc, free and the like.
    pub waiting: f64,
    /// Waiting for the disk, in major faults.
    pub reading: f64,
}

impl Costs {
    /// All together, ns. Zeroing is part of the faults.
    pub fn total(&self) -> f64 {
        self.processor() + self.waiting + self.reading
    }

    /// The CPU time among it, ns: all but waiting and reading.
    pub fn processor(&self) -> f64 {
        self.allocator + self.faults + self.mapping
    }
}

/// Counts without prices: they cost nothing.
impl From<Metrics> for Priced {
    fn from(counts: Metrics) -> Priced {
        Priced { counts, ..Priced::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metric, Seen, Sees, TABLE};

    #[test]
    fn of_hidden_frees_nothing_is_known() {
        let all = Sees { faults: true, switches: true, frees: true, fault_prices: true, pages: true, units: true };
        let counts = Metrics {
            new_blocks: 9,
            live_blocks: 4,
            live_bytes: Bytes(40),
            peak_bytes: Bytes(70),
            peak_blocks: 7,
            temporary: 2,
            lifetime: Units(5),
            ..Metrics::default()
        };
        let known = Priced { counts, lifetime_ns: Nanoseconds(5), ..Priced::default() };
        let mut hidden = known;
        hidden.forget_fates();
        assert!(hidden.hides_frees() && !known.hides_frees());
        let mut both = known;
        both.add(&hidden);
        for metric in TABLE.iter().filter(|about| about.seen == Seen::Frees).map(|about| about.metric) {
            assert!(metric.value(&known) > 0, "{metric:?}");
            assert_eq!(metric.known(&hidden, all), None, "{metric:?}");
            assert_eq!(metric.known(&both, all), Some(metric.value(&known)), "{metric:?}");
        }
        assert_eq!(both.allocations(), 18);
    }

    #[test]
    fn without_a_look_nothing_is_known_of_pages() {
        let all = Sees { faults: true, switches: true, frees: true, fault_prices: true, pages: true, units: true };
        let one = |new_blocks| Priced::from(Metrics { new_blocks, ..Metrics::default() });
        let mut seen = one(3);
        (seen.resident_bytes, seen.pinned_bytes) = (Bytes(300), Bytes(4_000));
        let unseen = Priced { without_pages: 9, without_units: 9, ..one(9) };
        let unknown_units = Priced { resident_bytes: Bytes(50), without_units: 2, ..one(2) };
        let known = |of: &Priced| [Metric::Resident, Metric::Pinned].map(|metric| metric.known(of, all));
        assert_eq!(known(&seen), [Some(300), Some(4_000)]);
        assert_eq!(known(&unseen), [None, None]);
        assert_eq!(known(&unknown_units), [Some(50), None]);
        let mut together = unseen;
        together.add(&unknown_units);
        assert_eq!(known(&together), [Some(50), None]);
        together.add(&seen);
        assert_eq!(known(&together), [Some(350), Some(4_000)]);
        let blind = Sees { pages: false, ..all };
        assert_eq!([Metric::Resident, Metric::Pinned].map(|metric| metric.known(&seen, blind)), [None, None]);
    }
}
