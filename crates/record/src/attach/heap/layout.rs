//! Where glibc keeps what it knows of its heap: variables without a name for others, found by what is in them.
//!
//! The same in all releases from 2.27 to 2.41:
//!
//! ```text
//! main_arena   0 lock u32   4 flags u32   16 fast bins [u64; 10]   96 top   112 bins [u64; 254]
//!              2160 next   2184 bytes from the system
//! mp_          n_mmaps u32   n_mmaps_max u32   max_n_mmaps u32   (some)   mmapped_mem   max_mmapped_mem   sbrk_base
//! ```
//!
//! An empty bin points to itself, which nothing else in the C library does a hundred times in a row.

use super::copy::{Copy, word_of};
use crate::attach::code::Code;

pub const FAST_BINS: u64 = 16;
pub const FAST_BIN_COUNT: u64 = 10;
pub const TOP: u64 = 96;
const BINS: u64 = 112;
const BIN_COUNT: u64 = 127;
pub const NEXT: u64 = 2160;
pub const FROM_SYSTEM: u64 = 2184;
pub const ARENA_BYTES: u64 = 2200;

/// Bins that must be empty in a `main_arena`: programs that fill more of them have been running for long.
const FEWEST_EMPTY: usize = 8;

/// Addresses of glibc's variables.
#[derive(Clone, Debug)]
pub struct Layout {
    pub main_arena: u64,
    /// The C library's variables.
    pub data: Vec<(u64, u64)>,
}

impl Layout {
    pub fn find(code: &Code, copy: &mut Copy) -> Result<Layout, String> {
        let lines = code.maps.iter().filter(|line| line.writable && !line.shared);
        let data: Vec<(u64, u64)> = lines
            .filter(|line| line.start >= code.libc.start && line.start < code.libc.end + 0x1_0000)
            .filter(|line| line.path == code.libc.path || line.path.is_empty())
            .map(|line| (line.start, line.end - line.start))
            .collect();
        copy.begin();
        for (start, bytes) in &data {
            copy.add(*start, *bytes);
        }
        let in_data = |(start, bytes): &(u64, u64)| {
            let piece = copy.from(*start)?.get(..*bytes as usize)?;
            let last = bytes.checked_sub(ARENA_BYTES)?;
            (0..=last).step_by(8).find(|at| is_arena(&piece[*at as usize..], start + at)).map(|at| start + at)
        };
        let main_arena = data.iter().find_map(in_data);
        let main_arena = main_arena.ok_or("its C library keeps its heap in a way that memtoll does not know")?;
        Ok(Layout { main_arena, data })
    }
}

/// Whether an arena can lie there.
pub fn is_arena(bytes: &[u8], address: u64) -> bool {
    let word = |at: u64| word_of(bytes, at as usize);
    let bin = |index: u64| (word(BINS + index * 16), word(BINS + index * 16 + 8));
    // Most places fail here.
    let own = |index: u64| address + BINS + index * 16 - 16;
    let is_empty = |index: u64| bin(index) == (Some(own(index)), Some(own(index)));
    let empty = (0..BIN_COUNT).rev().take(64).filter(|index| is_empty(*index)).count();
    if empty < FEWEST_EMPTY {
        return false;
    }
    let is_list = |index: u64| {
        let (Some(first), Some(last)) = bin(index) else { return false };
        first != 0 && last != 0 && first % 8 == 0 && last % 8 == 0 && (first == own(index)) == (last == own(index))
    };
    (0..BIN_COUNT).all(is_list) && word(NEXT).is_some_and(|next| next != 0) && word(TOP).is_some_and(|top| top != 0)
}
