//! Numbers most of which are 0, packed: a word with a bit for each that is not, and these numbers.

use crate::bytes::{Unread, put_varint};

/// Bytes of the word.
const WORD: usize = 9;
/// Places that numbers can have.
pub const PLACES: usize = 8 * WORD;

/// Packs numbers, at most [`PLACES`].
pub fn pack(out: &mut Vec<u8>, numbers: &[u64]) {
    let start = out.len();
    out.extend_from_slice(&[0; WORD]);
    let mut present = 0u128;
    for (place, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != 0) {
        present |= 1 << place;
        put_varint(out, number);
    }
    out[start..start + WORD].copy_from_slice(&present.to_le_bytes()[..WORD]);
}

/// Packed numbers: an iterator over those that are not 0, each with its place.
#[derive(Clone, Copy)]
pub struct Sparse<'a> {
    present: u128,
    numbers: Unread<'a>,
}

impl<'a> Sparse<'a> {
    /// What [`pack`] wrote at the front of `bytes`.
    pub fn at(bytes: &'a [u8]) -> Sparse<'a> {
        let (word, numbers) = bytes.split_first_chunk().unwrap_or((&[0; WORD], &[]));
        let mut present = [0; 16];
        present[..WORD].copy_from_slice(word);
        Sparse { present: u128::from_le_bytes(present), numbers: Unread::new(numbers) }
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
        let rows = [vec![(0, 7), (3, u64::MAX), (PLACES - 1, 300)], vec![], vec![(5, 1)]];
        let mut packed = Vec::new();
        let starts = rows.clone().map(|row| {
            let start = packed.len();
            let mut numbers = [0; PLACES];
            row.into_iter().for_each(|(place, number)| numbers[place] = number);
            pack(&mut packed, &numbers);
            start
        });
        for (start, row) in starts.into_iter().zip(rows) {
            let sparse = Sparse::at(&packed[start..]);
            assert_eq!(sparse.collect::<Vec<_>>(), row);
            for place in 0..PLACES {
                let expected = row.iter().find(|(at, _)| *at == place).map_or(0, |(_, number)| *number);
                assert_eq!(sparse.number(place), expected, "{place}");
            }
        }
        assert_eq!(packed.len(), 3 * WORD + (1 + 10 + 2) + 1);
    }
}
