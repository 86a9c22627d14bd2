//! How often looks may come.

use super::{FREE, MOST_OF_TIME};
use std::time::Duration;

/// The part of the time that looks now and then take at the most: half of what is for all.
const MOST_NOW_AND_THEN: u32 = 2 * MOST_OF_TIME;

/// What looks now and then have taken beyond their part of the time, processor time.
#[derive(Default)]
pub(super) struct Debt(Duration);

impl Debt {
    /// Looks took so long, and began so long after the ones before. How long the next pause is at least: one look that takes long,
    /// as on a machine that is busy, is no reason to look away.
    pub(super) fn pause(&mut self, since: Duration, took: Duration) -> Duration {
        self.0 = self.0.saturating_sub(since / MOST_NOW_AND_THEN) + took;
        self.0.saturating_sub(FREE) * MOST_NOW_AND_THEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn one_look_that_takes_long_is_no_reason_to_look_away() {
        let mut debt = Debt::default();
        assert_eq!(debt.pause(5 * MS, MS), Duration::ZERO);
        assert_eq!(debt.pause(5 * MS, MS / 20), Duration::ZERO);
    }

    /// Each round of hundreds of processes takes 4 ms.
    #[test]
    fn looks_that_always_take_long_come_as_often_as_their_part_of_the_time_allows() {
        let (mut debt, mut elapsed, mut spent) = (Debt::default(), Duration::ZERO, Duration::ZERO);
        let mut since = 5 * MS;
        for _ in 0..50 {
            elapsed += since;
            spent += 4 * MS;
            since = debt.pause(since, 4 * MS).max(5 * MS);
        }
        let most = FREE + 4 * MS + elapsed / MOST_NOW_AND_THEN;
        assert!(spent <= most && spent * 2 > most, "{spent:?} of {elapsed:?}");
        // What was not used for an hour is not made up for.
        debt.pause(Duration::from_secs(3600), MS / 20);
        assert!(debt.pause(5 * MS, 4 * MS) > 500 * MS);
    }
}
