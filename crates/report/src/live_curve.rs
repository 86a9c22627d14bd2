//! The curve of live bytes as a row of bars.

use memtoll_analysis::sums::Sums;
use memtoll_model::Recording;
use memtoll_text::format;
use memtoll_trace::summary::LiveCurve;

/// Fewer bars have no shape.
const LEAST_BARS: usize = 9;

/// The part of the process's life that the report is of, in at most `room` bars of equal time, if the curve is known and has a
/// shape.
pub(crate) fn bars(recording: &Recording, sums: &Sums, room: usize) -> Option<String> {
    let curve = sums.curve.as_ref().filter(|curve| !curve.highest.is_empty())?;
    let image = recording.images.get(sums.counted().next()?.0)?;
    let ended = image.end.as_ref().map_or(recording.ended(), |end| end.ended);
    let from = image.about.began.max(sums.selection.from.0);
    let to = ended.min(sums.selection.to.0);
    let bars = room.min((to.saturating_sub(from) / curve.width.max(1)) as usize);
    let values = in_bars(curve, from, to, bars, sums.total.live_bytes.0);
    (bars >= LEAST_BARS).then(|| format::sparkline(&values, bars))
}

/// The highest number of live bytes in each of `bars` equal parts of the time. The curve covers the time from the first change to
/// the last one: nothing is live before it, and `in_the_end` after it.
fn in_bars(curve: &LiveCurve, from: u64, to: u64, bars: usize, in_the_end: u64) -> Vec<u64> {
    let edge = |bar: usize| from + (to.saturating_sub(from) as u128 * bar as u128 / bars.max(1) as u128) as u64;
    let width = curve.width.max(1);
    let bar = |number: usize| {
        let (begin, end) = (edge(number), edge(number + 1));
        let before_end = end.saturating_sub(curve.start).div_ceil(width) as usize;
        let after_begin = begin.saturating_sub(curve.start) / width;
        let of_curve = curve.highest.iter().take(before_end).skip(after_begin as usize).copied().max();
        of_curve.unwrap_or(if end > curve.start { in_the_end } else { 0 })
    };
    (0..bars).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_also_cover_the_time_before_the_first_change_and_after_the_last_one() {
        let curve = LiveCurve { start: 40, width: 5, highest: vec![1, 7, 3, 9] };
        assert_eq!(in_bars(&curve, 0, 120, 12, 2), [0, 0, 0, 0, 7, 9, 2, 2, 2, 2, 2, 2]);
        assert_eq!(in_bars(&curve, 20, 60, 4, 9), [0, 0, 7, 9]);
        assert_eq!(in_bars(&curve, 45, 55, 2, 9), [7, 3]);
    }
}
