//! Memory that is asked for and hardly touched.

use crate::balance::Balance;
use crate::priced::Priced;
use crate::tariff::Tariff;
use memtoll_trace::ids::Bytes;

const LEAST: Bytes = Bytes(4 << 20);

/// Memory of a line that it has hardly touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HardlyTouched {
    /// Blocks that were live at the peak.
    Blocks(Bytes),
    /// Mappings of its own: address space alone is free.
    Mappings(Bytes),
}

/// Pages that may have been touched without being seen; `None` if that is unknown.
pub fn unseen(balance: &Balance, tariff: &Tariff) -> Option<Bytes> {
    let counted = tariff.sees().faults && balance.faults.counted.is_some();
    counted.then(|| Bytes(tariff.page()).times(balance.faults.not_shown()))
}

/// Less than a tenth of what the line had at the peak, or mapped, was ever touched, even with what is [`unseen`]. What it got
/// must have been fresh: a block on pages that were there already has no faults.
pub fn hardly_touched(metrics: &Priced, unseen: Bytes) -> Option<HardlyTouched> {
    let (mapped, peak) = (metrics.mapped_bytes, metrics.peak_bytes);
    let touched = metrics.touched_bytes.saturating_add(unseen);
    if mapped > peak {
        return (mapped >= LEAST && touched < mapped / 10).then_some(HardlyTouched::Mappings(mapped));
    }
    let is_fresh = metrics.grown_bytes >= (peak / 10).times(9);
    let is = peak >= LEAST && metrics.largest_bytes >= LEAST && is_fresh && touched < peak / 10;
    is.then_some(HardlyTouched::Blocks(peak))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::metrics::Metrics;

    fn of(counts: Metrics, touched_bytes: u64, unseen: u64) -> Option<HardlyTouched> {
        hardly_touched(&Priced { counts, touched_bytes: Bytes(touched_bytes), ..Priced::default() }, Bytes(unseen))
    }

    #[test]
    fn only_fresh_memory_is_known_to_be_untouched() {
        let block = Metrics {
            peak_bytes: Bytes(1 << 30),
            largest_bytes: Bytes(1 << 30),
            grown_bytes: Bytes(1 << 30),
            ..Metrics::default()
        };
        assert_eq!(of(block, 3 << 20, 0), Some(HardlyTouched::Blocks(Bytes(1 << 30))));
        assert_eq!(of(block, 103 << 20, 0), None);
        assert_eq!(of(block, 3 << 20, 100 << 20), None, "system calls may have touched it");
        assert_eq!(of(Metrics { grown_bytes: Bytes::ZERO, ..block }, 0, 0), None, "on pages that were there already");
        assert_eq!(of(Metrics { largest_bytes: Bytes(4096), ..block }, 0, 0), None, "many small ones");
        let mapped = Metrics { mapped_bytes: Bytes(1 << 30), ..Metrics::default() };
        assert_eq!(of(mapped, 3 << 20, 0), Some(HardlyTouched::Mappings(Bytes(1 << 30))));
        assert_eq!(of(mapped, 103 << 20, 0), None);
        assert_eq!(of(Metrics { mapped_bytes: LEAST - Bytes(1), ..mapped }, 0, 0), None);
    }
}
