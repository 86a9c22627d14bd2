//! The payload of a patterns block: how the call sites of an image used memory since the image's last such block. Those of
//! all of its blocks add up to what they did in the whole recording, in any order.
//!
//! zstd over variable-length integers, one column for each field.

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::cells::{self, Cells};
use crate::histogram::{self, Histogram};
use crate::ids::{NodeId, ThreadNo};

/// How the blocks of a call site grew.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Growth {
    /// For each time a block grew, how often that block had grown, this time included. So there is a 1 for each block that
    /// grew at all.
    pub steps: Histogram,
    /// The new size each time, bytes.
    pub grown_to: Histogram,
    /// Of these sizes, those that were not enough: the block grew again. Bytes.
    pub outgrown: Histogram,
}

impl Growth {
    /// Adds what another one counted.
    pub fn add(&mut self, other: &Growth) {
        self.steps.add(&other.steps);
        self.grown_to.add(&other.grown_to);
        self.outgrown.add(&other.outgrown);
    }

    /// How many blocks grew.
    pub fn blocks(&self) -> u64 {
        self.steps.buckets().next().map_or(0, |(low, _, count)| if low == 1 { count } else { 0 })
    }

    /// The sizes at which blocks stopped growing, bytes. `None` of a span of time in which blocks outgrew what they had
    /// reached before.
    pub fn reached(&self) -> Option<Histogram> {
        self.grown_to.without(&self.outgrown)
    }

    fn histograms(&self) -> [&Histogram; GROWTH] {
        [&self.steps, &self.grown_to, &self.outgrown]
    }
}

const GROWTH: usize = 3;

/// A set of threads of an image, by their numbers. Those with high numbers are not told apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ThreadSet(u64);

/// Threads with this number and higher ones are not told apart.
const FIRST_SHARED: u32 = u64::BITS - 1;

impl ThreadSet {
    /// Adds a thread.
    #[inline(always)]
    pub fn insert(&mut self, thread: ThreadNo) {
        self.0 |= 1 << thread.get().min(FIRST_SHARED);
    }

    /// Adds those of another set.
    pub fn add(&mut self, other: ThreadSet) {
        self.0 |= other.0;
    }

    /// How many threads it has, if [`ThreadSet::is_capped`] at least.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there are threads that are not told apart.
    pub fn is_capped(self) -> bool {
        self.0 >> FIRST_SHARED != 0
    }

    /// The threads that are told apart.
    pub fn numbers(self) -> impl Iterator<Item = ThreadNo> {
        (1..FIRST_SHARED).filter(move |number| self.0 >> number & 1 != 0).filter_map(ThreadNo::new)
    }
}

/// How a call site used memory.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// When it acquired its first block, units; `None` if it acquired none.
    pub first: Option<u64>,
    /// When it acquired its last one, units.
    pub last: u64,
    /// Sizes of the blocks that it acquired, bytes.
    pub sizes: Histogram,
    /// Lifetimes of its blocks that were released, units.
    pub lifetimes: Histogram,
    /// The same blocks by size and lifetime.
    pub cells: Cells,
    /// Threads that acquired blocks here.
    pub acquiring: ThreadSet,
    /// Threads that released such blocks.
    pub releasing: ThreadSet,
    /// Blocks that another thread released than the one that had acquired them.
    pub released_elsewhere: u64,
    /// How its blocks grew by reallocation.
    pub reallocated: Growth,
    /// How blocks may have grown by hand: a thread acquired a larger one here and released the smaller one before it
    /// acquired anything else. By the stack node of the release.
    pub replaced: Vec<(Option<NodeId>, Growth)>,
}

impl Pattern {
    /// Adds what the same site did at another time.
    pub fn add(&mut self, other: &Pattern) {
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.sizes.add(&other.sizes);
        self.lifetimes.add(&other.lifetimes);
        self.cells.add(&other.cells);
        self.acquiring.add(other.acquiring);
        self.releasing.add(other.releasing);
        self.released_elsewhere = self.released_elsewhere.wrapping_add(other.released_elsewhere);
        self.reallocated.add(&other.reallocated);
        for (node, growth) in &other.replaced {
            match self.replaced.binary_search_by_key(node, |(node, _)| *node) {
                Ok(at) => self.replaced[at].1.add(growth),
                Err(at) => self.replaced.insert(at, (*node, growth.clone())),
            }
        }
    }
}

/// No block is as long, unpacked. Bytes.
const MAX_BYTES: usize = 1 << 30;

/// Packs the patterns of stack nodes.
pub fn encode(patterns: &[(Option<NodeId>, Pattern)]) -> Vec<u8> {
    let mut packer = Packer::default();
    patterns.iter().for_each(|(node, pattern)| packer.push(*node, pattern));
    packer.finish()
}

