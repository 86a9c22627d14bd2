//! From the kernel's clock to the caller's.
//!
//! The caller stamps its events with a counter of the processor, the kernel stamps its own with CLOCK_MONOTONIC_RAW, which
//! is that counter times a constant, in nanoseconds. Both are read together every few milliseconds, and a kernel's time
//! is placed between the pair before and the pair after it. The error is that of reading both "together": some 10 ns.

use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;

/// The clock of the caller's events.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// Nanoseconds of CLOCK_MONOTONIC.
    Monotonic,
    /// A counter that runs steadily and alike on all processors, such as the time stamp counter. The function reads it.
    Counter(fn() -> u64),
}

impl Clock {
    /// The kernel's clock that goes with it, now, in nanoseconds.
    pub(crate) fn kernel_time(self) -> u64 {
        match self {
            Clock::Monotonic => nanoseconds(ClockId::Monotonic),
            Clock::Counter(_) => nanoseconds(ClockId::MonotonicRaw),
        }
    }
}

/// Both clocks at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    /// The kernel's, in nanoseconds.
    kernel: u64,
    ticks: u64,
}

/// Pairs that are nearer to each other would amplify their error when times beyond them are converted.
const APART: u64 = 1_000_000;

/// How often the clocks are read for a pair; the attempt that took the shortest counts.
const ATTEMPTS: usize = 8;

/// Converts times of the kernel into times of the caller.
pub struct Timeline {
    clock: Clock,
    /// Rising. Empty for the monotonic clock.
    pairs: VecDeque<Pair>,
}

impl Timeline {
    pub fn start(clock: Clock) -> Timeline {
        let mut timeline = Timeline { clock, pairs: VecDeque::new() };
        timeline.mark();
        timeline
    }

    /// Reads both clocks. What happens later can be converted after the next mark.
    pub fn mark(&mut self) {
        if let Clock::Counter(counter) = self.clock {
            self.add(pair(counter));
        }
    }

    fn add(&mut self, pair: Pair) {
        // The last pair moves on until it is far enough from the one before.
        if let [.., before, last] = *self.pairs.make_contiguous()
            && last.kernel < before.kernel + APART
        {
            self.pairs.pop_back();
        }
        self.pairs.push_back(pair);
    }

    /// A time of the kernel on the caller's clock.
    pub fn ticks(&self, kernel: u64) -> u64 {
        // The pairs around it, or the nearest two.
        let after = self.pairs.partition_point(|pair| pair.kernel <= kernel).clamp(1, self.pairs.len().max(2) - 1);
        match (self.pairs.get(after - 1), self.pairs.get(after)) {
            (Some(left), Some(right)) => {
                let span = (right.kernel - left.kernel).max(1);
                let ticks = right.ticks.wrapping_sub(left.ticks);
                let offset = i128::from(kernel) - i128::from(left.kernel);
                left.ticks.wrapping_add((offset * i128::from(ticks)).div_euclid(i128::from(span)) as u64)
            }
            _ => kernel,
        }
    }

    /// Nothing before this time of the kernel will be asked for, or hardly.
    pub fn forget_before(&mut self, kernel: u64) {
        while self.pairs.get(2).is_some_and(|pair| pair.kernel <= kernel) {
            self.pairs.pop_front();
        }
    }
}

fn pair(counter: fn() -> u64) -> Pair {
    let attempt = || {
        let before = counter();
        let kernel = nanoseconds(ClockId::MonotonicRaw);
        let took = counter().wrapping_sub(before);
        (took, Pair { kernel, ticks: before.wrapping_add(took / 2) })
    };
    let mut best = attempt();
    for _ in 1..ATTEMPTS {
        let next = attempt();
        if next.0 < best.0 {
            best = next;
        }
    }
    best.1
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(pairs: &[(u64, u64)]) -> Timeline {
        let mut timeline = Timeline { clock: Clock::Counter(|| 0), pairs: VecDeque::new() };
        for &(kernel, ticks) in pairs {
            timeline.add(Pair { kernel, ticks });
        }
        timeline
    }

    #[test]
    fn a_time_lies_between_the_pairs_around_it() {
        let timeline = timeline(&[(0, 1000), (10_000_000, 31_001_000), (20_000_000, 61_001_000)]);
        assert_eq!(timeline.ticks(0), 1000);
        assert_eq!(timeline.ticks(5_000_000), 15_501_000);
        assert_eq!(timeline.ticks(10_000_000), 31_001_000);
        assert_eq!(timeline.ticks(15_000_000), 46_001_000);
    }

    #[test]
    fn beyond_the_pairs_the_nearest_two_go_on() {
        let timeline = timeline(&[(10_000_000, 30_000_000), (20_000_000, 60_000_000)]);
        assert_eq!(timeline.ticks(9_999_990), 29_999_970);
        assert_eq!(timeline.ticks(20_000_010), 60_000_030);
    }

    #[test]
    fn pairs_keep_their_distance() {
        let mut timeline = timeline(&[(0, 0)]);
        for time in (0..=10 * APART).step_by(1000) {
            timeline.add(Pair { kernel: time, ticks: 3 * time });
        }
        let kernel: Vec<_> = timeline.pairs.iter().map(|pair| pair.kernel).collect();
        assert!(kernel.windows(2).all(|two| two[0] + APART <= two[1]), "{kernel:?}");
        assert_eq!(kernel.last(), Some(&(10 * APART)));
        timeline.forget_before(5 * APART);
        assert!(timeline.pairs[1].kernel <= 5 * APART && timeline.pairs[2].kernel > 5 * APART);
        assert_eq!(timeline.ticks(5 * APART), 15 * APART);
    }

    #[test]
    fn the_monotonic_clock_is_the_kernels_own() {
        let timeline = Timeline::start(Clock::Monotonic);
        assert!(Clock::Monotonic.kernel_time() > 0);
        assert_eq!(timeline.ticks(1234), 1234);
    }
}
