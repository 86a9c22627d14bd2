//! The highest sum of all processes' resident sets at one instant.
//!
//! ```text
//! look      1          2          3          4
//! parent  --+----------+----------+----------+---
//! child          +-----+----------+---+
//! ```
//!
//! What all had together is known at each look, and the highest of these sums was reached for certain. Between two looks a
//! process may have had more: that much, at most, it had all the time from one look to the next. A process that begins or
//! ends between two looks counts only while it lives.

use crate::bytes_range::BytesRange;

/// Intervals that are kept; then each two become one.
const MOST_INTERVALS: usize = 8192;

/// From one look to the next.
struct Interval {
    /// When it ends, ticks.
    to: u64,
    /// The most that the processes may have had that lived all the time, bytes.
    whole: u64,
}

/// A process's first or last time, between two looks.
struct Part {
    from: u64,
    to: u64,
    /// The most that it may have had, bytes.
    most: u64,
}

/// Sums of resident sets, of which the highest one is looked for.
#[derive(Default)]
pub struct HighestSum {
    intervals: Vec<Interval>,
    parts: Vec<Part>,
    /// The highest sum that was seen, and what the recorder had besides.
    seen: BytesRange,
    recorder: u64,
}

impl HighestSum {
    /// All were looked at, at a time in ticks: what they have together, what the recorder has in them, and the most that those
    /// may have had since the look before which lived then.
    pub fn look(&mut self, at: u64, sum: BytesRange, recorder: u64, whole: u64) {
        self.saw(sum, recorder);
        self.intervals.push(Interval { to: at, whole });
        if self.intervals.len() > MOST_INTERVALS {
            self.intervals = self.intervals.chunks(2).map(both).collect();
        }
    }

    /// At one instant, all had this together, and the recorder that besides.
    pub fn saw(&mut self, sum: BytesRange, recorder: u64) {
        if sum.middle() > self.seen.middle() {
            (self.seen, self.recorder) = (sum, recorder);
        }
    }

    /// A process lived from a time to another one, at least one of them its begin or its end, and had at most these bytes.
    pub fn part(&mut self, from: u64, to: u64, most: u64) {
        self.parts.push(Part { from, to, most });
    }

    /// The highest sum, and what the recorder had besides.
    pub fn found(mut self) -> (BytesRange, u64) {
        self.parts.sort_unstable_by_key(|part| part.from);
        let mut most = self.seen.most;
        let mut from = 0;
        let last = Interval { to: u64::MAX, whole: 0 };
        for Interval { to, whole } in self.intervals.iter().chain([&last]) {
            most = most.max(whole.saturating_add(highest_between(&self.parts, from, *to)));
            from = *to;
        }
        (BytesRange { least: self.seen.least, most }, self.recorder)
    }
}

fn both(two: &[Interval]) -> Interval {
    Interval {
        to: two.iter().map(|one| one.to).max().unwrap_or(0),
        whole: two.iter().map(|one| one.whole).max().unwrap_or(0),
    }
}

/// The highest sum of the parts, sorted by their begins, that live at one instant between two times.
fn highest_between(parts: &[Part], from: u64, to: u64) -> u64 {
    // A part begins and ends in one interval, unless two have become one.
    let mut changes: Vec<(u64, bool, u64)> = Vec::new();
    for part in parts.iter().take_while(|part| part.from < to).filter(|part| part.to > from) {
        // At an instant, what begins counts before what ends.
        changes.extend([(part.from, false, part.most), (part.to, true, part.most)]);
    }
    changes.sort_unstable();
    let (mut now, mut highest) = (0u64, 0);
    for (_, ends, bytes) in changes {
        now = if ends { now.saturating_sub(bytes) } else { now.saturating_add(bytes) };
        highest = highest.max(now);
    }
    highest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exactly(bytes: u64) -> BytesRange {
        BytesRange { least: bytes, most: bytes }
    }

    #[test]
    fn what_a_look_saw_was_there() {
        let mut sums = HighestSum::default();
        sums.look(10, exactly(100), 5, 100);
        sums.look(20, exactly(300), 6, 310);
        sums.look(30, exactly(200), 7, 300);
        assert_eq!(sums.found(), (BytesRange { least: 300, most: 310 }, 6));
    }

    #[test]
    fn processes_one_after_the_other_do_not_add_up() {
        let mut sums = HighestSum::default();
        sums.look(0, exactly(50), 0, 50);
        for child in 0..10 {
            sums.part(1 + child * 3, 3 + child * 3, 70);
        }
        sums.look(40, exactly(50), 0, 50);
        assert_eq!(sums.found().0, BytesRange { least: 50, most: 50 + 70 });
        let mut sums = HighestSum::default();
        for child in 0..10 {
            sums.part(child, 30 + child, 70);
        }
        assert_eq!(sums.found().0.most, 700, "without a look, too");
    }

    proptest! {
        /// Processes with resident sets that change at each instant: the true maximum is within what looks say.
        #[test]
        fn the_true_sum_is_within_the_bounds(
            lives in proptest::collection::vec((0u64..400, 1u64..200, proptest::collection::vec(0u64..1000, 1..8)), 1..12),
            every in 1u64..60,
        ) {
            let has = |(begin, length, sizes): &(u64, u64, Vec<u64>), at: u64| {
                (*begin..begin + length).contains(&at).then(|| sizes[(at / 7) as usize % sizes.len()])
            };
            let sum = |at: u64| lives.iter().filter_map(|life| has(life, at)).sum::<u64>();
            let most = |life: &(u64, u64, Vec<u64>), from: u64, to: u64| {
                (from..=to).filter_map(|at| has(life, at)).max().unwrap_or(0)
            };
            let mut sums = HighestSum::default();
            let looks: Vec<u64> = (0..700).step_by(every as usize).collect();
            for (index, &at) in looks.iter().enumerate() {
                let before = index.checked_sub(1).map(|index| looks[index]);
                let mut whole = 0;
                for life in &lives {
                    let (begin, end) = (life.0, life.0 + life.1);
                    if has(life, at).is_some() {
                        match before.filter(|before| begin <= *before) {
                            Some(before) => whole += most(life, before, at),
                            None => sums.part(begin, at, most(life, begin, at)),
                        }
                        if looks.get(index + 1).is_none_or(|next| end <= *next) {
                            sums.part(at, end, most(life, at, end));
                        }
                    } else if begin < at && end <= at && before.is_none_or(|before| begin > before) {
                        sums.part(begin, end, most(life, begin, end));
                    }
                }
                sums.look(at, exactly(sum(at)), 0, whole);
            }
            let truth = (0..700).map(sum).max().unwrap();
            let (found, _) = sums.found();
            prop_assert!(found.least <= truth && truth <= found.most, "{truth} {found:?}");
        }
    }
}
