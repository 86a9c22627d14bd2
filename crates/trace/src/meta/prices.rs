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

impl Prices {
    /// What measurements at different times say together: of each price, the median of the measurements. Of an even number
    /// it is the lower of the two in the middle, as whatever disturbs a measurement makes it dearer. `None` without any.
    pub fn typical(measurements: &[Prices]) -> Option<Prices> {
        let typical = |price: fn(&Prices) -> Option<Price>| {
            let mut prices: Vec<Price> = measurements.iter().filter_map(price).collect();
            prices.sort_by(|a, b| a.median.total_cmp(&b.median));
            prices.get(prices.len().saturating_sub(1) / 2).copied()
        };
        Some(Prices {
            minor_fault: typical(|of| Some(of.minor_fault))?,
            minor_fault_unzeroed: typical(|of| Some(of.minor_fault_unzeroed))?,
            zeroing: typical(|of| Some(of.zeroing))?,
            huge_fault: typical(|of| of.huge_fault),
            mmap_munmap: typical(|of| Some(of.mmap_munmap))?,
            unmap_page: typical(|of| Some(of.unmap_page))?,
            malloc_free: typical(|of| Some(of.malloc_free))?,
            malloc_free_contended: typical(|of| of.malloc_free_contended),
            stamps: typical(|of| Some(of.stamps))?,
            brk_grow: typical(|of| Some(of.brk_grow))?,
            brk_trim: typical(|of| Some(of.brk_trim))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_measurements_each_price_is_the_median() {
        let price = |median: f64| Price { median, p10: median / 2.0, p90: median * 2.0 };
        let measured = |fault: f64, zeroing: f64, huge: Option<f64>| Prices {
            minor_fault: price(fault),
            zeroing: price(zeroing),
            huge_fault: huge.map(price),
            ..Prices::default()
        };
        let all =
            [measured(600.0, 1041.0, None), measured(900.0, 300.0, Some(80.0)), measured(500.0, 280.0, Some(90.0))];
        assert_eq!(Prices::typical(&all), Some(measured(600.0, 300.0, Some(80.0))));
        assert_eq!(Prices::typical(&all[..2]), Some(measured(600.0, 300.0, Some(80.0))), "the lower of two");
        assert_eq!(Prices::typical(&all[..1]), Some(all[0]));
        assert_eq!(Prices::typical(&[]), None);
    }
}
