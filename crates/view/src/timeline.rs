//! Live bytes over the whole recording, for the first sight of it.

use crate::packs::{Intervals, TimelineColumns};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::resident::between_looks;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::meta::Resident;
use memtoll_trace::summary::LiveCurve;

/// Intervals of the curve of all processes.
const INTERVALS: usize = 2048;

/// The time line: the highest number of live bytes in each interval. Of several processes, it is the sum of the highest of each, and so may be more than was live at any instant.
pub(crate) fn of(recording: &Recording) -> (Intervals, TimelineColumns) {
    let tariff = Tariff::of(recording);
    let ended = recording.ended().max(1);
    let width = ended as f64 / INTERVALS as f64;
    let mut live = vec![0.0; INTERVALS];
    let mut known = 0;
    for (index, image) in recording.images.iter().enumerate().filter(|(_, image)| image.own_allocators.show_frees()) {
        let Ok(Some(summary)) = recording.summary(index) else { continue };
        known += 1;
        let until = image.end.as_ref().map_or(ended, |end| end.ended);
        add(&mut live, &summary.curve, width, until);
    }
    let intervals = Intervals {
        end_ns: tariff.ns(ended as f64),
        interval_ns: tariff.ns(width),
        sum_of_peaks: known > 1,
        known: known == recording.images.len(),
        resident_between_looks: between_looks(recording, INTERVALS)
            .map(|Resident { program, error, .. }| Estimate::exact(program as f64).give_or_take(error as f64).into()),
    };
    (intervals, TimelineColumns { live })
}

/// Adds a curve to intervals that are `width` long, until its process ends.
fn add(live: &mut [f64], curve: &LiveCurve, width: f64, until: u64) {
    let last = ((until as f64 / width).ceil() as usize).min(live.len());
    for (index, sum) in live.iter_mut().enumerate().take(last) {
        let (from, to) = (index as f64 * width, (index + 1) as f64 * width);
        let at = |time: f64| (time - curve.start as f64) / curve.width.max(1) as f64;
        if at(to) <= 0.0 || curve.highest.is_empty() {
            continue;
        }
        let end = curve.highest.len() - 1;
        let last = (at(to).ceil() as usize - 1).min(end);
        let first = (at(from).max(0.0) as usize).min(last);
        *sum += curve.highest[first..=last].iter().copied().max().unwrap_or(0) as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_that_of_its_process() {
        let mut live = vec![0.0; 8];
        add(&mut live, &LiveCurve { start: 20, width: 5, highest: vec![1, 7, 3] }, 10.0, 60);
        assert_eq!(live, [0.0, 0.0, 7.0, 3.0, 3.0, 3.0, 0.0, 0.0]);
        add(&mut live, &LiveCurve::default(), 10.0, 80);
        assert_eq!(live[7], 0.0);
    }
}
