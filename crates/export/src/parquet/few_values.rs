//! A column with few different values: a dictionary, and for each row a number in it. The parquet crate can write such columns, too, but
//! looks up the value of each row.

use memtoll_trace::bytes::put_varint;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;
use std::fs::File;

/// Of zstd.
pub const LEVEL: i32 = 3;

/// The values of a group of rows.
pub struct FewValues {
    entries: Entries,
    /// By row, the place of its value among those that are used.
    numbers: Vec<u32>,
}

/// The values that are used, each once.
enum Entries {
    Words {
        all: Vec<ByteArray>,
        /// By word, one more than its place among those that are used; 0: it is not.
        places: Vec<u32>,
        used: Vec<usize>,
    },
    Integers {
        places: FxHashMap<i64, u32>,
        used: Vec<i64>,
        /// The last one, and its place: most rows have the value of the row before.
        last: Option<(i64, u32)>,
    },
}

impl FewValues {
    /// Of texts of a list, in which each is once.
    pub fn of_words(words: &[ByteArray]) -> FewValues {
        let entries = Entries::Words { all: words.to_vec(), places: vec![0; words.len()], used: Vec::new() };
        FewValues { entries, numbers: Vec::new() }
    }

    /// Of any integers.
    pub fn of_integers() -> FewValues {
        let entries = Entries::Integers { places: FxHashMap::default(), used: Vec::new(), last: None };
        FewValues { entries, numbers: Vec::new() }
    }

    /// How many rows have a value.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    #[inline]
    pub fn push_word(&mut self, number: usize) -> std::result::Result<(), &'static str> {
        let Entries::Words { places, used, .. } = &mut self.entries else { return Err("a text among numbers") };
        let place = places.get_mut(number).ok_or("a text that is not in the list")?;
        if *place == 0 {
            used.push(number);
            *place = used.len() as u32;
        }
        self.numbers.push(*place - 1);
        Ok(())
    }

    #[inline]
    pub fn push_integer(&mut self, value: i64) {
        let Entries::Integers { places, used, last } = &mut self.entries else { return };
        let place = match *last {
            Some((known, place)) if known == value => place,
            _ => *places.entry(value).or_insert_with(|| {
                used.push(value);
                used.len() as u32 - 1
            }),
        };
        *last = Some((value, place));
        self.numbers.push(place);
    }

    /// Writes all values as the next column of a group, and forgets them.
    pub fn write(&mut self, group: &mut SerializedRowGroupWriter<File>, column: &ColumnDescPtr) -> Result<()> {
        let (entries, used, statistics) = self.entries.take();
        let numbers = std::mem::take(&mut self.numbers);
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let (plain_dictionary, dictionary) = compressed(entries)?;
        let dictionary = Page::DictionaryPage {
            buf: dictionary,
            num_values: used as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let first = pages.write_page(CompressedPage::new(dictionary, plain_dictionary))?;
        let (plain_data, data) = compressed(packed(&numbers, used))?;
        let data = Page::DataPage {
            buf: data,
            num_values: numbers.len() as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let second = pages.write_page(CompressedPage::new(data, plain_data))?;
        pages.close()?;
        let chunk = Bytes::from(sink.into_inner()?);
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_num_values(numbers.len() as i64)
            .set_total_compressed_size(chunk.len() as i64)
            .set_total_uncompressed_size((first.uncompressed_size + second.uncompressed_size) as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(second.offset as i64)
            .set_statistics(statistics)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: chunk.len() as u64,
            rows_written: numbers.len() as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&chunk, close)
    }
}

impl Entries {
    /// The values that are used, as a page of them, how many these are, and the least and the greatest; forgets them.
    fn take(&mut self) -> (Vec<u8>, usize, Statistics) {
        let mut plain = Vec::new();
        match self {
            Entries::Words { all, places, used } => {
                let used: Vec<&ByteArray> = std::mem::take(used).into_iter().map(|word| &all[word]).collect();
                for word in &used {
                    plain.extend_from_slice(&(word.len() as u32).to_le_bytes());
                    plain.extend_from_slice(word.data());
                }
                places.fill(0);
                let least = used.iter().min_by_key(|word| word.data()).map(|word| (*word).clone());
                let greatest = used.iter().max_by_key(|word| word.data()).map(|word| (*word).clone());
                (plain, used.len(), Statistics::byte_array(least, greatest, None, Some(0), false))
            }
            Entries::Integers { places, used, last } => {
                let used = std::mem::take(used);
                plain.extend(used.iter().flat_map(|value| value.to_le_bytes()));
                (*places, *last) = (FxHashMap::default(), None);
                let (least, greatest) = (used.iter().min().copied(), used.iter().max().copied());
                (plain, used.len(), Statistics::int64(least, greatest, None, Some(0), false))
            }
        }
    }
}

/// How long a page is, and what it is compressed.
fn compressed(plain: Vec<u8>) -> Result<(usize, Bytes)> {
    let packed = zstd::bulk::compress(&plain, LEVEL).map_err(|why| ParquetError::External(Box::new(why)))?;
    Ok((plain.len(), packed.into()))
}

/// Numbers below `count` as the format has them: their width in bits, and one run of all of them.
fn packed(numbers: &[u32], count: usize) -> Vec<u8> {
    let width = usize::BITS - count.saturating_sub(1).max(1).leading_zeros();
    let mut out = vec![width as u8];
    if count <= 1 {
        put_varint(&mut out, (numbers.len() as u64) << 1);
        out.push(0);
        return out;
    }
    // Eight numbers fill as many bytes as a number has bits.
    put_varint(&mut out, (numbers.len().div_ceil(8) as u64) << 1 | 1);
    out.reserve(numbers.len().div_ceil(8) * width as usize);
    for eight in numbers.chunks(8) {
        let (mut bits, mut filled) = (0u64, 0);
        for at in 0..8 {
            bits |= u64::from(eight.get(at).copied().unwrap_or(0)) << filled;
            filled += width;
            while filled >= 8 {
                out.push(bits as u8);
                bits >>= 8;
                filled -= 8;
            }
        }
    }
    out
}
