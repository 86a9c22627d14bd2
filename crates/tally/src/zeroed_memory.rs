//! Memory for large tables: zeroed, and in large pages.
//!
//! The kernel hands out memory in pages of 4 KiB, at about a microsecond each; a table that grows with the program's live
//! blocks or call sites pays that again and again. In pages of 2 MiB the same memory costs a seventh, and the processor
//! keeps the places of all of them in mind. While a table is small, as it stays for most processes, it is on the heap, where
//! making it takes no system call.

mod mapping;

use mapping::{Mapping, Pages};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// From here on, a table has a mapping of its own. Bytes.
const MAPPED: usize = 128 << 10;

/// Bytes of a page, or fewer.
const PAGE: usize = 4 << 10;

/// A slice that owns its memory.
pub struct Zeroed<T> {
    start: NonNull<T>,
    len: usize,
    pages: Pages,
    /// Where it is large enough for one. Perhaps longer than the slice.
    mapping: Option<Mapping>,
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
            return Zeroed { start: start.cast(), len, pages, mapping: None };
        }
        let Ok(mapping) = Mapping::take(layout.size(), pages) else { handle_alloc_error(layout) };
        Zeroed { start: mapping.start.cast(), len, pages, mapping: Some(mapping) }
    }

    /// Makes it as long as `len` elements, if it is shorter. Those that are there stay as they are; in a mapping they are
    /// not even copied. The new ones are zeroed.
    pub fn grow(&mut self, len: usize) {
        if len <= self.len {
            return;
        }
        let layout = layout::<T>(len);
        let Some(mapping) = &mut self.mapping else {
            // SAFETY: the maker of this one has promised it.
            let mut larger = unsafe { Self::in_pages(len, self.pages) };
            larger[..self.len].copy_from_slice(self);
            *self = larger;
            return;
        };
        if mapping.len < layout.size() && mapping.grow(layout.size()).is_err() {
            handle_alloc_error(layout);
        }
        (self.start, self.len) = (mapping.start.cast(), len);
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
        match self.mapping.take() {
            Some(mapping) => mapping.leave(layout.size()),
            // SAFETY: it is this long and on the heap, and nothing refers to it any more.
            None => unsafe { dealloc(self.start.as_ptr().cast(), layout) },
        }
    }
}

impl<T> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: its memory holds `len` valid elements.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Zeroed<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and it has no other owner.
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

    /// The same, for elements that are looked up all over the list.
    ///
    /// # Safety
    /// The same.
    pub unsafe fn looked_up(first: usize) -> Self {
        // SAFETY: the caller promises it.
        List { memory: unsafe { Zeroed::new(first) }, len: 0 }
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
        let (was, last) = (self.len * size_of::<T>(), len * size_of::<T>() - 1);
        // A page that is read first is the kernel's page of zeros, and a second fault replaces it.
        for at in (was..last).step_by(PAGE).chain([last]) {
            // SAFETY: it lies in the memory, and it is zero.
            unsafe { self.memory.start.as_ptr().cast::<u8>().add(at).write_volatile(0) };
        }
        self.len = len;
    }

    /// Adds an element.
    pub fn push(&mut self, element: T) {
        self.reach(self.len + 1);
        self.memory[self.len - 1] = element;
    }

    /// Forgets all. The memory stays.
    pub fn clear(&mut self) {
        // SAFETY: its maker has promised that zeros are elements. (Elements that are zero may have gaps that are not.)
        unsafe { std::ptr::write_bytes(self.memory.start.as_ptr(), 0, self.len) };
        self.len = 0;
    }
}

impl<T> Drop for List<T> {
    fn drop(&mut self) {
        if self.memory.mapping.is_some() {
            self.memory.len = self.len; // the rest is zero
        }
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: there is memory for all of them.
        unsafe { std::slice::from_raw_parts(self.memory.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: there is memory for all of them, and no other owner of it.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_table_has_left_is_zero_for_the_next() {
        for round in 1..20 {
            // SAFETY: 0 is a number.
            let (mut table, mut list) = unsafe { (Zeroed::<u64>::new(1 << 15), List::<u64>::looked_up(1)) };
            assert!(table.iter().all(|number| *number == 0));
            table.grow(round << 15);
            assert!(table.iter().all(|number| *number == 0));
            table.fill(u64::MAX);
            list.reach(round << 14);
            assert!(list.iter().all(|number| *number == 0));
            list.fill(u64::MAX);
        }
    }

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
