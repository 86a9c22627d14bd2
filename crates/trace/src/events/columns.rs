//! The columns of an events block: how they are filled, packed and unpacked.

use super::{EXCESS, MAX_EVENTS};
use crate::Damage;
use crate::bytes::{Bytes, put_varint};
use zstd::zstd_safe::{self, CParameter, ParamSwitch};

/// Columns in the order of the file.
#[derive(Clone, Copy)]
pub(super) enum Column {
    /// Of every event: the flag byte.
    Flags,
    /// Of every event: time units since the event before, or [`EXCESS`].
    Time,
    /// Of every event: its duration in time units, or [`EXCESS`].
    Duration,
    /// Of a site that was not guessed: its number, bits 7..0. The next number that no site has yet: a new one.
    Site,
    /// Bits 15..8.
    SiteHigh,
    /// What of times and durations is above [`EXCESS`].
    Excess,
    /// Of a new site: operation, detail, distance of its node from that of the new site before.
    NewSite,
    /// Sizes that were not guessed.
    Size,
    /// Addresses that were not guessed.
    Address,
    /// Of a release: which block.
    Reference,
    /// Numbers of threads.
    Thread,
}

/// Columns with one byte for each event come first, then those with at most one.
const EVENT_COLUMNS: usize = Column::Site as usize;
const BYTE_COLUMNS: usize = Column::Excess as usize;
pub(super) const COLUMNS: usize = Column::Thread as usize + 1;

/// No column needs more bytes than this (an address may take 11 for each event); a larger one is damage.
const MAX_COLUMN_BYTES: usize = MAX_EVENTS * 11;

/// Fewer bytes are not worth a call of the compressor.
const WORTH_PACKING: usize = 32;

/// A column of at most one byte for each event. Its memory is there from the start, and an index of 16 bits is always
/// inside it, so that adding costs no check.
type ByteColumn = Box<[u8; MAX_EVENTS]>;

/// The columns of a block that is being written.
pub(super) struct Columns {
    bytes: [ByteColumn; BYTE_COLUMNS],
    events: usize,
    sites: usize,
    packed: Vec<u8>, // one column, packed
    /// [`Column::Excess`] and what follows it.
    integers: [Vec<u8>; COLUMNS - BYTE_COLUMNS],
    /// For columns that repeat themselves.
    repetitive: zstd::bulk::Compressor<'static>,
    /// For columns in which some bytes are more frequent than others, but hardly anything repeats itself: looks for no
    /// repetitions, which halves the time of packing, and only codes the bytes by their frequencies.
    noise: zstd::bulk::Compressor<'static>,
}

impl Columns {
    pub fn new() -> Self {
        Columns {
            bytes: std::array::from_fn(|_| Box::new([0; MAX_EVENTS])),
            events: 0,
            sites: 0,
            packed: Vec::new(),
            integers: Default::default(),
            repetitive: compressor(&[CParameter::CompressionLevel(1)]),
            noise: compressor(&[
                CParameter::CompressionLevel(1),
                CParameter::TargetLength(zstd_safe::BLOCKSIZE_MAX),
                CParameter::LiteralCompressionMode(ParamSwitch::Enable),
            ]),
        }
    }

    /// Number of events.
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
        let packed = &mut self.packed;
        for (number, column) in self.bytes.iter().enumerate() {
            let is_noise = [Column::Time as usize, Column::Duration as usize].contains(&number);
            let compressor = if is_noise { &mut self.noise } else { &mut self.repetitive };
            let len = if number < EVENT_COLUMNS { self.events } else { self.sites };
            pack(compressor, &column[..len.min(MAX_EVENTS)], packed, out);
        }
        self.events = 0;
        self.sites = 0;
        for column in &mut self.integers {
            pack(&mut self.repetitive, column, packed, out);
            column.clear();
        }
    }
}

/// Parameters that this version of zstd does not know leave it as it is: files grow, but nothing breaks.
fn compressor(parameters: &[CParameter]) -> zstd::bulk::Compressor<'static> {
    let mut compressor = zstd::bulk::Compressor::default();
    for &parameter in parameters {
        let _ = compressor.set_parameter(parameter);
    }
    compressor
}

/// A column in the file: its length, its length in the file (u32), then its bytes. If both lengths are the same, the
/// bytes are stored as they are; otherwise they are one zstd frame.
fn pack(compressor: &mut zstd::bulk::Compressor, plain: &[u8], packed: &mut Vec<u8>, out: &mut Vec<u8>) {
    let mut stored = plain;
    if plain.len() >= WORTH_PACKING {
        packed.clear();
        packed.reserve(zstd_safe::compress_bound(plain.len()));
        // With room for the bound, compression cannot fail; a column that does not shrink is stored as it is.
        if let Ok(bytes) = compressor.compress_to_buffer(plain, packed)
            && bytes < plain.len()
        {
            stored = packed;
        }
    }
    put_varint(out, plain.len() as u64);
    out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    out.extend_from_slice(stored);
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
    pub fn unpack(&mut self, bytes: &mut Bytes) -> Result<(), Damage> {
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
    pub fn column(&self, column: Column) -> Bytes<'_> {
        Bytes::new(&self.columns[column as usize])
    }
}
