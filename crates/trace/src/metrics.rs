//! What is counted of call sites: one entry each. The struct, sums and the columns of blocks come from it.
//!
//! A new count is an entry here and the line that counts it. Files stay readable: a reader goes past columns whose tags it does
//! not know, and a count without a column is 0.

use crate::Damage;
use crate::bytes::{Bytes, put_varint, unzigzag, zigzag};

/// How the counts of two sites become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adds {
    /// They are added.
    Sum,
    /// They are added. What a chapter adds may be less than 0: it wraps around.
    Level,
    /// They are added. The sum, too, may be less than 0.
    Balance,
    /// The largest one.
    Largest,
    /// The bits of both.
    Bits,
}

impl Adds {
    /// Both together.
    #[inline(always)]
    pub const fn together(self, one: u64, other: u64) -> u64 {
        match self {
            Adds::Sum | Adds::Level | Adds::Balance => one.wrapping_add(other),
            Adds::Largest if one > other => one,
            Adds::Largest => other,
            Adds::Bits => one | other,
        }
    }

    /// Whether what two sites have adds up.
    pub const fn is_sum(self) -> bool {
        matches!(self, Adds::Sum | Adds::Level | Adds::Balance)
    }

    /// Whether files have it zigzag.
    const fn is_signed(self) -> bool {
        matches!(self, Adds::Level | Adds::Balance)
    }
}

/// Blocks whose sites have a count, as bits: a summary, a chapter, and the parts of a chapter that are not usual.
const SUMMARY: u8 = 1 << 0;
const CHAPTER: u8 = 1 << 1;
const PART: u8 = 1 << 2;

/// An entry of the list.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Its number in files. Never reused or changed.
    pub tag: u8,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it adds up.
    pub adds: Adds,
    places: u8,
    /// Where it is.
    pub of: fn(&mut Metrics) -> &mut u64,
}

impl Count {
    /// The blocks of files that have it.
    pub fn blocks(&self) -> impl Iterator<Item = &'static str> {
        let places = self.places;
        let all = [(SUMMARY, "summary"), (CHAPTER, "chapter"), (PART, "parts")];
        all.into_iter().filter(move |(place, _)| places & place != 0).map(|(_, name)| name)
    }
}

