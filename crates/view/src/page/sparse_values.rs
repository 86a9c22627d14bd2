//! Numbers of rows, most of which are 0: a page holds those of fifty parts of the time at once.

use crate::metrics::{NOTHING, Values};

/// A bit for each number.
type Mask = u128;

const _: () = assert!(NOTHING.len() <= Mask::BITS as usize);

/// Rows by their numbers, without the values that are 0.
#[derive(Default)]
pub(super) struct SparseRows {
    /// Which row, and which of its values stand in `values`.
    rows: Vec<(u32, Mask)>,
    values: Vec<f64>,
}

impl SparseRows {
    pub fn push(&mut self, row: usize, values: &Values) {
        let mut mask = 0;
        for (place, value) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            mask |= 1 << place;
            self.values.push(*value);
        }
        self.rows.push((row as u32, mask));
    }

    /// Each row with all of its values.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Values)> {
        let mut rest = self.values.iter();
        self.rows.iter().map(move |&(row, mut mask)| {
            let mut values = NOTHING;
            while mask != 0 {
                values[mask.trailing_zeros() as usize] = rest.next().copied().unwrap_or_default();
                mask &= mask - 1;
            }
            (row as usize, values)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let row = |places: &[usize]| {
            let mut values = NOTHING;
            places.iter().for_each(|&place| values[place] = place as f64 + 0.5);
            values
        };
        let all = [(3, row(&[0, NOTHING.len() - 1])), (7, NOTHING), (9, row(&[5]))];
        let mut rows = SparseRows::default();
        all.iter().for_each(|(number, values)| rows.push(*number, values));
        assert_eq!(rows.iter().collect::<Vec<_>>(), all);
        assert_eq!(rows.values.len(), 3);
    }
}
