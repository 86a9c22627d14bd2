//! The counts of call sites as columns of files. `memtoll-metrics` has the list of them.

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
pub use memtoll_metrics::{Adds, COUNTS, Chosen, Count, Metrics, OF_CHAPTER, OF_PART, OF_SUMMARY};

/// Columns that are being packed row by row: there can be hundreds of thousands of rows, and none is kept.
///
/// ```text
/// number of columns   each: tag, length in bytes, values (varints; zigzag if they may be less than 0)
/// ```
///
/// Columns of nothing but zeros are left out. Most values are 0; a column gets its zeros when
/// its next other value comes.
pub struct Columns<const N: usize> {
    of: &'static Chosen<N>,
    packed: [Vec<u8>; N],
    /// Rows that each column has so far.
    written: [usize; N],
    rows: usize,
}

impl<const N: usize> Columns<N> {
    /// Empty ones.
    pub fn new(of: &'static Chosen<N>) -> Columns<N> {
        Columns { of, packed: std::array::from_fn(|_| Vec::new()), written: [0; N], rows: 0 }
    }

    /// Adds a row, in the order of the columns.
    pub fn push(&mut self, row: &[u64; N]) {
        for (number, value) in row.iter().enumerate().filter(|(_, value)| **value != 0) {
            self.put_value(number, *value);
        }
        self.rows += 1;
    }

    /// Adds a site's.
    pub fn push_metrics(&mut self, metrics: &Metrics) {
        let values = metrics.values();
        for (number, index) in self.of.iter().enumerate() {
            if values[*index] != 0 {
                self.put_value(number, values[*index]);
            }
        }
        self.rows += 1;
    }

    /// Writes a value of the row that is being added.
    #[inline]
    fn put_value(&mut self, number: usize, value: u64) {
        let (column, written) = (&mut self.packed[number], &mut self.written[number]);
        let zeros = self.rows - *written;
        if zeros > 0 {
            column.resize(column.len() + zeros, 0); // a varint of 0 is a byte
        }
        let is_signed = COUNTS[self.of[number]].adds.is_signed();
        put_varint(column, if is_signed { zigzag(value as i64) } else { value });
        *written = self.rows + 1;
    }

    /// Writes them.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.reserve_exact(self.packed.iter().map(|column| column.len() + 8).sum());
        put_varint(out, self.packed.iter().filter(|column| !column.is_empty()).count() as u64);
        for (number, column) in self.packed.iter().enumerate().filter(|(_, column)| !column.is_empty()) {
            let zeros = self.rows - self.written[number];
            put_varint(out, COUNTS[self.of[number]].tag.into());
            put_varint(out, (column.len() + zeros) as u64);
            out.extend_from_slice(column);
            out.resize(out.len() + zeros, 0);
        }
    }
}

/// Columns that are being read, row by row: to come back to all rows for each column takes three times as long where there are
/// many.
pub struct Rows<'a> {
    /// Each with the place of its count among [`COUNTS`].
    columns: Vec<(usize, Unread<'a>)>,
}

impl<'a> Rows<'a> {
    /// The columns of so many rows, which come next.
    pub fn read(bytes: &mut Unread<'a>, rows: usize) -> Result<Rows<'a>, Damage> {
        let count = bytes.varint()? as usize;
        if count > bytes.remaining() {
            return Err(Damage::Short);
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            let (tag, length) = (bytes.varint()?, bytes.varint()?);
            let length = usize::try_from(length).map_err(|_| Damage::Short)?;
            let column = Unread::new(bytes.take(length)?);
            let Some(known) = COUNTS.iter().position(|count| u64::from(count.tag) == tag) else { continue };
            let mut end = column;
            end.skip_varints(rows)?;
            if end.remaining() > 0 {
                return Err(Damage::Value("a column with more rows than there are"));
            }
            columns.push((known, column));
        }
        Ok(Rows { columns })
    }

    /// Whether all integers are such: then each row can be read.
    pub fn check(&self) -> Result<(), Damage> {
        self.columns.iter().try_for_each(|(_, column)| column.check_varints())
    }

    /// The next row.
    #[inline]
    pub fn row(&mut self) -> Result<Metrics, Damage> {
        let mut values = [0; COUNTS.len()];
        for (count, column) in &mut self.columns {
            let value = column.varint()?;
            values[*count] = if COUNTS[*count].adds.is_signed() { unzigzag(value) as u64 } else { value };
        }
        Ok(Metrics::of_values(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Bytes;

    #[test]
    fn a_reader_goes_past_columns_that_it_does_not_know() {
        let mut columns = Columns::new(&OF_SUMMARY);
        let first = Metrics { new_blocks: 7, live_bytes: Bytes(3u64.wrapping_neg()), ..Metrics::default() };
        let second = Metrics { new_blocks: 300, largest_bytes: Bytes(1 << 40), ..Metrics::default() };
        [first, second].iter().for_each(|metrics| columns.push_metrics(metrics));
        let mut known = Vec::new();
        columns.put(&mut known);
        assert_eq!(known[0], 3, "columns of zeros only are left out");
        // As a later memtoll writes it: one more column, in front.
        let mut bytes = vec![4, 100, 5, 1, 2, 3, 4, 5];
        bytes.extend_from_slice(&known[1..]);
        for bytes in [&known, &bytes] {
            let mut bytes = Unread::new(bytes);
            let mut rows = Rows::read(&mut bytes, 2).unwrap();
            assert_eq!([rows.row().unwrap(), rows.row().unwrap()], [first, second]);
            assert_eq!(bytes.remaining(), 0);
        }
        for rows in [1, 3] {
            assert!(Rows::read(&mut Unread::new(&known), rows).is_err(), "{rows}");
        }
        assert!(Rows::read(&mut Unread::new(&[255, 255, 255, 127]), 2).is_err());
    }
}
