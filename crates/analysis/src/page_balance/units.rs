//! The least that an allocator can give back, and what it takes for a block.

use super::chunks;
use crate::live_blocks::Block;
use memtoll_model::Image;
use memtoll_trace::meta::{OwnAllocator, RecordedCalls};
use memtoll_trace::path::last_part;
use memtoll_trace::snapshot::Snapshot;
use std::ops::Range;

/// In which units the allocator of a process gives memory back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unit {
    /// glibc's: a page.
    Page,
    /// jemalloc's: a slab of small blocks of one size, or an extent of one large block.
    Slab,
    /// Those of an allocator whose units are not known here: its name.
    Unknown(String),
}

impl Unit {
    /// Those of an allocator inside a file that answers, or may; then those of the malloc that import tables lead to. Where that is
    /// not known, a library that the program has loaded decides.
    pub(super) fn of(image: &Image, snapshot: &Snapshot) -> Unit {
        const OTHERS: [&str; 5] = ["jemalloc", "tcmalloc", "mimalloc", "snmalloc", "hoard"];
        let of = &image.own_allocators;
        let files = || snapshot.mappings.iter().map(|mapping| last_part(&mapping.path));
        let answers = |own: &&OwnAllocator| own.answered.calls > 0 || own.recorded != RecordedCalls::All;
        let own = of.allocators.iter().find(answers).map(|own| own.name.as_str());
        let malloc = of.malloc.as_ref().map(|malloc| malloc.name.as_str());
        let loaded =
            || OTHERS.into_iter().find(|name| files().any(|file| file.starts_with("lib") && file.contains(name)));
        let musl = || files().any(|file| file.starts_with("ld-musl")).then_some("musl");
        Unit::named(own.or(malloc).or_else(loaded).or_else(musl))
    }

    /// Those of an allocator by its name; glibc's malloc where there is no other.
    fn named(allocator: Option<&str>) -> Unit {
        match allocator {
            None => Unit::Page,
            Some(name) if name.starts_with("glibc") => Unit::Page,
            Some("jemalloc") => Unit::Slab,
            Some(name) => Unit::Unknown(name.to_owned()),
        }
    }

    /// What the allocator is called.
    pub fn allocator(&self) -> &str {
        match self {
            Unit::Page => "glibc",
            Unit::Slab => "jemalloc",
            Unit::Unknown(name) => name,
        }
    }

    /// Whether it is known what pins.
    pub fn is_known(&self) -> bool {
        !matches!(self, Unit::Unknown(_))
    }

    /// The addresses that a block takes, with what the allocator needs beside it.
    pub(super) fn span(&self, block: &Block) -> Range<u64> {
        match self {
            Unit::Page if chunks::is_mapped_alone(block) => chunks::mapping(block),
            Unit::Page => chunks::chunk(block),
            Unit::Slab => block.address..block.address.saturating_add(jemalloc::usable(block.size)),
            Unit::Unknown(_) => block.address..block.address.saturating_add(block.size),
        }
    }

    /// The unit that a block lies in, where a block has one.
    pub(super) fn around(&self, block: &Block) -> Option<Range<u64>> {
        matches!(self, Unit::Slab).then(|| jemalloc::unit(block))
    }
}

/// jemalloc 5 with pages of 4 KiB: include/jemalloc/internal/sc.h and src/sc.c.
mod jemalloc {
    use super::*;

    const PAGE: u64 = 4096;
    const QUANTUM: u64 = 16;
    /// Largest block that shares its unit with others.
    const SMALL: u64 = 14 << 10;

    /// Sizes have four classes in each doubling; below 128 bytes, each multiple of 16 is one, and 8.
    pub fn usable(size: u64) -> u64 {
        match size {
            0..=8 => 8,
            9..=128 => size.next_multiple_of(QUANTUM),
            _ => {
                let step = (size - 1).checked_ilog2().map_or(QUANTUM, |log2| 1 << (log2 - 2));
                size.checked_next_multiple_of(step).unwrap_or(size)
            }
        }
    }

    /// A slab has as many pages as its blocks fill without a rest. A large block has pages of its own, and begins anywhere in the
    /// first one.
    pub fn unit(block: &Block) -> Range<u64> {
        let bytes = usable(block.size);
        let page = block.address - block.address % PAGE;
        if bytes > SMALL {
            return page..block.address.saturating_add(bytes).next_multiple_of(PAGE);
        }
        let pages = (1..=16).find(|pages| (pages * PAGE).is_multiple_of(bytes)).unwrap_or(1);
        let first = (0..pages)
            .map(|before| page.saturating_sub(before * PAGE))
            .find(|base| (block.address - base).is_multiple_of(bytes));
        first.map_or(page..page + PAGE, |base| base..base + pages * PAGE)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use memtoll_model::StackId;
        use memtoll_trace::ids::ThreadNo;

        fn block(address: u64, size: u64) -> Block {
            Block { address, size, time: 0, node: StackId::NONE, thread: ThreadNo::FIRST }
        }

        #[test]
        fn classes_are_those_of_jemalloc() {
            // nallocx(size, 0) of jemalloc 5.3.
            let known = [
                (1, 8),
                (9, 16),
                (100, 112),
                (128, 128),
                (129, 160),
                (257, 320),
                (1025, 1280),
                (4097, 5120),
                (14_337, 16_384),
            ];
            for (size, usable) in known {
                assert_eq!(super::usable(size), usable, "{size}");
            }
        }

        #[test]
        fn slabs_are_found() {
            // Of 48 bytes: three pages. The block number 200 lies on the third.
            let base = 0x7f00_0000_3000;
            for number in 0..256 {
                assert_eq!(unit(&block(base + number * 48, 40)), base..base + 3 * PAGE, "{number}");
            }
            assert_eq!(unit(&block(base + 64, 64)), base..base + PAGE);
            assert_eq!(unit(&block(base + 0x40, 20_000)), base..base + 0x40 + 20_480 + PAGE - 0x40);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_allocators_say_the_units() {
        assert_eq!(Unit::named(Some("glibc 2.36")), Unit::Page);
        assert_eq!(Unit::named(Some("jemalloc")), Unit::Slab);
        assert_eq!(Unit::named(Some("a malloc of its own")), Unit::Unknown("a malloc of its own".to_owned()));
        assert_eq!(Unit::named(None), Unit::Page);
    }
}
