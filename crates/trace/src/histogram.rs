//! How often which values occurred, in buckets whose width grows with the value.
//!
//! ```text
//! value      0 .. 15   a bucket each
//!           16 .. 31   a bucket each
//!           32 .. 63   16 buckets of 2
//!           64 .. 127  16 buckets of 4, and so on: 16 for each doubling
//! ```
//!
//! Values below 32 are exact. Any other is at most 1/32 (3.1 %) away from the middle of its bucket. Two histograms add up by
//! adding the counts of equal buckets, whatever is in them.

use crate::Damage;
use crate::bytes::{Unread, put_varint};

/// Buckets for each doubling of the value.
const BUCKETS_PER_DOUBLING: u32 = 1 << STEP_BITS;
const STEP_BITS: u32 = 4;
/// How many buckets there are: the numbers of 64 bits need no more.
pub const BUCKETS: u16 = ((u64::BITS - STEP_BITS + 1) * BUCKETS_PER_DOUBLING) as u16;

#[inline(always)]
pub fn bucket(value: u64) -> u16 {
    // Below one doubling, the bucket is the value.
    let shift = (value | u64::from(BUCKETS_PER_DOUBLING)).ilog2() - STEP_BITS;
    ((shift << STEP_BITS) + (value >> shift) as u32) as u16
}

/// The lowest and the highest value of a bucket.
pub fn range(bucket: u16) -> (u64, u64) {
    let shift = (u32::from(bucket) >> STEP_BITS).saturating_sub(1);
    let steps = u64::from(u32::from(bucket) - (shift << STEP_BITS));
    (steps << shift, (steps << shift) + ((1 << shift) - 1))
}

/// Counts of values.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// Buckets that are not empty, in their order, and how many values are in each.
    counts: Vec<(u16, u64)>,
}

impl Histogram {
    /// Of counts by bucket, in the order of the buckets. Empty buckets are left out.
    pub fn of(counts: impl Iterator<Item = (u16, u64)>) -> Histogram {
        let mut histogram = Histogram::default();
        histogram.refill(counts);
        histogram
    }

    /// Becomes that of other counts, in the memory that it has.
    pub fn refill(&mut self, counts: impl Iterator<Item = (u16, u64)>) {
        self.counts.clear();
        counts.filter(|(_, count)| *count > 0).for_each(|count| self.counts.push(count));
    }

    pub fn count(&mut self, value: u64) {
        self.count_in(bucket(value), 1);
    }

    fn count_in(&mut self, bucket: u16, count: u64) {
        match self.counts.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.wrapping_add(count),
            Err(at) => self.counts.insert(at, (bucket, count)),
        }
    }

    /// Counts what `value` makes of the middle of each bucket.
    pub fn map(&self, value: impl Fn(u64) -> Option<u64>) -> Histogram {
        let mut mapped = Histogram::default();
        for (low, high, count) in self.buckets() {
            if let Some(value) = value(low + (high - low) / 2) {
                mapped.count_in(bucket(value), count);
            }
        }
        mapped
    }

    /// Adds what another one counted.
    pub fn add(&mut self, other: &Histogram) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        other.counts.iter().for_each(|(bucket, count)| self.count_in(*bucket, *count));
    }

    /// Takes away what another one counted of the same values. `None` if it counted values that are not here.
    pub fn without(&self, other: &Histogram) -> Option<Histogram> {
        let mut rest = self.clone();
        for (bucket, count) in &other.counts {
            let at = rest.counts.binary_search_by_key(bucket, |(bucket, _)| *bucket).ok()?;
            rest.counts[at].1 = rest.counts[at].1.checked_sub(*count)?;
        }
        rest.counts.retain(|(_, count)| *count > 0);
        Some(rest)
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, (_, count)| sum.wrapping_add(*count))
    }

    /// The buckets that are not empty, in their order: lowest value, highest value, and how many are between these.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.iter().map(|(bucket, count)| {
            let (low, high) = range(*bucket);
            (low, high, *count)
        })
    }

    /// The value that this share of all values (0 to 1) does not exceed: the middle of its bucket, at most 3.1 % away from
    /// it. `None` if nothing was counted.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((self.total() as f64 * share).ceil() as u64).max(1);
        let mut seen = 0u64;
        let found = self.counts.iter().find(|(_, count)| {
            seen = seen.wrapping_add(*count);
            seen >= rank
        });
        found.or(self.counts.last()).map(|(bucket, _)| {
            let (low, high) = range(*bucket);
            low + (high - low) / 2
        })
    }
}

