//! The prices of single operations.

use crate::program::{Error, Program};
use crate::statistics::quantile;
use memtoll_trace::meta::{Price, Prices};
use std::collections::HashMap;

/// Measures the prices: 7 to 9 ms of CPU time, in a process of its own that is gone afterwards. The caller's heap,
/// mappings and threads are left alone.
pub fn prices() -> Result<Prices, Error> {
    static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/prices"));
    parse(&Program::new("memtoll-prices", PROGRAM)?.run(&[])?)
}

/// `None` if there are no samples.
fn price_of(samples: &[f64]) -> Option<Price> {
    // A sample is its span less the clock's own; with a bad clock nothing may remain.
    let at = |q| quantile(samples, q).map(|value| value.max(0.0));
    Some(Price { median: at(0.5)?, p10: at(0.1)?, p90: at(0.9)? })
}

/// From what the measuring program prints: lines of a name and samples.
fn parse(text: &str) -> Result<Prices, Error> {
    let mut series: HashMap<&str, Vec<f64>> = HashMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let samples: Result<Vec<f64>, _> = words.map(str::parse).collect();
        series.insert(name, samples.map_err(|_| Error::Output(line.to_owned()))?);
    }
    let samples = |name: &str| series.get(name).map_or(&[][..], Vec::as_slice);
    let price = |name: &str| {
        price_of(samples(name)).ok_or_else(|| Error::Output(format!("no samples of {name}: out of memory?")))
    };
    let unzeroed: Vec<f64> =
        samples("minor_fault").iter().zip(samples("zeroing_cached")).map(|(fault, zeroing)| fault - zeroing).collect();
    Ok(Prices {
        minor_fault: price("minor_fault")?,
        minor_fault_unzeroed: price_of(&unzeroed).ok_or_else(|| Error::Output(text.to_owned()))?,
        zeroing: price("zeroing")?,
        huge_fault: price_of(samples("huge_fault")),
        mmap_munmap: price("mmap_munmap")?,
        unmap_page: price("unmap_page")?,
        malloc_free: price("malloc_free")?,
        malloc_free_contended: price_of(samples("malloc_free_contended")),
        stamps: price("stamps")?,
        brk_grow: price("brk_grow")?,
        brk_trim: price("brk_trim")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "minor_fault 1000 1200 1100\nzeroing 200 210 190\nzeroing_cached 100 110 90\nhuge_fault\n\
        mmap_munmap 2000\nunmap_page 150\nmalloc_free 12 14 13 1000\nstamps 9\nbrk_grow 1500\nbrk_trim -3\n";

    #[test]
    fn samples_become_prices() {
        let prices = parse(PRINTED).unwrap();
        assert_eq!(prices.minor_fault, Price { median: 1100.0, p10: 1020.0, p90: 1180.0 });
        assert_eq!(prices.minor_fault_unzeroed.median, 1010.0, "of 900, 1090 and 1010");
        assert_eq!(prices.huge_fault, None);
        assert_eq!(prices.malloc_free_contended, None);
        assert_eq!(prices.stamps.median, 9.0);
        assert_eq!(prices.malloc_free.median, 13.5);
        assert_eq!(prices.brk_trim.median, 0.0);
        let json = serde_json::to_string(&prices).unwrap();
        assert_eq!(serde_json::from_str::<Prices>(&json).unwrap(), prices);
    }

    #[test]
    fn what_is_no_measurement_is_refused() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert!(error("minor_fault a b\n").contains("minor_fault a b"));
        assert!(error("").contains("no samples of minor_fault"));
        assert!(error(&PRINTED.replace("mmap_munmap 2000", "mmap_munmap")).contains("no samples of mmap_munmap"));
    }

    #[test]
    fn this_machine_has_prices() {
        let prices = prices().unwrap();
        let all = [
            ("minor_fault", Some(prices.minor_fault)),
            ("minor_fault_unzeroed", Some(prices.minor_fault_unzeroed)),
            ("zeroing", Some(prices.zeroing)),
            ("huge_fault", prices.huge_fault),
            ("mmap_munmap", Some(prices.mmap_munmap)),
            ("unmap_page", Some(prices.unmap_page)),
            ("malloc_free", Some(prices.malloc_free)),
            ("malloc_free_contended", prices.malloc_free_contended),
            ("stamps", Some(prices.stamps)),
            ("brk_grow", Some(prices.brk_grow)),
            ("brk_trim", Some(prices.brk_trim)),
        ];
        for (name, price) in all {
            let Some(price) = price else { continue };
            assert!(0.0 < price.median && price.p10 <= price.median && price.median <= price.p90, "{name}: {price:?}");
            assert!(price.median < 1e8, "{name}: {price:?}");
        }
        assert!(prices.minor_fault_unzeroed.median < prices.minor_fault.median);
        assert!(prices.malloc_free.median < prices.mmap_munmap.median, "{prices:?}");
        assert!(prices.zeroing.median < prices.minor_fault.median, "{prices:?}");
    }
}
