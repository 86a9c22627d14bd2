//! What happened at the sites of a span: rows of those counts that the span has, a third of all.

use memtoll_trace::metrics::{COUNTS, Metrics};

/// Rows that have the same width.
const ROWS: usize = 1 << 10;

/// Numbers by which these grow.
const STEP: usize = 4;

/// Counts by site.
#[derive(Default)]
pub(super) struct Counted {
    /// The place in [`COUNTS`] of each number of a row.
    places: Vec<usize>,
    /// Where each count stands in a row; `None`: the span has none of it.
    columns: Vec<Option<u8>>,
    rows: Vec<Rows>,
}

#[derive(Default)]
struct Rows {
    /// Numbers of a row. Counts that would stand behind them are 0.
    width: usize,
    numbers: Vec<u64>,
}

impl Rows {
    #[cold]
    fn widen(&mut self, width: usize) {
        let mut wider = vec![0; ROWS * width];
        let rows = self.numbers.chunks_exact(self.width.max(1));
        wider.chunks_exact_mut(width).zip(rows).for_each(|(wider, row)| wider[..row.len()].copy_from_slice(row));
        *self = Rows { width, numbers: wider };
    }
}

impl Counted {
    /// Adds numbers to a site, each with its place.
    #[inline]
    pub fn add(&mut self, site: usize, numbers: impl Iterator<Item = (usize, u64)>) {
        if site / ROWS >= self.rows.len() {
            self.rows.resize_with(site / ROWS + 1, Rows::default);
        }
        for (place, more) in numbers {
            let column = match self.columns.get(place) {
                Some(Some(column)) => usize::from(*column),
                _ => self.new_column(place),
            };
            let rows = &mut self.rows[site / ROWS];
            if column >= rows.width {
                rows.widen(self.places.len().next_multiple_of(STEP));
            }
            let number = &mut rows.numbers[site % ROWS * rows.width + column];
            *number = COUNTS[place].adds.together(*number, more);
        }
    }

    #[cold]
    fn new_column(&mut self, place: usize) -> usize {
        let column = self.places.len();
        self.columns.resize(COUNTS.len(), None);
        self.columns[place] = Some(column as u8);
        self.places.push(place);
        column
    }

    /// Calls `take` with each of some sites, and what it has, if there is any.
    pub fn each(&self, some: impl Iterator<Item = usize>, mut take: impl FnMut(usize, Option<Metrics>)) {
        let mut values = [0; COUNTS.len()];
        for site in some {
            let rows = self.rows.get(site / ROWS);
            let row = rows.map_or(&[][..], |rows| &rows.numbers[site % ROWS * rows.width..][..rows.width]);
            let mut any = 0;
            for (column, place) in self.places.iter().enumerate() {
                values[*place] = row.get(column).copied().unwrap_or(0);
                any |= values[*place];
            }
            take(site, (any != 0).then(|| Metrics::of_values(values)));
        }
    }
}