/// Packs them one by one: there can be hundreds of thousands, and none is kept.
#[derive(Default)]
pub struct Packer {
    count: u64,
    last_node: i64,
    nodes: Vec<u8>,
    columns: [Vec<u8>; FIELDS.len()],
    sizes: histogram::Columns,
    lifetimes: histogram::Columns,
    reallocated: histogram::Columns,
    replaced_nodes: Vec<u8>,
    replaced: histogram::Columns,
    cells: cells::Columns,
}

/// What has a column of one number for each pattern.
const FIELDS: [fn(&Pattern) -> u64; 6] = [
    |pattern| pattern.first.map_or(0, |first| first.saturating_add(1)),
    |pattern| pattern.last.saturating_sub(pattern.first.unwrap_or(0)),
    |pattern| pattern.acquiring.0,
    |pattern| pattern.releasing.0,
    |pattern| pattern.released_elsewhere,
    |pattern| pattern.replaced.len() as u64,
];

impl Packer {
    /// Adds the pattern of a stack node.
    pub fn push(&mut self, node: Option<NodeId>, pattern: &Pattern) {
        self.count += 1;
        let number = i64::from(NodeId::or_zero(node));
        put_varint(&mut self.nodes, zigzag(number - self.last_node));
        self.last_node = number;
        for (column, field) in self.columns.iter_mut().zip(FIELDS) {
            put_varint(column, field(pattern));
        }
        self.sizes.push(&pattern.sizes);
        self.lifetimes.push(&pattern.lifetimes);
        self.cells.push(&pattern.cells);
        pattern.reallocated.histograms().into_iter().for_each(|histogram| self.reallocated.push(histogram));
        for (node, growth) in &pattern.replaced {
            put_varint(&mut self.replaced_nodes, u64::from(NodeId::or_zero(*node)));
            growth.histograms().into_iter().for_each(|histogram| self.replaced.push(histogram));
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them.
    pub fn finish(self) -> Vec<u8> {
        let mut plain = Vec::new();
        let out = &mut plain;
        put_varint(out, self.count);
        out.extend_from_slice(&self.nodes);
        self.columns.iter().for_each(|column| out.extend_from_slice(column));
        [&self.sizes, &self.lifetimes, &self.reallocated].into_iter().for_each(|columns| columns.finish(out));
        out.extend_from_slice(&self.replaced_nodes);
        self.replaced.finish(out);
        self.cells.finish(out);
        crate::compress(&plain)
    }
}

/// Unpacks them.
pub fn decode(payload: &[u8]) -> Result<Vec<(Option<NodeId>, Pattern)>, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Unread::new(&plain);
    let bytes = &mut bytes;
    let count = bytes.varint()? as usize;
    if count > bytes.remaining() {
        return Err(Damage::Short);
    }
    let mut patterns = Vec::with_capacity(count);
    let mut before = 0i64;
    for _ in 0..count {
        before = before.wrapping_add(unzigzag(bytes.varint()?));
        let node = u32::try_from(before).map_err(|_| Damage::Value("a node id beyond all ids"))?;
        patterns.push((NodeId::new(node), Pattern::default()));
    }
    let mut column = |set: fn(&mut Pattern, u64)| -> Result<(), Damage> {
        patterns.iter_mut().try_for_each(|(_, pattern)| {
            set(pattern, bytes.varint()?);
            Ok(())
        })
    };
    column(|pattern, value| pattern.first = value.checked_sub(1))?;
    column(|pattern, value| pattern.last = pattern.first.unwrap_or(0).saturating_add(value))?;
    column(|pattern, value| pattern.acquiring = ThreadSet(value))?;
    column(|pattern, value| pattern.releasing = ThreadSet(value))?;
    column(|pattern, value| pattern.released_elsewhere = value)?;
    let mut all = 0usize;
    for (_, pattern) in &mut patterns {
        let replaced = bytes.varint()? as usize;
        all = all.saturating_add(replaced);
        if all > bytes.remaining() {
            return Err(Damage::Short);
        }
        pattern.replaced = vec![(None, Growth::default()); replaced];
    }
    let sizes = histogram::decode(bytes, count)?;
    let lifetimes = histogram::decode(bytes, count)?;
    for ((_, pattern), (sizes, lifetimes)) in patterns.iter_mut().zip(sizes.into_iter().zip(lifetimes)) {
        (pattern.sizes, pattern.lifetimes) = (sizes, lifetimes);
    }
    let mut grown = histogram::decode(bytes, count * GROWTH)?.into_iter();
    let mut growth = || -> Option<Growth> {
        Some(Growth { steps: grown.next()?, grown_to: grown.next()?, outgrown: grown.next()? })
    };
    patterns.iter_mut().for_each(|(_, pattern)| pattern.reallocated = growth().unwrap_or_default());
    fill_replaced(bytes, all, patterns.iter_mut().flat_map(|(_, pattern)| &mut pattern.replaced))?;
    let lifetimes: Vec<&Histogram> = patterns.iter().map(|(_, pattern)| &pattern.lifetimes).collect();
    let cells = cells::decode(bytes, &lifetimes)?;
    patterns.iter_mut().zip(cells).for_each(|((_, pattern), cells)| pattern.cells = cells);
    Ok(patterns)
}

fn fill_replaced<'p>(
    bytes: &mut Unread,
    count: usize,
    places: impl Iterator<Item = &'p mut (Option<NodeId>, Growth)>,
) -> Result<(), Damage> {
    let nodes: Vec<_> = (0..count).map(|_| bytes.varint32().map(NodeId::new)).collect::<Result<_, _>>()?;
    let mut grown = histogram::decode(bytes, count * GROWTH)?.into_iter();
    for (place, node) in places.zip(nodes) {
        let (steps, grown_to, outgrown) =
            (grown.next().unwrap_or_default(), grown.next().unwrap_or_default(), grown.next().unwrap_or_default());
        *place = (node, Growth { steps, grown_to, outgrown });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_histogram() -> impl Strategy<Value = Histogram> {
        proptest::collection::vec(0u64..100_000, 0..5).prop_map(|values| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.count(*value));
            histogram
        })
    }

    fn any_node() -> impl Strategy<Value = Option<NodeId>> {
        any::<u32>().prop_map(NodeId::new)
    }

    fn any_growth() -> impl Strategy<Value = Growth> {
        (any_histogram(), any_histogram(), any_histogram()).prop_map(|(steps, grown_to, outgrown)| Growth {
            steps,
            grown_to,
            outgrown,
        })
    }

    /// Lifetimes of blocks, and the same blocks by size and lifetime.
    fn any_released() -> impl Strategy<Value = (Histogram, Cells)> {
        proptest::collection::vec((0u64..5000, 0u64..100_000), 0..8).prop_map(|blocks| {
            let (mut lifetimes, mut cells) = (Histogram::default(), Cells::default());
            for (size, lifetime) in blocks {
                lifetimes.count(lifetime);
                cells.count(size, lifetime);
            }
            (lifetimes, cells)
        })
    }

    fn any_pattern() -> impl Strategy<Value = Pattern> {
        let times = proptest::option::of((0u64..1 << 60, 0u64..1000));
        let replaced = proptest::collection::btree_map(any_node(), any_growth(), 0..3);
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
        (times, any_histogram(), any_released(), any_growth(), replaced, numbers).prop_map(
            |(times, sizes, (lifetimes, cells), reallocated, replaced, (acquiring, releasing, released_elsewhere))| {
                Pattern {
                    first: times.map(|(first, _)| first),
                    last: times.map_or(0, |(first, length)| first + length),
                    sizes,
                    lifetimes,
                    cells,
                    acquiring: ThreadSet(acquiring),
                    releasing: ThreadSet(releasing),
                    released_elsewhere,
                    reallocated,
                    replaced: replaced.into_iter().collect(),
                }
            },
        )
    }

    proptest! {
        #[test]
        fn patterns_come_back(patterns in proptest::collection::vec((any_node(), any_pattern()), 0..20)) {
            prop_assert_eq!(decode(&encode(&patterns)).unwrap(), patterns);
        }

        #[test]
        fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&bytes);
            let _ = decode(&crate::compress(&bytes));
        }

        #[test]
        fn patterns_add_up_in_any_order(one in any_pattern(), other in any_pattern()) {
            let sum = |mut first: Pattern, second: &Pattern| {
                first.add(second);
                first
            };
            prop_assert_eq!(sum(one.clone(), &other), sum(other, &one));
        }
    }

    #[test]
    fn threads_with_high_numbers_are_not_told_apart() {
        let mut threads = ThreadSet::default();
        let thread = |number| ThreadNo::new(number).unwrap();
        [1, 2, 2, 62].map(thread).into_iter().for_each(|thread| threads.insert(thread));
        assert_eq!((threads.count(), threads.is_capped()), (3, false));
        [63, 64, 100_000].map(thread).into_iter().for_each(|thread| threads.insert(thread));
        assert_eq!((threads.count(), threads.is_capped()), (4, true));
        assert_eq!(threads.numbers().collect::<Vec<_>>(), [1, 2, 62].map(thread));
    }
}
