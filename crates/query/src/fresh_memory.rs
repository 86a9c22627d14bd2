//! Page faults that were dearer than this machine's faults are, because the memory was fresh to the machine itself.
//!
//! The host of a virtual machine takes memory back that was not in use for a while. The next page fault that is given such
//! a page waits until the host has found one, and zeroed it: 5 to 10 µs instead of one. That happens to a program whether
//! it is recorded or not, mostly in the first run after a pause. The prices measured right after the run use memory that
//! the run has just given back, so they do not have it.

use memtoll_analysis::balance::Balance;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_text::format;

/// Faults on memory that is in the caches or not, in large or small steps, differ by less.
const DEARER: f64 = 2.0;
/// Share of the CPU time below which a remark is not worth its place.
const MATTERS: f64 = 0.02;

/// That page faults were much dearer than usual, and why, if that matters.
pub fn remark(recording: &Recording, sums: &Sums) -> Option<String> {
    let tariff = Tariff::of(recording);
    let faults = tariff.faults();
    let balance = Balance::of_all(recording, sums);
    if faults.timed == 0 {
        return None;
    }
    words(faults.page, tariff.prices().minor_fault.median, balance.charged.faults.value, balance.program()?.value)
}

/// `price` of a fault and what is `usual`; all faults of blocks and mappings, and the CPU time, all in ns.
fn words(price: f64, usual: f64, faults: f64, processor: f64) -> Option<String> {
    let times = price / usual;
    let excess = faults * (1.0 - 1.0 / times);
    let is_news = usual > 0.0 && times >= DEARER && excess >= processor * MATTERS;
    is_news.then(|| {
        format!(
            "a page fault took {} in this run, {times:.1} times the {} that it takes on this machine with memory that was in \
             use just before. It is the machine that had to find the memory, as the host of a virtual machine does after a \
             pause; without memtoll, the program waits for it as well. A second recording right after this one shows less",
            format::seconds(price / 1e9),
            format::seconds(usual / 1e9),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_prices_are_told_where_they_matter() {
        let text = words(7838.0, 1243.0, 6.0e9, 6.7e9).unwrap();
        assert!(text.starts_with("a page fault took 7.8 µs in this run, 6.3 times the 1.2 µs that"), "{text}");
    }

    #[test]
    fn what_is_usual_or_small_is_no_news() {
        assert_eq!(words(2400.0, 1243.0, 6.0e9, 6.7e9), None); // not twice as dear
        assert_eq!(words(7838.0, 1243.0, 0.1e9, 6.7e9), None); // 1.3 % of the time
        assert_eq!(words(7838.0, 0.0, 6.0e9, 6.7e9), None); // the usual price is not known
    }
}
