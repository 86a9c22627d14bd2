//! The resident set over time, without the recorder: memtoll looks at each process every few milliseconds.

use crate::thread_filter::ThreadFilter;
use memtoll_model::Recording;

/// Instants of a process image and what it had, bytes, by time (units).
pub fn of_image(recording: &Recording, image: usize) -> &[(u64, u64)] {
    let end = recording.images.get(image).and_then(|image| image.end.as_ref());
    end.map_or(&[], |end| &end.resident_curve)
}

/// Equal intervals, units.
#[derive(Clone, Copy)]
pub struct Intervals {
    pub start: u64,
    pub width: u64,
    pub count: usize,
}

/// The highest resident set in each interval; of several processes, the sum of the highest of each, which is an upper bound. An
/// interval is `None` if memtoll had not looked yet at any process that ran in it. The whole is `None` if it never looked, or if the
/// filter selects threads of a process.
pub fn in_intervals(recording: &Recording, intervals: Intervals, filter: &ThreadFilter) -> Option<Vec<Option<u64>>> {
    if filter.are_threads() {
        return None;
    }
    let mut sums: Vec<Option<u64>> = vec![None; intervals.count];
    let mut is_any = false;
    for index in (0..recording.images.len()).filter(|index| filter.of(*index).is_some()) {
        let points = of_image(recording, index);
        let Some(ended) = recording.images[index].end.as_ref().map(|end| end.ended) else { continue };
        is_any |= !points.is_empty();
        add(&mut sums, intervals, points, ended);
    }
    is_any.then_some(sums)
}

/// Adds what a process had: what was seen in an interval, or else at the last look before.
fn add(sums: &mut [Option<u64>], Intervals { start, width, .. }: Intervals, points: &[(u64, u64)], ended: u64) {
    let mut points = points.iter().filter(|(at, _)| *at <= ended).peekable();
    let mut last = None;
    for (number, sum) in sums.iter_mut().enumerate() {
        let from = start.saturating_add(width.saturating_mul(number as u64));
        if from > ended {
            break;
        }
        while let Some((_, bytes)) = points.next_if(|(at, _)| *at < from) {
            last = Some(*bytes);
        }
        let mut highest = last;
        while let Some((_, bytes)) = points.next_if(|(at, _)| *at - from < width) {
            (highest, last) = (highest.max(Some(*bytes)), Some(*bytes));
        }
        if let Some(highest) = highest {
            *sum = Some(sum.unwrap_or(0).saturating_add(highest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_hold_until_the_next_one_and_the_end() {
        let intervals = Intervals { start: 100, width: 10, count: 8 };
        let mut sums = vec![None; 8];
        add(&mut sums, intervals, &[(90, 1), (112, 5), (118, 3), (145, 7), (900, 9)], 155);
        assert_eq!(sums, [Some(1), Some(5), Some(3), Some(3), Some(7), Some(7), None, None]);
        add(&mut sums, intervals, &[(141, 100)], 1_000);
        assert_eq!(sums[3..], [Some(3), Some(107), Some(107), Some(100), Some(100)]);
        add(&mut sums, intervals, &[], 1_000);
        assert_eq!(sums[3], Some(3));
    }
}
