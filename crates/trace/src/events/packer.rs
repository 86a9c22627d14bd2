//! How the columns of events blocks are compressed.

use super::column::{COLUMNS, Column};
use crate::bytes::put_varint;
use zstd::zstd_safe::{self, CParameter, ParamSwitch};

/// Fewer bytes are not worth a call of the compressor.
const WORTH_PACKING: usize = 32;
/// In one of this many blocks both ways are tried; what is smaller then is used in those that follow. Not in the first
/// ones, which are all that a short program has.
const TRIAL_EVERY: u32 = 64;
const FIRST_TRIAL: u32 = 8;

/// Compresses columns, each as suits it.
pub(super) struct Packer {
    /// For columns that repeat themselves.
    repetitive: zstd::bulk::Compressor<'static>,
    /// For columns in which some bytes are more frequent than others, but hardly anything repeats itself: looks for no
    /// repetitions, which takes a quarter of the time, and only codes the bytes by their frequencies.
    noise: zstd::bulk::Compressor<'static>,
    is_noise: [bool; COLUMNS],
    blocks: u32,
    packed: Vec<u8>, // one column
}

impl Packer {
    pub fn new() -> Self {
        Packer {
            repetitive: compressor(&[CParameter::CompressionLevel(1)]),
            noise: compressor(&[
                CParameter::CompressionLevel(1),
                CParameter::TargetLength(zstd_safe::BLOCKSIZE_MAX),
                CParameter::LiteralCompressionMode(ParamSwitch::Enable),
            ]),
            is_noise: std::array::from_fn(is_measured),
            blocks: 0,
            packed: Vec::new(),
        }
    }

    /// What comes next is of another process image.
    pub fn begin_image(&mut self) {
        self.is_noise = std::array::from_fn(is_measured);
        self.blocks = 0;
    }

    /// The columns that come next are those of a new block.
    pub fn begin_block(&mut self) {
        self.blocks = self.blocks.wrapping_add(1);
    }

    /// Appends a column to a payload: its length, its length in the file (u32), then its bytes. If both lengths are the
    /// same, the bytes are stored as they are; otherwise they are one zstd frame.
    pub fn pack(&mut self, number: usize, plain: &[u8], out: &mut Vec<u8>) {
        if self.blocks % TRIAL_EVERY == FIRST_TRIAL && plain.len() >= WORTH_PACKING {
            let noise = compress(&mut self.noise, plain, &mut self.packed).unwrap_or(plain.len());
            let repetitive = compress(&mut self.repetitive, plain, &mut self.packed).unwrap_or(plain.len());
            // Of times, short repetitions are found everywhere: that takes long and saves little.
            let weight = if is_measured(number) { 4 } else { 1 };
            self.is_noise[number] = noise <= repetitive * weight;
        }
        let compressor = if self.is_noise[number] { &mut self.noise } else { &mut self.repetitive };
        let mut stored = plain;
        if plain.len() >= WORTH_PACKING
            && let Some(bytes) = compress(compressor, plain, &mut self.packed)
            && bytes < plain.len()
        {
            stored = &self.packed;
        }
        put_varint(out, plain.len() as u64);
        out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        out.extend_from_slice(stored);
    }
}

/// Columns of what was measured, and is a little different each time.
fn is_measured(number: usize) -> bool {
    number == Column::Time as usize || number == Column::Duration as usize
}

/// Parameters that this version of zstd does not know leave it as it is: files grow, but nothing breaks.
fn compressor(parameters: &[CParameter]) -> zstd::bulk::Compressor<'static> {
    let mut compressor = zstd::bulk::Compressor::default();
    for &parameter in parameters {
        let _ = compressor.set_parameter(parameter);
    }
    compressor
}

/// Replaces `packed`; gives its length. With room for the bound, compression cannot fail.
fn compress(compressor: &mut zstd::bulk::Compressor, plain: &[u8], packed: &mut Vec<u8>) -> Option<usize> {
    packed.clear();
    packed.reserve(zstd_safe::compress_bound(plain.len()));
    compressor.compress_to_buffer(plain, packed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Unread;
    use crate::events::columns::Unpacked;

    #[test]
    fn a_trial_tells_how_a_column_is_packed() {
        let mut random = 1u64;
        // A few values, in no order: only how frequent they are is worth anything.
        let next = || {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 60) as u8
        };
        let noise: Vec<u8> = std::iter::repeat_with(next).take(20_000).collect();
        let repetitive: Vec<u8> = (0..20_000).map(|at| (at % 100) as u8).collect();
        let mut packer = Packer::new();
        for block in 1..=FIRST_TRIAL {
            let (mut out, high, duration) = (Vec::new(), Column::SiteHigh as usize, Column::Duration as usize);
            packer.begin_block();
            for number in 0..COLUMNS {
                let column: &[u8] = match number {
                    _ if number == high => &noise,
                    _ if number == duration => &repetitive,
                    _ => &[],
                };
                packer.pack(number, column, &mut out);
            }
            let tried = block == FIRST_TRIAL;
            assert_eq!((packer.is_noise[high], packer.is_noise[duration]), (tried, !tried));
            let mut unpacked = Unpacked::new();
            unpacked.unpack(&mut Unread::new(&out)).unwrap();
            for (column, expected) in [(Column::SiteHigh, &noise), (Column::Duration, &repetitive)] {
                assert_eq!(unpacked.column(column).take(20_000).unwrap(), expected);
                assert_eq!(unpacked.column(column).remaining(), 20_000);
            }
        }
    }
}
