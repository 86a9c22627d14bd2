//! Memory for large tables: zeroed, and in large pages.
//!
//! The kernel hands out memory in pages of 4 KiB, at about a microsecond each; a table that grows with the program's live
//! blocks or call sites pays that again and again. In pages of 2 MiB the same memory costs a seventh, and the processor
//! keeps the places of all of them in mind. While a table is small, as it stays for most processes, it is on the heap, where
//! making it takes no system call.

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// From here on, a table has a mapping of its own. Bytes.
const MAPPED: usize = 128 << 10;

/// A slice that owns its memory.
pub struct Zeroed<T> {
    start: NonNull<T>,
    len: usize,
    pages: Pages,
}

/// The size of pages that a table asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pages {
    /// For what is looked up all over the table.
    Large,
    /// For what is filled from its begin. Where nobody used the memory lately, as in a virtual machine whose free memory was
    /// given back, a large page can take ten times as long as small ones.
    Small,
}

// SAFETY: it owns its memory, as a boxed slice does.
unsafe impl<T: Send> Send for Zeroed<T> {}

impl<T: Copy> Zeroed<T> {
    /// `len` elements, of which every byte is zero. There must be at least one.
    ///
    /// # Safety
    /// A `T` of which every byte is zero must be a valid one.
    pub unsafe fn new(len: usize) -> Self {
        // SAFETY: the caller promises the same.
        unsafe { Self::in_pages(len, Pages::Large) }
    }

    /// The same.
    ///
    /// # Safety
    /// The same.
    unsafe fn in_pages(len: usize, pages: Pages) -> Self {
        let layout = layout::<T>(len);
        if layout.size() < MAPPED {
            // SAFETY: it is not empty, as there is at least one element.
            let memory = unsafe { alloc_zeroed(layout) };
            let Some(start) = NonNull::new(memory) else { handle_alloc_error(layout) };
            return Zeroed { start: start.cast(), len, pages };
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), layout.size(), protection, MapFlags::PRIVATE) };
        let Some(start) = mapped.ok().and_then(NonNull::new) else { handle_alloc_error(layout) };
        let zeroed = Zeroed { start: start.cast(), len, pages };
        zeroed.advise();
        zeroed
    }

    /// Makes it as long as `len` elements, if it is shorter. Those that are there stay as they are; in a mapping they are
    /// not even copied: the kernel moves pages. The new ones are zeroed.
    pub fn grow(&mut self, len: usize) {
        if len <= self.len {
            return;
        }
        if self.bytes() < MAPPED {
            // SAFETY: whoever made this one has promised it.
            let mut larger = unsafe { Self::in_pages(len, self.pages) };
            larger[..self.len].copy_from_slice(self);
            *self = larger;
            return;
        }
        let layout = layout::<T>(len);
        // SAFETY: the mapping is this long, and while it is borrowed for change, nobody else refers to its place.
        let mapped = unsafe { mremap(self.start.as_ptr().cast(), self.bytes(), layout.size(), MremapFlags::MAYMOVE) };
        let Some(start) = mapped.ok().and_then(NonNull::new) else { handle_alloc_error(layout) };
        (self.start, self.len) = (start.cast(), len);
        self.advise();
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn advise(&self) {
        if self.pages == Pages::Large {
            // SAFETY: the advice changes nothing that a program could see. A kernel without large pages does not take it.
            let _ = unsafe { madvise(self.start.as_ptr().cast(), self.bytes(), Advice::LinuxHugepage) };
        }
    }
}

/// The layout of `len` elements.
fn layout<T>(len: usize) -> Layout {
    match Layout::array::<T>(len) {
        Ok(layout) => layout,
        Err(_) => handle_alloc_error(Layout::new::<T>()),
    }
}

impl<T> Drop for Zeroed<T> {
    fn drop(&mut self) {
        let layout = layout::<T>(self.len);
        let start = self.start.as_ptr();
        // SAFETY: it is this long, on the heap if it is short, and nothing refers to it any more.
        unsafe {
            if layout.size() < MAPPED {
                dealloc(start.cast(), layout);
            } else {
                let _ = munmap(start.cast(), layout.size());
            }
        }
    }
}

impl<T> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: its memory holds so many valid elements.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Zeroed<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// A list in such memory: it grows where it is, and what is new is zeroed.
pub struct List<T> {
    /// Zeroed from `len` on.
    memory: Zeroed<T>,
    len: usize,
}

impl<T: Copy> List<T> {
    /// An empty one, with memory for `first` elements. That must be at least one.
    ///
    /// # Safety
    /// A `T` of which every byte is zero must be a valid one.
    pub unsafe fn new(first: usize) -> Self {
        // SAFETY: the caller promises it.
        List { memory: unsafe { Zeroed::in_pages(first, Pages::Small) }, len: 0 }
    }

    /// Makes it as long as `len` elements, if it is shorter.
    #[inline(always)]
    pub fn reach(&mut self, len: usize) {
        if len > self.len {
            self.lengthen(len);
        }
    }

    #[cold]
    fn lengthen(&mut self, len: usize) {
        self.memory.grow(if len > self.memory.len() { len.next_power_of_two() } else { len });
        self.len = len;
    }

    /// Adds an element.
    pub fn push(&mut self, element: T) {
        self.reach(self.len + 1);
        self.memory[self.len - 1] = element;
    }

    /// Forgets all. The memory stays.
    pub fn clear(&mut self) {
        // SAFETY: whoever made it has promised that zeros are elements.
        self.fill(unsafe { std::mem::zeroed() });
        self.len = 0;
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: there is memory for so many.
        unsafe { std::slice::from_raw_parts(self.memory.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: there is memory for so many, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_was_cleared_begins_with_zeros_again() {
        // SAFETY: 0 is a number.
        let mut list: List<u64> = unsafe { List::new(1) };
        for round in 0..2 {
            (1..=100_000).for_each(|number| list.push(number));
            assert!(list.iter().copied().eq(1..=100_000), "round {round}");
            list.clear();
            assert!(list.is_empty());
            list.reach(200_000);
            assert!(list.len() == 200_000 && list.iter().all(|number| *number == 0));
            list.clear();
        }
    }

    #[test]
    fn what_is_there_stays_and_what_comes_is_zero() {
        // SAFETY: 0 is a number.
        let mut numbers: Zeroed<u64> = unsafe { Zeroed::new(3) };
        assert_eq!(numbers[..], [0, 0, 0]);
        for (index, number) in numbers.iter_mut().enumerate() {
            *number = index as u64 + 1;
        }
        for len in [2, 1 << 10, 1 << 22] {
            numbers.grow(len);
            assert_eq!(numbers.len(), len.max(3));
            assert_eq!(numbers[..3], [1, 2, 3]);
            assert!(numbers[3..].iter().all(|number| *number == 0));
        }
    }
}
