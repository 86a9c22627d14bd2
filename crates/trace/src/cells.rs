//! How many blocks of which size lived how long: a cell for each power of two of both.
//!
//! A *power* of a value is how many bits it has: 0 has none, 1 has one, 2 and 3 have two, 4 to 7 have three.

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::histogram::Histogram;

pub const POWERS: u8 = u64::BITS as u8 + 1;

#[inline(always)]
pub fn power(value: u64) -> u8 {
    (u64::BITS - value.leading_zeros()) as u8
}

/// The lowest and the highest value of a power.
pub fn range(power: u8) -> (u64, u64) {
    match power {
        0 => (0, 0),
        _ => (1 << (power - 1), u64::MAX >> (u64::BITS - u32::from(power))),
    }
}

/// Counts of blocks.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Cells {
    /// By power of the size and power of the lifetime, in this order. None is 0.
    counts: Vec<((u8, u8), u64)>,
}

impl Cells {
    /// Of blocks of one size, by their lifetimes.
    pub fn of_one_size(size: u8, lifetimes: &Histogram) -> Cells {
        let mut cells = Cells::default();
        cells.refill_one_size(size, lifetimes);
        cells
    }

    /// Becomes that of counts by power of the size and power of the lifetime, in this order, in the memory that it has. Counts that
    /// are 0 are left out.
    pub fn refill(&mut self, counts: impl Iterator<Item = ((u8, u8), u64)>) {
        self.counts.clear();
        counts.filter(|(_, count)| *count > 0).for_each(|count| self.counts.push(count));
    }

    /// Becomes that of blocks of one size, by their lifetimes.
    pub fn refill_one_size(&mut self, size: u8, lifetimes: &Histogram) {
        self.counts.clear();
        for (low, _, count) in lifetimes.buckets() {
            let cell = (size, power(low));
            match self.counts.last_mut() {
                Some((last, sum)) if *last == cell => *sum = sum.wrapping_add(count),
                _ => self.counts.push((cell, count)),
            }
        }
    }

    /// Counts a block.
    pub fn count(&mut self, size: u64, lifetime: u64) {
        self.count_in((power(size), power(lifetime)), 1);
    }

    fn count_in(&mut self, cell: (u8, u8), count: u64) {
        match self.counts.binary_search_by_key(&cell, |(cell, _)| *cell) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.wrapping_add(count),
            Err(at) => self.counts.insert(at, (cell, count)),
        }
    }

    /// Adds what another one counted.
    pub fn add(&mut self, other: &Cells) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        other.counts.iter().for_each(|(cell, count)| self.count_in(*cell, *count));
    }

    /// Power of the size, power of the lifetime, and how many blocks; cells without blocks are left out.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u8, u64)> + '_ {
        self.counts.iter().map(|((size, lifetime), count)| (*size, *lifetime, *count))
    }

    /// The cells of each size.
    fn rows(&self) -> impl Iterator<Item = &[((u8, u8), u64)]> {
        self.counts.chunk_by(|((one, _), _), ((other, _), _)| one == other)
    }
}

/// Packs cells of blocks whose lifetimes stand elsewhere: the longest row is what the other rows leave of these. So blocks of
/// one size take two bytes.
#[derive(Default)]
pub(crate) struct Columns {
    rows: Vec<u8>,
    sizes: Vec<u8>,
    lengths: Vec<u8>,
    lifetimes: Vec<u8>,
    counts: Vec<u8>,
}

impl Columns {
    /// Adds the cells of a site.
    pub fn push(&mut self, cells: &Cells) {
        if let (Some(((smallest, _), _)), Some(((largest, _), _))) = (cells.counts.first(), cells.counts.last())
            && smallest == largest
        {
            // Most sites.
            put_varint(&mut self.rows, 1);
            put_varint(&mut self.sizes, zigzag(i64::from(*smallest)));
            return;
        }
        let mut rows: Vec<&[((u8, u8), u64)]> = cells.rows().collect();
        rows.sort_by_key(|row| row.len());
        put_varint(&mut self.rows, rows.len() as u64);
        let mut before = 0;
        for row in &rows {
            let size = i64::from(row[0].0.0);
            put_varint(&mut self.sizes, zigzag(size - before));
            before = size;
        }
        for row in rows.iter().take(rows.len().saturating_sub(1)) {
            put_varint(&mut self.lengths, row.len() as u64);
            let mut before = 0;
            for ((_, lifetime), count) in *row {
                put_varint(&mut self.lifetimes, u64::from(lifetime - before));
                put_varint(&mut self.counts, *count);
                before = *lifetime;
            }
        }
    }

    /// Appends what was added.
    pub fn finish(&self, out: &mut Vec<u8>) {
        [&self.rows, &self.sizes, &self.lengths, &self.lifetimes, &self.counts]
            .into_iter()
            .for_each(|column| out.extend_from_slice(column));
    }
}

