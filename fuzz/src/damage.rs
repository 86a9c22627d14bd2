//! Changes of a recording, small enough for most of it to stay readable.

use crate::seed::Seed;
use bolero::TypeGenerator;
use memtoll_trace::bytes::put_varint;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::ImageNo;

/// A change. Places are taken modulo what there is.
#[derive(Clone, Debug, TypeGenerator)]
#[expect(missing_docs, reason = "fields are places and values")]
pub enum Change {
    /// A byte of a payload becomes another.
    Byte { block: u8, at: u16, value: u8 },
    /// A byte of a payload becomes an integer of any length.
    Varint { block: u8, at: u16, value: u64 },
    /// Bytes appear in a payload.
    Insert { block: u8, at: u16, bytes: [u8; 3] },
    /// Bytes of a payload disappear.
    Remove { block: u8, at: u16, count: u8 },
    /// A payload ends early.
    Shorten { block: u8, at: u16 },
    /// A number in JSON becomes another.
    Number { block: u8, which: u8, value: u8 },
    /// A block disappears.
    Drop { block: u8 },
    /// A block comes twice.
    Repeat { block: u8 },
    /// Two blocks change places.
    Swap { block: u8, other: u8 },
    /// A block becomes one of another kind.
    Kind { block: u8, number: u8 },
    /// A block becomes another image's.
    Image { block: u8, number: u8 },
    /// A byte of the file becomes another; checksums are not made right.
    File { at: u32, value: u8 },
    /// The file ends early.
    Cut { at: u32 },
}

/// Numbers at which careless arithmetic fails.
const NUMBERS: [&str; 10] =
    ["0", "-1", "1", "65535", "4294967295", "9223372036854775807", "18446744073709551615", "1e300", "0.5", "null"];

/// The file of a recording after all changes.
pub fn damaged(seed: &Seed, changes: &[Change]) -> Vec<u8> {
    let mut seed = seed.clone();
    for change in changes {
        change.apply(&mut seed);
    }
    let mut file = seed.file();
    for change in changes {
        match *change {
            Change::File { at, value } => {
                let at = at as usize % file.len().max(1);
                file.iter_mut().skip(at).take(1).for_each(|byte| *byte = value);
            }
            Change::Cut { at } => file.truncate(at as usize % file.len().max(1)),
            _ => {}
        }
    }
    file
}

impl Change {
    fn apply(&self, seed: &mut Seed) {
        let blocks = &mut seed.blocks;
        if blocks.is_empty() {
            return;
        }
        let count = blocks.len();
        let index = |block: u8| block as usize % count;
        match *self {
            Change::Byte { block, at, value } => splice(&mut blocks[index(block)].plain, at, 1, &[value]),
            Change::Varint { block, at, value } => {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, value);
                splice(&mut blocks[index(block)].plain, at, 1, &bytes);
            }
            Change::Insert { block, at, bytes } => splice(&mut blocks[index(block)].plain, at, 0, &bytes),
            Change::Remove { block, at, count } => splice(&mut blocks[index(block)].plain, at, count as usize, &[]),
            Change::Shorten { block, at } => splice(&mut blocks[index(block)].plain, at, usize::MAX, &[]),
            Change::Number { block, which, value } => {
                let text = NUMBERS[value as usize % NUMBERS.len()];
                replace_number(&mut blocks[index(block)].plain, which as usize, text);
            }
            Change::Drop { block } => drop(blocks.remove(index(block))),
            Change::Repeat { block } => blocks.push(blocks[index(block)].clone()),
            Change::Swap { block, other } => blocks.swap(index(block), index(other)),
            Change::Kind { block, number } => blocks[index(block)].kind = BlockKind::from_number(number % 16),
            Change::Image { block, number } => blocks[index(block)].image = ImageNo::new(u32::from(number % 4)),
            Change::File { .. } | Change::Cut { .. } => {}
        }
    }
}

fn splice(bytes: &mut Vec<u8>, at: u16, count: usize, with: &[u8]) {
    let at = at as usize % (bytes.len() + 1);
    let end = at.saturating_add(count).min(bytes.len());
    bytes.splice(at..end, with.iter().copied());
}

/// Replaces a run of digits.
fn replace_number(bytes: &mut Vec<u8>, which: usize, text: &str) {
    let begins = |at: usize| bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_digit());
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| begins(at)).collect();
    if let Some(&at) = places.get(which % places.len().max(1)) {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        bytes.splice(at..at + digits, text.bytes());
    }
}
