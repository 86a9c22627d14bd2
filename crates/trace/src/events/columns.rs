//! The columns of an events block: how they are filled, packed and unpacked.

use super::column::{BYTE_COLUMNS, COLUMNS, Column, EVENT_COLUMNS};
use super::packer::Packer;
use super::{EXCESS, MAX_EVENTS};
use crate::Damage;
use crate::bytes::{Unread, put_varint};

/// No column needs more bytes than this (an address may take 11 for each event); a larger one is damage.
const MAX_COLUMN_BYTES: usize = MAX_EVENTS * 11;

/// A column of at most one byte for each event. Its memory is there from the start, and an index of 16 bits is always
/// inside it, so that adding costs no check.
type ByteColumn = Box<[u8; MAX_EVENTS]>;

/// The columns of a block that is being written.
pub(super) struct Columns {
    bytes: [ByteColumn; BYTE_COLUMNS],
    events: usize,
    sites: usize,
    /// [`Column::Excess`] and what follows it.
    integers: [Vec<u8>; COLUMNS - BYTE_COLUMNS],
    packer: Packer,
}

impl Columns {
    pub fn new() -> Self {
        Columns {
            bytes: std::array::from_fn(|_| Box::new([0; MAX_EVENTS])),
            events: 0,
            sites: 0,
            integers: Default::default(),
            packer: Packer::new(),
        }
    }

    /// What comes next is of another process image. There must be no events.
    pub fn begin_image(&mut self) {
        self.packer.begin_image();
    }

    #[inline(always)]
    pub fn events(&self) -> usize {
        self.events
    }

    /// Adds the flag byte of an event, and with it the event.
    #[inline(always)]
    pub fn put_flags(&mut self, flags: u8) {
        self.bytes[Column::Flags as usize][self.events % MAX_EVENTS] = flags;
        self.events += 1;
    }

    /// Adds the number of a site.
    #[inline(always)]
    pub fn put_site(&mut self, site: u32) {
        self.bytes[Column::Site as usize][self.sites % MAX_EVENTS] = site as u8;
        self.bytes[Column::SiteHigh as usize][self.sites % MAX_EVENTS] = (site >> 8) as u8;
        self.sites += 1;
    }

    /// One of the columns whose entries differ in length.
    #[inline(always)]
    pub fn integers(&mut self, column: Column) -> &mut Vec<u8> {
        &mut self.integers[column as usize - BYTE_COLUMNS]
    }

    /// Adds a time or a duration to the event whose flags come next.
    #[inline(always)]
    pub fn put_short(&mut self, column: Column, value: u64) {
        let short = value.min(u64::from(EXCESS)) as u8;
        self.bytes[column as usize][self.events % MAX_EVENTS] = short;
        if short == EXCESS {
            self.put_excess(value);
        }
    }

    #[inline(never)]
    fn put_excess(&mut self, value: u64) {
        put_varint(self.integers(Column::Excess), value - u64::from(EXCESS));
    }

    /// Appends all columns to a payload and empties them.
    pub fn pack(&mut self, out: &mut Vec<u8>) {
        self.packer.begin_block();
        for (number, column) in self.bytes.iter().enumerate() {
            let len = if number < EVENT_COLUMNS { self.events } else { self.sites };
            self.packer.pack(number, &column[..len.min(MAX_EVENTS)], out);
        }
        self.events = 0;
        self.sites = 0;
        for (number, column) in self.integers.iter_mut().enumerate() {
            self.packer.pack(BYTE_COLUMNS + number, column, out);
            column.clear();
        }
    }
}

/// The columns of a block that is being read.
pub(super) struct Unpacked {
    columns: [Vec<u8>; COLUMNS],
    decompressor: zstd::bulk::Decompressor<'static>,
}

impl Unpacked {
    pub fn new() -> Self {
        Unpacked { columns: Default::default(), decompressor: zstd::bulk::Decompressor::default() }
    }

    /// Reads all columns of a payload.
    pub fn unpack(&mut self, bytes: &mut Unread) -> Result<(), Damage> {
        for column in &mut self.columns {
            let plain = bytes.varint()? as usize;
            if plain > MAX_COLUMN_BYTES {
                return Err(Damage::Value("a column larger than any block needs"));
            }
            let mut stored = [0; 4];
            stored.copy_from_slice(bytes.take(4)?);
            let stored = bytes.take(u32::from_le_bytes(stored) as usize)?;
            column.clear();
            if stored.len() == plain {
                column.extend_from_slice(stored);
                continue;
            }
            column.reserve(plain);
            let got = self.decompressor.decompress_to_buffer(stored, column).map_err(|_| Damage::Compression)?;
            if got != plain {
                return Err(Damage::Compression);
            }
        }
        Ok(())
    }

    /// The beginning of a column.
    pub fn column(&self, column: Column) -> Unread<'_> {
        Unread::new(&self.columns[column as usize])
    }
}