/// Reads the cells of sites, of which these are the lifetimes.
pub(crate) fn decode(bytes: &mut Unread, lifetimes: &[&Histogram]) -> Result<Vec<Cells>, Damage> {
    let powers = |bytes: &mut Unread| -> Result<usize, Damage> {
        let count = bytes.varint()? as usize;
        if count <= usize::from(POWERS) { Ok(count) } else { Err(Damage::Value("more cells than there are")) }
    };
    let rows: Vec<usize> = lifetimes.iter().map(|_| powers(bytes)).collect::<Result<_, _>>()?;
    let mut sizes = Vec::new();
    for &rows in &rows {
        let mut before = 0i64;
        for _ in 0..rows {
            before = before.wrapping_add(unzigzag(bytes.varint()?));
            let size = u8::try_from(before).ok().filter(|size| *size < POWERS);
            sizes.push(size.ok_or(Damage::Value("a size beyond all sizes"))?);
        }
    }
    let told: usize = rows.iter().map(|rows| rows.saturating_sub(1)).sum();
    let lengths: Vec<usize> = (0..told).map(|_| powers(bytes)).collect::<Result<_, _>>()?;
    let mut powers = Vec::new();
    for &length in &lengths {
        let mut before = 0u64;
        for _ in 0..length {
            before = before.saturating_add(bytes.varint()?);
            let power = u8::try_from(before).ok().filter(|power| *power < POWERS);
            powers.push(power.ok_or(Damage::Value("a lifetime beyond all lifetimes"))?);
        }
    }
    let (mut sizes, mut lengths, mut powers) = (sizes.into_iter(), lengths.into_iter(), powers.into_iter());
    let mut all = Vec::with_capacity(rows.len());
    for (rows, lifetimes) in rows.into_iter().zip(lifetimes) {
        let mut cells = Cells::default();
        let mut left = [0u64; POWERS as usize];
        lifetimes.buckets().for_each(|(low, _, count)| {
            let left = &mut left[usize::from(power(low))];
            *left = left.wrapping_add(count);
        });
        for _ in 1..rows {
            let size = sizes.next().unwrap_or_default();
            for power in powers.by_ref().take(lengths.next().unwrap_or_default()) {
                let count = bytes.varint()?;
                let left = &mut left[usize::from(power)];
                *left = left.checked_sub(count).ok_or(Damage::Value("more blocks of a lifetime than there are"))?;
                cells.count_in((size, power), count);
            }
        }
        let last = if rows > 0 { sizes.next() } else { None };
        for (power, count) in (0..POWERS).zip(left).filter(|(_, count)| *count > 0) {
            cells.count_in((last.ok_or(Damage::Value("blocks of no size"))?, power), count);
        }
        all.push(cells);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn powers_follow_one_another_without_gaps() {
        let mut next = 0u64;
        for number in 0..POWERS {
            let (low, high) = range(number);
            assert_eq!((low, power(low), power(high)), (next, number, number));
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last one ends with the highest number");
    }

    fn counted(blocks: &[(u64, u64)]) -> (Histogram, Cells) {
        let (mut lifetimes, mut cells) = (Histogram::default(), Cells::default());
        for (size, lifetime) in blocks {
            lifetimes.count(*lifetime);
            cells.count(*size, *lifetime);
        }
        (lifetimes, cells)
    }

    #[test]
    fn blocks_of_one_size_take_two_bytes() {
        let (lifetimes, cells) = counted(&[(64, 1), (64, 1000), (100, 1_000_000)]);
        assert_eq!(cells, Cells::of_one_size(power(64), &lifetimes));
        let mut columns = Columns::default();
        columns.push(&cells);
        let mut out = Vec::new();
        columns.finish(&mut out);
        assert_eq!(out.len(), 2);
    }

    proptest! {
        #[test]
        fn cells_come_back(
            sites in proptest::collection::vec(proptest::collection::vec(
                ((0u32..64, any::<u64>()), (0u32..64, any::<u64>())), 0..40,
            ), 0..8),
        ) {
            let sites: Vec<Vec<(u64, u64)>> = sites.iter().map(|blocks| {
                blocks.iter().map(|((bits, size), (other, lifetime))| (size >> bits, lifetime >> other)).collect()
            }).collect();
            let sites: Vec<(Histogram, Cells)> = sites.iter().map(|blocks| counted(blocks)).collect();
            let mut columns = Columns::default();
            sites.iter().for_each(|(_, cells)| columns.push(cells));
            let mut out = Vec::new();
            columns.finish(&mut out);
            let lifetimes: Vec<&Histogram> = sites.iter().map(|(lifetimes, _)| lifetimes).collect();
            let expected: Vec<Cells> = sites.iter().map(|(_, cells)| cells.clone()).collect();
            prop_assert_eq!(decode(&mut Unread::new(&out), &lifetimes).unwrap(), expected);
        }

        #[test]
        fn what_two_counted_is_what_one_would_have_counted(
            here in proptest::collection::vec((0u64..5000, 0u64..5000), 0..50),
            there in proptest::collection::vec((0u64..5000, 0u64..5000), 0..50),
        ) {
            let mut sum = counted(&here).1;
            sum.add(&counted(&there).1);
            prop_assert_eq!(sum, counted(&[here, there].concat()).1);
        }

        #[test]
        fn damage_is_no_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..100), lifetimes in proptest::collection::vec(any::<u64>(), 0..5),
        ) {
            let mut histogram = Histogram::default();
            lifetimes.iter().for_each(|lifetime| histogram.count(*lifetime));
            let _ = decode(&mut Unread::new(&bytes), &[&histogram, &Histogram::default(), &histogram]);
        }
    }
}
