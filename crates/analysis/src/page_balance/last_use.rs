//! For each level of live bytes, when the program last had that many: the memory above it has been free since.

/// How far levels of live bytes are apart, bytes.
const STEP: u64 = 256 << 10;

/// Live bytes, and the last instants at which more of them were live than at any time since.
#[derive(Default)]
pub struct LastUse {
    live: u64,
    /// Steps and when they were live for the last time, units: the more of them, the earlier.
    falls: Vec<(u64, u64)>,
}

impl LastUse {
    pub fn acquired(&mut self, bytes: u64) {
        self.live += bytes;
        let steps = self.live / STEP;
        while self.falls.last().is_some_and(|(known, _)| *known <= steps) {
            self.falls.pop();
        }
    }

    pub fn released(&mut self, bytes: u64, time: u64) {
        let before = self.live / STEP;
        self.live = self.live.saturating_sub(bytes);
        if self.live / STEP < before {
            self.falls.push((before, time));
        }
    }

    /// When `more` bytes more than now were live for the last time, units; 0 if they never were.
    pub fn of_more(&self, more: u64) -> u64 {
        let steps = (self.live + more).div_ceil(STEP);
        let at_least = self.falls.partition_point(|(known, _)| *known >= steps);
        at_least.checked_sub(1).map_or(0, |last| self.falls[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_known() {
        let mut last_use = LastUse::default();
        for _ in 0..8 {
            last_use.acquired(STEP);
        }
        for time in 10..14 {
            last_use.released(STEP, time);
        }
        // Four steps are live; six were until the instant 12, eight until 10.
        assert_eq!([2, 4, 5].map(|steps| last_use.of_more(steps * STEP)), [12, 10, 0]);
        // Seven are live again, and fall at once.
        last_use.acquired(3 * STEP);
        last_use.released(3 * STEP, 21);
        assert_eq!([2, 3, 4].map(|steps| last_use.of_more(steps * STEP)), [21, 21, 10]);
    }
}
