//! Memory that is asked for and hardly touched, or given back to the system and taken again: lines below the balance.

use crate::format;
use crate::section::Lines;
use crate::site_text::site_text;
use memtoll_analysis::balance::Balance;
use memtoll_analysis::beside::Beside;
use memtoll_analysis::sites::Row;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::summary::Metrics;

/// Smaller ones are not worth a line. Bytes.
const LEAST: u64 = 1 << 20;
/// Lines of each kind.
const SHOWN: usize = 3;

/// Adds the lines, if there is anything to say.
pub fn lines(recording: &Recording, sums: &Sums, sites: &[Row], balance: &Balance, lines: &mut Lines) {
    let tariff = Tariff::of(recording);
    let touched = |row: &Row| tariff.touched(&row.metrics);
    let mut line = |bytes: u64, what: String| lines.beside(format::bytes(bytes), &what);
    if let Some(unseen) = unseen(balance, &tariff) {
        let mut found: Vec<&Row> =
            sites.iter().filter(|row| is_hardly_touched(&row.metrics, touched(row), unseen)).collect();
        let had = |row: &Row| row.metrics.peak_bytes.max(row.metrics.mapped_bytes);
        found.sort_by_key(|row| std::cmp::Reverse(had(row)));
        for row in found.into_iter().take(SHOWN) {
            let place = site_text(recording, row, None);
            let touched = touched_in_words(touched(row), unseen);
            line(had(row), format!("asked for but hardly touched: {place}, of which {touched}"));
        }
    }
    if is_taken_again(sums) {
        // A tenth of it is worth a line.
        let least = sums.images.iter().map(|image| image.beside.grown_bytes).fold(0, u64::saturating_add) / 10;
        let mut found: Vec<&Row> = sites.iter().filter(|row| row.metrics.grown_bytes >= least.max(LEAST)).collect();
        found.sort_by_key(|row| std::cmp::Reverse(row.metrics.grown_bytes));
        for row in found.into_iter().take(SHOWN) {
            let place = site_text(recording, row, None);
            let calls = format::counted(row.metrics.grown_calls, "call");
            line(row.metrics.grown_bytes, format!("taken from the system again and again, in {calls}: {place}"));
        }
    }
}

/// What is known to have been touched, and what may have been, bytes.
fn touched_in_words(touched: u64, unseen: u64) -> String {
    match unseen > touched / 10 {
        true => format!(
            "{} to {} touched (page faults inside system calls are not shown)",
            format::bytes(touched),
            format::bytes(touched.saturating_add(unseen))
        ),
        false => format!("{} touched", format::bytes(touched)),
    }
}

/// Bytes of pages that may have been touched without being seen; `None` if nobody knows.
fn unseen(balance: &Balance, tariff: &Tariff) -> Option<u64> {
    let counted = tariff.sees().faults && balance.faults.counted.is_some();
    counted.then(|| balance.faults.unseen.saturating_mul(tariff.page()))
}

/// Less than a tenth of what the site had at the peak, or mapped, was ever touched. What it got must have been fresh: a
/// block on pages that were there already has no faults. Bytes.
fn is_hardly_touched(metrics: &Metrics, touched: u64, unseen: u64) -> bool {
    if metrics.mapped_bytes > metrics.peak_bytes {
        return metrics.mapped_bytes >= LEAST && touched.saturating_add(unseen) < metrics.mapped_bytes / 10;
    }
    let peak = metrics.peak_bytes;
    let fresh = metrics.grown_bytes >= peak / 10 * 9;
    peak >= LEAST && metrics.largest >= LEAST && fresh && touched.saturating_add(unseen) < peak / 10
}

/// The allocator took much more from the system than was ever live, and gave it back in between.
fn is_taken_again(sums: &Sums) -> bool {
    let mut all = Beside::default();
    sums.images.iter().for_each(|image| all.add(&image.beside));
    let peaks = sums.images.iter().map(|image| image.total.peak_bytes).fold(0, u64::saturating_add);
    all.shrunk_calls >= 10 && all.shrunk_bytes >= all.grown_bytes / 2 && all.grown_bytes / 4 >= peaks.max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fresh_memory_is_known_to_be_untouched() {
        let block = Metrics { peak_bytes: 1 << 30, largest: 1 << 30, grown_bytes: 1 << 30, ..Metrics::default() };
        assert!(is_hardly_touched(&block, 3 << 20, 0));
        assert!(!is_hardly_touched(&block, 103 << 20, 0));
        assert!(!is_hardly_touched(&block, 3 << 20, 100 << 20), "system calls may have touched it");
        assert_eq!(touched_in_words(3 << 20, 0), "3.0 MiB touched");
        let range = touched_in_words(8192, 14 << 20);
        assert_eq!(range, "8.0 KiB to 14.0 MiB touched (page faults inside system calls are not shown)");
        let recycled = Metrics { grown_bytes: 0, ..block };
        assert!(!is_hardly_touched(&recycled, 0, 0));
        let mapped = Metrics { mapped_bytes: 1 << 30, ..Metrics::default() };
        assert!(is_hardly_touched(&mapped, 3 << 20, 0) && !is_hardly_touched(&mapped, 103 << 20, 0));
        let many_small = Metrics { largest: 4096, ..block };
        assert!(!is_hardly_touched(&many_small, 0, 0));
    }
}
