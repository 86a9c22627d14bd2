//! What operations cost on the machine of a recording.

use serde::{Deserialize, Serialize};

/// What an operation costs: CPU time (user and system), nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Half of the samples cost less.
    pub median: f64,
    /// A tenth of the samples cost less.
    pub p10: f64,
    /// Nine tenths of the samples cost less.
    pub p90: f64,
}

/// What operations on memory cost on this machine: CPU time, nanoseconds each.
///
/// Pages are of 4 KiB, huge pages of 2 MiB. The measurement is short, so the figures are those of pages and blocks that
/// were in use shortly before: memory that the caches no longer hold is dearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// First write to a page of private anonymous memory: the fault, a new page, and its zeroing.
    pub minor_fault: Price,
    /// The same without the zeroing: each sample is a fault less the zeroing of cached pages right after it.
    ///
    /// No fault of the kernel shows this by itself. Reading a fresh page maps the shared page of zeroes and writing to a
    /// page that lies in a file's cache maps that one, so both leave more out than the zeroing (taking a page from the
    /// free list, charging it to the control group, entering it into the lists of pages); writing to a page after
    /// MADV_FREE does not fault at all; and a huge page's fault is nearly all zeroing, but of memory that is in no cache.
    pub minor_fault_unzeroed: Price,
    /// Zeroing a page with the instruction that the kernel uses on this processor (`rep stosb` or `rep stosq`), in
    /// the mean of pages that a cache holds, like those of `minor_fault`, and of others, as a program gets both.
    pub zeroing: Price,
    /// First write to a huge page; `None` where the kernel gives none.
    pub huge_fault: Option<Price>,
    /// An mmap of private anonymous memory and its munmap, nothing touched in between: both calls together.
    pub mmap_munmap: Price,
    /// What munmap costs more for each page that was touched.
    pub unmap_page: Price,
    /// A malloc of 64 bytes and its free, one thread.
    pub malloc_free: Price,
    /// A malloc of 2 KiB and a free, by each of two threads that use one arena at the same time and free each other's
    /// blocks; without the time that they sleep. `None` where there is only one processor, or none was free.
    pub malloc_free_contended: Option<Price>,
    /// What two readings of the time stamp counter add to a short call between them.
    pub stamps: Price,
    /// A call that moves the heap's end up by 128 KiB, nothing touched.
    pub brk_grow: Price,
    /// A call that moves the heap's end down by 128 KiB that were not touched; `unmap_page` comes on top for each page
    /// that was.
    pub brk_trim: Price,
}
