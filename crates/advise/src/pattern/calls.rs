//! How long single calls take: those that take long do other lines' work, or something large of their own.

/// A call that takes longer, beyond faults and mappings, puts blocks together. ns.
pub const LONG: f64 = 2e3;

/// Calls of a site, releases of its blocks included, as the recorder timed them: with page faults, mappings and waiting inside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Calls of ordinary length.
    pub short: u64,
    /// What they took, units.
    pub short_time: u64,
    /// Calls that took longer.
    pub long: u64,
    /// What these took, units.
    pub long_time: u64,
}

impl Calls {
    /// Adds a call that took `units`; more than `longest` is long.
    #[inline]
    pub fn add(&mut self, took: u64, longest: u64) {
        let (number, time) = match took > longest {
            true => (&mut self.long, &mut self.long_time),
            false => (&mut self.short, &mut self.short_time),
        };
        *number += 1;
        // Times of a damaged file may be beyond all sums.
        *time = time.saturating_add(took);
    }

    /// Adds those of another process.
    pub fn plus(&mut self, other: &Calls) {
        self.short += other.short;
        self.long += other.long;
        self.short_time = self.short_time.saturating_add(other.short_time);
        self.long_time = self.long_time.saturating_add(other.long_time);
    }

    /// By how much long calls took longer than as many short ones, units.
    pub fn excess(&self) -> f64 {
        let usual = self.short_time as f64 / self.short.max(1) as f64;
        (self.long_time as f64 - self.long as f64 * usual).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_long_calls_stand_out_among_many() {
        let mut calls = Calls::default();
        (0..1000).for_each(|_| calls.add(30, 5000));
        (0..10).for_each(|_| calls.add(20_030, 5000));
        assert_eq!((calls.short, calls.long, calls.excess()), (1000, 10, 200_000.0));
        assert_eq!(Calls { long: 3, long_time: 60, ..Calls::default() }.excess(), 60.0);
    }
}
