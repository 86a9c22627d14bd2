//! Memory for large tables: zeroed, and in large pages.
//!
//! The kernel hands out memory in pages of 4 KiB, at about a microsecond each; a table that grows with the program's live
//! blocks or call sites pays that again and again. In pages of 2 MiB the same memory costs a seventh, and the processor
//! keeps the places of all of them in mind.

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap};
use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A slice in a mapping of its own.
pub struct Zeroed<T> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its memory, as a boxed slice does.
unsafe impl<T: Send> Send for Zeroed<T> {}

impl<T: Copy> Zeroed<T> {
    /// `len` elements, of which every byte is zero. There must be at least one.
    ///
    /// # Safety
    /// A `T` of which every byte is zero must be a valid one.
    pub unsafe fn new(len: usize) -> Self {
        let Ok(layout) = Layout::array::<T>(len) else { handle_alloc_error(Layout::new::<T>()) };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), layout.size(), protection, MapFlags::PRIVATE) };
        let Some(start) = mapped.ok().and_then(NonNull::new) else { handle_alloc_error(layout) };
        let zeroed = Zeroed { start: start.cast(), len };
        zeroed.prefer_large_pages();
        zeroed
    }

    /// Makes it as long as `len` elements, if it is shorter. Those that are there stay as they are, without being
    /// copied: the kernel moves pages. The new ones are zeroed.
    pub fn grow(&mut self, len: usize) {
        if len <= self.len {
            return;
        }
        let Ok(layout) = Layout::array::<T>(len) else { handle_alloc_error(Layout::new::<T>()) };
        // SAFETY: the mapping is this long, and while it is borrowed for change, nobody else refers to its place.
        let mapped = unsafe { mremap(self.start.as_ptr().cast(), self.bytes(), layout.size(), MremapFlags::MAYMOVE) };
        let Some(start) = mapped.ok().and_then(NonNull::new) else { handle_alloc_error(layout) };
        (self.start, self.len) = (start.cast(), len);
        self.prefer_large_pages();
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn prefer_large_pages(&self) {
        // SAFETY: the advice changes nothing that a program could see. A kernel without large pages does not take it.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), self.bytes(), Advice::LinuxHugepage) };
    }
}

impl<T> Drop for Zeroed<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is this long, and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len * size_of::<T>()) };
    }
}

impl<T> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds so many valid elements, and is aligned to a page.
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

#[cfg(test)]
mod tests {
    use super::*;

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
