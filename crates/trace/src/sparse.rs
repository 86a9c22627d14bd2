//! Numbers most of which are 0, packed: a word with a bit for each that is not, and these numbers.

use crate::bytes::{Unread, put_varint};

/// Packs numbers other than 0, each with its place below 64, in ascending order.
pub fn pack(out: &mut Vec<u8>, numbers: impl Iterator<Item = (usize, u64)>) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    let mut present = 0u64;
    for (place, number) in numbers {
        present |= 1 << place;
        put_varint(out, number);
    }
    out[start..start + 8].copy_from_slice(&present.to_le_bytes());
}

/// Packed numbers: an iterator over those that are not 0, each with its place.
#[derive(Clone, Copy)]
pub struct Sparse<'a> {
    present: u64,
    numbers: Unread<'a>,
}

impl<'a> Sparse<'a> {
    /// What [`pack`] wrote at the front of `bytes`.
    pub fn at(bytes: &'a [u8]) -> Sparse<'a> {
        let (present, numbers) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
        Sparse { present: u64::from_le_bytes(*present), numbers: Unread::new(numbers) }
    }

    /// The number in a place.
    pub fn number(self, place: usize) -> u64 {
        if self.present & 1 << place == 0 {
            return 0;
        }
        let before = (self.present & ((1 << place) - 1)).count_ones();
        let mut numbers = self.numbers;
        (0..before).for_each(|_| _ = numbers.varint());
        numbers.varint().unwrap_or(0)
    }
}

impl Iterator for Sparse<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        if self.present == 0 {
            return None;
        }
        let place = self.present.trailing_zeros() as usize;
        self.present &= self.present - 1;
        // All that was packed can be read.
        Some((place, self.numbers.varint().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_from_their_places() {
        let rows = [vec![(0, 7), (3, u64::MAX), (63, 300)], vec![], vec![(5, 1)]];
        let mut packed = Vec::new();
        let starts = rows.clone().map(|row| {
            let start = packed.len();
            pack(&mut packed, row.into_iter());
            start
        });
        for (start, row) in starts.into_iter().zip(rows) {
            let sparse = Sparse::at(&packed[start..]);
            assert_eq!(sparse.collect::<Vec<_>>(), row);
            for place in 0..64 {
                let expected = row.iter().find(|(at, _)| *at == place).map_or(0, |(_, number)| *number);
                assert_eq!(sparse.number(place), expected, "{place}");
            }
        }
        assert_eq!(packed.len(), 3 * 8 + (1 + 10 + 2) + 1);
    }
}
