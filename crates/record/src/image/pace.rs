//! Whether a program writes faster than its worker packs. How fast that is depends on the processor, and on what else runs there,
//! so the worker measures both.

use crate::wire::RECORDS_PER_CHUNK;

/// Window for measuring the write rate, in µs: threads that share the processors with others take turns within this time.
pub(super) const WINDOW_MICROSECONDS: u64 = 10_000;
/// Time that packing a record takes until the worker has measured it, in µs.
const PACKING_AT_FIRST: f64 = 1.0 / 16.0;
/// Weight of the last round in the average of what packing takes: a round may lose its processor for longer than it packs.
const WEIGHT: f64 = 1.0 / 8.0;
/// A shorter round measures mostly its begin and its end.
const FEWEST_RECORDS: u64 = 4096;

/// Rates of one program and its worker. Times are ticks.
pub(super) struct Pace {
    microsecond: u64,
    /// When the window began, and how many chunks had been given back by then.
    since: u64,
    recycled: u64,
    /// Time that packing a record takes.
    packing: f64,
    is_burst: bool,
}

impl Pace {
    pub fn new(ticks_per_microsecond: u64) -> Pace {
        let microsecond = ticks_per_microsecond.max(1);
        Pace { microsecond, since: 0, recycled: 0, packing: PACKING_AT_FIRST * microsecond as f64, is_burst: false }
    }

    /// Looks how many chunks were given back until now, and whether a thread waits for one: then the program is faster, whatever
    /// else the window shows.
    pub fn look(&mut self, now: u64, recycled: u64, is_awaited: bool) {
        let elapsed = now.saturating_sub(self.since);
        if is_awaited {
            self.is_burst = true;
            (self.since, self.recycled) = (now, recycled);
        } else if elapsed >= WINDOW_MICROSECONDS * self.microsecond {
            let written = (recycled - self.recycled) * RECORDS_PER_CHUNK as u64;
            self.is_burst = written as f64 * self.packing > elapsed as f64;
            (self.since, self.recycled) = (now, recycled);
        }
    }

    /// A round of packing took this time, including the time in which others had the processor.
    pub fn packed(&mut self, records: u64, took: u64) {
        if records >= FEWEST_RECORDS {
            self.packing += WEIGHT * (took as f64 / records as f64 - self.packing);
        }
    }

    /// Whether the program writes faster than the worker packs.
    pub fn is_burst(&self) -> bool {
        self.is_burst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: u64 = 2_000;

    /// Whether a program writes a burst that fills this number of chunks in a window.
    fn is_burst(pace: &mut Pace, chunks: u64) -> bool {
        let (now, recycled) = (pace.since + WINDOW_MICROSECONDS * MICROSECOND, pace.recycled + chunks);
        pace.look(now, recycled, false);
        pace.is_burst()
    }

    #[test]
    fn a_burst_outruns_what_packing_takes_here() {
        let mut pace = Pace::new(MICROSECOND);
        assert!(!is_burst(&mut pace, 78) && is_burst(&mut pace, 79), "16 records per µs");
        for _ in 0..50 {
            pace.packed(16_384, 16_384 * MICROSECOND / 4);
        }
        assert!(!is_burst(&mut pace, 19) && is_burst(&mut pace, 21), "the worker packs 4 records per µs");
        for _ in 0..50 {
            pace.packed(16_384, 16_384 * MICROSECOND / 16);
        }
        assert!(!is_burst(&mut pace, 77) && is_burst(&mut pace, 80), "the worker has a processor again");
        pace.packed(1, 1_000 * MICROSECOND);
        assert!(!is_burst(&mut pace, 77), "a round that found one record says nothing");
    }

    #[test]
    fn a_window_has_to_be_over() {
        let mut pace = Pace::new(MICROSECOND);
        pace.look(WINDOW_MICROSECONDS * MICROSECOND - 1, 100, false);
        assert!(!pace.is_burst());
        pace.look(WINDOW_MICROSECONDS * MICROSECOND, 100, false);
        assert!(pace.is_burst());
    }

    #[test]
    fn a_program_that_waits_is_faster_for_a_window() {
        let mut pace = Pace::new(MICROSECOND);
        pace.look(1, 0, true);
        assert!(pace.is_burst());
        pace.look(WINDOW_MICROSECONDS * MICROSECOND, 0, false);
        assert!(pace.is_burst());
        pace.look(WINDOW_MICROSECONDS * MICROSECOND + 1, 0, false);
        assert!(!pace.is_burst());
    }
}
