//! What the program's own work beside the calls takes: copying, filling, touching.

use crate::range::Range;
use memtoll_analysis::tariff::Tariff;

/// What the program does beside the calls themselves, ns each, from the machine's prices.
pub struct Work {
    /// Copying a byte: a warm cache, a mix, a cold one.
    pub copy_byte: Range,
    /// Filling a byte with zeroes.
    pub fill_byte: Range,
    /// What the kernel needs to take a page away again.
    pub unmap_page: f64,
    /// A byte of memory that is touched for the first time in huge pages, in pages that are populated in one go, and
    /// page by page.
    pub fresh_byte: Range,
}

impl Work {
    /// Copying a byte at the prices of a recording, ns.
    pub fn copy_byte(tariff: &Tariff) -> Range {
        let zeroing = zeroing(tariff);
        Range::new(zeroing, zeroing * 2.0, zeroing * 6.0)
    }

    /// At the prices of a recording.
    pub fn of(tariff: &Tariff) -> Work {
        let (prices, page) = (tariff.prices(), tariff.page() as f64);
        let zeroing = zeroing(tariff);
        let fault = tariff.faults().page / page;
        let huge = prices.huge_fault.map_or(fault * 0.4, |price| price.median / (2 << 20) as f64);
        Work {
            copy_byte: Work::copy_byte(tariff),
            fill_byte: Range::new(zeroing * 0.5, zeroing, zeroing * 2.0),
            unmap_page: prices.unmap_page.median,
            fresh_byte: Range::new(huge.min(fault), fault * 0.5, fault),
        }
    }
}

/// Time to zero a byte, ns. A recording without prices gets the price of a machine of 2023.
fn zeroing(tariff: &Tariff) -> f64 {
    let page = tariff.prices().zeroing.median;
    (if page > 0.0 { page } else { 200.0 }) / tariff.page() as f64
}
