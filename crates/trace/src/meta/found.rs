//! Where samples of plain runs found threads.

use super::Samples;

/// Where a thread may be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the allocator's code.
    Allocator,
    /// In other code outside the kernel.
    Program,
    /// In the kernel, in a page fault (or an interrupt, which takes little).
    Fault,
    /// In the kernel, in a system call that makes, changes or removes mappings, or moves the heap's end.
    Mapping,
    /// In the kernel, in anything else: other system calls, with the page faults inside them, starting, ending.
    Kernel,
}

impl Samples {
    /// How many more.
    pub fn add(&mut self, found: Found, number: u64) {
        let sum = match found {
            Found::Allocator => &mut self.allocator,
            Found::Program => &mut self.program,
            Found::Fault => &mut self.fault,
            Found::Mapping => &mut self.mapping,
            Found::Kernel => &mut self.kernel,
        };
        *sum = sum.saturating_add(number);
    }

    /// How many were found there.
    pub fn of(&self, found: Found) -> u64 {
        match found {
            Found::Allocator => self.allocator,
            Found::Program => self.program,
            Found::Fault => self.fault,
            Found::Mapping => self.mapping,
            Found::Kernel => self.kernel,
        }
    }

    /// All.
    pub fn all(&self) -> u64 {
        [Found::Allocator, Found::Program, Found::Fault, Found::Mapping, Found::Kernel]
            .into_iter()
            .fold(0, |sum, found| sum.saturating_add(self.of(found)))
    }
}