/// Packs some histograms: how many buckets each has, then all buckets, each as the distance from the one before, then all
/// counts.
#[derive(Default)]
pub(crate) struct Columns {
    lengths: Vec<u8>,
    buckets: Vec<u8>,
    counts: Vec<u8>,
}

impl Columns {
    /// Adds a histogram.
    pub fn push(&mut self, histogram: &Histogram) {
        put_varint(&mut self.lengths, histogram.counts.len() as u64);
        let mut before = 0;
        for (bucket, count) in &histogram.counts {
            put_varint(&mut self.buckets, u64::from(bucket - before));
            put_varint(&mut self.counts, *count);
            before = *bucket;
        }
    }

    /// Appends what was added.
    pub fn finish(&self, out: &mut Vec<u8>) {
        [&self.lengths, &self.buckets, &self.counts].into_iter().for_each(|column| out.extend_from_slice(column));
    }
}

/// Reads `count` histograms.
pub(crate) fn decode(bytes: &mut Unread, count: usize) -> Result<Vec<Histogram>, Damage> {
    let mut histograms = Vec::with_capacity(count.min(bytes.remaining()));
    let mut all = 0usize;
    for _ in 0..count {
        let buckets = bytes.varint()? as usize;
        all = all.saturating_add(buckets);
        if buckets > usize::from(BUCKETS) || all > bytes.remaining() {
            return Err(Damage::Value("a histogram of more buckets than there are"));
        }
        histograms.push(Histogram { counts: vec![(0, 0); buckets] });
    }
    for histogram in &mut histograms {
        let mut before = None;
        for (bucket, _) in &mut histogram.counts {
            let distance = bytes.varint()?;
            let next = u64::from(before.unwrap_or(0)).saturating_add(distance);
            if next >= u64::from(BUCKETS) || before.is_some() && distance == 0 {
                return Err(Damage::Value("a histogram with unsorted buckets"));
            }
            *bucket = next as u16;
            before = Some(*bucket);
        }
    }
    for (_, count) in histograms.iter_mut().flat_map(|histogram| &mut histogram.counts) {
        *count = bytes.varint()?;
    }
    Ok(histograms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_one_another_without_gaps() {
        let mut next = 0u64;
        for number in 0..BUCKETS {
            let (low, high) = range(number);
            assert_eq!((low, bucket(low), bucket(high)), (next, number, number));
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last one ends with the highest number");
    }

    #[test]
    fn quantiles_are_values_that_a_share_does_not_exceed() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=20).for_each(|value| histogram.count(value));
        assert_eq!([0.0, 0.5, 0.95, 1.0].map(|share| histogram.quantile(share).unwrap()), [1, 10, 19, 20]);
        let mut one = Histogram::default();
        one.count(20);
        assert_eq!(histogram.without(&one).unwrap().quantile(1.0), Some(19));
        one.count(20);
        assert_eq!(histogram.without(&one), None);
    }

    proptest! {
        #[test]
        fn values_are_close_to_the_middle_of_their_bucket(bits in 0u32..64, random in any::<u64>()) {
            let value = random >> bits;
            let mut histogram = Histogram::default();
            histogram.count(value);
            let middle = histogram.quantile(0.5).unwrap();
            prop_assert!(middle.abs_diff(value) <= value / 32, "{} for {}", middle, value);
        }

        #[test]
        fn what_two_counted_is_what_one_would_have_counted(
            here in proptest::collection::vec(0u64..5000, 0..50), there in proptest::collection::vec(0u64..5000, 0..50),
        ) {
            let of = |values: &[u64]| {
                let mut histogram = Histogram::default();
                values.iter().for_each(|value| histogram.count(*value));
                histogram
            };
            let mut sum = of(&here);
            sum.add(&of(&there));
            prop_assert_eq!(&sum, &of(&[here.clone(), there.clone()].concat()));
            prop_assert_eq!(sum.without(&of(&there)).unwrap(), of(&here));
            let mut out = Vec::new();
            let both = [of(&here), sum];
            let mut columns = Columns::default();
            both.iter().for_each(|histogram| columns.push(histogram));
            columns.finish(&mut out);
            prop_assert_eq!(decode(&mut Unread::new(&out), 2).unwrap(), both);
        }

        #[test]
        fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100), count in 0usize..20) {
            let _ = decode(&mut Unread::new(&bytes), count);
        }
    }
}
