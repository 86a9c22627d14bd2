//! The resident set over time, without the recorder: memtoll looks at each process every few milliseconds.

use crate::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use rustc_hash::FxHashMap;

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

/// The highest resident set in each interval; of several processes, the sum of the highest of each, which is too high where they were
/// not at one instant. What a process executes one after the other is one process. An interval is `None` if memtoll had not looked yet
/// at any process that ran in it. The whole is `None` if it never looked, or if the filter selects threads of a process.
pub fn in_intervals(recording: &Recording, intervals: Intervals, filter: &ThreadFilter) -> Option<Vec<Option<u64>>> {
    if filter.are_threads() {
        return None;
    }
    let mut processes: FxHashMap<usize, Vec<Option<u64>>> = FxHashMap::default();
    let mut is_any = false;
    for index in (0..recording.images.len()).filter(|index| filter.of(*index).is_some()) {
        let points = of_image(recording, index);
        let Some(ended) = recording.images[index].end.as_ref().map(|end| end.ended) else { continue };
        is_any |= !points.is_empty();
        let process = processes.entry(recording.images[index].process);
        raise(process.or_insert_with(|| vec![None; intervals.count]), intervals, points, ended);
    }
    let mut sums: Vec<Option<u64>> = vec![None; intervals.count];
    for process in processes.values() {
        for (sum, highest) in sums.iter_mut().zip(process) {
            *sum = sum.map_or(*highest, |sum| Some(sum.saturating_add(highest.unwrap_or(0))));
        }
    }
    is_any.then_some(sums)
}

/// Raises what a process had to what it had at most: at looks in an interval, or at its bounds, on the straight line from one look to
/// the next.
fn raise(highest: &mut [Option<u64>], Intervals { start, width, .. }: Intervals, looks: &[(u64, u64)], ended: u64) {
    let looks = &looks[..looks.partition_point(|(at, _)| *at <= ended)];
    for (number, known) in highest.iter_mut().enumerate() {
        let from = start.saturating_add(width.saturating_mul(number as u64));
        if from > ended {
            break;
        }
        let to = from.saturating_add(width - 1).min(ended);
        let [first, behind] = [from, to.saturating_add(1)].map(|bound| looks.partition_point(|(at, _)| *at < bound));
        let inside = looks[first..behind].iter().map(|(_, bytes)| *bytes);
        *known = inside.chain([from, to].into_iter().filter_map(|bound| at(looks, bound))).chain(*known).max();
    }
}

/// What it had at a time; `None`: before the first look.
fn at(looks: &[(u64, u64)], time: u64) -> Option<u64> {
    let behind = looks.partition_point(|(at, _)| *at <= time);
    let (before, bytes) = *looks.get(behind.checked_sub(1)?)?;
    let Some((after, then)) = looks.get(behind).copied() else { return Some(bytes) };
    let part = |bytes: u64, by: u64| u128::from(bytes) * u128::from(by);
    let sum = part(bytes, after - time) + part(then, time - before);
    u64::try_from(sum / u128::from(after - before)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_looks_is_a_straight_line_and_the_last_one_holds() {
        let intervals = Intervals { start: 100, width: 10, count: 8 };
        let mut sums = vec![None; 8];
        // From 112 to 118: 5 to 3; to 145: 3 to 30, one for each unit.
        raise(&mut sums, intervals, &[(112, 5), (118, 3), (145, 30), (900, 9)], 155);
        assert_eq!(sums, [None, Some(5), Some(14), Some(24), Some(30), Some(30), None, None]);
        // What the same process executes then.
        raise(&mut sums, intervals, &[(141, 100)], 1_000);
        assert_eq!(sums[3..], [Some(24), Some(100), Some(100), Some(100), Some(100)]);
        raise(&mut sums, intervals, &[], 1_000);
        assert_eq!(sums[3], Some(24));
    }

    #[test]
    fn what_fell_before_an_interval_counts_from_its_beginning() {
        let mut sums = vec![None; 2];
        raise(&mut sums, Intervals { start: 100, width: 10, count: 2 }, &[(90, 40), (130, 0)], 1_000);
        assert_eq!(sums, [Some(30), Some(20)]);
    }
}
