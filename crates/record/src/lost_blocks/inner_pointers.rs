//! Pointers into the middle of a block that stand for the block: what compilers and libraries keep in the place of a pointer to
//! its beginning. They are those that Valgrind's memcheck knows.

use super::block_map::Pointer;

const WORD: u64 = 8;
/// Where the characters of a string begin that counts its owners: behind length, capacity and the count.
const HEAD_OF_STRING: u32 = 24;

/// Reads of the process what the search needs beside the pointers.
pub trait Words {
    /// The word at an address.
    fn word(&self, address: u64) -> Option<u64>;
    /// Whether constants lie at an address, as tables of virtual functions are.
    fn is_constant(&self, address: u64) -> bool;
}

/// Whether `pointer` stands for the block of `size` bytes at `start`, whose first word is `first`.
pub fn is_whole(pointer: Pointer, start: u64, size: u64, first: Option<u64>, words: &impl Words) -> bool {
    match pointer.offset {
        8 if is_length(first, size) || is_count(first, size) => true,
        HEAD_OF_STRING if is_string(first, words.word(start + WORD), size) => true,
        offset if u64::from(offset) % WORD == 0 && u64::from(offset) + WORD <= size => {
            let is_table = |word: Option<u64>| word.is_some_and(|word| words.is_constant(word));
            is_table(first) && is_table(words.word(start + u64::from(offset)))
        }
        _ => false,
    }
}

/// An allocator around malloc keeps the length before what it hands out, as sqlite's does.
fn is_length(first: Option<u64>, size: u64) -> bool {
    first.is_some_and(|first| first > 0 && size.checked_sub(WORD) == Some(first))
}

/// `new T[n]` keeps n before the elements, if these have destructors.
fn is_count(first: Option<u64>, size: u64) -> bool {
    let elements = size.saturating_sub(WORD);
    first.is_some_and(|count| count > 0 && count <= elements && elements.is_multiple_of(count))
}

/// libstdc++'s string of before 2011.
fn is_string(length: Option<u64>, capacity: Option<u64>, size: u64) -> bool {
    let room = size.checked_sub(u64::from(HEAD_OF_STRING) + 1);
    matches!((length, capacity), (Some(length), Some(capacity)) if length <= capacity && Some(capacity) == room)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x5000;
    const TABLES: std::ops::Range<u64> = 0x400_000..0x401_000;

    struct Block(Vec<u64>);

    impl Words for Block {
        fn word(&self, address: u64) -> Option<u64> {
            self.0.get((address.checked_sub(START)? / WORD) as usize).copied()
        }

        fn is_constant(&self, address: u64) -> bool {
            TABLES.contains(&address)
        }
    }

    #[test]
    fn compilers_and_libraries_point_into_the_middle() {
        let stands = |words: &[u64], size, offset| {
            let first = words.first().copied();
            is_whole(Pointer { block: 0, offset }, START, size, first, &Block(words.to_vec()))
        };
        assert!(stands(&[92], 100, 8), "a length");
        assert!(stands(&[4, 1, 2], 8 + 4 * 24, 8), "a count of elements of 24 B");
        assert!(!stands(&[5, 1, 2], 8 + 4 * 24, 8));
        assert!(!stands(&[0, 1], 100, 8));
        assert!(!stands(&[4, 1, 2], 8 + 4 * 24, 16), "the second half of an element");
        assert!(stands(&[3, 40, 0], 65, 24), "a string of 3 with room for 40");
        assert!(!stands(&[41, 40, 0], 65, 24));
        let table = TABLES.start + 16;
        assert!(stands(&[table, 7, 7, table + 32], 40, 24), "the second base class");
        assert!(!stands(&[table, 7, 7, 9], 40, 24));
        assert!(!stands(&[9, 7, 7, table], 40, 24));
        assert!(!stands(&[table, 7, 7, table], 40, 20), "no place for a pointer");
    }
}
