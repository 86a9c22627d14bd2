//! Mappings of zeroed memory, and those that a table has left for the next one: memory that was used lately costs a fifth of
//! fresh pages. In a build, each process that ends leaves tables of the sizes that the next one needs.

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap};
use std::io;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Larger ones are given back, bytes.
const LARGEST_SPARE: usize = 8 << 20;
/// All that are kept, bytes.
const MOST_SPARE: usize = 32 << 20;

/// Largest mapping that a table takes, in times of what it needs: a small table should not keep a large one's memory.
const TOO_LARGE: usize = 32;

/// Unused mappings, and how many of their first bytes are perhaps not zero.
fn spare() -> MutexGuard<'static, Vec<(Mapping, usize)>> {
    static SPARE: Mutex<Vec<(Mapping, usize)>> = Mutex::new(Vec::new());
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The size of pages that a table asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// For what is looked up all over the table.
    Large,
    /// For what is filled from its begin. Where the memory was not used lately, as in a virtual machine whose free memory was
    /// given back, a large page can take ten times as long as small ones.
    Small,
}

/// Memory with a place of its own.
pub struct Mapping {
    pub start: NonNull<u8>,
    /// Bytes that it has.
    pub len: usize,
    pages: Pages,
}

// SAFETY: it owns its memory, as a boxed slice does.
unsafe impl Send for Mapping {}

impl Mapping {
    /// One of at least `len` bytes, all zero.
    pub fn take(len: usize, pages: Pages) -> io::Result<Mapping> {
        if let Some((mapping, used)) = Mapping::take_spare(len, pages) {
            // SAFETY: it is longer than what was used of it, and has no other owner.
            unsafe { std::ptr::write_bytes(mapping.start.as_ptr(), 0, used) };
            return Ok(mapping);
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)? };
        Mapping::at(start.cast(), len, pages)
    }

    /// The smallest one that is large enough.
    fn take_spare(len: usize, pages: Pages) -> Option<(Mapping, usize)> {
        let mut spare = spare();
        let fits = |mapping: &Mapping| mapping.pages == pages && (len..len * TOO_LARGE).contains(&mapping.len);
        let fitting = spare.iter().enumerate().filter(|(_, (mapping, _))| fits(mapping));
        let (index, _) = fitting.min_by_key(|(_, (mapping, _))| mapping.len)?;
        Some(spare.swap_remove(index))
    }

    fn at(start: *mut u8, len: usize, pages: Pages) -> io::Result<Mapping> {
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        if pages == Pages::Large {
            // SAFETY: the advice changes nothing that a program could see. A kernel without large pages does not take it.
            let _ = unsafe { madvise(start.as_ptr().cast(), len, Advice::LinuxHugepage) };
        }
        Ok(Mapping { start, len, pages })
    }

    /// Makes it as long as `len` bytes, which are more: the kernel moves pages, and the new ones are zeroed.
    pub fn grow(&mut self, len: usize) -> io::Result<()> {
        // SAFETY: the mapping is this long, and while it is borrowed for change, nothing else refers to its place.
        let moved = unsafe { mremap(self.start.as_ptr().cast(), self.len, len, MremapFlags::MAYMOVE)? };
        *self = Mapping::at(moved.cast(), len, self.pages)?;
        Ok(())
    }

    /// Returns it to the unused ones. All but the first `used` bytes are zero.
    pub fn leave(self, used: usize) {
        let mut spare = spare();
        let kept: usize = spare.iter().map(|(mapping, _)| mapping.len).sum();
        if self.len <= LARGEST_SPARE && kept + self.len <= MOST_SPARE {
            spare.push((self, used));
            return;
        }
        drop(spare);
        // SAFETY: it is this long, and nothing refers to it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
