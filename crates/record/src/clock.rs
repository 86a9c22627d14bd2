//! The clock that both sides read: the processor's time stamp counter where it is steady, else the monotonic clock.

use crate::{proc_files, wire};
use memtoll_processor::HERE;
use memtoll_trace::ids::{Ticks, Units};
use memtoll_trace::meta;
use std::time::{Duration, Instant};

/// Ticks of a time unit in the file. A unit is some nanoseconds: less than a stamp costs.
pub const UNIT_TICKS_LOG2: u32 = 4;

/// When the recording began, by the recorder's clock and by this side's.
pub struct Clock {
    tsc: bool,
    began: Instant,
    base: u64,
}

/// Whether the processor's counter goes on at the same rate in all states of all cores.
pub fn has_steady_counter() -> bool {
    let Some(wanted) = HERE.description.steady_counter else { return false };
    let info = proc_files::first_processors();
    let features = info.lines().find(|line| line.starts_with(HERE.description.features)).unwrap_or_default();
    wanted.iter().all(|wanted| features.split_whitespace().any(|feature| feature == *wanted))
}

impl Clock {
    pub fn start() -> Clock {
        let tsc = has_steady_counter();
        let (began, base) = (Instant::now(), ticks(tsc));
        Clock { tsc, began, base }
    }

    /// The clock's name in the shared memory.
    pub fn wire(&self) -> u32 {
        if self.tsc { wire::clock::TSC } else { wire::clock::MONOTONIC }
    }

    /// The clock for what the kernel tells.
    pub fn for_kernel(&self) -> memtoll_kernel::Clock {
        match self.tsc {
            true => memtoll_kernel::Clock::Counter(|| memtoll_processor::counter() & wire::TICKS_MASK),
            false => memtoll_kernel::Clock::Monotonic,
        }
    }

    /// Now, in ticks as events carry them.
    #[inline]
    pub fn now(&self) -> u64 {
        ticks(self.tsc) & wire::TICKS_MASK
    }

    /// Ticks of an event as time units since the recording began.
    #[inline]
    pub fn units(&self, ticks: u64) -> u64 {
        (ticks.wrapping_sub(self.base) & wire::TICKS_MASK) >> UNIT_TICKS_LOG2
    }

    /// The opposite: the first ticks of a time.
    pub fn ticks(&self, units: Units) -> Ticks {
        Ticks(self.base.wrapping_add(units.0 << UNIT_TICKS_LOG2) & wire::TICKS_MASK)
    }

    /// Ticks in a microsecond, at least 1.
    pub fn ticks_per_microsecond(&self) -> u64 {
        (self.ticks_per_second() / 1e6).max(1.0) as u64
    }

    fn ticks_per_second(&self) -> f64 {
        if !self.tsc {
            return 1e9;
        }
        // The longer the span, the better; shortly after the start, wait for a few milliseconds of it.
        let needed = Duration::from_millis(3);
        let elapsed = self.began.elapsed();
        if elapsed < needed {
            std::thread::sleep(needed - elapsed);
        }
        let ticks = memtoll_processor::counter().wrapping_sub(self.base);
        ticks as f64 / self.began.elapsed().as_secs_f64()
    }

    /// As the file says it. `stamp_ticks` is the smallest difference of two stamps, `stamps_ns` what two readings of the
    /// counter add to a call between them, if that was measured.
    pub fn describe(&self, stamp_ticks: u64, stamps_ns: Option<f64>) -> meta::Clock {
        let (unit, per_second) = (f64::from(1 << UNIT_TICKS_LOG2), self.ticks_per_second());
        // The other clock is another matter.
        let measured = stamps_ns.filter(|_| self.tsc).map_or(0.0, |ns| ns * per_second / 1e9);
        meta::Clock { units_per_second: per_second / unit, stamp: measured.max(stamp_ticks as f64) / unit }
    }
}

#[inline]
fn ticks(counter: bool) -> u64 {
    if counter {
        return memtoll_processor::counter();
    }
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
