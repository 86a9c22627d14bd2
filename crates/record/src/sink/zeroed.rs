//! Memory for large tables: zeroed, and in large pages.
//!
//! The kernel hands out memory in pages of 4 KiB, at about a microsecond each; a table that grows with the program's live
//! blocks pays that again and again. In pages of 2 MiB the same memory costs a seventh, and the processor keeps the
//! places of all of them in mind.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
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
        // SAFETY: the advice changes nothing that a program could see. A kernel without large pages does not take it.
        let _ = unsafe { madvise(start.as_ptr(), layout.size(), Advice::LinuxHugepage) };
        Zeroed { start: start.cast(), len }
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