macro_rules! counts {
    ($($(#[doc = $about:literal])* $tag:literal $field:ident: $adds:ident { $($place:ident)* };)*) => {
        /// What is counted for a call site, a process, or a whole recording.
        ///
        /// Bytes are those asked for; times are in units of the recording's clock.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct Metrics {
            $($(#[doc = $about])* pub $field: u64,)*
        }

        /// All counts, in the order of [`Metrics::values`].
        pub const COUNTS: &[Count] = &[$(Count {
            tag: $tag,
            name: stringify!($field),
            about: concat!($($about),*),
            adds: Adds::$adds,
            places: 0 $(| $place)*,
            of: |metrics| &mut metrics.$field,
        }),*];

        impl Metrics {
            /// Adds what another site or process counted. Peaks add up too: they are shares of one instant's live bytes.
            pub fn add(&mut self, other: &Metrics) {
                $(self.$field = Adds::$adds.together(self.$field, other.$field);)*
            }

            /// All counts, in the order of [`COUNTS`].
            #[inline]
            pub fn values(&self) -> [u64; COUNTS.len()] {
                [$(self.$field),*]
            }
        }
    };
}

counts! {
    /// Blocks acquired by malloc, calloc, aligned forms, operator new, and realloc of a null pointer.
    1 new_blocks: Sum { SUMMARY CHAPTER PART };
    /// Calls of realloc and reallocarray with a block.
    2 reallocations: Sum { SUMMARY CHAPTER PART };
    /// Blocks released, other than by reallocation. Counted at the site that releases.
    3 frees: Sum { SUMMARY CHAPTER PART };
    /// Releases of a null pointer.
    4 null_frees: Sum { SUMMARY CHAPTER PART };
    /// Acquisitions that failed.
    5 failed: Sum { SUMMARY CHAPTER PART };
    /// Bytes of allocations and reallocations (their new sizes).
    6 bytes: Sum { SUMMARY CHAPTER PART };
    /// Bytes live when the image's live bytes were at their peak.
    7 peak_bytes: Sum { SUMMARY };
    /// Blocks live then.
    8 peak_blocks: Sum { SUMMARY };
    /// Bytes live at the end.
    9 live_bytes: Level { SUMMARY CHAPTER };
    /// Blocks live at the end.
    10 live_blocks: Level { SUMMARY CHAPTER PART };
    /// Blocks released before the allocating thread's next allocation.
    11 temporary: Sum { SUMMARY CHAPTER PART };
    /// Sum of the lifetimes of released blocks, units.
    12 lifetime: Sum { SUMMARY CHAPTER PART };
    /// Time inside the allocating and releasing functions, units. It contains what was paid inside for faults, mappings
    /// and waiting, and the stamps. A release is charged to the site that allocated the block.
    13 allocator_time: Sum { SUMMARY CHAPTER PART };
    /// Calls whose time that is.
    14 timed_calls: Sum { SUMMARY CHAPTER PART };
    /// Minor faults of pages of the site's blocks and mappings.
    15 small_faults: Sum { SUMMARY };
    /// Those of them that happened inside a call of an allocation function.
    16 small_faults_inside: Sum { SUMMARY };
    /// How many of these were sampled one by one, which made them slower.
    17 samples_inside: Sum { SUMMARY };
    /// Minor faults of huge pages.
    18 huge_faults: Sum { SUMMARY };
    /// Those of them that happened inside a call of an allocation function.
    19 huge_faults_inside: Sum { SUMMARY };
    /// Major faults: the pages were read from a disk.
    20 major_faults: Sum { SUMMARY };
    /// Minor faults of pages of files that the site mapped.
    21 file_faults: Sum { SUMMARY };
    /// Time without the processor in major faults outside of the allocating functions, units.
    22 reading_time: Sum { SUMMARY };
    /// How often the allocator took memory from the system inside the site's calls.
    23 grown_calls: Sum { SUMMARY };
    /// How much, bytes.
    24 grown_bytes: Sum { SUMMARY };
    /// Calls of mmap and mremap by which the program took memory, other than files and address space that it cannot use.
    25 mappings: Sum { SUMMARY CHAPTER PART };
    /// How much it asked for, bytes: new sizes, as with reallocations.
    26 mapped_bytes: Sum { SUMMARY CHAPTER PART };
    /// Time in calls for mappings, units, those inside the allocator included.
    27 mapping_time: Sum { SUMMARY };
    /// The share of [`Metrics::allocator_time`] that went into mappings, units.
    28 mapping_inside: Sum { SUMMARY };
    /// Time inside the allocating functions spent waiting, units.
    29 waiting_time: Sum { SUMMARY };
    /// Time inside the allocating functions without the processor that was no waiting for another thread: preempted or
    /// halted, units.
    30 preempted_time: Sum { SUMMARY };
    /// Blocks that were live when the span began that is added up. Of a whole recording there is none, so it is not in the
    /// file.
    31 live_before: Sum {};
    /// Time of the site's releases of known blocks, less the time of the releases, by whatever site, of the site's own blocks:
    /// what [`Metrics::allocator_time`] lacks if each call is charged to the site that makes it. It may be less than 0: it
    /// wraps around. In chapters and their parts only.
    32 release_balance: Balance { CHAPTER PART };
    /// Largest block, bytes.
    33 largest: Largest { SUMMARY CHAPTER };
    /// Bit n: operation number n was called.
    34 operations: Bits { SUMMARY CHAPTER PART };
    /// Events: calls of allocation functions (a reallocation is one).
    35 events: Sum { SUMMARY CHAPTER PART };
    /// Events whose stack is cut off.
    36 cut_off: Sum { SUMMARY };
}

/// Counts of a block, by their place in [`COUNTS`].
pub type Chosen<const N: usize> = [usize; N];

const fn how_many(place: u8) -> usize {
    let (mut many, mut index) = (0, 0);
    while index < COUNTS.len() {
        many += (COUNTS[index].places & place != 0) as usize;
        index += 1;
    }
    many
}

const fn chosen<const N: usize>(place: u8) -> Chosen<N> {
    let (mut all, mut many, mut index) = ([0; N], 0, 0);
    while index < COUNTS.len() {
        if COUNTS[index].places & place != 0 {
            all[many] = index;
            many += 1;
        }
        index += 1;
    }
    all
}

/// What a summary has of each site.
pub const OF_SUMMARY: Chosen<{ how_many(SUMMARY) }> = chosen(SUMMARY);
/// What a chapter has.
pub const OF_CHAPTER: Chosen<{ how_many(CHAPTER) }> = chosen(CHAPTER);
/// What the parts of a chapter have.
pub const OF_PART: Chosen<{ how_many(PART) }> = chosen(PART);

/// Columns that are being packed row by row: there can be hundreds of thousands of rows, and none is kept.
///
/// ```text
/// number of columns   each: tag, length in bytes, values (varints; zigzag if they may be less than 0)
/// ```
///
/// Columns of nothing but zeros are left out.
pub struct Columns<const N: usize> {
    of: &'static Chosen<N>,
    packed: [Vec<u8>; N],
    has_values: [bool; N],
}

impl<const N: usize> Columns<N> {
    /// Empty ones, for so many rows.
    pub fn new(of: &'static Chosen<N>, rows: usize) -> Columns<N> {
        Columns { of, packed: std::array::from_fn(|_| Vec::with_capacity(rows)), has_values: [false; N] }
    }

    /// Adds a row, in the order of the columns.
    pub fn push(&mut self, row: &[u64; N]) {
        for (number, (value, column)) in row.iter().zip(&mut self.packed).enumerate() {
            self.has_values[number] |= *value != 0;
            let is_signed = COUNTS[self.of[number]].adds.is_signed();
            put_varint(column, if is_signed { zigzag(*value as i64) } else { *value });
        }
    }

    /// Adds a site's.
    pub fn push_metrics(&mut self, metrics: &Metrics) {
        let values = metrics.values();
        self.push(&self.of.map(|index| values[index]));
    }

    /// Writes them.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.reserve_exact(self.packed.iter().map(|column| column.len() + 8).sum());
        put_varint(out, self.has_values.iter().filter(|has| **has).count() as u64);
        let columns = self.of.iter().zip(&self.packed).zip(&self.has_values);
        for ((index, column), _) in columns.filter(|(_, has_values)| **has_values) {
            put_varint(out, COUNTS[*index].tag.into());
            put_varint(out, column.len() as u64);
            out.extend_from_slice(column);
        }
    }
}

/// Columns that are being read, row by row: to come back to all rows for each column takes three times as long where there are
/// many.
pub struct Rows<'a> {
    columns: Vec<(&'static Count, Bytes<'a>)>,
}

impl<'a> Rows<'a> {
    /// The columns of so many rows, which come next.
    ///
    /// # Errors
    /// They have other lengths.
    pub fn read(bytes: &mut Bytes<'a>, rows: usize) -> Result<Rows<'a>, Damage> {
        let count = bytes.varint()? as usize;
        if count > bytes.remaining() {
            return Err(Damage::Short);
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            let (tag, length) = (bytes.varint()?, bytes.varint()?);
            let length = usize::try_from(length).map_err(|_| Damage::Short)?;
            let column = Bytes::new(bytes.take(length)?);
            let Some(known) = COUNTS.iter().find(|count| u64::from(count.tag) == tag) else { continue };
            let mut end = column;
            end.skip_varints(rows)?;
            if end.remaining() > 0 {
                return Err(Damage::Value("a column with more rows than there are"));
            }
            columns.push((known, column));
        }
        Ok(Rows { columns })
    }

    /// The next row.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn row(&mut self) -> Result<Metrics, Damage> {
        let mut metrics = Metrics::default();
        for (count, column) in &mut self.columns {
            let value = column.varint()?;
            *(count.of)(&mut metrics) = if count.adds.is_signed() { unzigzag(value) as u64 } else { value };
        }
        Ok(metrics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_places_are_those_of_one_count() {
        let mut metrics = Metrics::default();
        for (index, count) in COUNTS.iter().enumerate() {
            assert!(COUNTS[..index].iter().all(|earlier| earlier.tag != count.tag), "{count:?}");
            *(count.of)(&mut metrics) = index as u64 + 1;
        }
        assert_eq!(metrics.values().to_vec(), (1..=COUNTS.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn a_reader_goes_past_columns_that_it_does_not_know() {
        let mut columns = Columns::new(&OF_SUMMARY, 2);
        let first = Metrics { new_blocks: 7, live_bytes: 3u64.wrapping_neg(), ..Metrics::default() };
        let second = Metrics { new_blocks: 300, largest: 1 << 40, ..Metrics::default() };
        [first, second].iter().for_each(|metrics| columns.push_metrics(metrics));
        let mut known = Vec::new();
        columns.put(&mut known);
        assert_eq!(known[0], 3, "columns of zeros only are left out");
        // As a later memtoll writes it: one more column, in front.
        let mut bytes = vec![4, 100, 5, 1, 2, 3, 4, 5];
        bytes.extend_from_slice(&known[1..]);
        for bytes in [&known, &bytes] {
            let mut bytes = Bytes::new(bytes);
            let mut rows = Rows::read(&mut bytes, 2).unwrap();
            assert_eq!([rows.row().unwrap(), rows.row().unwrap()], [first, second]);
            assert_eq!(bytes.remaining(), 0);
        }
        for rows in [1, 3] {
            assert!(Rows::read(&mut Bytes::new(&known), rows).is_err(), "{rows}");
        }
        assert!(Rows::read(&mut Bytes::new(&[255, 255, 255, 127]), 2).is_err());
    }
}
